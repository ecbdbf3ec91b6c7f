"""Measures many entries: side by side if wanted, none twice, going on where a run was stopped."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from roben.experiment.entry import TASKS, Entry, ExperimentError
from roben.experiment.measure import measure
from roben.experiment.result import read_result, result_path, write_result
from roben.experiment.workshop import Workshop

__all__ = ["Watch", "run"]

# Told of an entry and what becomes of it: a stage of its measurement, "done", or "failed: …".
Watch = Callable[[Entry, str], None]


def run(
    entries: Sequence[Entry],
    workshop: Workshop,
    results: Path,
    *,
    parallel: int = 1,
    watch: Watch = lambda entry, stage: None,
) -> list[Entry]:
    """Measures what has no result yet, and returns the entries that were measured.

    Everything that can be wrong with the data, the results or the entries is found before anything long begins. An
    entry that fails does not stop the others; all failures are told at the end. With `parallel` above 1, that many
    processes share the machine, and a GPU.
    """
    if parallel < 1:
        raise ExperimentError(f"parallel is {parallel}; expected a number of processes, 1 or more")
    missing = [entry for entry in dict.fromkeys(entries) if not _is_done(results, entry)]
    _check(missing, workshop)
    groups = _groups(missing)
    failures: list[str] = []

    def told(entry: Entry, stage: str) -> None:
        if stage.startswith("failed"):
            failures.append(f"{entry.name} {stage}")
        watch(entry, stage)

    if parallel == 1 or len(groups) < 2:
        for group in groups:
            _measure_group(group, workshop, results, told)
    else:
        _measure_side_by_side(groups, workshop, results, min(parallel, len(groups)), told)
    if failures:
        raise ExperimentError(f"{len(failures)} of {len(missing)} entries failed. " + "; ".join(failures[:5]))
    return missing


def _is_done(results: Path, entry: Entry) -> bool:
    path = result_path(results, entry)
    if not path.exists():
        return False
    read_result(path)
    return True


def _check(entries: Sequence[Entry], workshop: Workshop) -> None:
    """Reads all data, and looks for what will be needed."""
    for task in dict.fromkeys(entry.task for entry in entries):
        entry = next(entry for entry in entries if entry.task == task)
        for rows in (workshop.train(entry), workshop.evaluation(entry)):
            if rows.labels is None or not len(rows):
                raise ExperimentError(f"{rows.name} has no labelled rows")
    for entry in entries:
        if entry.vocabulary == "coca" and (workshop.words is None or not workshop.words.is_file()):
            raise ExperimentError(
                f"{entry.name} takes its words from a list by rank, and {workshop.words or 'none'} is no file (--words)"
            )
        recipe = workshop.recipes.get(entry.model)
        if recipe is None and entry.model != "none":
            raise ExperimentError(f"{entry.name}: there is no model {entry.model!r}")
        if recipe is not None and recipe.transformer is not None:
            place = Path(recipe.transformer)
            if (place.is_absolute() or place.exists()) and not (place / "config.json").is_file():
                raise ExperimentError(
                    f"{entry.name}: the model {entry.model} is to be {place}, which has no config.json"
                )


def _groups(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Entries that share a trained model stand together: one process trains it. The longest first."""
    groups: dict[Any, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.training if entry.model != "none" else entry, []).append(entry)

    def cost(group: list[Entry]) -> float:
        entry = group[0]
        rows = entry.limit_train or TASKS[entry.task][0]
        is_large = entry.model not in ("none", "linear")
        return (1000 if is_large else 1) * rows * (5 if entry.system == "augmentation" else 1)

    return sorted(groups.values(), key=cost, reverse=True)


def _measure_group(group: Sequence[Entry], workshop: Workshop, results: Path, watch: Watch) -> None:
    for entry in group:
        try:
            result = measure(entry, workshop, partial(watch, entry))
        except Exception as error:
            watch(entry, f"failed: {type(error).__name__}: {error}")
            continue
        write_result(results, entry, result)
        watch(entry, "done")


# -- side by side -------------------------------------------------------------------------------------------

_shared: dict[str, Any] = {}


def _measure_side_by_side(
    groups: Sequence[Sequence[Entry]], workshop: Workshop, results: Path, parallel: int, watch: Watch
) -> None:
    context = multiprocessing.get_context("spawn")  # CUDA does not outlive a fork
    news = context.Queue()
    listener = threading.Thread(target=_listen, args=(news, watch), daemon=True)
    listener.start()
    threads = max(1, (os.cpu_count() or 1) // parallel)
    with _one_card_for_all(workshop.device), _environment(OMP_NUM_THREADS=str(threads), TOKENIZERS_PARALLELISM="false"):
        pool = ProcessPoolExecutor(parallel, context, _prepare, (workshop, results, news, threads))
        try:
            futures: list[Future[None]] = [pool.submit(_measure_in_process, group) for group in groups]
            for future in as_completed(futures):
                future.result()
        except BrokenProcessPool:
            raise ExperimentError(
                "a process was killed, perhaps for want of memory: run again, with fewer side by side (--parallel). "
                "What is done is kept"
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            news.put(None)
            listener.join(timeout=5)


def _prepare(workshop: Workshop, results: Path, news: Any, threads: int) -> None:
    _shared.update(workshop=workshop, results=results, news=news)
    if any(recipe.transformer for recipe in workshop.recipes.values()):
        import torch

        torch.set_num_threads(threads)


def _measure_in_process(group: Sequence[Entry]) -> None:
    news = _shared["news"]
    _measure_group(group, _shared["workshop"], _shared["results"], lambda entry, stage: news.put((entry, stage)))


def _listen(news: Any, watch: Watch) -> None:
    while (told := news.get()) is not None:
        watch(*told)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Environment variables for the processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update({name: value for name, value in values.items() if before[name] is None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


@contextmanager
def _one_card_for_all(device: str | None) -> Iterator[None]:
    """Several processes share a GPU well under NVIDIA's MPS, which is started if it is there and does not run yet."""
    control = shutil.which("nvidia-cuda-mps-control")
    if not (device or "").startswith("cuda") or control is None or "CUDA_MPS_PIPE_DIRECTORY" in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        with _environment(CUDA_MPS_PIPE_DIRECTORY=folder, CUDA_MPS_LOG_DIRECTORY=folder):
            started = subprocess.run([control, "-d"], check=False, capture_output=True).returncode == 0
            if started and _is_usable():
                try:
                    yield
                finally:
                    subprocess.run([control], input=b"quit\n", check=False, capture_output=True)
                    time.sleep(0.5)
                return
        yield  # without it they take turns: slower, and right


def _is_usable() -> bool:
    """Does CUDA work under MPS here? Asked in a process of its own, as this one must not open the card before."""
    code = "import torch; torch.ones(8, device='cuda').sum().item()"
    try:
        return (
            subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, check=False).returncode == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
