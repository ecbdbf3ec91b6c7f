"""What an attacker can make of a text: for every token the codes that it can take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod

import numpy as np

from roben.encoding import Encoding

__all__ = ["Lattice", "Slot", "draw", "lattices"]

Text = str | tuple[str, str]


@dataclass(frozen=True)
class Slot:
    """One token: its codes, its own first, and the size of its ball."""

    token: str
    codes: tuple[str, ...]
    n_typos: int


@dataclass(frozen=True)
class Lattice:
    """The slots of a text, or of both texts of a pair. B_α(x) is the product over them."""

    sides: tuple[tuple[Slot, ...], ...]

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """All slots, those of the first text first."""
        return tuple(slot for side in self.sides for slot in side)

    @property
    def codes(self) -> list[list[tuple[str, ...]]]:
        """By side and token, the codes that it can take."""
        return [[slot.codes for slot in side] for side in self.sides]

    def n_encodings(self, budget: int | None = None) -> int:
        """|B_α(x)|, or the part of it that at most `budget` changed tokens reach."""
        return _count([len(slot.codes) for slot in self.slots], budget)

    def n_perturbations(self, budget: int | None = None) -> int:
        """|B(x)|, or the part of it with at most `budget` changed tokens."""
        return _count([slot.n_typos for slot in self.slots], budget)

    def own(self) -> Text:
        """α(x) itself."""
        return self.text([slot.codes[0] for slot in self.slots])

    def text(self, codes: Sequence[str]) -> Text:
        """The encoding with these codes, one for every slot."""
        parts, at = [], 0
        for side in self.sides:
            parts.append(" ".join(codes[at : at + len(side)]))
            at += len(side)
        return parts[0] if len(parts) == 1 else (parts[0], parts[1])

    def changed(self, budget: int | None = None) -> Iterator[tuple[int, list[str]]]:
        """Every other encoding once, with the number of its changed codes: fewest first."""
        own = [slot.codes[0] for slot in self.slots]
        changeable = [i for i, slot in enumerate(self.slots) if len(slot.codes) > 1]
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
    known: dict[str, Slot] = {}

    def slot(token: str) -> Slot:
        found = known.get(token)
        if found is None:
            found = known[token] = Slot(token, *encoding.slot(token))
        return found

    def side(text: str) -> tuple[Slot, ...]:
        return tuple(map(slot, encoding.tokenize(text)))

    return [Lattice((side(text),) if isinstance(text, str) else tuple(map(side, text))) for text in texts]


def draw(lattice: Lattice, rng: np.random.Generator) -> Text:
    """One encoding, each code of each token as likely as any other."""
    return lattice.text([slot.codes[int(rng.integers(len(slot.codes)))] for slot in lattice.slots])


def _count(sizes: Sequence[int], budget: int | None) -> int:
    if budget is None:
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
