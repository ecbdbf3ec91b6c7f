"""Measures one entry."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from roben.attack import ATTACKS, AttackResult, attack_accuracy, interval
from roben.certificate import Certificate, certify, robust_accuracy
from roben.data import Dataset
from roben.encoding import Encoding
from roben.experiment.entry import EVALUATED, TASKS, Entry
from roben.experiment.result import versions
from roben.experiment.workshop import Workshop
from roben.kernel import split_for
from roben.lattice import lattices, n_choices
from roben.surface import Surface
from roben.typed import TypedText, sides_of

__all__ = ["measure"]

Report = Callable[[str], None]


def measure(entry: Entry, workshop: Workshop, report: Report = lambda stage: None) -> dict[str, Any]:
    """What the entry asks for, as a result has it. `report` is told what is being done."""
    seconds: dict[str, float] = {}
    report("reading")
    rows = workshop.evaluation(entry)
    result: dict[str, Any] = {"identity": workshop.identity(entry), "data": _about(entry, workshop, rows)}
    encoding = workshop.encoding(entry) if entry.is_encoded else None  # read once
    if encoding is not None:
        result["fingerprint"] = encoding.fingerprint
    result["texts"] = _texts(entry, workshop.surface(entry), encoding, rows)
    if entry.model != "none":
        report("training")
        with _timed(seconds, "training or loading"):
            model = workshop.model(entry)
        report("predicting")
        with _timed(seconds, "predicting"):
            right = np.asarray(model.predict(rows.texts)) == np.asarray(rows.labels)
        result["standard"] = _share(right)
        proved: list[Certificate] = []
        if entry.is_encoded:
            report("certifying")
            with _timed(seconds, "certifying"):
                proved = list(certify(model, rows.texts, rows.labels or (), budget=entry.budget))
            result["robust"] = _robust(proved)
        result["attacks"] = {}
        for name in entry.attacks:
            report(f"attacking ({name})")
            with _timed(seconds, f"attacking ({name})"):
                result["attacks"][name] = _attacked(name, entry, model, rows, right, proved, workshop.surface(entry))
        result["model"] = _about_model(model)
    return {**result, "seconds": seconds, "versions": versions()}


def _about(entry: Entry, workshop: Workshop, rows: Dataset) -> dict[str, Any]:
    """Which rows were used. What needs no model needs no training rows."""
    of_task, _ = TASKS[entry.task]
    train = workshop.train(entry)
    split = rows.name.removeprefix(entry.task).split()[0]
    lacks_training = entry.model != "none" and len(train) < of_task
    return {
        "train": train.name,
        "evaluation": rows.name,
        "n_train": len(train),
        "n_train_of_task": of_task,
        "n_evaluation": len(rows),
        "is_partial": lacks_training or len(rows) < EVALUATED.get((entry.task, split), 0),
    }


def _share(right: Sequence[Any] | np.ndarray[Any, Any]) -> dict[str, Any]:
    share = float(np.mean(right)) if len(right) else float("nan")
    return {"accuracy": share, "n": len(right), "interval": interval(share, len(right))}


def _robust(proved: Sequence[Certificate]) -> dict[str, Any]:
    accuracy = robust_accuracy(proved)
    flips = Counter("none" if c.flips is None else str(c.flips) for c in proved)
    return {
        **_share([c.verdict == "robust" for c in proved]),
        "upper": accuracy.upper,
        "n_undecided": accuracy.n_undecided,
        "predictions_per_example": accuracy.n_predictions / max(1, accuracy.n),
        "flips": dict(sorted(flips.items())),
    }


def _texts(entry: Entry, surface: Surface, encoding: Encoding | None, rows: Dataset) -> dict[str, Any]:
    """How many perturbations and encodings the texts have."""
    if encoding is None:
        return {"log10_perturbations": _histogram(_log10_perturbations(entry, surface, rows), 10)}
    found = lattices(encoding, rows.texts)
    n_encodings = [lattice.n_encodings(entry.budget) for lattice in found]
    tokens = [slot for lattice in found for slot in lattice.slots]
    return {
        "one_encoding": sum(n == 1 for n in n_encodings) / max(1, len(found)),
        "above_limit": sum(n > 10_000 for n in n_encodings) / max(1, len(found)),
        "unknown_tokens": sum(slot.codes[0] == encoding.unknown for slot in tokens) / max(1, len(tokens)),
        "n_tokens": len(tokens) / max(1, len(found)),
        "encodings": dict(sorted(Counter(min(n, 10_001) for n in n_encodings).items())),
        "log10_perturbations": _histogram([math.log10(x.n_perturbations(entry.budget)) for x in found], 10),
    }


def _log10_perturbations(entry: Entry, surface: Surface, rows: Dataset) -> list[float]:
    split = split_for(entry.tokens, surface)
    counts: dict[str, int] = {}

    def count(token: str) -> int:
        if token not in counts:
            counts[token] = surface.count(token)
        return counts[token]

    sides = map(sides_of, rows.texts)
    tokens = [[token for side in both for token in TypedText(side, split).tokens] for both in sides]
    return [math.log10(n_choices(list(map(count, found)), entry.budget)) for found in tokens]


def _histogram(values: Sequence[float], width: int) -> dict[str, Any]:
    counts = Counter(int(value // width) * width for value in values)
    return {
        "mean": float(np.mean(values)) if values else float("nan"),
        "log10_of_mean": _log10_of_mean(values),
        "bin": width,
        "counts": {str(start): counts[start] for start in sorted(counts)},
    }


def _log10_of_mean(logs: Sequence[float]) -> float:
    """Of the mean of the numbers themselves, which the longest texts make."""
    if not logs:
        return float("nan")
    largest = max(logs)
    return largest + math.log10(sum(10 ** (log - largest) for log in logs) / len(logs))


def _attacked(
    name: str,
    entry: Entry,
    model: Any,
    rows: Dataset,
    right: np.ndarray[Any, Any],
    proved: Sequence[Certificate],
    surface: Surface,
) -> dict[str, Any]:
    """What is left under attack of some of the rows, and what the model gets right and provably right of the same."""
    n = len(rows) if entry.n_attacked is None else min(entry.n_attacked, len(rows))
    chosen = sorted(np.random.default_rng(0).permutation(len(rows))[:n].tolist())
    options: dict[str, Any] = {"budget": entry.budget, "tokens": entry.tokens}
    if name != "beam" and entry.max_queries is not None:
        options["max_queries"] = entry.max_queries
    labels = rows.labels or ()
    found: list[AttackResult] = ATTACKS[name](**options)(
        model, [rows.texts[i] for i in chosen], [labels[i] for i in chosen], surface, seed=entry.seed
    )
    standard = [bool(right[i]) for i in chosen]
    result = {
        **_share([not r.is_broken for r in found]),
        "standard": float(np.mean(standard)) if n else float("nan"),
        "queries_per_example": float(np.mean([r.n_queries for r in found])) if n else 0.0,
        "changed_tokens": float(np.mean([r.n_changed for r in found if r.n_changed] or [0])),
    }
    if proved:
        result["robust"] = float(np.mean([proved[i].verdict == "robust" for i in chosen])) if n else float("nan")
        for i, r in zip(chosen, found, strict=True):
            if r.is_broken and proved[i].verdict == "robust":
                raise RuntimeError(f"{entry.name}: the attack broke what was proved: {r.attacked!r}")
    assert math.isnan(attack_accuracy(found)) or abs(attack_accuracy(found) - result["accuracy"]) < 1e-9
    return result


def _about_model(model: Any) -> dict[str, Any]:
    inner = getattr(model, "model", model)
    classifier = inner.classifier_
    about: dict[str, Any] = {"classifier": type(classifier).__name__}
    if hasattr(classifier, "tolerance_"):
        about |= {"device": classifier._device().split(":")[0], "tolerance": classifier.tolerance_}
    return about


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = round(time.perf_counter() - start, 2)
