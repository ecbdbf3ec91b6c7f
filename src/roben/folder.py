"""Folders that are written whole or not at all, and checksums of what is in them."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["checksum", "checksum_of", "whole_folder"]


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A new folder to write into, which then takes the place of `path`; after an error what was there stays."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Made beside its place and moved there when it is whole; what was there goes last.
    scratch = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}-"))
    try:
        made, replaced = scratch / "made", scratch / "replaced"
        made.mkdir()
        yield made
        if path.exists():
            path.rename(replaced)
        try:
            made.rename(path)
        except BaseException:
            if replaced.exists():
                replaced.rename(path)
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def checksum(file: Path) -> str:
    """Of what a file holds."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def checksum_of(manifest: dict[str, Any]) -> str:
    """Of all that a manifest says, but for its checksum."""
    content = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
