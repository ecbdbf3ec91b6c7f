"""Figures of results, as SVG and PNG. The same results make the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from roben.experiment import TASKS
from roben.extras import require
from roben.report import published
from roben.report.measured import (
    ENCODED,
    SYSTEM_NAMES,
    Measured,
    Number,
    Point,
    Results,
    Setting,
    budget_curves,
    checked,
    gamma_curve,
    measured,
    of_texts,
    settings,
)
from roben.report.rows import fullest, marked, rows_notes

__all__ = ["figures"]

# Okabe and Ito's colours, which are told apart without red and green.
COLOURS = {
    "undefended": "#595959",
    "augmentation": "#CC79A7",
    "typo-corrector": "#56B4E9",
    "symspell": "#009E73",
    "components": "#0072B2",
    "agglomerative": "#D55E00",
    "standard": "#0072B2",
    "robust": "#D55E00",
    "edits": "#0072B2",
    "permutations": "#E69F00",
}
STYLE = {
    "svg.hashsalt": "roben",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
}
SURFACES = {"edits": "one edit a token", "permutations": "inner letters in any order"}
SIZES = ((1, "1"), (2, "2"), (4, "3–4"), (8, "5–8"), (100, "9–100"), (10_000, "101–10⁴"), (None, "more"))
MARKERS = {"standard": "o", "attack": "o", "robust": "s"}
NO_LIMIT = 7.4
"""Where the curves over budgets end, a little apart."""


def figures(results: Results, folder: Path) -> list[Path]:
    """Draws all figures for which there are results, and returns their files."""
    require("matplotlib", extra="paper")
    from matplotlib import rc_context, rcParamsDefault

    written: list[Path] = []
    folder.mkdir(parents=True, exist_ok=True)
    style: Any = {**_without_backend(rcParamsDefault), **STYLE}  # whatever is set on this machine
    with rc_context(style):
        # Rows that a setting was chosen on are no results.
        shown = {entry: result for entry, result in checked(results).items() if entry.rows == "all"}
        for name, figure in _figures(shown):
            for kind, metadata in (("svg", {"Date": None, "Creator": None}), ("png", {"Software": None})):
                written.append(folder / f"{name}.{kind}")
                figure.savefig(written[-1], dpi=160, metadata=metadata, bbox_inches="tight", pad_inches=0.08)
    return written


def _without_backend(parameters: Any) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if not name.startswith(("backend", "interactive"))}


def _figures(results: Results) -> Iterator[tuple[str, Any]]:
    texts = of_texts(results)
    for setting in settings(texts):
        if setting.surface == "edits":
            yield from _encodings(texts, setting)
    for alike in dict.fromkeys((setting.tokens, setting.rows, setting.limit_eval) for setting in settings(texts)):
        chosen = [setting for setting in settings(texts) if (setting.tokens, setting.rows, setting.limit_eval) == alike]
        yield from _perturbations(texts, chosen)
    with_model = [setting for setting in settings(results) if setting.model != "none"]
    yield from _gamma(results, with_model)
    yield from _budget(results, with_model)


# -- of texts -----------------------------------------------------------------------------------------------


def _encodings(texts: Results, setting: Setting) -> Iterator[tuple[str, Any]]:
    """Histograms of the number of encodings, task by task."""
    found = {(task, system): measured(texts, setting, task, system) for task in TASKS for system in ENCODED}
    tasks = [task for task in TASKS if any(found[task, system] for system in ENCODED)]
    if not tasks:
        return
    figure, axes = _grid(len(tasks), sharex=True, sharey=True)
    for axis, task in zip(axes, tasks, strict=True):
        axis.set_title(marked(texts, setting, task))
        for i, system in enumerate(ENCODED):
            counts = found[task, system].first("texts", "encodings")
            if counts:
                places = [place + 0.4 * (i - 0.5) for place in range(len(SIZES))]
                axis.bar(places, shares_by_size(counts), 0.38, color=COLOURS[system], label=SYSTEM_NAMES[system])
            theirs = published.one_encoding(system, task)
            label = "paper, |$B_α$| = 1" if i else None
            axis.plot([-0.4 + 0.4 * i, 0.4 * i], [theirs, theirs], color="black", linewidth=1.4, label=label)
        axis.set_xticks(range(len(SIZES)), [name for _, name in SIZES], rotation=45, ha="right", rotation_mode="anchor")
        axis.set_ylim(0, 100)
    figure.supxlabel("encodings of a text, |$B_α$|", fontsize=9)
    figure.supylabel("texts (%)", fontsize=9)
    yield f"encodings-{setting.slug}", _finished(figure, axes, [setting.note, *rows_notes(texts, setting, tasks)])


def shares_by_size(counts: dict[str, int]) -> list[float]:
    """Of numbers of encodings: the share of texts in each bin, in percent."""
    total = sum(counts.values())
    limits = [limit for limit, _ in SIZES]
    up_to = [
        sum(count for n, count in counts.items() if limit is None or int(n) <= limit) / total * 100 for limit in limits
    ]
    return [share - before for before, share in zip([0.0, *up_to], up_to, strict=False)]


def _perturbations(texts: Results, alike: Sequence[Setting]) -> Iterator[tuple[str, Any]]:
    """Histograms of the logarithm of the number of perturbations, which no vocabulary changes, task by task."""
    found = {task: {surface: _histogram(texts, alike, task, surface) for surface in SURFACES} for task in TASKS}
    tasks = [task for task in TASKS if any(found[task].values())]
    if not tasks:
        return
    figure, axes = _grid(len(tasks))
    for axis, task in zip(axes, tasks, strict=True):
        axis.set_title(_marked(texts, alike, task))
        for surface, histogram in found[task].items():
            if histogram:
                _draw_histogram(axis, histogram, surface)
        if found[task]["edits"]:
            _draw_means(axis, task, found[task]["edits"] or {})
        axis.set_ylim(0)
        axis.set_xlim(0)
    figure.supxlabel("perturbations of a text, log$_{10}$ |B|", fontsize=9)
    figure.supylabel("texts (%)", fontsize=9)
    full = fullest(texts, alike)
    name = "-".join(["perturbations", full.tokens, *full.limits])
    notes = [f"Tokens by {full.tokens}.", *rows_notes(texts, full, tasks)]
    notes.append(
        "Solid lines: the means of the logarithms. Dotted: the mean of |B| itself, which the longest texts make."
    )
    yield name, _finished(figure, axes, notes)


def _draw_means(axis: Any, task: str, histogram: dict[str, Any]) -> None:
    style = {"linewidth": 1.2, "linestyle": ":"}
    ours, theirs = histogram.get("log10_of_mean"), published.LOG10_PERTURBATIONS.get(task)
    if ours is not None:
        axis.axvline(ours, color=COLOURS["edits"], label="mean of |B|", **style)
    if theirs is not None:
        axis.axvline(theirs, color="black", label=f"paper, mean of |B|: 10$^{{{theirs}}}$", **style)


def _marked(texts: Results, alike: Sequence[Setting], task: str) -> str:
    return max((marked(texts, setting, task) for setting in alike), key=len)


def _histogram(texts: Results, alike: Sequence[Setting], task: str, surface: str) -> dict[str, Any] | None:
    for setting in alike:
        for system in SYSTEM_NAMES:
            if setting.surface == surface and (found := measured(texts, setting, task, system)):
                histogram: dict[str, Any] | None = found.first("texts", "log10_perturbations")
                return histogram
    return None


def _draw_histogram(axis: Any, histogram: dict[str, Any], surface: str) -> None:
    width, counts = histogram["bin"], {int(start): n for start, n in histogram["counts"].items()}
    total = sum(counts.values())
    starts = range(0, max(counts) + width, width)
    axis.stairs(
        [100 * counts.get(start, 0) / total for start in starts],
        [*starts, starts[-1] + width],
        fill=True,
        color=COLOURS[surface],
        alpha=0.55,
        label=SURFACES[surface],
    )
    axis.axvline(histogram["mean"], color=COLOURS[surface], linewidth=1.4)


# -- curves -------------------------------------------------------------------------------------------------


def _gamma(results: Results, with_model: Sequence[Setting]) -> Iterator[tuple[str, Any]]:
    """Standard and robust accuracy against gamma, and the gap between them."""
    curves = {(s, task): gamma_curve(results, s, task) for s in with_model for task in TASKS}
    curves = {key: curve for key, curve in curves.items() if len(curve) > 2}
    if not curves:
        return
    figure, axes = _grid(len(curves), n_columns=2, height=2.7, sharey=True)
    for axis, ((setting, task), curve) in zip(axes, curves.items(), strict=True):
        axis.set_title(f"{marked(results, setting, task)}, {setting.model}, by {setting.tokens}")
        for measure in ("standard", "robust"):
            found = [(gamma, number) for gamma, at in curve if (number := at.accuracy(measure))]
            _draw_curve(axis, found, COLOURS[measure], label=measure, marker=MARKERS[measure])
            theirs = [published.accuracy(setting.surface, measure, system, task) for system in ENCODED]
            _draw_theirs(axis, [0, published.GAMMA], theirs, COLOURS[measure], measure, f"paper, {measure}")
        _draw_gap(axis, curve)
        axis.set_ylim(0, 100)
        axis.set_xlabel("γ")
    figure.supylabel("accuracy (%)", fontsize=9)
    notes = _curve_notes(results, list(curves))
    notes.append("The paper's numbers are BERT-base's, of ConnComp (as γ = 0) and of AggClust with γ = 0.3.")
    yield "gamma", _finished(figure, axes, notes)


def _draw_gap(axis: Any, curve: Sequence[tuple[float, Measured]]) -> None:
    pairs = [(gamma, at.standard(), at.robust()) for gamma, at in curve]
    whole = [(gamma, a.mean, b.mean) for gamma, a, b in pairs if a and b]
    if whole:
        axis.fill_between(*zip(*whole, strict=True), color="#999999", alpha=0.2, linewidth=0, label="gap")


def _budget(results: Results, with_model: Sequence[Setting]) -> Iterator[tuple[str, Any]]:
    """Robust accuracy and accuracy under attack against the number of tokens that may be changed."""
    curves = {(s, task): budget_curves(results, s, task) for s in with_model for task in TASKS}
    curves = {key: found for key, found in curves.items() if found}
    if not curves:
        return
    figure, axes = _grid(2 * len(curves), n_columns=2, height=2.7)
    for i, ((setting, task), of_systems) in enumerate(curves.items()):
        close = {system: curve for system, curve in of_systems.items() if system in ENCODED}
        name = f"{marked(results, setting, task)}, {setting.model}, by {setting.tokens}"
        _draw_budgets(axes[2 * i], setting, task, of_systems)
        axes[2 * i].set_title(name)
        axes[2 * i].set_ylim(0, 100)
        _draw_budgets(axes[2 * i + 1], setting, task, close)
        axes[2 * i + 1].set_title(f"{name}: the same, closer")
    figure.supylabel("accuracy (%)", fontsize=9)
    figure.supxlabel("tokens that may be changed, b", fontsize=9)
    notes = _curve_notes(results, list(curves))
    notes.append("The paper's numbers are BERT-base's.")
    yield "budget", _finished(figure, axes, notes)


def _draw_budgets(axis: Any, setting: Setting, task: str, curves: dict[str, list[Point]]) -> None:
    for system, curve in curves.items():
        places = [NO_LIMIT if at.budget is None else at.budget for at in curve]
        for measure, line in (("robust", "-"), ("attack", "--")):
            numbers = [at.robust if measure == "robust" else at.attack for at in curve]
            found = [(place, number) for place, number in zip(places, numbers, strict=True) if number]
            if found:
                label = f"{SYSTEM_NAMES[system]}, {measure}"
                _draw_curve(axis, found, COLOURS[system], label=label, marker=MARKERS[measure], linestyle=line)
                theirs = published.accuracy(setting.surface, measure, system, task)
                if theirs is not None and (measure == "robust") == (system in ENCODED):
                    _draw_theirs(axis, [NO_LIMIT + 0.5], [theirs], COLOURS[system], measure, f"paper, {label}")
    budgets = sorted({at.budget for curve in curves.values() for at in curve if at.budget is not None})
    axis.set_xticks([*budgets, NO_LIMIT], [*map(str, budgets), "no\nlimit"])


def _draw_curve(axis: Any, found: Sequence[tuple[float, Number]], colour: str, **style: Any) -> None:
    """With the spread over seeds, where there are several."""
    spreads = [number.spread or 0.0 for _, number in found]
    errors = spreads if any(spreads) else None
    means = [number.mean for _, number in found]
    axis.errorbar([place for place, _ in found], means, errors, color=colour, capsize=2, **style)


def _draw_theirs(
    axis: Any, places: Sequence[float], values: Sequence[float | None], colour: str, measure: str, label: str
) -> None:
    """The paper's numbers are hollow."""
    style = {"color": colour, "markerfacecolor": "white", "markersize": 7, "linestyle": "", "zorder": 4}
    axis.plot(places, values, marker=MARKERS[measure], label=label, **style)


