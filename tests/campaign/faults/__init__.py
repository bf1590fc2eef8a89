"""The faults by name. Another kind joins as a module here whose functions take a Scene and bear @fault."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from tests.campaign.scene import Scene


@dataclass(frozen=True)
class Fault:
    """`disturb` starts what it needs, strikes, and returns when its sweeps have ended and what it broke works again, files apart
    that it names as destroyed; it raises Skipped where the machine does not allow it."""

    name: str
    disturb: Callable[[Scene], None]
    text: str
    rare: bool = False
    """Takes a minute or more: drawn a quarter as often."""


FAULTS: dict[str, Fault] = {}


def fault(name: str, rare: bool = False) -> Callable[[Callable[[Scene], None]], Callable[[Scene], None]]:
    """Enter a function under this name; its docstring says what happens."""

    def enter(disturb: Callable[[Scene], None]) -> Callable[[Scene], None]:
        FAULTS[name] = Fault(name, disturb, " ".join((disturb.__doc__ or "").split()), rare)
        return disturb

    return enter


for _module in ("processes", "interrupts", "disk", "files", "drivers", "bucket", "network", "cards"):
    import_module(f"{__name__}.{_module}")
