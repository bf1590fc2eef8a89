"""Reads a grid: YAML -> checked blocks -> cells. All problems are reported together, before anything starts."""

import math
import os
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from console.words import counted, listed, nearest, show, shown
from declarations.metric import Metric
from declarations.synonyms import ELSEWHERE
from orchestrator.grid.blocks import Block, Context, check_block
from orchestrator.grid.entering import explained
from orchestrator.grid.expand import expand
from orchestrator.grid.hints import unknown_key
from orchestrator.grid.keys import SHORT, legal_keys, usual_kind
from orchestrator.grid.only import CALL, Only, parse_only
from orchestrator.grid.own_parts import FILES, own_parts
from orchestrator.grid.searches import Search, Searches
from orchestrator.grid.syntax.files import read_text
from orchestrator.grid.syntax.overrides import NOT_AXES, parse_overrides
from orchestrator.grid.syntax.problems import GridError, Problem, Report
from orchestrator.grid.syntax.values import REPLACED, item_of, replaced_axes, varying
from orchestrator.grid.syntax.yaml_lines import Item, parse_yaml
from orchestrator.grid.user_files import UserFile
from trainables.cell import Cell

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DEFAULT_MAX_CELLS", "Carried", "Grid", "GridError", "PlannedCell", "Problem", "Resources", "UserFile", "load_grid"]

DEFAULT_MAX_CELLS = 200_000
"""A grid with more cells is taken for a mistake and refused, unless forced."""

TOP_KEYS = ("sweep", *FILES, "defaults", "grids", "resources")


@dataclass(frozen=True)
class Resources:
    """Resources of a pack. They are not part of a cell."""

    gpus_per_pack: float | Literal["auto"] = "auto"
    cpus_per_pack: float = 1
    pack_seconds: float = 60


class Carried(NamedTuple):
    """A metric on request that the store has of a network, and the clause of its row that says why it failed, if it did."""

    request: str
    metric: Metric | None
    """Its declaration; None if no network in the store has a value."""
    value: float | list[float | None] | None
    reason: str


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell, and the extras to save beside its row: some of curves, neurons, weights and metrics on request."""

    cell_id: str
    cell: Cell
    save: frozenset[str]
    carried: tuple[Carried, ...] = ()
    """Metrics whose stored values the new row takes over, because only other grids' files define them."""


@dataclass(frozen=True)
class Source:
    """The origin of a grid: its YAML, the file that holds it (relative paths start there), and what replaced parts of it."""

    root: Item
    file: Path
    given: Mapping[str, Item]
    """Axes that replace those of the YAML."""
    only: Mapping[str, Item]
    """Values by which some networks are chosen; none chooses all."""
    name: Item | None
    """The name of the sweep, if not that of the YAML."""
    max_cells: int


