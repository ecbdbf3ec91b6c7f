"""Runs searches against a model: asks their questions in full batches, keeps count, and believes no claim unchecked."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roben.attack.result import AttackResult
from roben.classifier.robust import ModelError, as_texts, checked_predictions, checked_probabilities
from roben.kernel import split_for
from roben.surface import Surface
from roben.typed import Text, TypedText, sides_of

__all__ = ["Attack", "AttackError", "Changes", "Search", "Target", "from_function", "is_whole", "made_of"]

# What is typed for a token, by its number. None leaves the token out: nobody may type that, but it may be asked.
Changes = Mapping[int, str | None]
# A search asks about changes and is told, for each, how likely the true label is. It need not look for success: the
# referee sees every answer, and ends a search whose question the model got wrong. It asks at least one at a time.
Search = Callable[["Target"], Generator[Sequence[Changes], Sequence[float], None]]
Attack = Callable[..., list[AttackResult]]
Progress = Callable[[AttackResult], None]
Finder = Callable[[Any, Text, Any, Surface, np.random.Generator], "Text | None"]

# Examples that are attacked side by side, so that batches are full.
WINDOW = 256
# Texts asked twice to see whether the answer stays.
ASKED_TWICE = 32


class AttackError(ValueError):
    """An attack that types what is not allowed, or claims what is not so."""


@dataclass
class Target:
    """One example under attack, as a search sees it."""

    index: int
    text: Text
    label: Any
    surface: Surface
    split: str
    rng: np.random.Generator
    budget: int | None
    likelihood: float = 1.0
    """Of the true label, for the text as it stands."""

    @cached_property
    def tokens(self) -> list[str]:
        """The tokens that may be changed; of a pair, those of both texts."""
        return [token for side in self.sides for token in side.tokens]

    def typed(self, changes: Changes) -> Text:
        """The text with these changes."""
        if not changes:
            return self.text
        parts, first = [], 0
        for side in self.sides:
            last = first + len(side.tokens)
            own = {i - first: typo or "" for i, typo in changes.items() if first <= i < last}
            parts.append(side.replace(own) if own else side.text)
            first = last
        return parts[0] if isinstance(self.text, str) else (parts[0], parts[1])

    @cached_property
    def sides(self) -> list[TypedText]:
        """The text, or both texts of a pair."""
        return _sides(self.text, self.split)


def _sides(text: Text, split: str) -> list[TypedText]:
    return [TypedText(side, split) for side in sides_of(text)]


def made_of(search: Search, *, budget: int | None, max_queries: int | None, tokens: str) -> Attack:
    """The attack that runs this search on every example."""

    def claims(targets: Sequence[Target], judge: _Judge) -> Iterator[list[_Claim]]:
        return _run((_Trial(target, judge.ranks[target.label], search, max_queries) for target in targets), judge)

    return _attack(claims, budget, max_queries, tokens)


def from_function(find: Finder, *, budget: int | None = None, tokens: str = "words") -> Attack:
    """An attack of one's own: `find(model, text, label, surface, rng)` gives a text that the model gets wrong, or None.

    It is called for each example that is right as it stands. What it gives is checked as for any other attack.
    """

    def claims(targets: Sequence[Target], judge: _Judge) -> Iterator[list[_Claim]]:
        for target in targets:
            counted = _Counted(judge.model)
            is_wrong = judge.decide([target.text]) != [target.label]
            claimed = target.text if is_wrong else find(counted, target.text, target.label, target.surface, target.rng)
            yield [_Claim(target, _as_claimed(target, claimed), 1 + counted.n_queries)]

    return _attack(claims, budget, None, tokens)


def _attack(
    claims: Callable[[Sequence[Target], _Judge], Iterator[list[_Claim]]],
    budget: int | None,
    max_queries: int | None,
    tokens: str,
) -> Attack:
    """An attack whose claims are checked as they come."""
    _check_budget(budget, max_queries)

    def attack(
        model: Any,
        texts: Iterable[Text],
        labels: Iterable[Any],
        surface: Surface,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> list[AttackResult]:
        judge = _Judge(model)
        targets = _targets(model, texts, labels, surface, tokens, budget, seed)
        judge.examine(targets)
        results: list[AttackResult] = []
        for ended in claims(targets, judge):
            for result in _checked(ended, judge):
                results.append(result)
                if progress is not None:
                    progress(result)
        return sorted(results, key=lambda result: result.index)

    return attack


def _check_budget(budget: int | None, max_queries: int | None) -> None:
    if budget is not None and not is_whole(budget, 0):
        raise ValueError(f"budget is {budget!r}; expected a number of tokens, 0 or more, or None for all")
    if max_queries is not None and not is_whole(max_queries, 1):
        raise ValueError(f"max_queries is {max_queries!r}; expected a number of texts, 1 or more, or None")


def is_whole(value: Any, least: int) -> bool:
    """Is it a whole number, and not less than this?"""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= least


def _targets(
    model: Any,
    texts: Iterable[Text],
    labels: Iterable[Any],
    surface: Surface,
    tokens: str,
    budget: int | None,
    seed: int,
) -> list[Target]:
    encoding = getattr(model, "encoding_", None)
    by = tokens if encoding is None else encoding.tokens
    split = split_for(by, surface)
    known = np.asarray(model.classes_).tolist()
    targets = []
    for index, (text, label) in enumerate(zip(as_texts(texts), labels, strict=True)):
        plain = label.item() if isinstance(label, np.generic) else label
        if plain not in known:
            raise ValueError(f"the label {plain!r} of example {index} is none of the model's: {known}")
        targets.append(Target(index, text, plain, surface, split, np.random.default_rng([seed, index]), budget))
    return targets


# -- asking -------------------------------------------------------------------------------------------------


class _Judge:
    """The model under attack. It decides by `predict`, if it has one, else by the highest probability."""

    def __init__(self, model: Any) -> None:
        if not hasattr(model, "predict_proba") or not hasattr(model, "classes_"):
            lacks = "classes_" if hasattr(model, "predict_proba") else "predict_proba"
            raise TypeError(f"{type(model).__name__} has no {lacks}; an attack is told by probabilities where to go on")
        self.model = model
        self.classes = np.asarray(model.classes_).tolist()
        self.ranks = {label: rank for rank, label in enumerate(self.classes)}
        # Some models decide by a threshold of their own, or otherwise than by the highest probability.
        self.is_likeliest = getattr(model, "predicts_likeliest", not hasattr(model, "predict"))

    def probabilities(self, texts: Sequence[Text]) -> NDArray[np.float64]:
        return checked_probabilities(self.model, texts, len(self.classes))

    def decide(self, texts: Sequence[Text]) -> list[Any]:
        if not texts:
            return []
        if hasattr(self.model, "predict"):
            decided: list[Any] = checked_predictions(self.model, texts, self.classes).tolist()
            return decided
        return [self.classes[rank] for rank in self.probabilities(texts).argmax(axis=1)]

    def examine(self, targets: Sequence[Target]) -> None:
        """Refuses a model that answers by chance."""
        texts = [target.text for target in targets[:ASKED_TWICE]]
        if not texts:
            return
        first, second = self.probabilities(texts), self.probabilities(texts)
        moved = np.abs(first - second).max(axis=1)
        if moved.max() > 1e-4:
            worst = int(moved.argmax())
            raise ModelError(
                f"{type(self.model).__name__}.predict_proba is not deterministic: {texts[worst]!r} got "
                f"{first[worst].round(4).tolist()} and then {second[worst].round(4).tolist()}. Switch off what is "
                "random in it, such as dropout (model.eval()), or fix its seed"
            )


class _Counted:
    """A model that counts what it is asked."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.n_queries = 0

    def predict_proba(self, texts: Iterable[Text]) -> Any:
        asked = list(texts)
        self.n_queries += len(asked)
        return self._model.predict_proba(asked)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name != "predict":
            return getattr(self._model, name)
        predict = self._model.predict

        def counted(texts: Iterable[Text]) -> Any:
            asked = list(texts)
            self.n_queries += len(asked)
            return predict(asked)

        return counted


