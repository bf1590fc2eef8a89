"""`check_grid`: a user's test of their own parts, on parts that keep what a sweep relies on and on parts that do not."""

import pytest

from orchestrator import GridError
from orchestrator.testing import check_grid
from tests.orchestrator.conftest import ROOT

GRID = """\
sweep: tried
tasks: [own.py]
defaults: {d: 400, width: 8, steps: 300, eval_every: 100, batch: 16, test_size: 64}
grids:
  - {task: parity, k: 2, gamma: 1, network: [relu2, mlp], seed: 0}
"""
PARITY = (ROOT / "examples" / "parity.py").read_text()


@pytest.mark.parametrize("name", ["own_network_grid", "own_optimiser_grid", "parity_grid"])
def test_the_examples_pass(name):
    check_grid(ROOT / "examples" / f"{name}.yaml")


def checked(folder, task):
    (folder / "own.py").write_text(task)
    (folder / "grid.yaml").write_text(GRID)
    check_grid(folder / "grid.yaml")


def test_a_task_that_counts_its_networks_is_found_though_each_draw_is_right(tmp_path):
    """Each function alone gives the same twice, so that no check before a sweep can see it."""
    checked(tmp_path, PARITY)
    counting = PARITY.replace("# The k bits that count", "self.made.append(1)\n        # The k bits that count").replace(
        "return x, x[:, symbols]", "return x * np.float32(1 + len(self.made) / 1000), x[:, symbols]"
    )
    counting = counting.replace("    d: Annotated", "    made: ClassVar[list[int]] = []\n    d: Annotated", 1)
    with pytest.raises(AssertionError, match=r"parity d=400 .*: trained .*, network \d of 3 has \w+\S* .* and "):
        checked(tmp_path, counting)


def test_a_network_that_computes_in_one_precision_is_told_so(tmp_path):
    own = (ROOT / "examples" / "own_network.py").read_text()
    single = own.replace("gate = x @ ", "gate = x.float() @ ", 1)
    assert single != own
    (tmp_path / "own_network.py").write_text(single)
    keys = {"network": "gated", "L": 4, "d": 4, "width": 8, "base_lr": 0.5, "seed": 0, "dtype": "float32"}
    grid = {"sweep": "s", "networks": [str(tmp_path / "own_network.py")], "grids": [{"task": "same_different", **keys}]}
    with pytest.raises(AssertionError, match=r"gated.*: network gated: "):
        check_grid(grid)


def test_what_a_sweep_would_refuse_is_refused(tmp_path):
    with pytest.raises(GridError, match="two different draws"):
        checked(tmp_path, PARITY.replace("rng.choice(", "np.random.default_rng().choice("))


def test_networks_that_do_not_learn_by_descent_are_left_to_the_checks_before_a_sweep():
    block = {"task": "he3", "network": "erf2", "d": 4, "width": 4, "P": 8, "kappa": 1, "steps": 100, "chains": 2, "seed": 0}
    check_grid({"sweep": "s", "grids": [block]})
