"""What entries share: data, vocabularies, encodings, correctors and trained models, each made once and kept on disk."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock

from roben import data
from roben.artifact import ArtifactError
from roben.baseline import Corrected, CorrectorError, TypoCorrector, augment, symspell
from roben.classifier import ModelError, NgramClassifier, RobustClassifier
from roben.encoding import Encoding
from roben.experiment.entry import TASKS, Entry, ExperimentError, Recipe
from roben.folder import checksum
from roben.surface import EditOne, InternalPermutation, Surface
from roben.vocabulary import Vocabulary

__all__ = ["Workshop", "difference"]

T = TypeVar("T")
VALIDATION_SEED = 0


@dataclass(frozen=True)
class Workshop:
    """A folder where what was made lies until it is needed again.

    `folder` may be deleted at any time: what is missing is made again. `glue` is a folder of GLUE's tasks, or None for
    the hub. `words` is a list of words by rank, for entries whose vocabulary is "coca".
    """

    folder: Path
    recipes: dict[str, Recipe]
    glue: Path | None = None
    words: Path | None = None
    device: str | None = None
    is_strict: bool = True
    """A row of GLUE's files that is broken is an error; otherwise it is skipped, with a warning."""

    # -- data -------------------------------------------------------------------------------------------

    def train(self, entry: Entry) -> data.Dataset:
        """The rows that the entry's model is trained on."""
        found = self._rows(entry.task, "train")
        if entry.rows == "validation":
            found, _ = found.split(0.8, VALIDATION_SEED)
        return found if entry.limit_train is None else found.sample(entry.limit_train, seed=0)

    def evaluation(self, entry: Entry) -> data.Dataset:
        """The rows that it is measured on."""
        if entry.rows == "validation":
            _, found = self._rows(entry.task, "train").split(0.8, VALIDATION_SEED)
        else:
            found = self._evaluated(entry.task)
        return found if entry.limit_eval is None else found.sample(entry.limit_eval, seed=0)

    def _evaluated(self, task: str) -> data.Dataset:
        """The paper's split where it has labels; GLUE hands out the labels of few test sets, so mostly dev."""
        if TASKS[task][1] == "test" and self.glue is not None and "test" in data.glue_splits(self.glue, task):
            test = self._rows(task, "test")
            if not set(test.classes).isdisjoint(self._rows(task, "train").classes):
                return test
        return self._rows(task, "dev")

    def _rows(self, task: str, split: str) -> data.Dataset:
        return _read(self.glue, task, split, self.is_strict)

    # -- what results depend on -------------------------------------------------------------------------

    def identity(self, entry: Entry) -> dict[str, Any]:
        """All that a result of the entry depends on beside the entry: the recipe, the texts, the list of words."""
        about: dict[str, Any] = {"evaluated": _digest_of(self.evaluation(entry))}
        if entry.model != "none":
            about |= {"trained": _digest_of(self.train(entry)), "recipe": self._recipe(entry)}
        if entry.is_encoded or entry.system == "symspell":
            about["words"] = self._words(entry)
        return about

    def _words(self, entry: Entry) -> list[str]:
        """What the vocabulary is made of: wordfreq's counts, and the list of words if there is one."""
        of_list = [_digest_of_file(self.words)] if entry.vocabulary == "coca" and self.words is not None else []
        return [f"wordfreq {version('wordfreq')}", *of_list]

    def _recipe(self, entry: Entry) -> dict[str, Any]:
        recipe = self.recipes[entry.model]
        if recipe.transformer is None:
            return {}
        weights = None if recipe.source is None else _digest_of_weights(Path(recipe.source))
        options = recipe.for_system(entry.system)
        # A name is the same everywhere; of a folder only what lies in it is.
        name = Path(recipe.transformer).name if Path(recipe.transformer).is_absolute() else recipe.transformer
        return {"transformer": name, "weights": weights, "options": options}

    # -- what is made -----------------------------------------------------------------------------------

    def surface(self, entry: Entry) -> Surface:
        """What the attacker may type."""
        return InternalPermutation() if entry.surface == "permutations" else EditOne()

    def encoding(self, entry: Entry) -> Encoding:
        """The encoding of a system that has one."""
        words = _key({"words": self._words(entry)})[:12]
        name = f"{entry.vocabulary}-{words}-{entry.n_words}-{entry.surface}-{entry.gamma!r}-{entry.tokens}"

        def make() -> Encoding:
            vocabulary = self._vocabulary(entry)
            return Encoding.build(vocabulary, self.surface(entry), gamma=entry.gamma, tokens=entry.tokens)

        return self._kept("encodings", name, Encoding.load, make)

    def corrector(self, entry: Entry) -> Any:
        """The typo corrector of a task, trained on the text that its model is trained on."""
        about = replace(entry.training, surface=entry.surface, tokens=entry.tokens, model="linear")
        load = partial(TypoCorrector.load, device=self.device)
        key = _key({**about.as_json(), "trained": _digest_of(self.train(entry))})
        return self._kept("correctors", key, load, lambda: self._trained_corrector(entry))

    def model(self, entry: Entry) -> Any:
        """The entry's whole system, trained: an object with `predict`, `predict_proba` and `classes_`."""
        training = entry.training
        recipe = self.recipes[entry.model]
        identity = self.identity(training)
        about = {**training.as_json(), "trained": identity["trained"], "recipe": identity["recipe"]}
        if entry.is_encoded:
            about["encoding"] = self.encoding(entry).fingerprint
        trained = self._kept("models", _key(about), self._load, lambda: self._trained(training, recipe))
        if entry.system == "symspell":
            return Corrected(symspell(tokens=entry.tokens), trained)
        return Corrected(self.corrector(entry), trained) if entry.system == "typo-corrector" else trained

    # -- inside -----------------------------------------------------------------------------------------

    def _trained(self, training: Entry, recipe: Recipe) -> RobustClassifier:
        rows = self.train(training)
        texts: Any = rows.texts
        labels: Any = rows.labels or ()
        if training.system == "augmentation":
            texts, labels = augment(texts, labels, self.surface(training), seed=training.seed, tokens=training.tokens)
        classifier: Any = NgramClassifier()
        if recipe.source is not None:
            from roben.classifier import TransformerClassifier

            options = recipe.for_system(training.system)
            classifier = TransformerClassifier(recipe.source, seed=training.seed, device=self.device, **options)
        encoding = self.encoding(training) if training.is_encoded else "none"
        return RobustClassifier(encoding, classifier).fit(texts, labels)

    def _load(self, path: Path) -> RobustClassifier:
        return RobustClassifier.load(path, device=self.device)

    def _trained_corrector(self, entry: Entry) -> TypoCorrector:
        corrector = TypoCorrector(tokens=entry.tokens, seed=entry.seed, device=self.device)
        return corrector.fit(self.train(entry).texts, self.surface(entry))

    def _vocabulary(self, entry: Entry) -> Vocabulary:
        if entry.vocabulary == "english":
            return Vocabulary.english(entry.n_words)
        if self.words is None:
            raise ExperimentError(f"{entry.name} takes its words from a list by rank; name its file (--words)")
        return Vocabulary.from_file(self.words, entry.n_words, like=Vocabulary.language("en", None))

    def _kept(self, kind: str, name: str, load: Callable[[Path], T], make: Callable[[], T]) -> T:
        path = self.folder / kind / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f".{name}.lock")):  # others that need it wait for the one that makes it
            if path.exists():
                try:
                    return load(path)
                except (ArtifactError, CorrectorError, ModelError, FileNotFoundError) as error:
                    if error.__cause__ is not None:  # not damaged: whatever reads it could not, for want of memory, say
                        raise
                    shutil.rmtree(path)  # damaged: it is made again
            made: Any = make()
            scratch = path.with_name(f".{name}.made")  # in its place only when it is whole
            shutil.rmtree(scratch, ignore_errors=True)
            made.save(scratch)
            scratch.rename(path)
            return load(path)  # the same bytes whether it was just made or found


