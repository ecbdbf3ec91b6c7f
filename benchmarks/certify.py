"""How long certificates take: exactly by dynamic programming, and by enumeration beside mere prediction."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.table import Table

import roben
from benchmarks.result import table, verdict
from benchmarks.stopwatch import seconds, summary

LINEAR_TARGET = 2.0
ENUMERATION_TARGET = 3.0


def measure(*, quick: bool, glue: Path | None) -> dict[str, Any]:
    """The default classifier, and a TF-IDF pipeline of scikit-learn's, on SST-2 or on the reviews."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    def part(split: str) -> roben.data.Dataset:
        return roben.data.reviews(split) if glue is None else roben.data.glue(glue, "SST-2", split)

    train, dev = part("train"), part("dev")
    if quick:
        train, dev = train.head(5_000), dev.head(200)
    encoding = roben.Encoding.build(roben.Vocabulary.english())
    classifiers = {
        "NgramClassifier": None,
        "TF-IDF": make_pipeline(
            TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+", lowercase=False),
            LogisticRegression(C=10, max_iter=300),
        ),
    }
    return {
        "data": dev.name,
        "examples": len(dev),
        "training_rows": len(train),
        "classifiers": {name: _measured(encoding, one, train, dev, quick) for name, one in classifiers.items()},
    }


def _measured(encoding: roben.Encoding, classifier: Any, train: Any, dev: Any, quick: bool) -> dict[str, Any]:
    model = roben.RobustClassifier(encoding, classifier)
    training = seconds(lambda: model.fit(train.texts, train.labels))

    def certify() -> list[roben.Certificate]:
        return list(roben.certify(model, dev.texts, dev.labels))

    model.encoding_ = dataclasses.replace(encoding)  # has met no token yet
    certificates: list[roben.Certificate] = []
    first = seconds(lambda: certificates.extend(certify()))
    accuracy = roben.robust_accuracy(certificates)
    rounds = 2 if quick else 7
    predicting, certifying = [], []
    for _ in range(rounds):  # in turns, so that both meet the same noise
        predicting.append(_repeated(lambda: model.predict(dev.texts), 5))
        certifying.append(seconds(certify))
    return {
        "seconds_training": training,
        "seconds_predicting": summary(predicting),
        "seconds_certifying_first": first,
        "seconds_certifying": summary(certifying),
        "predictions_per_example": accuracy.n_predictions / accuracy.n,
        "standard": accuracy.standard,
        "robust": accuracy.lower,
        "undecided": accuracy.n_undecided,
    }


def _repeated(function: Callable[[], Any], times: int) -> float:
    return seconds(lambda: [function() for _ in range(times)]) / times


def tables(result: dict[str, Any]) -> list[Table]:
    """Seconds for all examples."""
    rows = []
    for name, figures in result["classifiers"].items():
        certifying, predicting = figures["seconds_certifying"], figures["seconds_predicting"]
        ratio = certifying["best"] / predicting["best"]
        met = (
            (f"{LINEAR_TARGET:g} s", verdict(certifying["best"], LINEAR_TARGET))
            if name == "NgramClassifier"
            else (f"{ENUMERATION_TARGET:g} times predicting", verdict(ratio, ENUMERATION_TARGET))
        )
        rows.append(
            (
                name,
                f"{figures['seconds_training']:.1f}",
                f"{predicting['best']:.3f}",
                f"{figures['seconds_certifying_first']:.3f}",
                f"{certifying['best']:.3f}",
                f"{ratio:.1f}",
                f"{figures['predictions_per_example']:.2f}",
                f"{100 * figures['standard']:.1f}",
                f"{100 * figures['robust']:.1f}",
                *met,
            )
        )
    columns = ("", "training, s", "predicting, s", "certifying first, s", "again, s", "ratio", "predictions an example")
    return [
        table(
            "Certificates",
            [*columns, "standard, %", "robust, %", "target", ""],
            rows,
            f"{result['examples']:,} examples of {result['data']}, trained on {result['training_rows']:,}; general "
            "English encodings of 100,000 words, γ = 0.3. NgramClassifier is certified by dynamic programming, which "
            "is exact for any number of encodings; TF-IDF with logistic regression by enumeration. The first time the "
            "encoding meets the tokens; what it found it remembers. The ratio is of the best runs after that.",
        )
    ]
