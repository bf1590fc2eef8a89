"""Choosing some networks of a grid by their values: `--only "template=copy embedding=256"`. An override would give these values
to every block instead."""

import shlex
from collections.abc import Iterable, Mapping, Sequence

from console.words import listed, show, shown
from orchestrator.grid.blocks import Block, Context
from orchestrator.grid.hints import unknown_key
from orchestrator.grid.keys import LAZY, PARTS, axis_keys, legal_keys
from orchestrator.grid.syntax.axes import parse_axis
from orchestrator.grid.syntax.overrides import parse_overrides
from orchestrator.grid.syntax.problems import Report
from orchestrator.grid.syntax.yaml_lines import Item
from trainables.cell import Cell

PLACE = "--only"
"""The place of problems in what is to be chosen."""


def parse_only(texts: Iterable[str], report: Report) -> dict[str, Item]:
    """The values to choose, by key; each text holds one or more `key=values`."""
    words = []
    for text in texts:
        try:
            words += shlex.split(text)
        except ValueError:  # a quotation mark without its second
            words.append(text)
    return parse_overrides(words, report, PLACE)


class Only:
    """The networks that have one of the wanted values of each key. It remembers what values it saw."""

    def __init__(self, wanted: Mapping[str, Item], ctx: Context) -> None:
        self._wanted, self._limit = wanted, ctx.limit
        self._seen: dict[str, dict[str, None]] = {key: {} for key in wanted}
        self._matched: set[str] = set()
        self._values: dict[int, dict[str, frozenset[str]]] = {}

    def check(self, blocks: Sequence[Block], ctx: Context) -> None:
        """Report keys that no block has, and values that no block allows."""
        kinds = list(dict.fromkeys(block.kind for block in blocks))
        legal = list(dict.fromkeys(key for kind in kinds for key in legal_keys(kind)))
        for key, item in self._wanted.items():
            if key not in legal:
                ctx.report.at(item, unknown_key(key, legal, kinds, ctx))
                continue
            reports = []
            for keys in map(axis_keys, kinds):
                if key in keys and key not in PARTS:
                    reports.append(Report())
                    parse_axis(keys[key], item, self._limit, reports[-1])
            if reports and all(one.problems for one in reports):
                ctx.report.extend(reports[0].problems)

    def rules_out(self, block: Block) -> bool:
        """Whether the values of one key choose no network of the block. It is not looked at: values from the command line may not
        fit it."""
        given = {axis.key: [shown(value) for value in axis.values] for group in block.groups for axis in group}
        given |= {"task": [block.kind.task.name]}
        legal = self._legal(block)
        out = [key for key in self._wanted if key in given and not legal[key] & set(given[key])]
        for key in out:
            self._seen[key] |= dict.fromkeys(given[key])
        return bool(out)

    def keeps(self, block: Block, cell: Cell) -> bool:
        """Whether the cell has a wanted value of every key."""
        if not self._wanted:
            return True
        legal, has = self._legal(block), {key: shown(value) for key, value in cell.every_key().items()}
        has |= {"gamma": cell.gamma_label} if cell.gamma_label == LAZY else {}
        fits = {key: key in has and has[key] in legal[key] for key in self._wanted}
        for key, does in fits.items():
            if key in has:
                self._seen[key][has[key]] = None
            if does:
                self._matched.add(key)
        return all(fits.values())

    def _legal(self, block: Block) -> dict[str, frozenset[str]]:
        """The wanted values of each key as they are shown, as far as this block's kind of cell may have them."""
        if id(block) in self._values:
            return self._values[id(block)]
        keys = axis_keys(block.kind)
        found = {}
        for key, item in self._wanted.items():
            if key not in keys or key in PARTS:
                found[key] = frozenset(str(part.value) for part in item.items)
            else:
                found[key] = frozenset(map(shown, parse_axis(keys[key], item, self._limit, Report()).values))
        self._values[id(block)] = found
        return found

    def why_nothing(self) -> str:
        """Words for a grid of which no network is chosen."""
        missed = next((key for key in self._wanted if key not in self._matched), None)
        if missed is None:
            return f"no network of the grid has these values together: {listed(self._wanted)}"
        there = list(self._seen[missed])
        wanted = ", ".join(show(part.value) for part in self._wanted[missed].items)
        return f"no network of the grid has {missed} = {wanted}; the grid's: {listed(there[:12])}{' ...' * (len(there) > 12)}"
