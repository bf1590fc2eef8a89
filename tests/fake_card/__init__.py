"""A card that is none: processes started in its environment see one GPU, train on the CPU in its name, and meet its faults.

It shows what the orchestrator does with cards. It cannot show that kernels are right, nor how fast a card is.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
VARIABLE = "FAKE_CARD"
NAME = "Fake H200"
FAULTS = ("illegal", "memory", "crash", "unusable")
"""A CUDA error that leaves the process without a card; too little memory; the process dies; the card cannot be used at all."""


def environment(rates: Mapping[str, float] | None = None, seed: int = 0) -> dict[str, str]:
    """Variables for a command that finds the card; `rates`: how likely a call of the card meets each fault."""
    before = [os.environ.get(name, "") for name in ("PYTHONPATH", "PATH")]
    paths = (os.pathsep.join(filter(None, (str(HERE / own), old))) for own, old in zip(("path", "bin"), before, strict=True))
    return dict(zip(("PYTHONPATH", "PATH"), paths, strict=True)) | {
        VARIABLE: json.dumps({"rates": dict(rates or {}), "seed": seed})
    }
