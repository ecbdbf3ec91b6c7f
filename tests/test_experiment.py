"""The experiment runner: what is planned, what is measured, what is kept, and what is refused."""

import json
import math
import multiprocessing
import os
import re
import shutil
from dataclasses import replace
from itertools import combinations
from math import prod
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import roben
from roben import baseline, cli, data
from roben.attack import attack_accuracy, beam_search, greedy
from roben.baseline import augment
from roben.certificate import certify, robust_accuracy
from roben.classifier import RobustClassifier
from roben.data import DataError
from roben.experiment import (
    EVALUATED,
    FORMAT,
    SYSTEMS,
    TASKS,
    Entry,
    ExperimentError,
    Plan,
    Recipe,
    load_results,
    result_path,
    run,
)
from roben.experiment.workshop import Workshop

REPO = Path(__file__).parent.parent / "paper" / "experiments.toml"
FEW = 1000
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789'!?.,-"

# The official layout of each task: its files, its columns, and a row of them.
LAYOUT = {
    "SST-2": ("train dev", "sentence\tlabel", "{a}\t{is_good}"),
    "MRPC": ("train dev", "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "{is_good}\t1\t2\t{a}\t{b}"),
    "QQP": ("train dev", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "{i}\t2\t3\t{a}\t{b}\t{is_good}"),
    "MNLI": ("train dev_matched", "index\tsentence1\tsentence2\tgold_label", "{i}\t{a}\t{b}\t{of_three}"),
    "QNLI": ("train dev", "index\tquestion\tsentence\tlabel", "{i}\t{a}\t{b}\t{of_two}"),
    "RTE": ("train dev", "index\tsentence1\tsentence2\tlabel", "{i}\t{a}\t{b}\t{of_two}"),
}
N_TRAIN, N_DEV = 60, 20


def write_glue(folder: Path, n_train: int = N_TRAIN, n_dev: int = N_DEV) -> None:
    """Six tasks in GLUE's layout, of the beginnings of reviews."""
    rows = data.reviews("train").head(400)
    texts, labels = (
        [" ".join(str(text).split()[:7]) for text in rows.texts],
        [int(label) for label in rows.labels or ()],
    )
    for task, (splits, header, row) in LAYOUT.items():
        (folder / task).mkdir(parents=True, exist_ok=True)
        for split, first, n in zip(splits.split(), (0, 100), (n_train, n_dev), strict=True):
            lines = [header]
            for i in range(first, first + n):
                of_three = ("neutral", "entailment", "contradiction")[(labels[i] + i) % 3]
                of_two = ("entailment", "not_entailment")[labels[i]]
                a, b = texts[i], texts[i + 200]
                lines.append(row.format(i=i, a=a, b=b, is_good=labels[i], of_three=of_three, of_two=of_two))
            (folder / task / f"{split}.tsv").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="session")
def few(english) -> roben.Vocabulary:
    return roben.Vocabulary(english.words[:FEW], english.counts[:FEW])


@pytest.fixture(autouse=True)
def few_words(few, monkeypatch) -> None:
    """English has few words here, for speed."""
    torch.set_num_threads(1)
    monkeypatch.setattr(
        roben.Vocabulary, "english", classmethod(lambda cls, n=FEW: roben.Vocabulary(few.words[:n], few.counts[:n]))
    )


@pytest.fixture(scope="session")
def shared_glue(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("glue")
    write_glue(folder)
    return folder


@pytest.fixture
def glue(tmp_path) -> Path:
    """A copy that a test may damage."""
    write_glue(tmp_path / "glue")
    return tmp_path / "glue"


@pytest.fixture
def workshop(shared_glue, tmp_path) -> Workshop:
    return Workshop(tmp_path / "work", {"linear": Recipe()}, shared_glue)


@pytest.fixture
def results(tmp_path) -> Path:
    return tmp_path / "results"


@pytest.fixture(scope="session")
def bert(tmp_path_factory) -> Path:
    """A BERT that has learnt nothing yet."""
    folder = tmp_path_factory.mktemp("bert")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    sizes = dict.fromkeys(("hidden_size", "intermediate_size", "max_position_embeddings"), 32)
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(tokens), num_hidden_layers=1, num_attention_heads=2, **sizes)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    return folder


def tiny(bert: Path, **options) -> Recipe:
    return Recipe(str(bert), {"epochs": 1, "max_length": 16, "batch_size": 16, "learning_rate": 1e-2, **options})


@pytest.fixture
def fits(monkeypatch) -> list[RobustClassifier]:
    """Every model that was trained."""
    fit, trained = RobustClassifier.fit, []

    def counted(self, *args, **options):
        trained.append(self)
        return fit(self, *args, **options)

    monkeypatch.setattr(RobustClassifier, "fit", counted)
    return trained


@pytest.fixture
def quick_corrector(monkeypatch) -> None:
    """Typo correctors that see each text but a few times."""
    monkeypatch.setattr(baseline.corrector, "ENOUGH", 2000)


def entry_of(system: str = "undefended", task: str = "SST-2", **options) -> Entry:
    return Entry(task, system, **{"n_words": FEW, **options})


def comparable(results: Path) -> dict[str, str]:
    """All that results hold but how long they took."""
    return {
        path.name: json.dumps({**json.loads(path.read_text()), "seconds": None}, sort_keys=True)
        for path in sorted(results.glob("*.json"))
    }


def never(*args, **options):
    pytest.fail("it trained for hours")


# -- the plan -----------------------------------------------------------------------------------------------


@pytest.fixture
def plan(tmp_path):
    def plan(text: str) -> Plan:
        (tmp_path / "plan.toml").write_text(text)
        return Plan.load(tmp_path / "plan.toml")

    return plan


def test_lists_stand_for_all_their_combinations(plan):
    found = plan('[group.g]\ntask = ["SST-2", "RTE"]\nsystem = ["undefended", "augmentation"]\nseed = [0, 1]\n')
    expected = {
        Entry(task, system, seed=seed)
        for task in ("SST-2", "RTE")
        for system in ("undefended", "augmentation")
        for seed in (0, 1)
    }
    assert len(found.groups["g"]) == 8
    assert set(found.entries()) == expected


def test_names_with_a_comma_are_chosen_together(plan):
    found = plan(
        '[group.g]\ntask = "SST-2"\nsystem = "components"\n'
        '"tokens, vocabulary" = [["spaces", "coca"], ["words", "english"]]\n'
        '"seed, attacks, n_attacked" = [[0, ["beam", "greedy"], 5], [1, [], "all"]]\n'
    )
    assert [(e.tokens, e.vocabulary, e.seed, e.attacks, e.n_attacked) for e in found.entries()] == [
        ("spaces", "coca", 0, ("beam", "greedy"), 5),
        ("spaces", "coca", 1, (), None),
        ("words", "english", 0, ("beam", "greedy"), 5),
        ("words", "english", 1, (), None),
    ]


def test_all_is_no_limit_except_for_rows(plan):
    (found,) = plan(
        '[group.g]\ntask = "SST-2"\nsystem = "components"\nbudget = "all"\nattacks = ["beam"]\nn_attacked = "all"\n'
        'rows = "all"\nlimit_eval = "all"\n'
    ).entries()
    assert (found.budget, found.n_attacked, found.limit_eval, found.rows) == (None, None, None, "all")


def test_attacks_are_a_list_of_one_choice(plan):
    (found,) = plan('[group.g]\ntask = "SST-2"\nsystem = "undefended"\nattacks = ["beam", "greedy"]\n').entries()
    assert found.attacks == ("beam", "greedy")


def test_an_entry_in_two_groups_is_one_entry(plan):
    group = 'task = "SST-2"\nsystem = "undefended"\n'
    found = plan(f"[group.one]\n{group}[group.two]\n{group}seed = [0, 1]\n")
    assert found.entries() == [Entry("SST-2", "undefended"), Entry("SST-2", "undefended", seed=1)]
    assert found.entries(["one"]) == [Entry("SST-2", "undefended")]


