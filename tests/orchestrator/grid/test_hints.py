"""Hints at unknown keys: other tools' words, and the parts that do have the key."""

import pytest

from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError


@pytest.fixture
def problems(tmp_path):
    def problems(keys: str, task: str = "same_different, L: 4", *overrides: str) -> list[str]:
        text = f"defaults: {{d: 4, width: 8, seed: 0}}\ngrids: [{{task: {task}, {keys}}}]\n"
        (tmp_path / "g.yaml").write_text(text)
        with pytest.raises(GridError) as refused:
            load_grid(tmp_path / "g.yaml", overrides)
        return [problem.message.partition(" legal")[0] for problem in refused.value.problems]

    return problems


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("lr", "base_lr"),
        ("learning_rate", "base_lr"),
        ("Learning_Rate", "base_lr"),
        ("epochs", "steps"),
        ("optimizer", "training"),
        ("optimiser", "training"),
        ("model", "network"),
        ("hidden", "width"),
        ("n_hidden", "width"),
        ("batch_size", "batch"),
        ("layers", "depth"),
    ],
)
def test_words_of_other_tools(problems, word, key):
    told = f"unknown key '{word}'; did you mean '{key}'?"
    assert problems(f"network: mlp, {word}: 2") == [told]
    assert problems("network: mlp", "same_different, L: 4", f"{word}=2") == [told]


def test_words_of_other_tools_in_zip_exclude_and_find(problems):
    [said] = problems("gamma: 1, zip: [[lr, L]]")
    assert "did you mean 'base_lr'?" in said
    [said] = problems("gamma: 1, exclude: 'lr > 1'")
    assert "did you mean 'base_lr'?" in said
    [said] = problems("gamma: 1, find: {axis: hidden, at: 0.8, range: [2, 9]}", "same_different, L: 4")
    assert "did you mean 'width'?" in said


def test_a_key_of_another_part_says_whose(problems):
    [said] = problems("gamma: 1, training: adam, momentum: 0.9")
    assert said == "unknown key 'momentum'; momentum is a key of training sgd, not of adam;"
    [said] = problems("gamma: 1, depth: 2")
    assert said == "unknown key 'depth'; depth is a key of network mlp, residual, conv, transformer, one_hot, gpt2, not of relu2;"
    [said] = problems("gamma: 1, layers: 2")
    assert (
        said == "unknown key 'layers'; depth is a key of network mlp, residual, conv, transformer, one_hot, gpt2, not of relu2;"
    )
    [said] = problems("gamma: 1, P: 2")
    assert said.startswith("unknown key 'P'; P is a key of task ") and said.endswith(", not of same_different;")
    [said] = problems("gamma: 1, kappa: 2")
    assert said == "unknown key 'kappa'; kappa is a key of training langevin, not of sgd;"


def test_a_key_of_networks_that_learn_otherwise_says_how(problems):
    [said] = problems("kappa: 1, network: relu2, gamma: 1", "he3, P: 8")
    assert said == (
        "unknown key 'gamma'; gamma is a key of networks under training sgd, gd, adam, adamw, signsgd, not under langevin;"
    )


def test_slips_of_the_pen_have_the_nearest_spelling(problems):
    assert problems("gamma: 1, stpes: 2, l: 3") == [
        "unknown key 'stpes'; did you mean 'steps'?",
        "unknown key 'l'; did you mean 'L'?",
    ]


def test_a_grid_that_says_none_learns_what_left_out_means(problems):
    [line] = [line for line in problems("loss: none") if "loss" in line]
    assert line.endswith(
        "loss = 'none': must be one of cross_entropy, mse; left out, it is 'cross_entropy' with task same_different"
    )
    [line] = [line for line in problems("loss: hinge") if "loss" in line]
    assert line.endswith("must be one of cross_entropy, mse")