@dataclass(frozen=True, repr=False)
class Grid:
    """A sweep: the networks that a grid asks for, in the order of the grid, each once.

    Make one with `Grid.load`. A network that is not among the `fixed` ones is trained only if one of the `searches` asks for it.
    """

    sweep: str
    """The name of the sweep."""
    cells: tuple[PlannedCell, ...]
    """The networks, planned."""
    merged: int
    """The number of further cells that were equal to one of these."""
    resources: Resources
    user_files: tuple[UserFile, ...]
    searches: tuple[Search, ...] = ()
    fixed: tuple[int, ...] = ()
    """Positions of the cells that are trained in any case."""
    source: Source | None = field(default=None, compare=False)
    """None for a grid that was put together by hand."""

    def __new__(cls, *parts: Any, **named: Any) -> "Grid":
        if len(parts) == 1 and not named:
            raise GridError(
                [Problem(IN_PYTHON, None, f"Grid({show(parts[0])}) is no way to read a grid: write Grid.load({show(parts[0])})")]
            )
        return super().__new__(cls)

    @classmethod
    def load(cls, grid: str | Path | Mapping[str, Any], *, name: str | None = None, max_cells: int = DEFAULT_MAX_CELLS) -> "Grid":
        """The grid in a YAML file, in a text of several lines, or in a dictionary with the keys of the YAML.

        `name`: the name of the sweep, by default the one that the grid gives. GridError names everything that is wrong.
        """
        if isinstance(grid, str | Path) and "\n" not in str(grid):
            return load_grid(grid, max_cells=max_cells, name=name)
        report, where = Report(), Item(None, IN_PYTHON)
        try:
            root = _parse(grid, where, report) if isinstance(grid, str) else item_of(grid, IN_PYTHON)
        except (TypeError, ValueError) as error:
            report.at(where, str(error))
            root = None
        if root is None or not isinstance(root.value, dict):
            raise GridError(report.problems or [Problem(IN_PYTHON, None, _NO_GRID.format(show(grid)))])
        return _made(Source(root, Path(IN_PYTHON), {}, {}, None if name is None else Item(name, "name"), max_cells), report)

    def replace(self, *, sweep: str | None = None, **axes: Any) -> "Grid":
        """The grid with other values of axes, as `KEY=VALUES` on the command line: `replace(seed=range(3), gamma=[1, "lazy"])`.

        A value is a number, text, a list, a range, an array, or a form such as `{"geomspace": [2, 64, 6]}`. `sweep` is
        another name for the sweep. GridError names everything that is wrong.
        """
        if self.source is None:
            raise TypeError("this grid was put together by hand: replace its parts with dataclasses.replace")
        report = Report()
        given = {**self.source.given, **_in_full(replaced_axes(axes, report))}
        name = self.source.name if sweep is None else Item(sweep, REPLACED)
        return _made(replace(self.source, given=given, name=name), report)

    def only(self, **values: Any) -> "Grid":
        """The networks of the grid that have these values, as `--only KEY=VALUES`: `only(template="copy", embedding=[64, 256])`.

        Values are given as to `replace`. GridError names everything that is wrong, and values that no network has.
        """
        if self.source is None:
            raise TypeError("this grid was put together by hand: choose among its parts with dataclasses.replace")
        report = Report()
        chosen = _in_full(replaced_axes(values, report, CALL))
        for key in chosen.keys() & self.source.only.keys():
            report.at(chosen[key], f"networks are chosen by {key} already: choose all of its values at once")
        chosen = {**self.source.only, **chosen}
        return _made(replace(self.source, only=chosen), report)

    @property
    def is_whole(self) -> bool:
        """True if no axis of the YAML is replaced and all of its networks are chosen."""
        return self.source is None or not (self.source.given or self.source.only)

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The parameters that differ between the networks, each with its values."""
        # Many cells share their parts: one for each combination tells all but the seeds.
        some = {(id(p.cell.task), id(p.cell.network), id(p.cell.training)): p.cell for p in self.cells}.values()
        found = varying([_row(cell) for cell in some])
        seeds = list(dict.fromkeys(p.cell.seed for p in self.cells))
        return found | ({"seed": seeds} if len(seeds) > 1 else {})

    def to_pandas(self) -> "pd.DataFrame":
        """One row per planned network, with its `cell_id` and parameters."""
        import pandas as pd

        return pd.DataFrame([{"cell_id": p.cell_id, **_row(p.cell), "seed": p.cell.seed} for p in self.cells])

    def __repr__(self) -> str:
        """`Grid eq3: 198 networks, L = 2 ... 12 (11 values), gamma = 1, 0.1, lazy, seed = 0 ... 5 (6 values)`."""
        networks = counted(len(self.cells), "network")
        if self.searches:
            networks = f"{len(self.searches)} thresholds to find among {networks}"
        return f"Grid {self.sweep}: {', '.join([networks, *(f'{key} = {_few(values)}' for key, values in self.axes.items())])}"


IN_PYTHON = "grid"
"""The place of problems in a grid that Python gives, and the name of its sweep if it has none."""
_SUFFIXES = ("", ".yaml", ".yml", ".json", ".txt")
"""Ends of names that grids may have. A file with another one is first taken for a grid all the same."""
_NO_GRID = "not a grid: {0}; give the path of a YAML file, its text, or a dictionary"


def _row(cell: Cell) -> dict[str, Any]:
    """The parameters of a cell but its seed; `gamma` as the grid wrote it."""
    columns = cell.columns() | ({"gamma": cell.gamma_label} if cell.gamma_label else {})
    return {key: value for key, value in columns.items() if key != "seed"}


def _other_file(path: Path) -> str:
    """The message for a file that neither is a grid nor is called one."""
    if path.suffix == ".py":
        hint = "list a Python file with parts of your own in a grid, under `tasks`, `networks` or `metrics`"
    else:
        hint = "the folder grids/ holds examples"
    return f"not a grid: a grid is a YAML file with the key `grids`, and this is a {path.suffix} file without it; {hint}"


def _few(values: Sequence[Any]) -> str:
    """Up to four values, or the first, the last and their number."""
    if len(values) <= 4:
        return listed(map(shown, values))
    return f"{shown(values[0])} ... {shown(values[-1])} ({len(values)} values)"


def load_grid(
    path: str | Path,
    overrides: Sequence[str] = (),
    max_cells: int = DEFAULT_MAX_CELLS,
    name: str | None = None,
    only: Sequence[str] = (),
) -> Grid:
    """The grid that the file describes, with axes replaced by `key=value` overrides, and under another name if one is given.
    `only`: `key=value` words that choose some of its networks. GridError names everything that is wrong."""
    report = Report()
    where = Item(None, str(path))
    text = read_text(Path(path), where, report)
    root = _parse(text, where, report) if text is not None else None
    is_other = Path(path).suffix.lower() not in _SUFFIXES and (root is None or "grids" not in root.value)
    if is_other and os.path.isfile(path):  # False for a name that is too long
        raise GridError([Problem(str(path), None, _other_file(Path(path)))])
    if root is None:
        raise GridError(report.problems)
    given = _in_full(parse_overrides(overrides, report))
    chosen = _in_full(parse_only(only, report))
    return _made(Source(root, Path(path), given, chosen, None if name is None else Item(name, "--name"), max_cells), report)


def _made(source: Source, report: Report) -> Grid:
    """The grid of this source. `report` holds the problems so far."""
    root, path, max_cells = source.root, source.file, source.max_cells
    top: dict[str, Item] = root.value
    for key in top:
        if key not in TOP_KEYS:
            said = f"; say {ELSEWHERE[key.lower()]}" if key.lower() in ELSEWHERE else ""
            hint = nearest(key, TOP_KEYS) or f"{said}; an axis goes into a block under `grids`, or under `defaults`;"
            report.at(replace(top[key], line=top[key].key_line), f"unknown key {show(key)}{hint} legal: {listed(TOP_KEYS)}")
    sweep = _sweep_name(source.name or top.get("sweep"), path, report)
    resources = _resources(top.get("resources"), report)
    own = own_parts(top, path.parent, report)
    defaults = _in_full(_mapping(top.get("defaults"), "defaults", report))
    ctx = Context(defaults, source.given, own.tasks, own.networks, own.metrics, own.all_known, max_cells, report)
    checked = [(item, *_checked(item, ctx)) for item in _block_items(top.get("grids"), root, report)]
    report.extend(explained([(item, problems) for item, _, problems in checked], ctx.overrides, partial(_problems, ctx=ctx)))
    blocks = [group for _, group, _ in checked]
    if own.all_known:
        _check_shared_keys(blocks, ctx)
    count = sum(block.count for group in blocks for block in group)
    if count > max_cells:
        asked = f"the grid asks for {count:,} cells, over the limit of {max_cells:,}"
        report.at(Item(None, str(path)), f"{asked}; shorten an axis, or allow it with --large (in Python, max_cells=...)")
        raise GridError(report.problems)
    only = Only(source.only, ctx)
    only.check([block for group in blocks for block in group], ctx)
    cells, merged, searches, fixed = _plan(blocks, ctx, only)
    if report:
        raise GridError(report.problems)
    return Grid(sweep, cells, merged, resources, own.files, searches, fixed, source)


def _checked(item: Item, ctx: Context) -> tuple[list[Block], list[Problem]]:
    """The checked blocks of an item, and their problems."""
    own = Report()
    return check_block(item, replace(ctx, report=own)), own.problems


def _problems(item: Item, given: Mapping[str, Item], *, ctx: Context) -> list[Problem]:
    """The problems of an item, and of its cells, when these values replace its axes."""
    group, problems = _checked(item, replace(ctx, overrides=given))
    own = Report(problems)
    for block in group if not problems else []:
        deque(expand(block, own), maxlen=0)
    return own.problems


def _plan(
    blocks: list[list[Block]], ctx: Context, only: Only
) -> tuple[tuple[PlannedCell, ...], int, tuple[Search, ...], tuple[int, ...]]:
    """The cells of all blocks, each once; the number of cells equal to an earlier one; the searches; the fixed cells."""
    found: list[tuple[Item, list[Problem]]] = []
    planned: dict[str, PlannedCell] = {}
    merged = 0
    searches, fixed = Searches(), set()
    for group in blocks:
        if not all(block.is_sound for block in group):
            continue
        n_block, report = 0, Report()
        group = [block for block in group if not only.rules_out(block)]
        for block in group:
            for cell_id, cell in expand(block, report):
                n_block += 1
                if not only.keeps(block, cell):
                    continue
                if block.find:
                    searches.add(id(block), block.find, cell_id, cell)
                else:
                    fixed.add(cell_id)
                earlier = planned.get(cell_id)
                if earlier is None:
                    planned[cell_id] = PlannedCell(cell_id, cell, block.save)
                    continue
                merged += 1
                if not block.save <= earlier.save:
                    planned[cell_id] = replace(earlier, save=earlier.save | block.save)
        if group and not n_block and not report:
            exclude = next(item for block in group for item, _ in block.conditions)
            report.at(exclude, f"exclude leaves nothing of this block's {sum(b.count for b in group)} cells")
        if report:
            found.append((group[0].place, report.problems))
    ctx.report.extend(explained(found, ctx.overrides, partial(_problems, ctx=ctx)))
    if any(blocks) and not ctx.report:
        only.report(bool(planned), ctx.report)
    place = {cell_id: i for i, cell_id in enumerate(planned)} if searches else {}
    wanted = range(len(planned)) if not searches else [place[cell_id] for cell_id in planned if cell_id in fixed]
    return tuple(planned.values()), merged, searches.made(place), tuple(wanted)


def _parse(text: str, where: Item, report: Report) -> Item | None:
    root, problems = parse_yaml(text, where.where)
    report.extend(problems)
    if root is None or root.value is None:
        if not problems:
            report.at(where, "the file is empty; a grid has the keys " + listed(TOP_KEYS))
        return None
    if not isinstance(root.value, dict):
        report.at(root, f"not a grid: the file holds {show(root.value)}, but must hold the keys {listed(TOP_KEYS)}")
        return None
    return root


def _sweep_name(item: Item | None, path: Path, report: Report) -> str:
    """The name that the grid gives, else the name of its file."""
    if item is None:
        return re.sub(r"[^A-Za-z0-9._-]", "_", path.stem)[:80] or "sweep"
    if isinstance(item.value, str) and re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,79}", item.value):
        return item.value
    report.at(item, f"sweep = {show(item.value)}: must be a name of at most 80 letters, digits, `.`, `_` and `-`")
    return ""


def _mapping(item: Item | None, name: str, report: Report) -> dict[str, Item]:
    if item is None or item.value is None:
        return {}
    if isinstance(item.value, dict):
        return item.value
    report.at(item, f"`{name}` = {show(item.value)}: must hold keys and values, such as {name}: {{{_EXAMPLES[name]}}}")
    return {}


_EXAMPLES = {"defaults": "steps: 25000, batch: 128", "resources": "gpus_per_pack: auto, cpus_per_pack: 1"}


def _in_full(given: Mapping[str, Item]) -> dict[str, Item]:
    """The keys and values of a grid with short words in full, unless the full word is given, too."""
    return {name if (full := SHORT.get(name, name)) in given else full: item for name, item in given.items()}


def _resources(item: Item | None, report: Report) -> Resources:
    names = tuple(Resources.__dataclass_fields__)
    given: dict[str, Any] = {}
    for key, part in _mapping(item, "resources", report).items():
        value = part.value
        if key not in names:
            place = replace(part, line=part.key_line)
            report.at(place, f"resources: unknown key {show(key)}{nearest(key, names) or ';'} legal: {listed(names)}")
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if is_number and key == "gpus_per_pack" and value > 1 and value % 1:
            report.at(part, f"resources: {key} = {show(part.value)}: above 1 it must be a whole number of cards")
            continue
        least = 0 if key == "gpus_per_pack" else 1e-9
        if (key == "gpus_per_pack" and value == "auto") or (is_number and value >= least):
            given[key] = value
        else:
            legal = "`auto` or a number >= 0" if key == "gpus_per_pack" else "a number > 0"
            report.at(part, f"resources: {key} = {show(part.value)}: must be {legal}")
    return Resources(**given)


def _block_items(item: Item | None, root: Item, report: Report) -> list[Item]:
    if item is None:
        report.at(root, "the grid has no `grids`: a list of blocks, each with a task and its axes")
        return []
    if not isinstance(item.value, list) or not item.value:
        hint = "; put `- ` before the first key of the block" if isinstance(item.value, dict) else ""
        report.at(item, f"`grids` = {show(item.value)}: must be a list of blocks, each with a task and its axes{hint}")
        return []
    for block in item.value:
        if not isinstance(block.value, dict):
            report.at(block, f"a block must hold keys and values, not {show(block.value)}")
    return [replace(block, value=_in_full(block.value)) for block in item.value if isinstance(block.value, dict)]


def _check_shared_keys(blocks: list[list[Block]], ctx: Context) -> None:
    """Report keys of `defaults` and of the command line that no kind of cell of the grid has."""
    named = dict.fromkeys(block.kind for group in blocks for block in group)
    kinds = list(named if blocks and all(blocks) else map(usual_kind, ctx.tasks.values()))
    legal = list(dict.fromkeys(key for kind in kinds for key in legal_keys(kind)))
    for key, item in [*ctx.defaults.items(), *ctx.overrides.items()]:
        if key not in legal:
            place = replace(item, line=item.key_line)
            able = [name for name in legal if name not in NOT_AXES] if key in ctx.overrides else legal
            ctx.report.at(place, unknown_key(key, able, kinds, ctx))
