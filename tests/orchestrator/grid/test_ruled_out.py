"""Blocks of several networks and trainings: pairs that zip or exclude rules out are not judged, others say what to do."""

import pytest

from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError

BLOCK = "{network: [erf2, mlp], training: [langevin, sgd], width: 4, d: 4, P: 16, seed: 0"
BAD_PAIRS = """ "network == 'erf2' and training == 'sgd'", "network == 'mlp' and training == 'langevin'" """


@pytest.fixture
def load(tmp_path):
    def load(more: str, *overrides: str, block: str = BLOCK):
        more += ", kappa: 1" * ("erf2" in block)
        (tmp_path / "g.yaml").write_text(f"grids:\n- {block}{more}, task: he3}}\n")
        return load_grid(tmp_path / "g.yaml", overrides)

    return load


def pairs(grid):
    return [(p.cell.network.name, p.cell.training.name) for p in grid.cells]


def problems(load, *words, **more):
    with pytest.raises(GridError) as refused:
        load(*words, **more)
    return [problem.message for problem in refused.value.problems]


@pytest.mark.parametrize(
    "more",
    [
        f", exclude: [{BAD_PAIRS}]",
        """, exclude: "(network == 'mlp') != (training == 'sgd')" """,
        ", zip: [[network, training]]",
        ", zip: [[training, network], [d, P]]",
    ],
)
def test_pairs_that_are_ruled_out_are_not_judged(load, more):
    assert pairs(load(more)) == [("erf2", "langevin"), ("mlp", "sgd")]


def test_what_is_ruled_out_in_part_is_judged(load):
    said = problems(load, """, exclude: ["network == 'erf2' and training == 'sgd' and d > 2", "network == 'mlp' and d > 2"]""")
    assert len(said) == 2 and all("cannot train it" in message for message in said)


def test_a_bad_pair_says_how_to_do_without_it(load):
    said = problems(load, "")
    assert len(said) == 2
    assert said[1].endswith("""write two blocks, or leave the pair out by exclude: "network == 'erf2' and training == 'sgd'\"""")
    [said] = problems(load, "", block=BLOCK.replace("[erf2, mlp]", "mlp").replace("[langevin, sgd]", "langevin, kappa: 1"))
    assert said.endswith("legal: erf2, relu2, linear2, erf3, cnn, attention")


def test_a_training_that_is_ruled_out_asks_for_none_of_its_keys(load):
    block = BLOCK.replace("[erf2, mlp]", "relu2")
    assert pairs(load(", gamma: 1, exclude: \"training == 'langevin'\"", block=block)) == [("relu2", "sgd")]
    assert "does not say kappa" in problems(load, ", gamma: 1", block=block)[0]


def test_nothing_left_is_said(load):
    assert problems(load, ", exclude: \"network in ('erf2', 'mlp')\"") == [
        "exclude leaves no network, task and training of this block together"
    ]


def test_a_zip_of_network_and_training_is_of_one_length(load):
    said = problems(load, ", zip: [[network, training]]", block=BLOCK.replace("[erf2, mlp]", "[erf2, mlp, residual]"))
    assert said == ["the axes of a zip must be of one length: network has 3, training has 2"]


def test_the_command_line_takes_one_of_a_zip(load):
    assert pairs(load(", zip: [[network, training]]", "network=erf2", "training=langevin")) == [("erf2", "langevin")]


@pytest.mark.parametrize("networks", ["[relu2, mlp]", "[mlp, relu2]"])
def test_neurons_of_networks_of_which_one_has_none_ask_for_two_blocks(load, networks):
    block = BLOCK.replace("[erf2, mlp]", networks).replace("[langevin, sgd]", "sgd")
    [said] = problems(load, ", gamma: 1, save: [neurons]", block=block)
    assert (
        "network mlp under sgd keeps no neurons; it saves curves, metrics; others of this block have them: write two blocks"
        in said
    )
    [said] = problems(load, ", gamma: 1, save: [neurons]", block=block.replace(networks, "mlp"))
    assert said.endswith("network mlp under sgd keeps no neurons; it saves curves, metrics")


def test_a_network_that_the_tasks_own_training_cannot_train(tmp_path):
    grid = tmp_path / "grid.yaml"
    grid.write_text("sweep: s\ngrids: [{task: parity2, d: 16, kappa: 1, P: 8, network: mlp, width: 32, seed: 0}]\n")
    with pytest.raises(
        GridError, match=r"training langevin cannot train it; .*; or add `training: `, one of adam, adamw, gd, sgd"
    ):
        load_grid(grid)
