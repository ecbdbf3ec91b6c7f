"""Heuristic attacks: what a model loses to an attacker who searches.

An attack is made first and then run: `beam_search(width=5)(model, texts, labels, surface, seed=0)`. The model is any
object with `predict_proba` and `classes_`. What an attack claims is checked before it is returned: every token must
be one that the surface allows, and the label must really have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from roben.kernel import split_name
from roben.surface import InternalPermutation, Surface
from roben.typed import Text, TypedText

__all__ = ["AttackResult", "attack_accuracy", "beam_search", "paper_sample"]

Progress = Callable[[int], None]
Sample = Callable[[Surface, str, np.random.Generator], Sequence[str]]

# Examples that are attacked side by side, so that batches are full.
WINDOW = 256


@dataclass(frozen=True)
class AttackResult:
    """What an attack made of one example."""

    index: int
    text: Text
    label: Any
    attacked: Text | None
    """A perturbation that the model gets wrong: the text itself if it was wrong already; None if none was found."""
    n_changed: int
    """How many tokens of it differ."""
    n_queries: int
    """How many predictions it took."""

    @property
    def is_broken(self) -> bool:
        """Does the model get this example wrong under attack?"""
        return self.attacked is not None


def attack_accuracy(results: Iterable[AttackResult]) -> float:
    """The share of examples that the model still gets right."""
    broken = [result.is_broken for result in results]
    return 1 - sum(broken) / len(broken) if broken else float("nan")


def paper_sample(surface: Surface, token: str, rng: np.random.Generator) -> list[str]:
    """The paper's B′: what the beam search tries for a token.

    All deletions of a token of more than four characters, four random typos of a shorter one; of permutations, five.
    """
    if isinstance(surface, InternalPermutation):
        typos = surface.sample(token, rng, 5)
    elif len(token) > 4:
        deletions = {token[:i] + token[i + 1 :] for i in range(len(token))}
        typos = sorted(typo for typo in deletions if surface.allows(token, typo))
    else:
        typos = surface.sample(token, rng, 4)
    return list(dict.fromkeys(typo for typo in typos if typo != token))


def beam_search(
    width: int = 5, *, budget: int | None = None, sample: Sample = paper_sample, tokens: str = "words"
) -> Callable[..., list[AttackResult]]:
    """The paper's attack: token after token in random order, keeping the `width` least likely texts.

    `budget` bounds the number of changed tokens; `sample` says what is tried for a token; `tokens` how texts are split
    (a model with an encoding is attacked by the split of that). Chance depends on the seed and an example's place.
    """
    if width < 1 or (budget is not None and budget < 0):
        raise ValueError(f"width is {width!r} and budget {budget!r}; expected at least 1, and 0 or more (or None)")

    def attack(
        model: Any,
        texts: Iterable[Text],
        labels: Iterable[Any],
        surface: Surface,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> list[AttackResult]:
        encoding = getattr(model, "encoding_", None)
        by = tokens if encoding is None else encoding.tokens
        split = split_name(by, keeps_ends=bool(getattr(surface, "keeps_ends", False)))
        ranks = {label: rank for rank, label in enumerate(np.asarray(model.classes_).tolist())}
        targets = []
        for index, (text, label) in enumerate(zip(texts, labels, strict=True)):
            text = tuple(text) if isinstance(text, (list, np.ndarray)) else text  # a pair
            plain = label.item() if isinstance(label, np.generic) else label
            if plain not in ranks:
                raise ValueError(f"the label {plain!r} of example {index} is none of the model's: {list(ranks)}")
            targets.append(_Target(index, text, plain, ranks[plain], split, np.random.default_rng([seed, index])))
        oracle = _Oracle(model)
        done = 0
        for start in range(0, len(targets), WINDOW):
            window = targets[start : start + WINDOW]
            _search(window, oracle, surface, width, budget, sample)
            done += len(window)
            if progress is not None:
                progress(done)
        return _checked(targets, oracle, surface)

    return attack


@dataclass
class _Target:
    """One example under attack. A beam is a set of changes, by the number of the token."""

    index: int
    text: Text
    label: Any
    rank: int
    split: str
    rng: np.random.Generator
    beams: list[dict[int, str]] = field(default_factory=lambda: [{}])
    found: dict[int, str] | None = None
    queries: set[Text] = field(default_factory=set)

    def __post_init__(self) -> None:
        sides = (self.text,) if isinstance(self.text, str) else self.text
        self.sides = [TypedText(side, self.split) for side in sides]
        self.tokens = [token for side in self.sides for token in side.tokens]
        self.order = self.rng.permutation(len(self.tokens)).tolist()

    def typed(self, changes: dict[int, str]) -> Text:
        parts, first = [], 0
        for side in self.sides:
            last = first + len(side.tokens)
            parts.append(side.replace({i - first: typo for i, typo in changes.items() if first <= i < last}))
            first = last
        return parts[0] if isinstance(self.text, str) else (parts[0], parts[1])


class _Oracle:
    """Probabilities of typed texts, none asked for twice in a window."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.known: dict[Text, Any] = {}

    def __call__(self, asked: Sequence[tuple[_Target, Text]]) -> list[Any]:
        for target, text in asked:
            target.queries.add(text)
        new = list(dict.fromkeys(text for _, text in asked if text not in self.known))
        if new:
            self.known.update(zip(new, np.asarray(self.model.predict_proba(new)), strict=True))
        return [self.known[text] for _, text in asked]


