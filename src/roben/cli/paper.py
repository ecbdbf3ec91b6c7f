"""The commands about the paper's evaluation: paper run, paper tables, paper figures, paper claims."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from roben.cli.terminal import Command, console

FOLDER = Path("paper")


def paper(options: argparse.Namespace) -> None:
    """Reproduces the paper's evaluation: measures its experiments, and makes tables and figures of the results."""
    options.part(options)


def run(options: argparse.Namespace) -> None:
    """Measures experiments that have no result yet, and keeps each as one JSON file."""
    from roben.experiment import run as measure

    plan, entries = _chosen(options)
    if options.list:
        for entry in entries:
            print(entry.name)
        return
    workshop = _workshop(plan, options)
    with _board(len(entries)) as watch:
        measured = measure(entries, workshop, options.results, parallel=options.parallel, watch=watch)
    n_before = len(entries) - len(measured)
    before = f"; {n_before:,} had theirs before" if n_before else ""
    console(stderr=True).print(f"{len(measured):,} results written to {options.results}{before}", highlight=False)


def tables(options: argparse.Namespace) -> None:
    """Makes the tables of all results, as Markdown and LaTeX, with the paper's numbers beside ours."""
    from roben import report

    results = _results(options.results)
    found, checked = report.tables(results), report.claims(results)
    options.out.mkdir(parents=True, exist_ok=True)
    page = report.markdown(found, checked)
    (options.out / "tables.md").write_text(page, encoding="utf-8")
    (options.out / "tables.tex").write_text(report.latex(found), encoding="utf-8")
    print(page, end="")
    console(stderr=True).print(f"{len(found)} tables written to {options.out}", highlight=False)


def figures(options: argparse.Namespace) -> None:
    """Draws the figures of all results, as SVG and PNG."""
    from roben import report

    for path in report.figures(_results(options.results), options.out):
        print(path)


def claims(options: argparse.Namespace) -> None:
    """Checks what the paper claims against all results."""
    from roben import report
    from roben.experiment import ExperimentError

    found = report.claims(_results(options.results))
    print(report.listed(found))
    n_failed = sum(claim.verdict == "fails" for claim in found)
    if options.strict and n_failed:
        raise ExperimentError(f"{n_failed} of {len(found)} checks failed")


def _results(folder: Path) -> Any:
    from roben.experiment import ExperimentError, load_results

    found = load_results(folder)
    if not found:
        raise ExperimentError(f"{folder} has no results; measure some with `roben paper run`, or name their folder")
    return found


def _chosen(options: argparse.Namespace) -> tuple[Any, list[Any]]:
    from roben.experiment import ExperimentError, Plan

    plan = Plan.load(options.experiments)
    recipes = dict(plan.recipes)
    for assignment in options.model:
        name, _, place = assignment.partition("=")
        if name not in (*recipes, "none") or (place and (name == "none" or recipes[name].transformer is None)):
            raise ExperimentError(f"--model {assignment}: expected NAME or NAME=FOLDER, of none, {', '.join(recipes)}")
        if place:
            recipes[name] = replace(recipes[name], place=Path(place))
    plan = replace(plan, recipes=recipes)
    models = [assignment.partition("=")[0] for assignment in options.model]
    entries = plan.entries(
        options.groups, task=options.task, system=options.system, model=models, seed=options.seed, tokens=options.tokens
    )
    limits = {"limit_train": options.limit_train, "limit_eval": options.limit_eval}
    limits = {name: limit for name, limit in limits.items() if limit is not None}
    entries = [replace(entry, **limits) for entry in entries]
    return plan, list(dict.fromkeys(entries))


def _workshop(plan: Any, options: argparse.Namespace) -> Any:
    from platformdirs import user_cache_path

    from roben.experiment.workshop import Workshop

    work = options.work or user_cache_path("roben") / "paper"
    return Workshop(
        work, plan.recipes, options.glue_dir, options.words, options.device, is_strict=not options.skip_broken_rows
    )


