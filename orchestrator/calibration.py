"""How fast this machine is: rates for each kind of work, measured at first use and kept for the next time.

Measuring needs torch and numba, so it runs in a process of its own; what it finds depends on processor, libraries and the
engines' own code, and is measured again when one of them changes.
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

from trainables.cache import cache_folder, digest

_DOUBLE = {"gram": 2.0, "batched": 4.0, "reference": 2.0, "patches": 2.0, "langevin": 1.0}
"""Time of a step in float64 over float32: half as many numbers an instruction, and for `batched` no oneDNN."""
MEASURE_S = 180
"""After so long measuring has failed: kernels are compiled in some 20 s, and timed in 5."""
_ROOT = Path(__file__).resolve().parents[1]

# Seconds a unit, measured on one core of a 2-core AMD EPYC (Zen 5): where a processor was not measured, as another node's.
_DEFAULT: dict[str, dict[str, float]] = {
    "gram cpu": {"call": 3e-6, "example": 1e-8, "pair": 2e-10, "lazy_pair": 3e-10, "tile": 1.6e-11,
                 "evaluation": 5e-4, "product": 9e-12, "neuron": 3e-10, "number": 1.5e-9},
    "batched cpu": {"call": 4e-5, "neuron": 7e-10, "product": 9e-12, "number": 2e-9, "evaluation": 5e-4},
    "patches cpu": {"call": 1e-5, "example": 1e-7, "pair": 3e-10, "atom": 1e-10, "tile": 1.6e-11, "weight": 1e-11,
                    "evaluation": 5e-4},
    # In double precision, as chains are.
    "langevin cpu": {"call": 1e-4, "product": 5e-11},
    "reference cpu": {"call": 2e-4, "neuron": 3e-9, "product": 2e-11, "number": 1e-8, "evaluation": 5e-4},
    # Not measured, any of these; the first packs correct it. `batched`, `reference`: a card with some 20 TFLOP/s in float32.
    # `batched`: a dozen kernels a step from a CUDA graph, 3e-6 s each, shared by a pack of some ten networks.
    # `gram`, reckoned from its machine code for an H200 (132 multiprocessors that issue 4 instructions a cycle, 1.75 GHz):
    # with L = 12, B = 128 each of the 8 warps of 1,024 neurons takes some 14,600 a step, 29,000 cycles; half as long again with
    # waits, 26e-6 s of one multiprocessor, 2e-7 s of a full card, four fifths of it for the 63 pairs.
    # `example` is the host's draws, 3e-6 s a group and step; an evaluation some 20 small kernels a network.
    "gram cuda": {"call": 1e-7, "example": 2e-8, "pair": 2.4e-12, "lazy_pair": 3.2e-12, "tile": 1.4e-13,
                  "evaluation": 3e-4, "product": 1e-13, "neuron": 2e-11, "number": 2e-9},
    "batched cuda": {"call": 4e-6, "neuron": 2e-11, "product": 1e-13, "number": 2e-9, "evaluation": 1e-3},
    "reference cuda": {"call": 5e-4, "neuron": 3e-11, "product": 1e-13, "number": 1e-8, "evaluation": 1e-3},
}  # fmt: skip


@dataclass(frozen=True)
class Rates:
    """Seconds a unit of work by engine and device; seconds until a worker trains, and the memory it has by then."""

    seconds: dict[str, dict[str, float]] = field(default_factory=lambda: _DEFAULT)
    start_s: float = 12.0
    """From the command to the first step: Ray's processes, then a worker that loads torch and numba."""
    process_bytes: int = 600 * 2**20
    """A worker with torch and numba loaded, before its first pack."""

    def __post_init__(self) -> None:
        """ValueError where a rate is missing or is no time."""
        if missing := [f"{key} {kind}" for key in _DEFAULT for kind in _DEFAULT[key] if kind not in self.seconds.get(key, {})]:
            raise ValueError(f"no rate for {', '.join(missing)}")
        times = [self.start_s, *(s for rates in self.seconds.values() for s in rates.values())]
        if not all(0 <= s < inf for s in times) or not any(times) or self.process_bytes <= 0:
            raise ValueError("a rate is negative, infinite or not a number")

    def of(self, engine: str, device: str, dtype: str = "float32") -> dict[str, float]:
        """Seconds a unit of each kind of work."""
        rates = self.seconds[f"{engine} {device}"]
        return {k: _DOUBLE[engine] * s for k, s in rates.items()} if dtype == "float64" else rates


def machine_rates(say: Callable[[str], None]) -> Rates:
    """This machine's rates, measured now (some twenty seconds) if they were not before."""
    path = _path()
    try:
        return Rates(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError, AttributeError):  # not there, torn, or not what this version writes: measured again
        pass
    say("measuring how fast this machine is, once (some 20 s) ...")
    try:
        rates = _measured()
    except (subprocess.SubprocessError, ValueError, TypeError, AttributeError, IndexError) as error:
        why = (getattr(error, "stderr", None) or str(error)).strip()[-500:]
        say(f"it could not be measured, so times are those of another machine until packs finish: {why}")
        return Rates()
    try:
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(asdict(rates)))
        part.replace(path)
    except OSError as error:
        say(f"what was measured is not kept, the next run measures again: {error}")
    return rates


def _measured() -> Rates:
    command = [sys.executable, "-m", "orchestrator.measure"]
    one_core = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=_ROOT, env=one_core, capture_output=True, text=True, check=True, timeout=MEASURE_S)
    return Rates(**json.loads(done.stdout.splitlines()[-1]))  # libraries may print before


def _path() -> Path:
    here = (Path(__file__).with_name(name) for name in ("amounts.py", "calibration.py", "measure.py"))
    made = [platform.machine(), cpu_name(), version("torch"), version("numba")]
    return cache_folder() / f"rates-{digest([*(_ROOT / 'trainables').rglob('*.py'), *here], *made)}.json"


def cpu_name() -> str:
    """What rows trained on a processor say of it: `cpu (AMD EPYC, 2 cores)`, where Linux tells the model."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"cpu ({model}, {len(os.sched_getaffinity(0))} cores)"
