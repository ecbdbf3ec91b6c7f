"""What one waits for before the first text is encoded: the import, and an encoding from disk."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from rich.table import Table

import roben
from benchmarks.result import table, verdict
from benchmarks.stopwatch import fresh_process, seconds, summary

N_WORDS = 100_000
TARGETS = {"import roben": 0.150, "load": 0.100}

IMPORT = "import time; start = time.perf_counter(); import roben; print(time.perf_counter() - start)"
LOAD = "import time, sys, roben; start = time.perf_counter(); encoding = roben.Encoding.load(sys.argv[1]); \
print(time.perf_counter() - start)"


def measure(*, quick: bool, glue: Path | None) -> dict[str, Any]:
    """Import and load in fresh processes; saving and the fingerprint in this one."""
    runs = 3 if quick else 10
    encoding = roben.Encoding.build(roben.Vocabulary.english(10_000 if quick else N_WORDS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "encoding"
        encoding.save(path)
        figures = {
            "import roben": summary([float(fresh_process("-c", IMPORT).stdout) for _ in range(runs)]),
            "load": summary([float(fresh_process("-c", LOAD, str(path)).stdout) for _ in range(runs)]),
            "load again, same process": summary([seconds(lambda: roben.Encoding.load(path)) for _ in range(runs)]),
            "save": summary([seconds(lambda: encoding.save(path)) for _ in range(runs)]),
            "fingerprint": summary([_fingerprint(encoding) for _ in range(runs)]),
        }
        megabytes = sum(file.stat().st_size for file in path.iterdir()) / 1e6
    return {
        "words": len(encoding.vocabulary),
        "processes": runs,
        "seconds": figures,
        "artifact_mb": megabytes,
        "import_parts_ms": _import_parts(),
    }


def tables(result: dict[str, Any]) -> list[Table]:
    """Milliseconds of each."""
    rows = []
    for name, times in result["seconds"].items():
        target = TARGETS.get(name)
        met = ("", "") if target is None else (f"{target * 1000:g}", verdict(times["best"], target))
        rows.append((name, f"{times['best'] * 1000:.1f}", f"{times['median'] * 1000:.1f}", *met))
    largest = ", ".join(f"{package} {time:.0f}" for package, time in list(result["import_parts_ms"].items())[:6])
    return [
        table(
            "Before the first text",
            ["", "best, ms", "median, ms", "target", ""],
            rows,
            f"Import and load in {result['processes']} fresh processes each; the encoding of {result['words']:,} words "
            f"takes {result['artifact_mb']:.1f} MB on disk. Parts of the import, ms (watched, so slower): {largest}.",
        )
    ]


def _fingerprint(encoding: roben.Encoding) -> float:
    fresh = dataclasses.replace(encoding)  # has not computed it yet
    return seconds(lambda: fresh.fingerprint)


def _import_parts() -> dict[str, float]:
    """Milliseconds by package, as `python -X importtime` tells; modules of Python itself are one."""
    import sys

    parts: Counter[str] = Counter()
    report = fresh_process("-X", "importtime", "-c", "import roben").stderr
    names = re.findall(r"^import time:\s*(\d+) \|\s*\d+ \|\s*(\S+)$", report, re.MULTILINE)
    for own, module in names[[name for _, name in names].index("site") + 1 :]:  # before it, Python starts
        package = module.partition(".")[0]
        parts["standard library" if package in sys.stdlib_module_names else package] += int(own) / 1000
    return dict(parts.most_common(12))
