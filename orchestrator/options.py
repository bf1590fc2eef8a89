"""The options of a sweep, the place of its progress and answers, and the error for what it cannot have."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import orchestrator.running.interrupts
from orchestrator.plan.announce import Outlook
from orchestrator.plan.forecast import Forecast
from orchestrator.plan.packing import Order
from orchestrator.running.driver import Sweep
from orchestrator.running.progress import Screen
from orchestrator.running.screens import screen_of
from sweepkit.console.errors import PlainError
from sweepkit.console.terminal import err, told


class SweepError(PlainError):
    """The sweep cannot start, or cannot go on. `exit_code`: 2 if other arguments may help, 1 if it is no fault of theirs."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    engine: str | None
    order: Order
    address: str | None
    max_concurrent: int | None
    limit: int | None
    retry_failed: bool
    retrain: bool
    fail_fast: bool
    dry_run: bool
    debug: bool
    as_json: bool
    quiet: bool
    verbose: bool
    again: tuple[str, ...]
    """The arguments that start the same sweep again."""
    whole: bool
    """True if the grid is the whole file, without overrides."""
    note: str = ""
    """A note on the sweep, for its plan."""
    say: Callable[[str], None] = told
    """Tells a person what is being done."""

    def tell(self, text: str) -> None:
        """Tell a person, unless they asked for quiet."""
        if not self.quiet:
            self.say(text)


@dataclass(frozen=True)
class Stage:
    """The place where a sweep runs: how it shows its progress, and where its answers go."""

    screen: Callable[[bool], Screen] = lambda quiet: screen_of(err, quiet)
    """Makes the screen for the progress; `quiet` asks for none."""
    at_once: Callable[[Sweep], NoReturn] = orchestrator.running.interrupts.process_ends
    """Ends a sweep that is interrupted a second time."""
    answer: Callable[[dict[str, Any]], None] | None = None
    """Takes the summary, as of `--json`; without it the summary is printed."""
    foresee: Callable[[Forecast, Outlook | None], None] | None = None
    """Takes the forecast of a dry run; without it the forecast is printed."""
