"""The benchmark for a card, tried in the interpreter: its sections run."""

import json
import os
import subprocess
import sys

import pytest

from tests.orchestrator.conftest import ROOT


@pytest.mark.parametrize(
    "section",
    ["facts", "stacked", "right", "kinds", "alone", "noisy"],
)
def test_sections_run_without_a_card(section):
    pytest.importorskip("triton", reason="Triton is not part of this PyTorch")
    command = [sys.executable, "-m", "benchmarks.first_contact", section, "--device", "cpu"]
    its = os.environ | {"TRITON_INTERPRET": "1"}
    done = subprocess.run(command, cwd=ROOT, env=its, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines
    for line in lines:  # float64, as in test_trainers.py
        assert line.get("loss_apart", 0.0) < (2e-5 if line.get("dtype") == "float32" else 1e-9)
        assert "error" not in line and line.get("apart", 0.0) < 1e-9
        assert all(line.get(name, True) for name in ("same_digits", "mixed_as_alone", "starts_at_log_2"))


def test_without_a_card_it_says_so():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_contact", "facts"],
        cwd=ROOT, env=os.environ | {"CUDA_VISIBLE_DEVICES": "-1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "no CUDA device" in done.stderr
