"""What a result was measured on. No host names and no paths: results are published."""

from __future__ import annotations

import os
import platform
import re
import resource
import sys
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("roben", "numpy", "safetensors", "wordfreq", "tokenizers", "symspellpy", "pyspellchecker")


def circumstances() -> dict[str, Any]:
    """The machine, the versions in use, and the day."""
    return {
        "date": date.today().isoformat(),
        "machine": {
            "cpu": _cpu(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
            "os": _system(),
            "load_average": round(os.getloadavg()[0], 2),  # what else runs there
        },
        "versions": {"python": platform.python_version(), **_versions()},
    }


def peak_memory() -> float:
    """The most that this process has held so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6  # macOS counts bytes, Linux KiB


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return found[1] if found else platform.processor() or platform.machine()


def _system() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = platform.platform(aliased=True, terse=True)
    kernel = re.match(r"[\d.]+", platform.release())  # the rest may name who built it
    return f"{name}, {platform.system()} {kernel[0] if kernel else ''}".strip()


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
