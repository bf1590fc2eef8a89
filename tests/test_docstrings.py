"""Docstrings are plain sentences with the thing first: none begins with "What", "Of" or "The same"."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("analysis", "app", "benchmarks", "orchestrator", "sweepkit", "trainables")
BEGINNINGS = ("What ", "What,", "Of ", "The same", "Those ", "As ")


def docstrings(tree: ast.Module) -> list[tuple[int, str]]:
    """Line and text of each docstring, those below attributes and constants included."""
    alone = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    return [(value.lineno, value.value) for value in alone if isinstance(value.value, str)]


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_begin_with_the_thing(room):
    found = [
        f"{file.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for file in sorted((ROOT / room).rglob("*.py"))
        for line, text in docstrings(ast.parse(file.read_text()))
        if text.startswith(BEGINNINGS)
    ]
    assert not found, "\n".join(found)
