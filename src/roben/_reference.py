"""The kernel again, in plain Python: what the compiled one must equal, and what runs in its place.

It runs where roben was installed without a compiler, and for surfaces that users write themselves. Its
functions have the names, arguments and results of those of the compiled kernel.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roben.kernel import is_word_character

Tick = Callable[[float], None] | None
Ids = NDArray[np.uint32]
Offsets = NDArray[np.int64]


# -- graph --------------------------------------------------------------------------------------------------


def typo_graph(
    words: Sequence[str], surface: Any, threads: int = 1, tick: Tick = None
) -> tuple[Offsets, Ids, Offsets, Ids]:
    """Rows of the owners that each word reaches, then rows of the words that each shares a typo with."""
    rank = {word: i for i, word in enumerate(words)}
    reach: list[set[int]] = [{i} for i in range(len(words))]
    neighbors: list[set[int]] = [set() for _ in words]
    done = 0
    for block in _blocks(words, surface):
        for typo, holders in _holders(words, surface, block):
            owner = rank.get(typo, holders[0])  # a word owns itself, another typo goes to the most frequent word
            for holder in holders:
                reach[holder].add(owner)
                if len(holders) > 1:
                    neighbors[holder].update(holders)
        done += len(block)
        if tick is not None:
            tick(done / len(words))
    for i, row in enumerate(neighbors):
        row.discard(i)
    return *_rows(reach), *_rows(neighbors)


def _shortcut(surface: Any, name: str) -> Callable[..., Any] | None:
    """A method that surfaces may have to be faster, if this one has it."""
    found: Callable[..., Any] | None = getattr(surface, name, None)
    return found


def _blocks(words: Sequence[str], surface: Any) -> list[list[int]]:
    """Words in groups that share no typos with each other."""
    kept = _shortcut(surface, "kept") or (lambda word: "")
    blocks: dict[Any, list[int]] = defaultdict(list)
    for i, word in enumerate(words):
        blocks[kept(word)].append(i)
    return list(blocks.values())


def _holders(words: Sequence[str], surface: Any, block: list[int]) -> Iterable[tuple[str, list[int]]]:
    """Typos, each with the words that have it in their ball, most frequent first."""
    holders: dict[str, list[int]] = defaultdict(list)
    if _shortcut(surface, "normal_form"):  # balls are classes: all words of one hold each other
        for i in block:
            holders[surface.normal_form(words[i])].append(i)
        return [(words[i], members) for members in holders.values() for i in members]
    for i in block:
        for typo in surface.typos(words[i]):
            holders[typo].append(i)
    return holders.items()


def _rows(sets: Iterable[Iterable[int]]) -> tuple[Offsets, Ids]:
    rows = [sorted(row) for row in sets]
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return offsets, np.array([i for row in rows for i in row], dtype=np.uint32)


def _sets(offsets: Offsets, targets: Ids) -> list[list[int]]:
    ends, flat = offsets.tolist(), targets.tolist()
    return [flat[a:b] for a, b in pairwise(ends)]


# -- clustering ---------------------------------------------------------------------------------------------


def connected_components(offsets: Offsets, targets: Ids) -> Ids:
    """The most frequent word of every word's component."""
    parent = list(range(len(offsets) - 1))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, row in enumerate(_sets(offsets, targets)):
        for j in row:
            a, b = root(i), root(j)
            parent[max(a, b)] = min(a, b)
    return np.array([root(i) for i in range(len(parent))], dtype=np.uint32)