def difference(one: dict[str, Any], other: dict[str, Any]) -> str | None:
    """In what two identities differ, if they do. Weights that came from the hub are known by name only."""
    for name, what in (
        ("recipe", "recipe"),
        ("trained", "set of training rows"),
        ("evaluated", "set of rows"),
        ("words", "list of words"),
    ):
        ours, theirs = one.get(name), other.get(name)
        if name == "recipe" and ours and theirs and None in (ours["weights"], theirs["weights"]):
            ours, theirs = {**ours, "weights": None}, {**theirs, "weights": None}
        if ours != theirs:
            return what
    return None


def _key(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:24]


@cache
def _digest_of(rows: data.Dataset) -> str:
    return hashlib.sha256(json.dumps([rows.texts, rows.labels]).encode()).hexdigest()[:16]


@cache
def _digest_of_file(path: Path) -> str:
    return checksum(path)[:16]


@cache
def _digest_of_weights(folder: Path) -> str | None:
    """Of a transformer in a folder; None of one that comes from the hub."""
    files = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    return hashlib.sha256("".join(map(_digest_of_file, files)).encode()).hexdigest()[:16] if files else None


@cache
def _read(glue: Path | None, task: str, split: str, is_strict: bool) -> data.Dataset:
    if glue is not None:
        return data.glue(glue, task, split, strict=is_strict)
    config = task.lower().replace("-", "")
    place = {"dev": "validation_matched" if config == "mnli" else "validation"}.get(split, split)
    return data.hub("nyu-mll/glue", place, config=config, text=_hub_columns(task))


def _hub_columns(task: str) -> Any:
    named = {
        "SST-2": "sentence",
        "QQP": ("question1", "question2"),
        "MNLI": ("premise", "hypothesis"),
        "QNLI": ("question", "sentence"),
    }
    return named.get(task, ("sentence1", "sentence2"))