# -- searching ----------------------------------------------------------------------------------------------


@dataclass
class _Trial:
    """A search of one example, as far as it has got."""

    target: Target
    rank: int
    search: Search
    max_queries: int | None
    n_queries: int = 0
    found: Changes | None = None
    asked: dict[Text, Changes] = field(default_factory=dict)
    """The questions of this step, each text once."""
    _steps: Generator[Sequence[Changes], Sequence[float], None] | None = None
    _proposals: list[Text] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ask([{}])  # first of all, the text as it stands

    def advance(self, likelihoods: Mapping[Text, float]) -> None:
        """Takes the answers, and has the search ask again."""
        self.asked = {}
        try:
            if self._steps is None:
                self.target.likelihood = likelihoods[self.target.text]
                self._steps = self.search(self.target)
                self._ask(next(self._steps))
            elif all(text in likelihoods for text in self._proposals):
                self._ask(self._steps.send([likelihoods[text] for text in self._proposals]))
        except StopIteration:
            pass

    def _ask(self, proposals: Sequence[Changes]) -> None:
        self._proposals = [self.target.typed(changes) for changes in proposals]
        for text, changes in zip(self._proposals, proposals, strict=True):
            if self.n_queries == self.max_queries:
                break
            if text not in self.asked:
                self.asked[text] = changes
                self.n_queries += 1


