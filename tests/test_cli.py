"""The command line: what goes in and out of every command, and what is said when it cannot be done."""

import json
import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import roben
from roben import cli, data
from roben.certificate import certify
from roben.classifier import RobustClassifier
from roben.quickstart import run as quickstart

COMMANDS = ("build", "encode", "explain", "inspect", "train", "predict", "certify", "quickstart", "attack", "paper")
GOOD, BAD = ("a good film", "great story", "lovely , just lovely"), ("a bad film", "awful story", "dull , just dull")


@pytest.fixture(scope="module")
def folder(encoding, tmp_path_factory) -> Path:
    """An encoding, a model, and data to use them on."""
    folder = tmp_path_factory.mktemp("cli")
    encoding.save(folder / "encoding")
    part = data.reviews("train").head(1500)
    RobustClassifier(encoding).fit(part.texts, part.labels).save(folder / "model")
    RobustClassifier("none").fit([*GOOD, *BAD], ["pos"] * 3 + ["neg"] * 3).save(folder / "undefended")
    rows = [(text, 1) for text in GOOD] + [(text, 0) for text in BAD]
    lines = ["review,stars,other", *(f'"{text}",{label},"{text[::-1]}"' for text, label in rows)]
    (folder / "films.csv").write_text("\n".join(lines) + "\n")
    named = ["text\tlabel", *(f"{text}\t{('neg', 'pos')[label]}" for text, label in rows)]
    (folder / "films.tsv").write_text("\n".join(named) + "\n")
    (folder / "odd.csv").write_text("said,label\ngood,1\nbad,0\n")
    (folder / "films.txt").write_text("\n".join(text for text, _ in rows) + "\n")
    return folder


@pytest.fixture
def run(folder, capsys, monkeypatch) -> Callable[..., tuple[str, str]]:
    """Runs a command in the folder; gives what it prints, on stdout and on stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "250")

    def run(*arguments, code: int = 0, stdin: bytes | None = None) -> tuple[str, str]:
        if stdin is not None:
            Path("stdin").write_bytes(stdin)
            monkeypatch.setattr(sys, "stdin", open("stdin", encoding="utf-8"))  # noqa: SIM115
        capsys.readouterr()
        try:
            found = cli.main(list(map(str, arguments)))
        except SystemExit as stop:
            found = stop.code
        finally:
            if stdin is not None:
                sys.stdin.close()
        out, err = capsys.readouterr()
        assert found == code, err
        return out, err

    return run


def process(*arguments, folder: Path, stdin: bytes = b"", **options) -> subprocess.CompletedProcess:
    """The same as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "roben", *map(str, arguments)],
        cwd=folder,
        input=stdin,
        capture_output=True,
        timeout=60,
        **options,
    )


# -- help and usage -----------------------------------------------------------------------------------------


def test_the_commands_are_these(run):
    out, _ = run("--help")
    assert set(cli._parser()._subparsers._group_actions[0].choices) >= set(COMMANDS)
    assert all(f"\n    {command}" in out for command in COMMANDS)


@pytest.mark.parametrize("command", cli._parser()._subparsers._group_actions[0].choices)
def test_every_command_has_help_with_examples(run, command):
    out, err = run(command, "--help")
    assert out.startswith(f"usage: roben {command}")
    assert "examples:\n  " in out
    assert f"roben {command}" in out.partition("examples:")[2]
    assert err == ""


def test_the_examples_in_the_help_are_commands_that_exist(run):
    for command in COMMANDS:
        out, _ = run(command, "--help")
        for line in out.partition("examples:\n")[2].splitlines():
            arguments = line.partition("roben ")[2].partition(" > ")[0]
            cli._parser().parse_args(shlex.split(arguments))


