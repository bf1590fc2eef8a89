"""Recurrent networks against the modules of PyTorch."""

import numpy as np
import pytest
import torch

from trainables.cell import cell_of
from trainables.engines import descent_engine
from trainables.tasks import Template
from trainables.trainers.run import PackRun

SMALL = {"width": 6, "embedding": 5, "steps": 20, "eval_every": 10, "batch": 0, "test_size": 16, "dtype": "float64"}
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def cell(network, seed=0, template="abac/abbc", P=12, **keys):
    return cell_of(Template(template=template, P=P), seed=seed, network=network, **{**SMALL, **keys})


def parameters(of):
    """Initial parameters in float64."""
    drawn = of.network.init(np.random.default_rng(0), of)
    return {name: torch.from_numpy(np.float64(value)) for name, value in drawn.items()}


def strings(of):
    return torch.from_numpy(of.task.test_examples(np.random.default_rng(0), np.zeros(0), 7)[0])


def linear(w, b):
    made = torch.nn.Linear(*w.shape, dtype=torch.float64)
    made.weight.data, made.bias.data = w.T.clone(), b.clone()
    return made


def test_an_lstm_is_that_of_pytorch():
    of = cell("lstm")
    theta, x = parameters(of), strings(of)
    lstm = torch.nn.LSTM(5, 6, batch_first=True, dtype=torch.float64)
    for name, value in (("weight_ih", "w_in"), ("bias_ih", "b_in"), ("weight_hh", "w_h"), ("bias_hh", "b_h")):
        getattr(lstm, f"{name}_l0").data = theta[value].t().clone()
    h = lstm(theta["E"][x])[0][:, -1]
    torch.testing.assert_close(of.network.features(theta, x, of), h, **CLOSE)
    wanted = linear(theta["readout"], theta["bias"])(h).squeeze(1)
    torch.testing.assert_close(of.network.apply(theta, x, of), wanted, **CLOSE)


def test_an_rnn_is_a_linear_layer_on_token_and_state():
    of = cell("rnn")
    theta, x = parameters(of), strings(of)
    step, h = linear(torch.cat([theta["w_in"], theta["w_h"]]), theta["b"]), torch.zeros(7, 6, dtype=torch.float64)
    for t in range(4):
        h = step(torch.cat([theta["E"][x[:, t]], h], dim=1)).relu()
    torch.testing.assert_close(of.network.features(theta, x, of), h, **CLOSE)
    wanted = linear(theta["readout"], theta["bias"])(h).squeeze(1)
    torch.testing.assert_close(of.network.apply(theta, x, of), wanted, **CLOSE)


@pytest.mark.parametrize(("network", "fan_in"), [("rnn", 100 + 60), ("lstm", 100)])
def test_initial_weights_have_the_law_of_pytorch(network, fan_in):
    of = cell(network, width=100, embedding=60)
    theta = parameters(of)
    assert of.network.n_parameters(of) == sum(value.numel() for value in theta.values())
    assert abs(theta["E"].square().mean() - 1) < 5 * (2 / theta["E"].numel()) ** 0.5
    for name in theta.keys() - {"E"}:
        bound = (100 if name in ("readout", "bias") else fan_in) ** -0.5
        assert theta[name].abs().max() <= bound
        # The variance is bound^2 / 3; that of squares of such numbers 4/45 bound^4.
        assert abs(theta[name].square().mean() / bound**2 - 1 / 3) < 5 * (4 / 45 / theta[name].numel()) ** 0.5


def trained(cells):
    run = PackRun(cells, descent_engine("stacked").trainer(cells))
    while not run.done:
        run.advance(1e9)
    return run


@pytest.mark.parametrize("network", ["rnn", "lstm"])
def test_networks_alone_train_as_in_a_pack(network):
    cells = [cell(network, seed=seed, base_lr=lr) for seed, lr in ((0, 1e-2), (1, 1e-2), (0, 2e-2))]
    together, alone = trained(cells), [trained([one]) for one in cells]
    for c, one in enumerate(alone):  # rounding of products of another size
        np.testing.assert_allclose(together.curves[:, c], one.curves[:, 0], rtol=1e-9)
    losses = together.curves[0]
    assert len(set(losses[:, -1])) == 3 and (losses[:, -1] < losses[:, 0]).all()
