"""Reads a grid: YAML -> checked blocks -> cells. All problems are reported together, before anything starts."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.grid.blocks import Block
from orchestrator.grid.context import Context
from orchestrator.grid.hints import explained, unknown_key
from orchestrator.grid.keys import legal_keys, usual_kind
from orchestrator.grid.only import CALL, Only, parse_only
from orchestrator.grid.own.files import KINDS
from orchestrator.grid.own.parts import own_parts
from orchestrator.grid.own.source import UserFile
from orchestrator.grid.planned import PlannedCell, Search, checked_block, planned_cells, problems_with
from orchestrator.grid.syntax.files import read_text
from orchestrator.grid.syntax.overrides import NOT_AXES, parse_overrides
from orchestrator.grid.syntax.problems import GridError, Problem, Report
from orchestrator.grid.syntax.values import REPLACED, item_of, replaced_axes, varying
from orchestrator.grid.top import (
    Resources,
    block_items,
    check_keys,
    defaults_of,
    in_full,
    parse_top,
    resources_of,
    sweep_name,
)
from sweepkit.console.words import counted, listed, nearest, show, shown
from sweepkit.console.yaml_lines import Item, written
from sweepkit.shipped import ROOT, grid_path, grids
from trainables.cell import Cell

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_MAX_CELLS = 200_000
"""A grid with more cells is taken for a mistake and refused, unless forced."""

IN_PYTHON = "grid"
"""The place of problems in a grid that Python gives, and the name of its sweep if it has none."""
_SUFFIXES = ("", ".yaml", ".yml", ".json", ".txt")
"""Ends of names that grids may have. A file with another one is first taken for a grid all the same."""
_NO_GRID = "not a grid: {0}; give the path of a YAML file, its text, or a dictionary"


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
    text: str = ""
    """The YAML as it was written; of a dictionary, the same as YAML."""

    def words(self) -> list[str]:
        """The words by which a command replaces axes and chooses networks, as this source does."""
        replaced = [f"{key}={_text_of(item)}" for key, item in self.given.items()]
        chosen = [word for key, item in self.only.items() for word in ("--only", f"{key}={_text_of(item)}")]
        return [*replaced, *chosen, *(["--name", str(self.name.value)] if self.name else [])]


def _plain(item: Item) -> Any:
    """The value of an item without the places of its parts."""
    if isinstance(item.value, dict):
        return {key: _plain(part) for key, part in item.value.items()}
    return [_plain(part) for part in item.value] if isinstance(item.value, list) else item.value


def _text_of(item: Item) -> str:
    """An axis as a word of YAML: `[1,"lazy"]`."""
    value = item.value if isinstance(item.value, str) else json.dumps(_plain(item), default=str, separators=(",", ":"))
    return str(value)


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
        return _read(grid, max_cells, name)

    def replace(self, *, sweep: str | None = None, **axes: Any) -> "Grid":
        """The grid with other values of axes, as `KEY=VALUES` on the command line: `replace(seed=range(3), gamma=[1, "lazy"])`.

        A value is a number, text, a list, a range, an array, or a form such as `{"geomspace": [2, 64, 6]}`. `sweep` is
        another name for the sweep. GridError names everything that is wrong.
        """
        if self.source is None:
            raise TypeError("this grid was put together by hand: replace its parts with dataclasses.replace")
        report = Report()
        given = {**self.source.given, **in_full(replaced_axes(axes, report))}
        name = self.source.name if sweep is None else Item(sweep, REPLACED)
        return _made(replace(self.source, given=given, name=name), report)

    def only(self, **values: Any) -> "Grid":
        """The networks of the grid that have these values, as `--only KEY=VALUES`: `only(template="copy", embedding=[64, 256])`.

        Values are given as to `replace`. GridError names everything that is wrong, and values that no network has.
        """
        if self.source is None:
            raise TypeError("this grid was put together by hand: choose among its parts with dataclasses.replace")
        report = Report()
        chosen = in_full(replaced_axes(values, report, CALL))
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


def _row(cell: Cell) -> dict[str, Any]:
    """The parameters of a cell but its seed; `gamma` as the grid wrote it."""
    columns = cell.columns() | ({"gamma": cell.gamma_label} if cell.gamma_label else {})
    return {key: value for key, value in columns.items() if key != "seed"}


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
    A name without a file here is that of a grid of the project: `quick`. `only`: `key=value` words that choose some of its
    networks. GridError names everything that is wrong."""
    path, report = _file(str(path)), Report()
    where = Item(None, str(path))
    text = read_text(path, where, report)
    root = parse_top(text, where, report) if text is not None else None
    is_other = path.suffix.lower() not in _SUFFIXES and (root is None or "grids" not in root.value)
    if is_other and os.path.isfile(path):  # False for a name that is too long
        raise GridError([Problem(str(path), None, _other_file(path))])
    if root is None:
        raise GridError(report.problems)
    given = in_full(parse_overrides(overrides, report))
    chosen = in_full(parse_only(only, report))
    named = None if name is None else Item(name, "--name")
    return _made(Source(root, path, given, chosen, named, max_cells, text or ""), report)


