"""Folders that are written whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["whole_folder"]


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
