"""A table as a value, and how it is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from roben.report.measured import Number

__all__ = ["MISSING", "Table", "against", "interval", "labelled", "number", "percent", "points"]

MISSING = "–"

LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": "$<$",
    ">": "$>$",
    "−": "$-$",
    "±": r"$\pm$",
    "–": "--",
    "→": r"$\to$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "α": r"$\alpha$",
    "γ": r"$\gamma$",
    "…": r"\dots{}",
    "†": r"$\dagger$",
    "’": "'",
}


@dataclass(frozen=True)
class Table:
    """Text in cells. The first `n_labels` columns say what a row is; an empty first cell continues the row above."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    n_labels: int = 1

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        columns: Iterable[str],
        rows: Iterable[tuple[str, ...]],
        notes: Iterable[str],
        *,
        n_labels: int = 1,
    ) -> Table:
        """A table without its empty notes."""
        return cls(name, title, tuple(columns), tuple(rows), tuple(note for note in notes if note), n_labels)

    def markdown(self) -> str:
        """For people and for web pages: columns are aligned in plain text too."""
        lines = [tuple(_piped(cell) for cell in row) for row in (self.columns, *self.rows)]
        widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(self.columns))]
        header, *rows = (self._line(line, widths) for line in lines)
        dashes = ["-" * width if i < self.n_labels else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
        table = "\n".join([header, f"| {' | '.join(dashes)} |", *rows])
        parts = [f"### {self.title}", table, "\n".join(f"- {note}" for note in self.notes)]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _line(self, cells: tuple[str, ...], widths: list[int]) -> str:
        sides = ["<" if i < self.n_labels else ">" for i in range(len(cells))]
        return f"| {' | '.join(f'{c:{side}{w}}' for c, side, w in zip(cells, sides, widths, strict=True))} |"

    def latex(self) -> str:
        """A floating table. It wants the packages booktabs and graphicx."""
        sides = "l" * self.n_labels + "r" * (len(self.columns) - self.n_labels)
        lines = [r"\begin{table}", r"\centering", rf"\caption{{{_escaped(self.title)}}}", rf"\label{{tab:{self.name}}}"]
        lines += [
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{@{{}}{sides}@{{}}}}",
        ]
        lines += [r"\toprule", _latex_row(self.columns)]
        for i, row in enumerate(self.rows):
            if i == 0 or (row[0] and self.n_labels > 1):
                lines.append(r"\midrule")
            lines.append(_latex_row(row))
        lines += [r"\bottomrule", r"\end{tabular}}"]
        if self.notes:
            notes = " ".join(_escaped(note) for note in self.notes)
            lines.append(rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {notes}}}")
        return "\n".join([*lines, r"\end{table}"]) + "\n"


def _piped(cell: str) -> str:
    return cell.replace("|", r"\|")


def _latex_row(cells: tuple[str, ...]) -> str:
    return " & ".join(_escaped(cell) for cell in cells) + r" \\"


def _escaped(text: str) -> str:
    return "".join(LATEX.get(c, c) for c in text).replace(r"B\_$\alpha$", r"$B_\alpha$")


# -- cells --------------------------------------------------------------------------------------------------


def percent(value: float | None) -> str:
    """One decimal, as in the paper."""
    return MISSING if value is None else f"{value:.1f}".replace("-", "−")


def points(difference: float | None) -> str:
    """A difference, with its sign."""
    return MISSING if difference is None else f"{round(difference, 1) + 0.0:+.1f}".replace("-", "−")


def number(found: Number | None) -> str:
    """With the spread over the seeds, if there are several."""
    if found is None:
        return MISSING
    return percent(found.mean) + ("" if found.spread is None else f" ±{found.spread:.1f}")


def against(found: Number | None, published: float | None) -> str:
    """With the difference to what was published."""
    if found is None or published is None:
        return number(found)
    return f"{number(found)} ({points(found.mean - published)})"


def interval(found: Number | None) -> str:
    """The 95% interval."""
    return MISSING if found is None else "–".join(percent(bound) for bound in found.interval)


def labelled(label: str, rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Rows with a first column that says, once, what they have in common."""
    return [(label if i == 0 else "", *row) for i, row in enumerate(rows)]
