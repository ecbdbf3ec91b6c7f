"""The commands about models: train, predict, certify, quickstart."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from roben.cli.terminal import (
    Command,
    add_encoding_option,
    add_json_option,
    chosen_encoding,
    console,
    counting_bar,
    plain,
    print_json,
    print_summary,
    progress,
    read_lines,
)


def train(options: argparse.Namespace) -> None:
    """Trains a classifier on encoded text and saves it as a folder."""
    from roben.classifier import RobustClassifier
    from roben.classifier.robust import check_place

    check_place(options.model)
    data = labelled(options.data, options)
    held_out = None if options.dev is None else labelled(options.dev, options)
    encoding = "none" if options.undefended else chosen_encoding(options)
    model = RobustClassifier(encoding, _classifier(options))
    start = time.perf_counter()
    with _spinner(f"training on {len(data):,} examples"):
        model.fit(data.texts, data.labels or (), draws=options.draws, k=options.k, seed=options.seed)
    seconds = time.perf_counter() - start
    model.save(options.model)
    summary: dict[str, Any] = {
        "model": str(options.model),
        "classifier": repr(model.classifier_),
        "encoding": "none" if model.encoding_ is None else repr(model.encoding_),
        "examples": len(data),
        "classes": {str(label): n for label, n in sorted(Counter(data.labels or ()).items(), key=str)},
        "seconds": round(seconds, 2),
    }
    if held_out is not None:
        labels = labels_as_in(model, held_out)
        unseen = set(labels) - set(model.classes_.tolist())
        if unseen:
            raise ValueError(f"{held_out.name} has the label {min(unseen, key=str)!r}, which was not seen in training")
        summary["accuracy on dev"] = float((model.predict(held_out.texts) == labels).mean())
    print_summary(summary, options)


def predict(options: argparse.Namespace) -> None:
    """Predicts the class of every text: a line in, a line out."""
    from roben.classifier import open_model

    model = open_model(options.model, trusted=options.trust)
    for texts in _batches(options):
        if not options.json:
            sys.stdout.writelines(f"{label}\n" for label in model.predict(texts).tolist())
            continue
        rows = [
            {"text": text, "label": label} for text, label in zip(texts, model.predict(texts).tolist(), strict=True)
        ]
        if hasattr(model, "predict_proba"):
            classes = [str(label) for label in model.classes_.tolist()]
            for row, shares in zip(rows, model.predict_proba(texts).tolist(), strict=True):
                row["probabilities"] = dict(zip(classes, shares, strict=True))
        for row in rows:
            print(json.dumps(row))


def certify(options: argparse.Namespace) -> None:
    """Proves, example by example, that no typo changes the answer, or shows one that does."""
    from roben.certificate import certify as certificates_of
    from roben.certificate import robust_accuracy
    from roben.classifier import RobustClassifier

    model = RobustClassifier.load(options.model, trusted=options.trust)
    data = labelled(options.data, options)
    if options.sample is not None:
        data = data.sample(options.sample, seed=options.seed)
    found = []
    start = time.perf_counter()
    with counting_bar("certifying", len(data)) as advance:
        for certificate in certificates_of(
            model, data.texts, labels_as_in(model, data), budget=options.budget, limit=options.limit, progress=advance
        ):
            found.append(certificate)
            if options.json:
                print(json.dumps(_as_json(certificate)), flush=True)
    if options.json:
        return
    accuracy = robust_accuracy(found)
    flips = Counter(c.flips for c in found if c.flips)
    robust = f"{100 * accuracy.lower:.1f}%"
    if accuracy.n_undecided:
        robust = f"{100 * accuracy.lower:.1f} to {100 * accuracy.upper:.1f}% ({accuracy.n_undecided:,} undecided)"
    encoding = model.encoding_
    assert encoding is not None  # else there would be no certificates
    print_summary(
        {
            "data": data.name,
            "examples": len(data),
            "surface": repr(encoding.surface),
            "tokens": encoding.tokens,
            "budget": "any number of tokens" if options.budget is None else f"{options.budget} tokens",
            "standard accuracy": f"{100 * accuracy.standard:.1f}%",
            "robust accuracy": robust,
            "one encoding": f"{100 * sum(c.n_encodings == 1 for c in found) / max(1, len(found)):.1f}% of examples",
            "predictions": f"{accuracy.n_predictions / max(1, accuracy.n):.2f} an example",
            "seconds": round(time.perf_counter() - start, 2),
            **({"broken by changed tokens": {str(n): flips[n] for n in sorted(flips)}} if flips else {}),
        },
        options,
    )
    show_broken([(c.index, c.label, c.flips, c.witness) for c in found if c.flips][: options.show])


def quickstart(options: argparse.Namespace) -> None:
    """Trains, attacks and certifies a review classifier in under a minute, and shows what that is worth."""
    from roben.quickstart import run

    with progress() as report:
        result = run(options.path, seed=options.seed, progress=report)
    if options.json:
        print_json(result.as_json())
        return
    for part in result.report(_command()):
        console().print(part, soft_wrap=True, markup=False, highlight=False)


def _command() -> str:
    """How roben was called, for commands that are shown to be typed."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return "python -m roben"
    # In an environment that is not active, `roben` alone would not be found.
    return str(called) if called.name == "roben" and shutil.which("roben") is None else "roben"


