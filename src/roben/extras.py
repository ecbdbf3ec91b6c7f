"""Optional packages: which extra brings each."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["MissingExtraError", "require"]


class MissingExtraError(ImportError):
    """A package is needed that the base install leaves out."""


def require(package: str, *, extra: str) -> None:
    """Says how to install a package if it is not there."""
    if find_spec(package) is None:
        raise MissingExtraError(f"this needs the package {package}: pip install 'roben[{extra}]'")
