"""What is to be measured: one entry for every cell of a table and every point of a figure, read from a TOML file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

__all__ = ["SYSTEMS", "TASKS", "Entry", "ExperimentError", "Plan", "Recipe"]

# Of each task, how many rows it has to train on, and the split on which the paper reports.
TASKS = {
    "SST-2": (67_349, "test"),
    "MRPC": (3_668, "test"),
    "QQP": (363_846, "dev"),
    "MNLI": (392_702, "dev"),
    "QNLI": (104_743, "dev"),
    "RTE": (2_490, "dev"),
}
# Those with an encoding can be certified.
SYSTEMS = ("undefended", "augmentation", "typo-corrector", "symspell", "components", "agglomerative")
ENCODED = ("components", "agglomerative")
CHOICES = {
    "task": tuple(TASKS),
    "system": SYSTEMS,
    "surface": ("edits", "permutations"),
    "tokens": ("words", "spaces"),
    "vocabulary": ("english", "coca"),
    "rows": ("all", "validation"),
}


class ExperimentError(ValueError):
    """A plan, a result or a folder that is not what it must be."""


@dataclass(frozen=True, order=True)
class Entry:
    """One measurement. Equal entries are the same measurement, wherever they are listed."""

    task: str
    system: str
    model: str = "linear"
    """A recipe of the plan; "none" measures what needs no model: how many encodings texts have."""
    surface: str = "edits"
    tokens: str = "words"
    vocabulary: str = "english"
    n_words: int = 100_000
    gamma: float = 0.3
    seed: int = 0
    budget: int | None = None
    attacks: tuple[str, ...] = ()
    n_attacked: int | None = None
    max_queries: int | None = None
    rows: str = "all"
    """validation: trained on four fifths of the training rows and measured on the others, for tuning."""
    limit_train: int | None = None
    limit_eval: int | None = None

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ExperimentError(f"{name} is {getattr(self, name)!r}; expected one of {', '.join(choices)}")
        unknown = set(self.attacks) - {"beam", "greedy", "random"}
        if unknown:
            raise ExperimentError(f"there is no attack {min(unknown)!r}; expected beam, greedy or random")
        if not 0 <= self.gamma <= 1:
            raise ExperimentError(f"gamma is {self.gamma!r}; expected a number from 0 to 1")
        # What a system does not look at is not part of its entries, so that equal measurements are equal entries.
        if self.system != "agglomerative":
            object.__setattr__(self, "gamma", 0.0 if self.system == "components" else 1.0)
        if not self.is_encoded:
            object.__setattr__(self, "vocabulary", "english")
            object.__setattr__(self, "n_words", 100_000)
        if not self.attacks:
            object.__setattr__(self, "n_attacked", None)
            object.__setattr__(self, "max_queries", None)

    @property
    def is_encoded(self) -> bool:
        """Has the system an encoding, so that it can be certified?"""
        return self.system in ENCODED

    @property
    def name(self) -> str:
        """A name for files: what differs from the defaults."""
        parts = [self.task, self.system]
        if self.system == "agglomerative":
            parts[-1] += f"-{self.gamma:g}"
        parts += [self.model, self.surface, self.tokens]
        if self.vocabulary != "english" or self.n_words != 100_000:
            parts.append(f"{self.vocabulary}-{self.n_words}")
        if self.rows != "all":
            parts.append(self.rows)
        parts += [f"{short}{value}" for short, value in self._numbers() if value is not None]
        return ".".join([*parts, *self.attacks, f"seed{self.seed}"]).lower()

    def _numbers(self) -> Iterator[tuple[str, int | None]]:
        yield "b", self.budget
        yield "attacked", self.n_attacked
        yield "queries", self.max_queries
        yield "train", self.limit_train
        yield "eval", self.limit_eval

    @property
    def training(self) -> Entry:
        """The entry of the trained model: equal for all entries that share one."""
        plain = self.system in ("undefended", "typo-corrector", "symspell")
        return replace(
            self,
            system="undefended" if plain else self.system,
            surface="edits" if plain else self.surface,
            tokens="words" if plain else self.tokens,
            budget=None,
            attacks=(),
            limit_eval=None,
        )

    def as_json(self) -> dict[str, Any]:
        """For a result."""
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"attacks": list(self.attacks)}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Entry:
        """From a result."""
        return cls(**{**found, "attacks": tuple(found["attacks"])})


@dataclass(frozen=True)
class Recipe:
    """How a model is trained. Without a transformer it is the linear one."""

    transformer: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    augmented: dict[str, Any] = field(default_factory=dict)
    """What is different for augmented text, of which there is several times as much."""

    def for_system(self, system: str) -> dict[str, Any]:
        """The options of the classifier."""
        return self.options | (self.augmented if system == "augmentation" else {})


@dataclass(frozen=True)
class Plan:
    """All entries of a file, by the name of the group that lists them, and the recipes of their models."""

    groups: dict[str, tuple[Entry, ...]]
    recipes: dict[str, Recipe]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Reads a plan: tables of recipes, and groups whose lists are expanded to all combinations."""
        path = Path(path)
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ExperimentError(f"{path} does not exist; expected a file of experiments") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ExperimentError(f"{path} is not readable as TOML: {error}") from None
        recipes = {"linear": Recipe()} | {
            name: _recipe(path, name, options) for name, options in _tables(path, found, "model").items()
        }
        groups = {
            name: tuple(_expanded(path, name, options)) for name, options in _tables(path, found, "group").items()
        }
        for name, entries in groups.items():
            for entry in entries:
                if entry.model not in (*recipes, "none"):
                    known = ", ".join([*recipes, "none"])
                    raise ExperimentError(
                        f"{path}, group {name}: the model is {entry.model!r}; expected one of {known}"
                    )
        return cls(groups, recipes)

    def entries(self, names: Sequence[str] = (), **wanted: Sequence[Any]) -> list[Entry]:
        """Different entries, of these groups only and with these values only."""
        unknown = set(names) - set(self.groups)
        if unknown:
            raise ExperimentError(f"there is no group {min(unknown)!r}; expected one of {', '.join(self.groups)}")
        chosen = [entry for name in names or self.groups for entry in self.groups[name]]
        for key, values in wanted.items():
            chosen = [entry for entry in chosen if not values or getattr(entry, key) in values]
        return list(dict.fromkeys(chosen))


