"""A text as it is typed: its tokens, where they stand, and the same text with others in their places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from roben.kernel import native_kernel

__all__ = ["Text", "TypedText", "sides_of"]

# What is classified: a text, or a pair of texts.
Text = str | tuple[str, str]


def sides_of(text: Text) -> tuple[str, ...]:
    """The text, or both texts of a pair."""
    return (text,) if isinstance(text, str) else text


@dataclass(frozen=True)
class TypedText:
    """A text and the split that tells its tokens: "spaces", "words" or "inner-words".

    >>> text = TypedText("Isn't it well-made?", "inner-words")
    >>> text.tokens
    ("isn't", 'it', 'well', '-', 'made', '?')
    >>> text.replace({0: "isnt", 4: "mad"})
    'isnt it well-mad?'
    """

    text: str
    split: str

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The tokens, lower-cased."""
        return tuple(native_kernel().tokenize(self.text, self.split))

    def replace(self, changes: Mapping[int, str]) -> str:
        """The text with other tokens in the places of some of its own. What stays keeps its capitals."""
        pieces, at = [], 0
        for i, typo in sorted(changes.items()):
            start, end = self._spans[i]
            pieces += [self._spelled[at:start], typo]
            at = end
        return "".join([*pieces, self._spelled[at:]])

    @cached_property
    def _spelled(self) -> str:
        """The text itself, unless lower-casing changes its length: then lower-cased, so that tokens can be found."""
        lowered = self.text.lower()
        return self.text if len(lowered) == len(self.text) else lowered

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        searched = self.text.lower()
        if self.split != "spaces":
            searched = searched.replace("\u2019", "'")
        spans, at = [], 0
        for token in self.tokens:  # in order, and only white space lies between
            start = searched.index(token, at)
            at = start + len(token)
            spans.append((start, at))
        return spans
