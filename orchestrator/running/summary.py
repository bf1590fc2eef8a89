"""The summary at the end of a sweep: counts, the comparison with the theory, and commands to type next."""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console

from orchestrator.grid.load import Grid
from orchestrator.grid.planned import PlannedCell
from orchestrator.running.outcome_process import BesideTheory, asked_for, headlines
from orchestrator.running.outcome_table import print_outcome
from orchestrator.saved import of_extras
from orchestrator.search.searchers import Searchers
from orchestrator.search.table import print_thresholds, threshold_rows
from sweepkit.console.commands import command, where
from sweepkit.console.escaping import printable
from sweepkit.console.words import IN_PART, capital
from sweepkit.declarations.keys import KEYS
from sweepkit.store.files.base import PACKS
from sweepkit.store.sql import literal, quoted
from sweepkit.store.store import Store
from sweepkit.store.upkeep.summary import failed_alike
from sweepkit.store.views import Statuses, fetch, never_whole
from trainables.metrics.richness import d_lr

MANY_PACKS = 2000
"""From so many on, compaction is suggested: a first query then takes some 3 s, and 0.2 s once they are merged."""


MOST_REASONS = 5
"""Most reasons of failure that have a line."""


def report(
    grid: Grid,
    searchers: Searchers,
    store: Store,
    held: Statuses,
    beside: BesideTheory,
    again: list[str],
    fatal: str,
    as_json: bool,
    take: Callable[[dict[str, Any]], None] | None = None,
) -> bool:
    """Print the summary, or give it to `take`. `held`: the present contents of the store; `again`: the arguments of this sweep.

    Returns whether every cell was trained, none failed, and every search ended with enough values.
    """
    planned = [grid.cells[i] for i in dict.fromkeys([*grid.fixed, *searchers.asked])]
    counts = Counter(held[p.cell_id].status if p.cell_id in held else "missing" for p in planned)
    answer = beside.answer()
    at_equilibrium = any(p.cell.training.family == "sampling" for p in planned)
    unmixed = _unmixed(store, grid.sweep) if at_equilibrium else 0
    lacking = _lacking(planned, store)
    out = Console()
    if as_json or take:
        every = {status: counts[status] for status in ("ok", "diverged", "failed", "missing")}
        summary: dict[str, Any] = {"sweep": grid.sweep, "results": store.results, "cells": len(planned), **every}
        summary |= {"theory": answer["theory"], "means": answer["tables"]} | ({"error": fatal} if fatal else {})
        summary |= {"thresholds": threshold_rows(searchers)} if searchers else {}
        summary |= {"unmixed": unmixed} if at_equilibrium else {}
        summary |= {"lacking": lacking} if lacking else {}
        summary = _finite(summary)
        if take:
            take(summary)
        else:
            out.print_json(json.dumps(summary, allow_nan=False), highlight=False)
    else:
        if grid.fixed:
            print_outcome(answer, out)
        if searchers:
            print_thresholds(searchers, out)
        words = ", ".join(f"{n} {status}" for status, n in counts.most_common())
        if not grid.is_whole and grid.sweep in never_whole(store.files):
            words += f" ({IN_PART})"
        out.print(
            f"{grid.sweep}: {len(planned)} cells: {words}. Results: {store.results}",
            highlight=False,
            soft_wrap=True,
            markup=False,
        )
        if unmixed:
            told = f"{unmixed} of them did not converge (see `r_hat` and `ess`): do not rely on them; raise `steps`"
            out.print(told, highlight=False, soft_wrap=True, markup=False)
        for line in _reasons(store, grid.sweep) if counts["failed"] or counts["diverged"] else []:
            out.print(f"  {printable(line)}", highlight=False, soft_wrap=True, markup=False)
        for reason, n in lacking.items():
            out.print(f"  {n} ok, but {printable(reason)}", highlight=False, soft_wrap=True, markup=False)
        for name, line in _next_commands(grid, planned, store, again, counts, searchers.n_open, answer):
            out.print(f"  {name + ':':8} {line}", highlight=False, soft_wrap=True, markup=False)
    return not (counts["failed"] or counts["missing"] or searchers.n_open or searchers.n_void or lacking)


def _unmixed(store: Store, sweep: str) -> int:
    """Number of cells of the sweep whose chains do not agree."""
    sql = f"SELECT count(*) FROM cells JOIN plans USING (cell_id) WHERE sweep = {literal(sweep)} AND NOT mixed"
    [(n,)] = fetch(store.results, sql)
    return int(n)


