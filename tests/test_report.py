"""Tables, figures and claims from results that are made by hand."""

import itertools
import json
import re
from dataclasses import replace

import pytest

from roben import cli, report
from roben.attack import interval
from roben.experiment import EVALUATED, TASKS, Entry, ExperimentError, load_results
from roben.experiment.result import write_result
from roben.extras import MissingExtraError
from roben.report import published
from roben.report.claim import spearman
from roben.report.measured import Number, Setting, measured, of_texts, settings
from roben.report.table import MISSING, Table, against, number, percent, points

ENCODED = ("components", "agglomerative")
BERT = {"words": ("words", "english"), "spaces": ("spaces", "coca")}


def result(entry, standard=0.8, robust=0.7, attacks=None, *, one=0.6, n_train=None, n=None, evaluation=None):
    """A result as the measurement writes it, of which an attack looked at half of the rows."""
    whole, _ = TASKS[entry.task]
    n = n or EVALUATED[entry.task, "dev"]
    found = {
        "format": 1,
        "entry": entry.as_json(),
        "data": {
            "evaluation": evaluation or f"{entry.task} dev",
            "n_train": n_train or whole,
            "n_train_of_task": whole,
            "n_evaluation": n,
        },
        "texts": {"log10_perturbations": {"mean": 12.0, "log10_of_mean": 25.5, "bin": 10, "counts": {"0": 1, "20": 3}}},
    }
    if entry.is_encoded:
        found["texts"] |= {"one_encoding": one, "above_limit": 0.0, "unknown_tokens": 0.01, "n_tokens": 20.0}
        found["texts"]["encodings"] = {"1": 6, "2": 2, "9": 1, "10001": 1}
    if entry.model != "none":
        found["standard"] = share(standard, n)
        proved = {"robust": robust} if entry.is_encoded else {}
        found |= {name: share(value, n) for name, value in proved.items()}
        found["attacks"] = {
            name: {**share(value, n // 2), "standard": standard, **proved, "queries_per_example": 10.0}
            for name, value in (attacks or {}).items()
        }
    return found


def share(accuracy, n):
    return {"accuracy": accuracy, "n": n, "interval": interval(accuracy, n)}


def results_of(*pairs):
    """By entry, from entries with their numbers."""
    return {entry: result(entry, **numbers) for entry, numbers in pairs}


def everything(model="linear", *, words="words"):
    """All tasks, systems and surfaces, as the paper would have them."""
    tokens, vocabulary = BERT[words]
    found = {}
    for task, surface in itertools.product(TASKS, ("edits", "permutations")):
        common = {"model": model, "surface": surface, "tokens": tokens, "vocabulary": vocabulary, "attacks": ("beam",)}
        permuted = surface == "permutations"
        numbers = {
            "undefended": {"standard": 0.9, "attacks": {"beam": 0.1}},
            "augmentation": {"standard": 0.85, "attacks": {"beam": 0.2}},
            "components": {"standard": 0.75, "robust": 0.75 if permuted else 0.74, "attacks": {"beam": 0.75}},
            "agglomerative": {"standard": 0.8, "robust": 0.7, "attacks": {"beam": 0.72}},
        }
        for system, measures in numbers.items():
            entry = Entry(task, system, **common)
            found[entry] = result(entry, **measures)
    return found


def curves(model="linear"):
    """The sweep over gamma, and the budgets."""
    found = {}
    for i in range(11):
        entry = Entry("SST-2", "agglomerative", model, gamma=i / 10)
        found[entry] = result(entry, standard=0.6 + 0.04 * i, robust=0.6 + 0.04 * i - 0.006 * i * i)
    for budget, system in itertools.product([0, 1, 2, 3, 4, None], ("undefended", *ENCODED)):
        entry = Entry("SST-2", system, model, budget=budget, attacks=("beam",), n_attacked=436)
        left = 0.666 if budget is None else 0.72 - 0.0125 * budget
        attacked = left if system in ENCODED else left / 8
        found[entry] = result(entry, standard=0.72, robust=left, attacks={"beam": attacked})
    return found


def table_named(results, start):
    (found,) = [table for table in report.tables(results) if table.name.startswith(start)]
    return found


def cells_of(table, *labels):
    """The row with these labels, where an empty first label stands for the one above."""
    above = ""
    for row in table.rows:
        above = row[0] or above
        if (above, *row[1 : len(labels)]) == labels:
            return row[table.n_labels :]
    raise AssertionError(f"{labels} is no row of {table.rows}")


def claim_about(results, words):
    """Of all claims, the first whose statement has these words."""
    return next(claim for claim in report.claims(results) if words in claim.statement)


# -- the paper's numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (("edits", "standard", "undefended", "SST-2"), 93.8),
        (("edits", "standard", "agglomerative", "Avg"), 76.1),
        (("edits", "attack", "augmentation", "MRPC"), 1.0),
        (("edits", "attack", "typo-corrector", "RTE"), 21.3),
        (("edits", "robust", "components", "MNLI"), 61.4),
        (("edits", "robust", "agglomerative", "QQP"), 81.4),
        (("permutations", "attack", "undefended", "SST-2"), 28.1),
        (("permutations", "robust", "components", "QNLI"), 83.4),
        (("permutations", "standard", "agglomerative", "SST-2"), None),
        (("edits", "robust", "undefended", "SST-2"), None),
    ],
)
def test_the_papers_numbers_are_those_of_the_paper(where, expected):
    assert published.accuracy(*where) == expected