def test_entries_are_chosen_by_group_and_by_values(plan):
    found = plan(
        '[group.one]\ntask = ["SST-2", "RTE"]\nsystem = ["undefended", "augmentation"]\n'
        '[group.two]\ntask = "MRPC"\nsystem = "undefended"\n'
    )
    assert {e.task for e in found.entries(["two"])} == {"MRPC"}
    chosen = found.entries(task=["RTE"], system=["augmentation"], seed=[])
    assert chosen == [Entry("RTE", "augmentation")]
    with pytest.raises(ExperimentError, match="no group 'three'; expected one of one, two"):
        found.entries(["three"])
    with pytest.raises(ExperimentError, match="task 'MRPC' chooses no experiment; those that are left have RTE, SST-2"):
        found.entries(["one"], task=["RTE", "MRPC"])


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ('task = "CoLA"', r"task is 'CoLA'; expected one of SST-2, MRPC"),
        ('system = "undefeated"', r"system is 'undefeated'; expected one of undefended"),
        ('model = "bert"', r"model is 'bert'; expected one of linear, small, none"),
        ('surface = "emoji"', r"surface is 'emoji'"),
        ('tokens = "bytes"', r"tokens is 'bytes'"),
        ('vocabulary = "webster"', r"vocabulary is 'webster'"),
        ('rows = "some"', r"rows is 'some'"),
        ("gamma = 1.5", r"gamma is 1.5"),
        ("gamma = nan", r"gamma is nan"),
        ('gamma = "much"', r"gamma|str"),
        ('attacks = ["magic"]', r"no attack 'magic'"),
        ("colour = 1", r"found 'colour'; expected some of attacks, budget"),
        ('"tokens, colour" = [["words", 1]]', r"found 'colour'"),
        ("gamma = true", r"gamma is True"),
        ("budget = -1", r"budget is -1; expected a whole number, 0 or more"),
        ("budget = 1.5", r"budget is 1.5"),
        ('seed = "a"', r"seed is 'a'"),
        ("seed = -1", r"seed is -1"),
        ("seed = []", r"an empty list chooses nothing"),
        ('seed = "all"', r"seed is None"),
        ('n_words = "many"', r"n_words is 'many'"),
        ("n_words = 0", r"n_words is 0; expected a whole number, 1 or more"),
        ('n_words = "all"', r"n_words is None"),
        ("limit_train = 0", r"limit_train is 0; expected a whole number, 1 or more"),
        ("limit_train = -3", r"limit_train is -3"),
        ("limit_train = true", r"limit_train is True"),
        ("limit_eval = 0", r"limit_eval is 0"),
        ('limit_eval = "few"', r"limit_eval is 'few'"),
        ('n_attacked = 0\nattacks = ["beam"]', r"n_attacked is 0"),
        ('max_queries = 0\nattacks = ["greedy"]', r"max_queries is 0"),
        ('attacks = ["beam", "beam"]', r"each may be named once"),
        ('"tokens, vocabulary" = [["spaces"]]', r"."),
        ('"tokens, vocabulary" = 5', r"."),
        ('"tokens, vocabulary" = [["spaces", "coca"]]\ntokens = "words"', r"a setting is chosen twice"),
    ],
)
def test_a_group_that_is_wrong_is_named_with_its_file(plan, line, cause):
    settings = {"task": 'task = "SST-2"', "system": 'system = "agglomerative"'}
    settings[line.split()[0]] = line
    text = "\n".join(["[model.small]", 'transformer = "x"', "[group.odd]", *settings.values()])
    with pytest.raises(ExperimentError, match=rf"plan\.toml, group odd: .*({cause})"):
        plan(text)


def test_a_group_without_task_or_system_is_named_with_its_file(plan):
    with pytest.raises(ExperimentError, match=r"plan\.toml, group odd: .*system"):
        plan('[group.odd]\ntask = "SST-2"\n')


def test_an_option_that_no_model_has_is_named_with_its_file(plan):
    for options in ("pace = 1", "augmentation = { pace = 1 }"):
        with pytest.raises(ExperimentError, match=r"plan\.toml, model small: 'pace' is no option; expected batch_size"):
            plan(f'[model.small]\ntransformer = "x"\n{options}\n')


@pytest.mark.parametrize(
    "text", ["[group.g\n", 'task = "', "group = 5\n", "group = [1]\n", "[group]\nmain = 5\n", "model = 1\n"]
)
def test_a_file_that_is_no_plan_is_named(plan, text):
    with pytest.raises(ExperimentError, match=r"plan\.toml"):
        plan(text)


@pytest.mark.parametrize("text", ["", '[model.small]\ntransformer = "x"\n', "[group]\n"])
def test_a_plan_without_groups_is_refused(plan, text):
    with pytest.raises(ExperimentError, match=r"plan\.toml has no groups of experiments; expected \[group\.NAME\]"):
        plan(text)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('[groups.main]\ntask = "SST-2"\n', "found the table 'groups'"),
        ("[model.a]\nlearning_rate = 1e-3\n", 'model a: expected transformer = "NAME"'),
        ("[model.a]\ntransformer = 5\n", 'model a: expected transformer = "NAME"'),
        ('[model.a]\ntransformer = "x"\naugmentation = 5\n', "augmentation = { options }"),
        ('[model.a]\ntransformer = "x"\nepochs = "many"\n', "model a: epochs is 'many'; expected a number"),
        ('[model.a]\ntransformer = "x"\naugmentation = { epochs = true }\n', "epochs is True; expected a number"),
        ('[model."a/b"]\ntransformer = "x"\n', "model 'a/b': expected small letters"),
        ('[model.none]\ntransformer = "x"\n', "model 'none': .* not none or linear"),
        ('[model.linear]\ntransformer = "x"\n', "model 'linear': .* not none or linear"),
        # Names that differ by case only would make the same files on some systems.
        ('[model.A]\ntransformer = "x"\n[model.a]\ntransformer = "y"\n', "model 'A': expected small letters"),
        ('[group."../g"]\ntask = "SST-2"\n', "group '../g': expected small letters"),
    ],
)
def test_what_is_wrong_with_a_plan_is_found_when_it_is_read(plan, text, cause):
    with pytest.raises(ExperimentError, match=rf"plan\.toml.*{cause}"):
        plan(f'{text}[group.g]\ntask = "SST-2"\nsystem = "undefended"\n')


def test_a_plan_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ExperimentError, match=r"nothing\.toml does not exist; expected a file of experiments"):
        Plan.load(tmp_path / "nothing.toml")
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(ExperimentError, match=r"latin\.toml is not readable as TOML"):
        Plan.load(tmp_path / "latin.toml")


def test_augmented_text_may_have_options_of_its_own(plan):
    text = '[model.small]\ntransformer = "x"\nepochs = 4\naugmentation = { epochs = 1 }\n'
    recipe = plan(f'{text}[group.g]\ntask = "SST-2"\nsystem = "undefended"\n').recipes["small"]
    assert recipe.for_system("undefended") == {"epochs": 4}
    assert recipe.for_system("augmentation") == {"epochs": 1}


# -- entries ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"system": "components", "gamma": 0.1}, {"system": "components", "gamma": 0.9}),
        ({"system": "undefended", "gamma": 0.1}, {"system": "undefended"}),
        ({"system": "undefended", "vocabulary": "coca"}, {"system": "undefended"}),
        ({"system": "augmentation", "n_words": 10}, {"system": "augmentation"}),
        ({"system": "symspell", "vocabulary": "coca", "gamma": 0}, {"system": "symspell"}),
        ({"system": "components", "n_attacked": 5, "max_queries": 7}, {"system": "components"}),
        ({"system": "components", "model": "none", "seed": 1}, {"system": "components", "model": "none"}),
        ({"system": "components", "model": "none", "attacks": ("beam",)}, {"system": "components", "model": "none"}),
        ({"system": "components", "model": "none", "limit_train": 5}, {"system": "components", "model": "none"}),
        (
            {"system": "undefended", "attacks": ("beam",), "max_queries": 5},
            {"system": "undefended", "attacks": ("beam",)},
        ),
        (
            {"system": "undefended", "attacks": ("beam", "greedy")},
            {"system": "undefended", "attacks": ("greedy", "beam")},
        ),
        ({"system": "agglomerative", "gamma": 1}, {"system": "agglomerative", "gamma": 1.0}),
    ],
)
def test_equal_measurements_are_equal_entries(one, other):
    assert Entry("SST-2", **one) == Entry("SST-2", **other)
    assert Entry("SST-2", **one).name == Entry("SST-2", **other).name
    # Keys of kept models are made of it.
    assert json.dumps(Entry("SST-2", **one).as_json()) == json.dumps(Entry("SST-2", **other).as_json())


DIFFERENT = [
    {"task": "RTE"},
    {"system": "components"},
    {"system": "undefended"},
    {"model": "small"},
    {"surface": "permutations"},
    {"tokens": "spaces"},
    {"vocabulary": "coca"},
    {"n_words": 10},
    {"gamma": 0.4},
    {"gamma": 0.40000001},
    {"gamma": 0.0},
    {"gamma": 1.0},
    {"seed": 1},
    {"budget": 0},
    {"budget": 1},
    {"attacks": ("beam",)},
    {"attacks": ("greedy",)},
    {"attacks": ("greedy",), "n_attacked": 5},
    {"attacks": ("greedy",), "max_queries": 5},
    {"rows": "validation"},
    {"limit_train": 5},
    {"limit_eval": 5},
    {},
]


