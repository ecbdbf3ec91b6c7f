"""The main job in one run: train, attack and certify a classifier of movie reviews, with and without encodings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from roben import attack, data
from roben.certificate import Certificate, certify, robust_accuracy
from roben.classifier import RobustClassifier
from roben.clustering import agglomerate, connected_components
from roben.encoding import Encoding, StageProgress
from roben.graph import typo_graph
from roben.surface import EditOne
from roben.vocabulary import Vocabulary

__all__ = ["Quickstart", "run"]


@dataclass(frozen=True)
class Row:
    """One system of the table; shares from 0 to 1, None where there is none."""

    system: str
    standard: float
    attack: float
    robust: float | None
    one_encoding: float | None


@dataclass(frozen=True)
class Example:
    """A review that typos turn around without an encoding, and cannot with it."""

    text: str
    label: str
    attacked: str
    n_changed: int
    encoded: str
    n_perturbations: int
    n_encodings: int


@dataclass(frozen=True)
class Quickstart:
    """What a run found."""

    rows: tuple[Row, ...]
    example: Example | None
    n_train: int
    n_test: int
    model: Path

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "model": str(self.model)}

    def report(self, command: str = "roben") -> list[Any]:
        """For a terminal. `command` is how roben was called."""
        from rich.table import Table
        from rich.text import Text

        def percent(share: float | None) -> str:
            return "" if share is None else f"{100 * share:.1f}"

        table = Table(title="Movie reviews, percent classified rightly", title_justify="left", title_style="bold")
        for column in ("", "standard", "under attack", "robust (proved)", "|B_α| = 1"):
            table.add_column(column, justify="left" if not column else "right")
        for row in self.rows:
            table.add_row(row.system, *map(percent, (row.standard, row.attack, row.robust, row.one_encoding)))
        parts: list[Any] = [
            table,
            f"A linear model over words and pairs of words, trained on {self.n_train:,} review sentences and measured "
            f"on {self.n_test:,} others. The attack is a beam search; robust means proved: no edits, one in each of "
            "any number of words, change the answer.\n",
        ]
        if self.example is not None:
            shown, e = Text(), self.example
            changes = "one word" if e.n_changed == 1 else f"{e.n_changed} words"
            shown.append(f"{e.label} review   ", style="bold").append(f"{e.text}\n")
            shown.append("with typos        ", style="bold")
            for old, new in zip(e.text.split(), e.attacked.split(), strict=False):
                shown.append(new, style="bold red" if old.lower() != new.lower() else "").append(" ")
            shown.append(f"\nundefended        {changes} changed, and the answer turns around.\n")
            shown.append(f"with encodings    its {e.n_perturbations:.2g} perturbations become ")
            shown.append("one text" if e.n_encodings == 1 else f"{e.n_encodings} texts").append(":\n")
            shown.append(f"                  {e.encoded}\n")
            shown.append("                  and it is classified rightly: none of them changes the answer.\n")
            parts.append(shown)
        parts.append(
            f"The model is in {self.model}:\n"
            f"  echo 'an absolutley wnoderful film' | {command} predict {self.model}\n"
            f"  {command} certify {self.model} reviews:dev\n"
        )
        return parts


def run(path: Path, *, seed: int = 0, progress: StageProgress = lambda stage, share: None) -> Quickstart:
    """Trains three classifiers, attacks and certifies them, and saves the one with agglomerative clusters."""
    train, test = data.reviews("train"), data.reviews("test")
    labels, gold = train.labels or (), test.labels or ()
    surface = EditOne()

    progress("encodings", 0.0)
    graph = typo_graph(Vocabulary.english(), surface, progress=lambda share: progress("encodings", 0.5 * share))
    agglomerative = Encoding(agglomerate(graph, progress=lambda share: progress("encodings", 0.5 + 0.5 * share)))
    encodings: dict[str, Encoding | str] = {
        "undefended": "none",
        "connected components": Encoding(connected_components(graph)),
        "agglomerative": agglomerative,
    }
    models: dict[str, RobustClassifier] = {}
    for i, (name, encoding) in enumerate(encodings.items()):
        progress("training", i / len(encodings))
        models[name] = RobustClassifier(encoding).fit(train.texts, labels)
    models["agglomerative"].save(path)

    certificates: dict[str, list[Certificate]] = {}
    for i, (name, model) in enumerate(models.items()):
        progress("certifying", i / len(models))
        certificates[name] = [] if model.encoding_ is None else list(certify(model, test.texts, gold))

    results: dict[str, list[attack.AttackResult]] = {}
    n_attacked = 0

    def count(result: attack.AttackResult) -> None:
        nonlocal n_attacked
        n_attacked += 1
        progress("attacking", n_attacked / (len(models) * len(test)))

    for name, model in models.items():
        results[name] = attack.beam_search(width=5)(model, test.texts, gold, surface, seed=seed, progress=count)
    rows = []
    for name, model in models.items():
        proved = robust_accuracy(certificates[name]) if certificates[name] else None
        rows.append(
            Row(
                system=name,
                standard=float((model.predict(test.texts) == list(gold)).mean()),
                attack=attack.attack_accuracy(results[name]),
                robust=None if proved is None else proved.lower,
                one_encoding=None
                if proved is None
                else sum(c.n_encodings == 1 for c in certificates[name]) / len(certificates[name]),
            )
        )
    return Quickstart(
        rows=tuple(rows),
        example=_example(agglomerative, results["undefended"], certificates["agglomerative"]),
        n_train=len(train),
        n_test=len(test),
        model=path,
    )


def _example(
    encoding: Encoding, results: Sequence[attack.AttackResult], certificates: Sequence[Certificate]
) -> Example | None:
    """The shortest review that was turned around and is now certified, if it is long enough to mean something."""
    proved = {c.text: c for c in certificates if c.verdict == "robust"}
    turned = [r for r in results if r.n_changed > 0 and r.text in proved and isinstance(r.text, str)]
    long_enough = [r for r in turned if len(r.text) >= 60] or turned
    if not long_enough:
        return None
    result = min(long_enough, key=lambda r: (r.n_changed, len(r.text)))
    text, typed = str(result.text), str(result.attacked)
    return Example(
        text=text,
        label={"0": "negative", "1": "positive"}.get(str(result.label), str(result.label)),
        attacked=typed,
        n_changed=result.n_changed,
        encoded=encoding(text),
        n_perturbations=proved[result.text].n_perturbations,
        n_encodings=proved[result.text].n_encodings,
    )
