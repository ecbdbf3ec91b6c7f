"""A classifier behind an encoding: what is trained, predicted with, certified, and kept on disk."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from roben.classifier.ngram import NgramClassifier
from roben.encoding import Encoding
from roben.folder import checksum, checksum_of, whole_folder
from roben.surface import Surface
from roben.typed import Text

__all__ = [
    "ModelError",
    "RobustClassifier",
    "as_texts",
    "check_place",
    "checked_predictions",
    "checked_probabilities",
    "load_sklearn",
]

FORMAT = 1
KIND = "roben model"
MANIFEST = "roben-model.json"
DRAWS = ("own", "random", "worst")


class ModelError(ValueError):
    """A folder that is no model, or a classifier that does not do what one must."""


def _gives_probabilities(model: Any) -> bool:
    classifier = getattr(model, "classifier_", model.classifier)
    return classifier is None or hasattr(classifier, "predict_proba")


class RobustClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that sees encoded texts only: g(α(x)).

    `classifier` may be any scikit-learn estimator over str (or over pairs of str), or another object with `fit` and
    `predict`; by default an `NgramClassifier`.
    `encoding` is `Encoding.english()` unless another is given, or "none" for no encoding at all: the undefended
    model, for comparison.
    """

    def __init__(self, encoding: Encoding | str | None = None, classifier: Any = None) -> None:
        self.encoding = encoding
        self.classifier = classifier

    def fit(
        self, texts: Iterable[Text], labels: Iterable[Any], *, draws: str = "own", k: int = 4, seed: int = 0
    ) -> RobustClassifier:
        """Trains the classifier on encoded texts.

        `draws` says which encodings of a text it is shown: its "own", or also what an attacker could make of it:
        `k` at "random", or the "worst" of `k`, of which the classifier is least sure. Finer encodings profit.
        """
        if draws not in DRAWS:
            raise ValueError(f"draws is {draws!r}; it may be {', '.join(map(repr, DRAWS))}")
        texts, labels = as_texts(texts), _as_labels(labels)
        if len(texts) != len(labels):
            raise ValueError(f"there are {len(texts):,} texts and {len(labels):,} labels; there must be one for each")
        classes = np.unique(labels)
        if len(classes) < 2:
            raise ValueError(f"found {len(classes)} class(es), {classes.tolist()}; a classifier needs two or more")
        encoding = self._chosen_encoding()
        encoded = _encoded(encoding, texts)
        if draws == "own":
            classifier = _new(self.classifier)
            classifier.fit(encoded, labels)
        else:
            classifier = self._fit_on_draws(encoding, texts, encoded, labels, draws, k, np.random.default_rng(seed))
        # All at once and last: a fit that fails leaves the model as it was.
        self.encoding_, self.classifier_ = encoding, classifier
        self.classes_ = np.asarray(getattr(classifier, "classes_", classes))
        return self

    def encode(self, texts: Sequence[Text]) -> list[Text]:
        """What the classifier sees of each text."""
        return _encoded(self.encoding_, texts)

    def predict(self, texts: Iterable[Text]) -> NDArray[Any]:
        """The class of each text."""
        check_is_fitted(self, "classifier_")
        return self.predict_encoded(self.encode(as_texts(texts)))

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, texts: Iterable[Text]) -> NDArray[np.float64]:
        """The probability of every class for each text, in the order of `classes_`. There if the classifier has it."""
        check_is_fitted(self, "classifier_")
        encoded = self.encode(as_texts(texts))
        if not encoded:
            return np.zeros((0, len(self.classes_)))
        # Many typed texts have one encoding: each is asked for once.
        different = list(dict.fromkeys(encoded))
        rows = {text: row for row, text in enumerate(different)}
        probabilities = checked_probabilities(self.classifier_, different, len(self.classes_))
        return probabilities[[rows[text] for text in encoded]]

    def predict_encoded(self, encoded: Sequence[Text]) -> NDArray[Any]:
        """The class of each text that is encoded already: the one way in which this model decides."""
        if not encoded:
            return self.classes_[:0]
        return checked_predictions(self.classifier_, encoded, self.classes_.tolist())

    @property
    def predicts_likeliest(self) -> bool:
        """Is what it predicts always the class of the highest probability?"""
        return getattr(self.classifier_, "predicts_likeliest", False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    # -- on disk ----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as a folder, or replaces the one that is there. No pickle."""
        check_is_fitted(self, "classifier_")
        path = Path(path).resolve()
        check_place(path)
        with whole_folder(path) as made:
            self._write(made)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        trusted: Sequence[str] = (),
        surface: Surface | None = None,
        device: str | None = None,
    ) -> RobustClassifier:
        """Reads a folder that `save` wrote.

        A `surface` of one's own has to be handed in again, as for `Encoding.load`. A scikit-learn model may be made of
        types that skops does not know to be harmless; loading it names them, and `trusted` lets them pass. `device` is
        where a transformer runs: a GPU if there is one.
        """
        path = Path(path)
        manifest = _read_manifest(path)
        model = cls()
        model.encoding_ = None if manifest["encoding"] is None else _load_encoding(path, manifest["encoding"], surface)
        try:
            model.classifier_ = _load_classifier(path / "classifier", manifest["classifier"], trusted, device)
        except (ModelError, ImportError):
            raise
        except Exception as error:  # of whatever library reads it
            raise ModelError(f"the classifier in {path} cannot be read: {type(error).__name__}: {error}") from error
        model.classes_ = np.asarray(manifest["classes"])
        model.encoding, model.classifier = model.encoding_ or "none", model.classifier_
        return model

    def _write(self, path: Path) -> None:
        from roben import __version__

        if self.encoding_ is not None:
            self.encoding_.save(path / "encoding")
        folder = path / "classifier"
        folder.mkdir()
        name = _save_classifier(self.classifier_, folder)
        files = {str(file.relative_to(path)): checksum(file) for file in sorted(folder.rglob("*")) if file.is_file()}
        manifest = {
            "kind": KIND,
            "format": FORMAT,
            "roben": __version__,
            "classifier": name,
            "classes": self.classes_.tolist(),
            "encoding": None if self.encoding_ is None else self.encoding_.fingerprint,
            "files": files,
        }
        manifest["checksum"] = checksum_of(manifest)
        (path / MANIFEST).write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n")

    # -- inside -----------------------------------------------------------------------------------------

    def _chosen_encoding(self) -> Encoding | None:
        if self.encoding is None:
            return Encoding.english()
        if isinstance(self.encoding, Encoding):
            return self.encoding
        if self.encoding == "none":
            return None
        raise TypeError(f"encoding is {self.encoding!r}; it may be an Encoding, None for the default, or 'none'")

    def _fit_on_draws(
        self,
        encoding: Encoding | None,
        texts: list[Text],
        encoded: list[Text],
        labels: NDArray[Any],
        draws: str,
        k: int,
        rng: np.random.Generator,
    ) -> Any:
        from roben.lattice import draw, lattices

        if encoding is None:
            raise ValueError("there are no encodings to draw from: the model has no encoding")
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ValueError(f"k is {k!r}; it must be a whole number of draws, 1 or more")
        found, classifier = lattices(encoding, texts), _new(self.classifier)
        if hasattr(classifier, "fit_on_draws"):  # draws anew as it goes
            return classifier.fit_on_draws(found, labels, draws=draws, k=int(k), rng=rng)
        if draws == "worst" and not hasattr(classifier, "predict_proba"):
            raise ValueError(f"{type(classifier).__name__} has no predict_proba, which tells the worst of the draws")
        drawn = [[draw(lattice, rng) for lattice in found] for _ in range(k)]
        if draws == "random":
            classifier.fit([*encoded, *(text for one in drawn for text in one)], np.tile(labels, k + 1))
            return classifier
        classifier.fit(encoded, labels)
        index = np.searchsorted(np.asarray(classifier.classes_), labels)
        likelihoods = np.stack([classifier.predict_proba(one)[np.arange(len(labels)), index] for one in drawn])
        worst = [drawn[int(j)][i] for i, j in enumerate(likelihoods.argmin(axis=0))]
        classifier = _new(self.classifier)
        classifier.fit([*encoded, *worst], np.tile(labels, 2))
        return classifier