def test_the_version_is_that_of_the_package(run):
    assert run("--version") == (f"roben {roben.__version__}\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["build"],
        ["train", "model"],
        ["certify", "model"],
        ["predict"],
        ["predict", "model", "--fast"],
        ["certify", "model", "data", "--budget", "many"],
        ["train", "model", "data", "--draws", "best"],
        ["train", "model", "data", "--precision", "fp16"],
        ["build", "x", "--surface", "shapes"],
    ],
)
def test_a_command_line_that_is_wrong_exits_with_two(run, arguments):
    out, err = run(*arguments, code=2)
    assert out == ""
    assert err.startswith("roben: error: ")
    assert "--help`" in err


# -- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["inspect", "nowhere"], "nowhere does not exist"),
        (["inspect", "model"], "holds no roben.json"),
        (["encode", "-e", "nowhere", "films.txt"], "nowhere does not exist"),
        (["encode", "-e", "encoding", "nowhere.txt"], "nowhere.txt: No such file or directory"),
        (["encode", "-e", "encoding", "--threads", "0", "films.txt"], "threads is 0"),
        (["build", "new", "--language", "xx"], "no words for the language 'xx'"),
        (["build", "new", "--gamma", "2"], "gamma is 2.0"),
        (["build", "new", "--words", "nowhere.txt"], "nowhere.txt: No such file or directory"),
        (["build", "new", "--size", "10", "--edits", "turn"], "'turn' is no edit"),
        (["train", "new", "nowhere.csv", "-e", "encoding"], "nowhere.csv does not exist"),
        (["train", "new", "nothing", "-e", "encoding"], "'nothing' is no file and no other source"),
        (["train", "new", "films.txt", "-e", "encoding"], "films.txt has no labels; name their column with --label"),
        (["train", "new", "odd.csv", "-e", "encoding"], "could be the text. Name it"),
        (["train", "new", "films.csv", "-e", "encoding", "--text", "film"], "expected a column 'film'"),
        (["train", "new", "films.csv", "-e", "encoding", "--text", "a", "b", "c"], "--text names 3 columns"),
        (["train", "new", "films.tsv", "-e", "nowhere"], "nowhere does not exist"),
        (["train", "new", "films.tsv", "-e", "encoding", "--draws", "worst", "--k", "0"], "k is 0"),
        (["train", "new", "films.tsv", "--undefended", "--draws", "worst"], "no encodings to draw from"),
        (["train", "films.csv", "films.tsv", "-e", "encoding"], "films.csv is a file; a model is saved as a folder"),
        (["train", "encoding", "films.tsv", "-e", "encoding"], "a folder with other things in it"),
        (["predict", "nowhere", "films.txt"], "nowhere does not exist; `roben train` makes a model"),
        (["predict", "encoding", "films.txt"], "holds neither roben-model.json (roben) nor config.json"),
        (["predict", "model", "nowhere.txt"], "nowhere.txt: No such file or directory"),
        (["predict", "model", "nowhere.csv"], "nowhere.csv does not exist"),
        (["predict", "model", "films.csv", "--text", "review", "other"], "the classifier was trained on single texts"),
        (["certify", "nowhere", "films.tsv"], "nowhere does not exist"),
        (["certify", "model", "films.tsv"], "the label 'pos' of example 0 was not seen in training: [0, 1]"),
        (["certify", "model", "films.txt"], "films.txt has no labels"),
        (["certify", "undefended", "films.tsv"], "the model has no encoding, so that nothing can be proved of it"),
        (["certify", "model", "films.csv", "--text", "review", "--label", "stars", "--budget", "-1"], "budget is -1"),
        (["certify", "model", "films.csv", "--text", "review", "--label", "stars", "--limit", "0"], "limit is 0"),
        (["certify", "model", "films.csv", "--text", "review", "--label", "stars", "--sample", "-1"], "n is -1"),
    ],
)
def test_bad_input_exits_with_one_and_one_line_that_says_why(run, folder, arguments, cause):
    before = sorted(path for path in folder.rglob("*") if path.is_file())
    out, err = run(*arguments, code=1)
    assert out == ""
    assert err.startswith("roben: error: ")
    assert cause in err
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert sorted(path for path in folder.rglob("*") if path.is_file()) == before


