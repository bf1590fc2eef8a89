"""A short campaign: each kind of fault once, from a fixed seed. The long one is run by hand: docs/durability.md."""

import subprocess
import sys

import pytest

from tests.campaign.__main__ import main
from tests.campaign.faults import FAULTS
from tests.orchestrator.conftest import ROOT


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(1500)
def test_each_kind_of_fault_once():
    # In a process of its own, as it adopts and ends processes.
    command = [
        sys.executable,
        "-m",
        "tests.campaign",
        "--seed",
        "1",
        "--count",
        str(len(FAULTS)),
        "--jobs",
        "2",
        "--again",
        "debug",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(FAULTS)}/{len(FAULTS)}" in done.stdout


@pytest.mark.parametrize("words", [["--fault", "earthquake"], ["--index", "3"], ["--count", "many"]])
def test_bad_words_are_refused(words, capsys):
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert "error:" in capsys.readouterr().err
