"""The searches: which typos are tried, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from roben.attack.referee import Attack, Changes, Target, is_whole, made_of
from roben.surface import InternalPermutation, Surface

__all__ = ["beam_search", "greedy", "paper_sample", "random_search"]

Sample = Callable[[Surface, str, np.random.Generator], Sequence[str]]
Steps = Generator[Sequence[Changes], Sequence[float], Any]
Beams = list[tuple[float, dict[int, str]]]  # how likely the true label is, and the changes

# A ball is tried in parts: a few typos of every token before more of any.
PARTS = (4, 16, 64, 256, 1024)
LARGEST_BALL = sum(PARTS)


def beam_search(
    width: int = 5,
    *,
    budget: int | None = None,
    max_queries: int | None = None,
    sample: Sample | None = None,
    tokens: str = "words",
) -> Attack:
    """The paper's attack: token after token in random order, keeping the `width` least likely texts.

    `budget` bounds the number of changed tokens, `max_queries` the number of texts asked about. `sample` says what is
    tried for a token, `paper_sample` by default. `tokens` is how texts are split; a model with an encoding is attacked
    by the split of that. Chance depends on the seed and an example's place.
    """
    _check_width(width)
    tried = paper_sample if sample is None else sample

    def search(target: Target) -> Steps:
        beams: Beams = [(target.likelihood, {})]
        for place in target.rng.permutation(len(target.tokens)).tolist():
            typos = tried(target.surface, target.tokens[place], target.rng)
            beams = yield from _extended(target, beams, place, typos, width)

    return made_of(search, budget=budget, max_queries=max_queries, tokens=tokens)


def greedy(
    width: int = 1, *, budget: int | None = None, max_queries: int | None = None, tokens: str = "words"
) -> Attack:
    """Searches the whole ball, tokens on which the model leans most first. With a `width` above 1 it is a beam search.

    How much it leans on a token is how much less likely the label is without it. Of each token a few typos are tried,
    then more, so that few queries go far and many reach every typo (or, of a ball of thousands, a sample of it).
    """
    _check_width(width)

    def search(target: Target) -> Steps:
        order = yield from _by_influence(target)
        rank = {place: i for i, place in enumerate(order)}
        balls: dict[int, list[str]] = {}
        beams: Beams = [(target.likelihood, {})]
        start = 0
        for part in PARTS:
            for place in order:
                if place not in balls:
                    balls[place] = _shuffled_ball(target, place)
                typos = balls[place][start : start + part]
                beams = yield from _extended(target, beams, place, typos, width, give_up=rank.__getitem__)
            start += part

    return made_of(search, budget=budget, max_queries=max_queries, tokens=tokens)


def random_search(*, budget: int | None = None, max_queries: int | None = 500, tokens: str = "words") -> Attack:
    """The floor: random perturbations of all tokens, or of as many as the budget allows."""
    if max_queries is None:
        raise ValueError("max_queries is None; a random search needs an end")
    at_a_time = 16

    def search(target: Target) -> Steps:
        changeable = [i for i, token in enumerate(target.tokens) if target.surface.count(token) > 1]
        n_changed = len(changeable) if target.budget is None else min(target.budget, len(changeable))
        asked: set[tuple[tuple[int, str], ...]] = {()}
        while n_changed:
            drawn = (_random_changes(target, changeable, n_changed) for _ in range(at_a_time))
            new = {key: changes for changes in drawn if (key := tuple(changes.items())) not in asked}
            if not new:  # of so few perturbations nearly all were asked about
                return
            asked |= new.keys()
            yield list(new.values())

    return made_of(search, budget=budget, max_queries=max_queries, tokens=tokens)


def paper_sample(surface: Surface, token: str, rng: np.random.Generator) -> list[str]:
    """The paper's B′: what the beam search tries for a token.

    All deletions of a token of more than four characters, four random typos of a shorter one; of permutations, five.
    Where a surface allows no deletions, four random typos of any token.
    """
    deletions = {token[:i] + token[i + 1 :] for i in range(len(token))} if len(token) > 4 else set()
    typos = sorted(typo for typo in deletions if surface.allows(token, typo))
    if isinstance(surface, InternalPermutation):
        typos = surface.sample(token, rng, 5)
    elif not typos:
        typos = surface.sample(token, rng, 4)
    return list(dict.fromkeys(typo for typo in typos if typo != token))


def _extended(
    target: Target,
    beams: Beams,
    place: int,
    typos: Sequence[str],
    width: int,
    give_up: Callable[[int], int] | None = None,
) -> Generator[Sequence[Changes], Sequence[float], Beams]:
    """The beams with each of these typos or none, the least likely of them.

    A beam that has spent its budget takes no change elsewhere, unless `give_up` ranks the changes that it may lose.
    """
    asked: list[tuple[int, dict[int, str]]] = []
    for i, (_, changes) in enumerate(beams):
        kept = changes
        if target.budget is not None and len({**changes, place: ""}) > target.budget:
            if give_up is None or not target.budget:
                continue
            lost = max(changes, key=give_up)
            kept = {at: typo for at, typo in changes.items() if at != lost}
        asked += [(i, {**kept, place: typo}) for typo in typos]
    if not asked:
        return beams
    likelihoods = yield [changes for _, changes in asked]
    # A beam stands before the beams made of it, and of equally likely ones the first stays.
    pool = [(likelihood, i, 0, changes) for i, (likelihood, changes) in enumerate(beams)]
    pool += [(likelihood, i, 1, changes) for likelihood, (i, changes) in zip(likelihoods, asked, strict=True)]
    pool.sort(key=lambda scored: scored[:3])
    different: Beams = []
    for likelihood, _, _, changes in pool:
        if all(changes != other for _, other in different):
            different.append((likelihood, changes))
        if len(different) == width:
            break
    return different


def _by_influence(target: Target) -> Generator[Sequence[Changes], Sequence[float], list[int]]:
    """The tokens that can be changed, those first without which the label is least likely."""
    changeable = [i for i, token in enumerate(target.tokens) if target.surface.count(token) > 1]
    if not changeable or target.budget == 0:
        return []
    likelihoods = yield [{i: None} for i in changeable]
    return [i for _, i in sorted(zip(likelihoods, changeable, strict=True))]


def _shuffled_ball(target: Target, place: int) -> list[str]:
    token = target.tokens[place]
    if target.surface.count(token) > LARGEST_BALL:
        drawn = dict.fromkeys(target.surface.sample(token, target.rng, LARGEST_BALL))
        return [typo for typo in drawn if typo != token]
    typos = sorted(target.surface.typos(token) - {token})
    return [typos[i] for i in target.rng.permutation(len(typos))]


def _random_changes(target: Target, changeable: Sequence[int], n_changed: int) -> dict[int, str]:
    places = sorted(target.rng.choice(changeable, size=n_changed, replace=False).tolist())
    drawn = ((place, target.surface.sample(target.tokens[place], target.rng, 1)[0]) for place in places)
    return {place: typo for place, typo in drawn if typo != target.tokens[place]}


def _check_width(width: int) -> None:
    if not is_whole(width, 1):
        raise ValueError(f"width is {width!r}; expected a number of texts to keep, 1 or more")
