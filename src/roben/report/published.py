"""The paper's numbers, in percent. Its model is BERT-base, trained on all rows and split by white space."""

from __future__ import annotations

from roben.experiment import TASKS

__all__ = ["GAMMA", "LOG10_PERTURBATIONS", "accuracy", "one_encoding"]

GAMMA = 0.3
"""Of the paper's agglomerative clusters."""

LOG10_PERTURBATIONS = {"SST-2": 97}
"""How many perturbations an example has on average."""

COLUMNS = (*TASKS, "Avg")

# By surface, measure and system: SST-2, MRPC, QQP, MNLI, QNLI, RTE and their average.
ACCURACY: dict[str, dict[str, dict[str, tuple[float, ...]]]] = {
    "edits": {
        "standard": {
            "undefended": (93.8, 87.7, 91.3, 84.6, 88.6, 71.1, 86.2),
            "augmentation": (92.2, 84.3, 88.7, 83.0, 87.4, 63.5, 83.1),
            "typo-corrector": (89.6, 80.9, 87.6, 75.9, 80.5, 54.9, 78.2),
            "components": (80.6, 79.9, 84.2, 65.7, 73.3, 52.7, 72.7),
            "agglomerative": (83.1, 83.8, 85.0, 69.1, 76.6, 59.2, 76.1),
        },
        "attack": {
            "undefended": (8.7, 10.0, 17.4, 0.7, 0.7, 1.8, 6.6),
            "augmentation": (17.1, 1.0, 27.6, 15.4, 10.7, 1.4, 12.2),
            "typo-corrector": (53.2, 30.1, 52.0, 23.0, 32.3, 21.3, 35.3),
            "components": (80.3, 79.4, 82.7, 62.6, 71.5, 47.3, 70.6),
            "agglomerative": (82.1, 82.8, 83.2, 65.3, 74.5, 52.7, 73.4),
        },
        "robust": {
            "components": (80.1, 79.4, 82.2, 61.4, 70.5, 46.6, 70.0),
            "agglomerative": (80.7, 80.9, 81.4, 62.8, 71.9, 49.8, 71.3),
        },
    },
    "permutations": {
        "standard": {
            "undefended": (93.8, 87.7, 91.2, 84.3, 88.9, 71.1, 86.2),
            "components": (93.2, 87.7, 86.9, 75.9, 83.4, 61.4, 81.4),
        },
        "attack": {
            "undefended": (28.1, 15.9, 33.0, 4.9, 6.2, 5.8, 15.7),
            "components": (93.2, 87.7, 86.9, 75.9, 83.4, 61.4, 81.4),
        },
        "robust": {"components": (93.2, 87.7, 86.9, 75.9, 83.4, 61.4, 81.4)},
    },
}

ONE_ENCODING = {
    "components": (86.9, 71.6, 72.7, 45.3, 54.6, 40.4, 61.9),
    "agglomerative": (65.6, 50.0, 62.7, 35.4, 36.6, 25.2, 45.9),
}


def accuracy(surface: str, measure: str, system: str, column: str) -> float | None:
    """Standard, attack or robust accuracy on a task, or their average ("Avg").

    >>> accuracy("edits", "robust", "agglomerative", "SST-2")
    80.7
    """
    return _of(ACCURACY.get(surface, {}).get(measure, {}).get(system), column)


def one_encoding(system: str, column: str) -> float | None:
    """The share of texts with a single encoding."""
    return _of(ONE_ENCODING.get(system), column)


def _of(row: tuple[float, ...] | None, column: str) -> float | None:
    return None if row is None else row[COLUMNS.index(column)]
