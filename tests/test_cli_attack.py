"""`roben attack` and the models that it opens, whoever trained them."""

import json
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import skops.io
import torch
import transformers
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

import roben
from roben import baseline, cli, data
from roben.attack import beam_search, greedy, random_search
from roben.certificate import certify, robust_accuracy
from roben.classifier import ModelError, RobustClassifier, TransformerClassifier, open_model

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789'!?.,-"
WORDS = ("good", "bad", "film", "the", "a", "was", "great", "awful")


@pytest.fixture(scope="module")
def folder(encoding, tmp_path_factory) -> Path:
    """Models of roben, of scikit-learn and of transformers."""
    folder = tmp_path_factory.mktemp("attacked")
    train = data.reviews("train").head(1500)
    RobustClassifier(encoding).fit(train.texts, train.labels).save(folder / "defended")
    RobustClassifier("none").fit(train.texts, train.labels).save(folder / "plain")
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(train.texts, train.labels)
    skops.io.dump(pipeline, folder / "pipeline.skops")
    bert(folder / "named", id2label={0: "NEGATIVE", 1: "POSITIVE"}, label2id={"NEGATIVE": 0, "POSITIVE": 1})
    bert(folder / "unnamed", num_labels=3)
    rows = [json.dumps({"text": text, "label": label}) for text, label in zip(train.texts, train.labels, strict=True)]
    (folder / "few.jsonl").write_text("\n".join(rows[:12]) + "\n")
    return folder


def bert(folder: Path, kind: type = transformers.BertForSequenceClassification, **labels) -> None:
    """A BERT as somebody else may have saved it."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS), *WORDS]
    sizes = dict.fromkeys(("hidden_size", "intermediate_size", "max_position_embeddings"), 32)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokens), num_hidden_layers=1, num_attention_heads=2, **sizes, **labels
    )
    kind(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """Runs a command in the folder; gives what it prints, on stdout and on stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "250")

    def run(*arguments, code: int = 0) -> tuple[str, str]:
        capsys.readouterr()
        try:
            found = cli.main(list(map(str, arguments)))
        except SystemExit as stop:
            found = stop.code
        out, err = capsys.readouterr()
        assert found == code, err
        return out, err

    return run


def results_of(out: str) -> list[dict]:
    return sorted((json.loads(line) for line in out.splitlines()), key=lambda result: result["index"])


# -- attacking ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "search"),
    [
        ((), beam_search()),
        (("--width", "2", "--budget", "4"), beam_search(2, budget=4)),
        (("--attack", "greedy", "--max-queries", "60"), greedy(max_queries=60)),
        (("--attack", "random", "--max-queries", "30"), random_search(max_queries=30)),
    ],
    ids=["beam", "narrow", "greedy", "random"],
)
def test_what_is_found_is_what_the_library_finds(run, folder, options, search):
    out, _ = run("attack", "plain", "few.jsonl", "--json", "--seed", "3", *options)
    part, model = data.read(folder / "few.jsonl"), RobustClassifier.load(folder / "plain")
    expected = search(model, part.texts, part.labels, roben.EditOne(), seed=3)
    assert results_of(out) == [{**vars(r), "is_broken": r.is_broken} for r in expected]
    assert any(r.is_broken for r in expected)


def test_results_are_written_to_a_file_and_summed_up(run, folder, tmp_path):
    out, _ = run("attack", "plain", "few.jsonl", "--out", tmp_path / "found.jsonl", "--show", "2")
    rows = results_of((tmp_path / "found.jsonl").read_text())
    assert [row["index"] for row in rows] == list(range(12))
    n_right = sum(not row["is_broken"] for row in rows)
    assert f"{100 * n_right / 12:.1f}%  (95%: " in out
    assert out.count("broken by typos") == 1
    n_shown = len(out.split("broken by typos")[1].strip().splitlines()) - 1
    assert n_shown == min(2, sum(row["n_changed"] > 0 for row in rows))


def test_a_sample_of_the_data_is_attacked(run):
    out, _ = run("attack", "plain", "few.jsonl", "--sample", "5", "--seed", "1", "--json")
    chosen = data.read("few.jsonl").sample(5, seed=1)
    assert [row["text"] for row in results_of(out)] == list(chosen.texts)


def test_no_attack_breaks_what_certify_proves(run, folder):
    part, model = data.read(folder / "few.jsonl"), RobustClassifier.load(folder / "defended")
    proved = robust_accuracy(certify(model, part.texts, part.labels))
    for name in ("beam", "greedy", "random"):
        rows = results_of(run("attack", "defended", "few.jsonl", "--attack", name, "--max-queries", "80", "--json")[0])
        share = sum(not row["is_broken"] for row in rows) / len(rows)
        assert proved.lower <= share <= proved.standard


def test_the_surface_is_that_of_the_encoding_unless_another_is_named(run, folder, encoding):
    assert repr(encoding.surface) in run("attack", "defended", "few.jsonl", "--sample", "2")[0]
    out, _ = run("attack", "plain", "few.jsonl", "--surface", "permutations", "--json")
    for row in results_of(out):
        if row["n_changed"]:
            assert sorted(row["text"].lower()) == sorted(row["attacked"].lower())


