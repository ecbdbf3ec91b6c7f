"""Measures many entries: side by side if wanted, none twice, going on where a run was stopped."""

from __future__ import annotations

import multiprocessing
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from roben.experiment.entry import Entry, ExperimentError, Recipe
from roben.experiment.measure import measure
from roben.experiment.result import load_results, remove_scratch, result_path, write_result
from roben.experiment.workshop import Workshop, difference
from roben.extras import require

__all__ = ["Watch", "run"]

# Told of an entry and what becomes of it: "there" (it has its result already), a stage of its measurement, and at last
# "done", or "failed: …".
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
    wanted = list(dict.fromkeys(entries))
    if results.exists() and not results.is_dir():
        raise ExperimentError(f"results cannot be kept in {results}, which is a file; name a folder")
    _check(wanted, workshop)
    missing = _missing(wanted, workshop, results)
    results.mkdir(parents=True, exist_ok=True)
    remove_scratch(results)
    for entry in wanted:
        if entry not in missing:
            watch(entry, "there")
    groups = _groups(list(missing), workshop)
    if parallel == 1 or len(groups) < 2:
        failures = [failure for group in groups for failure in _measure_group(group, workshop, results, watch)]
    else:
        failures = _measure_side_by_side(groups, workshop, results, min(parallel, len(groups)), watch)
    if failures:
        raise ExperimentError(f"{len(failures)} of {len(missing)} entries failed. " + "; ".join(failures[:5]))
    return list(missing)


# -- before anything long -----------------------------------------------------------------------------------


def _missing(entries: Sequence[Entry], workshop: Workshop, results: Path) -> dict[Entry, None]:
    """Entries without a result. One that depends on other data or another recipe is not taken for theirs."""
    found = load_results(results)
    for entry in entries:
        if entry in found:
            other = difference(found[entry].get("identity", {}), workshop.identity(entry))
            if other is not None:
                raise ExperimentError(
                    f"{result_path(results, entry)} was measured with another {other}: move it away to measure again, "
                    "or name another folder (--results)"
                )
    return {entry: None for entry in entries if entry not in found}


def _check(entries: Sequence[Entry], workshop: Workshop) -> None:
    """Reads all data, and looks for what will be needed."""
    for entry in {(entry.task, entry.rows): entry for entry in entries}.values():
        train, evaluation = workshop.train(entry), workshop.evaluation(entry)
        for rows in (train, evaluation):
            if rows.labels is None or not len(rows):
                raise ExperimentError(f"{rows.name} has no labelled rows")
        if odd := set(evaluation.classes) - set(train.classes):
            listed = ", ".join(map(repr, sorted(odd, key=str)[:5]))
            raise ExperimentError(f"{evaluation.name} has labels that {train.name} has not: {listed}")
    for entry in entries:
        if entry.vocabulary == "coca" and (workshop.words is None or not workshop.words.is_file()):
            raise ExperimentError(
                f"{entry.name} takes its words from a list by rank, and {workshop.words or 'none'} is no file (--words)"
            )
        if entry.model != "none" and entry.model not in workshop.recipes:
            raise ExperimentError(f"{entry.name}: there is no model {entry.model!r}")
        if entry.system == "symspell":
            require("symspellpy", extra="correctors")
    if any(entry.system == "typo-corrector" for entry in entries):
        _check_device(workshop.device)
    used = {entry.model: workshop.recipes[entry.model] for entry in entries if entry.model != "none"}
    for name, recipe in used.items():
        if recipe.transformer is not None:
            _check_transformer(name, recipe)
            _check_device(workshop.device)


def _check_transformer(name: str, recipe: Recipe) -> None:
    require("transformers", extra="transformers")
    place = Path(str(recipe.source))
    if (recipe.place is not None or place.is_absolute() or place.exists()) and not (place / "config.json").is_file():
        raise ExperimentError(f"{place} has no config.json, and is to be the model {name} (--model)")


def _check_device(device: str | None) -> None:
    require("torch", extra="transformers")
    import torch

    try:
        kind = torch.device(device or "cpu").type
    except RuntimeError:
        raise ExperimentError(f"device is {device!r}; expected cuda, cpu or another that torch knows") from None
    if kind == "cuda" and not torch.cuda.is_available():
        raise ExperimentError(f"device is {device!r}, which this machine does not have")


