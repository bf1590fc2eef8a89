"""Axes from the command line: `gamma=0.1,1`, `gamma=lazy`, `seed=range(3)`, `L=pow2(1,10)`, `L=2,range(4,8)`, `task=parity`.

An override replaces that key in `defaults` and in every block whose cells have the key. A key in a `zip` group leaves the group,
so that its values combine with all values of the others; a group stays together only if all its keys are overridden.
"""

import re
from collections.abc import Sequence

from orchestrator.grid.syntax.problems import COMMAND_LINE, Report
from sweepkit.console.words import show
from sweepkit.console.yaml_lines import Item, parse_yaml

_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(([^()]*)\)")

NOT_AXES = ("zip", "exclude", "find")
"""Keys of a block that describe its axes together; overrides cannot give them."""


def not_an_axis(key: str) -> str | None:
    """The words that refuse `zip`, `exclude` and `find`, or a part such as `find.at`, as an override; None for an axis."""
    name = key.partition(".")[0]
    if name not in NOT_AXES:
        return None
    parts = " (axis, metric, at, range, tolerance, falling)" if name == "find" else ""
    able = "only keys that hold a network's values, such as d, can"
    return f"`{name}`{parts} stands in the grid: change it there, or in a copy; {able}"


def parse_overrides(arguments: Sequence[str], report: Report, where: str = COMMAND_LINE) -> dict[str, Item]:
    """The axes that `key=values` arguments describe. `where`: the place of their problems."""
    found: dict[str, Item] = {}
    texts: dict[str, str] = {}
    place = Item(None, where)
    for argument in arguments:
        key, equals, text = (part.strip() for part in argument.partition("="))
        if not equals or not key:
            report.at(place, f"cannot read {show(argument)}; write key=value, for instance gamma=0.1,1 or seed=range(3)")
        elif refused := not_an_axis(key):
            report.at(place, f"{refused} be given on the command line")
        elif key in found:
            report.at(place, f"key {show(key)} is given twice; join the values: {key}={texts[key]},{text}")
        elif (item := axis_of(text, where)) is None:
            report.at(place, f"cannot read the values of {show(argument)}; write for instance {key}=1,2 or {key}=range(3)")
        else:
            found[key], texts[key] = item, text
    return found


def axis_of(text: str, where: str = COMMAND_LINE) -> Item | None:
    """`0.1,range(3)` as the item that YAML's `[0.1, {range: [3]}]` gives; None where it cannot be read."""
    item, mistakes = parse_yaml("[" + _CALL.sub(r"{\1: [\2]}", text) + "]", where, lines=False)
    if mistakes or item is None or not isinstance(item.value, list):
        return None
    return item.value[0] if len(item.value) == 1 else item