def test_the_papers_shares_of_one_encoding():
    assert [published.one_encoding("components", c) for c in ("SST-2", "RTE", "Avg")] == [86.9, 40.4, 61.9]
    assert [published.one_encoding("agglomerative", c) for c in ("MNLI", "Avg")] == [35.4, 45.9]
    assert published.one_encoding("undefended", "SST-2") is None


def test_the_papers_averages_are_averages():
    rows = [row for of_surface in published.ACCURACY.values() for rows in of_surface.values() for row in rows.values()]
    for row in (*rows, *published.ONE_ENCODING.values()):
        assert sum(row[:6]) / 6 == pytest.approx(row[6], abs=0.1)


# -- numbers ------------------------------------------------------------------------------------------------


def test_a_number_has_a_mean_and_the_sample_standard_deviation_of_its_seeds():
    found = Number((70.0, 72.0, 77.0), (0, 1, 2), 872)
    assert found.mean == 73
    assert found.spread == pytest.approx(13**0.5)
    assert number(found) == "73.0 ±3.6"
    assert found.interval == pytest.approx([100 * bound for bound in interval(0.73, 872)])


def test_one_seed_has_no_spread():
    assert Number((70.0,), (0,), 10).spread is None
    assert number(Number((70.0,), (0,), 10)) == "70.0"


def test_an_average_needs_all_tasks_and_is_taken_by_seed():
    a, b = Number((70.0, 80.0), (0, 1), 10), Number((60.0, 62.0), (0, 1), 10)
    assert Number.average([a, b]) == Number((65.0, 71.0), (0, 1), 20)
    assert Number.average([a, None]) is None
    assert Number.average([a, Number((60.0,), (0,), 10)]) == Number((67.5,), (), 20)


def test_differences_have_a_sign_and_missing_numbers_a_dash():
    assert [points(d) for d in (1.25, -0.04, -2.6, None)] == ["+1.2", "+0.0", "−2.6", MISSING]
    assert against(Number((80.5,), (0,), 10), 83.1) == "80.5 (−2.6)"
    assert against(None, 83.1) == MISSING
    assert percent(None) == MISSING


def test_results_of_several_seeds_become_one_number():
    entry = Entry("SST-2", "components", "minilm")
    seeds = [(replace(entry, seed=seed), {"standard": 0.7 + 0.01 * seed}) for seed in range(3)]
    # The same trained model measured once more, with an attack, is no further seed.
    again = (replace(entry, attacks=("beam",)), {"standard": 0.7, "attacks": {"beam": 0.6}})
    results = results_of(*seeds, again)
    found = measured(results, Setting.of(entry), "SST-2", "components")
    assert found.standard().seeds == (0, 1, 2)
    assert number(found.standard()) == "71.0 ±1.0"
    assert found.attack().values == (60.0,)
    assert found.attack("greedy") is None


