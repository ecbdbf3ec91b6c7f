"""Words and their frequencies, the most frequent first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from functools import cached_property
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Vocabulary"]

# Longer strings are no words of any language, and their balls would be out of all proportion.
LONGEST_WORD = 256

# What wordfreq writes for a number of several digits: its shape in zeros.
NUMBER_SHAPE = re.compile(r"\d[\d.,]")

Keep = Callable[[str], Any] | Container[str] | None


class Vocabulary:
    """Words in order of frequency; equal frequencies in order of the alphabet.

    >>> vocab = Vocabulary.from_counts({"a": 1, "the": 7, "cat": 2})
    >>> vocab.words
    ('the', 'cat', 'a')
    >>> vocab.frequencies
    array([0.7, 0.2, 0.1])
    """

    def __init__(self, words: Iterable[str], counts: Iterable[float]) -> None:
        """Words that are lower-case, unique and in order already; `from_counts` takes any others."""
        self._words = tuple(words)
        found = counts if isinstance(counts, np.ndarray) else list(counts)
        self._counts = _frozen(np.array(found, dtype=np.float64))
        if len(self._words) != len(self._counts):
            raise ValueError(f"{len(self._words)} words with {len(self._counts)} counts; there must be one for each")

    # -- building ---------------------------------------------------------------------------------------

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, float] | Iterable[tuple[str, float]], size: int | None = None, *, keep: Keep = None
    ) -> Vocabulary:
        """The `size` most frequent of the words that `keep` admits (a function, or a container of words).

        Words are lower-cased, as texts are; the counts of words that become equal add up.

        >>> Vocabulary.from_counts({"The": 3, "the": 4, "x": 1}, size=1)
        Vocabulary(1 word: 'the')
        """
        pairs = list(counts.items() if isinstance(counts, Mapping) else counts)
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError(
                    f"found {pair!r} among the counts; expected a mapping, or pairs of a word and its count"
                )
        words = [word for word, _ in pairs]
        values = _checked_counts(pairs)
        lowered = _lowered(words)
        if lowered != words or len(set(lowered)) < len(lowered):
            total: Counter[str] = Counter()
            for word, value in zip(lowered, values.tolist(), strict=True):
                total[word] += value
            lowered, values = list(total), np.fromiter(total.values(), dtype=np.float64)
        if keep is not None:
            admits = _admission(keep)
            kept = [i for i, word in enumerate(lowered) if admits(word)]
            lowered, values = [lowered[i] for i in kept], values[kept]
        _check_words(lowered)
        by_count = sorted(range(len(lowered)), key=lambda i: (-values[i], lowered[i]))
        if size is not None:
            by_count = by_count[: _checked_size(size)]
        return cls((lowered[i] for i in by_count), values[by_count])

    @classmethod
    def english(cls, n: int | None = 100_000, *, keep: Keep = None) -> Vocabulary:
        """The `n` most frequent words of English (all, with None), from the wordfreq package."""
        return cls.language("en", n, keep=keep)

    @classmethod
    def language(cls, code: str, n: int | None = 100_000, *, keep: Keep = None) -> Vocabulary:
        """The `n` most frequent words of a language ("de", "ru", …), from the wordfreq package.

        Where the package knows fewer words than `n`, all of them. Its entries for numbers of several digits
        stand for their shape, not for a number ("0000" is any year), and are left out.
        """
        import wordfreq

        try:
            frequencies = wordfreq.get_frequency_dict(code, wordlist="best")
        except (LookupError, ValueError) as error:  # it is no language, or none that has words
            known = ", ".join(sorted(wordfreq.available_languages()))
            raise ValueError(f"wordfreq has no words for the language {code!r}; it has {known}") from error
        return cls.from_counts(
            ((word, f) for word, f in frequencies.items() if not NUMBER_SHAPE.search(word)), size=n, keep=keep
        )

    @classmethod
    def from_texts(
        cls, texts: Iterable[str], size: int | None = None, *, tokens: str = "words", keep: Keep = None
    ) -> Vocabulary:
        """The words of a corpus, counted in one pass; `texts` may be any iterable, such as an open file.

        >>> Vocabulary.from_texts(["The cat.", "the dog"]).words
        ('the', '.', 'cat', 'dog')
        """
        from roben.kernel import native_kernel, split_name

        if isinstance(texts, str):
            raise TypeError("texts is one string; pass an iterable of texts, such as [text] or an open file")
        tokenize, split = native_kernel().tokenize, split_name(tokens, keeps_ends=True)
        counts: Counter[str] = Counter()
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"expected texts as str, found {text!r} ({type(text).__name__})")
            counts.update(tokenize(text, split))
        return cls.from_counts(((word, n) for word, n in counts.items() if _is_word(word)), size=size, keep=keep)

    @classmethod
    def from_file(
        cls,
        path: str | PathLike[str],
        size: int | None = None,
        *,
        like: Vocabulary | None = None,
        keep: Keep = None,
    ) -> Vocabulary:
        """Words from a text file, one a line: with counts ("the 53" or "the<TAB>53"), or by rank only.

        The first line that is not blank decides which. Words by rank get their counts from `like`, interpolated
        over its ranks; without it, by Zipf's law: 1 / rank.
        """
        numbered = [(number, line) for number, line in _lines(path) if line.strip()]
        if not numbered:
            raise ValueError(f"{path} holds no words; expected one a line, with or without a count")
        if len(numbered[0][1].split()) == 2:
            return cls.from_counts((_word_and_count(path, *line) for line in numbered), size=size, keep=keep)
        ranked: dict[str, None] = {}
        for number, line in numbered:
            if len(line.split()) != 1:
                raise ValueError(
                    f"{path}, line {number}: found {line.strip()!r}, expected one word as on the first line"
                )
            ranked.setdefault(line.strip().lower())  # of a word that stands twice, the better rank
        words = [word for word in ranked if _is_word(word)]
        return cls.from_counts(zip(words, _counts_by_rank(len(words), like), strict=True), size=size, keep=keep)

    def blend(self, other: Vocabulary, weight: float, size: int | None = None) -> Vocabulary:
        """Counts of self, plus `weight` times those of `other` scaled to the same total.

        A task's own counts with a little general English make the encodings that suit the task and still know
        the words that it has not shown: `Vocabulary.from_texts(texts).blend(Vocabulary.english(), 0.05)`.
        """
        if not isinstance(other, Vocabulary):
            raise TypeError(f"found {type(other).__name__}; expected a Vocabulary to blend with")
        if not (isinstance(weight, Real) and 0 < weight < float("inf")):
            raise ValueError(f"weight is {weight!r}; it must be a number above 0")
        total = Counter(dict(zip(self.words, self._counts.tolist(), strict=True)))
        scale = weight * float(self._counts.sum()) / float(other._counts.sum()) if len(self) and len(other) else weight
        for word, count in zip(other.words, (other._counts * scale).tolist(), strict=True):
            total[word] += count
        return Vocabulary.from_counts(total, size=size)

    # -- reading ----------------------------------------------------------------------------------------

    @property
    def words(self) -> tuple[str, ...]:
        """The words, most frequent first."""
        return self._words

    @property
    def counts(self) -> NDArray[np.float64]:
        """How often each was seen, as it was given."""
        return self._counts

    @cached_property
    def frequencies(self) -> NDArray[np.float64]:
        """ρ: the counts, scaled to sum to 1."""
        return _frozen(self._counts / self._counts.sum()) if len(self) else self._counts

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """Frequencies as whole numbers, so that their sums are exact in any order.

        The counts themselves where they are whole; else parts of 2^52, at least one.
        """
        total = float(self._counts.sum())
        if total <= 2**52 and bool((self._counts == np.floor(self._counts)).all()):
            return _frozen(self._counts.astype(np.int64))
        return _frozen(np.maximum(1, np.rint(self._counts / total * 2**52)).astype(np.int64))

    @cached_property
    def ranks(self) -> dict[str, int]:
        """The place of each word, from 0."""
        return {word: i for i, word in enumerate(self._words)}

    def rank(self, word: str) -> int:
        """The place of a word, from 0."""
        try:
            return self.ranks[word]
        except KeyError:
            raise KeyError(f"{word!r} is not in the vocabulary of {len(self):,} words") from None

    def __len__(self) -> int:
        return len(self._words)

    def __contains__(self, word: object) -> bool:
        return word in self.ranks

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._words == other._words and np.array_equal(self._counts, other._counts)

    def __hash__(self) -> int:
        return hash((self._words, self._counts.tobytes()))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self._words[:3])) + (", …" if len(self) > 3 else "")
        return f"Vocabulary({len(self):,} word{'s' if len(self) != 1 else ''}{': ' if shown else ''}{shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self._words, self._counts)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _lowered(words: list[Any]) -> list[str]:
    try:
        joined = "\n".join(words)
    except TypeError:
        word = next(word for word in words if not isinstance(word, str))
        raise TypeError(f"found {word!r} ({type(word).__name__}) among the words; words are str") from None
    return words if joined.lower() == joined else [word.lower() for word in words]


def _admission(keep: Keep) -> Callable[[str], Any]:
    if callable(keep):
        return keep
    if isinstance(keep, str) or not isinstance(keep, Container):
        raise TypeError(f"keep is {keep!r}; it must be a function of a word, or a container of words")
    return keep.__contains__


def _checked_counts(pairs: list[tuple[str, float]]) -> NDArray[np.float64]:
    try:
        values = np.fromiter((count for _, count in pairs), dtype=np.float64, count=len(pairs))
    except (TypeError, ValueError, OverflowError):
        word, count = next(pair for pair in pairs if not _is_number(pair[1]))
        raise ValueError(f"the count of {word!r} is {count!r}; counts are numbers above 0") from None
    wrong = ~(np.isfinite(values) & (values > 0))
    if wrong.any():
        word, count = pairs[int(np.argmax(wrong))]
        raise ValueError(
            f"the count of {word!r} is {count!r}; counts are finite numbers above 0. Leave out words that do not occur"
        )
    with np.errstate(over="ignore"):
        total = values.sum()
    if not np.isfinite(total):
        raise ValueError("the counts add up to infinity; divide them all by a constant")
    return values


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _checked_size(size: int) -> int:
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
        raise ValueError(f"size is {size!r}; it must be a whole number of words, or None for all")
    return int(size)


def _is_word(word: str) -> bool:
    return 0 < len(word) <= LONGEST_WORD and not _has_surrogate(word)


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _check_words(words: list[str]) -> None:
    joined = "\n".join(words)
    if joined.split() != words:
        word = next(word for word in words if word.split() != [word])
        raise ValueError(f"{word!r} is no word: words are not empty and hold no white space")
    if _has_surrogate(joined):
        word = next(word for word in words if _has_surrogate(word))
        raise ValueError(f"{word!r} holds a lone surrogate, which no text file can hold; leave it out")
    longest = max(words, key=len, default="")
    if len(longest) > LONGEST_WORD:
        raise ValueError(
            f"{longest[:20]!r}… has {len(longest):,} characters; a word may have {LONGEST_WORD}. "
            f"Leave it out: keep=lambda word: len(word) <= {LONGEST_WORD}"
        )


def _lines(path: str | PathLike[str]) -> Iterable[tuple[int, str]]:
    with Path(path).open(encoding="utf-8-sig") as file:
        try:
            yield from enumerate(file, start=1)
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} is not UTF-8 text ({error.reason} at byte {error.start}); convert it first"
            ) from None


def _word_and_count(path: str | PathLike[str], number: int, line: str) -> tuple[str, float]:
    fields = line.split()
    count = float(fields[1]) if len(fields) == 2 and _is_number(fields[1]) else float("nan")
    if not 0 < count < float("inf"):
        raise ValueError(f"{path}, line {number}: found {line.strip()[:80]!r}, expected a word and its count above 0")
    if not _is_word(fields[0]):
        raise ValueError(
            f"{path}, line {number}: {fields[0][:20]!r}… has {len(fields[0]):,} characters; "
            f"a word may have {LONGEST_WORD}"
        )
    return fields[0], count


def _counts_by_rank(n: int, like: Vocabulary | None) -> NDArray[np.float64]:
    """Falling counts for ranks 1 … n, on the curve of `like`."""
    ranks = np.arange(1, n + 1, dtype=np.float64)
    if like is None:
        return 1 / ranks
    if not isinstance(like, Vocabulary):
        raise TypeError(f"like is {type(like).__name__}; it must be a Vocabulary")
    if not len(like):
        raise ValueError("like is an empty vocabulary; it must have words to take counts from")
    # Many words share a count: each count stands at the middle of its ranks, and between two the logarithm of the
    # count is linear in that of the rank. Beyond the last it falls on by Zipf's law.
    levels, first, times = np.unique(-like.counts, return_index=True, return_counts=True)
    middles = first + (times + 1) / 2
    counts: NDArray[np.float64] = np.exp(np.interp(np.log(ranks), np.log(middles), np.log(-levels)))
    counts *= np.minimum(1, middles[-1] / ranks) * np.maximum(1, middles[0] / ranks)
    return counts
