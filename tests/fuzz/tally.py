"""Many cases of every kind, and what became of them."""

import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded

from tests.fuzz.cases import Outcome, check, in_world
from tests.fuzz.command_lines import strategies
from tests.fuzz.world import make_world


@dataclass
class Tally:
    """What became of the cases of one kind."""

    codes: Counter[int] = field(default_factory=Counter)
    slowest_s: float = 0.0
    wall_s: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """Count a case that held."""
        self.codes[outcome.code] += 1
        self.slowest_s = max(self.slowest_s, outcome.seconds)


def run(kind: str, count: int, seed: int, folder: Path) -> Tally:
    """So many cases of the kind; hypothesis raises what it found at its smallest."""
    world = make_world(folder)
    strategy, _ = strategies(world)[kind]
    tally = Tally()

    @seeded(seed)
    @settings(
        max_examples=count, deadline=None, database=None, report_multiple_bugs=False, suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def hold(case: object) -> None:
        tally.add(check(case, world))  # type: ignore[arg-type]

    started = time.monotonic()
    with in_world(world):
        hold()
    tally.wall_s = time.monotonic() - started
    return tally
