"""From a vocabulary to a ready encoding: seconds by stage, and the peak memory of the process."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

import roben
from benchmarks.machine import peak_memory
from benchmarks.result import table, verdict
from benchmarks.stopwatch import fresh_process, summary

STAGES = ("typo graph", "clusters", "encoding")


@dataclass(frozen=True)
class Case:
    """One build. `n` is None for every lower-case word of a to z that wordfreq has."""

    n: int | None
    surface: str = "EditOne"
    gamma: float = 0.3
    target_s: float | None = None
    target_mb: float | None = None


CASES = (
    Case(10_000, target_s=0.15),
    Case(30_000),
    Case(100_000, target_s=2, target_mb=400),
    Case(None, target_s=10, target_mb=1500),
    Case(100_000, gamma=0.0),
    Case(100_000, gamma=0.5),
    Case(100_000, surface="InternalPermutation"),
)


def measure(*, quick: bool, glue: Path | None) -> dict[str, Any]:
    """Every case with two threads and with one, each in a process of its own so that peaks do not mix."""
    cases = [case for case in CASES if case.n and case.n <= 30_000] if quick else CASES
    figures = []
    for case in cases:
        for threads in (2, 1):
            print(f"building: {case}, threads={threads}", file=sys.stderr)
            arguments = {"n": case.n, "surface": case.surface, "gamma": case.gamma, "threads": threads}
            done = fresh_process("-m", "benchmarks.build", json.dumps({**arguments, "runs": 1 if quick else 3}))
            figures.append({**asdict(case), "threads": threads, **json.loads(done.stdout)})
    return {"cases": figures}


def tables(result: dict[str, Any]) -> list[Table]:
    """One row a case and number of threads."""
    rows = []
    for case in result["cases"]:
        target, met = _target(case)
        rows.append(
            (
                f"{case['words']:,}{'' if case['n'] else ' (all of a–z)'}, {case['surface']}, γ = {case['gamma']:g}",
                case["threads"],
                *(f"{case['stages'][stage]['best']:.3f}" for stage in STAGES),
                f"{case['total']['best']:.3f}",
                f"{case['total']['median']:.3f}",
                f"{case['peak_mb']:.0f}",
                f"{case['peak_before_mb']:.0f}",
                target,
                met,
            )
        )
    columns = ["words", "threads", *(f"{stage}, s" for stage in STAGES), "total, s", "median, s", "peak, MB"]
    return [
        table(
            "From a Vocabulary to a ready Encoding",
            [*columns, "before, MB", "target", ""],
            rows,
            "Best of three after a warm-up. The peak is that of the whole process; before the build it already holds "
            "Python, numpy, and wordfreq's list of all words.",
        )
    ]


def _target(case: dict[str, Any]) -> tuple[str, str]:
    """Targets are for two threads."""
    if case["threads"] != 2 or case["target_s"] is None:
        return "", ""
    targets = [f"{case['target_s']:g} s"]
    verdicts = [verdict(case["total"]["best"], case["target_s"])]
    if case["target_mb"] is not None:
        targets.append(f"{case['target_mb']:g} MB")
        verdicts.append(verdict(case["peak_mb"], case["target_mb"]))
    return ", ".join(targets), " / ".join(dict.fromkeys(verdicts))


def run_case(n: int | None, surface: str, gamma: float, threads: int, runs: int) -> dict[str, Any]:
    """Builds once to warm up, and then `runs` times."""
    vocabulary = roben.Vocabulary.english(n, keep=None if n else re.compile("[a-z]+").fullmatch)
    attack = getattr(roben, surface)()
    before = peak_memory()
    facts: dict[str, Any] = {}
    laps = []
    for _ in range(1 + runs):
        start = time.perf_counter()
        graph = roben.typo_graph(vocabulary, attack, threads=threads)
        after_graph = time.perf_counter()
        clusters = roben.agglomerate(graph, gamma, threads=threads)
        after_clusters = time.perf_counter()
        encoding = roben.Encoding(clusters)
        stop = time.perf_counter()
        laps.append((after_graph - start, after_clusters - after_graph, stop - after_clusters, stop - start))
        # What one build takes: later ones find memory that the first has left in pieces.
        facts = facts or {"n_edges": graph.n_edges, "n_clusters": clusters.n_clusters, "peak_mb": peak_memory()}
        del graph, clusters, encoding
    *stages, total = ([lap[i] for lap in laps[1:]] for i in range(4))
    return {
        "words": len(vocabulary),
        **facts,
        "peak_before_mb": before,
        "stages": {name: summary(stage) for name, stage in zip(STAGES, stages, strict=True)},
        "total": summary(total),
        "warm_up": laps[0][-1],
    }


if __name__ == "__main__":
    print(json.dumps(run_case(**json.loads(sys.argv[1]))))