def _groups(entries: Sequence[Entry], workshop: Workshop) -> list[list[Entry]]:
    """Entries that share a trained model stand together: one process trains it. The longest first."""
    groups: dict[Any, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.training if entry.model != "none" else entry, []).append(entry)

    def cost(group: list[Entry]) -> float:
        entry = group[0]
        recipe = workshop.recipes.get(entry.model)
        is_large = recipe is not None and recipe.transformer is not None
        return (1000 if is_large else 1) * len(workshop.train(entry)) * (5 if entry.system == "augmentation" else 1)

    return sorted(groups.values(), key=cost, reverse=True)


def _measure_group(group: Sequence[Entry], workshop: Workshop, results: Path, watch: Watch) -> list[str]:
    """Measures entries one after the other. What failed is returned, and does not stop the others."""
    failures = []
    for entry in group:
        try:
            write_result(results, entry, measure(entry, workshop, partial(watch, entry)))
        except Exception as error:
            failure = f"failed: {type(error).__name__}: {error}"
            failures.append(f"{entry.name} {failure}"[:1000])
            watch(entry, failure[:1000])
        else:
            watch(entry, "done")
    return failures


# -- side by side -------------------------------------------------------------------------------------------

_shared: dict[str, Any] = {}


def _measure_side_by_side(
    groups: Sequence[Sequence[Entry]], workshop: Workshop, results: Path, parallel: int, watch: Watch
) -> list[str]:
    context = multiprocessing.get_context("spawn")  # CUDA does not outlive a fork
    news, is_over = context.Queue(), threading.Event()
    listener = threading.Thread(target=_listen, args=(news, watch, is_over), daemon=True)
    listener.start()
    threads = max(1, (os.cpu_count() or 1) // parallel)
    failures: list[str] = []
    with _one_card_for_all(workshop.device), _environment(OMP_NUM_THREADS=str(threads), TOKENIZERS_PARALLELISM="false"):
        others = {*multiprocessing.active_children()}
        pool = ProcessPoolExecutor(parallel, context, _prepare, (workshop, results, news, threads))
        try:
            for future in as_completed([pool.submit(_measure_in_process, group) for group in groups]):
                failures += future.result()
        except BrokenProcessPool:
            raise ExperimentError(
                "a process was killed, perhaps for want of memory: run again, with fewer side by side (--parallel). "
                "What is done is kept"
            ) from None
        except BaseException:  # whoever stops the run does not wait for what has begun
            for process in {*multiprocessing.active_children()} - others:
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            is_over.set()
            listener.join(timeout=5)
            news.cancel_join_thread()  # a process that was killed may hold the queue's lock for ever
    return failures


def _prepare(workshop: Workshop, results: Path, news: Any, threads: int) -> None:
    _shared.update(workshop=workshop, results=results, news=news)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    if any(recipe.transformer for recipe in workshop.recipes.values()):
        try:
            import torch
        except ImportError:  # entries that need it were refused
            return
        torch.set_num_threads(threads)


def _end_with_the_parent() -> None:
    """A process whose parent was killed would wait for work for ever, with its memory and its share of a GPU."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _measure_in_process(group: Sequence[Entry]) -> list[str]:
    news = _shared["news"]
    return _measure_group(group, _shared["workshop"], _shared["results"], lambda entry, stage: news.put((entry, stage)))


def _listen(news: Any, watch: Watch, is_over: threading.Event) -> None:
    while True:
        try:
            watch(*news.get(timeout=0.2))
        except queue.Empty:
            if is_over.is_set():
                return


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
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with _environment(CUDA_MPS_PIPE_DIRECTORY=folder, CUDA_MPS_LOG_DIRECTORY=folder):
            is_started = subprocess.run([control, "-d"], check=False, capture_output=True).returncode == 0
            is_usable = is_started and _is_usable()
            try:
                if is_usable:
                    yield
            finally:
                if is_started:
                    subprocess.run([control], input=b"quit\n", check=False, capture_output=True)
        if not is_usable:
            yield  # without it they take turns: slower, and right


def _is_usable() -> bool:
    """Does CUDA work under MPS here? Asked in a process of its own, as this one must not open the card before."""
    command = [sys.executable, "-c", "import torch; torch.ones(8, device='cuda').sum().item()"]
    try:
        return subprocess.run(command, capture_output=True, timeout=120, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
