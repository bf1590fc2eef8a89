"""One try as the faults see it: a folder, sweeps to start in it, a random moment to strike at, and a story of what was done."""

import random
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.campaign.check import Violation, committed, explained, words
from tests.campaign.commands import Running, is_agent, start
from tests.sweeps import wait_until
from trainables.engines import ENGINES

IS_GENERAL = "stacked" in ENGINES
"""Whether networks and trainings beyond those of [Tong25] can be trained."""
_GENERAL = """\
  - {task: same_different, network: mlp, depth: [1, 2], L: 4, d: 16, training: adam, steps: 300, eval_every: 100, dtype: float64,
     gamma: 1, width: 16, save: [curves, sparsity]}
  - {task: same_different, network: [relu2, gated], L: 5, d: 16, momentum: 0.5, base_lr: 0.1, steps: 300, eval_every: 100,
     dtype: float64, gamma: 1, width: 16, save: [curves, sparsity]}
"""
GRID = f"""\
sweep: campaign
{"networks: [own_network.py]" if IS_GENERAL else ""}
metrics: [own_metric.py]
defaults: {{batch: 32, test_size: 64, width: 64, gamma: [1, lazy], seed: [0, 1]}}
grids:
  - {{task: same_different, L: {{range: [3, 9]}}, d: 32, steps: 12000, eval_every: 1500, save: [curves, neurons, sparsity]}}
  - {{task: same_different, L: [4, 6], d: 16, sigma2: 1, steps: 1000, eval_every: 250, dtype: float64}}
{_GENERAL if IS_GENERAL else ""}
resources: {{pack_seconds: 0.2}}
"""
"""32 cells of the paper, and 8 others, in some 20 packs; seconds of training, so that most faults strike amid."""
OWN = {
    "own_network.py": """\
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from trainables.networks import Network


class Gated(Network):
    name: ClassVar[str] = "gated"
    width: Annotated[int, Field(ge=1)]

    def init(self, rng, cell):
        d, m = cell.task.input_dim, self.width
        return {"w": rng.standard_normal((d, m)) / np.sqrt(d), "v": rng.standard_normal((d, m)), "a": rng.standard_normal(m) / m}

    def apply(self, parameters, x, cell):
        return self.features(parameters, x, cell) @ parameters["a"]

    def features(self, parameters, x, cell):
        return (x @ parameters["w"]) * (x @ parameters["v"]).sigmoid()
""",
    "own_metric.py": """\
from trainables.metrics import metric


@metric(title="share of inactive neurons", low=0, high=1)
def sparsity(probe):
    return None if probe.features is None else float((probe.features <= 0).mean())
""",
}
"""A user's own files beside the grid."""
INPUTS = {"grid.yaml": GRID, **OWN}
"""The files that a sweep is started with, by name."""

DONE, MISSING, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
END_S = 40.0
"""Ray's own limits are 5 to 10 s on a quiet machine."""


@dataclass(frozen=True)
class Undisturbed:
    """The run that all others are compared with."""

    results: Path
    seconds: float
    """The seconds that the whole command took."""
    files: int
    """Packs it committed."""


class Skipped(Exception):
    """The fault cannot be made on this machine; the message says why."""