def _encoded(encoding: Encoding | None, texts: Sequence[Text]) -> list[Text]:
    if encoding is None:
        return list(texts)
    return encoding(list(texts), threads=None)  # type: ignore[return-value, arg-type]


def check_place(path: Path) -> None:
    """Says why a model cannot be saved there, before it is trained."""
    if path.resolve() == Path.cwd():
        raise ModelError(f"{path} is the current folder, which cannot be replaced; name one in it")
    if path.exists() and not path.is_dir():
        raise ModelError(f"{path} is a file; a model is saved as a folder")
    if path.is_dir() and any(path.iterdir()) and not (path / MANIFEST).exists():
        raise ModelError(f"{path} is a folder with other things in it; choose one that is new, or holds a model")


def as_texts(texts: Any) -> list[Text]:
    """A list of str, or of pairs of str, from whatever holds them: lists, arrays, columns of a data frame."""
    if isinstance(texts, (str, bytes)):
        raise TypeError("found one text; expected many: pass [text]")
    if hasattr(texts, "to_numpy"):
        texts = texts.to_numpy()
    if isinstance(texts, np.ndarray):
        texts = texts.tolist()
    found: list[Text] = [str(text) if isinstance(text, str) else _as_pair(text) for text in texts]  # NumPy's str too
    n_pairs = sum(isinstance(text, tuple) for text in found)
    if 0 < n_pairs < len(found):
        raise ValueError(f"{n_pairs:,} of {len(found):,} texts are pairs; either all are or none is")
    return found