def test_different_entries_have_different_names():
    entries = [Entry(**{"task": "SST-2", "system": "agglomerative", **options}) for options in DIFFERENT]
    assert len(set(entries)) == len(entries)
    for one, other in combinations(entries, 2):
        assert one.name != other.name


def test_an_entry_survives_json():
    for options in DIFFERENT:
        entry = Entry(**{"task": "SST-2", "system": "agglomerative", **options})
        again = Entry.from_json(json.loads(json.dumps(entry.as_json())))
        assert again == entry
        assert hash(again) == hash(entry)
        assert again.name == entry.name


def test_partial_runs_have_names_of_their_own():
    entry = Entry("SST-2", "undefended")
    assert "train5" in replace(entry, limit_train=5).name
    assert "eval7" in replace(entry, limit_eval=7).name
    assert not re.search(r"train\d|eval\d", entry.name)


@pytest.mark.parametrize("limits", [{"limit_train": 0}, {"limit_eval": 0}, {"limit_train": -1}, {"limit_eval": 2.0}])
def test_limits_are_whole_numbers_from_one(limits):
    ((name, value),) = limits.items()
    with pytest.raises(ExperimentError, match=f"{name} is {value}; expected a whole number, 1 or more"):
        entry_of(**limits)
    with pytest.raises(ExperimentError, match=name):
        replace(entry_of(), **limits)


# -- the repository's plan ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def repository() -> Plan:
    if not REPO.exists():
        pytest.skip("installed without the folder paper")
    return Plan.load(REPO)


def test_the_names_of_the_repositorys_entries_are_different_safe_file_names(repository):
    entries = repository.entries()
    names = [entry.name for entry in entries]
    assert len(set(names)) == len(entries) > 500
    for name in names:
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*[a-z0-9]", name)
        assert len(name) < 200
    for entry in entries:
        assert Entry.from_json(json.loads(json.dumps(entry.as_json()))) == entry


def test_each_groups_entries_name_models_that_have_a_recipe_and_each_recipe_is_used(repository):
    assert {entry.model for entry in repository.entries()} == {*repository.recipes, "none"}


def test_each_groups_entries_are_whole(repository):
    for name, entries in repository.groups.items():
        for entry in entries:
            assert entry.n_words == 100_000
            assert entry.rows == ("validation" if name == "tuning" else "all")
            assert (entry.limit_train, entry.limit_eval) == (None, None)


FOUR = ("undefended", "augmentation", "components", "agglomerative")


def covered(plan: Plan, *names: str, **wanted) -> set[tuple]:
    entries = plan.entries(**{name: [value] for name, value in wanted.items()})
    return {tuple(getattr(entry, name) for name in names) for entry in entries}


@pytest.mark.parametrize("surface", ["edits", "permutations"])
def test_the_plan_has_every_cell_of_the_main_and_permutation_tables(repository, surface):
    lists = {("components", "spaces"): "coca", ("agglomerative", "spaces"): "coca"}  # where there is an encoding
    choices = [(system, tokens) for system in FOUR for tokens in ("words", "spaces")]
    cells = {(task, *choice, lists.get(choice, "english")) for task in TASKS for choice in choices}
    for model, seeds in (("linear", [0]), ("minilm", [0, 1, 2])):
        for seed in seeds:
            wanted = repository.entries(model=[model], surface=[surface], seed=[seed], budget=[None])
            usual = [entry for entry in wanted if entry.system != "agglomerative" or entry.gamma == 0.3]
            usual = [entry for entry in usual if entry.rows == "all"]
            assert {(e.task, e.system, e.tokens, e.vocabulary) for e in usual} >= cells
            if seed == 0:
                attacked = [entry for entry in usual if "beam" in entry.attacks]
                assert {(e.task, e.system, e.tokens, e.vocabulary) for e in attacked} >= cells


def test_the_plan_has_the_typo_corrector_of_every_task(repository):
    assert covered(repository, "task", system="typo-corrector", surface="edits") == {(task,) for task in TASKS}


@pytest.mark.parametrize("surface", ["edits", "permutations"])
def test_the_plan_has_all_systems_with_the_linear_model_and_with_bert(repository, surface):
    cells = {(task, system) for task in TASKS for system in (*FOUR, "typo-corrector")}
    assert covered(repository, "task", "system", model="linear", surface=surface, rows="all") >= cells
    assert covered(repository, "task", "system", model="bert", surface=surface, tokens="spaces", rows="all") >= cells


def test_the_plan_tunes_gamma_on_rows_that_are_not_reported(repository):
    tenths = {(gamma / 10,) for gamma in range(11)}
    assert covered(repository, "gamma", task="SST-2", system="agglomerative", rows="validation") == tenths


def test_the_plan_has_every_cell_of_the_one_encoding_table(repository):
    cells = {(task, system) for task in TASKS for system in ("components", "agglomerative")}
    wanted = {"model": "none", "tokens": "spaces", "vocabulary": "coca", "n_words": 100_000, "surface": "edits"}
    assert covered(repository, "task", "system", **wanted) == cells


def test_the_plan_has_every_point_of_the_figures(repository):
    points = {(model, gamma / 10) for model in ("linear", "minilm") for gamma in range(11)}
    assert (
        covered(repository, "model", "gamma", task="SST-2", system="agglomerative", budget=None, rows="all") >= points
    )
    budgets = {(model, budget) for model in ("linear", "minilm") for budget in (*range(7), None)}
    for system in ("undefended", "components", "agglomerative"):
        assert covered(repository, "model", "budget", task="SST-2", system=system, rows="all") >= budgets


# -- shared models ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"system": "components"}, {"system": "components", "budget": 2}),
        ({"system": "components"}, {"system": "components", "limit_eval": 5}),
        ({"system": "components"}, {"system": "components", "attacks": ("beam",), "n_attacked": 1}),
        ({"system": "undefended"}, {"system": "undefended", "surface": "permutations"}),
        ({"system": "undefended"}, {"system": "undefended", "tokens": "spaces"}),
        ({"system": "undefended"}, {"system": "symspell", "tokens": "spaces"}),
        ({"system": "undefended"}, {"system": "typo-corrector", "surface": "permutations"}),
    ],
)
def test_entries_that_share_a_model_train_it_once(workshop, fits, quick_corrector, one, other):
    first, second = workshop.model(entry_of(**one)), workshop.model(entry_of(**other))
    assert len(fits) == 1
    texts = workshop.evaluation(entry_of()).texts
    shared = getattr(second, "model", second)
    assert shared.predict_proba(texts).tolist() == first.predict_proba(texts).tolist()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"task": "RTE"}),
        ({}, {"limit_train": 20}),
        ({}, {"rows": "validation"}),
        ({}, {"system": "augmentation"}),
        ({"system": "augmentation"}, {"system": "augmentation", "seed": 1}),
        ({"system": "augmentation"}, {"system": "augmentation", "surface": "permutations"}),
        ({"system": "components"}, {"system": "agglomerative"}),
        ({"system": "agglomerative"}, {"system": "agglomerative", "gamma": 0.4}),
        ({"system": "components"}, {"system": "components", "tokens": "spaces"}),
        ({"system": "components"}, {"system": "components", "surface": "permutations"}),
        ({"system": "components"}, {"system": "components", "n_words": FEW // 2}),
    ],
)
def test_entries_that_share_no_model_train_two(workshop, fits, one, other):
    workshop.model(entry_of(**one))
    workshop.model(entry_of(**other))
    assert len(fits) == 2


def test_a_changed_recipe_trains_anew(workshop, bert, fits):
    entry = entry_of(model="small", limit_train=16)
    for recipe, n in ((tiny(bert), 1), (tiny(bert), 1), (tiny(bert, learning_rate=1e-3), 2)):
        replace(workshop, recipes={"small": recipe}, device="cpu").model(entry)
        assert len(fits) == n


def test_models_of_other_training_rows_are_not_taken(workshop, glue, fits):
    write_glue(glue, n_train=30)
    workshop.model(entry_of())
    replace(workshop, glue=glue).model(entry_of())
    assert len(fits) == 2


