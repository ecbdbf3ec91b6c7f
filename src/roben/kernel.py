"""Which kernel runs: the compiled one, or the same in plain Python.

The compiled kernel is taken where it was built and knows the surface. The environment variable
ROBEN_KERNEL=compiled or ROBEN_KERNEL=reference forces either.
"""

from __future__ import annotations

import os
import unicodedata
import warnings
from functools import cache
from types import ModuleType
from typing import Any

__all__ = ["is_word_character", "kernel_for", "native_kernel", "split_for", "split_name", "word_ranges"]

NATIVE_SURFACES = ("edit-one", "internal-permutation")


def kernel_for(surface: Any) -> ModuleType:
    """The kernel for a surface: its functions are those of `roben._reference`."""
    if is_native(surface):
        return native_kernel()
    from roben import _reference

    return _reference


def is_native(surface: Any) -> bool:
    """Does the compiled kernel know this surface? (A class that inherits from one of them is another.)"""
    from roben.surface import EditOne, InternalPermutation

    return type(surface) in (EditOne, InternalPermutation)


@cache
def native_kernel() -> ModuleType:
    """The compiled kernel, or the plain one where there is none."""
    wanted = os.environ.get("ROBEN_KERNEL", "")
    if wanted not in ("", "compiled", "reference"):
        raise ValueError(f"ROBEN_KERNEL is {wanted!r}; it may be 'compiled' or 'reference'")
    if wanted != "reference":
        try:
            from roben import _core
        except ImportError as error:
            if wanted == "compiled":
                raise ImportError(
                    "ROBEN_KERNEL=compiled, but the compiled kernel is missing; "
                    "install roben again on a machine with a C++17 compiler"
                ) from error
            warnings.warn(
                "roben runs on its plain Python kernel, some hundred times slower: it was installed without a C++17 "
                "compiler. Install one and roben again, or set ROBEN_KERNEL=reference to say that this is fine",
                RuntimeWarning,
                stacklevel=2,
            )
        else:
            return _core
    from roben import _reference

    return _reference


def split_name(tokens: str, *, keeps_ends: bool) -> str:
    """The kernel's name for a way to split text.

    Apostrophes at the ends of a run ("'cancer'") are split off where the surface keeps both ends of a token. Where
    it does not, an edit could move one there, and the tokens of a typed text would no longer line up.
    """
    if tokens == "spaces":
        return "spaces"
    if tokens == "words":
        return "inner-words" if keeps_ends else "words"
    raise ValueError(f"tokens is {tokens!r}; it may be 'words' or 'spaces'")


def split_for(tokens: str, surface: Any) -> str:
    """The kernel's name for a way to split text that a surface is typed into."""
    return split_name(tokens, keeps_ends=bool(getattr(surface, "keeps_ends", False)))


def is_word_character(character: str) -> bool:
    """Letters, digits and the marks that combine with them; apostrophes are told apart elsewhere.

    Variation selectors count as marks of their own: they follow emoji, and would glue them to words.
    """
    category = unicodedata.category(character)
    return category[0] in "LN" or (
        category[0] == "M" and not "\ufe00" <= character <= "\ufe0f" and character < "\U000e0000"
    )


def word_ranges() -> list[tuple[int, int]]:
    """The word characters above ASCII, as ranges. Beyond the last plane in use there are none."""
    ranges: list[tuple[int, int]] = []
    start = None
    for code in range(0x80, LAST_ASSIGNED + 2):
        if is_word_character(chr(code)):
            start = code if start is None else start
        elif start is not None:
            ranges.append((start, code - 1))
            start = None
    return ranges


# Every letter, digit and combining mark of Unicode up to version 17 lies below; a test says so.
LAST_ASSIGNED = 0x3347F