def agglomerate(
    weights: NDArray[np.int64],
    reach_offsets: Offsets,
    reach_targets: Ids,
    neighbor_offsets: Offsets,
    neighbor_targets: Ids,
    gamma: float,
    threads: int = 1,
    tick: Tick = None,
) -> tuple[Ids, Ids, Ids]:
    """The code of every word; then the merges, by component and in order: who was kept, who was absorbed."""
    reach = _sets(reach_offsets, reach_targets)
    neighbors = _sets(neighbor_offsets, neighbor_targets)
    components: dict[int, list[int]] = defaultdict(list)
    for word, code in enumerate(connected_components(reach_offsets, reach_targets).tolist()):
        components[code].append(word)
    codes = list(range(len(reach)))
    merges: list[tuple[int, int]] = []
    done = 0
    for members in components.values():
        merges += _agglomerate_component(members, weights.tolist(), reach, neighbors, gamma)
        done += len(members)
        if tick is not None:
            tick(done / len(reach))
    for kept, absorbed in reversed(merges):
        codes[absorbed] = codes[kept]
    kept_by, absorbed_ones = np.array(merges, dtype=np.uint32).reshape(-1, 2).T
    return np.array(codes, dtype=np.uint32), kept_by, absorbed_ones


def _agglomerate_component(
    members: list[int], weights: list[int], reach: list[list[int]], neighbors: list[list[int]], gamma: float
) -> list[tuple[int, int]]:
    """The merges of one component. A cluster has the number of its most frequent word."""
    mass = {x: float(weights[x]) for x in members}
    square = {x: mass[x] * mass[x] for x in members}
    adjacent = {x: set(neighbors[x]) for x in members}
    reached_by: dict[int, set[int]] = {x: set() for x in members}
    for w in members:
        for x in reach[w]:
            reached_by[x].add(w)
    version = dict.fromkeys(members, 0)
    heap: list[tuple[float, int, int, int, int]] = []

    def consider(x: int, y: int) -> None:
        a, b = min(x, y), max(x, y)
        shared = sum(weights[w] for w in reached_by[a] & reached_by[b])
        # cost(a) + cost(b) − cost(a ∪ b) = −lost, with cost = P − S/P
        both = mass[a] * mass[b] * (mass[a] + mass[b])
        lost = (square[a] * mass[b] * mass[b] + square[b] * mass[a] * mass[a]) / both
        gain = (1 - gamma) * float(shared) - gamma * lost
        if gain > 0:
            heapq.heappush(heap, (-gain, a, b, version[a], version[b]))

    for x in members:
        for y in adjacent[x]:
            if x < y:
                consider(x, y)
    merges = []
    while heap:
        _, a, b, version_a, version_b = heapq.heappop(heap)
        if version.get(a) != version_a or version.get(b) != version_b:
            continue  # one of them has changed or gone since
        merges.append((a, b))
        mass[a] += mass.pop(b)
        square[a] += square.pop(b)
        reached_by[a] |= reached_by.pop(b)
        adjacent[a] = (adjacent[a] | adjacent.pop(b)) - {a, b}
        version[a] += 1
        del version[b]
        for other in adjacent[a]:
            adjacent[other].discard(b)
            adjacent[other].add(a)
            consider(a, other)
    return merges


def reachable_codes(offsets: Offsets, targets: Ids, codes: Ids) -> tuple[Offsets, Ids]:
    """Rows of the codes of the owners that each word reaches."""
    return _rows({int(codes[i]) for i in row} for row in _sets(offsets, targets))


# -- text ---------------------------------------------------------------------------------------------------


def tokenize(text: str, split: str) -> list[str]:
    """The tokens of a text, lower-cased. Splits are "spaces", "words" and "inner-words"."""
    if split not in ("spaces", "words", "inner-words"):
        raise ValueError("a split is one of 'spaces', 'words', 'inner-words'")
    text = text.lower()
    if split == "spaces":
        return text.split()
    tokens: list[str] = []
    for is_run, characters in groupby(text.replace("\u2019", "'"), key=_belongs_to_a_run):
        piece = "".join(characters)
        if not is_run:
            tokens.extend(mark for mark in piece if not mark.isspace())
        elif split == "inner-words":
            inside = piece.strip("'")
            before = len(piece) - len(piece.lstrip("'"))
            tokens.extend("'" * before)
            tokens.extend([inside] if inside else [])
            tokens.extend("'" * (len(piece) - before - len(inside)))
        else:
            tokens.append(piece)
    return tokens


