"""What the paper claims, checked from results. What noise is let pass is said in each line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from roben.experiment import TASKS
from roben.report import published
from roben.report.measured import (
    ENCODED,
    SYSTEM_NAMES,
    Number,
    Results,
    Setting,
    budget_curve,
    checked,
    gamma_curve,
    measured,
    of_texts,
    settings,
)
from roben.report.rows import PARTIAL, is_partial, marked
from roben.report.study import change, pairs_of_tokens
from roben.report.table import number, percent, points

__all__ = ["Claim", "claims"]

Verdict = Literal["holds", "within noise", "fails", "no results"]

# What tokens by words gained in robust accuracy in an earlier measurement: MiniLM, the first 1,500 rows of dev.
EARLIER_GAINS = {"QQP": 3.6, "QNLI": 3.4, "MNLI": 3.3, "RTE": 1.9, "MRPC": -1.3}


@dataclass(frozen=True)
class Claim:
    """A statement, what it was checked on, and how that ended."""

    statement: str
    setting: str
    verdict: Verdict
    numbers: str = ""

    def line(self) -> str:
        """All but the statement."""
        return ". ".join(part for part in (self.setting, self.numbers) if part)


def claims(results: Results) -> list[Claim]:
    """All claims, for every setting that has results for them."""
    results = checked(results)
    with_model = [setting for setting in settings(results) if setting.model != "none"]
    found: list[Claim] = []
    for statement, check in CHECKS.items():
        made = [claim for setting in with_model for claim in check(statement, results, setting)]
        found += made or [Claim(statement, "", "no results")]
    found.append(_order(results))
    found += _one_encoding(results)
    found += _tokens(results)
    return found


# -- of one setting -----------------------------------------------------------------------------------------


def _collapse(statement: str, results: Results, setting: Setting) -> Iterator[Claim]:
    shown, fails = [], []
    for task in TASKS if setting.surface == "edits" else ():
        found = measured(results, setting, task, "undefended")
        standard, attack = found.standard(), found.attack()
        if standard and attack:
            shown.append(f"{marked(results, setting, task)} {percent(standard.mean)} → {percent(attack.mean)}")
            fails += [task] if attack.mean > standard.mean / 2 else []
    if shown:
        yield _judged(statement, setting, fails, shown)


def _fidelity_on_average(statement: str, results: Results, setting: Setting) -> Iterator[Claim]:
    pairs = _standard_pairs(results, setting)
    averages = [Number.average([pair[i] for pair in pairs.values()]) for i in range(2)]
    if len(pairs) == len(TASKS) and averages[0] and averages[1]:
        difference = averages[1].mean - averages[0].mean
        shown = [f"{number(averages[0])} → {number(averages[1])} ({points(difference)})"]
        yield _judged(statement, setting, [] if difference >= 0 else ["the average"], shown)


def _fidelity_by_task(statement: str, results: Results, setting: Setting) -> Iterator[Claim]:
    shown, fails, noisy = list[str](), list[str](), list[str]()
    for task, (components, agglomerative) in _standard_pairs(results, setting).items():
        difference, margin = agglomerative.mean - components.mean, _margin(components, agglomerative)
        shown.append(f"{marked(results, setting, task)} {points(difference)} (±{margin:.1f})")
        if difference < 0:
            (noisy if -difference <= margin else fails).append(task)
    if shown:
        yield _judged(statement, setting, fails, shown, noisy)


def _standard_pairs(results: Results, setting: Setting) -> dict[str, tuple[Number, Number]]:
    tasks = TASKS if setting.surface == "edits" else ()
    found = {task: [measured(results, setting, task, system).standard() for system in ENCODED] for task in tasks}
    return {task: (a, b) for task, (a, b) in found.items() if a and b}


def _margin(a: Number, b: Number) -> float:
    """The 95% margin of a difference of shares, as if each had rows of its own: wider than it is for the same rows."""
    variances = [number.mean * (100 - number.mean) / number.n for number in (a, b)]
    return 1.96 * math.sqrt(sum(variances))


def _gap_grows(statement: str, results: Results, setting: Setting) -> Iterator[Claim]:
    for task in TASKS:
        curve = [(gamma, gap.mean) for gamma, at in gamma_curve(results, setting, task) if (gap := at.gap())]
        if len(curve) >= 5:
            correlation = spearman(*zip(*curve, strict=True))
            shown = [f"correlation {_two(correlation)}; gaps {_listed(curve)}"]
            yield _judged(
                statement, setting, [] if correlation > 0.8 else [task], shown, on=marked(results, setting, task)
            )


def _standard_grows(statement: str, results: Results, setting: Setting) -> Iterator[Claim]:
    for task in TASKS:
        curve = [(gamma, found.mean) for gamma, at in gamma_curve(results, setting, task) if (found := at.standard())]
        if len(curve) >= 5:
            correlation = spearman(*zip(*curve, strict=True))
            shown = [f"correlation {_two(correlation)}; accuracies {_listed(curve)}"]
            yield _judged(
                statement, setting, [] if correlation > 0.8 else [task], shown, on=marked(results, setting, task)
            )


def _robust_peaks(statement: str, results: Results, setting: Setting) -> Iterator[Claim]:
    for task in TASKS:
        curve = [(gamma, found) for gamma, at in gamma_curve(results, setting, task) if (found := at.robust())]
        if len(curve) >= 5:
            best_gamma, best = max(curve, key=lambda point: point[1].mean)
            first, last = curve[0], curve[-1]
            rises = best.mean - first[1].mean
            shown = [
                f"best {percent(best.mean)} at γ = {best_gamma:g}, {points(rises)} over γ = {first[0]:g} "
                f"(±{_margin(first[1], best):.1f}), {points(best.mean - last[1].mean)} over γ = {last[0]:g}"
            ]
            is_inner = first[0] < best_gamma < last[0]
            is_noise = is_inner and rises <= _margin(first[1], best)
            yield _judged(
                statement,
                setting,
                [] if is_inner else [task],
                shown,
                [task] if is_noise else [],
                on=marked(results, setting, task),
            )


def _four_is_enough(statement: str, results: Results, setting: Setting) -> Iterator[Claim]:
    for task in TASKS:
        shown, fails = [], []
        for system in ENCODED:
            at = {point.budget: point.robust for point in budget_curve(results, setting, task, system)}
            four, unlimited = at.get(4), at.get(None)
            if four and unlimited:
                shown.append(f"{SYSTEM_NAMES[system]} {percent(four.mean)} against {percent(unlimited.mean)}")
                fails += [SYSTEM_NAMES[system]] if abs(four.mean - unlimited.mean) > 1 else []
        if shown:
            on = marked(results, setting, task)
            yield _judged(statement, setting, fails, shown, on=on)


def _permutations_cost_nothing(statement: str, results: Results, setting: Setting) -> Iterator[Claim]:
    if setting.surface != "permutations":
        return
    shown, fails = [], []
    for task in TASKS:
        found = measured(results, setting, task, "components")
        standard, robust = found.standard(), found.robust()
        if standard and robust:
            attacks = [attack for _, result in found.found for attack in result.get("attacks", {}).values()]
            shown.append(f"{marked(results, setting, task)} {percent(standard.mean)} = {percent(robust.mean)}")
            is_equal = standard.values == robust.values
            is_equal &= all(attack["accuracy"] == attack["standard"] == attack["robust"] for attack in attacks)
            fails += [] if is_equal else [task]
    if shown:
        yield _judged(statement, setting, fails, shown)


Check = Callable[[str, Results, Setting], Iterator[Claim]]

CHECKS: dict[str, Check] = {
    "Undefended models collapse under attack, to at most half of their accuracy": _collapse,
    "AggClust is at least as accurate as ConnComp, on average": _fidelity_on_average,
    "AggClust is at least as accurate as ConnComp, on each task (±: the 95% margin)": _fidelity_by_task,
    "Standard accuracy grows with γ (Spearman's correlation above 0.8)": _standard_grows,
    "The gap between standard and robust accuracy grows with γ (Spearman's correlation above 0.8)": _gap_grows,
    "Robust accuracy rises with γ, then falls: its best is at neither end": _robust_peaks,
    "b = 4 is within a point of no limit, in robust accuracy": _four_is_enough,
    "Under permutations standard = attack = robust for ConnComp, exactly": _permutations_cost_nothing,
}


# -- of all results -----------------------------------------------------------------------------------------


def _order(results: Results) -> Claim:
    statement = "robust ≤ attack ≤ standard on the attacked texts, in every result"
    n, fails = 0, []
    for entry, result in results.items():
        for attack in result.get("attacks", {}).values():
            n += 1
            accuracies = [attack.get("robust", 0.0), attack["accuracy"], attack["standard"]]
            if accuracies != sorted(accuracies):
                fails.append(entry.name)
    if not n:
        return Claim(statement, "", "no results")
    return Claim(statement, "", "fails" if fails else "holds", _numbers(sorted(set(fails)), [f"{n:,} attacks"]))


def _one_encoding(results: Results) -> Iterator[Claim]:
    texts = of_texts(results)
    for system in ENCODED:
        theirs = published.one_encoding(system, "Avg")
        assert theirs is not None
        statement = (
            f"The average share of texts with one encoding is within 5 points of the paper's {theirs} for "
            f"{SYSTEM_NAMES[system]}, by spaces with COCA's words"
        )
        made = []
        for setting in settings(texts):
            if (setting.surface, setting.tokens, setting.vocabulary) == ("edits", "spaces", "coca"):
                average = Number.average([measured(texts, setting, task, system).one_encoding() for task in TASKS])
                if average:
                    difference = average.mean - theirs
                    is_part = any(is_partial(texts, setting, task) for task in TASKS)
                    shown = [f"{percent(average.mean)} ({points(difference)}){f' {PARTIAL}' if is_part else ''}"]
                    made.append(_judged(statement, setting, [] if abs(difference) <= 5 else ["it"], shown))
        yield from made or [Claim(statement, "", "no results")]


def _tokens(results: Results) -> Iterator[Claim]:
    statement = "By words AggClust with MiniLM is more robust than by spaces on QQP, QNLI, MNLI and RTE"
    made = []
    for spaces, words in pairs_of_tokens(results):
        if (words.model, words.surface) == ("minilm", "edits"):
            shown, fails, noisy = list[str](), list[str](), list[str]()
            for task, earlier in EARLIER_GAINS.items():
                before, after = (measured(results, setting, task, "agglomerative") for setting in (spaces, words))
                found = change(before.robust(), after.robust())
                if found is not None:
                    gain, spread = found
                    shown.append(_gain(marked(results, words, task), gain, spread, earlier))
                    if earlier > 0 >= gain:
                        (noisy if spread is not None and -gain <= spread else fails).append(task)
            if shown:
                made.append(_judged(statement, words, fails, shown, noisy))
    yield from made or [Claim(statement, "", "no results")]


def _gain(task: str, gain: float, spread: float | None, earlier: float) -> str:
    if spread is None:
        return f"{task} {points(gain)} (earlier {points(earlier)})"
    beyond = "" if abs(gain - earlier) <= spread + 0.05 else ", which differs by more than the spread"
    return f"{task} {points(gain)} ±{spread:.1f} (earlier {points(earlier)}{beyond})"


# -- verdicts -----------------------------------------------------------------------------------------------


def _judged(
    statement: str,
    setting: Setting,
    fails: Sequence[str],
    shown: Sequence[str],
    noisy: Sequence[str] = (),
    *,
    on: str = "",
) -> Claim:
    verdict: Verdict = "fails" if fails else "within noise" if noisy else "holds"
    where = ", ".join(part for part in (on, setting.name) if part)
    return Claim(statement, where, verdict, _numbers(fails or noisy, shown))


def _numbers(fails: Sequence[str], shown: Sequence[str]) -> str:
    blamed = f"Not so: {', '.join(fails[:5])}{' …' if len(fails) > 5 else ''}. " if fails else ""
    return blamed + ", ".join(shown)


def _two(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _listed(curve: Sequence[tuple[float, float]]) -> str:
    return " ".join(percent(value) for _, value in curve)


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float:
    """The correlation of ranks, 0 if either has no ranks to speak of.

    >>> spearman([0, 1, 2, 3], [5, 6, 8, 7])
    0.8
    """
    a, b = _ranks(xs), _ranks(ys)
    middle = (len(a) + 1) / 2
    covariance = sum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True))
    norms = math.prod(sum((x - middle) ** 2 for x in ranks) for ranks in (a, b))
    return covariance / math.sqrt(norms) if norms else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1; equal values share the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]
