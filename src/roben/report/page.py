"""Everything that results show, in order: the tables, and the claims that they bear out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roben.experiment import TASKS
from roben.report.claim import Claim
from roben.report.comparison import accuracy_table, defence_table, one_encoding_table
from roben.report.measured import Results, checked, settings
from roben.report.rows import PARTIAL
from roben.report.study import budget_table, encodings_table, gamma_table, pairs_of_tokens, tokens_table
from roben.report.table import Table

__all__ = ["latex", "listed", "markdown", "tables"]


def tables(results: Results) -> list[Table]:
    """All tables for which there are results."""
    return list(_tables(checked(results)))


def _tables(results: Results) -> Iterator[Table]:
    with_model = [setting for setting in settings(results) if setting.model != "none"]
    for surface in ("edits", "permutations"):
        for setting in with_model:
            if setting.surface == surface:
                yield from accuracy_table(results, setting)
    yield from one_encoding_table(results)
    for table_of in (defence_table, gamma_table, budget_table):
        for setting in with_model:
            for task in TASKS:
                yield from table_of(results, setting, task)
    for spaces, words in pairs_of_tokens(results):
        yield from tokens_table(results, spaces, words)
    yield from encodings_table(results)


def markdown(found: Sequence[Table], claims: Sequence[Claim]) -> str:
    """A page of tables and claims."""
    parts = ["# Results", "Made by `roben paper tables`. Numbers are percent.", "## Tables"]
    parts += [table.markdown().rstrip() for table in found]
    if claims:
        parts += ["## Claims", "What the paper claims, checked from these results.", listed(claims)]
    return "\n\n".join(parts) + "\n"


def listed(claims: Sequence[Claim]) -> str:
    """Claims as a list: each statement once, then what it was checked on."""
    lines: list[str] = []
    for statement in dict.fromkeys(claim.statement for claim in claims):
        lines.append(f"- {statement}:")
        lines += [
            f"  - **{claim.verdict}**" + (f": {claim.line()}" if claim.line() else "")
            for claim in claims
            if claim.statement == statement
        ]
    if any(PARTIAL in claim.line() for claim in claims):
        lines += ["", f"{PARTIAL} Partial: some of the task's rows were left out."]
    return "\n".join(lines)


def latex(found: Sequence[Table]) -> str:
    """Tables for a document that uses booktabs and graphicx."""
    head = "% Made by `roben paper tables`, for \\input. Needs \\usepackage{booktabs,graphicx} and UTF-8.\n"
    return "\n".join([head, *(table.latex() for table in found)])