def _tables(path: Path, found: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    tables = found.get(kind, {})
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise ExperimentError(f"{path}: {kind} is no table of tables; expected [{kind}.NAME]")
    return tables


def _recipe(path: Path, name: str, options: dict[str, Any]) -> Recipe:
    options = dict(options)
    augmented = options.pop("augmentation", {})
    transformer = options.pop("transformer", None)
    known = {"learning_rate", "batch_size", "epochs", "max_length", "predict_batch_size", "precision"}
    unknown = (set(options) | set(augmented)) - known
    if unknown:
        raise ExperimentError(
            f"{path}, model {name}: {min(unknown)!r} is no option; expected {', '.join(sorted(known))}"
        )
    return Recipe(transformer, options, augmented)


def _expanded(path: Path, group: str, options: dict[str, Any]) -> Iterator[Entry]:
    """All combinations of the lists. A list of lists chooses for several names at once: "tokens, vocabulary"."""
    known = {f.name for f in fields(Entry)}
    axes = [(tuple(part.strip() for part in names.split(",")), values) for names, values in options.items()]
    unknown = {name for names, _ in axes for name in names} - known
    if unknown:
        raise ExperimentError(
            f"{path}, group {group}: found {min(unknown)!r}; expected some of {', '.join(sorted(known))}"
        )
    choices = [_choices(names, values) for names, values in axes]
    for combination in product(*choices):
        settings = {name: value for setting in combination for name, value in setting.items()}
        try:
            yield Entry(**settings)
        except (TypeError, ExperimentError) as error:
            raise ExperimentError(f"{path}, group {group}: {error}") from None


def _choices(names: tuple[str, ...], values: Any) -> list[dict[str, Any]]:
    if names == ("attacks",):
        values = [values]
    listed = values if isinstance(values, list) else [values]
    together = [[value] for value in listed] if len(names) == 1 else listed
    return [{name: _value(name, value) for name, value in zip(names, found, strict=True)} for found in together]


def _value(name: str, value: Any) -> Any:
    if name == "attacks":
        return tuple(value)
    # TOML has no null: "all" stands for no limit.
    return None if value == "all" and name != "rows" else value