def test_encodings_of_another_list_of_words_are_not_taken(workshop, tmp_path):
    entry = entry_of("components", vocabulary="coca", n_words=3)
    found = []
    for name, words in (("one.txt", "the\ngood\nfilm\n"), ("two.txt", "a\nbad\nmovie\n")):
        (tmp_path / name).write_text(words)
        found.append(replace(workshop, words=tmp_path / name).encoding(entry).vocabulary.words)
    assert found == [("the", "good", "film"), ("a", "bad", "movie")]


def test_kept_models_are_loaded(workshop, results, tmp_path, monkeypatch):
    entries = [entry_of(), entry_of("augmentation"), entry_of("components")]
    run(entries, workshop, results)
    monkeypatch.setattr(RobustClassifier, "fit", never)
    run(entries, replace(workshop), tmp_path / "again")
    assert comparable(tmp_path / "again") == comparable(results)


def test_a_work_folder_that_was_deleted_is_made_again(workshop, results, tmp_path, fits):
    entries = [entry_of(), entry_of("augmentation"), entry_of("components", attacks=("beam",))]
    run(entries, workshop, results)
    shutil.rmtree(workshop.folder)
    run(entries, workshop, tmp_path / "again")
    assert len(fits) == 6
    assert comparable(tmp_path / "again") == comparable(results)


# -- results ------------------------------------------------------------------------------------------------


def test_a_result_says_what_was_measured_with_what(workshop, results):
    entry = entry_of("components", attacks=("beam",), n_attacked=4, seed=3)
    assert run([entry], workshop, results) == [entry]
    ((found, result),) = load_results(results).items()
    assert found == entry
    assert result_path(results, entry).exists()
    assert result["format"] == FORMAT
    assert Entry.from_json(result["entry"]) == entry
    assert result["fingerprint"] == workshop.encoding(entry).fingerprint
    assert result["identity"] == json.loads(json.dumps(workshop.identity(entry)))
    of_words = {"words"} if entry.is_encoded or entry.system == "symspell" else set()
    assert set(result["identity"]) == {"evaluated", "trained", "recipe"} | of_words
    assert result["versions"]["roben"] == roben.__version__
    assert {"training or loading", "predicting", "certifying", "attacking (beam)"} <= set(result["seconds"])


def test_nothing_is_measured_twice(workshop, results, fits):
    one, two = entry_of(), entry_of("augmentation")
    assert run([one, one], workshop, results) == [one]
    before = result_path(results, one).stat().st_mtime_ns
    assert run([two, one], workshop, results) == [two]
    assert run([one, two], workshop, results) == []
    assert result_path(results, one).stat().st_mtime_ns == before
    assert len(fits) == 2


def test_each_entry_is_told_of_from_its_beginning_to_its_end(workshop, results):
    """Those that have a result too, so that all can be counted."""
    known, text_only = entry_of(), entry_of("components", model="none")
    encoded = entry_of("components", attacks=("greedy", "beam"), max_queries=9, n_attacked=2)
    run([known], workshop, results)
    told = []
    run([encoded, known, text_only], workshop, results, watch=lambda *news: told.append(news))
    assert told[0] == (known, "there")
    assert [stage for entry, stage in told if entry == known] == ["there"]
    assert [stage for entry, stage in told if entry == text_only] == ["reading", "done"]
    assert [stage for entry, stage in told if entry == encoded] == [
        "reading",
        "training",
        "predicting",
        "certifying",
        "attacking (beam)",
        "attacking (greedy)",
        "done",
    ]


@pytest.mark.parametrize("other", ["recipe", "augmented recipe", "weights"])
def test_a_result_of_another_recipe_is_not_taken_for_this_ones(workshop, results, tmp_path, bert, monkeypatch, other):
    shutil.copytree(bert, tmp_path / "bert")
    entry = entry_of("augmentation", model="small", limit_train=8, limit_eval=2)
    recipe = replace(tiny(bert), augmented={"epochs": 1})
    run([entry], replace(workshop, recipes={"small": recipe}, device="cpu"), results)
    if other == "recipe":
        recipe = replace(recipe, options={**recipe.options, "learning_rate": 1e-3})
    elif other == "augmented recipe":
        recipe = replace(recipe, augmented={"epochs": 2})
    else:
        torch.manual_seed(1)
        config = transformers.BertConfig.from_pretrained(bert)
        transformers.BertForSequenceClassification(config).save_pretrained(tmp_path / "bert")
        recipe = replace(recipe, place=tmp_path / "bert")
    monkeypatch.setattr(RobustClassifier, "fit", never)
    before = comparable(results)
    for wanted in ([entry], [replace(entry, seed=1), entry]):
        with pytest.raises(ExperimentError, match=f"{entry.name}.json was measured with .*recipe: move it away"):
            run(wanted, replace(workshop, recipes={"small": recipe}, device="cpu"), results)
    assert comparable(results) == before


def test_a_result_knows_a_transformer_by_its_weights_wherever_they_lie(workshop, results, tmp_path, bert):
    shutil.copytree(bert, tmp_path / bert.name)
    entry = entry_of(model="small", limit_train=8, limit_eval=2)
    assert run([entry], replace(workshop, recipes={"small": tiny(bert)}, device="cpu"), results) == [entry]
    moved = replace(tiny(bert), place=tmp_path / bert.name)
    assert run([entry], replace(workshop, recipes={"small": moved}, device="cpu"), results) == []


def test_a_result_of_other_rows_is_not_taken_for_this_ones(workshop, results, glue, monkeypatch):
    whole, texts = entry_of(), entry_of("components", model="none")
    run([whole, texts], workshop, results)
    monkeypatch.setattr(RobustClassifier, "fit", never)
    write_glue(glue, n_train=30)
    assert run([texts], replace(workshop, glue=glue), results) == []  # which needs no training rows
    with pytest.raises(ExperimentError, match=rf"{whole.name}\.json was measured with .*training rows"):
        run([whole], replace(workshop, glue=glue), results)
    elsewhere = glue.parent / "elsewhere"
    write_glue(elsewhere, n_dev=10)
    for entry in (whole, texts):
        with pytest.raises(ExperimentError, match=rf"{entry.name}\.json was measured with .*rows"):
            run([entry], replace(workshop, glue=elsewhere), results)


def test_a_result_of_another_list_of_words_is_not_taken_for_this_ones(workshop, results, tmp_path):
    entry = entry_of("components", model="none", vocabulary="coca", n_words=3)
    for name, words in (("one.txt", "the\ngood\nfilm\n"), ("same.txt", "the\ngood\nfilm\n"), ("two.txt", "a\nbad\n")):
        (tmp_path / name).write_text(words)
    assert run([entry], replace(workshop, words=tmp_path / "one.txt"), results) == [entry]
    assert run([entry], replace(workshop, words=tmp_path / "same.txt"), results) == []
    with pytest.raises(ExperimentError, match=r"was measured with .*list of words"):
        run([entry], replace(workshop, words=tmp_path / "two.txt"), results)


def test_a_result_holds_the_recipe_and_no_place_of_this_machine(workshop, results, bert, tmp_path):
    workshop = replace(workshop, recipes={"small": tiny(bert, learning_rate=0.0123)}, device="cpu")
    entry = entry_of(model="small", limit_train=16, limit_eval=4)
    run([entry], workshop, results)
    text = result_path(results, entry).read_text()
    assert json.loads(text)["identity"]["recipe"]["options"]["learning_rate"] == 0.0123
    for place in (bert, tmp_path, workshop.glue):
        assert str(place) not in text


def test_a_run_that_was_interrupted_goes_on(workshop, results, tmp_path):
    entries = [entry_of(), entry_of("augmentation"), entry_of("components")]
    run(entries, workshop, tmp_path / "undisturbed")
    expected = comparable(tmp_path / "undisturbed")
    stages = []

    def stop(entry, stage):
        stages.append(stage)
        if stages.count("done") == 1 and stage == "predicting":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(entries, workshop, results, watch=stop)
    assert len(load_results(results)) == 1
    assert len(run(entries, workshop, results)) == 2
    assert comparable(results) == expected


def test_an_entry_that_fails_does_not_stop_the_others(workshop, results, monkeypatch):
    def fail(*args, **options):
        raise ValueError("nothing to augment")

    entries = [entry_of("augmentation"), entry_of(), entry_of("components")]
    told = []
    with monkeypatch.context() as patch:
        patch.setattr("roben.experiment.workshop.augment", fail)
        with pytest.raises(ExperimentError, match=r"1 of 3 entries failed\. sst-2\.augmentation.*nothing to augment"):
            run(entries, workshop, results, watch=lambda entry, stage: told.append((entry, stage)))
    assert set(load_results(results)) == set(entries[1:])
    assert (entries[0], "failed: ValueError: nothing to augment") in told
    assert [stage for entry, stage in told if entry == entries[1]][-1] == "done"
    assert run(entries, workshop, results) == entries[:1]


