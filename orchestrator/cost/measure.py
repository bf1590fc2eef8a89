"""`python -m orchestrator.cost.measure`: this machine's rates as JSON, from a few seconds of every engine on one core.

With `--card`: the rates of its first card, in a minute or two.

The amounts of work of each measured shape are known. The rates are those that explain all times best: least squares of the
relative error, with no rate below zero.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import nnls

from orchestrator.cost.calibration import RAY_S, Rates
from trainables.engines import ENGINES, Engine, descent_engine
from trainables.engines.base import Amounts
from trainables.trainers.card.faults import release

RAY_BYTES = 90 * 2**20
"""Memory that Ray adds to a worker."""
WINDOW_S = 0.08
_STATUS = Path("/proc/self/status")


def seconds_of(
    run: Callable[[], object],
    rounds: int = 3,
    window_s: float | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Seconds of a run: the shortest mean over some windows, as other work on the machine only ever adds time."""
    window_s = window_s or WINDOW_S
    run()
    best = float("inf")
    for _ in range(rounds):
        n, started = 0, clock()
        while (elapsed := clock() - started) < window_s:
            run()
            n += 1
        best = min(best, elapsed / n)
    return best


def fit(measured: list[tuple[Amounts, float]]) -> dict[str, float]:
    """Rates that explain the measured seconds of these amounts."""
    kinds = list(dict.fromkeys(k for amounts, _ in measured for k in amounts))
    relative = np.array([[amounts.get(k, 0.0) / seconds for k in kinds] for amounts, seconds in measured])
    size = np.linalg.norm(relative, axis=0)  # amounts differ by eight orders of magnitude, too much for `nnls`
    found, _ = nnls(relative / size, np.ones(len(measured)))
    return dict(zip(kinds, (found / size).tolist(), strict=True))


def rates_of(engine: Engine) -> dict[str, float]:
    """Rates of one engine on one core, in seconds of that core: those for which other work has it are no part of them."""
    times = ((timed, seconds_of(timed.work, timed.rounds, clock=time.process_time)) for timed in engine.calibration())
    return fit([(timed.amounts, seconds / timed.n) for timed, seconds in times])


def card_rates(device: str = "cuda") -> dict[str, dict[str, float]]:
    """Rates of every engine on this machine's first card: those of a full card, and those of a network alone on it."""
    found: dict[str, dict[str, float]] = {}
    for engine in ENGINES.values():
        measured: dict[str, list[tuple[Amounts, float]]] = {}
        for kind, timed in engine.card_calibration(device):
            measured.setdefault(kind, []).append((timed.amounts, seconds_of(timed.work, timed.rounds) / timed.n))
            del timed
            release()  # the next pack may need all the memory
        # A kind of work that weighs in no pack keeps its estimate.
        found |= {f"{engine.name} {kind}": {**engine.seconds[kind], **fit(of_kind)} for kind, of_kind in measured.items()}
    return found


def ready() -> None:
    """Do what a worker does before its first pack, and print the most memory that it took, in bytes."""
    torch.set_num_threads(1)
    for name in ("gram", "batched"):
        engine = descent_engine(name)
        engine.trainer(engine.shapes()[0]).train(0, 10)
    print(_most_bytes())


def _most_bytes() -> int:
    """The most memory that this process has held. `ru_maxrss` would begin at the memory of the process that started this one."""
    for line in _STATUS.read_text().splitlines() if _STATUS.exists() else ():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Print the rates as JSON."""
    if sys.argv[1:] == ["--ready"]:
        return ready()
    torch.set_num_threads(1)
    if sys.argv[1:] == ["--card"]:
        return print(json.dumps(card_rates()))
    seconds = Rates().seconds | {f"{engine.name} cpu": rates_of(engine) for engine in ENGINES.values()}
    # Timed in a process of its own, now that every kernel is compiled: workers will find them compiled, too.
    command = [sys.executable, "-m", "orchestrator.cost.measure", "--ready"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    start_s = RAY_S + used.ru_utime + used.ru_stime
    print(json.dumps(asdict(Rates(seconds, start_s, int(done.stdout.splitlines()[-1]) + RAY_BYTES))))


if __name__ == "__main__":
    main()
