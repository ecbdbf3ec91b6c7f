"""Correctors: what mends typos before a classifier sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from roben.extras import require
from roben.kernel import split_name
from roben.typed import Text, TypedText, sides_of
from roben.vocabulary import Vocabulary

__all__ = ["Corrected", "Corrector", "CorrectorError", "pyspellchecker", "symspell"]

# An attack asks for the same few hundred thousand typed tokens again and again.
REMEMBERED = 1 << 20


class CorrectorError(ValueError):
    """A folder that is no corrector, or a corrector that does not do what one must."""


@runtime_checkable
class Corrector(Protocol):
    """Turns texts into corrected texts, one for one."""

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Each text with its typos mended, as far as they are found."""
        ...


@dataclass(frozen=True)
class Corrected:
    """A corrector in front of a fitted model: g(corrector(x)).

    The model is any object with `classes_` and `predict_proba`. Both sides of a pair are corrected, each by itself,
    and texts that are equal only once.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(classes_=np.array([0, 1]), predict=lambda texts: np.array(["bad" in t for t in texts]))
    >>> Corrected(lambda texts: [text.replace("baad", "bad") for text in texts], model).predict(["a baad film", "good"])
    array([ True, False])
    """

    corrector: Corrector
    model: Any

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of the model, in the order of its probabilities."""
        return np.asarray(self.model.classes_)

    @property
    def predicts_likeliest(self) -> bool:
        """Is what it predicts always the class of the highest probability?"""
        return getattr(self.model, "predicts_likeliest", not hasattr(self.model, "predict"))

    def correct(self, texts: Iterable[Text]) -> list[Text]:
        """What the model sees of each text."""
        from roben.classifier.robust import as_texts  # scikit-learn comes with it

        found = as_texts(texts)
        different = list(dict.fromkeys(side for text in found for side in sides_of(text)))
        mended = dict(zip(different, self._mended(different), strict=True))
        return [mended[text] if isinstance(text, str) else (mended[text[0]], mended[text[1]]) for text in found]

    def predict(self, texts: Iterable[Text]) -> NDArray[Any]:
        """The class of each text: what the model predicts, or else its most likely class."""
        corrected = self.correct(texts)
        if not corrected:
            return self.classes_[:0]
        if hasattr(self.model, "predict"):
            return np.asarray(self.model.predict(corrected))
        best: NDArray[Any] = self.classes_[np.asarray(self.model.predict_proba(corrected)).argmax(axis=1)]
        return best

    def predict_proba(self, texts: Iterable[Text]) -> NDArray[np.float64]:
        """The probability of every class for each text, in the order of `classes_`."""
        corrected = self.correct(texts)
        if not corrected:
            return np.zeros((0, len(self.classes_)))
        # Many typed texts are corrected alike: each is asked for once.
        different = list(dict.fromkeys(corrected))
        rows = {text: row for row, text in enumerate(different)}
        probabilities = np.asarray(self.model.predict_proba(different), dtype=np.float64)
        expected = (len(different), len(self.classes_))
        if probabilities.shape != expected:
            raise CorrectorError(
                f"{type(self.model).__name__}.predict_proba gave shape {probabilities.shape}; "
                f"expected {expected}: a row for each text and a column for each class"
            )
        return probabilities[[rows[text] for text in corrected]]

    def _mended(self, texts: list[str]) -> list[str]:
        if not texts:
            return []
        mended = self.corrector(texts)
        name = type(self.corrector).__name__
        if isinstance(mended, str) or not isinstance(mended, Sequence):
            raise CorrectorError(f"{name} gave {type(mended).__name__} for {len(texts)} texts; expected a list of str")
        if len(mended) != len(texts):
            raise CorrectorError(f"{name} gave {len(mended)} texts for {len(texts)}; expected one for each")
        for text, correction in zip(texts, mended, strict=True):
            if not isinstance(correction, str):
                raise CorrectorError(
                    f"{name} gave {correction!r} ({type(correction).__name__}) for {text!r}; expected a str"
                )
        return list(mended)


@dataclass(frozen=True)
class TokenCorrector:
    """Corrects token by token. What it leaves alone stays as it was typed, capitals and spaces included."""

    name: str
    tokens: str
    correct: Callable[[str], str] = field(repr=False)
    """A token → what stands for it."""

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Each text with its typos mended."""
        return [self._corrected(text) for text in texts]

    def _corrected(self, text: str) -> str:
        typed = TypedText(text, split_name(self.tokens, keeps_ends=True))
        corrected = map(self.correct, typed.tokens)
        changes = {i: word for i, word in enumerate(corrected) if word != typed.tokens[i]}
        return typed.replace(changes) if changes else text