# -- reading ------------------------------------------------------------------------------------------------


def labelled(source: str, options: argparse.Namespace) -> Any:
    from roben import data

    found = data.load(source, text=_columns(options.text), label=options.label)
    if found.labels is None:
        raise data.DataError(f"{source} has no labels; name their column with --label")
    return found


def labels_as_in(model: Any, data: Any) -> list[Any]:
    """The labels as the model calls its classes.

    A file with only some of the classes may read as numbers where the classes are str, and data sets number the
    classes that a transformer names.
    """
    labels = list(data.labels or ())
    known = np.asarray(getattr(model, "classes_", ()))
    if known.dtype.kind != "U":
        return labels
    classes = known.tolist()
    named = [str(label) for label in labels]
    if set(named).isdisjoint(classes) and all(isinstance(n, int) and 0 <= n < len(classes) for n in labels):
        print(f"the labels of {data.name} are taken as numbers of the classes {', '.join(classes)}", file=sys.stderr)
        return [classes[n] for n in labels]
    return named


def _columns(names: list[str] | None) -> str | tuple[str, str] | None:
    if names is None or len(names) == 1:
        return None if names is None else names[0]
    if len(names) == 2:
        return names[0], names[1]
    raise ValueError(f"--text names {len(names)} columns; texts have one, and pairs of texts two")


def _batches(options: argparse.Namespace) -> Iterator[list[Any]]:
    """Texts to predict: plain lines, unless they come from a file with columns."""
    from roben import data

    at_a_time = 1024
    for name in options.files or ["-"]:
        if options.text is not None or data.FORMATS.get(Path(name).suffix.lower(), "txt") != "txt":
            texts: Any = iter(data.load(name, text=_columns(options.text)).texts)
        else:
            texts = read_lines(name)
        batch: list[Any] = []
        for text in texts:
            batch.append(text)
            if len(batch) == at_a_time:
                yield batch
                batch = []
        if batch:
            yield batch


def _classifier(options: argparse.Namespace) -> Any:
    if options.transformer is None:
        return None
    from roben.classifier.transformer import TransformerClassifier

    names = ("learning_rate", "batch_size", "epochs", "max_length", "device", "precision")
    chosen = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return TransformerClassifier(options.transformer, seed=options.seed, **chosen)


# -- printing -----------------------------------------------------------------------------------------------


def _as_json(certificate: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(certificate).items() if name != "budget" or value is not None}


def show_broken(rows: list[tuple[int, Any, int, Any]]) -> None:
    """Examples that typos break: number, label, changed tokens, and what was typed."""
    from rich.table import Table

    if not rows:
        return
    table = Table(box=None, pad_edge=False, header_style="bold", title="broken by typos", title_justify="left")
    for column in ("example", "label", "tokens", "typed"):
        table.add_column(column, overflow="fold")
    for index, label, n_changed, typed in rows:
        shown = typed if isinstance(typed, str) else " ‖ ".join(typed)
        table.add_row(str(index), plain(str(label)), str(n_changed), plain(shown))
    console().print()
    console().print(table)


@contextmanager
def _spinner(title: str) -> Iterator[None]:
    with progress() as report:
        report(title, 0.0)
        yield


# -- options ------------------------------------------------------------------------------------------------


