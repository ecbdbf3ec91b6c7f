"""Seconds, several times over."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def seconds(function: Callable[[], Any]) -> float:
    """How long one call takes. What it returns is freed after the clock has stopped."""
    start = time.perf_counter()
    result = function()
    stop = time.perf_counter()
    del result
    return stop - start


def summary(runs: Sequence[float]) -> dict[str, Any]:
    """The best is what the code can do, the median what else went on; both are kept."""
    return {"best": min(runs), "median": median(runs), "runs": list(runs)}


def fresh_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs this Python with arguments of its own, in the repository."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the process measured ended with {done.returncode}:\n{done.stderr}")
    return done