def _as_pair(value: Any) -> Text:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        if len(value) == 1 and isinstance(value[0], str):
            return str(value[0])
        if len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], str):
            return str(value[0]), str(value[1])
    raise TypeError(f"found {value!r} ({type(value).__name__}) among the texts; expected a str, or a pair of str")


def _as_labels(labels: Any) -> NDArray[Any]:
    if isinstance(labels, str):
        raise ValueError("the labels are one string; expected one label for each text")
    labels = labels if hasattr(labels, "dtype") or hasattr(labels, "to_numpy") else list(labels)
    if isinstance(labels, list) and len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError("the labels are of several types; expected all str or all int")
    found = np.asarray(labels)
    if found.ndim != 1:
        raise ValueError(f"the labels have shape {found.shape}; expected one label for each text")
    if found.dtype.kind == "f" and np.isnan(found).any():
        raise ValueError("a label is NaN; every text needs a label")
    if found.dtype.kind == "O" and len({type(label) for label in found}) > 1:
        raise ValueError("the labels are of several types; expected all str or all int")
    return found


def checked_predictions(classifier: Any, encoded: Sequence[Text], classes: list[Any]) -> NDArray[Any]:
    """What a classifier's `predict` gives, if it is what it must be: one of its classes for each text."""
    predicted = np.asarray(classifier.predict(list(encoded)))
    name = type(classifier).__name__
    if predicted.shape != (len(encoded),):
        raise ModelError(
            f"{name}.predict gave shape {predicted.shape} for {len(encoded)} texts; "
            f"expected ({len(encoded)},): one class for each"
        )
    unknown = set(predicted.tolist()) - set(classes)
    if unknown:
        raise ModelError(f"{name}.predict gave {min(unknown, key=str)!r}, which is none of its classes {classes}")
    return predicted


def checked_probabilities(classifier: Any, encoded: Sequence[Text], n_classes: int) -> NDArray[np.float64]:
    """What a classifier's `predict_proba` gives, if it is what it must be: finite, and a row for each text."""
    probabilities = np.asarray(classifier.predict_proba(list(encoded)), dtype=np.float64)
    name = type(classifier).__name__
    if probabilities.shape != (len(encoded), n_classes):
        raise ModelError(
            f"{name}.predict_proba gave shape {probabilities.shape} for {len(encoded)} texts and {n_classes} classes; "
            f"expected ({len(encoded)}, {n_classes})"
        )
    if not np.isfinite(probabilities).all():
        row = int(np.argmax(~np.isfinite(probabilities).all(axis=1)))
        raise ModelError(f"{name}.predict_proba gave {probabilities[row].tolist()} for {encoded[row]!r}: not finite")
    return probabilities