@contextmanager
def _board(total: int) -> Iterator[Callable[[Any, str], None]]:
    """What is done, what runs, and what is left."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    on_stderr = console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=on_stderr, disable=not on_stderr.is_terminal) as bars:
        whole = bars.add_task("experiments", total=total)
        running: dict[Any, TaskID] = {}
        n_done = 0

        def watch(entry: Any, stage: str) -> None:
            nonlocal n_done
            is_over = stage in ("there", "done") or stage.startswith("failed")
            if is_over:
                n_done += 1
                bars.advance(whole)
                if entry in running:
                    bars.remove_task(running.pop(entry))
                if stage != "there" and (not on_stderr.is_terminal or stage != "done"):
                    on_stderr.print(
                        f"{n_done}/{total} {entry.name}: {stage}", highlight=False, markup=False, soft_wrap=True
                    )
            elif entry in running:
                bars.update(running[entry], description=f"  {entry.name}: {stage}")
            else:
                running[entry] = bars.add_task(f"  {entry.name}: {stage}", total=None)

        yield watch


def add_commands(command: Callable[[Command, str], argparse.ArgumentParser]) -> None:
    """Tells the parser of them."""
    parser = command(
        paper,
        "  roben paper run --glue-dir GLUE --model linear\n"
        "  roben paper run defences --task SST-2 --limit-train 2000 --limit-eval 200 --results small\n"
        "  roben paper run bert --glue-dir GLUE --words coca.txt --device cuda --parallel 4\n"
        "  roben paper tables\n"
        "  roben paper figures --results small --out small\n"
        "  roben paper claims --strict",
    )
    parts = parser.add_subparsers(metavar="PART", required=True)
    runner = parts.add_parser(
        "run",
        help=run.__doc__,
        description=run.__doc__,
        epilog="A run that was stopped goes on where it was: what has a result is not measured again.",
    )
    runner.set_defaults(part=run)
    runner.add_argument("groups", nargs="*", metavar="GROUP", help="groups of the plan, such as main (default: all)")
    runner.add_argument("--task", nargs="+", metavar="TASK", help="these tasks of GLUE only")
    runner.add_argument("--system", nargs="+", metavar="SYSTEM", help="these systems only")
    runner.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME[=FOLDER]",
        help="this model of the plan only; with a folder, the transformer that lies there",
    )
    runner.add_argument("--tokens", nargs="+", choices=("words", "spaces"), help="this split only")
    runner.add_argument("--seed", nargs="+", type=int, metavar="N", help="these seeds only")
    runner.add_argument("--limit-train", type=int, metavar="N", help="train on N rows, and say so in the results")
    runner.add_argument("--limit-eval", type=int, metavar="N", help="measure on N rows, and say so")
    runner.add_argument("--list", action="store_true", help="print what would be measured")
    runner.add_argument("--glue-dir", type=Path, metavar="DIR", help="a folder of GLUE's tasks (default: from the hub)")
    runner.add_argument(
        "--skip-broken-rows", action="store_true", help="of GLUE's files, as those of the official QQP, with a warning"
    )
    runner.add_argument("--words", type=Path, metavar="FILE", help="a list of words by rank, for the vocabulary coca")
    runner.add_argument("--device", help="of transformers: cuda, cpu, … (default: a GPU if there is one)")
    runner.add_argument(
        "--parallel", type=int, default=1, metavar="N", help="processes side by side, on one GPU too (default: 1)"
    )
    runner.add_argument(
        "--work",
        type=Path,
        metavar="DIR",
        help="where encodings and trained models are kept (default: a cache)",
    )
    _add_places(runner)
    _add_shown(parts, tables, FOLDER, "  roben paper tables\n  roben paper tables --results small --out small")
    _add_shown(parts, figures, FOLDER / "figures", "  roben paper figures\n  roben paper figures --out docs/figures")
    checker = _add_shown(parts, claims, None, "  roben paper claims\n  roben paper claims --results small --strict")
    checker.add_argument("--strict", action="store_true", help="exit with 1 if a claim fails")


def _add_shown(parts: Any, part: Command, out: Path | None, examples: str) -> argparse.ArgumentParser:
    """A part that shows results."""
    parser: argparse.ArgumentParser = parts.add_parser(
        part.__name__,
        help=part.__doc__,
        description=part.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"examples:\n{examples}",
    )
    parser.set_defaults(part=part)
    _add_results(parser)
    if out is not None:
        parser.add_argument("--out", type=Path, default=out, metavar="DIR", help="for the files (default: %(default)s)")
    return parser


def _add_places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--experiments",
        type=Path,
        default=FOLDER / "experiments.toml",
        metavar="FILE",
        help="the plan (default: %(default)s)",
    )
    _add_results(parser)


def _add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--results",
        type=Path,
        default=FOLDER / "results",
        metavar="DIR",
        help="a JSON file each (default: %(default)s)",
    )
