"""What is to be measured: one entry for every cell of a table and every point of a figure, read from a TOML file."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from roben.attack import ATTACKS

__all__ = ["ENCODED", "EVALUATED", "SYSTEMS", "TASKS", "Entry", "ExperimentError", "Plan", "Recipe"]

# Of each task, how many rows it has to train on, and the split on which the paper reports.
TASKS = {
    "SST-2": (67_349, "test"),
    "MRPC": (3_668, "test"),
    "QQP": (363_846, "dev"),
    "MNLI": (392_702, "dev"),
    "QNLI": (104_743, "dev"),
    "RTE": (2_490, "dev"),
}
# Of GLUE's splits, how many rows they have.
EVALUATED = {
    ("SST-2", "dev"): 872,
    ("SST-2", "test"): 1_821,
    ("MRPC", "dev"): 408,
    ("MRPC", "test"): 1_725,
    ("QQP", "dev"): 40_430,
    ("MNLI", "dev"): 9_815,
    ("QNLI", "dev"): 5_463,
    ("RTE", "dev"): 277,
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
        self._check()
        # What a measurement does not depend on is put to its default, so that equal measurements are equal entries.
        ordered = tuple(attack for attack in ATTACKS if attack in self.attacks)
        same: dict[str, Any] = {"gamma": float(self.gamma), "attacks": ordered}
        if self.system != "agglomerative":
            same["gamma"] = 0.0 if self.system == "components" else 1.0
        if not self.is_encoded:
            same |= {"vocabulary": "english", "n_words": 100_000}
        if self.model == "none":
            same |= {"seed": 0, "attacks": (), "limit_train": None}
        if not same["attacks"]:
            same["n_attacked"] = None
        if not {"greedy", "random"} & {*same["attacks"]}:
            same["max_queries"] = None
        for name, value in same.items():
            object.__setattr__(self, name, value)

    def _check(self) -> None:
        if unknown := set(self.attacks) - {*ATTACKS}:
            raise ExperimentError(f"there is no attack {min(unknown)!r}; expected some of {', '.join(ATTACKS)}")
        if len(set(self.attacks)) < len(self.attacks):
            raise ExperimentError(f"attacks are {self.attacks}; each may be named once")
        if isinstance(self.gamma, bool) or not isinstance(self.gamma, (int, float)) or not 0 <= self.gamma <= 1:
            raise ExperimentError(f"gamma is {self.gamma!r}; expected a number from 0 to 1")
        from_one = dict.fromkeys(("n_words", "n_attacked", "max_queries", "limit_train", "limit_eval"), 1)
        for name, smallest in {"seed": 0, "budget": 0, **from_one}.items():
            value = getattr(self, name)
            if value is None and name not in ("n_words", "seed"):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < smallest:
                raise ExperimentError(f"{name} is {value!r}; expected a whole number, {smallest} or more")

    @property
    def is_encoded(self) -> bool:
        """Has the system an encoding, so that it can be certified?"""
        return self.system in ENCODED

    @property
    def name(self) -> str:
        """A name for files: what differs from the defaults."""
        parts = [self.task, self.system]
        if self.system == "agglomerative":
            parts[-1] += f"-{self.gamma!r}".removesuffix(".0")
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
    place: Path | None = None
    """Where the transformer lies, if it is not to come from the hub."""

    @property
    def source(self) -> str | None:
        """What it is opened by."""
        return self.transformer if self.place is None else str(self.place)

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
        if unknown := set(found) - {"model", "group"}:
            raise ExperimentError(f"{path}: found the table {min(unknown)!r}; expected [model.NAME] and [group.NAME]")
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
            there = {getattr(entry, key) for entry in chosen}
            for value in values or ():
                if value not in there:
                    listed = ", ".join(map(str, sorted(there)))
                    raise ExperimentError(f"{key} {value!r} chooses no experiment; those that are left have {listed}")
            chosen = [entry for entry in chosen if not values or getattr(entry, key) in values]
        return list(dict.fromkeys(chosen))


def _tables(path: Path, found: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    tables = found.get(kind, {})
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise ExperimentError(f"{path}: {kind} is no table of tables; expected [{kind}.NAME]")
    for name in tables:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name) or (kind == "model" and name in ("none", "linear")):
            raise ExperimentError(
                f"{path}: {kind} {name!r}: expected small letters, digits, hyphens; not none or linear"
            )
    if kind == "group" and not tables:
        raise ExperimentError(f"{path} has no groups of experiments; expected [group.NAME]")
    return tables


def _recipe(path: Path, name: str, options: dict[str, Any]) -> Recipe:
    options = dict(options)
    augmented = options.pop("augmentation", {})
    transformer = options.pop("transformer", None)
    if not isinstance(transformer, str) or not isinstance(augmented, dict):
        raise ExperimentError(f'{path}, model {name}: expected transformer = "NAME", and augmentation = {{ options }}')
    known = {"learning_rate", "batch_size", "epochs", "max_length", "predict_batch_size", "precision"}
    unknown = (set(options) | set(augmented)) - known
    for option, value in [*options.items(), *augmented.items()]:
        if option in known - {"precision"} and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise ExperimentError(f"{path}, model {name}: {option} is {value!r}; expected a number")
    if unknown:
        raise ExperimentError(
            f"{path}, model {name}: {min(unknown)!r} is no option; expected {', '.join(sorted(known))}"
        )
    return Recipe(transformer, options, augmented)


def _expanded(path: Path, group: str, options: dict[str, Any]) -> Iterator[Entry]:
    """All combinations of the lists. A list of lists chooses for several names at once: "tokens, vocabulary"."""
    known = {f.name for f in fields(Entry)}
    axes = [(tuple(part.strip() for part in names.split(",")), values) for names, values in options.items()]
    every = [name for names, _ in axes for name in names]
    if len(set(every)) < len(every):
        raise ExperimentError(f"{path}, group {group}: a setting is chosen twice")
    unknown = set(every) - known
    if unknown:
        raise ExperimentError(
            f"{path}, group {group}: found {min(unknown)!r}; expected some of {', '.join(sorted(known))}"
        )
    try:
        choices = [_choices(names, values) for names, values in axes]
    except (TypeError, ValueError) as error:
        raise ExperimentError(f"{path}, group {group}: {error}") from None
    if not all(choices):
        raise ExperimentError(f"{path}, group {group}: an empty list chooses nothing")
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
        return (value,) if isinstance(value, str) else tuple(value)
    # TOML has no null: "all" stands for no limit.
    return None if value == "all" and name != "rows" else value
