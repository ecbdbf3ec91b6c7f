"""Results → tables, figures and checked claims, with the paper's numbers beside ours."""

from roben.report.claim import Claim, claims
from roben.report.figure import figures
from roben.report.page import latex, listed, markdown, tables
from roben.report.table import Table

__all__ = ["Claim", "Table", "claims", "figures", "latex", "listed", "markdown", "tables"]