OLDER, NEWER = {"format": FORMAT - 1}, {"format": FORMAT + 1}


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("", "not readable as JSON"),
        ('{"format": 1, "entry": {"ta', "not readable as JSON"),
        (b"\xff\xfe", "not readable as JSON"),
        ("[1, 2]", "is no result"),
        ('{"name": "package", "version": 1}', "is no result"),
        (OLDER, rf"format {FORMAT - 1}, and this roben writes {FORMAT}"),
        (NEWER, rf"format {FORMAT + 1}, and this roben writes {FORMAT}"),
        ({"entry": {"task": "SST-2"}}, "no entry that this roben knows"),
        ({"entry": 5}, "no entry that this roben knows"),
        ({"entry": {**entry_of().as_json(), "colour": 1}}, "no entry that this roben knows"),
        ({"entry": {**entry_of().as_json(), "system": "magic"}}, "system is 'magic'"),
        ({"entry": {**entry_of().as_json(), "attacks": None}}, "no entry that this roben knows"),
        ({"entry": entry_of("augmentation").as_json()}, "the result of sst-2.augmentation.*name was changed"),
    ],
)
def test_a_result_that_is_none_is_found_before_anything_long(workshop, results, monkeypatch, content, cause):
    entry = entry_of()
    run([entry], workshop, results)
    path = result_path(results, entry)
    if isinstance(content, dict):
        content = json.dumps({**json.loads(path.read_text()), **content})
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.setattr(RobustClassifier, "fit", never)
    with pytest.raises(ExperimentError, match=rf"{re.escape(str(path))}.*{cause}"):
        run([entry_of("augmentation"), entry], workshop, results)
    with pytest.raises(ExperimentError, match=re.escape(path.name)):
        load_results(results)


def test_old_results_of_other_entries_are_found_before_anything_long(workshop, results, monkeypatch):
    """As the tables are made of all results of a folder."""
    results.mkdir()
    (results / "sst-2.undefended.json").write_text('{"format": 0, "entry": {}}')
    monkeypatch.setattr(RobustClassifier, "fit", never)
    with pytest.raises(ExperimentError, match="format 0"):
        run([entry_of()], workshop, results)


def test_results_that_cannot_be_kept_are_refused_before_anything_long(workshop, results, monkeypatch):
    results.write_text("a file")
    monkeypatch.setattr(RobustClassifier, "fit", never)
    with pytest.raises(ExperimentError, match=f"cannot be kept in {re.escape(str(results))}, which is a file"):
        run([entry_of()], workshop, results)
    assert results.read_text() == "a file"


def test_a_folder_without_results_has_none(tmp_path):
    assert load_results(tmp_path / "nothing") == {}


# -- side by side -------------------------------------------------------------------------------------------


def test_processes_side_by_side_measure_the_same(workshop, results, tmp_path):
    entries = [entry_of(system, task) for task in ("SST-2", "RTE") for system in ("undefended", "augmentation")]
    run(entries, replace(workshop, folder=tmp_path / "alone"), tmp_path / "expected")
    told, environment = [], dict(os.environ)
    measured = run(entries, workshop, results, parallel=2, watch=lambda entry, stage: told.append((entry, stage)))
    assert sorted(measured) == sorted(entries)
    for entry in entries:
        assert [stage for of, stage in told if of == entry] == ["reading", "training", "predicting", "done"]
    assert multiprocessing.active_children() == []
    assert dict(os.environ) == environment
    assert comparable(results) == comparable(tmp_path / "expected")


def test_there_is_at_least_one_process(workshop, results):
    with pytest.raises(ExperimentError, match="parallel is 0"):
        run([entry_of()], workshop, results, parallel=0)


# -- bad input ----------------------------------------------------------------------------------------------


@pytest.fixture
def refused(glue, tmp_path, monkeypatch):
    """Runs a good entry and a bad one, and sees that nothing was trained."""

    def refused(entry: Entry, cause: str, error: type[Exception] = ExperimentError, **options) -> None:
        monkeypatch.setattr(RobustClassifier, "fit", never)
        workshop = replace(Workshop(tmp_path / "work", {"linear": Recipe()}, glue), **options)
        told = []
        with pytest.raises(error, match=cause):
            run([entry_of(), entry], workshop, tmp_path / "results", watch=lambda *news: told.append(news))
        assert told == []
        assert not (tmp_path / "results").exists()

    return refused


def test_a_missing_task_folder_is_found_before_anything_long(glue, refused):
    shutil.rmtree(glue / "RTE")
    refused(entry_of(task="RTE"), "no folder RTE", DataError)


def test_a_missing_file_is_found_before_anything_long(glue, refused):
    (glue / "MNLI" / "dev_matched.tsv").unlink()
    refused(entry_of(task="MNLI"), r"holds no dev_matched\.tsv", DataError)


@pytest.mark.parametrize(("task", "split"), [("RTE", "train"), ("MNLI", "dev_matched"), ("MRPC", "dev")])
def test_a_wrong_header_is_found_before_anything_long(glue, refused, task, split):
    path = glue / task / f"{split}.tsv"
    path.write_text("one\ttwo\nthree\tfour\n")
    refused(entry_of(task=task), rf"{re.escape(str(path))}: expected columns .*found 'one', 'two'", DataError)


@pytest.mark.parametrize(("task", "split"), [("QQP", "train"), ("QNLI", "dev")])
def test_a_row_with_a_missing_field_is_named_by_file_and_line(glue, refused, task, split):
    path = glue / task / f"{split}.tsv"
    lines = path.read_text().splitlines()
    lines[7] = lines[7].rpartition("\t")[0]
    path.write_text("\n".join(lines) + "\n")
    refused(entry_of(task=task), rf"{re.escape(str(path))}, line 8: found \d fields?, expected", DataError)


def test_a_task_without_labels_is_found_before_anything_long(glue, refused):
    (glue / "RTE" / "dev.tsv").write_text("sentence1\tsentence2\na\tb\n")
    refused(entry_of(task="RTE"), "expected a column 'label'", DataError)


def test_a_list_of_words_that_is_not_there_is_found_before_anything_long(refused, tmp_path):
    entry = entry_of("components", vocabulary="coca")
    refused(entry, r"words from a list by rank, and none is no file \(--words\)")
    refused(entry, r"words from a list by rank.*nowhere\.txt is no file", words=tmp_path / "nowhere.txt")


def test_a_transformer_that_is_not_there_is_found_before_anything_long(refused, tmp_path):
    recipes = {"linear": Recipe(), "small": Recipe(str(tmp_path / "nowhere"))}
    cause = r"nowhere has no config\.json, and is to be the model small \(--model\)"
    refused(entry_of(model="small"), cause, recipes=recipes)
    refused(entry_of(model="small"), cause, recipes={**recipes, "small": Recipe("of-the-hub", place=Path("nowhere"))})
    (tmp_path / "nowhere").mkdir()
    refused(entry_of(model="small"), cause, recipes=recipes)


def test_a_device_that_is_not_there_is_found_before_anything_long(refused, bert):
    recipes = {"linear": Recipe(), "small": tiny(bert)}
    refused(entry_of(model="small"), "device is 'nonsense'; expected cuda, cpu", recipes=recipes, device="nonsense")


def test_a_model_without_a_recipe_is_found_before_anything_long(refused):
    refused(entry_of(model="large"), "there is no model 'large'")


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_file_without_rows_or_labels_is_found_before_anything_long(glue, refused, split):
    header = "index\tsentence1\tsentence2\tlabel\n"
    (glue / "RTE" / f"{split}.tsv").write_text(header)
    refused(entry_of(task="RTE"), rf"{split}\.tsv holds no rows", DataError)
    (glue / "RTE" / f"{split}.tsv").write_text(f"{header}0\ta\tb\t\n")
    refused(entry_of(task="RTE"), rf"{split}\.tsv, line 2: the label in 'label' is missing", DataError)


def test_labels_that_training_does_not_have_are_found_before_anything_long(glue, refused):
    """One odd label makes all labels of the file str, and the accuracy of every undefended system 0."""
    with (glue / "SST-2" / "dev.tsv").open("a") as file:
        file.write("odd\tunsure\n")
    refused(entry_of("augmentation"), "SST-2 dev has labels that SST-2 train has not: .*'unsure'")


