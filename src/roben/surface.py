"""What the attacker may type instead of a token.

A surface gives every token its *ball*: the strings that the attacker may type for it, the token itself
among them. `EditOne` and `InternalPermutation` are the two of the paper and run in the compiled kernel.
Any object with the four methods of `Surface` works too, through every later stage, only slower; a class
that inherits from `Surface` needs to define `typos` alone.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

__all__ = ["EditOne", "InternalPermutation", "Surface", "surface_from_config"]

EDITS = ("insert", "delete", "substitute", "swap")

# `typos` lists a ball. Beyond this many characters in all, it says so instead of filling the memory.
LARGEST_BALL = 100_000_000


@runtime_checkable
class Surface(Protocol):
    """What the attacker may type instead of a token.

    The laws: `token in typos(token)`, no typo is empty or holds white space, and the other three methods
    agree with `typos`. Tokens are lower-case, and so must typos be.

    >>> class Doubling(Surface):
    ...     '''Any one letter may be typed twice.'''
    ...     def typos(self, token):
    ...         return frozenset([token, *(token[:i] + token[i:i + 1] + token[i:] for i in range(len(token)))])
    >>> sorted(Doubling().typos("cat"))
    ['caat', 'cat', 'catt', 'ccat']
    >>> Doubling().count("cat"), Doubling().allows("cat", "ccat")
    (4, True)
    """

    @abstractmethod
    def typos(self, token: str) -> frozenset[str]:
        """Every string that the attacker may type for the token."""
        ...

    def count(self, token: str) -> int:
        """How many there are: `len(typos(token))`, of any size."""
        return len(self.typos(token))

    def allows(self, token: str, typo: str) -> bool:
        """May the attacker type this for the token?"""
        return typo in self.typos(token)

    def sample(self, token: str, rng: np.random.Generator, k: int = 1) -> list[str]:
        """`k` independent draws from the ball, each member as likely as any other."""
        typos = sorted(self.typos(token))
        return [typos[i] for i in rng.integers(len(typos), size=k)]


@dataclass(frozen=True, kw_only=True)
class EditOne(Surface):
    """One edit inside the token: a letter inserted, deleted or substituted, or two neighbours swapped.

    The first `keep_first` and last `keep_last` characters stay as they are: nothing is inserted before or
    after them, and they are neither deleted, substituted nor swapped. A token of one character has only itself,
    whatever is kept.

    >>> surface = EditOne()
    >>> [surface.count(word) for word in ("the", "movie", "was", "miserable")]
    [78, 182, 78, 390]
    >>> surface.allows("the", "thae"), surface.allows("the", "teh")
    (True, False)
    """

    kind: ClassVar[str] = "edit-one"
    max_growth: ClassVar[int] = 1

    keep_first: int = 1
    keep_last: int = 1
    alphabet: str = "abcdefghijklmnopqrstuvwxyz"
    edits: tuple[str, ...] = EDITS

    def __post_init__(self) -> None:
        for name in ("keep_first", "keep_last"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
                raise ValueError(f"{name} is {value!r}; it must be a whole number of characters, 0 or more")
        if not isinstance(self.alphabet, str):
            raise TypeError(f"alphabet is {self.alphabet!r}; it must be a string of letters")
        alphabet = "".join(sorted(set(self.alphabet)))
        for letter in alphabet:
            if letter.isspace() or letter != letter.lower() or "\ud800" <= letter <= "\udfff":
                raise ValueError(
                    f"alphabet holds {letter!r}; it may hold no white space, no capitals (texts are lower-cased "
                    "before they are read) and no lone surrogates"
                )
        if not isinstance(self.edits, (str, tuple, list, set, frozenset)):
            raise TypeError(f"edits is {self.edits!r}; it must be some of {', '.join(EDITS)}")
        edits = (self.edits,) if isinstance(self.edits, str) else tuple(self.edits)
        for edit in edits:
            if edit not in EDITS:
                raise ValueError(f"{edit!r} is no edit; choose from {', '.join(EDITS)}")
        # One order for both, so that equal surfaces are equal.
        object.__setattr__(self, "alphabet", alphabet)
        object.__setattr__(self, "edits", tuple(edit for edit in EDITS if edit in edits))

    def __init_subclass__(cls) -> None:
        _forget_shortcuts(cls)

    @property
    def keeps_ends(self) -> bool:
        """Do the first and the last character of every token stay?"""
        return self.keep_first > 0 and self.keep_last > 0

    def typos(self, token: str) -> frozenset[str]:
        _refuse_large_ball(token, EditOne.count(self, token))
        return frozenset(self._typos(token))

    def count(self, token: str) -> int:
        window = self._window(token)
        if window is None:
            return 1
        letters = self._letters
        same_as_before = sum(map(str.__eq__, window, window[1:]))
        in_alphabet = sum(c in letters for c in window)
        total = 1
        if "insert" in self.edits:  # before a letter or after it, the same letter gives the same string
            total += (len(window) + 1) * len(letters) - in_alphabet
        if "delete" in self.edits:
            total += len(window) - same_as_before
        if "substitute" in self.edits:
            total += len(window) * len(letters) - in_alphabet
        if "swap" in self.edits and window:
            total += len(window) - 1 - same_as_before
        return total

    def allows(self, token: str, typo: str) -> bool:
        if token == typo:
            return True
        if self._window(token) is None or abs(len(token) - len(typo)) > 1:
            return False
        first, last = self.keep_first, len(token) - self.keep_last
        start = _common_prefix(token, typo)
        end = min(_common_prefix(token[::-1], typo[::-1]), len(token), len(typo))
        if len(typo) == len(token) + 1:
            at = max(first, len(token) - end)
            return "insert" in self.edits and at <= min(last, start) and typo[at] in self._letters
        if len(typo) == len(token) - 1:
            at = max(first, len(typo) - end)
            return "delete" in self.edits and at <= min(last - 1, start)
        i, j = start, len(token) - 1 - end  # the first and the last difference
        if i < first or j >= last:
            return False
        if i == j:
            return "substitute" in self.edits and typo[i] in self._letters
        return "swap" in self.edits and j == i + 1 and typo[i] == token[j] and typo[j] == token[i]

    def sample(self, token: str, rng: np.random.Generator, k: int = 1) -> list[str]:
        ball = _Ball(self, token)
        return [ball[int(i)] for i in rng.integers(self.count(token), size=k)]

    # What makes a surface fast in the plain kernel; all of it optional for others.

    def kept(self, token: str) -> tuple[str, ...]:
        """What an edit keeps. Tokens that differ in it share no typo."""
        if len(token) < self.keep_first + self.keep_last:
            return (token,)
        return token[: self.keep_first], token[len(token) - self.keep_last :]

    def keys(self, token: str) -> list[str]:
        """Strings of which a token and its typo have one in common: itself, and its deletions."""
        deletions = [token[:i] + token[i + 1 :] for i in range(self.keep_first, len(token) - self.keep_last)]
        return list(dict.fromkeys([token, *deletions]))

    def has_no_word_near(self, token: str, longest: int) -> bool:
        """Is the token so long that no typo of it is a typo of a word, nor fixed?"""
        shortest = len(token) - 1
        if shortest <= longest + 1 or self._window("x" * shortest) is None:
            return False
        is_inserted = "insert" in self.edits and bool(self.alphabet)
        return is_inserted or ("delete" in self.edits and shortest > self.keep_first + self.keep_last)

    def config(self) -> dict[str, Any]:
        """What the artifact on disk keeps of it."""
        return {
            "kind": self.kind,
            "keep_first": self.keep_first,
            "keep_last": self.keep_last,
            "alphabet": self.alphabet,
            "edits": list(self.edits),
        }

    @cached_property
    def _letters(self) -> frozenset[str]:
        return frozenset(self.alphabet)

    def _window(self, token: str) -> str | None:
        """The characters that may be edited, or None where there is no room for any edit."""
        if len(token) < max(2, self.keep_first + self.keep_last):
            return None
        return token[self.keep_first : len(token) - self.keep_last]

    def _typos(self, token: str) -> Iterator[str]:
        yield token
        if self._window(token) is None:
            return
        first, last = self.keep_first, len(token) - self.keep_last
        if "insert" in self.edits:
            for i in range(first, last + 1):
                yield from (token[:i] + letter + token[i:] for letter in self.alphabet)
        for i in range(first, last):
            if "delete" in self.edits:
                yield token[:i] + token[i + 1 :]
            if "substitute" in self.edits:
                yield from (token[:i] + letter + token[i + 1 :] for letter in self.alphabet)
            if "swap" in self.edits and i + 1 < last:
                yield token[:i] + token[i + 1] + token[i] + token[i + 2 :]


class _Ball:
    """The members of an `EditOne` ball by number, without listing it: for draws from long tokens."""

    def __init__(self, surface: EditOne, token: str) -> None:
        self.token = token
        # (number of the first member, make(member)) for each place and edit that gives strings of its own.
        self.starts: list[int] = [0]
        self.makers: list[tuple[str, int, str]] = [("keep", 0, "")]
        self.size = 1
        window = surface._window(token)
        if window is None:
            return
        first, last = surface.keep_first, len(token) - surface.keep_last
        for i in range(first, last + 1):
            before = token[i - 1] if i > first else ""
            if "insert" in surface.edits:
                self._add("insert", i, surface.alphabet.replace(before, "") if before else surface.alphabet)
            if i == last:
                break
            if "delete" in surface.edits and token[i] != before:
                self._add("delete", i, " ")
            if "substitute" in surface.edits:
                self._add("substitute", i, surface.alphabet.replace(token[i], ""))
            if "swap" in surface.edits and i + 1 < last and token[i] != token[i + 1]:
                self._add("swap", i, " ")

    def _add(self, edit: str, at: int, choices: str) -> None:
        if choices:
            self.starts.append(self.size)
            self.makers.append((edit, at, choices))
            self.size += len(choices)

    def __getitem__(self, number: int) -> str:
        from bisect import bisect_right

        at = bisect_right(self.starts, number) - 1
        edit, i, choices = self.makers[at]
        letter = choices[number - self.starts[at]] if choices else ""
        token = self.token
        if edit == "insert":
            return token[:i] + letter + token[i:]
        if edit == "delete":
            return token[:i] + token[i + 1 :]
        if edit == "substitute":
            return token[:i] + letter + token[i + 1 :]
        if edit == "swap":
            return token[:i] + token[i + 1] + token[i] + token[i + 2 :]
        return token


@dataclass(frozen=True)
class InternalPermutation(Surface):
    """The characters between the first and the last in any order.

    Being permutations of each other is an equivalence, so a ball is named by its normal form (the interior
    sorted) and never has to be listed, however long the token.

    >>> surface = InternalPermutation()
    >>> surface.allows("perturbation", "peabrurottin"), surface.allows("perturbation", "repturbation")
    (True, False)
    >>> surface.count("perturbation")
    907200
    """

    kind: ClassVar[str] = "internal-permutation"
    max_growth: ClassVar[int] = 0
    keeps_ends: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        _forget_shortcuts(cls)

    def typos(self, token: str) -> frozenset[str]:
        _refuse_large_ball(token, InternalPermutation.count(self, token))
        if len(token) < 4:
            return frozenset([token])
        return frozenset(token[0] + inside + token[-1] for inside in _arrangements(token[1:-1]))

    def count(self, token: str) -> int:
        total, placed = 1, 0
        for times in Counter(token[1:-1]).values():  # the product of binomials stays smaller than the factorials
            placed += times
            total *= math.comb(placed, times)
        return total

    def allows(self, token: str, typo: str) -> bool:
        return len(token) == len(typo) and self.normal_form(token) == self.normal_form(typo)

    def sample(self, token: str, rng: np.random.Generator, k: int = 1) -> list[str]:
        if len(token) < 4:
            return [token] * k
        inside = token[1:-1]
        return [token[0] + "".join(inside[i] for i in rng.permutation(len(inside))) + token[-1] for _ in range(k)]

    def normal_form(self, token: str) -> str:
        """The same string for all members of a ball, and for no others."""
        return token if len(token) < 4 else token[0] + "".join(sorted(token[1:-1])) + token[-1]

    def keys(self, token: str) -> list[str]:
        """Strings of which a token and its typo have one in common."""
        return [self.normal_form(token)]

    def config(self) -> dict[str, Any]:
        """What the artifact on disk keeps of it."""
        return {"kind": self.kind}


def surface_from_config(config: dict[str, Any]) -> EditOne | InternalPermutation:
    """The surface that an artifact names. Those written by users cannot be named: see `Encoding.load`."""
    options = dict(config)
    kind = options.pop("kind", None)
    if kind == EditOne.kind:
        return EditOne(**options)
    if kind == InternalPermutation.kind:
        return InternalPermutation(**options)
    raise ValueError(f"unknown surface {kind!r}; known are {EditOne.kind!r} and {InternalPermutation.kind!r}")


def _forget_shortcuts(cls: type) -> None:
    """Of a class that inherits other typos, takes all that was derived from the old ones."""
    if "typos" not in vars(cls):
        return
    for name in ("count", "allows", "sample"):
        if name not in vars(cls):
            setattr(cls, name, getattr(Surface, name))
    for name in ("kept", "keys", "has_no_word_near", "max_growth", "normal_form", "keeps_ends"):
        if name not in vars(cls):
            setattr(cls, name, None)


def _refuse_large_ball(token: str, count: int) -> None:
    characters = count * len(token)
    if characters > LARGEST_BALL:
        shown = token if len(token) <= 20 else token[:17] + "..."
        raise ValueError(
            f"{shown!r} ({len(token):,} characters) has {_readable(count)} typos: too many to list. "
            "Use count, allows or sample, which do not list them"
        )


def _readable(count: int) -> str:
    return f"{count:,}" if count < 10**15 else f"about 10^{int(math.log2(count) * math.log10(2))}"


def _common_prefix(a: str, b: str) -> int:
    """How many characters a and b have in common at the front."""
    n = min(len(a), len(b))
    if a[:n] == b[:n]:
        return n
    low, high = 0, n  # a[:low] == b[:low], a[:high] != b[:high]
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _arrangements(letters: str) -> Iterator[str]:
    """Every distinct order of the letters, the sorted one first."""
    order = sorted(letters)
    while True:
        yield "".join(order)
        # The next in alphabetical order: raise the last letter that can be raised, by as little as possible.
        i = len(order) - 2
        while i >= 0 and order[i] >= order[i + 1]:
            i -= 1
        if i < 0:
            return
        j = len(order) - 1
        while order[j] <= order[i]:
            j -= 1
        order[i], order[j] = order[j], order[i]
        order[i + 1 :] = reversed(order[i + 1 :])