@pytest.mark.parametrize("arguments", [["inspect", "nowhere"], ["certify", "model", "films.tsv"]])
def test_a_process_says_it_without_a_traceback(folder, arguments):
    done = process(*arguments, folder=folder)
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.startswith(b"roben: error: ")
    assert done.stderr.count(b"\n") == 1


def test_a_missing_package_is_named_with_its_extra(run, monkeypatch):
    monkeypatch.setattr("roben.extras.find_spec", lambda name: None)
    data._reviews.cache_clear()
    for arguments, extra in (
        (["train", "new", "reviews", "--undefended"], "demo"),
        (["train", "new", "films.tsv", "--undefended"], "classify"),
        (["train", "new", "films.tsv", "--undefended", "--transformer", "bert"], "transformers"),
        (["train", "new", "hub:imdb", "--undefended"], "hub"),
    ):
        _, err = run(*arguments, code=1)
        assert f"pip install 'roben[{extra}]'" in err
    assert not Path("new").exists()


def test_an_interrupt_exits_with_130(run, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(RobustClassifier, "load", interrupted)
    assert run("predict", "model", "films.txt", code=130) == ("", "roben: interrupted\n")


# -- encodings ----------------------------------------------------------------------------------------------


def test_what_is_built_is_what_the_library_builds(run, english, tmp_path):
    out, err = run("build", tmp_path / "built", "--size", "2000", "--json")
    expected = roben.Encoding.build(roben.Vocabulary.english(2000))
    assert err == ""
    assert roben.Encoding.load(tmp_path / "built") == expected
    summary = json.loads(out)
    assert (summary["words"], summary["codes"]) == (2000, expected.clusters.n_clusters)
    assert summary["fingerprint"] == expected.fingerprint
    assert summary["stability"] == expected.clusters.stability
    assert json.loads(run("inspect", tmp_path / "built", "--json")[0]) == summary
    out, err = run("inspect", tmp_path / "built")
    assert expected.fingerprint in out
    assert "2,000" in out
    assert err == ""


def test_options_of_build_reach_the_encoding(run, tmp_path):
    run(
        *("build", tmp_path / "built", "--size", "500", "--gamma", "0.7", "--tokens", "spaces", "--unknown", "<unk>"),
        *("--keep-first", "2", "--keep-last", "0", "--alphabet", "xyz", "--edits", "swap,insert", "--threads", "1"),
    )
    built = roben.Encoding.load(tmp_path / "built")
    surface = roben.EditOne(keep_first=2, keep_last=0, alphabet="xyz", edits=("insert", "swap"))
    assert (built.surface, built.clusters.gamma, built.tokens, built.unknown) == (surface, 0.7, "spaces", "<unk>")
    run("build", tmp_path / "built", "--size", "500", "--surface", "permutations")
    assert roben.Encoding.load(tmp_path / "built").surface == roben.InternalPermutation()


def test_words_come_from_files_and_texts(run, tmp_path):
    Path("words.txt").write_text("film 9\nflim 2\nstory 3\n")
    run("build", tmp_path / "built", "--words", "words.txt")
    assert roben.Encoding.load(tmp_path / "built").vocabulary.words == ("film", "story", "flim")
    run("build", tmp_path / "built", "--corpus", "films.txt", "--general", "0")
    words = roben.Encoding.load(tmp_path / "built").vocabulary
    assert words == roben.Vocabulary.from_texts([*GOOD, *BAD])
    run("build", tmp_path / "built", "--corpus", "-", "--general", "0", stdin=b"one two\none\n")
    assert roben.Encoding.load(tmp_path / "built").vocabulary.words == ("one", "two")


def test_lines_are_encoded_one_by_one(run, encoding):
    out, err = run("encode", "-e", "encoding", "films.txt", "films.txt")
    assert out.splitlines() == encoding([*GOOD, *BAD] * 2)
    assert err == ""
    out, _ = run("encode", "-e", "encoding", stdin=b"Thae mvie\n\n wjs  misreable\n\n")
    assert out == f"{encoding('thae mvie')}\n\n{encoding('wjs misreable')}\n\n"
    out, _ = run("encode", "-e", "encoding", "films.txt", "-", stdin=b"the film")
    assert out.splitlines() == [*encoding([*GOOD, *BAD]), encoding("the film")]


def test_by_default_english_is_the_encoding(run, encoding, monkeypatch):
    asked = []
    monkeypatch.setattr(roben.Encoding, "english", classmethod(lambda cls, **options: asked.append(1) or encoding))
    assert run("encode", "films.txt")[0].splitlines() == encoding([*GOOD, *BAD])
    run("train", "english-model", "films.tsv")
    assert RobustClassifier.load("english-model").encoding_ == encoding
    assert len(asked) == 2


def test_a_text_is_explained(run, encoding):
    out, err = run("explain", "-e", "encoding", "--json", "Thae", "mvie, xqzzy")
    found = json.loads(out)
    assert err == ""
    assert found["text"] == "Thae mvie, xqzzy"
    assert found["encoded"] == encoding("thae mvie, xqzzy")
    assert [row["token"] for row in found["tokens"]] == ["thae", "mvie", ",", "xqzzy"]
    assert [row["word"] for row in found["tokens"]] == ["the", "movie", ",", None] or found["tokens"][2]["word"] is None
    assert set(found["tokens"][1]["reachable"]) == encoding.reachable("mvie")
    out, _ = run("explain", "-e", "encoding", "Thae mvie")
    assert "movie" in out
    assert "can be reached by typos." in out
    assert run("explain", "-e", "encoding", stdin=b"Thae mvie") == (out, "")


# -- models -------------------------------------------------------------------------------------------------


def test_what_is_trained_is_what_the_library_trains(run, encoding, tmp_path):
    out, err = run("train", tmp_path / "cli", "films.tsv", "-e", "encoding", "--json")
    assert err == ""
    summary = json.loads(out)
    assert (summary["examples"], summary["classes"]) == (6, {"neg": 3, "pos": 3})
    assert summary["model"] == str(tmp_path / "cli")
    RobustClassifier(encoding).fit([*GOOD, *BAD], ["pos"] * 3 + ["neg"] * 3).save(tmp_path / "library")
    for one, other in zip(*(sorted((tmp_path / name).rglob("*")) for name in ("cli", "library")), strict=True):
        assert one.is_dir() or one.read_bytes() == other.read_bytes()


def test_training_sums_up_what_it_did(run, tmp_path):
    options = "--text", "review", "--label", "stars"
    out, err = run("train", tmp_path / "model", "films.csv", *options, "--dev", "films.csv", "-e", "encoding")
    assert err == ""
    assert "NgramClassifier" in out
    assert "0: 3, 1: 3" in out
    assert "accuracy on dev" in out
    out, _ = run(
        *("train", tmp_path / "model", "films.csv", *options, "--undefended", "--dev", "films.csv", "--json"),
    )
    summary = json.loads(out)
    assert (summary["encoding"], summary["accuracy on dev"]) == ("none", 1.0)
    assert RobustClassifier.load(tmp_path / "model").encoding_ is None


@pytest.mark.parametrize("draws", ["random", "worst"])
def test_draws_reach_the_training(run, encoding, tmp_path, draws):
    run("train", tmp_path / "cli", "films.tsv", "-e", "encoding", "--draws", draws, "--k", "2", "--seed", "3")
    model = RobustClassifier(encoding)
    model.fit([*GOOD, *BAD], ["pos"] * 3 + ["neg"] * 3, draws=draws, k=2, seed=3).save(tmp_path / "library")
    weights = "classifier/weights.safetensors"
    assert (tmp_path / "cli" / weights).read_bytes() == (tmp_path / "library" / weights).read_bytes()


def test_pairs_are_trained_predicted_and_certified_by_two_columns(run, tmp_path):
    options = "--text", "review", "other"
    run("train", tmp_path / "pairs", "films.csv", *options, "--label", "stars", "-e", "encoding")
    out, err = run("predict", tmp_path / "pairs", "films.csv", *options)
    assert (out, err) == ("1\n1\n1\n0\n0\n0\n", "")
    out, _ = run("certify", tmp_path / "pairs", "films.csv", *options, "--label", "stars", "--json")
    first = json.loads(out.splitlines()[0])
    assert first["text"] == [GOOD[0], GOOD[0][::-1]]


def test_a_line_in_is_a_line_out(run, folder):
    texts = ["a good film", "", "  ", "an AWFUL film!", "x" * 1000, "caf\u00e9 \u2603"]
    model = RobustClassifier.load(folder / "model")
    expected = model.predict(texts)
    lines = "".join(f"{text}\n" for text in texts).encode()
    out, err = run("predict", "model", stdin=lines)
    assert out == "".join(f"{label}\n" for label in expected)
    assert err == ""
    out, err = run("predict", "model", "-", "--json", stdin=lines)
    rows = [json.loads(line) for line in out.splitlines()]
    assert err == ""
    assert [row["text"] for row in rows] == texts
    assert [row["label"] for row in rows] == expected.tolist()
    assert [list(row["probabilities"].values()) for row in rows] == model.predict_proba(texts).tolist()
    assert list(rows[0]["probabilities"]) == ["0", "1"]


def test_texts_are_predicted_from_files_of_every_kind(run, folder):
    expected = RobustClassifier.load(folder / "model").predict([*GOOD, *BAD]).tolist()
    for arguments in (["films.txt"], ["films.tsv"], ["films.csv", "--text", "review"]):
        assert list(map(int, run("predict", "model", *arguments)[0].split())) == expected
    assert list(map(int, run("predict", "model", "films.txt", "films.tsv")[0].split())) == expected * 2
    assert run("predict", "model", stdin=b"") == ("", "")


def test_certificates_are_summed_up_and_the_broken_are_shown(run, folder):
    out, err = run("certify", "model", "reviews:test", "--sample", "200", "--show", "3")
    assert err == ""
    rows = dict(line.split("  ", 1) for line in out.splitlines() if "  " in line and not line.startswith(" "))
    summary = {name.strip(): value.strip() for name, value in rows.items()}
    assert summary["examples"] == "200"
    assert summary["budget"] == "any number of tokens"
    robust, standard = (float(summary[f"{kind} accuracy"].rstrip("%")) for kind in ("robust", "standard"))
    assert 40 < robust < standard < 90
    shown = out.partition("broken by typos")[2].splitlines()
    assert len([line for line in shown if line[:1].isdigit()]) == 3
    assert run("certify", "model", "reviews:test", "--sample", "200", "--show", "0")[0].count("broken by typos") == 0


def test_certificates_are_those_of_the_library(run, folder):
    model, part = RobustClassifier.load(folder / "model"), data.reviews("test").sample(150, seed=4)
    for options, named in (([], {}), (["--budget", "1", "--limit", "5"], {"budget": 1, "limit": 5})):
        out, err = run("certify", "model", "reviews:test", "--sample", "150", "--seed", "4", "--json", *options)
        assert err == ""
        found = [json.loads(line) for line in out.splitlines()]
        for row, c in zip(found, certify(model, part.texts, part.labels, **named), strict=True):
            assert all(row[name] == getattr(c, name) for name in row)
            assert set(vars(c)) - set(row) <= {"budget"}
            assert type(row["n_perturbations"]) is int


def test_data_is_read_from_stdin_too(run, folder):
    lines = "".join(json.dumps({"text": text, "label": i < 3}) + "\n" for i, text in enumerate([*GOOD, *BAD]))
    lines = lines.replace("true", "1").replace("false", "0").encode()
    out, err = run("certify", "model", "-", "--json", stdin=lines)
    assert [json.loads(line)["label"] for line in out.splitlines()] == [1, 1, 1, 0, 0, 0]
    assert err == ""


def test_labels_that_look_like_numbers_are_those_of_the_model(run, tmp_path):
    Path("mixed.csv").write_text("text,label\n" + "good,1\nbad,2\nother,unclear\n" * 3)
    Path("part.csv").write_text("text,label\ngood,1\nbad,2\n")
    run("train", tmp_path / "model", "mixed.csv", "-e", "encoding")
    out, _ = run("certify", tmp_path / "model", "part.csv", "--json")
    assert [json.loads(line)["label"] for line in out.splitlines()] == ["1", "2"]


def test_types_that_may_be_harmful_pass_if_trusted(run, encoding, tmp_path):
    pipeline = make_pipeline(TfidfVectorizer(preprocessor=textwrap.dedent), LogisticRegression())
    RobustClassifier(encoding, pipeline).fit([*GOOD, *BAD], [1] * 3 + [0] * 3).save(tmp_path / "model")
    _, err = run("predict", tmp_path / "model", "films.txt", code=1)
    assert "textwrap.dedent" in err
    out, _ = run("predict", tmp_path / "model", "films.txt", "--trust", "textwrap.dedent")
    assert len(out.splitlines()) == 6
    options = "--text", "review", "--label", "stars", "--trust", "textwrap.dedent"
    out, _ = run("certify", tmp_path / "model", "films.csv", *options, "--json")
    assert len(out.splitlines()) == 6


# -- streams ------------------------------------------------------------------------------------------------

ODD_LINES = (
    b"a good film\n\n\xff\xfe bad \x80bytes\n \n\tan awful\x0cfilm\r\n\n\nlast\x00line\xe2\x80\xa8still the last"
)


@pytest.mark.parametrize(
    "command", [["encode", "-e", "encoding"], ["predict", "model"], ["predict", "model", "--json"]]
)
def test_as_many_lines_come_out_as_go_in(folder, command):
    done = process(*command, folder=folder, stdin=ODD_LINES)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(b"\n")
    assert done.stdout.count(b"\n") == ODD_LINES.count(b"\n") + 1


def test_bytes_that_are_no_text_are_let_through(folder):
    done = process("encode", "-e", "encoding", folder=folder, stdin=b"\xff film\n? \xfe\n")
    assert done.stdout.splitlines()[0].startswith(b"\xff ")
    assert done.stdout.splitlines()[1] == b"? \xfe"


def test_lines_come_out_while_others_are_still_to_come(folder, encoding):
    with subprocess.Popen(
        [sys.executable, "-m", "roben", "encode", "-e", "encoding", "films.txt", "-"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as running:
        for text in [*GOOD, *BAD]:
            assert running.stdout.readline().decode() == f"{encoding(text)}\n"
        running.stdin.write(b"thhe end\n")
        running.stdin.close()
        assert running.stdout.read() == b"the end\n"
    assert running.returncode == 0


@pytest.mark.parametrize(
    "command",
    [
        ["encode", "-e", "encoding", "many.txt"],
        ["predict", "model", "many.txt"],
        ["certify", "model", "reviews:train", "--json"],
    ],
)
def test_a_reader_that_has_seen_enough_ends_it_quietly(folder, command):
    (folder / "many.txt").write_text("a good film with a great story\n" * 30_000)
    with subprocess.Popen(
        [sys.executable, "-m", "roben", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0


def test_progress_goes_to_stderr_and_results_to_stdout(run, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    out, err = run("build", tmp_path / "built", "--size", "2000", "--json")
    assert json.loads(out)["words"] == 2000
    assert "typo graph" in err
    assert "clusters" in err
    out, err = run("train", tmp_path / "model", "films.tsv", "-e", tmp_path / "built", "--json")
    assert json.loads(out)["examples"] == 6
    assert "training on 6 examples" in err
    out, err = run("certify", tmp_path / "model", "films.tsv")
    assert "standard accuracy" in out
    assert "certifying" in err


def test_without_a_terminal_nothing_but_results_is_printed(folder):
    done = process("certify", "model", "reviews:test", "--sample", "5", "--json", folder=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len([json.loads(line) for line in done.stdout.splitlines()]) == 5


# -- quickstart ---------------------------------------------------------------------------------------------


@pytest.fixture
def small_world(english, monkeypatch) -> None:
    """Fewer reviews, fewer words."""
    whole = data.reviews
    sizes = {"train": 1000, "dev": 40, "test": 60}
    monkeypatch.setattr(data, "reviews", lambda split="train": whole(split).head(sizes[split]))
    monkeypatch.setattr(roben.Vocabulary, "english", classmethod(lambda cls, n=100_000, **options: english))


@pytest.mark.usefixtures("small_world")
def test_the_quickstart_leaves_a_model_that_the_other_commands_use(run, tmp_path):
    out, err = run("quickstart", tmp_path / "quick", "--json")
    assert err == ""
    found = json.loads(out)
    assert (found["n_train"], found["n_test"], found["model"]) == (1000, 60, str(tmp_path / "quick"))
    rows = {row["system"]: row for row in found["rows"]}
    assert list(rows) == ["undefended", "connected components", "agglomerative"]
    assert rows["undefended"]["robust"] is None
    assert rows["undefended"]["attack"] < 0.3 < rows["undefended"]["standard"]
    for name in ("connected components", "agglomerative"):
        row = rows[name]
        assert 0.4 < row["robust"] <= row["attack"] <= row["standard"] < 1
        assert 0 < row["one_encoding"] <= 1

    labels = run("predict", tmp_path / "quick", stdin=b"an absolutley wnoderful film\n")[0]
    assert labels in ("0\n", "1\n")
    out, _ = run("certify", tmp_path / "quick", "reviews:test", "--json")
    verdicts = [json.loads(line)["verdict"] for line in out.splitlines()]
    assert verdicts.count("robust") / 60 == rows["agglomerative"]["robust"]


@pytest.mark.usefixtures("small_world")
def test_the_quickstart_shows_what_it_found(run, tmp_path):
    out, err = run("quickstart", tmp_path / "quick")
    assert err == ""
    for part in ("undefended", "connected components", "agglomerative", "with typos", "under attack"):
        assert part in out
    assert f" predict {tmp_path / 'quick'}\n" in out
    assert f" certify {tmp_path / 'quick'} reviews:dev\n" in out


@pytest.mark.usefixtures("small_world")
def test_the_example_of_the_quickstart_is_one(english, tmp_path):
    stages = []
    found = quickstart(tmp_path / "quick", progress=lambda stage, share: stages.append((stage, share)))
    assert found == quickstart(tmp_path / "quick")
    assert list(dict.fromkeys(stage for stage, _ in stages)) == ["encodings", "training", "certifying", "attacking"]
    assert all(0 <= share <= 1 for _, share in stages)

    e, test, model = found.example, data.reviews("test"), RobustClassifier.load(found.model)
    label = test.labels[test.texts.index(e.text)]
    assert e.label == ("negative", "positive")[label]
    assert model.encoding_(e.text) == e.encoded
    assert (model.predict([e.text, e.attacked]) == label).all()
    clean, typed = (model.encoding_.tokenize(text) for text in (e.text, e.attacked))
    assert sum(map(str.__ne__, clean, typed)) == e.n_changed > 0
    assert all(map(roben.EditOne().allows, clean, typed))
    undefended = RobustClassifier("none").fit(data.reviews("train").texts, data.reviews("train").labels)
    assert undefended.predict([e.text]) == label
    assert undefended.predict([e.attacked]) != label


@pytest.mark.usefixtures("small_world")
def test_the_quickstart_does_not_write_over_other_things(run, tmp_path):
    (tmp_path / "thesis.txt").write_text("dear to me")
    _, err = run("quickstart", tmp_path, code=1)
    assert "a folder with other things in it" in err
    assert os.listdir(tmp_path) == ["thesis.txt"]
