"""Messages that tell which networks an engine, a saved list or the word `lazy` is for: each is true of the network told of."""

import pytest

from orchestrator.grid.keys import keys_of
from trainables.cell import cell_of, lazy_gamma
from trainables.engines.gram.span import check_noiseless_pairs
from trainables.engines.patches.trainer import Patches
from trainables.networks import network_class
from trainables.tasks import PSVRT, SameDifferent

OTHER = {
    "momentum": ["momentum=0.9"],
    "weight decay": ["weight_decay=0.1"],
    "cross entropy": ["loss=mse"],
    "relu2": ["network=mlp", "gamma=1"],
    "SGD": ["training=adam"],
}


@pytest.mark.parametrize("engine", ["batched", "gram", "patches"])
@pytest.mark.parametrize("lacking", OTHER)
def test_an_engine_that_cannot_train_a_network_says_what_it_wants(small_grid, sweep_here, engine, lacking):
    done = sweep_here(small_grid, *OTHER[lacking], "--engine", engine, "--dry-run")
    assert done.returncode == 2
    wanted = done.stderr.split("it trains ")[1]
    able = "resident, stacked" if lacking == "relu2" else "stacked"
    assert lacking in wanted and "fresh examples" in wanted and f"say --engine {able}, or auto" in wanted


def test_a_trainer_names_an_engine_that_takes_the_others():
    with_momentum = cell_of(PSVRT(L=4), width=8, gamma=1.0, momentum=0.9, seed=0)
    for refuse in (Patches, check_noiseless_pairs):
        with pytest.raises(ValueError, match=r"without momentum.*; take engine stacked, or auto"):
            refuse([with_momentum])


def test_weights_of_networks_that_learn_by_adam_are_kept(small_grid, sweep_here):
    assert sweep_here(small_grid, "save=weights", "training=adam", "--dry-run").returncode == 0
    said = sweep_here(small_grid, "save=weights", "network=mlp", "gamma=1", "--dry-run").stderr
    assert "network mlp under sgd keeps no weights; it saves curves, metrics" in said


@pytest.mark.parametrize(
    "keys", [{"network": "relu2"}, {"network": "relu2", "prefactor": "none"}, {"network": "mlp", "centred": True}], ids=str
)
def test_what_is_said_of_lazy_holds_for_every_network(keys):
    task, network = SameDifferent(L=4, d=16), network_class(keys["network"], "descent")
    given = {name: value for name, value in keys.items() if name != "network"}
    lazy = cell_of(task, width=8, gamma=lazy_gamma(task, network, **given), seed=0, **keys)
    assert lazy.epsilon == pytest.approx(1e-5)
    with pytest.raises(ValueError, match=r"the word `lazy` \(the output is then divided by 1e-5\)$"):
        keys_of(network)["gamma"].check(0)
