"""How many dev examples of GLUE have one encoding, beside the paper; and what each way to split text does to that."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.table import Table

import roben
from benchmarks.result import table
from benchmarks.text import column
from roben.kernel import native_kernel

N_WORDS = 100_000
GAMMA = 0.3
CLUSTERINGS = ("ConnComp", "AggClust")
SPLITS = {"spaces": "spaces", "words": "inner-words", "apostrophes kept": "words"}

# Task: dev file, columns, and the paper's share (%) of examples with one encoding, ConnComp and AggClust.
TASKS = {
    "SST-2": ("dev.tsv", ("sentence",), (86.9, 65.6)),
    "MRPC": ("dev.tsv", ("#1 String", "#2 String"), (71.6, 50.0)),
    "QQP": ("dev.tsv", ("question1", "question2"), (72.7, 62.7)),
    "MNLI": ("dev_matched.tsv", ("sentence1", "sentence2"), (45.3, 35.4)),
    "QNLI": ("dev.tsv", ("question", "sentence"), (54.6, 36.6)),
    "RTE": ("dev.tsv", ("sentence1", "sentence2"), (40.4, 25.2)),
}


def measure(*, quick: bool, glue: Path | None) -> dict[str, Any] | None:
    """Shares in percent, for each task, split and clustering."""
    if glue is None:
        print("statistics: left out, as it needs GLUE; say where it is with --glue-dir DIR", file=sys.stderr)
        return None
    graph = roben.typo_graph(roben.Vocabulary.english(N_WORDS), roben.EditOne())
    encodings = {
        "ConnComp": roben.Encoding(roben.connected_components(graph)),
        "AggClust": roben.Encoding(roben.agglomerate(graph, GAMMA)),
    }
    figures = {}
    for task, (file, columns, paper) in TASKS.items():
        print(f"statistics: {task}", file=sys.stderr)
        examples = column(glue / task / file, *columns)[: 200 if quick else None]
        figures[task] = {
            "examples": len(examples),
            "paper": dict(zip(CLUSTERINGS, paper, strict=True)),
            **{name: _shares(examples, split, encodings) for name, split in SPLITS.items()},
            "apostrophes": _apostrophes(examples, encodings["AggClust"]),
        }
    return {"words": N_WORDS, "gamma": GAMMA, "tasks": figures}


def tables(result: dict[str, Any]) -> list[Table]:
    """Examples with one encoding; tokens that no word accounts for; apostrophes."""
    tasks = result["tasks"]

    def row(task: str, *keys: tuple[str, ...]) -> tuple[str, ...]:
        return task, *(f"{_value(tasks[task], key):.1f}" for key in keys)

    def rows(*keys: tuple[str, ...]) -> list[tuple[str, ...]]:
        means = (sum(_value(figures, key) for figures in tasks.values()) / len(tasks) for key in keys)
        return [*(row(task, *keys) for task in tasks), ("mean", *(f"{mean:.1f}" for mean in means))]

    ways = ("paper", "spaces", "words")
    one_encoding = [(way, clustering) for clustering in CLUSTERINGS for way in ways]
    splits = [(way, figure) for figure in (*CLUSTERINGS, "unknown") for way in ("apostrophes kept", "words")]
    return [
        table(
            "Dev examples with one encoding, %",
            ["task", *(f"{clustering}, {way}" for way, clustering in one_encoding)],
            rows(*one_encoding),
            f"{result['words']:,} words of wordfreq, γ = {result['gamma']:g} for AggClust. The paper's figures are for "
            "another list of words and, for SST-2 and MRPC, for test sets; ours are for dev sets, pairs with both "
            "texts together. QQP's dev set is a balanced subset.",
        ),
        table(
            "Tokens, %",
            ["task", *(f"{what}, {way}" for what in ("not a word", "[MASK]") for way in ("spaces", "words"))],
            rows(*((way, key) for key in ("not_a_word", "unknown") for way in ("spaces", "words"))),
            "Not a word: not in the vocabulary, and nothing that the attacker cannot change. Of these, what is not "
            "even a typo of a word becomes [MASK].",
        ),
        table(
            "Apostrophes at the ends of runs, %: kept, or split off as roben does",
            [
                "task",
                *(f"{figure}, {'kept' if way != 'words' else 'split'}" for way, figure in splits),
                "runs with such",
            ],
            rows(*splits, ("apostrophes", "share_of_runs")),
            "Examples with one encoding by ConnComp and by AggClust, tokens that become [MASK] (unknown), and the "
            "share of tokens that have an apostrophe at an end.",
        ),
    ]


def _value(figures: dict[str, Any], key: Iterable[str]) -> float:
    value: Any = figures
    for part in key:
        value = value[part]
    return value


def _shares(examples: list[tuple[str, ...]], split: str, encodings: dict[str, roben.Encoding]) -> dict[str, float]:
    tokenize = native_kernel().tokenize
    tokens = [[token for text in example for token in tokenize(text, split)] for example in examples]
    counts = Counter(token for example in tokens for token in example)
    n_tokens = sum(counts.values())
    one = {
        name: {token for token in counts if len(encoding.reachable(token)) == 1} for name, encoding in encodings.items()
    }
    encoding = encodings["AggClust"]
    codes = {token: encoding.code(token) for token in counts if token not in encoding.vocabulary}
    unknown = {token for token, code in codes.items() if code == encoding.unknown}
    changeable = {token for token in codes if encoding.surface.count(token) > 1}
    return {
        **{
            name: 100 * sum(stable.issuperset(example) for example in tokens) / len(tokens)
            for name, stable in one.items()
        },
        "not_a_word": 100 * sum(counts[token] for token in changeable) / n_tokens,
        "unknown": 100 * sum(counts[token] for token in unknown) / n_tokens,
        "tokens_per_example": n_tokens / len(tokens),
    }


def _apostrophes(examples: list[tuple[str, ...]], encoding: roben.Encoding) -> dict[str, Any]:
    """Runs with an apostrophe at an end: how many, which are most frequent, and how many are words so or without."""
    tokenize = native_kernel().tokenize
    runs = Counter(token for example in examples for text in example for token in tokenize(text, "words"))
    at_an_end = Counter({run: n for run, n in runs.items() if run.strip("'") not in ("", run)})
    total = max(1, at_an_end.total())
    return {
        "share_of_runs": 100 * at_an_end.total() / runs.total(),
        "of_these_words_as_they_are": 100
        * sum(n for run, n in at_an_end.items() if run in encoding.vocabulary)
        / total,
        "of_these_words_without": 100
        * sum(n for run, n in at_an_end.items() if run.strip("'") in encoding.vocabulary)
        / total,
        "most_frequent": dict(at_an_end.most_common(10)),
    }
