"""The keys of a grid above its blocks: the sweep's name, resources of packs, defaults, and the list of blocks."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from orchestrator.grid.keys import SHORT
from orchestrator.grid.own.files import KINDS
from orchestrator.grid.syntax.problems import Problem, Report
from sweepkit.console.words import listed, nearest, show
from sweepkit.console.yaml_lines import Item, parse_yaml
from sweepkit.declarations.keys import KEYS
from sweepkit.declarations.synonyms import ELSEWHERE

TOP_KEYS = ("sweep", *KINDS, "defaults", "grids", "resources")


@dataclass(frozen=True)
class Resources:
    """Resources of a pack. They are not part of a cell."""

    gpus_per_pack: float | Literal["auto"] = "auto"
    cpus_per_pack: float = 1
    pack_seconds: float = 60


def parse_top(text: str, where: Item, report: Report) -> Item | None:
    """The keys of a grid; None, with a report, for a text that holds none."""
    root, mistakes = parse_yaml(text, where.where)
    report.extend(Problem(where.where, line, message) for line, message in mistakes)
    if root is None or root.value is None:
        if not mistakes:
            report.at(where, "the file is empty; a grid has the keys " + listed(TOP_KEYS))
        return None
    if not isinstance(root.value, dict):
        report.at(root, f"not a grid: the file holds {show(root.value)}, but must hold the keys {listed(TOP_KEYS)}")
        return None
    return root


def check_keys(top: Mapping[str, Item], report: Report) -> None:
    """Report keys that no grid has; those of a block that stands alone, where a list of blocks belongs, together."""
    block: list[str] = []
    if "grids" not in top and "task" in top:
        known = {*KEYS, *SHORT, "find", "zip"}
        block = [key for key in top if key in known or not (key in TOP_KEYS or nearest(key, TOP_KEYS))]
        report.at(
            replace(top[block[0]], line=top[block[0]].key_line),
            f"{listed(map(show, block))}: keys of a block, which is an item of the list `grids`, as in `grids: [{{task: ...}}]`",
        )
    for key in top:
        if key not in TOP_KEYS and key not in block:
            said = f"; say {ELSEWHERE[key.lower()]}" if key.lower() in ELSEWHERE else ""
            hint = nearest(key, TOP_KEYS) or f"{said}; an axis goes into a block under `grids`, or under `defaults`;"
            report.at(replace(top[key], line=top[key].key_line), f"unknown key {show(key)}{hint} legal: {listed(TOP_KEYS)}")


def sweep_name(item: Item | None, path: Path, report: Report) -> str:
    """The name that the grid gives, else the name of its file."""
    if item is None:
        return re.sub(r"[^A-Za-z0-9._-]", "_", path.stem)[:80] or "sweep"
    if isinstance(item.value, str) and re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,79}", item.value):
        return item.value
    report.at(item, f"sweep = {show(item.value)}: must be a name of at most 80 letters, digits, `.`, `_` and `-`")
    return ""


def defaults_of(item: Item | None, report: Report) -> dict[str, Item]:
    """The axes that all blocks share."""
    return in_full(_mapping(item, "defaults", report))


def resources_of(item: Item | None, report: Report) -> Resources:
    """The resources that the grid gives, and defaults in place of the others."""
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


def _mapping(item: Item | None, name: str, report: Report) -> dict[str, Item]:
    if item is None or item.value is None:
        return {}
    if isinstance(item.value, dict):
        return item.value
    report.at(item, f"`{name}` = {show(item.value)}: must hold keys and values, such as {name}: {{{_EXAMPLES[name]}}}")
    return {}


_EXAMPLES = {"defaults": "steps: 25000, batch: 128", "resources": "gpus_per_pack: auto, cpus_per_pack: 1"}


def in_full(given: Mapping[str, Item]) -> dict[str, Item]:
    """The keys and values of a grid with short words in full, unless the full word is given, too."""
    return {name if (full := SHORT.get(name, name)) in given else full: item for name, item in given.items()}


def block_items(item: Item | None, root: Item, report: Report) -> list[Item]:
    """The blocks under `grids`, with short words in full."""
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
    return [replace(block, value=in_full(block.value)) for block in item.value if isinstance(block.value, dict)]