def test_of_attacks_the_one_on_most_rows_counts():
    entry = Entry("SST-2", "undefended", attacks=("beam",), n_attacked=50)
    whole = replace(entry, attacks=("beam", "greedy"), n_attacked=None)
    results = results_of((entry, {"attacks": {"beam": 0.5}, "n": 100}))
    results |= results_of((whole, {"attacks": {"beam": 0.4, "greedy": 0.3}}))
    found = measured(results, Setting.of(entry), "SST-2", "undefended")
    assert (found.attack().n, found.attack().values) == (436, (40.0,))
    assert found.attack(n=50).values == (50.0,)
    assert found.attack(n=7).n == 436


def test_systems_without_an_encoding_are_in_the_settings_of_those_that_have_one():
    encoded = Entry("SST-2", "components", tokens="spaces", vocabulary="coca")
    plain = Entry("SST-2", "undefended", tokens="spaces")
    assert settings(results_of((encoded, {}), (plain, {}))) == [Setting.of(encoded)]
    assert settings(results_of((plain, {}))) == [Setting.of(plain)]
    assert len(settings(results_of((encoded, {}), (replace(plain, limit_eval=9), {})))) == 2


def test_encodings_are_the_same_whatever_the_model():
    none = Entry("SST-2", "components", "none")
    results = results_of((none, {"one": 0.5}), (replace(none, model="linear", seed=3), {"one": 0.6}))
    assert of_texts(results).keys() == {none}
    assert of_texts(results)[none]["texts"]["one_encoding"] == 0.5


# -- tables -------------------------------------------------------------------------------------------------


def test_the_main_table_has_ours_the_papers_and_the_difference():
    table = table_named(everything(), "accuracy-linear-edits")
    assert table.columns == ("", "system", *TASKS, "Avg")
    assert cells_of(table, "standard", "AggClust")[0] == "80.0 (−3.1)"
    assert cells_of(table, "standard", "AggClust")[-1] == "80.0 (+3.9)"
    assert cells_of(table, "standard", "– paper")[0] == "93.8"
    assert cells_of(table, "robust", "ConnComp")[3] == "74.0 (+12.6)"
    assert cells_of(table, "attack", "undefended")[0] == "10.0 (+1.3)"
    low, high = interval(0.1, 436)
    assert cells_of(table, "attack", "– 95% interval")[0] == f"{100 * low:.1f}–{100 * high:.1f}"
    assert "Rows attacked: SST-2 436, MRPC 204, QQP 20,215, MNLI 4,907, QNLI 2,731, RTE 138." in table.notes
    assert not any("typo corrector" in row for row in table.rows)


def test_an_average_and_cells_without_results_are_dashes():
    results = {entry: found for entry, found in everything().items() if entry.task != "QQP"}
    row = cells_of(table_named(results, "accuracy-linear-edits"), "standard", "AggClust")
    assert row[2] == row[-1] == MISSING
    assert row[0] != MISSING


def test_permutations_have_a_table_of_their_own():
    table = table_named(everything(), "accuracy-linear-permutations")
    assert table.title.startswith("Accuracy under permutations")
    assert cells_of(table, "robust", "ConnComp")[0] == "75.0 (−18.2)"
    assert cells_of(table, "standard", "AggClust")[0] == "80.0"
    assert "inner letters in any order" in table.notes[0]


def test_seeds_are_shown_with_their_spread():
    entry = Entry("SST-2", "components", "minilm")
    results = results_of(*((replace(entry, seed=seed), {"standard": 0.7 + 0.01 * seed}) for seed in range(3)))
    table = table_named(results, "accuracy-minilm")
    assert cells_of(table, "standard", "ConnComp")[0] == "71.0 ±1.0 (−9.6)"
    assert any("seeds (0, 1, 2)" in note for note in table.notes)


