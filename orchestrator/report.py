"""The end of a sweep: counts, the table beside Eq. 3, and what to type next."""

import json
import math
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console

from analysis.accuracy import RICH_LABEL, Point, accuracy_points, eq3_table
from orchestrator.grid import Grid
from store.store import Store

QUERY = "SELECT L, gamma_label, avg(best_test_acc) FROM cells GROUP BY ALL ORDER BY ALL"


def report(grid: Grid, store: Store, again: list[str], fatal: str, as_json: bool) -> bool:
    """Print the summary; `again` are the arguments of this sweep. Whether every cell was trained and none failed."""
    held = store.statuses()
    counts = Counter(held[p.cell_id].status if p.cell_id in held else "missing" for p in grid.cells)
    points = [p for p in accuracy_points(store.results, grid.sweep) if p.gamma_label == RICH_LABEL]
    out = Console()
    if as_json:
        every = {status: counts[status] for status in ("ok", "diverged", "failed", "missing")}
        summary: dict[str, Any] = {"sweep": grid.sweep, "results": store.results, "cells": len(grid.cells), **every}
        summary |= {"eq3": [_as_dict(p) for p in points]} | ({"error": fatal} if fatal else {})
        out.print_json(json.dumps(_finite(summary), allow_nan=False))
    else:
        if points:
            out.print(eq3_table(points))
        words = ", ".join(f"{n} {status}" for status, n in counts.most_common())
        out.print(f"{grid.sweep}: {len(grid.cells)} cells: {words}. Results: {store.results}", highlight=False, soft_wrap=True)
        for name, command in _next_commands(grid, store, again, counts, bool(points)):
            out.print(f"  {name + ':':8} {shlex.join(command)}", highlight=False, soft_wrap=True, markup=False)
    return not (counts["failed"] or counts["missing"])


def _next_commands(
    grid: Grid, store: Store, again: list[str], counts: Counter[str], has_curve: bool
) -> list[tuple[str, list[str]]]:
    """Name and words of the commands a user may want now."""
    where = [] if Path(store.results) == Path("results").absolute() else ["--results", store.results]
    sweep = ["python", "-m", "orchestrator.sweep", *again, *where]
    commands = []
    if counts["failed"]:
        commands.append(("failed", ["python", "-m", "orchestrator.store", "status", *where]))
        commands.append(("retry", [*sweep, "--retry-failed"]))
    elif counts["missing"]:
        commands.append(("go on", sweep))
    commands.append(("query", ["python", "-m", "analysis.query", QUERY, *where]))
    if has_curve:
        commands.append(("figure", ["python", "-m", "analysis.figures", "1c", "--sweep", grid.sweep, *where]))
    page = Path(__file__).resolve().parents[1] / "app" / "main.py"
    shown = page.relative_to(Path.cwd()) if page.is_relative_to(Path.cwd()) else page
    commands.append(("app", ["streamlit", "run", str(shown), *(["--", *where] if where else [])]))
    return commands


def _as_dict(p: Point) -> dict[str, Any]:
    return {**p._asdict(), "best": p.best._asdict(), "eq3": p.eq3, "difference": p.difference}


def _finite(value: Any) -> Any:
    """The value with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