# -- rows ---------------------------------------------------------------------------------------------------


def test_partial_results_say_so(workshop, results):
    entries = [entry_of(), entry_of(limit_train=30), entry_of(limit_eval=7)]
    run(entries, workshop, results)
    found = load_results(results)
    about = [found[entry]["data"] for entry in entries]
    assert [(each["n_train"], each["n_evaluation"]) for each in about] == [(N_TRAIN, N_DEV), (30, N_DEV), (N_TRAIN, 7)]
    assert all(each["is_partial"] and each["n_train_of_task"] == 67_349 for each in about)
    assert [found[entry]["standard"]["n"] for entry in entries] == [N_DEV, N_DEV, 7]


def test_whole_tasks_are_not_partial(workshop, results, monkeypatch):
    monkeypatch.setitem(TASKS, "RTE", (N_TRAIN, "dev"))
    monkeypatch.setitem(EVALUATED, ("RTE", "dev"), N_DEV)
    entries = [entry_of(task="RTE"), entry_of(task="RTE", limit_eval=7), entry_of(task="RTE", limit_train=7)]
    run(entries, workshop, results)
    assert [load_results(results)[entry]["data"]["is_partial"] for entry in entries] == [False, True, True]


def test_some_of_the_rows_of_a_task_are_partial_whether_to_train_on_or_to_measure_on(workshop, results, monkeypatch):
    monkeypatch.setitem(TASKS, "QQP", (N_TRAIN, "dev"))  # whole, but its dev here has fewer rows than GLUE's
    monkeypatch.setitem(EVALUATED, ("RTE", "dev"), N_DEV)  # the other way round
    entries = [entry_of(task=task) for task in ("QQP", "RTE")]
    # Without a model it does not matter what there is to train on.
    entries += [entry_of("components", task, model="none") for task in ("QQP", "RTE")]
    run(entries, workshop, results)
    assert [load_results(results)[entry]["data"]["is_partial"] for entry in entries] == [True, True, True, False]


def test_validation_rows_are_a_fifth_of_train_that_is_not_trained_on(workshop):
    whole = workshop.train(entry_of())
    train = workshop.train(entry_of(rows="validation"))
    held_out = workshop.evaluation(entry_of(rows="validation"))
    assert (len(train), len(held_out)) == (48, 12)
    assert set(train.texts) & set(held_out.texts) == set()
    assert set(train.texts) | set(held_out.texts) == set(whole.texts)
    smaller = entry_of(rows="validation", limit_train=10, limit_eval=5)
    assert len(workshop.train(smaller)) == 10
    assert set(workshop.train(smaller).texts) < set(train.texts)
    assert set(workshop.evaluation(smaller).texts) < set(held_out.texts)


def test_limits_take_rows_of_the_whole(workshop):
    fewer, more = (workshop.train(entry_of(limit_train=n)) for n in (10, 20))
    assert set(fewer.texts) < set(more.texts) < set(workshop.train(entry_of()).texts)
    assert len(workshop.evaluation(entry_of(limit_eval=10_000))) == N_DEV


@pytest.mark.parametrize(
    ("task", "test", "expected"),
    [
        ("MRPC", "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t1\t2\ta\tb\n0\t1\t2\tc\td\n", "MRPC test"),
        ("MRPC", "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t1\t2\ta\tb\n", "MRPC dev"),
        ("SST-2", "sentence\tlabel\ngood\t1\nbad\t0\n", "SST-2 test"),
        ("SST-2", "index\tsentence\n0\tgood\n", "SST-2 dev"),
        ("SST-2", "sentence\tlabel\ngood\t-1\nbad\t-1\n", "SST-2 dev"),
        ("RTE", "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tentailment\n", "RTE dev"),
    ],
)
def test_the_papers_split_is_taken_where_it_has_labels(glue, workshop, task, test, expected):
    (glue / task / "test.tsv").write_text(test)
    assert replace(workshop, glue=glue).evaluation(entry_of(task=task)).name == expected


def test_a_broken_test_file_is_an_error_and_not_another_split(glue, workshop):
    (glue / "MRPC" / "test.tsv").write_text("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t2\t3\tfew\n")
    with pytest.raises(DataError, match="line 2"):
        replace(workshop, glue=glue).evaluation(entry_of(task="MRPC"))


# -- measurements -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["SST-2", "MNLI"])
@pytest.mark.parametrize("surface", ["edits", "permutations"])
@pytest.mark.parametrize(("tokens", "budget"), [("words", None), ("spaces", 1)])
def test_an_encoded_system_is_measured_as_the_library_does(workshop, results, few, task, surface, tokens, budget):
    entry = entry_of("agglomerative", task, surface=surface, tokens=tokens, budget=budget, attacks=("beam",), gamma=0.2)
    run([entry], workshop, results)
    found = load_results(results)[entry]
    split = {"MNLI": "dev_matched"}.get(task, "dev")
    train, rows = data.glue(workshop.glue, task), data.glue(workshop.glue, task, split.removesuffix("_matched"))
    kind = roben.EditOne() if surface == "edits" else roben.InternalPermutation()
    encoding = roben.Encoding.build(few, kind, gamma=0.2, tokens=tokens)
    model = RobustClassifier(encoding).fit(train.texts, train.labels)
    certificates = list(certify(model, rows.texts, rows.labels, budget=budget))
    proved = robust_accuracy(certificates)
    attacked = beam_search(budget=budget)(model, rows.texts, rows.labels, kind, seed=0)
    assert found["standard"]["accuracy"] == pytest.approx(proved.standard)
    assert found["robust"]["accuracy"] == pytest.approx(proved.lower)
    assert found["robust"]["upper"] == pytest.approx(proved.upper)
    assert sum(found["robust"]["flips"].values()) == found["robust"]["n"] == len(rows)
    assert found["robust"]["flips"].get("0", 0) == sum(not c.is_correct for c in certificates)
    beam = found["attacks"]["beam"]
    assert beam["accuracy"] == pytest.approx(attack_accuracy(attacked))
    assert beam["n"] == len(rows)
    assert beam["robust"] == pytest.approx(proved.lower)
    assert beam["robust"] <= beam["accuracy"] <= beam["standard"] == pytest.approx(proved.standard)
    logs = [math.log10(c.n_perturbations) for c in certificates]
    assert found["texts"]["log10_perturbations"]["mean"] == pytest.approx(np.mean(logs))
    assert found["texts"]["one_encoding"] == pytest.approx(np.mean([c.n_encodings == 1 for c in certificates]))
    assert found["fingerprint"] == encoding.fingerprint


@pytest.mark.parametrize("budget", [None, 0, 1])
def test_an_undefended_system_is_measured_as_the_library_does(workshop, results, budget):
    entry = entry_of(budget=budget, attacks=("beam", "greedy"), max_queries=40, tokens="spaces", seed=2)
    run([entry], workshop, results)
    found = load_results(results)[entry]
    train, rows = data.glue(workshop.glue, "SST-2"), data.glue(workshop.glue, "SST-2", "dev")
    model = RobustClassifier("none").fit(train.texts, train.labels)
    standard = float(np.mean(model.predict(rows.texts) == np.array(rows.labels)))
    assert "robust" not in found
    assert "fingerprint" not in found
    assert found["standard"]["accuracy"] == pytest.approx(standard)
    searches = {"beam": beam_search, "greedy": greedy}
    options = {"beam": {}, "greedy": {"max_queries": 40}}
    for name, search in searches.items():
        attack = search(budget=budget, tokens="spaces", **options[name])
        expected = attack_accuracy(attack(model, rows.texts, rows.labels, roben.EditOne(), seed=2))
        assert found["attacks"][name]["accuracy"] == pytest.approx(expected)
        assert "robust" not in found["attacks"][name]
    if budget == 0:
        assert found["attacks"]["beam"]["accuracy"] == found["standard"]["accuracy"]


def test_augmentation_trains_on_typos_of_the_surface(workshop, results):
    entry = entry_of("augmentation", surface="permutations", seed=4, tokens="spaces")
    run([entry], workshop, results)
    train, rows = data.glue(workshop.glue, "SST-2"), data.glue(workshop.glue, "SST-2", "dev")
    augmented = augment(train.texts, train.labels, roben.InternalPermutation(), seed=4, tokens="spaces")
    model = RobustClassifier("none").fit(*augmented)
    expected = float(np.mean(model.predict(rows.texts) == np.array(rows.labels)))
    assert load_results(results)[entry]["standard"]["accuracy"] == pytest.approx(expected)
    assert workshop.model(entry).predict_proba(rows.texts).tolist() == model.predict_proba(rows.texts).tolist()


