"""What results say of a system on a task, whatever the seeds they were measured with."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from roben.attack import interval
from roben.experiment import Entry, ExperimentError
from roben.experiment.entry import ENCODED
from roben.report.published import GAMMA

__all__ = [
    "ENCODED",
    "SYSTEM_NAMES",
    "Measured",
    "Number",
    "Point",
    "Results",
    "Setting",
    "budget_curve",
    "budget_curves",
    "checked",
    "gamma_curve",
    "measured",
    "of_texts",
    "settings",
]

Results = Mapping[Entry, dict[str, Any]]

SYSTEM_NAMES = {
    "undefended": "undefended",
    "augmentation": "augmentation",
    "typo-corrector": "typo corrector",
    "symspell": "SymSpell",
    "components": "ConnComp",
    "agglomerative": "AggClust",
}
SURFACES = {"edits": "one edit a token", "permutations": "inner letters in any order"}
VOCABULARIES = {"english": "wordfreq's", "coca": "COCA's"}


@dataclass(frozen=True)
class Number:
    """A share in percent, measured with one seed or several."""

    values: tuple[float, ...]
    """One for each seed."""
    seeds: tuple[int, ...]
    n: int
    """How many rows each was measured on."""

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float | None:
        """The sample standard deviation over the seeds, if there are several."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval that comes from the number of rows."""
        low, high = interval(self.mean / 100, self.n)
        return 100 * low, 100 * high

    @staticmethod
    def average(numbers: Sequence[Number | None]) -> Number | None:
        """Over tasks, of which none may be missing: by seed where each task has the same seeds."""
        found = [number for number in numbers if number is not None]
        if not found or len(found) < len(numbers):
            return None
        n = sum(number.n for number in found)
        common = sorted(set.intersection(*(set(number.seeds) for number in found)))
        if len(common) < max(len(number.seeds) for number in found):
            return Number((statistics.fmean(number.mean for number in found),), (), n)
        at = [dict(zip(number.seeds, number.values, strict=True)) for number in found]
        return Number(tuple(statistics.fmean(values[seed] for values in at) for seed in common), tuple(common), n)


@dataclass(frozen=True)
class Setting:
    """What a table has in common."""

    model: str
    surface: str
    tokens: str
    vocabulary: str
    n_words: int
    rows: str = "all"
    limit_train: int | None = None
    limit_eval: int | None = None

    @classmethod
    def of(cls, entry: Entry) -> Setting:
        """The setting of an entry."""
        names = cls.__dataclass_fields__
        return cls(**{name: getattr(entry, name) for name in names})

    def has(self, entry: Entry) -> bool:
        """Is the entry one of these? Systems without an encoding have no vocabulary."""
        found = Setting.of(entry)
        if not entry.is_encoded:
            found = replace(found, vocabulary=self.vocabulary, n_words=self.n_words)
        return found == self

    @property
    def words(self) -> str:
        """The vocabulary, in words."""
        return f"{VOCABULARIES[self.vocabulary]} {self.n_words:,} words"

    @property
    def name(self) -> str:
        """In short, for titles."""
        parts = [*([] if self.model == "none" else [self.model]), f"tokens by {self.tokens}", self.words]
        if self.rows != "all":
            parts.append("validation rows")
        limits = {"trained on": self.limit_train, "measured on": self.limit_eval}
        parts += [f"{what} {n:,} rows only" for what, n in limits.items() if n is not None]
        return ", ".join(parts)

    @property
    def slug(self) -> str:
        """In short, for names of files."""
        parts = [*([] if self.model == "none" else [self.model]), self.surface, self.tokens, self.vocabulary]
        if self.n_words != 100_000:
            parts.append(str(self.n_words))
        return "-".join([*parts, *self.limits])

    @property
    def limits(self) -> list[str]:
        """What limits the rows, for names of files."""
        limits = {"train": self.limit_train, "eval": self.limit_eval}
        found = [f"{what}{n}" for what, n in limits.items() if n is not None]
        return found if self.rows == "all" else [self.rows, *found]

    @property
    def note(self) -> str:
        """At length, for notes."""
        model = "" if self.model == "none" else f"Model: {self.model}. "
        return f"{model}Tokens by {self.tokens}. Vocabulary: {self.words}. Surface: {SURFACES[self.surface]}."


