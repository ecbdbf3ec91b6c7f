"""A result: a JSON file beside the code that made it, and tables that are a pure function of that file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).resolve().parent
BEGIN, END = "<!-- begin results -->", "<!-- end results -->"


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[Any]], caption: str = "") -> Table:
    """A table whose first column is words and whose others are figures."""
    made = Table(title=title, caption=caption or None, title_justify="left", caption_justify="left", box=box.SIMPLE)
    for i, column in enumerate(columns):
        made.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        made.add_row(*(str(cell) for cell in row))
    return made


def verdict(value: float, target: float, *, at_least: bool = False) -> str:
    """Was the target met?"""
    return "met" if (value >= target if at_least else value <= target) else "MISSED"


def path_of(name: str) -> Path:
    """Where the result of a benchmark is kept."""
    return FOLDER / "results" / f"{name}.json"


def save(name: str, result: dict[str, Any]) -> None:
    """Writes a result, floats with six significant digits."""
    path_of(name).parent.mkdir(exist_ok=True)
    path_of(name).write_text(json.dumps(_rounded(result), indent=1, ensure_ascii=False) + "\n")


def load(name: str) -> dict[str, Any] | None:
    """The last result, if there is one."""
    return json.loads(path_of(name).read_text()) if path_of(name).exists() else None


def circumstances_of(result: dict[str, Any]) -> str:
    """When and on what a result was measured, as a README says it."""
    machine, versions = result["machine"], result["versions"]
    return (
        f"{result['date']}, {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']:g} GB, {machine['os']}; "
        f"Python {versions['python']}, roben {versions['roben']}."
    )


def markdown(tables: Iterable[Table], introduction: str) -> str:
    """Tables as a README shows them."""
    lines = [f"{introduction}\n"]
    for made in tables:
        title, caption = made.title, made.caption
        made.title = made.caption = None
        made.box = box.MARKDOWN
        console = Console(file=StringIO(), width=400)
        console.print(made)
        text = "\n".join(line.strip() for line in console.file.getvalue().strip().splitlines())  # type: ignore[attr-defined]
        lines += [f"**{title}**\n", f"{text}\n", *([f"{caption}\n"] if caption else [])]
    return "\n".join(lines)


def into_readme(sections: dict[str, str]) -> None:
    """Puts the results between the two marks of the README."""
    readme = FOLDER / "README.md"
    body = "\n".join(f"### {name}\n\n{text}" for name, text in sections.items())
    text = re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{body}\n{END}", readme.read_text(), flags=re.DOTALL)
    readme.write_text(text)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value