def test_attacks_of_some_rows_are_compared_with_the_same_rows(workshop, results):
    entries = [entry_of(system, attacks=("beam",), n_attacked=9) for system in ("components", "undefended")]
    run(entries, workshop, results)
    for entry in entries:
        beam = load_results(results)[entry]["attacks"]["beam"]
        assert beam["n"] == 9
        assert beam.get("robust", 0.0) <= beam["accuracy"] <= beam["standard"]
        low, high = beam["interval"]
        assert low <= beam["accuracy"] <= high
        assert beam["standard"] * 9 == pytest.approx(round(beam["standard"] * 9))


def test_more_budget_leaves_less(workshop, results):
    entries = [entry_of("agglomerative", budget=budget, attacks=("beam",)) for budget in (0, 1, 2, None)]
    run(entries, workshop, results)
    found = [load_results(results)[entry] for entry in entries]
    robust = [result["robust"]["accuracy"] for result in found]
    assert robust == sorted(robust, reverse=True)
    assert robust[0] == found[0]["standard"]["accuracy"] == found[0]["attacks"]["beam"]["accuracy"]
    assert len({result["standard"]["accuracy"] for result in found}) == 1
    shares = [result["texts"]["one_encoding"] for result in found]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 1.0


@pytest.mark.parametrize("tokens", ["words", "spaces"])
@pytest.mark.parametrize("budget", [0, 1, 2, None])
def test_a_budget_bounds_the_perturbations_of_undefended_systems_too(workshop, results, tokens, budget):
    options = {"model": "none", "budget": budget, "tokens": tokens}
    entries = [entry_of("undefended", "RTE", **options), entry_of("components", "RTE", **options)]
    run(entries, workshop, results)
    plain, encoded = (load_results(results)[entry]["texts"]["log10_perturbations"] for entry in entries)
    assert plain == encoded
    assert (plain["mean"] == 0) == (budget == 0)


def test_without_a_model_only_texts_are_measured(workshop, results, monkeypatch):
    monkeypatch.setattr(RobustClassifier, "fit", never)
    entries = [entry_of(system, model="none", task="RTE") for system in ("components", "agglomerative")]
    run(entries, workshop, results)
    for entry in entries:
        found = load_results(results)[entry]
        assert set(found) == {"format", "entry", "identity", "data", "fingerprint", "texts", "seconds", "versions"}
        assert set(found["identity"]) == {"evaluated", "words"}


@pytest.mark.parametrize("surface", ["edits", "permutations"])
@pytest.mark.parametrize("tokens", ["words", "spaces"])
def test_texts_have_the_encodings_and_perturbations_that_can_be_counted(workshop, results, few, glue, surface, tokens):
    texts = ["a good film!", "It's hte best , really", "", "xylophnoe was here", "of the"]
    (glue / "SST-2" / "dev.tsv").write_text("sentence\tlabel\n" + "".join(f"{text}\t1\n" for text in texts))
    entry = entry_of("agglomerative", model="none", surface=surface, tokens=tokens)
    plain = entry_of("undefended", model="none", surface=surface, tokens=tokens)
    run([entry, plain], replace(workshop, glue=glue), results)
    found = load_results(results)[entry]["texts"]
    kind = roben.EditOne() if surface == "edits" else roben.InternalPermutation()
    encoding = roben.Encoding.build(few, kind, gamma=0.3, tokens=tokens)
    balls = [[kind.typos(token) for token in encoding.tokenize(text)] for text in texts]
    codes = [[{encoding(typo) for typo in ball} for ball in text] for text in balls]
    n_encodings = [prod(map(len, text)) for text in codes]
    n_tokens = sum(map(len, balls))
    assert found["one_encoding"] == pytest.approx(sum(n == 1 for n in n_encodings) / len(texts))
    assert found["n_tokens"] == pytest.approx(n_tokens / len(texts))
    assert found["above_limit"] == sum(n > 10_000 for n in n_encodings) / len(texts)
    expected = {str(n): sum(min(m, 10_001) == n for m in n_encodings) for n in {min(m, 10_001) for m in n_encodings}}
    assert found["encodings"] == expected
    unknown = sum(encoding(token) == encoding.unknown for text in texts for token in encoding.tokenize(text))
    assert found["unknown_tokens"] == pytest.approx(unknown / n_tokens)
    logs = [math.log10(prod(len(ball) for ball in text)) for text in balls]
    for each in (found, load_results(results)[plain]["texts"]):
        histogram = each["log10_perturbations"]
        assert histogram["mean"] == pytest.approx(np.mean(logs))
        width = histogram["bin"]
        counts = {str(start): sum(start <= log < start + width for log in logs) for start in range(0, 400, width)}
        assert histogram["counts"] == {start: n for start, n in counts.items() if n}
    assert sum(found["encodings"].values()) == len(texts)


def test_the_words_of_a_list_by_rank_make_the_encoding(workshop, results, tmp_path):
    (tmp_path / "words.txt").write_text("the\nfilm\nof\ngood\n")
    entry = entry_of("components", vocabulary="coca", n_words=3, model="none")
    with_words = replace(workshop, words=tmp_path / "words.txt")
    run([entry], with_words, results)
    assert with_words.encoding(entry).vocabulary.words == ("the", "film", "of")
    assert "coca-3" in entry.name


# -- correctors and transformers ----------------------------------------------------------------------------


@pytest.mark.parametrize("system", ["typo-corrector", "symspell"])
def test_correctors_stand_in_front_of_the_undefended_model(workshop, results, quick_corrector, fits, system):
    entry = entry_of(system, "RTE", tokens="spaces", attacks=("beam",), n_attacked=4)
    run([entry, entry_of(task="RTE")], workshop, results)
    found = load_results(results)[entry]
    assert len(fits) == 1
    assert 0 <= found["standard"]["accuracy"] <= 1
    assert found["attacks"]["beam"]["accuracy"] <= found["attacks"]["beam"]["standard"]
    assert "robust" not in found
    rows, model = workshop.evaluation(entry), workshop.model(entry)
    corrector = workshop.corrector(entry) if system == "typo-corrector" else baseline.symspell(tokens="spaces")
    mended = [(corrector([a])[0], corrector([b])[0]) for a, b in rows.texts]
    assert model.predict(rows.texts).tolist() == model.model.predict(mended).tolist()
    right = np.array(model.predict(rows.texts)) == np.array(rows.labels)
    assert found["standard"]["accuracy"] == pytest.approx(right.mean())


def test_a_kept_corrector_is_loaded(workshop, quick_corrector, monkeypatch):
    entry = entry_of("typo-corrector", limit_train=20)
    texts = workshop.evaluation(entry).texts
    first = workshop.model(entry).predict_proba(texts)
    monkeypatch.setattr(baseline.TypoCorrector, "fit", never)
    for other in (entry, replace(entry, attacks=("beam",)), replace(entry, limit_eval=3)):
        assert workshop.model(other).predict_proba(texts).tolist() == first.tolist()


def test_transformers_are_trained_certified_and_attacked(workshop, results, tmp_path, bert, fits):
    workshop = replace(workshop, recipes={"small": tiny(bert)}, device="cpu")
    options = {"model": "small", "limit_eval": 6, "attacks": ("beam",), "n_attacked": 2}
    entries = [entry_of(task="MRPC", **options), entry_of("components", "MRPC", **options)]
    run(entries, workshop, results)
    assert len(fits) == 2
    for entry in entries:
        found = load_results(results)[entry]
        assert found["model"]["device"] == "cpu"
        assert found["model"]["tolerance"] > 0
        beam = found["attacks"]["beam"]
        assert beam.get("robust", 0.0) <= beam["accuracy"] <= beam["standard"]
    rows = workshop.evaluation(entries[1])
    proved = robust_accuracy(certify(workshop.model(entries[1]), rows.texts, rows.labels))
    assert found["robust"]["accuracy"] == pytest.approx(proved.lower)
    run(entries, workshop, tmp_path / "again")
    assert comparable(tmp_path / "again") == comparable(results)
    assert len(fits) == 2


# -- the command --------------------------------------------------------------------------------------------


