"""A short campaign of kinds that between them strike each part. The long one is run by hand: docs/inside/durability.md."""

import subprocess
import sys

import pytest

from tests.campaign.__main__ import main
from tests.orchestrator.conftest import ROOT

SHORT = ("kill-raylet", "disk-full", "damage-amid", "damage-at-rest", "s3-errors")
"""Faults that no other test strikes a whole sweep with. Killed workers, killed and interrupted drivers and two drivers are in
tests/orchestrator/test_sweep_ray.py, failing cards in ray/test_faults_of_cards.py, a host that dies in tests/test_hosts.py."""


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.ray
@pytest.mark.timeout(1500)
def test_faults_of_a_whole_sweep():
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
