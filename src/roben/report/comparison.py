"""The paper's tables: our numbers beside its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from roben.experiment import TASKS
from roben.report import published
from roben.report.measured import (
    ENCODED,
    SYSTEM_NAMES,
    Measured,
    Number,
    Results,
    Setting,
    measured,
    of_texts,
    settings,
)
from roben.report.rows import fullest, marked, rows_notes
from roben.report.table import MISSING, Table, against, interval, labelled, number, percent, points

__all__ = ["accuracy_table", "defence_table", "one_encoding_table"]

IN_MAIN = ("undefended", "augmentation", "typo-corrector", "components", "agglomerative")
MEASURES = ("standard", "attack", "robust")
PAPER = "Paper: BERT-base trained on all rows, tokens by spaces."
AGAINST = "In parentheses: the difference to the paper's, in points."
ATTACK = (
    "Attack: the paper's beam search, an upper bound, on the rows attacked. Robust: exact, on all rows. Where few rows "
    "are attacked, what is left of them can lie outside the accuracies of all."
)
AGGCLUST = f"AggClust has γ = {published.GAMMA}."


def accuracy_table(results: Results, setting: Setting) -> Iterator[Table]:
    """Standard, attack and robust accuracy of every system on every task."""
    found = {(system, task): measured(results, setting, task, system) for system in IN_MAIN for task in TASKS}
    rows: list[tuple[str, ...]] = []
    for measure in MEASURES:
        group: list[tuple[str, ...]] = []
        for system in IN_MAIN:
            numbers = [found[system, task].accuracy(measure) for task in TASKS]
            if any(numbers):
                group += _compared(setting.surface, measure, system, numbers)
        rows += labelled(measure, group)
    if rows:
        notes = (
            setting.note,
            *rows_notes(results, setting),
            attacked_note({task: [found[system, task] for system in IN_MAIN] for task in TASKS}),
            seeds_note(found.values()),
            AGGCLUST,
            ATTACK,
            above_limit_note({task: [found[system, task] for system in ENCODED] for task in TASKS}),
            AGAINST,
            PAPER,
        )
        title = "Accuracy under permutations" if setting.surface == "permutations" else "Accuracy"
        columns = ("", "system", *(marked(results, setting, task) for task in TASKS), "Avg")
        yield Table.of(f"accuracy-{setting.slug}", f"{title}: {setting.name}", columns, rows, notes, n_labels=2)


def _compared(surface: str, measure: str, system: str, numbers: Sequence[Number | None]) -> list[tuple[str, ...]]:
    """Ours, and the paper's below."""
    ours = [*numbers, Number.average(numbers)]
    theirs = [published.accuracy(surface, measure, system, column) for column in published.COLUMNS]
    rows = [(SYSTEM_NAMES[system], *map(against, ours, theirs))]
    if measure == "attack":
        rows.append(("– 95% interval", *map(interval, numbers), MISSING))
    if any(value is not None for value in theirs):
        rows.append(("– paper", *map(percent, theirs)))
    return rows


def one_encoding_table(results: Results) -> Iterator[Table]:
    """The share of texts that have a single encoding, for which no model is needed."""
    texts = of_texts(results)
    chosen = [setting for setting in settings(texts) if setting.surface == "edits"]
    for rows_and_limit in dict.fromkeys((setting.rows, setting.limit_eval) for setting in chosen):
        alike = [setting for setting in chosen if (setting.rows, setting.limit_eval) == rows_and_limit]
        full = fullest(texts, alike)
        rows: list[tuple[str, ...]] = []
        for system in ENCODED:
            rows += labelled(SYSTEM_NAMES[system], _shares(texts, alike, system))
        if rows:
            notes = (*rows_notes(texts, full), AGGCLUST, AGAINST, "Paper: tokens by spaces, COCA's 100,000 words.")
            columns = ("", "encoding", *(marked(texts, full, task) for task in TASKS), "Avg")
            name = "-".join(["one-encoding", *full.limits])
            yield Table.of(name, "Share of texts with |B_α| = 1", columns, rows, notes, n_labels=2)


def _shares(texts: Results, chosen: Sequence[Setting], system: str) -> list[tuple[str, ...]]:
    theirs = [published.one_encoding(system, column) for column in published.COLUMNS]
    rows: list[tuple[str, ...]] = []
    for setting in chosen:
        shares = [measured(texts, setting, task, system).one_encoding() for task in TASKS]
        if any(shares):
            ours = [*shares, Number.average(shares)]
            rows.append((f"by {setting.tokens}, {setting.words}", *map(against, ours, theirs)))
    return [*rows, ("paper", *map(percent, theirs))] if rows else []


