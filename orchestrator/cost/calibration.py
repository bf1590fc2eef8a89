"""Rates of this machine for each kind of work. They are measured at first use and kept for later runs.

Measuring needs torch and numba, so it runs in a process of its own. The rates depend on the processor, the libraries and the code
of the engines; they are measured again when one of these changes.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import Any

from orchestrator.cards import Card
from sweepkit import FOLDER
from sweepkit.console.cache import cache_folder, digest
from sweepkit.console.writing import write_whole
from trainables.engines import ENGINES, Engine
from trainables.engines.base import ALONE
from trainables.limits import cores

MEASURE_S = 180
"""Most seconds that measuring may take. Kernels compile in some 20 s, and are timed in 5."""
MEASURE_CARD_S = 400
"""Most seconds that measuring a card may take: some twenty packs are made, and a few kernels compiled."""

RAY_S = 11.5
"""Seconds of Ray on two cores: its processes, its library in each worker, its end. The loading time of engines is measured."""

# Rates by engine and device, for devices that were not measured, such as those of another node.
_DEFAULT: dict[str, dict[str, float]] = {
    f"{engine.name} {device}": dict(rates) for engine in ENGINES.values() for device, rates in engine.seconds.items()
}


@dataclass(frozen=True)
class Rates:
    """Seconds per unit of work by engine and device, seconds until a worker trains, and the memory that the worker then has."""

    seconds: dict[str, dict[str, float]] = field(default_factory=lambda: _DEFAULT)
    start_s: float = 12.0
    """Seconds from the command to the first step: Ray's processes start, then a worker loads torch and numba."""
    process_bytes: int = 600 * 2**20
    """Memory of a worker with torch and numba loaded, before its first pack."""

    def __post_init__(self) -> None:
        """ValueError if a rate is missing, negative, infinite or not a number."""
        if missing := [f"{key} {kind}" for key in _DEFAULT for kind in _DEFAULT[key] if kind not in self.seconds.get(key, {})]:
            raise ValueError(f"no rate for {', '.join(missing)}")
        times = [self.start_s, *(s for rates in self.seconds.values() for s in rates.values())]
        if not all(0 <= s < inf for s in times) or not any(times) or self.process_bytes <= 0:
            raise ValueError("a rate is negative, infinite or not a number")

    def of(self, engine: Engine, device: str, dtype: str = "float32") -> dict[str, float]:
        """Seconds per unit of each kind of work."""
        rates = self.seconds[f"{engine.name} {device}"]
        return {k: engine.double * s for k, s in rates.items()} if dtype == "float64" else rates

    def alone(self, engine: Engine, device: str, dtype: str = "float32") -> dict[str, float]:
        """Seconds per unit of work of a network that has a card to itself; none on a CPU."""
        return self.of(engine, ALONE, dtype) if device == "cuda" and ALONE in engine.seconds else {}


def kept_rates() -> Rates | None:
    """This machine's rates, if they were measured before."""
    try:
        return Rates(**json.loads(rates_file().read_text()))
    except (OSError, ValueError, TypeError, AttributeError):  # missing, torn or of another version: to be measured again
        return None


def machine_rates(say: Callable[[str], None]) -> Rates:
    """This machine's rates. They are measured now, in some twenty seconds, unless they were measured before."""
    if kept := kept_rates():
        return kept
    say("measuring how fast this machine is, once (some 20 s) ...")
    try:
        rates = _measured()
    except (subprocess.SubprocessError, ValueError, TypeError, AttributeError, IndexError) as error:
        why = (getattr(error, "stderr", None) or str(error)).strip()[-500:]
        say(f"this machine could not be measured, so forecasts use the rates of another one until packs finish: {why}")
        return Rates()
    _keep(rates_file(), asdict(rates), say)
    return rates


def with_card_rates(rates: Rates, card: Card, say: Callable[[str], None], measure: Callable[[], Any]) -> Rates:
    """The rates with those of this card, which are measured now unless they were before.

    `measure` measures them.
    """
    path = rates_file(card.name, "card")
    try:
        return _joined(rates, json.loads(path.read_text()))
    except (OSError, ValueError, TypeError, AttributeError):  # missing, torn or of another version: measured again
        pass
    say(f"measuring how fast this GPU is, once ({card.name}, a minute or two) ...")
    try:
        found = measure()
        joined = _joined(rates, found)
    except (subprocess.SubprocessError, ValueError, TypeError, AttributeError, IndexError, RuntimeError, TimeoutError) as error:
        why = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1:]
        say(f"the GPU could not be measured, so its forecasts use estimates for an H200 until packs finish: {''.join(why)}")
        return rates
    _keep(path, found, say)
    return joined


def _joined(rates: Rates, of_card: Any) -> Rates:
    """ValueError if the rates of a card are none."""
    if not isinstance(of_card, dict) or not of_card.keys() <= rates.seconds.keys():
        raise ValueError("these are no rates of a card")
    return replace(rates, seconds=rates.seconds | of_card)


def measured_on_card() -> Any:
    """Rates of this machine's first card, measured in a process of its own. SubprocessError if that fails."""
    command = [sys.executable, "-m", "orchestrator.cost.measure", "--card"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True, timeout=MEASURE_CARD_S)
    return json.loads(done.stdout.splitlines()[-1])


def _keep(path: Path, found: Any, say: Callable[[str], None]) -> None:
    try:
        write_whole(path, json.dumps(found))
    except OSError as error:
        say(f"the rates cannot be stored, so the next run measures again: {error}")


def _measured() -> Rates:
    command = [sys.executable, "-m", "orchestrator.cost.measure"]
    one_core = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=FOLDER, env=one_core, capture_output=True, text=True, check=True, timeout=MEASURE_S)
    return Rates(**json.loads(done.stdout.splitlines()[-1]))  # libraries may print before the rates


def rates_file(*words: str) -> Path:
    """Where the rates of this machine and code are kept; those of a card with its name among the words."""
    here = (Path(__file__).with_name(name) for name in ("calibration.py", "measure.py"))
    made = [platform.machine(), cpu_name(), version("torch"), version("numba"), *words]
    return cache_folder() / f"rates-{digest([*(FOLDER / 'trainables').rglob('*.py'), *here], *made)}.json"


def cpu_name() -> str:
    """The CPU as the column `device` names it: `cpu (AMD EPYC, 2 cores)`; its architecture if Linux does not tell the model."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"cpu ({model}, {cores()} cores)"
