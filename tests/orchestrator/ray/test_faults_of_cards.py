"""Sweeps as a user runs them on a machine with a card that fails: no cell fails for it, none is lost, and all is told once."""

import os
import re
import subprocess
import sys

import pytest

from sweepkit.store.views import connect
from tests.fake_card import NAME, environment

GRID = """
sweep: card
defaults: {batch: 32, test_size: 64, width: 64, gamma: [1, lazy], seed: {range: 3}}
grids:
  - {task: same_different, L: {range: [3, 7]}, d: [16, 32], steps: 1000, eval_every: 500}
  - {task: pentomino, L: 6, patches: 3, width: 256, steps: 100, eval_every: 50}
resources: {pack_seconds: 1}
"""
"""48 networks that a card merges, and 6 for processors."""
CELLS = 54


def sweep(tmp_path, rates, *options):
    (tmp_path / "grid.yaml").write_text(GRID)
    words = ["-m", "orchestrator.sweep", str(tmp_path / "grid.yaml"), "--results", str(tmp_path / "results"), *options]
    return subprocess.run(
        [sys.executable, *words], env=os.environ | environment(rates), capture_output=True, text=True, check=False
    )


DEVICES = """
select regexp_extract(device, '[a-z]+') as kind, count(*), count(distinct pack_id) from cells where status = 'ok' group by kind
"""


def devices(tmp_path):
    """Networks and packs on each kind of device."""
    with connect(str(tmp_path / "results")) as connection:
        return {kind: (n, packs) for kind, n, packs in connection.execute(DEVICES).fetchall()}


WAYS = [pytest.param(("--debug",), id="debug"), pytest.param((), id="ray", marks=pytest.mark.ray)]


@pytest.mark.parametrize("options", WAYS)
def test_a_card_that_is_well_trains_what_it_is_good_for(tmp_path, options):
    done = sweep(tmp_path, {}, *options)
    assert done.returncode == 0, done.stderr
    assert NAME in done.stderr and "warning" not in done.stderr
    found = devices(tmp_path)
    assert sum(n for n, _ in found.values()) == CELLS
    assert found["cuda"][0] >= 48 and found["cuda"][1] <= 4  # of different L and d in one pack


@pytest.mark.parametrize(("fault", "options"), [
    ("illegal", ("--debug",)), ("unusable", ("--debug",)), ("memory", ("--debug",)),
    pytest.param("illegal", (), marks=pytest.mark.ray),
])  # fmt: skip
def test_a_card_that_always_fails_costs_no_cell(tmp_path, fault, options):
    """Each fault in one process; through Ray the one that costs its worker. The next test has memory through Ray."""
    done = sweep(tmp_path, {fault: 1.0}, *options)
    assert done.returncode == 0, done.stderr
    assert devices(tmp_path) == {"cpu": (CELLS, devices(tmp_path)["cpu"][1])}
    told = re.findall("^warning: (.*)", done.stderr, re.MULTILINE)
    assert len(told) == (2 if fault == "memory" else 1), told  # what failed, and that cards are set aside
    words = {"illegal": "illegal memory access", "unusable": "install gcc", "memory": "CUDA out of memory"}
    assert words[fault] in told[0]


@pytest.mark.ray
@pytest.mark.parametrize("rates", [{"memory": 0.05}, {"illegal": 0.02, "crash": 0.02}])
def test_a_card_that_fails_now_and_then_costs_no_cell(tmp_path, rates):
    done = sweep(tmp_path, rates)
    assert done.returncode == 0, done.stderr
    assert sum(n for n, _ in devices(tmp_path).values()) == CELLS