@dataclass(frozen=True)
class _Claim:
    """What is said to be wrong of a target."""

    target: Target
    text: Text | None
    n_queries: int


def _run(trials: Iterator[_Trial], judge: _Judge) -> Iterator[list[_Claim]]:
    """Advances trials side by side, and gives those that have ended."""
    running: list[_Trial] = []
    while True:
        running += islice(trials, WINDOW - len(running))
        if not running:
            return
        texts = list(dict.fromkeys(text for trial in running for text in trial.asked))
        answers = dict(zip(texts, judge.probabilities(texts), strict=True))
        _find(running, answers, judge)
        ended = []
        for trial in running:
            if trial.found is None:
                trial.advance({text: float(answers[text][trial.rank]) for text in trial.asked})
            if trial.found is not None:
                ended.append(_Claim(trial.target, trial.target.typed(trial.found), trial.n_queries))
            elif not trial.asked:
                ended.append(_Claim(trial.target, None, trial.n_queries))
        running = [trial for trial in running if trial.found is None and trial.asked]
        if ended:
            yield ended


def _find(trials: Sequence[_Trial], answers: Mapping[Text, NDArray[np.float64]], judge: _Judge) -> None:
    """Marks the trials one of whose questions the model decides wrongly. Only those are decided that may be wrong."""
    wrong: list[tuple[_Trial, Text, Changes]] = []
    for trial in trials:
        claims = ((text, changes) for text, changes in trial.asked.items() if None not in changes.values())
        for text, changes in claims:
            # Of the text as it stands, the decision counts, whatever the probabilities.
            if not judge.is_likeliest or answers[text].argmax() != trial.rank or not changes:
                wrong.append((trial, text, changes))
    decided = judge.decide([text for _, text, _ in wrong])
    for (trial, _, changes), label in zip(wrong, decided, strict=True):
        if label != trial.target.label and trial.found is None:
            trial.found = changes


# -- checking -----------------------------------------------------------------------------------------------


def _checked(claims: Sequence[_Claim], judge: _Judge) -> list[AttackResult]:
    """The results, once every token was found to be allowed and every label to have changed."""
    results = []
    for claim in claims:
        target = claim.target
        n_changed = 0 if claim.text is None or claim.text == target.text else _n_changed(target, claim.text)
        if target.budget is not None and n_changed > target.budget:
            raise AttackError(
                f"the attack changed {n_changed} tokens of {target.text!r}; its budget is {target.budget}"
            )
        results.append(AttackResult(target.index, target.text, target.label, claim.text, n_changed, claim.n_queries))
    broken = [result for result in results if result.attacked is not None]
    for result, label in zip(broken, judge.decide([_text(result) for result in broken]), strict=True):
        if label == result.label:
            raise AttackError(
                f"the attack claims that {result.attacked!r} is not {result.label!r}, but {type(judge.model).__name__} "
                "says that it is. If it said otherwise a moment ago, its answers depend on chance or on the other "
                "texts of a batch, and cannot be attacked"
            )
    return results


def _text(result: AttackResult) -> Text:
    assert result.attacked is not None
    return result.attacked


def _n_changed(target: Target, attacked: Text) -> int:
    """How many tokens differ, all of them as the surface allows."""
    n_changed = 0
    for clean, typed in zip(target.sides, _sides(attacked, target.split), strict=True):
        if len(clean.tokens) != len(typed.tokens):
            raise AttackError(
                f"the attack made {len(typed.tokens)} tokens, {typed.text!r}, of {len(clean.tokens)}, {clean.text!r}"
            )
        for token, typo in zip(clean.tokens, typed.tokens, strict=True):
            if token != typo and not target.surface.allows(token, typo):
                raise AttackError(f"the attack typed {typo!r} for {token!r}, which the surface does not allow")
            n_changed += token != typo
    return n_changed


def _as_claimed(target: Target, claimed: Any) -> Text | None:
    """What a function gave, if it is a text of a text, or a pair of a pair."""
    if claimed is None:
        return None
    try:
        text = as_texts([claimed])[0]
        is_alike = isinstance(text, str) == isinstance(target.text, str)
    except TypeError:
        is_alike = False
    if not is_alike:
        raise AttackError(f"the attack made {claimed!r} of {target.text!r}; expected a text of a text, two of a pair")
    return text
