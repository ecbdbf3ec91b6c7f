"""Tables of what the paper draws or leaves out: tokens, γ, the attacker's budget, how many encodings texts have."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from roben.experiment import TASKS
from roben.report import published
from roben.report.comparison import AGGCLUST, attacked_note, seeds_note
from roben.report.measured import (
    ENCODED,
    SYSTEM_NAMES,
    Measured,
    Number,
    Point,
    Results,
    Setting,
    budget_curves,
    gamma_curve,
    measured,
    of_texts,
    settings,
)
from roben.report.rows import marked, rows_notes
from roben.report.table import MISSING, Table, labelled, number, percent, points

__all__ = ["budget_table", "change", "encodings_table", "gamma_table", "pairs_of_tokens", "tokens_table"]


# -- tokens by words against spaces -------------------------------------------------------------------------


def pairs_of_tokens(results: Results) -> list[tuple[Setting, Setting]]:
    """Settings by spaces and by words that have the model, the surface and the rows in common."""

    def shared(setting: Setting) -> tuple[object, ...]:
        return setting.model, setting.surface, setting.n_words, setting.rows, setting.limit_train, setting.limit_eval

    with_model = [setting for setting in settings(results) if setting.model != "none"]
    by_spaces = [setting for setting in with_model if setting.tokens == "spaces"]
    by_words = [setting for setting in with_model if setting.tokens == "words"]
    return [(a, b) for a, b in product(by_spaces, by_words) if shared(a) == shared(b)]


def change(before: Number | None, after: Number | None) -> tuple[float, float | None] | None:
    """How far the means lie apart, and the spread of that over the seeds."""
    if before is None or after is None:
        return None
    spread = None
    if before.spread is not None and after.spread is not None:
        spread = math.hypot(before.spread, after.spread)
    return after.mean - before.mean, spread


def tokens_table(results: Results, spaces: Setting, words: Setting) -> Iterator[Table]:
    """What tokens by words do to accuracy, encodings and unknown tokens."""
    rows: list[tuple[str, ...]] = []
    found: list[Measured] = []
    for task in TASKS:
        group = []
        for system in ENCODED:
            before, after = (measured(results, setting, task, system) for setting in (spaces, words))
            if before and after:
                found += [before, after]
                group.append((SYSTEM_NAMES[system], *_compared(before, after)))
        rows += labelled(marked(results, words, task), group)
    if rows:
        columns = ["", "system"]
        columns += [f"{name}: {part}" for name in ("standard", "robust") for part in ("spaces", "words", "difference")]
        columns += ["|B_α| = 1 (%): spaces → words", "unknown tokens (%): spaces → words"]
        notes = (
            f"By spaces: {spaces.note}",
            f"By words: {words.note}",
            *rows_notes(results, words),
            seeds_note(found),
            "±: of a difference, the root of both spreads' squares added.",
            AGGCLUST,
        )
        title = f"Tokens by words against spaces: {words.model}, {words.surface}"
        yield Table.of(f"tokens-{words.slug}-{spaces.vocabulary}", title, columns, rows, notes, n_labels=2)


def _compared(before: Measured, after: Measured) -> Iterator[str]:
    for measure in ("standard", "robust"):
        a, b = before.accuracy(measure), after.accuracy(measure)
        yield from (number(a), number(b), _changed(change(a, b)))
    for name in ("one_encoding", "unknown_tokens"):
        shares = [found.first("texts", name) for found in (before, after)]
        yield " → ".join(percent(None if share is None else 100 * share) for share in shares)


def _changed(found: tuple[float, float | None] | None) -> str:
    if found is None:
        return MISSING
    difference, spread = found
    return points(difference) + ("" if spread is None else f" ±{spread:.1f}")


# -- the numbers behind the figures -------------------------------------------------------------------------


def gamma_table(results: Results, setting: Setting, task: str) -> Iterator[Table]:
    """Accuracy against gamma."""
    curve = gamma_curve(results, setting, task)
    if len(curve) < 2:
        return
    rows = [
        (f"{gamma:g}", *map(number, (at.standard(), at.robust(), at.gap(), at.one_encoding()))) for gamma, at in curve
    ]
    theirs = [published.accuracy(setting.surface, measure, "agglomerative", task) for measure in ("standard", "robust")]
    if theirs[0] is not None and theirs[1] is not None:
        one = published.one_encoding("agglomerative", task)
        rows.append((f"paper, {published.GAMMA}", *map(percent, (*theirs, theirs[0] - theirs[1], one))))
    notes = (setting.note, *rows_notes(results, setting, [task]), seeds_note(at for _, at in curve))
    columns = ("γ", "standard", "robust", "gap", "|B_α| = 1 (%)")
    title = f"Accuracy of AggClust against γ on {marked(results, setting, task)}: {setting.name}"
    yield Table.of(f"gamma-{task.lower()}-{setting.slug}", title, columns, rows, notes)


def budget_table(results: Results, setting: Setting, task: str) -> Iterator[Table]:
    """Accuracy against the number of tokens that an attacker may change."""
    curves = budget_curves(results, setting, task)
    if not curves:
        return
    budgets = sorted(
        {at.budget for curve in curves.values() for at in curve}, key=lambda b: math.inf if b is None else b
    )
    rows: list[tuple[str, ...]] = []
    for system, curve in curves.items():
        points_at = {at.budget: at for at in curve}
        group = [
            (measure, *(number(_of(points_at.get(budget), measure)) for budget in budgets))
            for measure in ("attack", "robust")
        ]
        rows += labelled(SYSTEM_NAMES[system], [row for row in group if set(row[1:]) != {MISSING}])
    found = {system: measured(results, setting, task, system, budget=budgets[0]) for system in curves}
    notes = (
        setting.note,
        *rows_notes(results, setting, [task]),
        attacked_note({task: list(found.values())}),
        seeds_note(found.values()),
        AGGCLUST,
        "An attacker changes at most b tokens. Attack: the paper's beam search, on the rows attacked. "
        "Robust: exact, on all rows.",
    )
    columns = ("system", "", *(f"b = {budget}" if budget is not None else "no limit" for budget in budgets))
    title = f"Accuracy against the budget b on {marked(results, setting, task)}: {setting.name}"
    yield Table.of(f"budget-{task.lower()}-{setting.slug}", title, columns, rows, notes, n_labels=2)


def _of(at: Point | None, measure: str) -> Number | None:
    if at is None:
        return None
    return at.attack if measure == "attack" else at.robust


def encodings_table(results: Results) -> Iterator[Table]:
    """How many perturbations and encodings texts have."""
    texts = of_texts(results)
    for setting in settings(texts):
        rows = [row for task in TASKS for row in _encodings(texts, setting, task)]
        if rows:
            columns = ["", "tokens", "unknown (%)", "log10 |B|"]
            columns += [
                f"{SYSTEM_NAMES[system]}: {name}"
                for system in ENCODED
                for name in ("= 1 (%)", "< 9 (%)", "> 10,000 (%)")
            ]
            notes = (
                setting.note,
                *rows_notes(texts, setting),
                "Tokens, and the logarithm of the number of perturbations, are means over the texts. The other columns "
                "are shares of texts, by the number of their encodings |B_α|.",
                "Paper: |B_α| < 9 for most texts; 0.009% of them have more than 10,000 encodings.",
                AGGCLUST,
            )
            title = f"Encodings of texts, {setting.surface}: {setting.name}"
            yield Table.of(f"encodings-{setting.slug}", title, columns, rows, notes)


def _encodings(texts: Results, setting: Setting, task: str) -> Iterator[tuple[str, ...]]:
    found = {system: measured(texts, setting, task, system) for system in ENCODED}
    about = next((of_system for of_system in found.values() if of_system), None)
    if about is not None:
        unknown = about.first("texts", "unknown_tokens")
        logs = about.first("texts", "log10_perturbations", "mean")
        shares = [_shares(of_system.first("texts", "encodings") or {}) for of_system in found.values()]
        yield (
            marked(texts, setting, task),
            percent(about.first("texts", "n_tokens")),
            percent(100 * unknown),
            percent(logs),
            *sum(shares, ()),
        )


def _shares(counts: dict[str, int]) -> tuple[str, ...]:
    total = sum(counts.values())
    if not total:
        return (MISSING,) * 3
    below = [100 * sum(count for n, count in counts.items() if int(n) <= limit) / total for limit in (1, 8, 10_000)]
    return percent(below[0]), percent(below[1]), f"{100 - below[2]:.2f}"