def add_commands(command: Callable[[Command, str], argparse.ArgumentParser]) -> None:
    """Tells the parser of them."""
    trainer = command(
        train,
        "  roben train reviews-model reviews\n"
        "  roben train sentiment train.csv --text review --label stars --dev dev.csv\n"
        "  roben train bert glue:GLUE/SST-2:train --transformer bert-base-uncased\n"
        "  roben train fine train.tsv --encoding fine-encoding --draws worst",
    )
    trainer.add_argument("model", type=Path, metavar="MODEL", help="the folder to write; a model there is replaced")
    trainer.add_argument("data", metavar="DATA", help=f"labelled text: {SOURCES}")
    trainer.add_argument("--dev", metavar="DATA", help="more labelled text, to measure accuracy on")
    add_column_options(trainer)
    add_encoding_option(trainer)
    trainer.add_argument("--undefended", action="store_true", help="train without an encoding, for comparison")
    trainer.add_argument(
        "--draws",
        choices=("own", "random", "worst"),
        default="own",
        help="train on each text's own encoding, or also on others that typos reach: random ones, or the worst of k",
    )
    trainer.add_argument("--k", type=int, default=4, help="with --draws: how many are drawn (default: 4)")
    trainer.add_argument("--seed", type=int, default=0, help="(default: 0)")
    group = trainer.add_argument_group("transformers", "by default a linear model over word 1- and 2-grams is trained")
    group.add_argument("--transformer", metavar="NAME", help="fine-tune this one: a local folder, or a name on the hub")
    group.add_argument("--learning-rate", type=float, help="(default: 2e-5)")
    group.add_argument("--batch-size", type=int, help="(default: 8)")
    group.add_argument("--epochs", type=float, help="(default: 3)")
    group.add_argument("--max-length", type=int, help="in the transformer's own tokens (default: 128)")
    group.add_argument("--device", help="cuda, cpu, … (default: a GPU if there is one)")
    group.add_argument("--precision", choices=("fp32", "bf16"), help="(default: bf16 on a GPU that has it)")
    add_json_option(trainer)

    predictor = command(
        predict,
        "  echo 'a gerat film' | roben predict reviews-model\n"
        "  roben predict reviews-model texts.csv --text review --json",
    )
    predictor.add_argument("model", metavar="MODEL", help="the folder of a model")
    predictor.add_argument(
        "files", nargs="*", metavar="FILE", help="texts: lines, or CSV, TSV, JSONL, Parquet; else stdin"
    )
    predictor.add_argument("--text", nargs="+", metavar="COLUMN", help="the column of the texts, or two of pairs")
    add_trust_option(predictor)
    add_json_option(predictor)

    certifier = command(
        certify,
        "  roben certify reviews-model reviews:test\n"
        "  roben certify sentiment dev.csv --text review --label stars --budget 3\n"
        "  roben certify sentiment dev.csv --json > certificates.jsonl",
    )
    certifier.add_argument("model", type=Path, metavar="MODEL", help="the folder of a model")
    certifier.add_argument("data", metavar="DATA", help=f"labelled text: {SOURCES}")
    add_column_options(certifier)
    certifier.add_argument("--budget", type=int, metavar="B", help="the attacker may change B tokens (default: all)")
    certifier.add_argument(
        "--limit",
        type=int,
        default=10_000,
        metavar="N",
        help="a text with more than N encodings is undecided (default: 10000); the linear model needs no limit",
    )
    certifier.add_argument("--sample", type=int, metavar="N", help="take N examples at random")
    certifier.add_argument("--seed", type=int, default=0, help="of the sample (default: 0)")
    certifier.add_argument("--show", type=int, default=5, metavar="N", help="show N broken examples (default: 5)")
    add_trust_option(certifier)
    add_json_option(certifier)

    starter = command(quickstart, "  roben quickstart\n  roben quickstart my-folder --json")
    starter.add_argument(
        "path", type=Path, nargs="?", default=Path("roben-quickstart"), metavar="PATH", help="where the model goes"
    )
    starter.add_argument("--seed", type=int, default=0, help="of the attack (default: 0)")
    add_json_option(starter)


SOURCES = "a CSV, TSV, JSONL or Parquet file, reviews[:SPLIT], glue:FOLDER[:SPLIT], or hub:NAME[:SPLIT]"


def add_column_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text", nargs="+", metavar="COLUMN", help="the column of the texts, or two of pairs")
    parser.add_argument("--label", metavar="COLUMN", help="the column of the labels")


def add_trust_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="TYPE",
        help="let a saved scikit-learn model hold this type; loading names those it does not know to be harmless",
    )
