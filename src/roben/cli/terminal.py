"""What the commands share: reading lines, tables, progress bars, and options that several have."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from roben.encoding import Encoding

Command = Callable[[argparse.Namespace], None]


def read_lines(name: str) -> Iterator[str]:
    """The lines of a file or of stdin ("-"). Bytes that are no UTF-8 are let through as they are."""
    descriptor: Any = sys.stdin.fileno() if name == "-" else name
    with open(descriptor, encoding="utf-8", errors="surrogateescape", newline="\n", closefd=name != "-") as file:
        for line in file:
            yield line.removesuffix("\n")


def console(**options: Any) -> Any:
    from rich.console import Console

    return Console(**options)


@contextmanager
def progress() -> Iterator[Callable[..., None]]:
    """A bar for every stage that reports, on stderr, and only where somebody watches."""
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    on_stderr = console(stderr=True)
    shown = "{task.description}", "{task.percentage:>3.0f}%", "{task.fields[note]}"
    description, share_done, note_beside = map(TextColumn, shown)
    columns = description, BarColumn(), share_done, TimeElapsedColumn(), note_beside
    bars_on_stderr = Progress(
        *columns,
        console=on_stderr,
        disable=not on_stderr.is_terminal,
        redirect_stdout=False,  # results go to stdout while the bar is shown
        redirect_stderr=False,
    )
    with bars_on_stderr as bars:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, share: float, note: str = "") -> None:
            for earlier in tasks.values():
                bars.update(earlier, completed=1.0)
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=1.0, note=note)
            bars.update(tasks[stage], completed=share, note=note)

        yield report
        for task in tasks.values():
            bars.update(task, completed=1.0)


@contextmanager
def counting_bar(title: str, total: int) -> Iterator[Callable[..., None]]:
    """A bar for things that are counted; a note may be shown beside it."""
    with progress() as report:

        def advance(done: int, note: str = "") -> None:
            report(title, done / max(1, total), note)

        yield advance


def print_summary(summary: dict[str, Any], options: argparse.Namespace) -> None:
    if options.json:
        print_json(summary)
        return
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in summary.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key}: {number(n)}" for key, n in value.items())
        table.add_row(name, plain(number(value)))
    console().print(table)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=True))


def number(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def some(words: Any, n: int) -> str:
    shown = " ".join(words[:n])
    return shown if len(words) <= n else f"{shown} … ({len(words):,})"


def plain(text: str) -> Any:
    """The text itself in a table: no markup, nothing that a terminal would act on, no word of endless length."""
    from rich.text import Text

    shown = text if len(text) <= 200 else f"{text[:200]}…"
    return Text("".join(c if c.isprintable() else repr(c)[1:-1] for c in shown))


def one_line(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(text.split()).encode("utf-8", "backslashreplace").decode()


def add_encoding_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-e",
        "--encoding",
        type=Path,
        metavar="PATH",
        help="the folder of an encoding (default: 100,000 English words, built once and kept)",
    )


def add_threads_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, metavar="N", help="threads to use (default: one for every core)")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def chosen_encoding(options: argparse.Namespace) -> Encoding:
    """The encoding that --encoding names, or the default one."""
    if options.encoding is not None:
        return Encoding.load(options.encoding)
    with progress() as report:
        return Encoding.english(progress=report)
