"""Tokens of many texts as one matrix."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "lengths", "padded"]

# What a tokenizer makes of texts: by name, such as "input_ids", a list of numbers for every text.
Columns = Mapping[str, list[list[int]]]


def lengths(columns: Columns) -> NDArray[np.int64]:
    """How many tokens each text has."""
    found = columns["input_ids"]
    return np.fromiter(map(len, found), dtype=np.int64, count=len(found))


def padded(columns: Columns, width: int, tokenizer: Any) -> dict[str, NDArray[np.int32]]:
    """A row for each text, filled up on the tokenizer's side with what it fills up with."""
    n = lengths(columns)
    places = np.arange(width)
    is_filled = (places[::-1] if tokenizer.padding_side == "left" else places) < n[:, None]
    filling = {"input_ids": tokenizer.pad_token_id or 0, "token_type_ids": tokenizer.pad_token_type_id}
    matrices = {}
    for name, rows in columns.items():
        matrix = np.full((len(n), width), filling.get(name, 0), dtype=np.int32)
        matrix[is_filled] = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(n.sum()))
        matrices[name] = matrix
    return matrices
