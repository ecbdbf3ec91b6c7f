"""Encodings on disk: what is written, what is believed, and the fate of every hostile file."""

import ast
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import roben
from roben import ArtifactError, Encoding, Vocabulary, artifact

WORDS = {"at": 100, "about": 50.5, "aunt": 6, "abrupt": 3, "abet": 1}
SOURCE = Path(roben.__file__).parent


@pytest.fixture(scope="module")
def small() -> Encoding:
    """Five words, two of them codes: 0 1 0 1 1."""
    return Encoding.build(Vocabulary.from_counts(WORDS))


@pytest.fixture
def folder(small, tmp_path) -> Path:
    """Where it is saved."""
    small.save(tmp_path / "encoding")
    return tmp_path / "encoding"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


# -- saving and loading -------------------------------------------------------------------------------------


ENCODINGS = {
    "words": lambda: Encoding.build(Vocabulary.from_counts(WORDS)),
    "spaces, another unknown": lambda: Encoding.build(Vocabulary.from_counts(WORDS), tokens="spaces", unknown="«?»"),
    "an unknown token that is no text": lambda: Encoding.build(Vocabulary.from_counts(WORDS), unknown="\ud800"),
    "permutation": lambda: Encoding.build(Vocabulary.from_counts(WORDS), roben.InternalPermutation()),
    "components": lambda: Encoding(
        roben.connected_components(roben.typo_graph(Vocabulary.from_counts(WORDS), roben.EditOne()))
    ),
    "another surface": lambda: Encoding.build(
        Vocabulary.from_counts({"größe": 2, "große": 1}),
        roben.EditOne(keep_first=0, keep_last=2, alphabet="äöü'", edits=("swap", "insert")),
    ),
    "no words": lambda: Encoding.build(Vocabulary.from_counts({})),
    "one word": lambda: Encoding.build(Vocabulary.from_counts({"a": 1e-200})),
    "all of Unicode": lambda: Encoding.build(
        Vocabulary.from_counts({"na\0ve": 1e300, "हिन्दी": 3, "👍🏽": 2, "e\u0301": 1, "\ufeffbom": 0.1, "..": 0.1})
    ),
}


@pytest.mark.parametrize("make", ENCODINGS.values(), ids=ENCODINGS)
def test_loading_what_was_saved_gives_an_equal_encoding(make, tmp_path):
    encoding = make()
    encoding.save(tmp_path / "encoding")
    loaded = Encoding.load(tmp_path / "encoding")
    assert loaded == encoding
    assert loaded.fingerprint == encoding.fingerprint
    assert loaded.vocabulary.words == encoding.vocabulary.words
    assert loaded.surface == encoding.surface
    for text in ("At abuot, xyz!", "große na\0ve 👍🏽", ""):
        assert loaded(text) == encoding(text)


def test_an_encoding_of_10000_words_comes_back_equal(encoding, tmp_path):
    encoding.save(tmp_path)
    loaded = Encoding.load(str(tmp_path))
    assert loaded == encoding
    assert [loaded.reachable(w) for w in encoding.vocabulary.words] == [
        encoding.reachable(w) for w in encoding.vocabulary.words
    ]


@pytest.mark.parametrize("make", ENCODINGS.values(), ids=ENCODINGS)
def test_the_bytes_depend_on_the_content_alone(make, tmp_path):
    make().save(tmp_path / "a" / "deep" / "folder")
    make().save(tmp_path / "b")
    Encoding.load(tmp_path / "b").save(tmp_path / "c")
    Encoding.load(tmp_path / "b").save(tmp_path / "b")
    first = contents(tmp_path / "a" / "deep" / "folder")
    assert first == contents(tmp_path / "b") == contents(tmp_path / "c")


def test_a_folder_holds_a_manifest_and_the_two_files_that_it_names(small, folder):
    manifest = json.loads((folder / "roben.json").read_text("ascii"))
    names = {key: entry["name"] for key, entry in manifest["files"].items()}
    assert contents(folder).keys() == {"roben.json", *names.values()}
    assert (folder / names["words"]).read_text("utf-8") == "at\nabout\naunt\nabrupt\nabet\n"
    arrays = safetensors.numpy.load((folder / names["arrays"]).read_bytes())
    assert {name: array.dtype for name, array in arrays.items()} == {
        "counts": np.float64,
        "codes": np.uint32,
        "reachable_offsets": np.int64,
        "reachable_targets": np.uint32,
    }
    assert manifest["kind"] == "roben encoding"
    assert manifest["format"] == 1
    assert manifest["roben"] == roben.__version__
    assert manifest["fingerprint"] == small.fingerprint
    assert (manifest["n_words"], manifest["n_codes"]) == (5, 2)
    assert manifest["config"] == {
        "surface": small.surface.config(),
        "gamma": 0.3,
        "tokens": "words",
        "unknown": "[MASK]",
    }