def symspell(vocabulary: Vocabulary | None = None, *, tokens: str = "words", distance: int = 2) -> TokenCorrector:
    """The corrector SymSpell, from the package symspellpy.

    A token that is no word becomes the nearest one within `distance` edits, of equally near ones the most frequent.
    What is too far from every word, and what has no letters, stays. The words are by default
    `Vocabulary.english()`.
    """
    require("symspellpy", extra="correctors")
    from symspellpy import SymSpell, Verbosity

    vocabulary = _checked(vocabulary, tokens, distance)
    speller = SymSpell(max_dictionary_edit_distance=distance, prefix_length=max(7, distance + 1))
    for word, count in zip(vocabulary.words, vocabulary.weights.tolist(), strict=True):
        speller.create_dictionary_entry(word, count)

    def nearest(token: str) -> str | None:
        found = speller.lookup(token, Verbosity.TOP, max_edit_distance=distance)
        return found[0].term if found else None

    return TokenCorrector("symspell", tokens, _remembering(nearest, vocabulary, distance))


def pyspellchecker(vocabulary: Vocabulary | None = None, *, tokens: str = "words", distance: int = 1) -> TokenCorrector:
    """The corrector of the package pyspellchecker, after Norvig's.

    A token that is no word becomes the most frequent word that is one edit away, or else, with `distance=2`, two. What
    is too far from every word, and what has no letters, stays. It lists all edits of a token, so it is slow, and at
    distance 2 slow beyond use. The words are by default `Vocabulary.english()`.
    """
    require("spellchecker", extra="correctors")
    from spellchecker import SpellChecker

    vocabulary = _checked(vocabulary, tokens, distance)
    if distance not in (1, 2):
        raise ValueError(f"distance is {distance!r}; pyspellchecker has 1 and 2")
    speller = SpellChecker(language=None, distance=distance, case_sensitive=True)
    speller.word_frequency.load_json(dict(zip(vocabulary.words, vocabulary.weights.tolist(), strict=True)))

    def likeliest(token: str) -> str | None:
        # Its own `correction` chooses among equally frequent words by chance, and gives back "nan", which is a number.
        found = vocabulary.ranks.keys() & (speller.candidates(token) or ())
        return min(found, key=vocabulary.rank, default=None)

    return TokenCorrector("pyspellchecker", tokens, _remembering(likeliest, vocabulary, distance))


def _checked(vocabulary: Vocabulary | None, tokens: str, distance: int) -> Vocabulary:
    """The words of a corrector, once its options are found to be right."""
    split_name(tokens, keeps_ends=True)
    if isinstance(distance, bool) or not isinstance(distance, int) or distance < 1:
        raise ValueError(f"distance is {distance!r}; it must be a whole number of edits, 1 or more")
    if vocabulary is None:
        return Vocabulary.english()
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(f"vocabulary is {type(vocabulary).__name__}; it must be a Vocabulary, or None for English")
    return vocabulary


def _remembering(look_up: Callable[[str], str | None], vocabulary: Vocabulary, distance: int) -> Callable[[str], str]:
    """What stands for a token, by a look-up among the words that is only made where it can find one."""
    longest = max(map(len, vocabulary.words), default=0) + distance

    @lru_cache(maxsize=REMEMBERED)
    def correct(token: str) -> str:
        if token in vocabulary or len(token) > longest or not any(map(str.isalpha, token)):
            return token
        found = look_up(token)
        return token if found is None else found

    return correct
