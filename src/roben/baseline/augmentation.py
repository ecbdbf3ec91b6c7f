"""Training examples with random perturbations of them beside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from roben.kernel import split_for
from roben.surface import Surface
from roben.typed import Text, TypedText, sides_of

__all__ = ["augment"]

# Examples that are perturbed side by side: enough that the draws of a token can be made all at once, and few enough
# that they fit into memory, however many examples there are.
WINDOW = 16_384


def augment(
    texts: Iterable[Text],
    labels: Iterable[Any],
    surface: Surface,
    *,
    k: int = 4,
    seed: int = 0,
    tokens: str = "words",
) -> tuple[list[Text], list[Any]]:
    """Every example, followed by `k` random perturbations of it under the same label.

    In a perturbation each token, on both sides of a pair, is a uniformly random member of its ball; where that is the
    token itself, it stays as it was typed. An example's perturbations depend on the seed and on the examples before it,
    not on those behind.

    >>> from roben import EditOne
    >>> texts, labels = augment(["A dull film", "a joy"], ["neg", "pos"], EditOne(), k=1)
    >>> texts[0], texts[2], labels
    ('A dull film', 'a joy', ['neg', 'neg', 'pos', 'pos'])
    """
    from roben.classifier.robust import as_texts  # scikit-learn comes with it

    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 0:
        raise ValueError(f"k is {k!r}; it must be a whole number of perturbations, 0 or more")
    texts, labels = as_texts(texts), list(labels)
    if len(texts) != len(labels):
        raise ValueError(f"there are {len(texts):,} texts and {len(labels):,} labels; there must be one for each")
    split = split_for(tokens, surface)
    augmented: list[Text] = []
    for start in range(0, len(texts), WINDOW):
        window = texts[start : start + WINDOW]
        sides = [[TypedText(side, split) for side in sides_of(text)] for text in window]
        draws = _Draws(sides, surface, int(k), (seed, start // WINDOW))
        for text, typed in zip(window, sides, strict=True):
            augmented.append(text)
            for _ in range(k):
                perturbed = [_perturbed(side, draws) for side in typed]
                augmented.append(perturbed[0] if isinstance(text, str) else (perturbed[0], perturbed[1]))
    return augmented, [label for label in labels for _ in range(k + 1)]


class _Draws:
    """Draws for every token of some texts, made all at once for each different one.

    Each token has a generator of its own and its draws are dealt out in the order of the texts, so texts that
    follow change nothing for those before.
    """

    def __init__(self, texts: Sequence[Sequence[TypedText]], surface: Surface, k: int, seed: tuple[int, int]) -> None:
        counts = Counter(token for sides in texts for side in sides for token in side.tokens)
        self.left: dict[str, Iterator[str]] = {}
        for token, n in counts.items() if k else ():
            rng = np.random.default_rng([*seed, *token.encode("utf-8", "surrogatepass")])
            self.left[token] = iter(surface.sample(token, rng, n * k))

    def __call__(self, token: str) -> str:
        return next(self.left[token])


def _perturbed(typed: TypedText, draws: _Draws) -> str:
    changes = {i: typo for i, token in enumerate(typed.tokens) if (typo := draws(token)) != token}
    return typed.replace(changes) if changes else typed.text