def test_saving_over_an_encoding_replaces_it_and_leaves_nothing_of_it(small, folder, tmp_path):
    other = ENCODINGS["permutation"]()
    other.save(tmp_path / "fresh")
    other.save(folder)
    assert Encoding.load(folder) == other
    assert contents(folder) == contents(tmp_path / "fresh")
    small.save(folder)
    assert Encoding.load(folder) == small


def test_saving_leaves_what_else_lies_in_the_folder(small, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for encoding in (small, ENCODINGS["permutation"](), small):
        encoding.save(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert len(contents(tmp_path)) == 4


@pytest.mark.parametrize("damage", ["", "{}", "no JSON", '{"kind": "roben encoding", "format": 999}'])
def test_saving_over_a_damaged_encoding_mends_it(small, folder, damage):
    (folder / "roben.json").write_text(damage)
    small.save(folder)
    assert Encoding.load(folder) == small


def test_saving_over_a_file_is_refused_and_leaves_it(small, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(ArtifactError, match="is a file; an encoding is saved as a folder"):
        small.save(file)
    assert file.read_text() == "mine"


def test_loading_from_where_nothing_is_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing does not exist; `roben build` makes"):
        Encoding.load(tmp_path / "nothing")


def test_a_folder_or_a_file_that_is_no_encoding_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "file"):
        with pytest.raises(ArtifactError, match=r"holds no roben.json"):
            Encoding.load(path)


def test_an_artifact_error_is_a_value_error():
    assert issubclass(ArtifactError, ValueError)


# -- surfaces of one's own ----------------------------------------------------------------------------------


class Doubling(roben.Surface):
    """Any one letter may be typed twice."""

    def __eq__(self, other):
        return type(other) is type(self)

    def __hash__(self):
        return 0

    def typos(self, token):
        return frozenset([token, *(token[:i] + token[i : i + 1] + token[i:] for i in range(len(token)))])


def test_a_surface_of_ones_own_has_to_be_handed_in_again(tmp_path):
    encoding = Encoding.build(Vocabulary.from_counts(WORDS), Doubling())
    encoding.save(tmp_path)
    assert Encoding.load(tmp_path, surface=Doubling()) == encoding
    with pytest.raises(ArtifactError, match=r"Doubling: load\(path, surface=…\) takes it"):
        Encoding.load(tmp_path)
    for wrong in (roben.EditOne(), roben.InternalPermutation()):
        with pytest.raises(ArtifactError, match=r"built for the surface .*Doubling, not for"):
            Encoding.load(tmp_path, surface=wrong)


def test_a_surface_handed_in_must_be_the_one_that_was_saved(small, folder):
    assert Encoding.load(folder, surface=roben.EditOne()) == small
    for wrong in (roben.EditOne(keep_first=2), roben.InternalPermutation(), Doubling()):
        with pytest.raises(ArtifactError, match=r"built for EditOne.*, not for"):
            Encoding.load(folder, surface=wrong)


# -- damage -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["words", "arrays"])
def test_a_flipped_bit_in_the_data_is_noticed(folder, file):
    (path,) = folder.glob(f"{file}-*")
    honest = path.read_bytes()
    for i in range(len(honest)):
        path.write_bytes(flipped(honest, i))
        with pytest.raises(ArtifactError, match="its checksum is not the one in"):
            Encoding.load(folder)


@pytest.mark.parametrize("bit", [0, 5, 7])
def test_a_flipped_bit_in_the_manifest_is_noticed_or_harmless(small, folder, bit):
    # Harmless is what no one reads back: white space, and the version that wrote it.
    path = folder / "roben.json"
    honest = path.read_bytes()
    n_noticed = 0
    for i in range(len(honest)):
        path.write_bytes(flipped(honest, i, bit))
        try:
            assert Encoding.load(folder) == small
        except ArtifactError:
            n_noticed += 1
    assert n_noticed > 0.5 * len(honest)


def flipped(data: bytes, i: int, bit: int | None = None) -> bytes:
    return data[:i] + bytes([data[i] ^ 1 << (i % 8 if bit is None else bit)]) + data[i + 1 :]


@pytest.mark.parametrize("file", ["words", "arrays", "roben"])
def test_a_file_that_was_cut_anywhere_is_noticed(folder, file):
    (path,) = folder.glob(f"{file}*")
    honest = path.read_bytes()
    for length in range(0, len(honest) - 1, 1 if len(honest) < 100 else 7):
        path.write_bytes(honest[:length])
        with pytest.raises(ArtifactError, match=r"was cut or edited|not readable as JSON"):
            Encoding.load(folder)


@pytest.mark.parametrize("file", ["words", "arrays"])
def test_a_file_that_is_missing_or_no_file_is_named(folder, file):
    (path,) = folder.glob(f"{file}-*")
    path.unlink()
    with pytest.raises(ArtifactError, match=rf"{path.name} is missing"):
        Encoding.load(folder)
    path.mkdir()
    with pytest.raises(ArtifactError, match=rf"{path.name} is missing"):
        Encoding.load(folder)


# -- malice -------------------------------------------------------------------------------------------------
#
# A hostile folder is an honest one that was tampered with; where it is sealed again, all checksums are right.


def sealed(folder: Path, *, words: bytes | None = None, arrays: bytes | None = None, **config) -> None:
    """Other data and configuration, with the checksums and the fingerprint that belong to them."""
    manifest = json.loads((folder / "roben.json").read_bytes())
    for key, data in {"words": words, "arrays": arrays}.items():
        entry = manifest["files"][key]
        file = folder / entry["name"]
        if data is not None:
            file.write_bytes(data)
        entry["bytes"] = file.stat().st_size
        entry["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    manifest["config"] |= config
    manifest["fingerprint"] = fingerprint(folder, manifest)
    (folder / "roben.json").write_text(json.dumps(manifest))


def fingerprint(folder: Path, manifest: dict) -> str:
    """As docs/format.md says; of arrays that cannot be read, none."""
    digest = hashlib.sha256(json.dumps(manifest["config"], sort_keys=True).encode())
    digest.update((folder / manifest["files"]["words"]["name"]).read_bytes())
    try:
        loaded = safetensors.numpy.load((folder / manifest["files"]["arrays"]["name"]).read_bytes())
    except Exception:
        return ""
    for name, array in sorted(loaded.items()):
        digest.update(f"\n{name} {array.dtype.str} {len(array) if array.ndim else 0}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def words(text: str | bytes):
    """Sealed with other words."""
    return lambda folder: sealed(folder, words=text if isinstance(text, bytes) else text.encode())


def config(**changes):
    """Sealed with another configuration."""
    return lambda folder: sealed(folder, **changes)


def surface(**changes):
    """Sealed with another surface."""
    return lambda folder: sealed(folder, surface={**roben.EditOne().config(), **changes})


def arrays(**changes):
    """Sealed with arrays that are others, more (or, if None, not there)."""

    def tamper(folder: Path) -> None:
        (file,) = folder.glob("arrays-*")
        honest = safetensors.numpy.load(file.read_bytes())
        changed = {name: array for name, array in {**honest, **changes}.items() if array is not None}
        sealed(folder, arrays=safetensors.numpy.save({k: np.array(a, order="C") for k, a in changed.items()}))

    return tamper


def raw_arrays(data: bytes):
    """Sealed with bytes for the arrays."""
    return lambda folder: sealed(folder, arrays=data)


def safetensors_bytes(header: dict | bytes, data: bytes = b"", size: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if size is None else size).to_bytes(8, "little") + text + data


def tensor(dtype: str, shape: list[int], end: int) -> dict:
    return {"counts": {"dtype": dtype, "shape": shape, "data_offsets": [0, end]}}


def manifest(text: str | bytes | None = None, **changes):
    """Another manifest: altogether, or in some of its entries; not sealed."""

    def tamper(folder: Path) -> None:
        honest = json.loads((folder / "roben.json").read_bytes())
        data = json.dumps({**honest, **changes}) if text is None else text
        (folder / "roben.json").write_bytes(data if isinstance(data, bytes) else data.encode())

    return tamper


def without(*names: str):
    """A manifest without some of its entries."""

    def tamper(folder: Path) -> None:
        honest = json.loads((folder / "roben.json").read_bytes())
        for name in names:
            del honest[name]
        (folder / "roben.json").write_text(json.dumps(honest))

    return tamper


def entry(key: str = "words", **changes):
    """A manifest that says something else about one of the two files."""

    def tamper(folder: Path) -> None:
        honest = json.loads((folder / "roben.json").read_bytes())
        honest["files"][key] |= changes
        (folder / "roben.json").write_text(json.dumps(honest))

    return tamper


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


def ids(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint32)


def rows(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def counts(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


HOSTILE = {
    # -- the manifest
    "an empty manifest": (manifest(""), "not readable as JSON"),
    "a manifest that is no JSON": (manifest("roben: encoding"), "not readable as JSON"),
    "a manifest that is no text": (manifest(b"\xff\xfe\xfd{"), "not readable as JSON"),
    "deeply nested JSON": (manifest("[" * 100_000 + "]" * 100_000), "not readable as JSON: maximum recursion depth"),
    "deeply nested objects": (manifest('{"a":' * 100_000), "not readable as JSON: maximum recursion depth"),
    "a number of many digits": (manifest('{"format": ' + "9" * 100_000 + "}"), "not readable as JSON"),
    "a manifest of 10 MB": (manifest(" " * 10_000_000 + "{}"), "has 10,000,002 bytes; an honest one has"),
    "a list": (manifest("[]"), "its kind is not 'roben encoding'"),
    "a number": (manifest("1"), "its kind is not 'roben encoding'"),
    "no kind": (without("kind"), "its kind is not 'roben encoding'"),
    "another kind": (manifest(kind="roben model"), "its kind is not 'roben encoding'"),
    "a format of the future": (manifest(format=999), "format 999, written by roben .*install a newer roben"),
    "no format": (without("format"), "format None; expected a whole number"),
    "a format that is text": (manifest(format="1"), "format '1'; expected a whole number"),
    "a format that is true": (manifest(format=True), "format True; expected a whole number"),
    "a format that is 1.0": (manifest(format=1.0), "format 1.0; expected a whole number"),
    "a format below 0": (manifest(format=-1), "format -1; expected a whole number"),
    "a format before the first": (manifest(format=0), "format 0; the first is 1"),
    "n_codes that lies": (manifest(n_codes=1), "codes, but roben.json says 1"),
    "a name of 300 characters": (entry(name="a" * 300), "is no name of a data file"),
    "a gamma nested 500 deep": (config(gamma=nested(500)), "gamma is"),
    "counts that add up to infinity": (arrays(counts=np.full(5, 1e308)), "add up to infinity"),
    "a word of 300 characters": (words("the\nmovie\nwas\nmine\n" + "e" * 300 + "\n"), "more than 256 characters"),
    "offsets that wrap around": (
        arrays(
            reachable_offsets=np.array([0, 2**63 - 1, -2, 3, 4, 5]), reachable_targets=np.arange(5, dtype=np.uint32)
        ),
        "contradict each other",
    ),
    "no config": (without("config"), "config must have"),
    "a config that is a list": (manifest(config=[]), "config must have"),
    "no fingerprint": (without("fingerprint"), "fingerprint is missing"),
    "another fingerprint": (manifest(fingerprint="0" * 64), "does not match its fingerprint"),
    "no n_words": (without("n_words"), "n_words is not a whole number"),
    "n_words that lies": (manifest(n_words=4), "has 5 words, but roben.json says 4"),
    "n_words of 10^15": (manifest(n_words=10**15), "has 5 words, but roben.json says 1,000,000,000,000,000"),
    "n_words below 0": (manifest(n_words=-5), "n_words is not a whole number"),
    "no files": (without("files"), "files does not name words and arrays"),
    "files that are a list": (manifest(files=["words", "arrays"]), "files does not name words and arrays"),
    "one file only": (manifest(files={"words": {}}), "files does not name words and arrays"),
    "a third file": (manifest(files={"words": {}, "arrays": {}, "code": {}}), "files does not name words and arrays"),
    "files without entries": (manifest(files={"words": None, "arrays": {}}), "files.words is no object"),
    "an edited gamma": (manifest(config={"gamma": 0.9}), "config must have gamma, surface, tokens, unknown"),
    # -- the names and sizes of files
    "a name above the folder": (entry(name="../words.txt"), r"named '../words.txt', which is no name of a data file"),
    "a name below the folder": (entry(name="a/words.txt"), "which is no name of a data file"),
    "an absolute name": (entry(name="/etc/passwd"), "named '/etc/passwd', which is no name of a data file"),
    "a Windows name": (entry(name="..\\words.txt"), "which is no name of a data file"),
    "a name with NUL": (entry(name="words\0.txt"), "which is no name of a data file"),
    "an empty name": (entry(name=""), "which is no name of a data file"),
    "the folder's name": (entry(name="."), "which is no name of a data file"),
    "the name of the folder above": (entry("arrays", name=".."), "which is no name of a data file"),
    "a name that is a number": (entry(name=5), "is no name of a data file"),
    "a name that no file can have": (entry(name="\ud800"), "is no name of a data file"),
    "the manifest's own name": (entry(name="roben.json"), "is no name of a data file"),
    "a size of 10^15": (entry(bytes=10**15), "but roben.json says 1,000,000,000,000,000: it was cut or edited"),
    "arrays of 10^15 bytes": (entry("arrays", bytes=10**15), "but roben.json says 1,000,000,000,000,000"),
    "a size below 0": (entry(bytes=-1), "files.words has no size"),
    "a size that is text": (entry(bytes="27"), "files.words has no size"),
    "a checksum that is a number": (entry(sha256=5), "files.words has no checksum"),
    "another checksum": (entry("arrays", sha256="0" * 64), "its checksum is not the one in roben.json"),
    # -- the configuration
    "gamma of 2": (config(gamma=2), "gamma is 2; it must be a number from 0"),
    "gamma that is NaN": (config(gamma=float("nan")), "gamma is nan"),
    "gamma that is text": (config(gamma="0.3"), "gamma is '0.3'"),
    "gamma of many digits": (config(gamma=10**400), "gamma is 1000"),
    "no gamma": (config(gamma=None), "gamma is None"),
    "another split": (config(tokens="letters"), "tokens is 'letters'; it may be 'words' or 'spaces'"),
    "a split that is a list": (config(tokens=["words"]), r"tokens is \['words'\]"),
    "an unknown of two words": (config(unknown="a b"), "unknown is 'a b'"),
    "an unknown that is nothing": (config(unknown=""), "unknown is ''"),
    "an unknown that is a number": (config(unknown=0), "unknown is 0"),
    "no surface": (config(surface=None), "its surface is None"),
    "a surface that is text": (config(surface="edit-one"), "its surface is 'edit-one'"),
    "another surface": (config(surface={"kind": "keyboard"}), "unknown surface 'keyboard'; known are 'edit-one'"),
    "a surface of no kind": (config(surface={}), "unknown surface None"),
    "a surface of a kind that is a list": (config(surface={"kind": []}), r"unknown surface \[\]"),
    "a surface of its author": (
        config(surface={"kind": "custom", "name": "os.system"}),
        r"os.system: load\(path, surf",
    ),
    "a surface with one option more": (surface(command="rm"), "unexpected keyword argument 'command'"),
    "a surface that types hyphens": (surface(alphabet="ab-"), "may type '-', which ends a word"),
    "a surface that types blanks": (surface(alphabet="a b"), "alphabet holds ' '"),
    "an alphabet that is a list": (surface(alphabet=["a"]), r"alphabet is \['a'\]"),
    "an edit that is none": (surface(edits=["insert", "shuffle"]), "'shuffle' is no edit"),
    "edits that are a number": (surface(edits=5), "edits is 5"),
    "ends kept below 0": (surface(keep_first=-1), "keep_first is -1"),
    "ends kept by half": (surface(keep_last=0.5), "keep_last is 0.5"),
    "ends kept beyond all bounds": (surface(keep_last=2**63), "keep_last is 9223372036854775808"),
    # -- the words
    "words that are not UTF-8": (words(b"at\nab\xffut\naunt\nabrupt\nabet\n"), "words of .* are not UTF-8"),
    "words with a surrogate": (words(b"at\nab\xed\xa0\x80ut\naunt\nabrupt\nabet\n"), "words of .* are not UTF-8"),
    "words without a last line break": (words("at\nabout\naunt\nabrupt\nabet"), "do not end with a line break"),
    "an empty word": (words("at\n\naunt\nabrupt\nabet\n"), "white space or empty lines"),
    "a word with a blank": (words("at\nab out\naunt\nabrupt\nabet\n"), "white space or empty lines"),
    "Windows line breaks": (words("at\r\nabout\r\naunt\r\nabrupt\r\nabet\r\n"), "white space or empty lines"),
    "other line breaks": (words("at\u2028about\naunt\nabrupt\nabet\n"), "white space or empty lines"),
    "a word that stands twice": (words("at\nabout\naunt\nabrupt\nat\n"), "are not all different"),
    "a word in capitals": (words("at\nAbout\naunt\nabrupt\nabet\n"), "are not all lower-case"),
    "one word less": (words("at\nabout\naunt\nabrupt\n"), "has 4 words, but roben.json says 5"),
    "one word more": (words("at\nabout\naunt\nabrupt\nabet\nas\n"), "has 6 words, but roben.json says 5"),
    "no words": (words(""), "has 0 words, but roben.json says 5"),
    # -- the arrays as safetensors
    "no arrays at all": (raw_arrays(b""), "not readable as safetensors"),
    "arrays that are noise": (raw_arrays(bytes(range(256))), "not readable as safetensors"),
    "a header of 2^60 bytes": (raw_arrays(safetensors_bytes(b"{}", size=2**60)), "not readable as safetensors"),
    "a header of 2^64 − 1 bytes": (raw_arrays(safetensors_bytes(b"{}", size=2**64 - 1)), "not readable as safetensors"),
    "a header that is no JSON": (raw_arrays(safetensors_bytes(b"{counts}")), "not readable as safetensors"),
    "a header deeply nested": (raw_arrays(safetensors_bytes(b"[" * 90_000)), "not readable as safetensors"),
    "an empty header": (raw_arrays(safetensors_bytes({})), r"has the arrays \[\]; expected"),
    "an array of 2^50 entries": (raw_arrays(safetensors_bytes(tensor("F64", [2**50], 2**53))), "not readable as safet"),
    "an array of 2^80 entries": (
        raw_arrays(safetensors_bytes(tensor("F64", [2**40, 2**40], 0))),
        "not readable as saf",
    ),
    "an array below 0": (raw_arrays(safetensors_bytes(tensor("F64", [-1], 0))), "not readable as safetensors"),
    "an array that numpy lacks": (raw_arrays(safetensors_bytes(tensor("BF16", [1], 2), b"ab")), "not readable as saf"),
    "an array of no known kind": (raw_arrays(safetensors_bytes(tensor("code", [1], 1), b"a")), "not readable as saf"),
    "a missing array": (arrays(codes=None), r"has the arrays \['counts', 'reach.*; expected \['codes', 'counts'"),
    "one array more": (arrays(code=ids(0)), r"has the arrays \['code', 'codes', .*; expected"),
    "codes of 64 bits": (arrays(codes=rows(0, 1, 2, 3, 4)), "the array codes of .* is int64 .*expected uint32"),
    "codes that are signed": (arrays(codes=np.arange(5, dtype=np.int32)), "is int32 .*expected uint32"),
    "counts of 32 bits": (arrays(counts=np.ones(5, dtype=np.float32)), "counts of .* is float32 .*expected float64"),
    "counts that are true": (arrays(counts=np.ones(5, dtype=bool)), "counts of .* is bool .*expected float64"),
    "offsets of 32 bits": (arrays(reachable_offsets=ids(0, 1, 2, 3, 4, 5)), "is uint32 .*expected int64"),
    "codes in two dimensions": (arrays(codes=ids(0, 0, 0, 0, 0).reshape(1, 5)), r"shape \(1, 5\); expected"),
    "codes in no dimension": (arrays(codes=np.uint32(0).reshape(())), r"shape \(\); expected"),
    # -- what the arrays say
    "too few counts": (arrays(counts=counts(5, 4, 3, 2)), "not one entry for every word"),
    "too many codes": (arrays(codes=ids(0, 1, 2, 3, 4, 5)), "not one entry for every word"),
    "too few offsets": (arrays(reachable_offsets=rows(0, 1, 2, 3, 4)), "not one entry for every word"),
    "no offsets": (arrays(reachable_offsets=rows()), "not one entry for every word"),
    "a count of 0": (arrays(counts=counts(5, 4, 3, 2, 0)), "a count is not a number above 0"),
    "a count below 0": (arrays(counts=counts(5, 4, 3, 2, -1)), "a count is not a number above 0"),
    "a count that is NaN": (arrays(counts=counts(5, 4, np.nan, 2, 1)), "a count is not a number above 0"),
    "a count without end": (arrays(counts=counts(np.inf, 4, 3, 2, 1)), "a count is not a number above 0"),
    "counts that rise": (arrays(counts=counts(5, 4, 3, 2, 3)), "not in order of frequency"),
    "a code that is no word": (arrays(codes=ids(0, 1, 2, 3, 5)), "a code is rarer than its word"),
    "a code of 2^32 − 1": (arrays(codes=ids(2**32 - 1, 1, 2, 3, 4)), "a code is rarer than its word"),
    "a code that is rarer": (arrays(codes=ids(1, 1, 2, 3, 4)), "a code is rarer than its word"),
    "a code of a code": (arrays(codes=ids(0, 0, 1, 3, 4)), "a code is not its own code"),
    "falling offsets": (arrays(reachable_offsets=rows(0, 3, 2, 4, 5, 6)), "do not fill|a word reaches no code"),
    "offsets that start late": (arrays(reachable_offsets=rows(1, 2, 3, 4, 5, 6)), "do not fill their array"),
    "offsets that end late": (arrays(reachable_offsets=rows(0, 1, 2, 3, 4, 10**15)), "do not fill their array"),
    "offsets below 0": (arrays(reachable_offsets=rows(0, -1, 2, 3, 4, 5)), "do not fill|a word reaches no code"),
    "targets that no row holds": (arrays(reachable_targets=ids(*range(90))), "do not fill their array"),
}


def reaching(targets: list[list[int]], codes: list[int]):
    """Sealed with other codes and reachable sets."""
    offsets = np.cumsum([0, *map(len, targets)])
    return arrays(
        codes=ids(*codes),
        reachable_offsets=offsets.astype(np.int64),
        reachable_targets=ids(*(code for row in targets for code in row)),
    )


HOSTILE |= {
    "a word that reaches nothing": (reaching([[0], [], [0], [1], [1]], [0, 1, 0, 1, 1]), "a word reaches no code"),
    "a word that reaches no word": (reaching([[0], [1], [0], [1], [1, 5]], [0, 1, 0, 1, 1]), "reachable is no code"),
    "a word that reaches what is no code": (reaching([[0], [1], [0], [1], [1, 2]], [0, 1, 0, 1, 1]), "reachable is no"),
    "a word that reaches 2^32 − 1": (reaching([[0], [1], [0], [1], [2**32 - 1]], [0, 1, 0, 1, 1]), "reachable is no c"),
    "reachable codes out of order": (reaching([[0], [1], [1, 0], [1], [1]], [0, 1, 0, 1, 1]), "set is not in order"),
    "a reachable code twice": (reaching([[0], [1], [0, 0], [1], [1]], [0, 1, 0, 1, 1]), "set is not in order"),
    "a word that does not reach its own code": (
        reaching([[0], [1], [1], [1], [1]], [0, 1, 0, 1, 1]),
        "a word does not reach its own code",
    ),
}


@pytest.mark.parametrize(("tamper", "cause"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_artifact_is_refused_and_the_cause_named(folder, tamper, cause):
    tamper(folder)
    with pytest.raises(ArtifactError, match=f"(?s){cause}") as refused:
        Encoding.load(folder)
    assert len(str(refused.value)) < 2_000


def test_an_honest_artifact_may_be_sealed_again(small, folder):
    # Else the table would prove nothing.
    for tamper in (config(), words("at\nabout\naunt\nabrupt\nabet\n"), arrays(), manifest(), entry()):
        tamper(folder)
        assert Encoding.load(folder) == small
    reaching([[0], [1], [0], [1], [0, 1]], [0, 1, 0, 1, 1])(folder)
    assert Encoding.load(folder)("At about aunt abrupt abet") == "at about at about about"


def test_every_edit_of_the_configuration_without_its_seal_is_noticed(folder):
    honest = json.loads((folder / "roben.json").read_bytes())
    for change in (
        {"gamma": 0.4},
        {"tokens": "spaces"},
        {"unknown": "the"},
        {"surface": {"kind": "internal-permutation"}},
    ):
        manifest(config=honest["config"] | change)(folder)
        with pytest.raises(ArtifactError, match="its configuration does not match its fingerprint"):
            Encoding.load(folder)


def test_a_word_may_hold_nul_and_any_character_that_is_no_white_space(folder):
    words("at\nab\0ut\naunt\n\x01\x7f\u200b\U0010ffff\nabet\n")(folder)
    loaded = Encoding.load(folder)
    assert "ab\0ut" in loaded.vocabulary
    assert loaded.word("ab\0t") == "ab\0ut"


def test_a_file_larger_than_any_honest_one_is_refused_before_it_is_read(folder, monkeypatch):
    monkeypatch.setattr(artifact, "LARGEST_FILE", 20)
    monkeypatch.setattr(Path, "read_bytes", refuse_if(lambda path: path.name != "roben.json"))
    with pytest.raises(ArtifactError, match="have at most 20"):
        Encoding.load(folder)


def test_a_manifest_larger_than_any_honest_one_is_refused_before_it_is_read(folder, monkeypatch):
    manifest(" " * 10_000_000)(folder)
    monkeypatch.setattr(Path, "read_bytes", refuse_if(lambda path: True))
    with pytest.raises(ArtifactError, match="an honest one has a few thousand"):
        Encoding.load(folder)


def refuse_if(condition):
    read_bytes = Path.read_bytes
    return lambda path: pytest.fail(f"{path} was read") if condition(path) else read_bytes(path)


SMALL_NUMBERS = st.integers(0, 6)


@settings(max_examples=400)
@given(
    counts=st.lists(st.floats(-1, 9, allow_nan=False), min_size=5, max_size=5).map(lambda x: sorted(x, reverse=True)),
    codes=st.lists(SMALL_NUMBERS, min_size=5, max_size=5),
    offsets=st.lists(st.integers(-1, 9), min_size=4, max_size=4).map(sorted),
    targets=st.lists(SMALL_NUMBERS, min_size=4, max_size=9),
)
def test_arrays_that_are_believed_make_an_encoding_that_works(tmp_path_factory, small, counts, codes, offsets, targets):
    folder = tmp_path_factory.mktemp("arrays")
    small.save(folder)
    tamper = arrays(
        counts=np.array(counts),
        codes=ids(*codes),
        reachable_offsets=rows(0, *offsets, len(targets)),
        reachable_targets=ids(*targets),
    )
    tamper(folder)
    try:
        encoding = Encoding.load(folder)
    except ArtifactError:
        return
    for word in encoding.vocabulary.words:
        assert encoding.code(word) in encoding.reachable(word) <= set(encoding.vocabulary.words)
        assert encoding.code(encoding.code(word)) == encoding.code(word)
    assert roben.Encoding.load(folder).fingerprint == encoding.fingerprint


# -- a process that is killed -------------------------------------------------------------------------------

KILLED_SAVE = """
import os, sys
import roben

old, new, kill_at = sys.argv[1], sys.argv[2], int(sys.argv[3])
encoding = roben.Encoding.load(new)
calls = 0

def killed(name):
    function = getattr(os, name)
    def call(*args, **kwargs):
        global calls
        calls += 1
        if calls == kill_at:
            if name == "fsync" and os.fstat(args[0]).st_size:  # only a part had reached the disk
                os.ftruncate(args[0], os.fstat(args[0]).st_size // 2)
            os._exit(77)
        result = function(*args, **kwargs)
        if name == "replace" and str(args[1]).endswith("roben.json"):
            print("replaced", flush=True)
        return result
    setattr(os, name, call)

for name in ("fsync", "chmod", "replace", "unlink"):
    killed(name)
encoding.save(old)
"""


@pytest.mark.parametrize("kill_at", range(1, 13))
def test_a_process_killed_while_saving_leaves_the_old_encoding_or_the_new_one(small, folder, tmp_path, kill_at):
    # Three files, each synced, given its rights and put in its place; then two old ones are removed. The last of
    # the twelve saves is not killed.
    new = ENCODINGS["all of Unicode"]()
    new.save(tmp_path / "new")
    done = subprocess.run(
        [sys.executable, "-c", KILLED_SAVE, str(folder), str(tmp_path / "new"), str(kill_at)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == (77 if kill_at < 12 else 0)
    assert Encoding.load(folder) == (new if done.stdout == "replaced\n" else small)
    for encoding in (new, small):
        encoding.save(folder)
        assert Encoding.load(folder) == encoding


# -- code is never loaded -----------------------------------------------------------------------------------


def test_nothing_in_roben_can_load_code_from_a_file():
    forbidden = {"pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve"}
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            imported = [a.name for a in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if isinstance(node, ast.ImportFrom):
                imported.append(node.module or "")
            assert not forbidden & {name.split(".")[0] for name in imported}, f"{file}, line {node.lineno}"