@pytest.fixture
def command(shared_glue, tmp_path, capsys, monkeypatch):
    """Runs `roben paper run` in an empty folder; gives what it prints, on stdout and on stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(
        '[group.one]\ntask = ["SST-2", "RTE"]\nsystem = ["undefended", "augmentation"]\nseed = [0, 1]\n'
        f'[group.two]\ntask = "SST-2"\nsystem = "components"\nn_words = {FEW}\n'
    )
    places = ["--experiments", "plan.toml", "--work", "work", "--results", "results", "--glue-dir", str(shared_glue)]

    def command(*arguments, code: int = 0) -> tuple[str, str]:
        capsys.readouterr()
        try:
            found = cli.main(["paper", "run", *arguments, *places])
        except SystemExit as stop:
            found = stop.code
        out, err = capsys.readouterr()
        assert found == code, err
        return out, err

    return command


def test_the_command_measures_and_tells_it_line_by_line(command):
    out, err = command("one", "--seed", "0")
    assert out == ""
    lines = err.splitlines()
    names = [f"{task}.{system}.linear.edits.words.seed0" for task in ("sst-2", "rte") for system in FOUR[:2]]
    assert sorted(re.fullmatch(r"\d/4 (.*): done", line)[1] for line in lines[:-1]) == sorted(names)
    assert [line[:4] for line in lines[:-1]] == ["1/4 ", "2/4 ", "3/4 ", "4/4 "]
    assert lines[-1] == "4 results written to results"
    assert sorted(path.stem for path in Path("results").glob("*.json")) == sorted(names)


def test_the_command_goes_on_where_it_was(command):
    command("one", "--seed", "0", "--task", "RTE")
    out, err = command("one", "--seed", "0")
    assert out == ""
    assert err.splitlines()[-1] == "2 results written to results; 2 had theirs before"
    assert [line[:4] for line in err.splitlines()[:-1]] == ["3/4 ", "4/4 "]
    _, err = command("one", "--seed", "0")
    assert err.splitlines()[-1] == "0 results written to results; 4 had theirs before"


def test_the_command_lists_what_it_would_measure(command):
    out, err = command("--list", "--system", "components", "undefended", "--task", "SST-2")
    assert err == ""
    assert out.splitlines() == [
        "sst-2.undefended.linear.edits.words.seed0",
        "sst-2.undefended.linear.edits.words.seed1",
        f"sst-2.components.linear.edits.words.english-{FEW}.seed0",
    ]
    assert not Path("results").exists()
    assert len(command("--list")[0].splitlines()) == 9
    assert len(command("two", "--list")[0].splitlines()) == 1


def test_limits_make_results_of_their_own(command):
    command("two", "--limit-train", "30", "--limit-eval", "5")
    (path,) = Path("results").iterdir()
    assert path.name == f"sst-2.components.linear.edits.words.english-{FEW}.train30.eval5.seed0.json"
    assert json.loads(path.read_text())["data"]["is_partial"]
    assert command("two")[1].splitlines()[-1] == "1 results written to results"


def test_limits_of_the_plan_are_kept_where_no_option_sets_them(command):
    Path("plan.toml").write_text('[group.g]\ntask = "SST-2"\nsystem = "undefended"\nlimit_train = 10\nlimit_eval = 5\n')
    assert command("--list")[0] == "sst-2.undefended.linear.edits.words.train10.eval5.seed0\n"
    assert command("--list", "--limit-eval", "3")[0] == "sst-2.undefended.linear.edits.words.train10.eval3.seed0\n"


def test_a_transformer_may_lie_in_a_folder(command, bert, tmp_path):
    Path("plan.toml").write_text(
        '[model.small]\ntransformer = "nobody/nothing"\nepochs = 1\nmax_length = 16\n'
        '[group.g]\ntask = "SST-2"\nmodel = ["linear", "small"]\nsystem = "undefended"\n'
    )
    limits = ["--limit-train", "8", "--limit-eval", "2"]
    command(f"--model=small={bert}", "--device", "cpu", *limits)
    ((entry, result),) = load_results(Path("results")).items()
    assert entry.model == "small"
    recipe = result["identity"]["recipe"]
    assert recipe["transformer"] == "nobody/nothing"
    assert recipe["weights"] is not None
    assert recipe["options"] == {"epochs": 1, "max_length": 16}
    assert str(bert) not in json.dumps(result)
    _, err = command(f"--model=small={tmp_path}", *limits, code=1)
    assert err == f"roben: error: {tmp_path} has no config.json, and is to be the model small (--model)\n"


@pytest.mark.parametrize(
    "options",
    [
        ("--task", "CoLA"),
        ("--system", "magic"),
        ("--seed", "7"),
        ("--model", "none"),
        ("two", "--task", "RTE"),
        # Each of several has to choose something: MNLI is misspelt, and `two` is meant to be a group.
        ("--task", "SST-2", "MNIL"),
        ("--task", "SST-2", "two"),
        ("--system", "undefended", "magic"),
        ("--seed", "0", "7"),
    ],
)
def test_options_that_choose_nothing_are_an_error(command, options):
    out, err = command(*options, code=1)
    assert out == ""
    assert err.startswith("roben: error: ")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (("three",), "there is no group 'three'; expected one of one, two"),
        (("--model", "large"), "--model large: expected NAME or NAME=FOLDER, of none, linear"),
        (("--model", "linear=folder"), "--model linear=folder: expected NAME or NAME=FOLDER"),
        (("--model", "none=folder"), "--model none=folder: expected NAME or NAME=FOLDER"),
        (("--parallel", "0"), "parallel is 0"),
        (("--experiments", "nothing.toml"), "nothing.toml does not exist"),
        (("--glue-dir", "nowhere"), "nowhere is no folder"),
        (("--limit-train", "0"), "limit_train is 0; expected a whole number, 1 or more"),
        (("--limit-eval", "-1"), "limit_eval is -1; expected a whole number, 1 or more"),
    ],
)
def test_bad_input_is_an_error_in_one_line(command, monkeypatch, options, cause):
    monkeypatch.setattr(RobustClassifier, "fit", never)
    # The last of two options counts.
    monkeypatch.setattr(cli, "main", lambda arguments, main=cli.main: main([*arguments, *options]))
    out, err = command(code=1)
    assert out == ""
    assert err.startswith("roben: error: ")
    assert cause in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("options", [("--parallel", "many"), ("--seed", "x"), ("--tokens", "bytes"), ("--fast",)])
def test_a_command_line_that_is_wrong_exits_with_two(command, options):
    out, err = command(*options, code=2)
    assert out == ""
    assert err.startswith("roben: error: ")


def test_an_entry_that_fails_is_told_at_once_and_at_the_end(command, monkeypatch):
    def fail(*args, **options):
        raise ValueError("nothing to [augment]")

    monkeypatch.setattr("roben.experiment.workshop.augment", fail)
    _, err = command("one", "--seed", "0", code=1)
    lines = err.splitlines()
    failed = [line for line in lines if re.fullmatch(r"\d/4 .*augmentation.*: failed: .*nothing to \[augment\]", line)]
    assert len(failed) == 2
    assert lines[-1].startswith("roben: error: 2 of 4 entries failed. ")
    assert len(list(Path("results").glob("*.json"))) == 2


def test_the_command_has_help(capsys):
    for arguments in (["paper", "--help"], ["paper", "run", "--help"]):
        with pytest.raises(SystemExit) as stop:
            cli.main(arguments)
        assert stop.value.code == 0
        out, err = capsys.readouterr()
        assert out.startswith(f"usage: roben {' '.join(arguments[:-1])}")
        assert err == ""
    for option in (
        "--task",
        "--system",
        "--model",
        "--seed",
        "--limit-train",
        "--limit-eval",
        "--glue-dir",
        "--parallel",
    ):
        assert option in out


def test_the_examples_of_the_help_choose_something(repository, capsys, monkeypatch):
    monkeypatch.chdir(REPO.parent.parent)
    with pytest.raises(SystemExit):
        cli.main(["paper", "--help"])
    examples = re.findall(r"^ +roben (paper run.*)$", capsys.readouterr().out, re.MULTILINE)
    assert len(examples) >= 3
    for example in examples:
        assert cli.main([*example.split(), "--list"]) == 0
        out, err = capsys.readouterr()
        assert len(out.splitlines()) > 3
        assert err == ""


def test_all_systems_are_measured_by_one_command(command, quick_corrector):
    systems = "\n".join(f'"{system}",' for system in SYSTEMS)
    Path("plan.toml").write_text(
        f'[group.all]\ntask = "QQP"\nsystem = [\n{systems}\n]\nattacks = ["beam"]\nn_attacked = 3\n'
    )
    command("--limit-eval", "6")
    found = load_results(Path("results"))
    assert {entry.system for entry in found} == set(SYSTEMS)
    assert {entry.system for entry, result in found.items() if "robust" in result} == {"components", "agglomerative"}