def test_a_table_says_what_is_partial():
    entries = [Entry("SST-2", "components"), Entry("QQP", "components")]
    results = results_of((entries[0], {}), (entries[1], {"n_train": 19_499, "n": 10_000}))
    table = table_named(results, "accuracy")
    assert table.columns[2:5] == ("SST-2", "MRPC", "QQP †")
    assert "Trained on SST-2 67,349 (all), QQP 19,499 of 363,846." in table.notes
    assert "Measured on SST-2 dev (872 rows), QQP dev (10,000 of 40,430 rows). The paper: SST-2 test." in table.notes
    assert any(note.startswith("†") for note in table.notes)
    assert not any("†" in text for text in table_named(results_of((entries[0], {})), "accuracy").notes)


def test_limited_results_stand_apart_and_say_so():
    entry = Entry("SST-2", "components", limit_train=1000, limit_eval=100)
    limited = {"n_train": 1000, "n": 100, "evaluation": "SST-2 dev (sample of 100, seed 0)"}
    tables = report.tables(results_of((entry, limited), (Entry("SST-2", "components"), {})))
    titles = [table.title for table in tables if table.name.startswith("accuracy")]
    assert len(titles) == 2
    assert sum("trained on 1,000 rows only, measured on 100 rows only" in title for title in titles) == 1
    (note,) = {note for table in tables for note in table.notes if "sample of" in note}
    assert note.startswith("Measured on SST-2 dev (sample of 100, seed 0: 100 of 872 rows).")


def test_the_shares_of_one_encoding_stand_beside_the_papers():
    spaces = [Entry(task, system, "none", tokens="spaces", vocabulary="coca") for task in TASKS for system in ENCODED]
    words = [Entry(task, system, "none") for task in TASKS for system in ENCODED]
    table = table_named(results_of(*((entry, {}) for entry in (*spaces, *words))), "one-encoding")
    assert cells_of(table, "ConnComp", "by spaces, COCA's 100,000 words")[0] == "60.0 (−26.9)"
    assert cells_of(table, "AggClust", "by words, wordfreq's 100,000 words")[-1] == "60.0 (+14.1)"
    assert cells_of(table, "AggClust", "paper")[-1] == "45.9"


def test_defences_have_both_attacks_with_intervals_and_queries():
    attacks = {"attacks": {"beam": 0.5, "greedy": 0.4}}
    systems = ("undefended", "symspell", "agglomerative")
    entries = [Entry("SST-2", system, attacks=("beam", "greedy")) for system in systems]
    table = table_named(results_of(*((entry, attacks) for entry in entries)), "defences")
    assert [row[0] for row in table.rows] == ["undefended", "SymSpell", "AggClust"]
    low, high = (f"{100 * bound:.1f}" for bound in interval(0.4, 436))
    row = cells_of(table, "AggClust")
    assert row[2] == f"40.0 [{low}–{high}]"
    assert row[4:] == ("10", "10", "83.1 (−3.1)", "82.1 (−32.1)", "80.7 (−10.7)")
    assert "Rows attacked: SST-2 436." in table.notes


def test_tokens_by_words_are_compared_with_spaces():
    results = {}
    for seed, (words, robust) in itertools.product(range(2), (("spaces", 0.70), ("words", 0.74))):
        tokens, vocabulary = BERT[words]
        entry = Entry("QQP", "agglomerative", "minilm", tokens=tokens, vocabulary=vocabulary, seed=seed)
        results[entry] = result(entry, robust=robust + 0.01 * seed)
    row = cells_of(table_named(results, "tokens"), "QQP", "AggClust")
    assert row[3:6] == ("70.5 ±0.7", "74.5 ±0.7", "+4.0 ±1.0")
    assert row[6] == "60.0 → 60.0"


def test_the_numbers_behind_the_curves():
    results = curves()
    gammas = table_named(results, "gamma")
    assert [row[0] for row in gammas.rows][:3] == ["0", "0.1", "0.2"]
    assert cells_of(gammas, "0.5") == ("80.0", "65.0", "15.0", "60.0")
    assert cells_of(gammas, "paper, 0.3")[:3] == ("83.1", "80.7", "2.4")
    budgets = table_named(results, "budget")
    assert budgets.columns[2:] == ("b = 0", "b = 1", "b = 2", "b = 3", "b = 4", "no limit")
    assert cells_of(budgets, "AggClust", "robust")[-2:] == ("67.0", "66.6")
    assert cells_of(budgets, "undefended", "attack")[0] == "9.0"