def _file(name: str) -> Path:
    """The file that a person means by this word. GridError if it may be another one, or if a name alone is nobody's."""
    path = grid_path(name)
    if path == Path(name) and path.suffix in (".yaml", ".yml") and not os.path.lexists(name) and (meant := _meant(path)):
        raise GridError([Problem(name, None, f"no such file; a grid of the project is named {meant!r}, without .yaml")])
    if name != path.stem or os.path.isfile(name):
        return path
    if path != Path(name) and os.path.isfile(beside := f"{name}.yaml"):
        raise GridError([Problem(name, None, f"is the name of {path}, and {beside} lies here: name one of them by its path")])
    if path == Path(name) and not os.path.lexists(name):
        near = nearest(name, grids()) or f"; {ROOT / 'studies'} holds them"
        raise GridError([Problem(name, None, f"no such file, and no grid of the project has this name{near}")])
    return path


def _meant(path: Path) -> str | None:
    """The grid of the project whose name is nearest to that of a file which is not there, unless a file beside it is near."""
    beside = [file.name for file in path.parent.glob(f"*{path.suffix}")] if path.parent.is_dir() else []
    found = get_close_matches(path.stem.lower(), grids(), n=1, cutoff=0.8)
    return found[0] if found and not get_close_matches(path.name, beside, n=1) else None


def _read(grid: str | Path | Mapping[str, Any], max_cells: int, name: str | None) -> Grid:
    """The grid in a file, in a text of several lines or in a dictionary, as `Grid.load` describes."""
    if isinstance(grid, str | Path) and "\n" not in str(grid):
        return load_grid(grid, max_cells=max_cells, name=name)
    report, where = Report(), Item(None, IN_PYTHON)
    try:
        root = parse_top(grid, where, report) if isinstance(grid, str) else item_of(grid, IN_PYTHON)
    except (TypeError, ValueError) as error:
        report.at(where, str(error))
        root = None
    if root is None or not isinstance(root.value, dict):
        raise GridError(report.problems or [Problem(IN_PYTHON, None, _NO_GRID.format(show(grid)))])
    named = None if name is None else Item(name, "name")
    text = grid if isinstance(grid, str) else written(_plain(root))
    return _made(Source(root, Path(IN_PYTHON), {}, {}, named, max_cells, text), report)


def _other_file(path: Path) -> str:
    """The message for a file that neither is a grid nor is called one."""
    if path.suffix == ".py":
        *first, last = (f"`{key}`" for key in KINDS)
        hint = f"list a Python file with parts of your own in a grid, under {listed(first)} or {last}"
    else:
        hint = f"{ROOT / 'examples'} holds some"
    return f"not a grid: a grid is a YAML file with the key `grids`, and this is a {path.suffix} file without it; {hint}"


def _made(source: Source, report: Report) -> Grid:
    """The grid of this source. `report` holds the problems so far."""
    root, path, max_cells = source.root, source.file, source.max_cells
    top: dict[str, Item] = root.value
    check_keys(top, report)
    sweep = sweep_name(source.name or top.get("sweep"), path, report)
    resources = resources_of(top.get("resources"), report)
    own = own_parts(top, path.parent, report)
    defaults = defaults_of(top.get("defaults"), report)
    ctx = Context(
        defaults, source.given, source.only, own.tasks, own.networks, own.trainings, own.metrics, own.all_known, max_cells, report
    )
    checked = [(item, *checked_block(item, ctx)) for item in block_items(top.get("grids"), root, report)]
    report.extend(explained([(item, problems) for item, _, problems in checked], ctx.overrides, partial(problems_with, ctx=ctx)))
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
    cells, merged, searches, fixed = planned_cells(blocks, ctx, only)
    if report:
        raise GridError(report.problems)
    return Grid(sweep, cells, merged, resources, own.files, searches, fixed, source)


def _check_shared_keys(blocks: list[list[Block]], ctx: Context) -> None:
    """Report keys of `defaults` and of the command line that no kind of cell of the grid has."""
    named = dict.fromkeys(block.kind for group in blocks for block in group)
    are_sure = bool(blocks) and all(blocks)
    kinds = list(named if are_sure else map(usual_kind, ctx.tasks.values()))
    legal = list(dict.fromkeys(key for kind in kinds for key in legal_keys(kind)))
    for key, item in [*ctx.defaults.items(), *ctx.overrides.items()]:
        if key not in legal:
            place = replace(item, line=item.key_line)
            able = [name for name in legal if name not in NOT_AXES] if key in ctx.overrides else legal
            # While a block has problems of its own, the legal keys would be those of every task: a page that hides them.
            ctx.report.at(place, unknown_key(key, able, kinds, ctx, lists=are_sure))