def _new(classifier: Any) -> Any:
    """A fresh copy to fit, so that fitting twice is fitting once."""
    from sklearn.base import clone

    if classifier is None:
        return NgramClassifier()
    if isinstance(classifier, type):
        raise TypeError(f"classifier is the class {classifier.__name__}; pass an instance: {classifier.__name__}()")
    return clone(classifier) if hasattr(classifier, "get_params") else copy.deepcopy(classifier)


# -- classifiers on disk ------------------------------------------------------------------------------------


def _save_classifier(classifier: Any, folder: Path) -> str:
    if isinstance(classifier, NgramClassifier):
        classifier.save(folder)
        return "ngram"
    if hasattr(classifier, "save_pretrained"):
        classifier.save_pretrained(folder)
        return "transformer"
    from roben.extras import require

    require("skops", extra="classify")
    import skops.io

    skops.io.dump(classifier, folder / "model.skops")
    return "sklearn"


def _load_classifier(folder: Path, name: str, trusted: Sequence[str], device: str | None) -> Any:
    if name == "ngram":
        return NgramClassifier.load(folder)
    if name == "transformer":
        from roben.classifier.transformer import TransformerClassifier

        return TransformerClassifier.load(folder, device=device)
    return load_sklearn(folder / "model.skops", trusted)


def load_sklearn(file: Path, trusted: Sequence[str]) -> Any:
    """A scikit-learn estimator that skops saved, if all that it holds is harmless or trusted."""
    from roben.extras import require

    require("skops", extra="classify")
    import skops.io

    untrusted = sorted(set(skops.io.get_untrusted_types(file=file)) - set(trusted))
    if untrusted:
        raise ModelError(
            f"{file} holds types that are not known to be harmless: {', '.join(untrusted)}. "
            f"If you trust its author: trusted={untrusted!r}, or --trust for each of them on the command line"
        )
    return skops.io.load(file, trusted=list(trusted))


def _load_encoding(path: Path, fingerprint: str, surface: Surface | None) -> Encoding:
    try:
        encoding = Encoding.load(path / "encoding", surface=surface)
    except FileNotFoundError:
        raise ModelError(f"{path / 'encoding'} is missing") from None
    if encoding.fingerprint != fingerprint:
        raise ModelError(f"{path / 'encoding'} is another encoding than the model was trained with")
    return encoding


def _read_manifest(path: Path) -> dict[str, Any]:
    file = path / MANIFEST
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; `roben train` makes a model")
    if not file.is_file():
        raise ModelError(f"{path} holds no {MANIFEST}: it is no model")
    try:
        manifest = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{file} is not readable as JSON: {str(error)[:200]}") from None
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND or not isinstance(manifest.get("format"), int):
        raise ModelError(f"{file} is not that of a model")
    if manifest["format"] > FORMAT:
        raise ModelError(
            f"{path} has format {manifest['format']}; this roben reads up to {FORMAT}: install a newer one"
        )
    if manifest.get("classifier") not in ("ngram", "transformer", "sklearn"):
        raise ModelError(f"{file} names the classifier {manifest.get('classifier')!r}, which this roben does not know")
    for key, kind in (("files", dict), ("classes", list), ("encoding", str | None)):
        if key not in manifest or not isinstance(manifest[key], kind):
            raise ModelError(f"{file} is damaged: {key} is missing")
    folder = (path / "classifier").resolve()
    for name, expected in manifest["files"].items():
        data = (path / name).resolve()
        if not data.is_relative_to(folder):
            raise ModelError(f"{file} names {name!r}, which is not in its folder")
        if not data.is_file():
            raise ModelError(f"{path / name} is missing")
        if checksum(data) != expected:
            raise ModelError(f"{path / name} was edited or damaged: its checksum is not the one in {MANIFEST}")
    if manifest.get("checksum") != checksum_of(manifest):
        raise ModelError(f"{file} was edited: its checksum does not match")
    return manifest
