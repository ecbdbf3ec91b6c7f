"""The texts that are measured: SST-2's training sentences where GLUE is given, else made from word frequencies."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from roben import EditOne, Vocabulary

# Every letter run of at least three letters gets a typo.
LONG_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True)
class Texts:
    """Lower-case texts, and where they are from."""

    source: str
    texts: list[str]

    @property
    def n_words(self) -> int:
        """Words between white space: the unit of all speeds, whatever a tokeniser makes of them."""
        return sum(len(text.split()) for text in self.texts)


def column(file: Path, *names: str) -> list[tuple[str, ...]]:
    """Columns of a GLUE file: separated by tabs, not quoted."""
    with file.open(encoding="utf-8", newline="\n") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [tuple(row[name] for name in names) for row in rows]


def texts_of(glue: Path | None, vocabulary: Vocabulary, size: int | None = None) -> Texts:
    """The texts to measure on."""
    if glue is None:
        return generated(vocabulary, size or 67_349, seed=0)
    sentences = [sentence.lower() for (sentence,) in column(glue / "SST-2" / "train.tsv", "sentence")]
    return Texts("SST-2 train", sentences[:size])


def generated(vocabulary: Vocabulary, n: int, seed: int) -> Texts:
    """Sentences of 1 to 18 words drawn by frequency, about as long as those of SST-2. The same for the same seed."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 19, size=n)
    drawn = rng.choice(len(vocabulary), size=int(lengths.sum()), p=vocabulary.frequencies)
    words = iter([vocabulary.words[i] for i in drawn.tolist()])
    return Texts("words drawn by frequency", [" ".join(next(words) for _ in range(n)) for n in lengths.tolist()])


def with_typos(texts: list[str], seed: int) -> tuple[list[str], list[str]]:
    """One typo in every word of three letters or more: the texts, and the words that were typed.

    A typo is drawn from EditOne's ball, each as likely as any other, and is never the word itself.
    """
    rng = np.random.default_rng(seed)
    surface = EditOne()

    def draws(word: str) -> Iterator[str]:
        while True:
            yield from (typo for typo in surface.sample(word, rng, 4) if typo != word)

    sources: dict[str, Iterator[str]] = {}
    typed: list[str] = []

    def mistyped(match: re.Match[str]) -> str:
        word = match[0]
        typed.append(next(sources.setdefault(word, draws(word))))
        return typed[-1]

    return [LONG_WORD.sub(mistyped, text) for text in texts], typed