def _reasons(store: Store, sweep: str) -> list[str]:
    """A line for each of the most frequent reasons why networks of the sweep failed or diverged, with one log of a failed one."""
    groups = failed_alike(store.files, sweep)
    lines = [
        f"{one.cells} {one.status}: {one.reason}{f' (log: {one.log_path})' if one.log_path else ''}"
        for one in groups[:MOST_REASONS]
    ]
    return lines + [f"and {len(groups) - MOST_REASONS} other reasons"] * (len(groups) > MOST_REASONS)


def _lacking(planned: Sequence[PlannedCell], store: Store) -> dict[str, int]:
    """The five most frequent reasons why trained networks lack what this grid saves of them, and how many each concerns."""
    sql = "SELECT cell_id, reason FROM cells WHERE status = 'ok' AND reason IS NOT NULL"
    if not (reasons := dict(fetch(store.results, sql))):
        return {}
    lacking = ("; ".join(of_extras(reasons.get(one.cell_id), one.save)) for one in planned)
    return dict(Counter(filter(None, lacking)).most_common(5))


def _next_commands(
    grid: Grid,
    planned: Sequence[PlannedCell],
    store: Store,
    again: list[str],
    counts: Counter[str],
    n_open: int,
    answer: Mapping[str, Any],
) -> list[tuple[str, str]]:
    """Name and line of each command that a user may want now. `answer`: that of `analysis.outcome`."""
    here, keys = where(store.given), answer["keys"]
    commands = []
    if counts["failed"] or counts["diverged"]:
        commands.append(("why", command("store", "status", "--sweep", grid.sweep, *here)))
    if counts["failed"]:
        commands.append(("retry", command("run", *again, *here, "--retry-failed")))
    elif counts["missing"] or n_open:
        commands.append(("go on", command("run", *again, *here)))
    are_rich = bool(counts["ok"]) and any(d_lr.name in one.save for one in planned)
    asked = (asked_for(planned) or [d_lr.name] * are_rich) if counts["ok"] else []
    commands.append(("query", command("query", _query(grid, keys, asked), *here)))
    if counts["ok"]:
        commands += [("figure", command("figure", name, "--sweep", grid.sweep, *here)) for name in answer["figures"]]
    if counts["ok"] and (x := _abscissa(keys)):
        axes = ["--x", x, "--y", d_lr.name] if are_rich else []
        commands.append(("figure", command("figure", "curve", "--sweep", grid.sweep, *axes, *here)))
    commands.append(("report", command("report", "--sweep", grid.sweep, *here)))
    pages = ", ".join(map(capital, answer["pages"]))
    commands.append(("app", command("app", *here) + (f"  (see also {pages})" if pages else "")))
    if len(store.files.entries(PACKS)) >= MANY_PACKS:  # queries open each file
        commands.append(("faster", f"{command('store', 'compact', *here)}  (merges the files of the store)"))
    return commands


def _abscissa(keys: Sequence[str]) -> str | None:
    """The key over which to draw how rich networks are: gamma if it varies, else the first number; None if none varies."""
    numbers = [key for key in keys if key in KEYS and KEYS[key].kind in ("whole", "number", "single")]
    return "gamma" if {"gamma", "gamma_label"} & {*keys} else next(iter(numbers), None)


def _query(grid: Grid, keys: Sequence[str], asked: Sequence[str]) -> str:
    """SQL for the means over the seeds of this sweep, by the keys that vary in it: of the headline measures, of those that it
    searched along, and of `asked`, the metrics that networks have saved."""
    searched = sorted({search.find.metric for search in grid.searches})
    judged = headlines([grid.cells[i] for i in grid.fixed] if searched else grid.cells)
    names = dict.fromkeys([*judged, *searched, *asked])
    means = [f"avg({name}) AS {'acc' if name == 'best_test_acc' else name}" for name in names]
    by = "".join(f"{quoted(key)}, " for key in keys)
    return (
        f"SELECT {by}count(*) AS n, {', '.join(means)} FROM cells JOIN plans USING (cell_id) "
        f"WHERE sweep = {literal(grid.sweep)} GROUP BY ALL ORDER BY ALL"
    )


def _finite(value: Any) -> Any:
    """The value, with None in place of numbers that JSON does not have."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
