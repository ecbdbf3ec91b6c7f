"""Which words share a typo, and which words their typos are taken for."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roben.kernel import kernel_for
from roben.surface import Surface
from roben.vocabulary import Vocabulary

__all__ = ["Rows", "TypoGraph", "typo_graph"]

Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Rows:
    """A set of words for every word: row i is `targets[offsets[i]:offsets[i + 1]]`, ascending."""

    offsets: NDArray[np.int64]
    targets: NDArray[np.uint32]

    def __post_init__(self) -> None:
        self.offsets.flags.writeable = False
        self.targets.flags.writeable = False

    def __getitem__(self, row: int) -> NDArray[np.uint32]:
        return self.targets[self.offsets[row] : self.offsets[row + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The length of every row."""
        return np.diff(self.offsets)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.targets, other.targets)

    def __hash__(self) -> int:
        return hash((self.offsets.tobytes(), self.targets.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Rows, (self.offsets, self.targets)


@dataclass(frozen=True)
class TypoGraph:
    """Words, joined where their balls meet.

    A typo is *owned* by itself if it is a word, else by the most frequent word whose ball holds it. `reach` has
    the owners of each word's typos, by rank.
    """

    vocabulary: Vocabulary
    surface: Surface
    reach: Rows
    adjacency: Rows

    @property
    def n_edges(self) -> int:
        """How many pairs of words share a typo."""
        return len(self.adjacency.targets) // 2

    def neighbors(self, word: str) -> frozenset[str]:
        """The other words that share a typo with this one."""
        return frozenset(self.vocabulary.words[i] for i in self.adjacency[self.vocabulary.rank(word)])

    def __repr__(self) -> str:
        return f"TypoGraph({len(self.vocabulary):,} words, {self.n_edges:,} edges, {self.surface!r})"


def typo_graph(
    vocabulary: Vocabulary, surface: Surface, *, threads: int | None = None, progress: Progress | None = None
) -> TypoGraph:
    """The graph of the words that share a typo.

    `progress` is called with the share that is done. The result does not depend on the number of threads
    (None: as many as there are cores).

    >>> from roben import EditOne
    >>> graph = typo_graph(Vocabulary.from_counts({"at": 5, "aunt": 3, "abet": 2, "movie": 4}), EditOne())
    >>> graph.n_edges, sorted(graph.neighbors("at"))
    (3, ['abet', 'aunt'])
    """
    if isinstance(surface, type) or not isinstance(surface, Surface):
        raise TypeError(f"found {surface!r} as the surface; expected an object such as EditOne(), see roben.Surface")
    reach_offsets, reach, offsets, targets = kernel_for(surface).typo_graph(
        vocabulary.words, surface, threads=n_threads(threads), tick=progress
    )
    return TypoGraph(vocabulary, surface, Rows(reach_offsets, reach), Rows(offsets, targets))


def n_threads(threads: int | None) -> int:
    """A number of threads as a caller may give it: None means one for every core."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ValueError(f"threads is {threads!r}; it must be a whole number above 0, or None for one a core")
    return threads
