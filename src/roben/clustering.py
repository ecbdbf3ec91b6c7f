"""Words that share a code: connected components, agglomeration, and what either is worth."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roben.graph import Progress, Rows, TypoGraph, n_threads
from roben.kernel import kernel_for
from roben.surface import Surface
from roben.vocabulary import Vocabulary

__all__ = ["Clustering", "agglomerate", "connected_components"]


@dataclass(frozen=True, eq=False)
class Clustering:
    """Every word in one cluster. The code of a cluster is its most frequent word.

    `codes` has the rank of every word's code, and `reachable` the ranks of B_π of every word.
    """

    vocabulary: Vocabulary
    surface: Surface
    codes: NDArray[np.uint32]
    reachable: Rows
    gamma: float

    def __post_init__(self) -> None:
        self.codes.flags.writeable = False

    @cached_property
    def representatives(self) -> tuple[str, ...]:
        """The code of every word, in the order of `vocabulary.words`."""
        words = self.vocabulary.words
        return tuple([words[code] for code in self.codes.tolist()])

    @property
    def n_clusters(self) -> int:
        """How many clusters there are: words that are their own code."""
        return int((self.codes == np.arange(len(self.codes))).sum())

    @cached_property
    def stability(self) -> float:
        """Stab = −Σ ρ(w)·|B_π(w)|. At most −1: every perturbation keeps its code."""
        weights, more = self.vocabulary.weights, self.reachable.sizes - 1
        if not len(weights):
            return -0.0
        total = int(weights.sum())
        # In Python's whole numbers, which do not overflow; most words reach one code and add nothing.
        return -(total + sum(int(weights[i]) * int(more[i]) for i in np.flatnonzero(more))) / total

    @cached_property
    def fidelity(self) -> float:
        """Fid = −Σ ρ(w)·‖v_w − μ‖², v the indicators of words, μ the mean of a word's cluster. At most 0."""
        frequencies = self.vocabulary.frequencies
        if not len(frequencies):
            return -0.0
        mass = np.bincount(self.codes, frequencies, len(frequencies))
        squares = np.bincount(self.codes, frequencies**2, len(frequencies))
        lone = np.bincount(self.codes, minlength=len(frequencies)) <= 1  # exactly 0, whatever the rounding
        cost = np.where(lone, 0.0, mass - squares / np.where(lone, 1.0, mass))
        return -float(cost.sum())

    def objective(self, gamma: float | None = None) -> float:
        """Φ = γ·Fid + (1 − γ)·Stab, at the γ of this clustering or at another."""
        gamma = self.gamma if gamma is None else checked_gamma(gamma)
        return gamma * self.fidelity + (1 - gamma) * self.stability

    def members(self, word: str) -> tuple[str, ...]:
        """The cluster of a word, most frequent first."""
        code = int(self.codes[self.vocabulary.rank(word)])
        return tuple(self.vocabulary.words[i] for i in self._clusters[code])

    @cached_property
    def _clusters(self) -> dict[int, list[int]]:
        clusters: dict[int, list[int]] = defaultdict(list)
        for word, code in enumerate(self.codes.tolist()):
            clusters[code].append(word)
        return dict(clusters)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Clustering):
            return NotImplemented
        return (
            self.gamma == other.gamma
            and self.surface == other.surface
            and np.array_equal(self.codes, other.codes)
            and self.reachable == other.reachable
            and self.vocabulary == other.vocabulary
        )

    def __hash__(self) -> int:
        return hash((self.gamma, self.codes.tobytes(), self.vocabulary))

    def __reduce__(self) -> tuple[Any, ...]:
        return Clustering, (self.vocabulary, self.surface, self.codes, self.reachable, self.gamma)

    def __repr__(self) -> str:
        return f"Clustering({len(self.vocabulary):,} words in {self.n_clusters:,} clusters, gamma={self.gamma:g})"


def connected_components(graph: TypoGraph) -> Clustering:
    """A cluster for every connected component of the graph: no typo of a word leaves its code.

    It is what `agglomerate` tends to as γ → 0, and so has γ = 0.
    """
    codes = kernel_for(graph.surface).connected_components(graph.reach.offsets, graph.reach.targets)
    return _clustering(graph, codes, 0.0)


def agglomerate(
    graph: TypoGraph, gamma: float = 0.3, *, threads: int | None = None, progress: Progress | None = None
) -> Clustering:
    """Clusters that trade stability for fidelity: small γ makes few large ones, γ = 1 leaves every word alone.

    From singletons, merges the adjacent pair of clusters that raises Φ most, until none does. Two clusters are
    adjacent if some of their words are; of equal gains, that of the most frequent words comes first.
    """
    gamma = checked_gamma(gamma)
    codes, _, _ = kernel_for(graph.surface).agglomerate(
        graph.vocabulary.weights,
        graph.reach.offsets,
        graph.reach.targets,
        graph.adjacency.offsets,
        graph.adjacency.targets,
        gamma,
        threads=n_threads(threads),
        tick=progress,
    )
    return _clustering(graph, codes, gamma)


def checked_gamma(gamma: float) -> float:
    """γ as a number from 0 to 1."""
    if isinstance(gamma, (bool, np.bool_)) or not isinstance(gamma, Real) or not 0 <= gamma <= 1:
        raise ValueError(f"gamma is {gamma!r}; it must be a number from 0 (stable) to 1 (faithful)")
    return float(gamma) + 0.0  # no −0.0, which is equal and looks different


def _clustering(graph: TypoGraph, codes: NDArray[np.uint32], gamma: float) -> Clustering:
    reachable = kernel_for(graph.surface).reachable_codes(graph.reach.offsets, graph.reach.targets, codes)
    return Clustering(graph.vocabulary, graph.surface, codes, Rows(*reachable), gamma)