def test_a_corrector_is_put_in_front(run, english, monkeypatch):
    monkeypatch.setattr(baseline, "symspell", partial(baseline.symspell, english))  # fewer words are faster
    plain = results_of(run("attack", "plain", "few.jsonl", "--json")[0])
    corrected = results_of(run("attack", "plain", "few.jsonl", "--corrector", "symspell", "--json")[0])
    assert sum(row["is_broken"] for row in corrected) < sum(row["is_broken"] for row in plain)


def test_an_empty_sample_is_no_error(run):
    assert "examples  0" in run("attack", "plain", "few.jsonl", "--sample", "0")[0]


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (("nowhere", "few.jsonl"), "nowhere does not exist; `roben train` makes a model"),
        (("plain", "nowhere.csv"), "nowhere.csv does not exist"),
        (("few.jsonl", "few.jsonl"), "few.jsonl is not readable by skops"),
        (("plain", "few.jsonl", "--attack", "random", "--width", "2"), "a random search has no --width"),
        (("plain", "few.jsonl", "--budget", "-1"), "budget is -1"),
        (("plain", "few.jsonl", "--max-queries", "0"), "max_queries is 0"),
        (("plain", "few.jsonl", "--corrector", "nowhere"), "nowhere"),
    ],
)
def test_bad_input_is_one_line_that_says_why(run, arguments, cause):
    out, err = run("attack", *arguments, code=1)
    assert out == ""
    assert cause in err
    assert err.count("\n") == 1


# -- models that somebody else trained ----------------------------------------------------------------------


def test_a_pipeline_of_scikit_learn_is_attacked(run, folder):
    rows = results_of(run("attack", "pipeline.skops", "few.jsonl", "--json")[0])
    pipeline = skops.io.load(folder / "pipeline.skops")
    assert sum(row["n_changed"] > 0 for row in rows) > 3
    for row in rows:
        if row["is_broken"]:
            assert pipeline.predict([row["attacked"]])[0] != row["label"]


def test_a_transformer_is_attacked_by_the_numbers_of_its_classes(run, folder):
    out, err = run("attack", "named", "few.jsonl", "--attack", "random", "--max-queries", "8", "--json")
    assert "taken as numbers of the classes NEGATIVE, POSITIVE" in err
    assert {row["label"] for row in results_of(out)} == {"NEGATIVE", "POSITIVE"}


def test_a_transformer_predicts_as_transformers_does(folder):
    model = open_model(folder / "named")
    assert isinstance(model, TransformerClassifier)
    texts = ["good film", "the awful film was bad", "", "a"]
    plain = transformers.AutoModelForSequenceClassification.from_pretrained(folder / "named")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "named")
    with torch.inference_mode():
        scores = [plain(**tokenizer(text, return_tensors="pt")).logits[0].numpy() for text in texts]
    np.testing.assert_allclose(model.scores(texts), np.array(scores), atol=1e-4)
    assert model.predict(texts).tolist() == [("NEGATIVE", "POSITIVE")[int(np.argmax(one))] for one in scores]
    assert open_model(folder / "unnamed").classes_.tolist() == [0, 1, 2]


def test_all_kinds_are_opened_and_predict(run, folder):
    assert open_model(folder / "defended").encoding_ is not None
    assert open_model(folder / "pipeline.skops").classes_.tolist() == [0, 1]
    (folder / "lines.txt").write_text("a good film\nbad\n")
    for model in ("plain", "pipeline.skops", "named"):
        assert len(run("predict", model, "lines.txt")[0].splitlines()) == 2


def test_what_is_no_classifier_is_refused(folder, tmp_path):
    (tmp_path / "model.pkl").write_bytes(pickle.dumps({}))
    with pytest.raises(ModelError, match=r"model\.pkl looks like a pickle, which runs code when it is read"):
        open_model(tmp_path / "model.pkl")
    with pytest.raises(ModelError, match=r"holds neither roben-model\.json \(roben\) nor config\.json"):
        open_model(tmp_path)
    skops.io.dump({"a": 1}, tmp_path / "thing.skops")
    with pytest.raises(ModelError, match="holds a dict, which has no predict"):
        open_model(tmp_path / "thing.skops")
    bert(tmp_path / "headless", transformers.BertForMaskedLM)
    with pytest.raises(ModelError, match="BertForMaskedLM, which does not classify"):
        open_model(tmp_path / "headless")
    bert(tmp_path / "regression", num_labels=1)
    with pytest.raises(ModelError, match="gives one score"):
        open_model(tmp_path / "regression")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{")
    with pytest.raises(ModelError, match="is not readable by transformers"):
        open_model(broken)


def test_a_model_without_probabilities_is_named(run, tmp_path):
    ridge = make_pipeline(TfidfVectorizer(), Ridge()).fit(["one two", "three four"], [0, 1])
    skops.io.dump(ridge, tmp_path / "ridge.skops")
    _, err = run("attack", tmp_path / "ridge.skops", "few.jsonl", code=1)
    assert "Pipeline has no predict_proba" in err
