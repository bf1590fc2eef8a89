"""Combinations of task, network and training that a block's `exclude` or `zip` rules out. They are not checked."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from orchestrator.grid.keys import PARTS
from orchestrator.grid.syntax.conditions import Condition, ConditionError, parse_condition
from orchestrator.grid.syntax.problems import Report
from sweepkit.console.yaml_lines import Item

IsOut = Callable[[str, str, str], bool]
"""Whether this task, network and training do not meet in the block."""


def ruled_out(given: Mapping[str, Item], overridden: Collection[str], report: Report) -> IsOut:
    """A function that tells whether the block rules out a combination, by `exclude` conditions on these three keys alone or by a
    zip of network and training."""
    conditions = [c for part in _items(given.get("exclude")) if (c := _of_parts(part.value))]
    pairs: list[tuple[Any, Any]] | None = None
    pair = next((group for group in _items(given.get("zip")) if is_pair(group)), None)
    if pair and all(name in given and name not in overridden for name in PARTS):
        networks, trainings = ([item.value for item in _items(given[name])] for name in PARTS)
        pairs = list(zip(networks, trainings, strict=False)) or None
        if len(networks) != len(trainings):
            told = f"network has {len(networks)}, training has {len(trainings)}"
            report.at(pair, f"the axes of a zip must be of one length: {told}")

    def is_out(task: str, network: str, training: str) -> bool:
        env = {"task": task, "network": network, "training": training}
        return (pairs is not None and (network, training) not in pairs) or any(_holds(c, env) for c in conditions)

    return is_out


def is_pair(group: Item) -> bool:
    """Whether a group of a zip holds network and training and nothing else."""
    names = [part.value for part in _items(group)]
    return len(names) == len(PARTS) and all(name in names for name in PARTS)


def apart(given: Mapping[str, Item], network: str, training: str) -> str:
    """Words that say how to leave an impossible pair out of a block; empty if the block names only one network and training."""
    if all(len(_items(given.get(name))) <= 1 for name in PARTS):
        return ""
    pair = f"network == {network!r} and training == {training!r}"
    return f'; write two blocks, or leave the pair out by exclude: "{pair}"'


def _items(item: Item | None) -> list[Item]:
    if item is None or item.value is None:
        return []
    return item.items


def _of_parts(text: Any) -> Condition | None:
    """The condition if it names only task, network and training, else None. A wrong condition is reported elsewhere."""
    try:
        return parse_condition(text, ("task", *PARTS))
    except ConditionError:
        return None


def _holds(condition: Condition, env: Mapping[str, str]) -> bool:
    try:
        return condition.holds(env)
    except ConditionError:
        return False
