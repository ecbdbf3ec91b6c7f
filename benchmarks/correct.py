"""The typo corrector: how long it trains, and how many words it restores."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

import roben
from benchmarks.result import table, verdict
from benchmarks.stopwatch import seconds
from roben.typed import TypedText

SECONDS_TARGET = 600.0
RESTORED_TARGET = 0.8


def measure(*, quick: bool, glue: Path | None) -> dict[str, Any] | None:
    """Trained on SST-2 or on the reviews, with all threads; every word of dev gets a random typo."""
    if find_spec("torch") is None:
        print("left out: the typo corrector (pip install torch)", file=sys.stderr)
        return None
    import torch

    def part(split: str) -> roben.data.Dataset:
        return roben.data.reviews(split) if glue is None else roben.data.glue(glue, "SST-2", split)

    train, dev = part("train"), part("dev")
    if quick:
        train, dev = train.head(1_000), dev.head(50)
    corrector = roben.baseline.TypoCorrector(device="cpu")
    training = seconds(lambda: corrector.fit(train.texts, roben.EditOne()))
    clean = [TypedText(text, "inner-words") for text in dev.texts]
    rng = np.random.default_rng(0)
    changes = [_typos(text, rng) for text in clean]
    typed = [text.replace(changed) for text, changed in zip(clean, changes, strict=True)]
    restored, kept = corrector(typed), corrector(dev.texts)
    return {
        "data": train.name,
        "threads": torch.get_num_threads(),
        "training_rows": len(train),
        "seconds_training": training,
        "seconds_correcting": seconds(lambda: corrector(typed)),
        "examples": len(dev),
        "words": sum(map(len, changes)),
        "restored": _share(clean, restored, changes),
        "kept": _share(clean, kept, changes),
    }


def _typos(text: TypedText, rng: np.random.Generator) -> dict[int, str]:
    """For every word that can be changed any of its typos, never the word itself."""
    surface = roben.EditOne()
    balls = {i: sorted(surface.typos(t) - {t}) for i, t in enumerate(text.tokens) if t.isalpha() and len(t) > 1}
    return {i: ball[int(rng.integers(len(ball)))] for i, ball in balls.items() if ball}


def _share(clean: list[TypedText], corrected: list[str], changes: list[dict[int, str]]) -> float:
    right = [
        given.split(" ")[i] == text.tokens[i]
        for text, given, changed in zip(clean, corrected, changes, strict=True)
        for i in changed
    ]
    return float(np.mean(right))


def tables(result: dict[str, Any]) -> list[Table]:
    """Both targets."""
    spent, restored = result["seconds_training"], result["restored"]
    rows = [
        ("training", f"{spent:.0f} s", f"{SECONDS_TARGET:g} s", verdict(spent, SECONDS_TARGET)),
        (
            "mistyped words that are restored",
            f"{100 * restored:.1f}%",
            f"{100 * RESTORED_TARGET:g}%",
            verdict(restored, RESTORED_TARGET, at_least=True),
        ),
        ("words without a typo that stay", f"{100 * result['kept']:.1f}%", "", ""),
        ("correcting", f"{result['examples'] / result['seconds_correcting']:,.0f} texts/s", "", ""),
    ]
    return [
        table(
            "Typo corrector",
            ("", "measured", "target", ""),
            rows,
            f"Trained on {result['training_rows']:,} texts of {result['data']} with {result['threads']} threads; "
            f"{result['words']:,} words of {result['examples']:,} other texts.",
        )
    ]
