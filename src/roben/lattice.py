"""What an attacker can make of a text: for every token the codes that it can take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod

import numpy as np

from roben.encoding import Encoding, Slot
from roben.typed import Text

__all__ = ["Lattice", "draw", "lattices", "n_choices"]


@dataclass(frozen=True)
class Lattice:
    """The slots of a text, or of both texts of a pair. B_α(x) is the product over them."""

    sides: tuple[tuple[Slot, ...], ...]

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """All slots, those of the first text first."""
        return self.sides[0] if len(self.sides) == 1 else tuple(slot for side in self.sides for slot in side)

    @cached_property
    def changeable(self) -> list[int]:
        """The places of the slots that can take more than one code."""
        return [i for i, slot in enumerate(self.slots) if len(slot.codes) > 1]

    @property
    def codes(self) -> list[list[tuple[str, ...]]]:
        """By side and token, the codes that it can take."""
        return [[slot.codes for slot in side] for side in self.sides]

    def n_encodings(self, budget: int | None = None) -> int:
        """|B_α(x)|, or the part of it that at most `budget` changed tokens reach."""
        return n_choices([len(self.slots[i].codes) for i in self.changeable], budget)

    def n_perturbations(self, budget: int | None = None) -> int:
        """|B(x)|, or the part of it with at most `budget` changed tokens."""
        return n_choices([slot.n_typos for slot in self.slots], budget)

    def own(self) -> Text:
        """α(x) itself."""
        return self.text([slot.codes[0] for slot in self.slots])

    def text(self, codes: Sequence[str]) -> Text:
        """The encoding with these codes, one for every slot."""
        if len(self.sides) == 1:
            return " ".join(codes)
        n_first = len(self.sides[0])
        return " ".join(codes[:n_first]), " ".join(codes[n_first:])

    def changed(self, budget: int | None = None) -> Iterator[tuple[int, list[str]]]:
        """Every other encoding once, with the number of its changed codes: fewest first."""
        own = [slot.codes[0] for slot in self.slots]
        changeable = self.changeable
        most = len(changeable) if budget is None else min(budget, len(changeable))
        for n_changes in range(1, most + 1):
            for places in combinations(changeable, n_changes):
                for choice in product(*(self.slots[i].codes[1:] for i in places)):
                    codes = own.copy()
                    for i, code in zip(places, choice, strict=True):
                        codes[i] = code
                    yield n_changes, codes


def lattices(encoding: Encoding, texts: Iterable[Text]) -> list[Lattice]:
    """The lattice of every text."""
    known = encoding.slots

    def side(text: str) -> tuple[Slot, ...]:
        return tuple([known[token] for token in encoding.tokenize(text)])

    return [Lattice((side(text),) if isinstance(text, str) else tuple(map(side, text))) for text in texts]


def draw(lattice: Lattice, rng: np.random.Generator) -> Text:
    """One encoding, each code of each token as likely as any other."""
    return lattice.text([slot.codes[int(rng.integers(len(slot.codes)))] for slot in lattice.slots])


def n_choices(sizes: Sequence[int], budget: int | None) -> int:
    """How many ways there are to choose in places of these sizes, all but `budget` of them left as they are."""
    if budget is None or budget >= sum(size > 1 for size in sizes):
        return prod(sizes)
    by_changes = [1]  # how many there are with 0, 1, … changes
    for size in sizes:
        if size == 1:
            continue
        kept = by_changes + [0] * (len(by_changes) <= budget)
        by_changes = [
            kept[b] + (by_changes[b - 1] * (size - 1) if 0 < b <= len(by_changes) else 0) for b in range(len(kept))
        ]
    return sum(by_changes[: budget + 1])
