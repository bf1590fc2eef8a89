"""Choosing some networks of a grid by their values: `--only "template=copy embedding=256"`. An override would give these values
to every block instead."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from orchestrator.grid.blocks import Block
from orchestrator.grid.context import Context
from orchestrator.grid.hints import unknown_key
from orchestrator.grid.keys import BLOCK_KEYS, LAZY, PARTS, Kind, axis_keys, default_value
from orchestrator.grid.syntax.axes import parse_axis
from orchestrator.grid.syntax.overrides import parse_overrides
from orchestrator.grid.syntax.problems import Report
from sweepkit.console.words import listed, show, shown
from sweepkit.console.yaml_lines import Item
from trainables.cell import Cell

PLACE = "--only"
CALL = "Grid.only"
"""The places of problems in what is to be chosen."""
MOST_SHOWN = 12
"""So many values of the grid are named at most."""


def parse_only(texts: Iterable[str], report: Report) -> dict[str, Item]:
    """The values to choose, by key; each text holds one or more `key=values`."""
    words = []
    for text in texts:
        try:
            words += shlex.split(text) or [text]
        except ValueError:  # a quotation mark without its second
            words.append(text)
    return parse_overrides(words, report, PLACE)


class Only:
    """The networks that have one of the wanted values of each key. It remembers what values the grid has."""

    def __init__(self, wanted: Mapping[str, Item], ctx: Context) -> None:
        self._wanted, self._limit = wanted, ctx.limit
        self._there: dict[str, dict[str, None]] = {key: {} for key in wanted}
        self._values: dict[Kind, dict[str, frozenset[str]]] = {}
        self._searched: set[str] = set()

    def check(self, blocks: Sequence[Block], ctx: Context) -> None:
        """Report keys that no block has, and values that no block allows."""
        kinds = list(dict.fromkeys(block.kind for block in blocks))
        legal = list(dict.fromkeys(["task", *(key for kind in kinds for key in axis_keys(kind))]))
        for key, item in self._wanted.items():
            if key in BLOCK_KEYS and key != "task":
                ctx.report.at(item, f"`{key}` tells no networks apart; choose by keys that hold a network's values, such as seed")
                continue
            if key not in legal:
                ctx.report.at(item, unknown_key(key, legal, kinds, ctx))
                continue
            problems = []
            for keys in map(axis_keys, kinds):
                if key in keys and key not in PARTS:
                    parse_axis(keys[key], item, self._limit, own := Report())
                    problems.append(own.problems)
            if problems and all(problems):
                ctx.report.extend(problems[0])

    def rules_out(self, block: Block) -> bool:
        """True if the values of one key choose no network of the block, which is then not looked at: values from the command line
        may not fit it."""
        if not self._wanted:
            return False
        given = {axis.key: [shown(value) for value in axis.values] for group in block.groups for axis in group}
        given |= {"task": [block.kind.task.name]}
        legal = self._legal(block.kind)
        out = [key for key in self._wanted if key in given and not legal[key] & set(given[key])]
        for key in self._wanted if out else ():
            self._there[key] |= dict.fromkeys(given[key] if key in given else _default(block.kind, key))
        return bool(out)

    def keeps(self, block: Block, cell: Cell) -> bool:
        """True if the cell has a wanted value of every key."""
        if not self._wanted:
            return True
        legal = self._legal(block.kind)
        has = {key: shown(value) for key, value in cell.every_key().items() if key in self._wanted}
        if "gamma" in has and cell.gamma_label == LAZY:
            has["gamma"] = LAZY
        for key, value in has.items():
            self._there[key][value] = None
        if not all(key in has and has[key] in legal[key] for key in self._wanted):
            return False
        if block.find and block.find.axis in self._wanted:
            self._searched.add(block.find.axis)
        return True

    def report(self, found_some: bool, report: Report) -> None:
        """Report values that no network has, and a search that would be left with some of its values."""
        for key in self._searched:
            told = f"the grid searches along {key}, and a search needs all of its values: choose by other keys"
            report.at(self._wanted[key], told)
        missing = {key: values for key in self._wanted if (values := self._missing(key))}
        for key, values in missing.items():
            grids = [*islice(self._there[key], MOST_SHOWN), *(["..."] if len(self._there[key]) > MOST_SHOWN else [])]
            told = f"no network of the grid has {key} = {', '.join(values)}; the grid's: {listed(grids)}"
            report.at(self._wanted[key], told)
        if self._wanted and not found_some and not missing:
            item = next(iter(self._wanted.values()))
            report.at(item, f"no network of the grid has these values together: {listed(self._wanted)}")

    def _missing(self, key: str) -> list[str]:
        """The wanted values that no network has, and forms such as range(3) of which none has any."""
        there = self._there[key].keys()
        parts = self._wanted[key].items
        return [_told(part) for part in parts if not any(self._read(kind, key, part) & there for kind in self._values)]

    def _legal(self, kind: Kind) -> dict[str, frozenset[str]]:
        """The wanted values of each key as they are shown, as far as this kind of cell may have them."""
        if kind not in self._values:
            self._values[kind] = {key: self._read(kind, key, item) for key, item in self._wanted.items()}
        return self._values[kind]

    def _read(self, kind: Kind, key: str, item: Item) -> frozenset[str]:
        keys = axis_keys(kind)
        if key not in keys or key in PARTS:
            return frozenset(str(part.value) for part in item.items)
        return frozenset(map(shown, parse_axis(keys[key], item, self._limit, Report()).values))


def _default(kind: Kind, key: str) -> list[str]:
    """The value that cells of this kind have where their block does not give the key; empty if they do not have it."""
    try:
        return [shown(default_value(kind, key))]
    except KeyError:
        return []


def _told(part: Item) -> str:
    """A wanted value for a person: `16`, `'copy'`, `range(...)`."""
    return f"{next(iter(part.value))}(...)" if isinstance(part.value, dict) else show(part.value)