@dataclass
class Scene:
    """`destroyed`: paths below the results that the fault took; `amid`: whether a sweep ran when it struck."""

    folder: Path
    rng: random.Random
    undisturbed: Undisturbed
    patience_s: float
    """How much longer than expected a sweep may take before the user interrupts it."""
    results: Path = field(init=False)
    """A directory in which the campaign sees the results."""
    where: str = field(init=False)
    """The results as commands are told them: `--results WHERE`."""
    look: Callable[[], None] = lambda: None
    """Bring `results` up to date, where it is a copy."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables for the commands, beside this process's own."""
    carrier: Sequence[str] = ()
    """The words that run a sweep on another host, on the Ray cluster that is there, with its results at `elsewhere`."""
    elsewhere: str = ""
    end_s: float = field(init=False)
    """Processes of a sweep that ended or was killed are gone within this."""
    stays: Callable[[psutil.Process], bool] = is_agent
    """Whether a process is none of a sweep's and may outlive it."""
    closing: ExitStack = field(default_factory=ExitStack)
    """Things that end with the try."""
    destroyed: set[str] = field(default_factory=set)
    before: dict[str, bytes] = field(default_factory=dict)
    """Files that were committed when the fault struck."""
    frozen: list[psutil.Process] = field(default_factory=list)
    amid: bool = False
    options: tuple[str, ...] = ()
    """Options of the command that is given again."""
    on_ray: bool = True
    """Whether it runs on Ray again, or in one process: the same planning, packs and store in a tenth of the time."""
    harmed: dict[str, bytes] = field(default_factory=dict)
    """The remains of files that the fault damaged."""
    sweeps: int = 0
    checks: int = 0
    violations: list[Violation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.results = self.folder / "results"
        self.where = str(self.results)
        self.end_s = max(END_S, self.undisturbed.seconds)  # on a busy machine the end takes long as well
        for name, text in INPUTS.items():
            (self.folder / name).write_text(text)
        self.began = time.monotonic()

    def tell(self, text: str) -> None:
        with (self.folder / "story.txt").open("a") as story:
            story.write(f"{time.monotonic() - self.began:7.2f} s  {text}\n")

    def start(self, *options: str) -> Running:
        """The sweep's command, with further options."""
        self.sweeps += 1
        self.tell(f"sweep {self.sweeps} starts {' '.join(options)}".rstrip())
        name, command = f"sweep{self.sweeps}", ("orchestrator.sweep", "grid.yaml", *options)
        if self.carrier and "--debug" not in options:
            there = ("--results", self.elsewhere, "--address", "auto")
            return start(self.folder, name, *command, *there, carrier=self.carrier)
        return start(self.folder, name, *command, "--results", self.where, environment=self.environment)

    def committed(self) -> dict[str, bytes]:
        """The files of rows that are there now."""
        self.look()
        return committed(self.results)

    def packs(self) -> int:
        """How many are committed."""
        self.look()
        return len(list((self.results / "packs").glob("[!.]*.parquet")))

    def moment(self, sweep: Running) -> None:
        """Wait for a random moment of the run: at any time from its start, or about when a certain pack lands."""
        if self.rng.random() < 0.35:
            seconds = self.rng.uniform(0, self.undisturbed.seconds)
            self.tell(f"the fault waits {seconds:.2f} s")
            wait_until(lambda: not sweep.runs, seconds)
        else:
            number, delay = self.rng.randrange(0, self.undisturbed.files), self.rng.uniform(0, 0.5)
            self.tell(f"the fault waits for {number} packs and {delay:.2f} s")
            # Pack 0: somewhere in the start of Ray and its workers.
            ready = (lambda: b"starting Ray" in sweep.err.read_bytes()) if number == 0 else (lambda: self.packs() >= number)
            wait_until(lambda: not sweep.runs or ready(), 10 * self.undisturbed.seconds, every=0.02)
            time.sleep(delay if number else 10 * delay)

    def target(self, sweep: Running, *names: str) -> psutil.Process | None:
        """One of the run's processes with such a title; waits until there is one. None where the run is over before."""
        found: list[psutil.Process] = []

        def there() -> bool:
            found[:] = [process for name in names for process in sweep.members(name)]
            return bool(found) or not sweep.runs

        wait_until(there, 10 * self.undisturbed.seconds)
        return self.rng.choice(sorted(found, key=lambda process: process.pid)) if found else None

    def strike(self, sweep: Running | None, what: str, act: Callable[[], None]) -> None:
        """Do it, having noted what was committed before."""
        self.before |= self.committed()
        self.amid |= sweep is not None and sweep.runs
        try:
            act()
        except (psutil.NoSuchProcess, ProcessLookupError):
            what += " (which had just ended)"
        self.tell(f"{what}, {len(self.before)} files committed, the sweep {'runs' if sweep and sweep.runs else 'does not run'}")

    def finish(self, sweep: Running, allowed: set[int], seconds: float | None = None) -> None:
        """Wait for the sweep; one that takes too long is interrupted once, then twice, as a user would, and must then end.
        BAD_INPUT may be allowed, but is right only where no pack was committed."""
        expected = 3 * self.undisturbed.seconds + self.patience_s if seconds is None else seconds
        if not sweep.wait(expected):
            allowed = allowed | {INTERRUPTED}
            for _ in range(2):
                self.tell(f"it takes long: Ctrl-C after {time.monotonic() - sweep.started:.0f} s")
                self.press_ctrl_c(sweep)
                if sweep.wait(20):
                    break
            else:
                self.tell("kill -9, as Ctrl-C does not end it")
                self.violations.append(Violation("alive", f"{sweep.out.stem}: two Ctrl-C do not end it"))
                sweep.driver().kill()
                allowed = allowed | {-9}
        self.tell(f"{sweep.out.stem} ended with {sweep.code}")
        if BAD_INPUT in allowed and self.packs():
            allowed = allowed - {BAD_INPUT}
        if sweep.code == MISSING and sweep.out.stem.startswith("sweep") and not wait_until(lambda: explained(sweep.said()), 5):
            self.violations.append(Violation("unreadable", f"{sweep.out.stem} ends with 1 and does not say why"))
        self.violations += [Violation(v.kind, f"{sweep.out.stem}: {v.text}") for v in words(sweep.said(), sweep.code, allowed)]

    def press_ctrl_c(self, sweep: Running) -> None:
        sweep.signal(signal.SIGINT, group=True)

    def thaw(self) -> None:
        for process in self.frozen:
            try:
                process.resume()
            except psutil.NoSuchProcess:
                continue
        self.frozen.clear()