def defence_table(results: Results, setting: Setting, task: str) -> Iterator[Table]:
    """What each defence is worth on a task, against the paper's attack and a stronger one."""
    # All columns of a row are of the same models.
    every = {system: measured(results, setting, task, system) for system in SYSTEM_NAMES}
    found = {system: of_system.attacked_by("beam", "greedy") for system, of_system in every.items()}
    if not any(found.values()) or _is_of_others(results, setting, found):
        return
    most = max(entry.max_queries or math.inf for of_system in found.values() for entry, _ in of_system.found)
    found = {system: of_system.asked_at_most(most) for system, of_system in found.items()}
    rows = [_defence(setting, task, system, of_system) for system, of_system in found.items() if of_system]
    columns = ["system", "standard", "attack: beam", "attack: greedy", "robust", "queries: beam", "queries: greedy"]
    columns += [f"paper: {measure}" for measure in MEASURES]
    notes = (
        setting.note,
        *rows_notes(results, setting, [task]),
        attacked_note({task: list(found.values())}, ("beam", "greedy")),
        seeds_note(found.values()),
        AGGCLUST,
        AGAINST,
        "In brackets: 95% intervals. Queries are the texts that an attack asked the model about, for each example.",
        "The beam search is the paper's attack, over a small sample of each ball; the greedy one searches whole balls"
        f"{'' if math.isinf(most) else f', with at most {most:,} queries an example'}. Both are upper bounds. Robust "
        "accuracy is exact.",
        PAPER,
    )
    title = f"Defences on {marked(results, setting, task)}: {setting.name}"
    yield Table.of(f"defences-{task.lower()}-{setting.slug}", title, columns, rows, notes)


def _is_of_others(results: Results, setting: Setting, found: dict[str, Measured]) -> bool:
    """Does all that was found stand in another table too, beside encodings of another vocabulary?"""
    others = [other for other in settings(results) if replace(other, vocabulary=setting.vocabulary) == setting]
    return not any(found[system] for system in ENCODED) and len(others) > 1


def _defence(setting: Setting, task: str, system: str, found: Measured) -> tuple[str, ...]:
    ours = [found.standard(), found.attack("beam"), found.attack("greedy"), found.robust()]
    queries = [found.queries(attack) for attack in ("beam", "greedy")]
    theirs = [published.accuracy(setting.surface, measure, system, task) for measure in MEASURES]
    cells = [f"{number(cell)} [{interval(cell)}]" if cell else MISSING for cell in ours]
    asked = [MISSING if n is None else f"{n:,.0f}" for n in queries]
    paper = [
        percent(value) + (f" ({points(cell.mean - value)})" if cell and value is not None else "")
        for cell, value in zip((ours[0], ours[1], ours[3]), theirs, strict=True)
    ]
    return (SYSTEM_NAMES[system], *cells, *asked, *paper)


# -- notes --------------------------------------------------------------------------------------------------


def seeds_note(found: Iterable[Measured]) -> str:
    """What ± means, where it is used."""
    seeds = {entry.seed for of_system in found for entry, _ in of_system.found}
    if len(seeds) < 2:
        return f"One seed ({min(seeds)})." if seeds else ""
    listed = ", ".join(map(str, sorted(seeds)))
    return f"±: the sample standard deviation over seeds ({listed}); without it, one seed was measured."


def attacked_note(found: dict[str, list[Measured]], attacks: Sequence[str] = ("beam",)) -> str:
    """On how many rows the attacks were tried."""
    parts = []
    for task, systems in found.items():
        sizes = {number.n for system in systems for attack in attacks if (number := system.attack(attack))}
        if sizes:
            parts.append(f"{task} {' or '.join(f'{n:,}' for n in sorted(sizes))}")
    return f"Rows attacked: {', '.join(parts)}." if parts else ""


def above_limit_note(found: dict[str, list[Measured]]) -> str:
    """How many texts have too many encodings to be certified by enumeration."""
    shares = {
        task: [share for system in systems if (share := system.mean("texts", "above_limit"))]
        for task, systems in found.items()
    }
    parts = [f"{task} {100 * max(of_task):.2g}%" for task, of_task in shares.items() if of_task]
    return f"Texts with more than 10,000 encodings, at most: {', '.join(parts)}." if parts else ""
