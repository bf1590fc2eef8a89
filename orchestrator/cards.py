"""The GPUs of this machine, as NVIDIA's driver tells them: no torch is loaded and no context made."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ASK_S = 20.0
"""Seconds that the driver may take to answer; the first question after a start may wake the card."""
_MPS_PIPE = "CUDA_MPS_PIPE_DIRECTORY"


@dataclass(frozen=True)
class Card:
    """A GPU: its name, its memory in bytes, and whether NVIDIA's MPS lets several processes run on it side by side."""

    name: str
    bytes: int
    has_mps: bool = False


UNKNOWN_CARD = Card("a card that does not answer", 2**34)
"""Stands for a card whose driver does not answer; its first pack will tell why."""


def cards_here() -> tuple[Card, ...]:
    """The cards that this process may use; none where there is no driver."""
    return _asked()[0]


def why_no_card() -> str:
    """Why a driver that is installed names no card; empty where it does, or where there is none."""
    return _asked()[1]


@cache
def _asked() -> tuple[tuple[Card, ...], str]:
    tool, allowed = shutil.which("nvidia-smi"), os.environ.get("CUDA_VISIBLE_DEVICES")
    wanted = None if allowed is None else [word.strip() for word in allowed.split(",")]
    if tool is None or wanted in (["-1"], [""]):
        return (), ""
    command = [tool, "--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=ASK_S, check=False)
    except subprocess.TimeoutExpired:
        return (), f"nvidia-smi does not answer within {ASK_S:.0f} s"
    except OSError as error:
        return (), f"nvidia-smi cannot be run: {error.strerror}"
    said = next(iter((done.stdout + done.stderr).strip().splitlines()), f"exit code {done.returncode}")[:200]
    if done.returncode:
        return (), f"nvidia-smi fails: {said}"
    rows = [[word.strip() for word in line.split(",")] for line in done.stdout.splitlines() if line.count(",") == 3]
    has_mps = Path(os.environ.get(_MPS_PIPE, "/tmp/nvidia-mps"), "control").exists()
    found = tuple(
        Card(name, int(mebibytes) * 2**20 if mebibytes.isdigit() else UNKNOWN_CARD.bytes, has_mps)
        for index, uuid, name, mebibytes in rows
        if wanted is None or any(index == word or uuid.startswith(word) for word in wanted)
    )
    return found, "" if rows else f"nvidia-smi names no GPU: {said}"
