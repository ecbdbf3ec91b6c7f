"""What robustness costs on SST-2, and what a certificate does: `python -m benchmarks.accuracy --help`.

Every cell (an encoding, a classifier, a seed) is a process of its own and writes a JSON file of its own, so that a run
that was stopped goes on where it was, and several share a GPU. Transformers train on all rows with batches of 32, a
learning rate of 8e-5 and three epochs, which suits a small model better than the paper's settings for BERT-base.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.result import FOLDER, table

RESULTS = FOLDER / "results" / "accuracy"
INTRODUCTION = (
    "The linear model on two cores; transformer: MiniLM (six layers), batches of 32, 8e-5, three epochs, in bf16 on an "
    "H200. `python -m benchmarks.accuracy --help` tells how."
)

ENCODINGS = ("none", "components", "general", "domain", "blend")
RECIPE = {"batch_size": 32, "learning_rate": 8e-5, "epochs": 3}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--sst2", type=Path, required=True, metavar="DIR", help="a folder with train.tsv and dev.tsv")
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="where encodings are kept between runs")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument(
        "--model", metavar="DIR", help="a transformer's folder; without it the linear model is measured"
    )
    parser.add_argument("--encodings", nargs="+", choices=ENCODINGS, default=list(ENCODINGS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--parallel", type=int, default=1, metavar="N", help="processes side by side")
    parser.add_argument("--device", help="cuda, cpu, …")
    parser.add_argument("--rows", type=int, metavar="N", help="train on the first N rows only")
    parser.add_argument("--cell", nargs=2, metavar=("ENCODING", "SEED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.cell:
        name, seed = options.cell
        result = measure(options, name, int(seed))
        (options.out / f"{_cell_name(options, name, int(seed))}.json").write_text(json.dumps(result, indent=1) + "\n")
        return
    cells = [(name, seed) for seed in options.seeds for name in options.encodings]
    missing = [cell for cell in cells if not (options.out / f"{_cell_name(options, *cell)}.json").exists()]
    for name in {name for name, _ in missing} - {"none"}:
        _encoding(options, name)
    with ThreadPoolExecutor(options.parallel) as pool:
        codes = list(pool.map(partial(_run_cell, sys.argv[1:]), missing))
    for made in tables(load(options.out)):
        Console(width=140).print(made)
    if any(codes):
        raise SystemExit(f"{sum(map(bool, codes))} of {len(codes)} cells failed")


def measure(options: argparse.Namespace, name: str, seed: int) -> dict[str, Any]:
    """One cell: train, predict, certify, and predict the certified encodings again in other company."""
    from roben.certificate import certify, robust_accuracy
    from roben.classifier import NgramClassifier, RobustClassifier

    texts, labels = _rows(options.sst2 / "train.tsv")
    if options.rows:
        texts, labels = texts[: options.rows], labels[: options.rows]
    dev, gold = _rows(options.sst2 / "dev.tsv")
    classifier: Any = NgramClassifier()
    if options.model:
        from roben.classifier.transformer import TransformerClassifier

        classifier = TransformerClassifier(options.model, seed=seed, device=options.device, **RECIPE)
    model = RobustClassifier("none" if name == "none" else _encoding(options, name), classifier)
    start = time.perf_counter()
    model.fit(texts, labels)
    trained = time.perf_counter() - start
    result: dict[str, Any] = {
        "encoding": name,
        "classifier": "transformer" if options.model else "linear",
        "seed": seed,
        "n_train": len(texts),
        "n_dev": len(dev),
        "seconds_training": round(trained, 2),
        "standard": float((model.predict(dev) == gold).mean()),
    }
    if options.model:
        fitted = model.classifier_
        result["device"] = fitted._device()
        result["precision"] = "bf16" if fitted._uses_bf16() else "fp32"
        result["tolerance"] = fitted.tolerance_
        result["recipe"] = RECIPE
    if name == "none":
        return result
    start = time.perf_counter()
    certificates = list(certify(model, dev, gold))
    accuracy = robust_accuracy(certificates)
    result |= {
        "seconds_certifying": round(time.perf_counter() - start, 2),
        "robust_lower": accuracy.lower,
        "robust_upper": accuracy.upper,
        "predictions_per_example": accuracy.n_predictions / accuracy.n,
        "one_encoding": float(np.mean([c.n_encodings == 1 for c in certificates])),
        "fingerprint": model.encoding_.fingerprint,
    }
    if options.model:
        result["again"] = predict_again(model, [c for c in certificates if c.verdict == "robust"])
    return result


def predict_again(model: Any, certificates: list[Any]) -> dict[str, Any]:
    """Predicts every encoding of certified examples in other batches and paddings. No class may change."""
    from roben.lattice import lattices

    classifier = model.classifier_
    encoded, expected = [], []
    for lattice, certificate in zip(
        lattices(model.encoding_, [c.text for c in certificates]), certificates, strict=True
    ):
        own = [lattice.own(), *(lattice.text(codes) for _, codes in lattice.changed())]
        encoded += own
        expected += [certificate.label] * len(own)
    order = np.random.default_rng(0).permutation(len(encoded))
    encoded, expected = [encoded[i] for i in order], np.array(expected)[order]
    batched, size = classifier._batched, classifier.predict_batch_size
    result: dict[str, Any] = {"n_encodings": len(encoded)}
    reference = classifier._batched(encoded)
    for batch_size, length in ((1, None), (7, None), (512, None), (32, 64), (100, 128)):
        classifier.predict_batch_size = batch_size
        if length is not None:
            classifier._batched = partial(batched, width=length)
        changed = int((classifier.predict(encoded) != expected).sum())
        moved = classifier._batched(encoded)
        result[f"batch {batch_size}, padded to {length or 'the longest'}"] = {
            "changed": changed,
            "changed without the one numeric path": int((moved.argmax(axis=1) != reference.argmax(axis=1)).sum()),
            "largest move of a score": float(np.abs(moved - reference).max()),
        }
        classifier._batched, classifier.predict_batch_size = batched, size
    return result


def load(folder: Path) -> list[dict[str, Any]]:
    """All cells that are there."""
    return [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]


def tables(cells: list[dict[str, Any]]) -> list[Table]:
    """Accuracy, seeds averaged; and what became of certified encodings in other company."""
    columns = ("classifier, encoding", "seeds", "standard", "robust", "one encoding", "predictions an example")
    rows = []
    for kind in ("linear", "transformer"):
        for name in ENCODINGS:
            found = [cell for cell in cells if (cell["classifier"], cell["encoding"]) == (kind, name)]
            if found:
                shown = [_spread(found, key) for key in ("standard", "robust_lower", "one_encoding")]
                spent = [cell["predictions_per_example"] for cell in found if "predictions_per_example" in cell]
                rows.append((f"{kind}, {name}", len(found), *shown, f"{np.mean(spent):.2f}" if spent else ""))
    n_train = sorted({cell["n_train"] for cell in cells})
    found_tables = [
        table(
            "SST-2 dev, percent",
            columns,
            rows,
            f"Trained on {', '.join(f'{n:,}' for n in n_train)} rows. none: undefended; components: connected "
            "components; general: 100,000 words of general English, γ = 0.3; domain: the training text's own words; "
            "blend: these, with general English at weight 0.05. Robust is exact.",
        )
    ]
    again = [cell["again"] for cell in cells if "again" in cell]
    if again:
        variants = [variant for one in again for variant in one.values() if isinstance(variant, dict)]
        largest = max(variant["largest move of a score"] for variant in variants)
        tolerances = [cell["tolerance"] for cell in cells if "again" in cell]
        row = (
            sum(one["n_encodings"] for one in again),
            len(variants) // len(again),
            sum(variant["changed"] for variant in variants),
            f"{largest:.3f}",
            f"{min(tolerances):.2f} to {max(tolerances):.2f}",
        )
        titles = (
            "certified encodings",
            "other batches and paddings",
            "changed",
            "largest move of a score",
            "tolerance",
        )
        found_tables.append(table("Certified encodings of transformers, predicted again", titles, [row]))
    return found_tables


def _spread(cells: list[dict[str, Any]], key: str) -> str:
    values = [100 * cell[key] for cell in cells if key in cell]
    if not values:
        return ""
    return f"{np.mean(values):.1f}" + (f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else "")


def _run_cell(arguments: list[str], cell: tuple[str, int]) -> int:
    name, seed = cell
    command = [sys.executable, "-m", "benchmarks.accuracy", *arguments, "--cell", name, str(seed)]
    print(f"{name}, seed {seed}", file=sys.stderr, flush=True)
    return subprocess.run(command, env={**os.environ, "TOKENIZERS_PARALLELISM": "false"}, check=False).returncode


def _cell_name(options: argparse.Namespace, name: str, seed: int) -> str:
    return f"{'transformer' if options.model else 'linear'}-{name}-{seed}"


def _encoding(options: argparse.Namespace, name: str) -> Any:
    """100,000 words each: general English, the training text's own, or those blended."""
    from roben import Encoding, Vocabulary

    path = options.work / name
    if not path.exists():
        general = Vocabulary.english(100_000)
        domain = Vocabulary.from_texts(_rows(options.sst2 / "train.tsv")[0])
        vocabulary = {"domain": domain, "blend": domain.blend(general, 0.05, 100_000)}.get(name, general)
        Encoding.build(vocabulary, gamma=0.0 if name == "components" else 0.3).save(path)
    return Encoding.load(path)


def _rows(path: Path) -> tuple[list[str], np.ndarray]:
    lines = path.read_text(encoding="utf-8").split("\n")[1:-1]
    pairs = [line.rsplit("\t", 1) for line in lines]
    return [text for text, _ in pairs], np.array([int(label) for _, label in pairs])


if __name__ == "__main__":
    main()