def _curve_notes(results: Results, panels: Sequence[tuple[Setting, str]]) -> list[str]:
    """Each once, though several panels may have it."""
    notes = [note for setting, task in panels for note in (setting.note, *rows_notes(results, setting, [task]))]
    return list(dict.fromkeys(notes))


# -- all figures --------------------------------------------------------------------------------------------


def _grid(n: int, *, n_columns: int = 3, height: float = 1.9, **shared: bool) -> tuple[Any, list[Any]]:
    """A figure with n panels."""
    from matplotlib.figure import Figure

    n_columns = min(n, n_columns)
    n_rows = -(-n // n_columns)
    width = 7.6 if n_columns > 1 else 4.8
    figure: Any = Figure(figsize=(width, n_rows * height + 0.8), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, **shared).flatten().tolist()
    for axis in axes[n:]:
        axis.set_visible(False)
    return figure, axes[:n]


def _finished(figure: Any, axes: Sequence[Any], notes: Sequence[str]) -> Any:
    """With one legend for all panels above them, and the notes below."""
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    handles = dict(sorted(handles.items(), key=lambda pair: (pair[0].startswith("paper"), pair[0] == "gap")))
    n_columns = 4 if figure.get_figwidth() > 6 else 3
    figure.legend(list(handles.values()), list(handles), loc="outside upper center", ncols=n_columns, fontsize=8.5)
    text = fill(" ".join(notes), int(18 * figure.get_figwidth()))
    figure.text(0.01, -0.02, text, fontsize=7, color="#444444", va="top")
    return figure
