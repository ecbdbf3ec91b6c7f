"""`python -m benchmarks`: runs benchmarks, prints their tables, and keeps their results."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rich.console import Console

from benchmarks import accuracy, attack, build, certify, correct, encode, result, startup, statistics
from benchmarks.machine import circumstances

BENCHMARKS = {
    "build": build,
    "encode": encode,
    "startup": startup,
    "certify": certify,
    "attack": attack,
    "correct": correct,
    "statistics": statistics,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}: all")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds: prints, and keeps nothing")
    parser.add_argument("--glue-dir", type=Path, metavar="DIR", help="a folder with GLUE's tasks (SST-2/train.tsv, …)")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in BENCHMARKS:
            parser.error(f"{name!r} is no benchmark; choose from {', '.join(BENCHMARKS)}")
    # The peers on one thread, as roben beside them.
    os.environ.update(TOKENIZERS_PARALLELISM="false", RAYON_NUM_THREADS="1")
    console = Console(width=None if sys.stdout.isatty() else 180)
    for name in arguments.names or BENCHMARKS:
        measured_on = circumstances()
        figures = BENCHMARKS[name].measure(quick=arguments.quick, glue=arguments.glue_dir)
        if figures is None:
            continue
        measured = {"benchmark": name, **measured_on, **figures}
        for table in BENCHMARKS[name].tables(measured):
            console.print(table)
        if not arguments.quick:
            result.save(name, measured)
            print(f"kept in benchmarks/results/{name}.json", file=sys.stderr)
    if not arguments.quick:
        write_readme()


def write_readme() -> None:
    """Puts the tables of all results that are kept into the README."""
    kept = {name: result.load(name) for name in BENCHMARKS}
    sections = {
        name: result.markdown(BENCHMARKS[name].tables(figures), result.circumstances_of(figures))
        for name, figures in kept.items()
        if figures
    }
    cells = accuracy.load(accuracy.RESULTS)
    if cells:
        sections["accuracy"] = result.markdown(accuracy.tables(cells), accuracy.INTRODUCTION)
    result.into_readme(sections)


if __name__ == "__main__":
    main()
