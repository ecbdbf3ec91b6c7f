"""What attacks found, and what that says of a model."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from roben.typed import Text

__all__ = ["AttackResult", "attack_accuracy", "interval"]


@dataclass(frozen=True)
class AttackResult:
    """What an attack made of one example."""

    index: int
    text: Text
    label: Any
    attacked: Text | None
    """A perturbation that the model gets wrong: the text itself if it was wrong already; None if none was found."""
    n_changed: int
    """How many tokens of it differ. White space and capitals are no part of tokens."""
    n_queries: int
    """How many texts the search asked the model about."""

    @property
    def is_broken(self) -> bool:
        """Does the model get this example wrong under attack?"""
        return self.attacked is not None


def attack_accuracy(results: Iterable[AttackResult]) -> float:
    """The share of examples that the model still gets right."""
    broken = [result.is_broken for result in results]
    return 1 - sum(broken) / len(broken) if broken else float("nan")


def interval(share: float, n: int) -> tuple[float, float]:
    """The 95% interval of a share that was measured on n examples (Wilson's).

    >>> low, high = interval(0.5, 100)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    if n == 0:
        return 0.0, 1.0
    z2 = 1.959964**2 / n
    middle = (share + z2 / 2) / (1 + z2)
    half = math.sqrt(z2 * (share * (1 - share) + z2 / 4)) / (1 + z2)
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))