def test_there_is_no_table_without_results():
    assert report.tables({}) == []
    none = Entry("SST-2", "components", "none")
    assert [table.name for table in report.tables(results_of((none, {})))] == [
        "one-encoding",
        "encodings-edits-words-english",
    ]


def test_tables_do_not_depend_on_the_order_of_the_results():
    results = everything() | curves() | everything("minilm", words="spaces")
    backwards = dict(reversed(results.items()))
    assert report.tables(backwards) == report.tables(results)
    assert report.claims(backwards) == report.claims(results)


# -- as text ------------------------------------------------------------------------------------------------


def test_markdown_tables_have_as_many_cells_in_each_line():
    for table in report.tables(everything() | curves()):
        lines = [line for line in table.markdown().splitlines() if line.startswith("|")]
        assert len(lines) == len(table.rows) + 2
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(table.columns) + 1}
        assert len({len(line) for line in lines}) == 1
        assert table.markdown().startswith(f"### {table.title}\n")


def test_latex_is_balanced_and_escaped():
    text = report.latex(report.tables(everything() | curves()))
    for opening, closing in ((r"\begin{", r"\end{"), (r"\toprule", r"\bottomrule")):
        assert text.count(opening) == text.count(closing) > 0
    plain = re.sub(r"\\[\\{}%&#_$]", "", text)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    assert text.isascii()
    for line in text.splitlines():
        if line.endswith(r"\\"):
            assert "%" not in line.replace(r"\%", "")


def test_special_characters_are_escaped():
    table = Table("name", "50% of |B_α| & more", ("a", "γ"), (("x_1", "−1 ±2"),), ("5 < 9",))
    assert r"\caption{50\% of \textbar{}$B_\alpha$\textbar{} \& more}" in table.latex()
    assert r"x\_1 & $-$1 $\pm$2 \\" in table.latex()
    assert "5 $<$ 9" in table.latex()
    assert r"| a   |     γ |" in table.markdown()
    assert r"a\|b" in replace(table, columns=("a|b", "c")).markdown()


def test_the_page_has_tables_and_claims():
    results = everything()
    page = report.markdown(report.tables(results), report.claims(results))
    assert page.startswith("# Results\n")
    assert page.index("## Tables") < page.index("### Accuracy") < page.index("## Claims") < page.index("**holds**")


# -- figures ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def all_results():
    return everything() | curves() | curves("minilm")


def test_figures_are_the_same_bytes_each_time(all_results, tmp_path):
    written = report.figures(all_results, tmp_path / "a")
    names = {path.stem for path in written}
    assert names == {"encodings-edits-words-english", "perturbations-words", "gamma", "budget"}
    assert {path.suffix for path in written} == {".svg", ".png"}
    for path in report.figures(all_results, tmp_path / "b"):
        assert path.read_bytes() == (tmp_path / "a" / path.name).read_bytes()
        if path.suffix == ".svg":
            assert "<dc:date>" not in path.read_text("utf-8")


def test_there_is_no_figure_without_results(tmp_path):
    assert report.figures({}, tmp_path) == []
    entry = Entry("SST-2", "undefended")
    assert [path.name for path in report.figures(results_of((entry, {})), tmp_path)][:1] == ["perturbations-words.svg"]


