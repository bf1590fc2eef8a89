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
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from math import inf
from pathlib import Path

from console.cache import cache_folder, digest
from orchestrator.code import ROOT
from trainables.engines import ENGINES, Engine

MEASURE_S = 180
"""Most seconds that measuring may take. Kernels compile in some 20 s, and are timed in 5."""

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


def machine_rates(say: Callable[[str], None]) -> Rates:
    """This machine's rates. They are measured now, in some twenty seconds, unless they were measured before."""
    path = _path()
    try:
        return Rates(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError, AttributeError):  # missing, torn or of another version: measured again
        pass
    say("measuring how fast this machine is, once (some 20 s) ...")
    try:
        rates = _measured()
    except (subprocess.SubprocessError, ValueError, TypeError, AttributeError, IndexError) as error:
        why = (getattr(error, "stderr", None) or str(error)).strip()[-500:]
        say(f"this machine could not be measured, so forecasts use the rates of another one until packs finish: {why}")
        return Rates()
    try:
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(asdict(rates)))
        part.replace(path)
    except OSError as error:
        say(f"the rates cannot be stored, so the next run measures again: {error}")
    return rates


def _measured() -> Rates:
    command = [sys.executable, "-m", "orchestrator.cost.measure"]
    one_core = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=one_core, capture_output=True, text=True, check=True, timeout=MEASURE_S)
    return Rates(**json.loads(done.stdout.splitlines()[-1]))  # libraries may print before the rates


def _path() -> Path:
    here = (Path(__file__).with_name(name) for name in ("calibration.py", "measure.py"))
    made = [platform.machine(), cpu_name(), version("torch"), version("numba")]
    return cache_folder() / f"rates-{digest([*(ROOT / 'trainables').rglob('*.py'), *here], *made)}.json"


def cpu_name() -> str:
    """The CPU as the column `device` names it: `cpu (AMD EPYC, 2 cores)`; its architecture if Linux does not tell the model."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"cpu ({model}, {len(os.sched_getaffinity(0))} cores)"