@dataclass(frozen=True)
class Measured:
    """The results of one system, in one setting, on one task: one for each seed, or several."""

    found: tuple[tuple[Entry, dict[str, Any]], ...]

    def __bool__(self) -> bool:
        return bool(self.found)

    def attacked_by(self, *names: str) -> Measured:
        """Only the results that have all of these attacks."""
        return Measured(tuple((entry, result) for entry, result in self.found if {*names} <= {*entry.attacks}))

    def asked_at_most(self, n: float) -> Measured:
        """Only the results whose attacks might ask so many texts; infinity is no limit."""
        return Measured(tuple((entry, result) for entry, result in self.found if (entry.max_queries or math.inf) == n))

    def of_seeds(self, seeds: Collection[int]) -> Measured:
        """Only the results of these seeds."""
        return Measured(tuple((entry, result) for entry, result in self.found if entry.seed in seeds))

    def standard(self) -> Number | None:
        """Accuracy on clean text."""
        return _number((entry, result.get("standard")) for entry, result in self.found)

    def robust(self) -> Number | None:
        """Exact accuracy under all perturbations."""
        return _number((entry, result.get("robust")) for entry, result in self.found)

    def attack(self, name: str = "beam", *, n: int | None = None) -> Number | None:
        """Accuracy under an attack, on n rows, or on the most rows that any seed was attacked on."""
        attacks = [(entry, result.get("attacks", {}).get(name)) for entry, result in self.found]
        if n is not None and any(attack is not None and attack["n"] == n for _, attack in attacks):
            attacks = [(entry, attack) for entry, attack in attacks if attack is not None and attack["n"] == n]
        return _number(attacks)

    def queries(self, name: str) -> float | None:
        """How many texts an attack asked about, for each example of those that its accuracy is of."""
        left = self.attack(name)
        attacks = [result.get("attacks", {}).get(name) for _, result in self.found]
        asked = [attack["queries_per_example"] for attack in attacks if attack and left and attack["n"] == left.n]
        return statistics.fmean(asked) if asked else None

    def one_encoding(self) -> Number | None:
        """How many texts have a single encoding."""
        share, n = self.first("texts", "one_encoding"), self.first("data", "n_evaluation")
        return None if share is None or n is None else Number((100 * share,), (0,), n)

    def gap(self) -> Number | None:
        """What robust accuracy lacks of standard accuracy."""
        standard, robust = self.standard(), self.robust()
        if standard is None or robust is None or standard.seeds != robust.seeds:
            return None
        values = tuple(s - r for s, r in zip(standard.values, robust.values, strict=True))
        return Number(values, standard.seeds, robust.n)

    def accuracy(self, measure: str) -> Number | None:
        """Standard, attack or robust accuracy."""
        if measure == "attack":
            return self.attack()
        return self.standard() if measure == "standard" else self.robust()

    def mean(self, *path: str) -> float | None:
        """The mean of some other number of the results."""
        values = [value for _, result in self.found if (value := _at(result, path)) is not None]
        return statistics.fmean(values) if values else None

    def first(self, *path: str) -> Any:
        """What the first result that has it says: for what depends on no seed."""
        return next((value for _, result in self.found if (value := _at(result, path)) is not None), None)


def _number(shares: Iterable[tuple[Entry, dict[str, Any] | None]]) -> Number | None:
    """Of each seed one share: on the most rows that any has."""
    found = [(entry.seed, share) for entry, share in shares if share is not None and share["n"]]
    n = max((share["n"] for _, share in found), default=0)
    values: dict[int, float] = {}
    for seed, share in found:
        if share["n"] == n:
            values.setdefault(seed, 100 * share["accuracy"])
    seeds = tuple(sorted(values))
    return Number(tuple(values[seed] for seed in seeds), seeds, n) if seeds else None


def measured(
    results: Results, setting: Setting, task: str, system: str, *, gamma: float = GAMMA, budget: int | None = None
) -> Measured:
    """The results of a system on a task. Gamma is that of agglomerative clusters."""

    def is_wanted(entry: Entry) -> bool:
        return (
            (entry.task, entry.system, entry.budget) == (task, system, budget)
            and (system != "agglomerative" or entry.gamma == gamma)
            and setting.has(entry)
        )

    # The results that say most of attacks come first.
    chosen = [(entry, result) for entry, result in results.items() if is_wanted(entry)]
    return Measured(tuple(sorted(chosen, key=lambda pair: (-len(pair[0].attacks), pair[0].name))))


