"""Heuristic attacks: what a model loses to an attacker who searches.

An attack is made first and then run: `beam_search(width=5)(model, texts, labels, surface, seed=0)`. The model is any
object with `predict_proba` and `classes_`. Nothing that an attack claims is believed: every token must be one that the
surface allows, and the label must really have changed.
"""

from roben.attack.referee import AttackError, from_function
from roben.attack.result import AttackResult, attack_accuracy, interval
from roben.attack.search import beam_search, greedy, paper_sample, random_search

__all__ = [
    "ATTACKS",
    "AttackError",
    "AttackResult",
    "attack_accuracy",
    "beam_search",
    "from_function",
    "greedy",
    "interval",
    "paper_sample",
    "random_search",
]

ATTACKS = {"beam": beam_search, "greedy": greedy, "random": random_search}
