"""The thresholds that the searches of a sweep found, for the summary on the terminal and for `--json`."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from orchestrator.grid.find import Find
from orchestrator.grid.keys import PARTS
from orchestrator.grid.planned import Search
from orchestrator.search.searchers import Searchers, Searching
from sweepkit.console.escaping import printable
from sweepkit.console.tables import print_fitting
from sweepkit.console.words import shown
from trainables.networks import network_class
from trainables.tasks import task_class
from trainables.training import training_class

MOST_ROWS = 60


def varying(searches: Sequence[Search]) -> list[str]:
    """The keys in which the searches differ, without those that follow from the network or training. If none differ, as in a
    single search: the task, the numbers that its networks must be given, and gamma."""
    told = [told_keys(search) for search in searches]
    keys = dict.fromkeys(key for one in told for key in one)
    differ = [key for key in keys if len({one.get(key) for one in told}) > 1]
    for part in PARTS:
        if part in differ:
            names = {name for one in told for name in _fields(one, part)}
            differ = [key for key in differ if key not in names or not _follows(key, part, told)]
    return differ or _needed(told[0])


def told_keys(search: Search) -> dict[str, Any]:
    """The keys of a search, with its network and training, which it may leave to the task's defaults."""
    keys = dict(search.keys)
    left_out = [name for name in PARTS if name not in keys]  # a task need not have defaults for those that are named
    return {name: task_class(keys["task"]).default_of(name) for name in left_out} | keys


def _fields(keys: Mapping[str, Any], part: str) -> Collection[str]:
    """The keys of the network or training that these keys name."""
    training = training_class(keys["training"])
    return (network_class(keys["network"], training.family) if part == "network" else training).model_fields


def _needed(keys: Mapping[str, Any]) -> list[str]:
    """The task, the numbers that have no default in task and network, and gamma, as far as a search has them."""
    training = training_class(keys["training"])
    parts = (task_class(keys["task"]), network_class(keys["network"], training.family))
    needed = [name for part in parts for name, field in part.model_fields.items() if field.is_required()]
    numbers = [name for name in dict.fromkeys(needed) if isinstance(keys.get(name), int | float)]
    return ["task", *numbers, *(["gamma"] if keys.get("gamma") is not None else [])]


def _follows(key: str, part: str, told: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all searches of one network, or of one training, have one value of the key."""
    values: dict[str, set[Any]] = defaultdict(set)
    for one in told:
        values[one[part]].add(one.get(key))
    return all(len(of_part) == 1 for of_part in values.values())


def threshold_rows(searchers: Searchers) -> list[dict[str, Any]]:
    """One row per search: its keys, its question, the threshold with its interval, and the networks that it took."""
    return [_row(s) for s in searchers.all]


def _row(s: Searching) -> dict[str, Any]:
    found, find = s.state.threshold, s.search.find
    numbers: dict[str, Any] = {"value": found.value, "low": found.low, "high": found.high} if found else {}
    # JSON has no infinite numbers, so thresholds are given in words, too.
    numbers |= {"threshold": found.number, "interval": found.bounds} if found else {}
    return {
        **s.search.keys, "axis": find.axis, "metric": find.metric, "at": find.at, "range": [find.low, find.high],
        "tolerance": find.tolerance, "falling": find.falling, **numbers,
        "state": s.state.state, "networks": s.state.n_networks, "equal_grid": s.state.equal_grid,
    }  # fmt: skip


def print_thresholds(searchers: Searchers, out: Console) -> None:
    """Print a table for each `find`: the thresholds, the networks that each took, and the networks that a grid would take."""
    keys = varying([s.search for s in searchers.all])  # the same for all tables
    for find in dict.fromkeys(s.search.find for s in searchers.all):
        of_find = [s for s in searchers.all if s.search.find == find]
        print_fitting([_table(of_find, find, keys, columns) for columns in (FULL, FULL[:3], FULL[:2], FULL[:1])], out)
        _tell_other_way(of_find, find, out)
    states = {s.state.state for s in searchers.all}
    for state, meaning in MEANINGS.items():
        if state in states:
            out.print(f"{state}: {meaning}.", highlight=False)
    if ended := [s for s in searchers.all if s.state.state != "searching"]:
        spent, equal = len(set().union(*(s.taken for s in ended))), sum(s.state.equal_grid for s in ended)
        of = "" if len(ended) == len(searchers.all) else " of the searches at their end"
        out.print(f"{spent} networks{of}; a grid with the same spacing and seeds would need {equal}.", highlight=False)


def _tell_other_way(searches: Sequence[Searching], find: Find, out: Console) -> None:
    """Say where values fall that the searches took to rise: no threshold of theirs is one."""
    n = sum(s.state.goes_the_other_way for s in searches)
    if n:
        does, taken, flag = ("rises", "fall", "false") if find.falling else ("falls", "rise", "true")
        of = "each search" if n == len(searches) else f"{n} of {len(searches)} searches"
        out.print(
            f"warning: {find.metric} {does} along {find.axis} in {of}, and `find` took it to {taken}, so that these are no "
            f"thresholds: write `falling: {flag}` in `find`",
            highlight=False,
        )


MEANINGS = {
    "searching": "the search is not at its end; the networks of its present step are not counted",
    "all seeds used": "the interval is wider than asked; more seeds would narrow it",
    "no values": "too few networks gave a value: they failed, diverged or have no such measure",
}


FULL = ("threshold", "95% interval", "networks", "a grid")
"""Columns beside the keys. A narrow terminal gets only the first of them."""


def _table(searches: Sequence[Searching], find: Find, keys: Sequence[str], columns: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, title=find.describe())
    for name in (*keys, f"{find.axis}*", *columns[1:]):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for s in searches[:MOST_ROWS]:
        found = s.state.threshold
        if found and s.state.state == "searching" and not found.is_reached:
            found = None  # it lies beyond the rungs tried so far, but perhaps inside the range
        value, interval = ("", "") if found is None else (found.number, found.bounds or "one seed")
        told = told_keys(s.search)
        equal = "" if s.state.state == "searching" else str(s.state.equal_grid)  # which the end of the search decides
        table.add_row(
            *(Text(printable(shown(told[key]) if key in told else "")) for key in keys),
            *(value, interval, str(s.state.n_networks), equal)[: len(columns)],
            "" if s.state.state == "as asked" else s.state.state,
        )  # fmt: skip
    if len(searches) > MOST_ROWS:
        table.caption = f"and {len(searches) - MOST_ROWS} more: see --json or the app"
    return table