def of_texts(results: Results) -> Results:
    """What the results say of texts and their encodings, which depends on no model and no seed."""
    found: dict[Entry, dict[str, Any]] = {}
    for entry, result in sorted(results.items(), key=lambda pair: (pair[0].model != "none", pair[0].name)):
        of_text = replace(entry, model="none", seed=0, attacks=(), limit_train=None)
        found.setdefault(of_text, {name: result[name] for name in ("data", "texts")})
    return found


def settings(results: Results) -> list[Setting]:
    """All settings that have results, in order."""
    encoded = {Setting.of(entry) for entry in results if entry.is_encoded}
    plain = [entry for entry in results if not entry.is_encoded]
    lonely = {Setting.of(entry) for entry in plain if not any(setting.has(entry) for setting in encoded)}
    return sorted(encoded | lonely, key=lambda setting: [(part is not None, part) for part in astuple(setting)])


def checked(results: Results) -> Results:
    """The results, if each has what tables are made of."""
    for entry, result in results.items():
        missing = next((name for name, is_there in _needed(entry, result) if not is_there), None)
        if missing is not None:
            raise ExperimentError(f"the result of {entry.name} has no {missing}; remove it to measure again")
    return results


def _needed(entry: Entry, result: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    about = ("evaluation", "n_train", "n_train_of_task", "n_evaluation")
    paths: list[tuple[str, ...]] = [("data", name) for name in about]
    paths.append(("texts", "log10_perturbations", "counts"))
    if entry.is_encoded:
        paths.append(("texts", "encodings"))
    if entry.model != "none":
        measures: list[tuple[str, ...]] = [("standard",), *([("robust",)] if entry.is_encoded else [])]
        measures += [("attacks", name) for name in entry.attacks]
        paths += [(*measure, name) for measure in measures for name in ("accuracy", "n")]
        paths += [("attacks", name, part) for name in entry.attacks for part in ("standard", "queries_per_example")]
    for path in paths:
        yield ".".join(path), _at(result, path) is not None


def _at(result: Any, path: Sequence[str]) -> Any:
    for name in path:
        if not isinstance(result, dict) or name not in result:
            return None
        result = result[name]
    return result


@dataclass(frozen=True)
class Point:
    """What is left where an attacker may change `budget` tokens; None is no limit."""

    budget: int | None
    robust: Number | None
    attack: Number | None


def gamma_curve(results: Results, setting: Setting, task: str) -> list[tuple[float, Measured]]:
    """Agglomerative clusters by their gamma."""
    gammas = {
        entry.gamma
        for entry in results
        if (entry.task, entry.system, entry.budget) == (task, "agglomerative", None) and setting.has(entry)
    }
    curve = [(gamma, measured(results, setting, task, "agglomerative", gamma=gamma)) for gamma in sorted(gammas)]
    # The same seeds everywhere, where there are some.
    shared = set.intersection(*({entry.seed for entry, _ in at.found} for _, at in curve)) if curve else set()
    return [(gamma, at.of_seeds(shared) if shared else at) for gamma, at in curve]


def budget_curves(results: Results, setting: Setting, task: str) -> dict[str, list[Point]]:
    """All systems by the attacker's budget, in settings where some can be certified."""
    curves = {system: budget_curve(results, setting, task, system) for system in SYSTEM_NAMES}
    return {system: curve for system, curve in curves.items() if curve} if any(map(curves.get, ENCODED)) else {}


def budget_curve(results: Results, setting: Setting, task: str, system: str) -> list[Point]:
    """One system by the attacker's budget, no limit last. The same rows are attacked everywhere, where they can be."""
    budgets = {
        entry.budget
        for entry in results
        if (entry.task, entry.system) == (task, system) and setting.has(entry) and entry.budget is not None
    }
    found = {budget: measured(results, setting, task, system, budget=budget) for budget in sorted(budgets)}
    sizes = {number.n for at_budget in found.values() if (number := at_budget.attack())}
    n_attacked = max(sizes, default=None)
    seeds = {entry.seed for at_budget in found.values() for entry, _ in at_budget.found}
    whole = measured(results, setting, task, system).of_seeds(seeds)
    return [
        Point(budget, at_budget.robust(), at_budget.attack(n=n_attacked))
        for budget, at_budget in [*found.items(), (None, whole)]
        if at_budget and found
    ]