def _belongs_to_a_run(character: str) -> bool:
    return character == "'" or is_word_character(character)


# -- encoding -----------------------------------------------------------------------------------------------


class Encoder:
    """Tokens and texts to codes, and the codes that the attacker can reach."""

    def __init__(
        self, words: Sequence[str], codes: Ids, offsets: Offsets, targets: Ids, surface: Any, split: str, unknown: str
    ) -> None:
        self._words = tuple(words)
        self._rank = {word: i for i, word in enumerate(words)}
        self._codes: list[int] = codes.tolist()
        self._reachable = _sets(offsets, targets)
        self._surface = surface
        self._split = split
        self._unknown = unknown
        self._longest = max(map(len, words), default=0)
        # A typo of a word has a key in common with it. Surfaces that know no such keys list their typos.
        self._token_keys = _shortcut(surface, "keys") or (lambda token: (token,))

    @cached_property
    def _index(self) -> dict[str, list[int]]:
        word_keys = _shortcut(self._surface, "keys") or self._surface.typos
        index: dict[str, list[int]] = defaultdict(list)
        for i, word in enumerate(self._words):
            for key in word_keys(word):
                index[key].append(i)
        return index

    def encode(self, text: str) -> str:
        """The codes of the text's tokens, joined by blanks."""
        return " ".join(map(self.code, tokenize(text, self._split)))

    def encode_many(self, texts: Sequence[str], threads: int = 1, tick: Tick = None) -> list[str]:
        """The same for many texts."""
        return [self.encode(text) for text in texts]

    def word(self, token: str) -> int | None:
        """The word that a token is, or is taken to be a typo of."""
        if token in self._rank:
            return self._rank[token]
        growth = getattr(self._surface, "max_growth", None)
        if growth is not None and len(token) > self._longest + growth:
            return None
        candidates = {i for key in self._token_keys(token) for i in self._index.get(key, ())}
        return min((i for i in candidates if self._surface.allows(self._words[i], token)), default=None)

    def code(self, token: str) -> str:
        """π: the code of that word. A token that is no word's typo is unknown, or stays if it cannot be changed."""
        word = self.word(token)
        if word is not None:
            return self._words[self._codes[word]]
        is_fixed: bool = self._surface.count(token) == 1
        return token if is_fixed else self._unknown

    def reachable(self, token: str) -> frozenset[str]:
        """B_π: the codes of everything that the attacker may type for the token."""
        if token in self._rank:
            return frozenset(self._words[code] for code in self._reachable[self._rank[token]])
        if _shortcut(self._surface, "normal_form"):  # a typo is one of the class's words, or belongs to the first
            words = (self._words[i] for i in self._index.get(self._surface.normal_form(token), ()))
            return frozenset(map(self.code, [token, *words]))
        is_far = _shortcut(self._surface, "has_no_word_near")
        if is_far is not None and is_far(token, self._longest):
            return frozenset([self._unknown])
        return frozenset(map(self.code, self._surface.typos(token)))

    def slot(self, token: str) -> tuple[tuple[str, ...], int | None]:
        """The codes that the attacker can reach, the token's own first; and of `EditOne` the size of its ball."""
        own = self.code(token)
        count = self._surface.count(token) if getattr(self._surface, "kind", None) == "edit-one" else None
        return (own, *sorted(self.reachable(token) - {own})), count

    def typo_with(self, token: str, code: str) -> str | None:
        """A typo of the token that has the code, or None."""
        if _shortcut(self._surface, "normal_form"):
            candidates = [token, *(self._words[i] for i in self._index.get(self._surface.normal_form(token), ()))]
        else:
            candidates = [token, *sorted(self._surface.typos(token), key=lambda typo: (len(typo), typo))]
        return next((typo for typo in candidates if self.code(typo) == code), None)
