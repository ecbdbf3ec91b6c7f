"""What went wrong once with models, certificates and their commands, and must not again."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import roben
from roben import attack, cli, data
from roben.certificate import certify
from roben.classifier import ModelError, RobustClassifier

TEXTS = ["a good film", "a great film", "good , good", "a bad film", "an awful film", "bad , bad"]
LABELS = ["pos", "pos", "pos", "neg", "neg", "neg"]
PAIRS = [(text, TEXTS[-1 - i]) for i, text in enumerate(TEXTS)]


# == tests/test_classifier.py ===============================================================================


class Failing:
    def get_params(self, deep=True):
        return {}

    def fit(self, texts, labels):
        raise ValueError("it cannot be learnt")


def test_a_fit_that_fails_leaves_no_half_trained_model(encoding):
    model = RobustClassifier(encoding, Failing())
    with pytest.raises(ValueError, match="cannot be learnt"):
        model.fit(TEXTS, LABELS)
    with pytest.raises(NotFittedError):
        model.predict(TEXTS)
    with pytest.raises(ValueError, match="not fitted"):
        certify(model, TEXTS, LABELS)


def test_a_fit_that_fails_leaves_the_model_that_was_there(encoding):
    model = RobustClassifier(encoding).fit(TEXTS, LABELS)
    model.set_params(encoding="none")
    with pytest.raises(ValueError, match="no encodings to draw from"):
        model.fit(TEXTS, LABELS, draws="random")
    assert model.encoding_ is encoding
    assert model.predict(TEXTS).tolist() == LABELS


def test_a_move_that_fails_leaves_the_old_model_and_nothing_else(encoding, tmp_path, monkeypatch):
    model = RobustClassifier(encoding).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    rename, calls = Path.rename, []

    def second_fails(self, target):
        calls.append(target)
        if len(calls) == 2:
            raise OSError("no space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", second_fails)
    with pytest.raises(OSError, match="no space left"):
        model.save(tmp_path / "model")
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
    assert RobustClassifier.load(tmp_path / "model").predict(TEXTS).tolist() == LABELS


def test_a_model_does_not_replace_the_folder_one_is_in(encoding, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = RobustClassifier(encoding).fit(TEXTS, LABELS)
    with pytest.raises(ModelError, match="the current folder"):
        model.save(".")
    assert list(tmp_path.iterdir()) == []


def rewrite(path: Path, **changes) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_another_encoding_in_a_models_folder_is_found_out(encoding, tmp_path):
    path = tmp_path / "model"
    RobustClassifier(encoding).fit(TEXTS, LABELS).save(path)
    shutil.rmtree(path / "encoding")
    roben.Encoding.build(roben.Vocabulary.from_counts({"film": 2, "good": 1})).save(path / "encoding")
    with pytest.raises(ModelError, match="another encoding"):
        RobustClassifier.load(path)


def test_a_model_without_its_encoding_is_refused(encoding, tmp_path):
    path = tmp_path / "model"
    RobustClassifier(encoding).fit(TEXTS, LABELS).save(path)
    shutil.rmtree(path / "encoding")
    with pytest.raises(ModelError, match="encoding is missing"):
        RobustClassifier.load(path)


@pytest.mark.parametrize(
    "changes", [{"is_encoded": False}, {"files": {}}, {"classifier": "sklearn"}, {"classifier": "transformer"}]
)
def test_an_edited_manifest_is_found_out(encoding, tmp_path, changes):
    path = tmp_path / "model"
    RobustClassifier(encoding).fit(TEXTS, LABELS).save(path)
    rewrite(path / "roben-model.json", **changes)
    with pytest.raises(ModelError, match="was edited"):
        RobustClassifier.load(path)


def test_whatever_is_wrong_with_the_classifiers_files_is_a_model_error(encoding, tmp_path):
    path = tmp_path / "model"
    RobustClassifier(encoding).fit(TEXTS, LABELS).save(path)
    rewrite(path / "roben-model.json", files={})
    (path / "classifier" / "ngram.json").write_text('{"C": 1}')
    with pytest.raises(ModelError):  # KeyError: 'classes'
        RobustClassifier.load(path)


class Doubling(roben.Surface):
    def typos(self, token):
        return frozenset([token, *(token[:i] + token[i : i + 1] + token[i:] for i in range(len(token)))])


def test_a_model_for_a_surface_of_ones_own_can_be_loaded(tmp_path):
    encoding = roben.Encoding.build(roben.Vocabulary.from_counts({"good": 3, "bad": 2, "film": 1}), Doubling())
    model = RobustClassifier(encoding).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    loaded = RobustClassifier.load(tmp_path / "model", surface=encoding.surface)
    assert loaded.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()


def test_a_model_that_learnt_lone_surrogates_can_be_saved(encoding, tmp_path):
    model = RobustClassifier(encoding).fit([*TEXTS, "good \ud800 film"], [*LABELS, "pos"])
    model.save(tmp_path / "model")
    assert RobustClassifier.load(tmp_path / "model").predict(["\ud800"]) == model.predict(["\ud800"])


def test_labels_of_two_types_are_refused(encoding):
    with pytest.raises(ValueError, match="several types"):
        RobustClassifier(encoding).fit(TEXTS, [1, "pos", "pos", 0, "neg", "neg"])


def test_a_pair_may_have_a_side_without_any_token(encoding):
    model = RobustClassifier(encoding).fit([(text, "") for text in TEXTS], LABELS)
    assert model.predict([(text, "") for text in TEXTS]).tolist() == LABELS


def test_there_are_probabilities_where_the_classifier_has_them(encoding):
    model = RobustClassifier(encoding, make_pipeline(TfidfVectorizer(), LinearSVC())).fit(TEXTS, LABELS)
    assert not hasattr(model, "predict_proba")


# == tests/test_certificate.py ==============================================================================


def test_whole_numbers_of_numpy_are_whole_numbers(encoding):
    model = RobustClassifier(encoding).fit(TEXTS, LABELS)
    (c,) = certify(model, ["a good film"], ["pos"], budget=np.int64(2), limit=np.int32(100))
    assert c.budget == 2
    assert type(c.budget) is int


def test_arrays_of_pairs_are_certified_and_attacked(encoding):
    model = RobustClassifier(encoding).fit(np.array(PAIRS), LABELS)
    expected = list(certify(model, PAIRS, LABELS))
    assert list(certify(model, np.array(PAIRS), LABELS)) == expected
    found = attack.beam_search()(model, PAIRS, LABELS, roben.EditOne())
    assert attack.beam_search()(model, [list(pair) for pair in PAIRS], LABELS, roben.EditOne()) == found
    assert attack.beam_search()(model, np.array(PAIRS), LABELS, roben.EditOne()) == found


def test_numbers_of_any_size_can_be_shown(encoding):
    model = RobustClassifier(encoding).fit(TEXTS, LABELS)
    (c,) = certify(model, ["a movie of wonders " * 1000], ["pos"])
    assert c.n_perturbations > 10**4300
    assert "robust" in repr(c) or "broken" in repr(c)  # ValueError: exceeds the limit (4300 digits)


# == tests/test_transformer.py ==============================================================================


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> str:
    import torch
    import transformers

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("bert")
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *"abcdefghijklmnopqrstuvwxyz.,!?",
        "film",
        "good",
        "bad",
    ]
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    return str(folder)


def tiny(bert, **options):
    from roben.classifier.transformer import TransformerClassifier

    return TransformerClassifier(bert, **{"max_length": 16, "epochs": 1, **options})


@pytest.mark.parametrize("text", ["good \udcff film", "\ud800", "x\udcff"])
def test_lone_surrogates_are_predicted_as_any_other_unknown_character(bert, encoding, text):
    model = RobustClassifier(encoding, tiny(bert)).fit(TEXTS, LABELS)
    (label,) = model.predict([text])  # TypeError: TextEncodeInput must be Union[…]
    assert next(certify(model, [text], [label])).verdict in ("robust", "broken")


def test_a_length_beyond_the_models_positions_is_refused_before_training(bert, encoding, monkeypatch):
    from roben.classifier.training import Training

    monkeypatch.setattr(Training, "epoch", lambda self, n: pytest.fail("it trained for hours"))
    with pytest.raises(ValueError, match=r"max_length is 33.*32"):  # RuntimeError: the size of tensor a …
        RobustClassifier(encoding, tiny(bert, max_length=33)).fit(TEXTS, LABELS)


def test_training_says_nothing_on_stdout_even_where_somebody_watches(bert, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    tiny(bert).fit(TEXTS, LABELS)
    assert capsys.readouterr().out == ""


def test_a_model_that_gives_no_numbers_is_refused(bert, encoding):
    import torch

    model = RobustClassifier(encoding, tiny(bert)).fit(TEXTS, LABELS)
    with torch.no_grad():
        model.classifier_.model_.classifier.weight[:] = float("nan")
    with pytest.raises(ModelError, match="not finite"):
        model.predict(TEXTS)


def test_loading_and_saving_again_gives_the_same_bytes(bert, encoding, tmp_path):
    RobustClassifier(encoding, tiny(bert)).fit(TEXTS, LABELS).save(tmp_path / "one")
    RobustClassifier.load(tmp_path / "one").save(tmp_path / "two")
    config = "classifier/transformer.json"
    assert (tmp_path / "one" / config).read_bytes() == (tmp_path / "two" / config).read_bytes()


# == tests/test_cli.py ======================================================================================


@pytest.fixture
def folder(encoding, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    encoding.save("encoding")
    rows = "".join(f"{text}\t{label}\n" for text, label in zip(TEXTS, LABELS, strict=True))
    Path("films.tsv").write_text(f"text\tlabel\n{rows}")
    Path("films.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    RobustClassifier(encoding).fit(TEXTS, LABELS).save("model")
    return tmp_path


def test_accuracy_on_dev_compares_labels_as_certify_does(folder, capsys):
    Path("train.csv").write_text("text,label\n" + "good film,1\nbad film,2\nodd thing,other\n" * 5)
    Path("dev.csv").write_text("text,label\ngood film,1\nbad film,2\n")
    cli.main(["train", "new", "train.csv", "--dev", "dev.csv", "-e", "encoding", "--json"])
    assert json.loads(capsys.readouterr().out)["accuracy on dev"] == 1.0  # 0.0


def test_labels_of_dev_that_were_not_seen_in_training_are_an_error(folder, capsys):
    Path("dev.csv").write_text("text,label\ngood film,9\n")
    assert cli.main(["train", "new", "films.tsv", "--dev", "dev.csv", "-e", "encoding", "--json"]) == 1


def test_a_model_without_probabilities_predicts_json_without_them_or_says_so(folder, encoding, capsys):
    model = RobustClassifier(encoding, make_pipeline(TfidfVectorizer(), LinearSVC())).fit(TEXTS, LABELS)
    model.save("svc")
    assert cli.main(["predict", "svc", "films.txt"]) == 0
    assert cli.main(["predict", "svc", "films.txt", "--json"]) in (0, 1)  # AttributeError, a traceback


def test_options_may_stand_before_the_files(folder, capsys):
    cli.main(["predict", "model", "films.txt", "--json"])
    expected = capsys.readouterr().out
    cli.main(["predict", "model", "--json", "films.txt"])  # exit 2: unrecognized arguments: films.txt
    assert capsys.readouterr().out == expected


def test_certificates_go_to_stdout_even_where_somebody_watches(folder, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    cli.main(["certify", "model", "films.tsv", "--json"])
    out, err = capsys.readouterr()
    assert len([json.loads(line) for line in out.splitlines()]) == 6  # all of them went to stderr
    assert "certifying" in err


def test_a_place_that_cannot_be_written_to_is_refused_before_training(folder, capsys, monkeypatch):
    monkeypatch.setattr(RobustClassifier, "fit", lambda *args, **options: pytest.fail("it trained for hours"))
    assert cli.main(["train", "encoding", "films.tsv", "-e", "encoding"]) == 1
    assert "a folder with other things in it" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:'pin_memory' argument")
@pytest.mark.parametrize("device", ["cuda:99", "nonsense"])
def test_a_device_that_is_not_there_is_an_error_in_one_line(folder, bert, capsys, device):
    arguments = ["train", "new", "films.tsv", "-e", "encoding", "--transformer", bert, "--max-length", "16"]
    assert cli.main([*arguments, "--device", device]) == 1  # AssertionError, RuntimeError: a traceback
    assert capsys.readouterr().err.startswith("roben: error: ")


def test_certificates_of_long_texts_are_printed_as_json(folder, capsys):
    Path("long.tsv").write_text("text\tlabel\n" + "a movie of wonders " * 1000 + "\tpos\n")
    code = cli.main(["certify", "model", "long.tsv", "--json"])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")  # Exceeds the limit (4300 digits) for integer string conversion
    sys.set_int_max_str_digits(0)
    try:
        assert json.loads(out)["n_perturbations"] > 10**4300
    finally:
        sys.set_int_max_str_digits(4300)


def test_the_quickstart_names_its_folder_as_it_is(english, monkeypatch, tmp_path, capsys):
    whole = data.reviews
    monkeypatch.setattr(data, "reviews", lambda split="train": whole(split).head(300 if split == "train" else 20))
    monkeypatch.setattr(roben.Vocabulary, "english", classmethod(lambda cls, n=100_000, **options: english))
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / ("a [red] folder with a name so long that it does not fit " * 2).strip()
    assert cli.main(["quickstart", str(path)]) == 0
    assert str(path) in capsys.readouterr().out


def test_the_quickstart_shows_commands_that_run(english, monkeypatch, tmp_path, capsys):
    whole = data.reviews
    monkeypatch.setattr(data, "reviews", lambda split="train": whole(split).head(300 if split == "train" else 20))
    monkeypatch.setattr(roben.Vocabulary, "english", classmethod(lambda cls, n=100_000, **options: english))
    monkeypatch.setattr(shutil, "which", lambda name: None)  # the virtual environment is not activated
    monkeypatch.setattr(sys, "argv", [str(Path(roben.__file__).parent / "__main__.py"), "quickstart"])
    monkeypatch.setenv("COLUMNS", "250")
    assert cli.main(["quickstart", str(tmp_path / "quick")]) == 0
    assert "-m roben predict" in capsys.readouterr().out  # ../src/roben/__main__.py predict, which does not run
