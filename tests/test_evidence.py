"""evidence/: its list of sweeps can be run, its files are whole, small and free of machines' paths; `make evidence` fills it."""

import os
import shutil
import subprocess
from pathlib import Path

from analysis.studies.loading import studies
from sweepkit.store.files import open_files
from sweepkit.store.upkeep.check import check
from sweepkit.store.views import fetch
from tests.commanded import grid_of

ROOT = Path(__file__).parents[1]
EVIDENCE = ROOT / "evidence"
MOST_BYTES = 24_000_000
"""Every clone fetches these files. A network takes some 0.6 kB, so that this is forty thousand."""


def test_every_sweep_in_the_list_can_be_run():
    listed = [sweep.split() for study in studies() for sweep in study.evidence]
    assert len(listed) > 5 and len({tuple(words) for words in listed}) == len(listed)
    for words in listed:
        loaded = grid_of(words)
        assert loaded.cells or loaded.searches


def test_the_files_are_whole_and_small_and_tell_no_path():
    report = check(open_files(str(EVIDENCE)))
    assert report.bad == {} and report.n_bytes < MOST_BYTES
    (found,) = fetch(
        str(EVIDENCE),
        "SELECT count(*), count(git_sha), count(log_path), count(*) FILTER (status = 'failed') FROM cells",
    )
    assert found == (found[0], found[0], 0, 0) and found[0] > 1000


FAKE = """#!/bin/sh
case "$*" in *"study list --evidence") cat listed; exit;; esac
echo "$@" >> called
case "$*" in *"grids/b.yaml"*) exit 1;; *"grids/stop.yaml"*) exit 130;; esac
"""


def make(folder, listed):
    """Run `make evidence` with a Python that notes how it is called. Returns the exit code and the commands."""
    (folder / ".venv/bin").mkdir(parents=True)
    python = folder / ".venv/bin/python"
    python.write_text(FAKE)
    python.chmod(0o755)
    shutil.copy(ROOT / "Makefile", folder)
    for name in ("requirements.lock", "pyproject.toml"):
        (folder / name).touch()
    (folder / ".venv/.installed").touch()
    (folder / "listed").write_text(listed)
    done = subprocess.run(["make", "-s", "evidence", "RESULTS=out"], cwd=folder, env=os.environ | {"MAKEFLAGS": ""}, check=False)
    return done.returncode, (folder / "called").read_text().splitlines()


def test_make_evidence_runs_each_sweep_and_keeps_it_even_if_some_networks_failed(tmp_path):
    code, called = make(tmp_path, "grids/a.yaml seed=range(3) L=[4,5]\ngrids/b.yaml\n")
    keep = "-m orchestrator.store copy --results out --to evidence"
    assert (code, called) == (0, [
        "-m orchestrator.store copy --results evidence --to out",
        "-m orchestrator.sweep grids/a.yaml seed=range(3) L=[4,5] --results out", keep,
        "-m orchestrator.sweep grids/b.yaml --results out", keep,
        "-m analysis.verdicts",
    ])  # fmt: skip


def test_make_evidence_stops_where_a_sweep_is_interrupted(tmp_path):
    code, called = make(tmp_path, "grids/stop.yaml\ngrids/a.yaml\n")
    assert code != 0 and called[-1] == "-m orchestrator.sweep grids/stop.yaml --results out"
