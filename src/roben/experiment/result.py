"""A result: one JSON file for an entry, written whole or not at all."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from roben.experiment.entry import Entry, ExperimentError

__all__ = ["FORMAT", "load_results", "remove_scratch", "result_path", "versions", "write_result"]

FORMAT = 1
PACKAGES = ("numpy", "scikit-learn", "torch", "transformers", "wordfreq", "symspellpy")


def result_path(folder: Path, entry: Entry) -> Path:
    """Where the result of an entry lies."""
    return folder / f"{entry.name}.json"


def write_result(folder: Path, entry: Entry, result: dict[str, Any]) -> Path:
    """Keeps a result."""
    folder.mkdir(parents=True, exist_ok=True)
    path = result_path(folder, entry)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")  # renamed when it is whole: a kill leaves no half of it
    scratch.write_text(json.dumps({"format": FORMAT, "entry": entry.as_json(), **result}, indent=1) + "\n")
    scratch.replace(path)
    return path


def remove_scratch(folder: Path) -> None:
    """Removes what a kill left of results that were being written."""
    for path in folder.glob(".*.json.*"):
        writer = path.suffix.removeprefix(".")
        if not (writer.isdigit() and _is_running(int(writer))):
            path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True


def load_results(folder: Path) -> dict[Entry, dict[str, Any]]:
    """All results of a folder."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        result = read_result(path)
        found[Entry.from_json(result["entry"])] = result
    return found


def read_result(path: Path) -> dict[str, Any]:
    """One result, if it is one that this roben understands."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ExperimentError(
            f"{path} is not readable as JSON: {str(error)[:100]}; remove it to measure again"
        ) from None
    if not isinstance(result, dict) or "format" not in result or "entry" not in result:
        raise ExperimentError(f"{path} is no result; keep results in a folder of their own")
    if result["format"] != FORMAT:
        raise ExperimentError(
            f"{path} has format {result['format']}, and this roben writes {FORMAT}: "
            "move the old results away, or name another folder (--results)"
        )
    try:
        entry = Entry.from_json(result["entry"])
    except (TypeError, KeyError, ExperimentError) as error:
        raise ExperimentError(f"{path} holds no entry that this roben knows: {error}") from None
    if path.name != f"{entry.name}.json":
        raise ExperimentError(f"{path} holds the result of {entry.name}; its name was changed, or its content")
    return result


def versions() -> dict[str, str]:
    """Of what a result depends on."""
    from roben import __version__

    found = {"roben": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
