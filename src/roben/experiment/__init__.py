"""The paper's evaluation: entries from a file, each measured once, trained models shared between them."""

from roben.experiment.entry import EVALUATED, SYSTEMS, TASKS, Entry, ExperimentError, Plan, Recipe
from roben.experiment.result import FORMAT, load_results, result_path
from roben.experiment.run import run

__all__ = [
    "EVALUATED",
    "FORMAT",
    "SYSTEMS",
    "TASKS",
    "Entry",
    "ExperimentError",
    "Plan",
    "Recipe",
    "load_results",
    "result_path",
    "run",
]
