"""A short campaign of kinds that between them strike each part. The long one is run by hand: docs/inside/durability.md."""

import subprocess
import sys

import pytest

from tests.campaign.__main__ import main
from tests.orchestrator.conftest import ROOT

SHORT = (
    "kill-actor", "kill-driver", "kill-raylet", "ctrl-c-twice", "disk-full", "damage-amid", "damage-at-rest", "two-drivers-kill",
    "s3-errors", "card-errors",
)  # fmt: skip
"""Some three minutes. A host that dies is struck in tests/test_hosts.py."""


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.ray
@pytest.mark.timeout(1500)
def test_a_fault_of_each_part():
    # In a process of its own, as it adopts and ends processes.
    words = ["--seed", "1", "--count", str(len(SHORT)), "--jobs", "2", "--again", "debug", "--fault", *SHORT]
    done = subprocess.run([sys.executable, "-m", "tests.campaign", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(SHORT)}/{len(SHORT)}" in done.stdout


@pytest.mark.parametrize("words", [["--fault", "earthquake"], ["--index", "3"], ["--count", "many"]])
def test_bad_words_are_refused(words, capsys):
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert "error:" in capsys.readouterr().err