def test_figures_name_the_extra_that_they_need(monkeypatch, tmp_path):
    monkeypatch.setattr("roben.extras.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"matplotlib: pip install 'roben\[paper\]'"):
        report.figures({}, tmp_path)


# -- claims -------------------------------------------------------------------------------------------------


def changed(results, change, **where):
    """The results, with a change to those of some entries."""
    found = json.loads(json.dumps(list(results.values())))
    for entry, value in zip(results, found, strict=True):
        if all(getattr(entry, name) == wanted for name, wanted in where.items()):
            change(value)
    return dict(zip(results, found, strict=True))


def accuracy(measure, value):
    """Sets a measure."""

    def change(found):
        (found["attacks"]["beam"] if measure == "attack" else found[measure])["accuracy"] = value

    return change


def test_all_claims_hold_on_results_like_the_papers():
    verdicts = {claim.statement: claim.verdict for claim in report.claims(everything() | curves("minilm"))}
    assert [verdict for verdict in verdicts.values() if verdict not in ("holds", "no results")] == []
    assert sum(verdict == "holds" for verdict in verdicts.values()) == 9


@pytest.mark.parametrize(
    ("words", "measure", "value", "where"),
    [
        ("collapse", "attack", 0.6, {"system": "undefended", "surface": "edits", "task": "RTE"}),
        ("on average", "standard", 0.2, {"system": "agglomerative", "task": "RTE"}),
        ("on each task", "standard", 0.2, {"system": "agglomerative", "task": "RTE"}),
        ("robust ≤ attack", "attack", 0.69, {"system": "agglomerative", "task": "RTE", "surface": "edits"}),
        ("permutations", "robust", 0.74, {"system": "components", "task": "RTE", "surface": "permutations"}),
        ("permutations", "attack", 0.74, {"system": "components", "task": "RTE", "surface": "permutations"}),
        ("b = 4", "robust", 0.9, {"system": "components", "budget": 4}),
        ("neither end", "robust", 0.9, {"gamma": 1.0, "system": "agglomerative"}),
        ("neither end", "robust", 0.9, {"gamma": 0.0, "system": "agglomerative"}),
        ("gap", "robust", 0.1, {"gamma": 0.0, "system": "agglomerative"}),
    ],
)
def test_a_claim_fails_where_results_speak_against_it(words, measure, value, where):
    results = everything() | curves("minilm")
    assert claim_about(results, words).verdict == "holds"
    if words == "gap":  # as large at gamma 0, 0.1 and 0.2 as at no other
        for gamma in (0.1, 0.2):
            results = changed(results, accuracy(measure, value), gamma=gamma, system="agglomerative")
    assert claim_about(changed(results, accuracy(measure, value), **where), words).verdict == "fails"


def test_claims_say_what_is_partial():
    results = results_of((Entry("QQP", "undefended", attacks=("beam",)), {"n": 9_999, "attacks": {"beam": 0.1}}))
    assert claim_about(results, "collapse").numbers == "QQP † 80.0 → 10.0"
    assert "† Partial" in report.listed(report.claims(results))


def test_noise_is_let_pass_and_named():
    slightly = changed(everything(), accuracy("standard", 0.74), system="agglomerative", task="RTE")
    claim = claim_about(slightly, "on each task")
    assert claim.verdict == "within noise"
    assert claim.numbers.startswith("Not so: RTE. ")
    assert "RTE −1.0 (±7.3)" in claim.numbers


def test_without_results_claims_say_so():
    assert {claim.verdict for claim in report.claims({})} == {"no results"}


@pytest.mark.parametrize(("one", "verdict"), [(0.6, "holds"), (0.5, "fails")])
def test_the_share_of_one_encoding_is_held_against_the_papers(one, verdict):
    entries = [Entry(task, "components", "none", tokens="spaces", vocabulary="coca") for task in TASKS]
    assert claim_about(results_of(*((entry, {"one": one}) for entry in entries)), "61.9").verdict == verdict
    assert claim_about(results_of(*((entry, {"one": one}) for entry in entries[:5])), "61.9").verdict == "no results"


@pytest.mark.parametrize(
    ("gains", "spread", "verdict"),
    [((0.036, 0.02), 0.0, "holds"), ((0.036, -0.02), 0.0, "fails"), ((0.036, -0.01), 0.02, "within noise")],
)
def test_gains_by_words_are_held_against_the_spread(gains, spread, verdict):
    results = {}
    for (task, gain), words, seed in itertools.product(zip(("QQP", "RTE"), gains, strict=True), BERT, range(2)):
        tokens, vocabulary = BERT[words]
        entry = Entry(task, "agglomerative", "minilm", tokens=tokens, vocabulary=vocabulary, seed=seed)
        results[entry] = result(entry, robust=0.6 + (gain if words == "words" else 0) + spread * seed)
    claim = claim_about(results, "By words")
    assert claim.verdict == verdict
    assert "QQP +3.6" in claim.numbers
    assert "(earlier +3.6)" in claim.numbers


def test_correlations_of_ranks():
    assert spearman([0, 1, 2], [5, 6, 9]) == pytest.approx(1)
    assert spearman([0, 1, 2], [9, 6, 5]) == pytest.approx(-1)
    assert spearman([0, 1, 2, 3], [5, 5, 5, 5]) == 0
    assert spearman([0, 1, 2, 3], [1, 2, 2, 3]) == pytest.approx(0.9486832980505138)


# -- the command line ---------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A folder of results."""
    for entry, found in everything().items():
        write_result(
            tmp_path / "results", entry, {name: found[name] for name in found if name not in ("format", "entry")}
        )
    return tmp_path / "results"


def run(capsys, *arguments, code=0):
    assert cli.main(["paper", *map(str, arguments)]) == code
    return capsys.readouterr()


def test_results_are_read_as_they_were_written(folder):
    assert report.tables(load_results(folder)) == report.tables(everything())


def test_tables_are_written_and_printed(folder, tmp_path, capsys):
    out, err = run(capsys, "tables", "--results", folder, "--out", tmp_path / "out")
    assert out == (tmp_path / "out" / "tables.md").read_text("utf-8")
    assert "| standard | undefended" in out
    assert (tmp_path / "out" / "tables.tex").read_text("utf-8").count(r"\begin{table}") == out.count("\n### ")
    assert "tables written to" in err


def test_figures_are_written_and_named(folder, tmp_path, capsys):
    out, _ = run(capsys, "figures", "--results", folder, "--out", tmp_path / "out")
    assert sorted(out.split()) == sorted(map(str, (tmp_path / "out").iterdir()))


def test_claims_are_printed_and_strict_ones_fail(folder, capsys):
    out, _ = run(capsys, "claims", "--results", folder, "--strict")
    assert "  - **holds**: linear" in out
    entry = Entry("RTE", "undefended", attacks=("beam",))
    path = folder / f"{entry.name}.json"
    found = json.loads(path.read_text())
    found["attacks"]["beam"]["accuracy"] = 0.8
    path.write_text(json.dumps(found))
    out, _ = run(capsys, "claims", "--results", folder)
    assert "  - **fails**: linear" in out
    _, err = run(capsys, "claims", "--results", folder, "--strict", code=1)
    assert "checks failed" in err


def test_a_folder_without_results_is_an_error(tmp_path, capsys):
    _, err = run(capsys, "tables", "--results", tmp_path, "--out", tmp_path / "out", code=1)
    assert "has no results; measure some" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("damage", "cause"),
    [
        (lambda found: found.update(format=0), "has format 0"),
        (lambda found: found.pop("texts"), "has no texts.log10_perturbations.counts; remove it to measure again"),
        (lambda found: found.pop("standard"), "has no standard.accuracy"),
        (lambda found: found["attacks"].clear(), "has no attacks.beam.accuracy"),
        (lambda found: found["entry"].update(system="magic"), "holds no entry"),
    ],
)
def test_old_and_damaged_results_are_errors(folder, capsys, damage, cause):
    path = folder / f"{Entry('RTE', 'components', attacks=('beam',)).name}.json"
    found = json.loads(path.read_text())
    damage(found)
    path.write_text(json.dumps(found))
    for part in ("tables", "figures", "claims"):
        _, err = run(capsys, part, "--results", folder, code=1)
        assert cause in err
    with pytest.raises(ExperimentError):
        report.tables(load_results(folder))


@pytest.mark.parametrize("part", ["tables", "figures", "claims"])
def test_help_shows_examples(part, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["paper", part, "--help"])
    assert stopped.value.code == 0
    assert f"examples:\n  roben paper {part}" in capsys.readouterr().out
