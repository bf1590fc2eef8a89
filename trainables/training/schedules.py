"""How the learning rate changes along training: the factor of each step, and the text that a store holds.

Step t = 0, 1, ... has the factor min(1, (t + 1)/warm_up) factor^floor(t/every): a linear warm-up, a fall every so many steps.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

CONSTANT = "constant"
"""The value of `lr_schedule` for the same rate at every step."""

_TEXT = re.compile(r"(?:warm_up ([1-9]\d*))?(?:(?:^| )every ([1-9]\d*) factor (\d*\.?\d+(?:e-\d+)?))?")
_LEGAL = "`constant`, {warm_up: n} with n >= 2, {every: n, factor: x} with 0 < x < 1, or all three keys of these mappings"


class Schedule(NamedTuple):
    """A warm-up over so many steps, 1 for none, and a fall by `factor` every so many steps, 0 for none."""

    warm_up: int = 1
    every: int = 0
    factor: float = 1.0

    def at(self, step: int) -> float:
        """The factor of the learning rate of one step."""
        fallen = self.factor ** (step // self.every) if self.every else 1.0
        return min(1.0, (step + 1) / self.warm_up) * fallen


def schedule_of(text: str) -> Schedule:
    """The schedule that a text names, such as `warm_up 10 every 600 factor 0.2`. ValueError for another text."""
    if text == CONSTANT:
        return Schedule()
    if text and (found := _TEXT.fullmatch(text)):
        warm_up, every, factor = found.groups()
        made = Schedule(int(warm_up or 1), int(every or 0), float(factor or 1))
        if (warm_up is None or made.warm_up > 1) and (every is None or 0 < made.factor < 1):
            return made
    raise ValueError(f"must be {_LEGAL}")


def spelled(value: Any) -> Any:
    """The one text of a schedule, from a mapping or another spelling; values that are neither come back as they are."""
    if isinstance(value, Mapping):
        value = " ".join(f"{name} {value[name]}" for name in sorted(value, key=_place))
    if not isinstance(value, str):
        return value
    given = {name: number for name, number in schedule_of(value)._asdict().items() if number != Schedule._field_defaults[name]}
    return " ".join(f"{name} {number}" for name, number in given.items()) or CONSTANT


def _place(name: Any) -> int:
    return Schedule._fields.index(name) if name in Schedule._fields else len(Schedule._fields)
