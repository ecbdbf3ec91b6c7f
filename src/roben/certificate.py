"""The exact verdict for each example: can any perturbation of it be classified wrongly?"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Any, Literal

import numpy as np

from roben.classifier.robust import RobustClassifier, as_texts
from roben.encoding import Encoding
from roben.lattice import Lattice, lattices
from roben.typed import Text, sides_of

__all__ = ["Certificate", "RobustAccuracy", "certify", "robust_accuracy"]

Verdict = Literal["robust", "broken", "undecided"]

# Examples that are looked at together: enough to fill batches, few enough to stream.
WINDOW = 1024
# Predicted encodings are remembered, so that none is predicted twice: as many as take this many characters.
REMEMBERED = 1 << 26


@dataclass(frozen=True, repr=False)
class Certificate:
    """What is proved of one example."""

    index: int
    text: Text
    label: Any
    prediction: Any
    """The class of the text as it stands."""
    verdict: Verdict
    """robust: no perturbation is classified wrongly. broken: one is. undecided: too many encodings to tell."""
    n_encodings: int
    """|B_α(x)|; with a budget, those of perturbations that keep it."""
    n_perturbations: int
    """|B(x)|, likewise."""
    flips: int | None
    """The fewest changed tokens that break it; 0: it is wrong as it stands; None: none are known to."""
    witness: Text | None
    """A perturbation that the model gets wrong."""
    n_predictions: int
    """What it cost."""
    budget: int | None = None

    def __repr__(self) -> str:
        shown = self.text if len(str(self.text)) <= 60 else f"{str(self.text)[:57]}..."
        return (
            f"Certificate({self.index}: {shown!r}, {self.verdict}, flips={self.flips}, "
            f"n_encodings={_shortened(self.n_encodings)}, n_perturbations={_shortened(self.n_perturbations)})"
        )

    @property
    def is_correct(self) -> bool:
        """Is the text as it stands classified rightly?"""
        return self.flips != 0


def _shortened(count: int) -> str:
    return f"{count:,}" if count < 10**12 else f"about 10^{int(math.log10(2) * math.log2(count))}"


@dataclass(frozen=True)
class RobustAccuracy:
    """The share of examples that no attacker can break."""

    n: int
    n_correct: int
    n_robust: int
    n_undecided: int
    n_predictions: int

    @property
    def lower(self) -> float:
        """Undecided examples counted as broken, as the paper does."""
        return self.n_robust / self.n if self.n else float("nan")

    @property
    def upper(self) -> float:
        """Undecided examples counted as robust."""
        return (self.n_robust + self.n_undecided) / self.n if self.n else float("nan")

    @property
    def standard(self) -> float:
        """The share that is classified rightly as it stands."""
        return self.n_correct / self.n if self.n else float("nan")


def robust_accuracy(certificates: Iterable[Certificate]) -> RobustAccuracy:
    """Counts certificates. `lower` and `upper` are equal where none is undecided: then it is exact."""
    n = n_correct = n_robust = n_undecided = n_predictions = 0
    for c in certificates:
        n += 1
        n_correct += c.is_correct
        n_robust += c.verdict == "robust"
        n_undecided += c.verdict == "undecided"
        n_predictions += c.n_predictions
    return RobustAccuracy(n, n_correct, n_robust, n_undecided, n_predictions)


def certify(
    model: RobustClassifier,
    texts: Iterable[Text],
    labels: Iterable[Any],
    *,
    budget: int | None = None,
    limit: int = 10_000,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Certificate]:
    """Certificates of the examples, one by one and in order.

    `budget` bounds the number of tokens that the attacker may change. An example with more than `limit` encodings
    is "undecided" unless one of its single changes breaks it; the default classifier decides every example,
    whatever their number. `progress` is called with the number of examples done.
    """
    if not isinstance(model, RobustClassifier):
        raise TypeError(
            f"found a {type(model).__name__}; certificates are of a RobustClassifier, which has an encoding"
        )
    if getattr(model, "classifier_", None) is None:
        raise ValueError("the model is not fitted yet: call fit first")
    if model.encoding_ is None:
        raise ValueError(
            "the model has no encoding, so that nothing can be proved of it; roben.attack shows what it is worth"
        )
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, (int, np.integer)) or budget < 0):
        raise ValueError(f"budget is {budget!r}; it must be a whole number of tokens, 0 or more, or None for all")
    if isinstance(limit, bool) or not isinstance(limit, (int, np.integer)) or limit < 1:
        raise ValueError(f"limit is {limit!r}; it must be a whole number of encodings, 1 or more")
    if isinstance(texts, str) or isinstance(labels, str):
        raise TypeError("found one text or label; expected many: pass [text], [label]")
    budget = None if budget is None else int(budget)
    if hasattr(texts, "to_numpy"):  # a data frame: by row, not by column
        texts = as_texts(texts)
    return _certify(model, model.encoding_, texts, labels, budget, int(limit), progress)


def _certify(
    model: RobustClassifier,
    encoding: Encoding,
    texts: Iterable[Text],
    labels: Iterable[Any],
    budget: int | None,
    limit: int,
    progress: Callable[[int], None] | None,
) -> Iterator[Certificate]:
    oracle = _Oracle(model)
    examples = _examples(texts, labels, model)
    done = 0
    while window := list(islice(examples, WINDOW)):
        found = lattices(encoding, [text for text, _ in window])
        searches = [_Search(lattice, label, budget, limit) for lattice, (_, label) in zip(found, window, strict=True)]
        if hasattr(model.classifier_, "fewest_changes"):
            _search_exactly(model, searches, oracle)
        else:
            _search_by_enumeration(searches, oracle)
        witnesses = _witnesses(model, encoding, searches, [text for text, _ in window])
        for search, witness, (text, _) in zip(searches, witnesses, window, strict=True):
            yield _certificate(search, text, witness, done, budget)
            done += 1
            if progress is not None:
                progress(done)


def _examples(texts: Iterable[Text], labels: Iterable[Any], model: RobustClassifier) -> Iterator[tuple[Text, Any]]:
    nothing = object()
    known = set(model.classes_.tolist())
    for i, (text, label) in enumerate(zip_longest(texts, labels, fillvalue=nothing)):
        if text is nothing or label is nothing:
            raise ValueError(f"there are {i:,} {'texts' if text is nothing else 'labels'}, and more of the other")
        plain = label.item() if isinstance(label, np.generic) else label
        if plain not in known:
            raise ValueError(f"the label {plain!r} of example {i} was not seen in training: {sorted(known, key=str)}")
        yield as_texts([text])[0], plain


# -- searching ----------------------------------------------------------------------------------------------


@dataclass
class _Search:
    """What is known of one example so far."""

    lattice: Lattice
    label: Any
    budget: int | None
    limit: int
    prediction: Any = None
    n_predictions: int = 0
    is_decided: bool = False
    wrong: tuple[int, list[str]] | None = None  # number of changes, and the codes
    candidates: Iterator[tuple[int, list[str]]] = field(init=False)

    def __post_init__(self) -> None:
        self.n_encodings = self.lattice.n_encodings(self.budget)
        # Of too many encodings, only those of single changes are tried: one of them may settle it.
        self.is_complete = self.n_encodings <= self.limit
        most = self.budget if self.is_complete else min(1, 1 if self.budget is None else self.budget)
        self.candidates = self.lattice.changed(most)


class _Oracle:
    """Predictions of encoded texts, none made twice."""

    def __init__(self, model: RobustClassifier) -> None:
        self.model = model
        self.known: OrderedDict[Text, Any] = OrderedDict()
        self.n_characters = 0

    def __call__(self, asked: Sequence[tuple[_Search, Text]]) -> list[Any]:
        """The class of each encoding. The search that asks first bears the cost."""
        new: dict[Text, None] = {}
        for search, encoded in asked:
            if encoded not in self.known and encoded not in new:
                new[encoded] = None
                search.n_predictions += 1
        answers = dict(zip(new, self.model.predict_encoded(list(new)).tolist(), strict=True))
        result = [answers[encoded] if encoded in answers else self.known[encoded] for _, encoded in asked]
        self.known.update(answers)
        self.n_characters += sum(map(_length, answers))
        while self.n_characters > REMEMBERED:
            self.n_characters -= _length(self.known.popitem(last=False)[0])
        return result


def _length(text: Text) -> int:
    return len(text) if isinstance(text, str) else len(text[0]) + len(text[1])


def _look_at_own(searches: Sequence[_Search], oracle: _Oracle) -> None:
    asked = [(search, search.lattice.own()) for search in searches]
    for (search, _), predicted in zip(asked, oracle(asked), strict=True):
        search.prediction = predicted
        if predicted != search.label:
            search.wrong, search.is_decided = (0, [slot.codes[0] for slot in search.lattice.slots]), True


def _search_by_enumeration(searches: Sequence[_Search], oracle: _Oracle) -> None:
    """Predicts encoding after encoding, few changes first, of all examples in turn: batches stay full."""
    _look_at_own(searches, oracle)
    at_a_time = 8
    while open_searches := [search for search in searches if not search.is_decided]:
        asked, candidates = [], []
        for search in open_searches:
            chunk = list(islice(search.candidates, at_a_time))
            search.is_decided = not chunk
            for candidate in chunk:
                asked.append((search, search.lattice.text(candidate[1])))
                candidates.append(candidate)
        for (search, _), candidate, predicted in zip(asked, candidates, oracle(asked), strict=True):
            if predicted != search.label and search.wrong is None:
                search.wrong, search.is_decided = candidate, True
        at_a_time = min(8 * at_a_time, 512)


def _search_exactly(model: RobustClassifier, searches: Sequence[_Search], oracle: _Oracle) -> None:
    """Asks the classifier itself, which knows its worst encoding without trying them all."""
    _look_at_own(searches, oracle)
    ranks = {label: rank for rank, label in enumerate(model.classes_.tolist())}
    for search in searches:
        search.is_complete = True
        if search.is_decided:
            continue
        found = model.classifier_.fewest_changes(search.lattice.codes, ranks[search.label], search.budget)
        if found is not None:
            search.wrong = found.n_changes, [code for side in found.codes for code in side]


# -- results ------------------------------------------------------------------------------------------------


def _certificate(search: _Search, text: Text, witness: Text | None, index: int, budget: int | None) -> Certificate:
    verdict: Verdict = "broken" if search.wrong is not None else "robust" if search.is_complete else "undecided"
    return Certificate(
        index=index,
        text=text,
        label=search.label,
        prediction=search.prediction,
        verdict=verdict,
        n_encodings=search.n_encodings,
        n_perturbations=search.lattice.n_perturbations(budget),
        flips=None if search.wrong is None else search.wrong[0],
        witness=witness,
        n_predictions=search.n_predictions,
        budget=budget,
    )


def _witnesses(
    model: RobustClassifier, encoding: Encoding, searches: Sequence[_Search], texts: Sequence[Text]
) -> list[Text | None]:
    """A typed text for every example that is broken, predicted as it stands before it is believed."""
    witnesses: list[Text | None] = []
    for search, text in zip(searches, texts, strict=True):
        if search.wrong is None:
            witnesses.append(None)
        elif search.wrong[0] == 0:  # the text itself, as it was predicted
            witnesses.append(text)
        else:
            witnesses.append(typed(encoding, text, search.lattice, search.wrong[1]))
    broken = [
        (search, witness)
        for search, witness in zip(searches, witnesses, strict=True)
        if witness is not None and search.wrong is not None and search.wrong[0] > 0
    ]
    predicted = model.predict([witness for _, witness in broken]).tolist()
    for (search, witness), label in zip(broken, predicted, strict=True):
        search.n_predictions += 1
        if label == search.label:
            raise RuntimeError(
                f"{type(model.classifier_).__name__} changes its mind: {witness!r} is {label!r} now, and was another a "
                "moment ago. A classifier whose answer depends on the other texts of a batch, or on chance, cannot be "
                "certified"
            )
    return witnesses


def typed(encoding: Encoding, text: Text, lattice: Lattice, codes: Sequence[str]) -> Text:
    """A text that the attacker may type, whose encoding has these codes."""
    sides = sides_of(text)
    parts, at = [], 0
    for side, slots in zip(sides, lattice.sides, strict=True):
        wanted = codes[at : at + len(slots)]
        changes = {
            i: encoding.typo_with(slot.token, code)
            for i, (slot, code) in enumerate(zip(slots, wanted, strict=True))
            if code != slot.codes[0]
        }
        for i, typo in changes.items():
            if not encoding.surface.allows(slots[i].token, typo):
                raise RuntimeError(f"{typo!r} was found for {slots[i].token!r}, but the surface does not allow it")
        parts.append(encoding.typed(side).replace(changes))
        at += len(slots)
    return parts[0] if isinstance(text, str) else (parts[0], parts[1])