def _search(
    targets: Sequence[_Target], oracle: _Oracle, surface: Surface, width: int, budget: int | None, sample: Sample
) -> None:
    """Beam search over all targets in step."""
    oracle.known.clear()
    own = oracle([(target, target.text) for target in targets])
    for target, probabilities in zip(targets, own, strict=True):
        if probabilities.argmax() != target.rank:
            target.found = {}
    for step in range(max((len(target.order) for target in targets), default=0)):
        asked: list[tuple[_Target, Text]] = []
        candidates: list[dict[int, str]] = []
        for target in targets:
            if target.found is not None or step >= len(target.order):
                continue
            place = target.order[step]
            typos = sample(surface, target.tokens[place], target.rng)
            for beam in target.beams:
                candidates.append(beam)
                if budget is None or len(beam) < budget:
                    candidates.extend({**beam, place: typo} for typo in typos)
                asked += [(target, target.typed(changes)) for changes in candidates[len(asked) :]]
        answers = oracle(asked)
        by_target: dict[int, list[tuple[float, dict[int, str]]]] = {}
        for (target, _), changes, probabilities in zip(asked, candidates, answers, strict=True):
            if probabilities.argmax() != target.rank and target.found is None:
                target.found = changes
            by_target.setdefault(target.index, []).append((float(probabilities[target.rank]), changes))
        for target in targets:
            if target.index in by_target:
                least_likely = sorted(by_target[target.index], key=lambda scored: scored[0])  # stable
                target.beams = [changes for _, changes in least_likely[:width]]


def _checked(targets: Sequence[_Target], oracle: _Oracle, surface: Surface) -> list[AttackResult]:
    """The results, once every token was found to be allowed and every label to have changed."""
    attacked: dict[int, Text] = {}
    for target in targets:
        if target.found is None:
            continue
        for place, typo in target.found.items():
            if not surface.allows(target.tokens[place], typo):
                raise ValueError(
                    f"the attack typed {typo!r} for {target.tokens[place]!r}, which the surface does not allow"
                )
        attacked[target.index] = target.typed(target.found) if target.found else target.text
    broken = [target for target in targets if target.index in attacked]
    oracle.known.clear()
    for target, probabilities in zip(broken, oracle([(t, attacked[t.index]) for t in broken]), strict=True):
        if probabilities.argmax() == target.rank:
            raise ValueError(
                f"the model changes its mind: {attacked[target.index]!r} is {target.label!r} now, and was not a moment "
                "ago. Its predictions must not depend on chance, nor on the other texts of a batch"
            )
    return [
        AttackResult(
            target.index,
            target.text,
            target.label,
            attacked.get(target.index),
            len(target.found or {}),
            len(target.queries),
        )
        for target in targets
    ]
