"""Python values as the items that YAML gives: a grid as a dictionary, and axes as keyword arguments."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.grid.syntax.overrides import axis_of, not_an_axis
from orchestrator.grid.syntax.problems import Report
from sweepkit.console.yaml_lines import Item

REPLACED = "Grid.replace"
"""The place of problems in axes that Python gives."""
MOST_DEEP = 20
"""Most levels of lists and mappings in one another; a grid has five. A list may hold itself."""


def item_of(value: Any, where: str, depth: int = 0) -> Item:
    """The value as an item. Ranges, tuples, sets and arrays become lists, and NumPy's numbers plain ones.

    TypeError for a mapping whose keys are no text, ValueError for one that is nested too deep.
    """
    if depth > MOST_DEEP:
        raise ValueError(f"lists or mappings nested over {MOST_DEEP} deep")
    if hasattr(value, "tolist"):  # an array, a series or a number of NumPy or pandas
        value = value.tolist()
    if isinstance(value, Mapping):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise TypeError(f"a key must be a word, not {wrong[0]!r}")
        # A key of a file has the line of its key; here neither has a line.
        return Item({key: item_of(part, where, depth + 1) for key, part in value.items()}, where)
    if isinstance(value, list | tuple | range | set | frozenset):
        return Item([item_of(part, where, depth + 1) for part in value], where)
    return Item(value, where)


def replaced_axes(axes: Mapping[str, Any], report: Report, where: str = REPLACED) -> dict[str, Item]:
    """Axes given as Python values: numbers, lists, ranges, arrays, or text as on the command line, such as `"range(3)"`."""
    found: dict[str, Item] = {}
    place = Item(None, where)
    for key, value in axes.items():
        if refused := not_an_axis(key):
            report.at(place, f"{refused} be replaced")
            continue
        try:
            item = axis_of(value, where) if isinstance(value, str) else item_of(value, where)
        except (TypeError, ValueError) as error:
            report.at(place, f"{key}: {error}")
            continue
        if item is None:
            report.at(place, f"cannot read the values of {key} = {value!r}; give for instance {key}=[1, 2] or {key}=range(3)")
        else:
            found[key] = item
    return found


def varying(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The keys that differ between these rows, each with its values in the order in which they appear."""
    keys = dict.fromkeys(key for row in rows for key in row)
    values = {key: list(dict.fromkeys(row.get(key) for row in rows)) for key in keys}
    return {key: found for key, found in values.items() if len(found) > 1}
