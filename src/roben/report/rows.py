"""Which rows models were trained on and measured on, and whether that is a part only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from roben.experiment import EVALUATED, TASKS
from roben.report.measured import Results, Setting

__all__ = ["PARTIAL", "fullest", "is_partial", "marked", "rows_notes"]

PARTIAL = "†"


def is_partial(results: Results, setting: Setting, task: str) -> bool:
    """Was a part of the task's rows left out, in training or in what was measured?"""
    about = _data(results, setting, task)
    is_part = any(_n_left_out(data) or (setting.model != "none" and _n_untrained(data)) for data in about)
    return is_part or (bool(about) and setting.limit_eval is not None)


def marked(results: Results, setting: Setting, task: str) -> str:
    """The name of a task, with a dagger if a part of it was left out."""
    return f"{task} {PARTIAL}" if is_partial(results, setting, task) else task


def rows_notes(results: Results, setting: Setting, tasks: Sequence[str] = tuple(TASKS)) -> Iterator[str]:
    """What models were trained on and measured on, task by task, and whether that is a part only."""
    about = {task: found for task in tasks if (found := _data(results, setting, task))}
    if any(is_partial(results, setting, task) for task in about):
        yield f"{PARTIAL} Partial: some of the task's rows were left out."
    if setting.model != "none":
        trained = {task: {_trained(data) for data in found} for task, found in about.items()}
        yield f"Trained on {_listed(trained)}."
    measured_on = {task: {_evaluated(task, data) for data in found} for task, found in about.items()}
    others = [task for task, found in about.items() if TASKS[task][1] not in {_split(data) for data in found}]
    theirs = f" The paper: {', '.join(f'{task} {TASKS[task][1]}' for task in others)}." if others else ""
    yield f"Measured on {_listed(measured_on)}.{theirs}"


def fullest(results: Results, alike: Sequence[Setting]) -> Setting:
    """Of settings that are measured on the same rows, the one with the most tasks."""
    return max(alike, key=lambda setting: sum(bool(_data(results, setting, task)) for task in TASKS))


def _data(results: Results, setting: Setting, task: str) -> list[dict[str, Any]]:
    return [result["data"] for entry, result in results.items() if entry.task == task and setting.has(entry)]


def _split(data: dict[str, Any]) -> str:
    _, _, rest = str(data["evaluation"]).partition(" ")
    return rest.split(" ")[0]


def _n_untrained(data: dict[str, Any]) -> int:
    return max(0, int(data["n_train_of_task"]) - int(data["n_train"]))


def _n_left_out(data: dict[str, Any]) -> int:
    task = str(data["evaluation"]).partition(" ")[0]
    return max(0, EVALUATED.get((task, _split(data)), 0) - int(data["n_evaluation"]))


def _trained(data: dict[str, Any]) -> str:
    return f"{data['n_train']:,} of {data['n_train_of_task']:,}" if _n_untrained(data) else f"{data['n_train']:,} (all)"


def _evaluated(task: str, data: dict[str, Any]) -> str:
    n, left_out = data["n_evaluation"], _n_left_out(data)
    rows = f"{n:,} of {n + left_out:,}" if left_out else f"{n:,}"
    return f"{str(data['evaluation']).removeprefix(task).strip()} ({rows} rows)".replace(") (", ": ")


def _listed(found: Mapping[str, set[str]]) -> str:
    return ", ".join(f"{task} {' or '.join(sorted(texts))}" for task, texts in found.items() if texts)
