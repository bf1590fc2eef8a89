"""Commands that a person is told to type: each plans, and is of the task that it is for."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from analysis.claims.check import _blocks, advice, check, load_claims
from analysis.claims.entries import Claim
from analysis.claims.verdict import Again, Checked, Measured
from analysis.figures.registry import FIGURES
from orchestrator.grid.syntax.problems import GridError
from sweepkit.stats import Interval
from sweepkit.store.store import Store
from tests.commanded import grid_of
from tests.stand_ins import stand_ins
from tests.store_rows import row

ROOT = Path(__file__).parents[2]
GAMMAS = {"lazy": 1e-5, "0.01": 0.01, "0.1": 0.1, "1": 1.0, "10": 10.0}
LENGTH = {"same_different": 25_000, "psvrt": 100_000, "pentomino": 100_000, "cifar100": 50_000}


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    stand_ins(tmp_path)
    monkeypatch.setenv("SWEEP_DATA_DIR", str(tmp_path))


@pytest.fixture(scope="module")
def undecided(tmp_path_factory):
    """Two seeds of each setting, far apart: of every task claims are measured and left open."""
    settings = [
        *({"task": "same_different", "L": L, "d": d, "sigma2": 0.0, "prefactor": "sqrt_d", "width": 1024, "base_lr": 0.1}
          for L in (2, 3, 5, 16, 32) for d in (64, 256, 512)),
        *({"task": "psvrt", "L": L, "patches": n, "patch_size": 5, "width": 512, "base_lr": 0.5}
          for L in (256, 1024) for n in (2, 4, 5, 6)),
        *({"task": "pentomino", "L": L, "patches": n, "patch_size": 7, "blur": 0.5, "width": 512, "base_lr": 0.5}
          for L in (10, 16) for n in (2, 4)),
        *({"task": "cifar100", "L": L, "layer": "relu4_3", "width": 1024, "base_lr": 0.01} for L in (8, 64)),
    ]  # fmt: skip
    rng = np.random.default_rng(0)
    store = Store(str(tmp_path_factory.mktemp("undecided")))
    rows = []
    for keys in settings:
        for label, gamma in GAMMAS.items():
            for seed in range(2):
                numbers = dict(zip(("best_test_acc", "final_test_acc", "alignment_pos"), rng.random(3), strict=True))
                rest = {"alignment_neg": -rng.random(), "readout_ratio": 3 * rng.random(), "activation_change": rng.random()}
                whole = {"d": None, **keys, "steps": LENGTH[keys["task"]], "gamma": gamma, "gamma_label": label, "seed": seed}
                rows.append(row(len(rows), **whole, **numbers, **rest, dtype="float32"))
    chains = {"L": None, "gamma": None, "gamma_label": None, "chains": 4, "kappa": 1.0, "scaling": "standard", "steps": 1000}
    sizes = [*({"network": "erf2", "d": d, "width": d} for d in (16, 24, 32, 48)),
             *({"network": "erf2", "d": 16, "width": N, "kappa": 0.1} for N in (16, 32, 64)),
             *({"network": "erf2", "d": 24, "width": 24, "scaling": name} for name in ("standard", "mean_field")),
             *({"network": "erf3", "d": 10, "width1": n1, "width": 64} for n1 in (16, 32, 64))]  # fmt: skip
    for size in sizes:
        for p in (64, 256, 1024):
            for seed in range(2):
                found = {"alignment_f": 0.1 * np.log(p) - 0.5 + 0.3 * rng.random(), "n_specialised_1": 4 * rng.random()}
                whole = {"task": "he3", **chains, **size, "P": p, "seed": seed, **found}
                rows.append(row(len(rows), **whole, best_test_acc=None, dtype="float32"))
    store.commit("p", rows)
    return store.results


def planned(command):
    """The grid that a command names, with its overrides."""
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "orchestrator.sweep"], command
    at = words.index("--results") if "--results" in words else len(words)
    return grid_of([*words[3:at], *words[at + 2 :]])


def test_every_command_that_may_decide_a_claim_plans(undecided, tmp_path):
    """Those for a store of every task, for as many seeds again, and those for an empty one."""
    again, several = set(), {}
    for results in (undecided, str(tmp_path / "empty")):
        for one in check(results, [claim for claim in load_claims() if claim.grid]):
            task = one.claim.measure["of"]["task"]
            for command in advice(one, results):
                several.setdefault(command.split(" --results")[0], set()).add(task)
                if "seed=" in command:
                    again.add(task)
    assert again == {"same_different", "psvrt", "pentomino", "cifar100", "he3"}
    for command, tasks in several.items():
        grid = planned(command)
        trained = {p.cell.task.name for p in grid.cells}
        assert tasks <= trained, command  # a grid may hold networks of other claims, too
        if "seed=" in command:
            assert trained == tasks, command
            assert all(p.save == {"curves"} for p in grid.cells), command


def test_every_command_of_the_page_of_verdicts_plans():
    """Those for networks of evidence/, and for what it lacks; but for data and weights that nobody has here."""
    page = (ROOT / "docs/verdicts.md").read_text()
    commands = set(re.findall(r"`sweep run ([^`]+)`", page))
    assert len(commands) > 20
    for command in commands:
        try:
            assert grid_of(shlex.split(command)).cells, command
        except GridError as error:
            assert "weights_dir" in str(error) or "put there" in str(error), f"{command}: {error}"


def test_as_many_seeds_again_leave_axes_of_searches_and_zips_to_the_grid():
    """Also where the grid gives `find` or `zip` among its defaults."""
    numbers = {"gamma": "0.1,1", "steps": "10,100", "eval_every": "10,100", "d": "16"}
    again = Again(numbers, {"task": "same_different", "dtype": "float32"})
    for grid, said in (("richness_transition", "steps=10,100 eval_every=10,100 d=16"), ("richness_spectra", "gamma=0.1,1 d=16")):
        entry = {"id": "a", "topic": "t", "source": "s", "says": "x", "grid": grid, "because": "y"}
        claim = Claim.model_validate(entry | {"measure": {"kind": "mean"}, "expected": {"at_least": 1}})
        (command,) = advice(Checked(claim, "open", Measured(Interval(1, 0, 2, 2), "", again), ""), "results")
        assert command == f"python -m orchestrator.sweep {grid} {said} --only 'task=same_different dtype=float32'"


def advice_of(grid):
    entry = {"id": "a", "topic": "t", "source": "s", "says": "x", "grid": grid, "because": "y"}
    claim = Claim.model_validate(entry | {"measure": {"kind": "mean"}, "expected": {"at_least": 1}})
    again = Again({"gamma": "0.1,1", "L": "3,4", "seed": "range(9)"}, {})
    return advice(Checked(claim, "open", Measured(Interval(1, 0, 2, 2), "", again), ""), "results")


@pytest.mark.parametrize("text", [None, "[1]", "grids: 1", "a: [", "grids: [1]", "grids: [{zip: 1}]", "a: 1\na: 2"])
def test_a_grid_that_is_not_there_or_is_none_is_named_in_the_advice(text, tmp_path, monkeypatch):
    """An installed package has no grids, and a user's claims may name a grid of their own."""
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "mine.yaml").write_text(text)
    _blocks.cache_clear()
    assert advice_of("mine.yaml") == ["python -m orchestrator.sweep mine.yaml gamma=0.1,1 L=3,4 'seed=range(9)'"]


def test_keys_that_a_users_own_grid_searches_are_left_to_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text("grids: [{find: {axis: L}, zip: [[a, gamma]]}]")
    assert advice_of("own.yaml") == ["python -m orchestrator.sweep own.yaml 'seed=range(9)'"]


def test_every_command_that_yields_a_figure_plans():
    commands = dict.fromkeys(command for figure in FIGURES.values() for command in figure.commands("results"))
    sizes = {command: len(planned(command).cells) for command in commands}
    assert all(sizes.values())
    # Features of VGG-16 take up to 8 GB a layer: examples need pixels alone, the scatters of A1 one layer.
    for name, layer, size in (("3g", "id", 1), ("A1", "relu4_3", 2)):
        command = FIGURES[name].commands("results")[-1]
        assert sizes[command] == size and {p.cell.task.layer for p in planned(command).cells} == {layer}
