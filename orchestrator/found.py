"""What the searches of a sweep found, for its end on the terminal and for `--json`."""

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.points import shown
from orchestrator.search import Search
from orchestrator.searching import Searchers, Searching
from store.printable import printable

STATES = {
    "searching": "still searching",
    "as asked": "",
    "seeds used up": "wider than asked: all seeds used",
    "not reached": "not reached",
    "already at the smallest x": "already reached at the smallest",
    "no values": "no network gave a value",
}
MOST_ROWS = 60


def varying(searches: Sequence[Search]) -> list[str]:
    """The keys in which they differ, or the task where it is but one search."""
    keys = dict.fromkeys(key for search in searches for key in search.keys)
    return [key for key in keys if len({search.keys.get(key) for search in searches}) > 1] or ["task"]


def threshold_rows(searchers: Searchers) -> list[dict[str, Any]]:
    """A row a search: its keys, what is searched, the threshold with its interval, and what it cost."""
    return [_row(s) for s in searchers.all]


def _row(s: Searching) -> dict[str, Any]:
    found, find = s.state.threshold, s.search.find
    numbers = {"value": found.value, "low": found.low, "high": found.high} if found else {}
    return {
        **s.search.keys, "axis": find.axis, "metric": find.metric, "at": find.at, "tolerance": find.tolerance, **numbers,
        "state": s.state.state, "networks": s.state.n_networks, "equal_grid": s.state.equal_grid,
    }  # fmt: skip


def print_thresholds(searchers: Searchers, out: Console) -> None:
    """The thresholds as a table, with the networks that each took and what a grid would take."""
    searches = [s.search for s in searchers.all]
    keys = varying(searches)
    finds = dict.fromkeys(search.find for search in searches)
    title = "; ".join(find.describe() for find in finds)
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    axes = " or ".join(dict.fromkeys(find.axis for find in finds))
    for name in (*keys, f"{axes}*", "95% interval", "networks", "a grid"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for s in searchers.all[:MOST_ROWS]:
        found = s.state.threshold
        value, interval = ("", "") if found is None else (found.number, found.bounds)
        table.add_row(
            *(Text(printable(shown(s.search.keys.get(key)))) for key in keys),
            value, interval, str(s.state.n_networks), str(s.state.equal_grid), STATES[s.state.state],
        )  # fmt: skip
    if len(searchers.all) > MOST_ROWS:
        table.caption, table.caption_justify = f"and {len(searchers.all) - MOST_ROWS} more: see --json or the app", "left"
    out.print(table)
    spent, equal = (sum(getattr(s.state, name) for s in searchers.all) for name in ("n_networks", "equal_grid"))
    out.print(f"{spent} networks; a grid as fine as the searches are at the threshold takes {equal}.", highlight=False)
