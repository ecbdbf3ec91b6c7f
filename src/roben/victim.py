"""A model as the victim of TextAttack's attacks, which may be held to what a surface allows.

Given a fitted model, and a transformation and a search of TextAttack's::

    goal = textattack.goal_functions.UntargetedClassification(victim(model))
    attack = textattack.Attack(goal, [constraint(roben.EditOne())], transformation, search)
    results = [attack.attack(text, rank) for text, rank in dataset(model, roben.data.reviews("test"))]
"""

from __future__ import annotations

from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roben.classifier.robust import as_texts, checked_probabilities
from roben.data import Dataset
from roben.extras import require
from roben.kernel import split_for
from roben.surface import Surface
from roben.typed import Text, TypedText, sides_of

__all__ = ["constraint", "dataset", "victim"]


def victim(model: Any) -> Any:
    """The model as a `textattack.models.wrappers.ModelWrapper`.

    It may be any fitted model with `predict_proba` and `classes_`. Called with texts, or with pairs of texts, the
    wrapper gives an array of their probabilities: a row for each, which sums to 1, and a column for each of `classes_`.
    """
    wrappers = _textattack("models.wrappers")
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"{type(model).__name__} has no predict_proba; TextAttack searches by probabilities")

    class Victim(wrappers.ModelWrapper):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.model = model

        def __call__(self, text_input_list: list[Any], **_: Any) -> NDArray[np.float64]:
            rows = checked_probabilities(model, as_texts(text_input_list), len(model.classes_))
            # Of rows that miss 1 by rounding, as in single precision, TextAttack would take the softmax once more.
            probabilities: NDArray[np.float64] = rows / rows.sum(axis=1, keepdims=True)
            return probabilities

        def __reduce__(self) -> tuple[Any, ...]:  # for attacks that run in several processes
            return victim, (model,)

    return Victim()


def dataset(model: Any, data: Dataset) -> Any:
    """The data as a `textattack.datasets.Dataset`: in place of labels, their ranks among `model.classes_`."""
    datasets = _textattack("datasets")
    if data.labels is None:
        raise ValueError(f"{data.name} has no labels; an attack has to know which answers are right")
    classes = np.asarray(model.classes_).tolist()
    ranks = {label: rank for rank, label in enumerate(classes)}
    if unknown := set(data.labels) - set(ranks):
        raise ValueError(f"{data.name}: the label {min(unknown, key=str)!r} is none of the model's: {classes}")
    is_pairs = bool(data.texts) and not isinstance(data.texts[0], str)
    return datasets.Dataset(
        [(text, ranks[label]) for text, label in zip(data.texts, data.labels, strict=True)],
        input_columns=["sentence1", "sentence2"] if is_pairs else ["text"],
        label_names=[str(label) for label in classes],
    )


def constraint(surface: Surface, tokens: str = "words") -> Any:
    """A `textattack.constraints.Constraint`: of every token of the original text, only what the surface allows.

    `tokens` says how texts are split, as for `Encoding.build`. Under it no attack breaks what is certified.
    """
    constraints = _textattack("constraints")
    split = split_for(tokens, surface)

    class WithinSurface(constraints.Constraint):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(compare_against_original=True)

        def _check_constraint(self, transformed_text: Any, reference_text: Any) -> bool:
            clean, typed = (_tokens(text.tokenizer_input, split) for text in (reference_text, transformed_text))
            return [*map(len, clean)] == [*map(len, typed)] and all(map(surface.allows, chain(*clean), chain(*typed)))

        def __reduce__(self) -> tuple[Any, ...]:
            return constraint, (surface, tokens)

    return WithinSurface()


def _textattack(part: str) -> Any:
    """A part of TextAttack, which takes seconds to import."""
    require("textattack", extra="textattack")
    return import_module(f"textattack.{part}")


def _tokens(text: Text, split: str) -> list[tuple[str, ...]]:
    """Those of each side."""
    return [TypedText(side, split).tokens for side in sides_of(text)]
