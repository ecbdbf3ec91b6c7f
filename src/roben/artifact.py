"""An encoding on disk: the format, how it is written, and what is checked before it is believed.

A folder holds `roben.json` and the two files that it names: the words as text, one a line, and the arrays as
safetensors. A data file has a part of its own checksum in its name, so that a new one never overwrites an old
one: `roben.json` is replaced last, in one step, and a process that is killed at any moment leaves the old
encoding or the new one. `docs/format.md` is the specification.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roben.vocabulary import LONGEST_WORD

__all__ = ["ArtifactError", "Content", "fingerprint", "read", "write"]

FORMAT = 1
KIND = "roben encoding"
MANIFEST = "roben.json"

DATA_FILE = re.compile(r"(words|arrays)-[0-9a-f]{12}\.(txt|safetensors)")
TEMPORARY = re.compile(r"\.roben-\w+\.tmp")

# What no honest file reaches, so that a malicious one is refused before it is read.
LARGEST_MANIFEST = 1 << 20
LARGEST_FILE = 1 << 30

CONFIG = {"surface", "gamma", "tokens", "unknown"}
DTYPES: dict[str, type[np.generic]] = {
    "counts": np.float64,
    "codes": np.uint32,
    "reachable_offsets": np.int64,
    "reachable_targets": np.uint32,
}


class ArtifactError(ValueError):
    """A folder that is no encoding, or one that was damaged, edited, or written by a newer roben."""


Content = tuple[dict[str, Any], tuple[str, ...], dict[str, NDArray[Any]]]


def fingerprint(config: dict[str, Any], words: tuple[str, ...], arrays: dict[str, NDArray[Any]]) -> str:
    """The same for two encodings exactly if they are equal: a checksum over all that they are made of."""
    return _fingerprint(config, _words_data(words), arrays)


def _fingerprint(config: dict[str, Any], words: bytes, arrays: dict[str, NDArray[Any]]) -> str:
    import hashlib

    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
    digest.update(words)
    for name, array in sorted(_ordered(arrays).items()):
        digest.update(f"\n{name} {array.dtype.str} {len(array)}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def write(path: Path, config: dict[str, Any], words: tuple[str, ...], arrays: dict[str, NDArray[Any]]) -> None:
    """Writes a folder, or replaces the encoding in it. The bytes depend on the content alone."""
    from roben import __version__

    data = _data_files(words, arrays)
    checksums = {key: _sha256(content) for key, content in data.items()}
    suffixes = {"words": "txt", "arrays": "safetensors"}
    files = {
        key: {"name": f"{key}-{checksums[key][:12]}.{suffixes[key]}", "bytes": len(data[key]), "sha256": checksums[key]}
        for key in data
    }
    manifest = {
        "kind": KIND,
        "format": FORMAT,
        "roben": __version__,
        "fingerprint": _fingerprint(config, data["words"], arrays),
        "config": config,
        "n_words": len(words),
        "n_codes": _n_codes(arrays),
        "files": files,
    }
    if path.exists() and not path.is_dir():
        raise ArtifactError(f"{path} is a file; an encoding is saved as a folder")
    path.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        for key, entry in files.items():
            _write_atomically(path / str(entry["name"]), data[key])
        text = json.dumps(manifest, indent=2, ensure_ascii=True, sort_keys=True) + "\n"
        _write_atomically(path / MANIFEST, text.encode())
        # What the old encoding left, and writers that were killed.
        named = {str(entry["name"]) for entry in files.values()}
        for file in path.iterdir():
            if file.name not in named and (DATA_FILE.fullmatch(file.name) or TEMPORARY.fullmatch(file.name)):
                file.unlink(missing_ok=True)


def read(path: Path) -> Content:
    """Configuration, words and arrays of an encoding, all checked."""
    manifest = _read_manifest(path)
    while True:
        try:
            return _read_content(path, manifest)
        except ArtifactError:
            # Another process may have replaced the encoding between the manifest and its files.
            again = _read_manifest(path)
            if again == manifest:
                raise
            manifest = again


def _read_content(path: Path, manifest: dict[str, Any]) -> Content:
    try:
        data = {key: _read_data(path, entry) for key, entry in manifest["files"].items()}
    except FileNotFoundError as error:  # gone between two looks at it
        raise ArtifactError(f"{error.filename} is missing") from None
    words, arrays = _parse_words(path, data["words"]), _parse_arrays(path, data["arrays"])
    if manifest["fingerprint"] != _fingerprint(manifest["config"], data["words"], arrays):
        raise ArtifactError(f"{path / MANIFEST} was edited: its configuration does not match its fingerprint")
    if len(words) != manifest["n_words"]:
        raise ArtifactError(f"{path} has {len(words):,} words, but {MANIFEST} says {manifest['n_words']:,}")
    _check_arrays(path, words, arrays)
    if manifest["n_codes"] != _n_codes(arrays):
        raise ArtifactError(f"{path} has {_n_codes(arrays):,} codes, but {MANIFEST} says {manifest['n_codes']:,}")
    return manifest["config"], words, arrays


def _n_codes(arrays: dict[str, NDArray[Any]]) -> int:
    return int((arrays["codes"] == np.arange(len(arrays["codes"]))).sum())


# -- files --------------------------------------------------------------------------------------------------


def _data_files(words: tuple[str, ...], arrays: dict[str, NDArray[Any]]) -> dict[str, bytes]:
    from safetensors.numpy import save

    saved: bytes = save(_ordered(arrays))
    return {"words": _words_data(words), "arrays": saved}


def _words_data(words: tuple[str, ...]) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()


def _ordered(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name: np.ascontiguousarray(arrays[name], dtype=np.dtype(DTYPES[name])) for name in sorted(DTYPES)}


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One writer at a time, where the system can lock a folder: else one may remove what another has just written."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # on some network file systems
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sha256(data: bytes) -> str:
    import hashlib  # here, as tempfile and safetensors below: `import roben` is quicker without them

    return hashlib.sha256(data).hexdigest()


def _write_atomically(path: Path, data: bytes) -> None:
    import tempfile

    # Written beside its place and renamed into it: a reader sees the old file or the new one, never a part. The
    # bytes reach the disk before the name does.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".roben-", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _read_manifest(path: Path) -> dict[str, Any]:
    file = path / MANIFEST
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; `roben build` makes an encoding")
    if not file.is_file():
        raise ArtifactError(f"{path} holds no {MANIFEST}: it is no encoding, or was never finished")
    if file.stat().st_size > LARGEST_MANIFEST:
        raise ArtifactError(f"{file} has {file.stat().st_size:,} bytes; an honest one has a few thousand")
    try:
        manifest = json.loads(file.read_bytes())
        json.dumps(manifest)  # nested no deeper than can be written again
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{file} is not readable as JSON: {str(error)[:200]}") from None
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        raise ArtifactError(f"{file} is not that of an encoding: its kind is not {KIND!r}")
    version = manifest.get("format")
    if not isinstance(version, int) or not _is_count(version):
        raise ArtifactError(f"{file} has format {version!r}; expected a whole number")
    if version < 1:
        raise ArtifactError(f"{file} has format {version}; the first is 1")
    if version > FORMAT:
        raise ArtifactError(
            f"{path} has format {version}, written by roben {manifest.get('roben')}; this one reads up to {FORMAT}: "
            "install a newer roben"
        )
    _check_manifest(file, manifest)
    return manifest


def _check_manifest(file: Path, manifest: dict[str, Any]) -> None:
    def expect(is_so: bool, what: str) -> None:
        if not is_so:
            raise ArtifactError(f"{file} is damaged: {what}")

    config = manifest.get("config")
    expect(isinstance(config, dict) and set(config) == CONFIG, f"config must have {', '.join(sorted(CONFIG))}")
    expect(isinstance(manifest.get("fingerprint"), str), "fingerprint is missing")
    expect(_is_count(manifest.get("n_words")), "n_words is not a whole number")
    expect(_is_count(manifest.get("n_codes")), "n_codes is not a whole number")
    files = manifest.get("files")
    expect(isinstance(files, dict) and sorted(files) == ["arrays", "words"], "files does not name words and arrays")
    for key, entry in manifest["files"].items():
        expect(isinstance(entry, dict), f"files.{key} is no object")
        name = entry.get("name")
        # A file of ours in this folder, whatever the name says.
        is_ours = isinstance(name, str) and DATA_FILE.fullmatch(name) is not None
        expect(is_ours, f"files.{key} is named {ascii(name)[:80]}, which is no name of a data file")
        expect(_is_count(entry.get("bytes")), f"files.{key} has no size")
        expect(isinstance(entry.get("sha256"), str), f"files.{key} has no checksum")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _read_data(path: Path, entry: dict[str, Any]) -> bytes:
    file: Path = path / entry["name"]
    if not file.is_file():
        raise ArtifactError(f"{file} is missing")
    size = file.stat().st_size
    if size != entry["bytes"]:
        raise ArtifactError(f"{file} has {size:,} bytes, but {MANIFEST} says {entry['bytes']:,}: it was cut or edited")
    if size > LARGEST_FILE:
        raise ArtifactError(f"{file} has {size:,} bytes; an encoding's files have at most {LARGEST_FILE:,}")
    data = file.read_bytes()
    if _sha256(data) != entry["sha256"]:
        raise ArtifactError(f"{file} was edited or damaged: its checksum is not the one in {MANIFEST}")
    return data


# -- content ------------------------------------------------------------------------------------------------


def _parse_words(path: Path, data: bytes) -> tuple[str, ...]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ArtifactError(f"the words of {path} are not UTF-8: {error}") from None
    words = tuple(text.split())
    if text and not text.endswith("\n"):
        raise ArtifactError(f"the words of {path} do not end with a line break: the file was cut")
    if "\n".join([*words, ""]) != text:
        raise ArtifactError(f"the words of {path} hold white space or empty lines")
    if text.lower() != text:
        raise ArtifactError(f"the words of {path} are not all lower-case")
    if len(set(words)) != len(words):
        raise ArtifactError(f"the words of {path} are not all different")
    if max(map(len, words), default=0) > LONGEST_WORD:
        raise ArtifactError(f"{path} has a word of more than {LONGEST_WORD} characters")
    return words


def _parse_arrays(path: Path, data: bytes) -> dict[str, NDArray[Any]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError, MemoryError) as error:
        raise ArtifactError(f"the arrays of {path} are not readable as safetensors: {str(error)[:200]}") from None
    if sorted(arrays) != sorted(DTYPES):
        raise ArtifactError(f"{path} has the arrays {sorted(arrays)}; expected {sorted(DTYPES)}")
    for name, array in arrays.items():
        if array.dtype != DTYPES[name] or array.ndim != 1:
            raise ArtifactError(
                f"the array {name} of {path} is {array.dtype} of shape {array.shape}; "
                f"expected {np.dtype(DTYPES[name])} in one dimension"
            )
    return arrays


def _check_arrays(path: Path, words: tuple[str, ...], arrays: dict[str, NDArray[Any]]) -> None:
    def expect(is_so: Any, what: str) -> None:
        if not is_so:
            raise ArtifactError(f"the arrays of {path} contradict each other: {what}")

    n = len(words)
    counts, codes = arrays["counts"], arrays["codes"]
    offsets, targets = arrays["reachable_offsets"], arrays["reachable_targets"]
    expect(len(counts) == n and len(codes) == n and len(offsets) == n + 1, "not one entry for every word")
    expect(bool((np.isfinite(counts) & (counts > 0)).all()), "a count is not a number above 0")
    with np.errstate(over="ignore"):
        expect(math.isfinite(float(counts.sum())), "the counts add up to infinity")
    expect(bool((counts[:-1] >= counts[1:]).all()), "the words are not in order of frequency")
    expect(bool((codes <= np.arange(n)).all()), "a code is rarer than its word")
    expect(bool((codes[codes] == codes).all()), "a code is not its own code")
    expect(offsets[0] == 0 and offsets[-1] == len(targets), "the reachable sets do not fill their array")
    expect(bool((offsets[1:] > offsets[:-1]).all()), "a word reaches no code")
    expect(bool((targets < n).all()) and bool((codes[targets] == targets).all()), "something reachable is no code")
    rows = np.repeat(np.arange(n), np.diff(offsets))
    ascending = (np.diff(targets.astype(np.int64)) > 0) | (np.diff(rows) > 0)
    expect(bool(ascending.all()), "a reachable set is not in order")
    reaches_itself = np.zeros(n, dtype=bool)
    reaches_itself[rows[targets == codes[rows]]] = True
    expect(bool(reaches_itself.all()), "a word does not reach its own code")
