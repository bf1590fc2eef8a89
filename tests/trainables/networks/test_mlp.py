"""The perceptron: its initial weights, its parametrisations, and what enters its id."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from trainables.cell import cell_of, lazy_gamma
from trainables.engines.stacked.trainer import Stacked
from trainables.networks import MLP
from trainables.streams import stream, stream_owner
from trainables.tasks import Modes, SameDifferent

TASK = SameDifferent(L=8, d=32)


def network(width=64, **keys):
    return cell_of(TASK, network="mlp", width=width, **({"seed": 0, "steps": 10, "eval_every": 10} | keys))


def parameters(cell):
    drawn = cell.network.init(stream(stream_owner(cell), "weights"), cell)
    return {name: torch.from_numpy(value).double() for name, value in drawn.items()}


def inputs(n=64):
    """Standard normal, (n, 64): |x|^2 = fan-in."""
    return torch.from_numpy(np.random.default_rng(0).standard_normal((n, 64)))


@pytest.mark.parametrize(("parametrisation", "sizes"), [
    ("standard", {"w1": 1 / 64, "w2": 1 / 256, "w3": 1 / 256}),
    ("ntk", {"w1": 1.0, "w2": 1.0, "w3": 1.0}),
    ("mup", {"w1": 1 / 64, "w2": 1 / 256, "w3": 1 / 256**2}),
])  # fmt: skip
def test_variance_at_initialisation(parametrisation, sizes):
    cell = network(256, parametrisation=parametrisation, init_scale=1.5, bias=True)
    theta = parameters(cell)
    assert {name: tuple(value.shape) for name, value in theta.items()} == {
        "w1": (64, 256), "w2": (256, 256), "w3": (256, 1), "b1": (256,), "b2": (256,), "b3": (1,),
    }  # fmt: skip
    for name, variance in sizes.items():
        # The relative standard error of a variance is sqrt(2/n); five of them.
        assert float(theta[name].var()) == pytest.approx(2.25 * variance, rel=5 * (2 / theta[name].numel()) ** 0.5)
    assert all(not theta[name].any() for name in ("b1", "b2", "b3"))


def test_parametrisations_are_one_function_at_initialisation():
    """ntk moves 1/sqrt(fan-in) from the weights into the forward pass; mup's readout is smaller by sqrt(width)."""
    found = {}
    for parametrisation in ("standard", "ntk", "mup"):
        cell = network(256, depth=3, parametrisation=parametrisation)
        found[parametrisation] = cell.network.apply(parameters(cell), inputs(), cell)
    # The draws are float32, 6e-8 each.
    torch.testing.assert_close(found["ntk"], found["standard"], rtol=0, atol=1e-5)
    torch.testing.assert_close(found["mup"], found["standard"] / 16, rtol=0, atol=1e-5)


@pytest.mark.parametrize("training", ["sgd", "adam"])
def test_mup_updates_are_of_order_one_at_every_width(training):
    """One rate serves all widths: steps move hidden activations and outputs alike; in standard these grow with the width."""

    def moved(width, parametrisation):
        rate, n_steps, scale = {"sgd": (1.0, 20, 1.5), "adam": (1e-2, 10, 1.0)}[training]
        keys = {"parametrisation": parametrisation, "training": training, "base_lr": rate, "init_scale": scale}
        cells = [network(width, seed=seed, **keys) for seed in range(4)]
        made, x = Stacked(cells), inputs().numpy()
        before = [made.probed(c)(x) for c in range(4)]
        made.train(0, n_steps)
        after = [made.probed(c)(x) for c in range(4)]
        features = [np.sqrt(np.mean((b.features - a.features) ** 2)) for a, b in zip(before, after, strict=True)]
        outputs = [np.sqrt(np.mean((b.outputs - a.outputs) ** 2)) for a, b in zip(before, after, strict=True)]
        return np.mean(features), np.mean(outputs)

    widths = (64, 256, 1024)
    found = np.array([moved(width, "mup") for width in widths])
    slopes = np.polyfit(np.log(widths), np.log(found), 1)[0]
    # Seen are 0.01 in the activations; up to 0.17 in the outputs, whose random start shrinks with the width.
    assert np.all(np.abs(slopes) < 0.25), (found, slopes)
    others = np.array([moved(width, "standard") for width in widths])
    assert np.max(np.abs(np.polyfit(np.log(widths), np.log(others), 1)[0])) > 0.3  # seen are 0.35 and 0.66


@pytest.mark.parametrize(("activation", "phi"), [
    ("relu", lambda z: np.maximum(z, 0)),
    ("tanh", np.tanh),
    ("erf", lambda z: torch.erf(torch.from_numpy(z)).numpy()),
    ("linear", lambda z: z),
    ("quadratic", np.square),
])  # fmt: skip
@pytest.mark.parametrize("depth", [1, 3])
def test_layers_as_written(activation, phi, depth):
    cell = network(16, depth=depth, activation=activation, bias=True)
    theta = {name: value + 0.1 * (name[0] == "b") for name, value in parameters(cell).items()}
    h = inputs().numpy()
    for layer in range(1, depth + 1):
        h = phi(h @ theta[f"w{layer}"].numpy() + theta[f"b{layer}"].numpy())
    last = depth + 1
    g = (h @ theta[f"w{last}"].numpy() + theta[f"b{last}"].numpy())[:, 0]
    np.testing.assert_allclose(cell.network.features(theta, inputs(), cell).numpy(), h, rtol=1e-12)
    np.testing.assert_allclose(cell.network.apply(theta, inputs(), cell).numpy(), g, rtol=1e-10, atol=1e-12)
    assert cell.network.n_parameters(cell) == sum(value.numel() for value in theta.values())


def test_gamma_divides_the_output():
    x = inputs(5).numpy()
    one, tenth = (Stacked([network(gamma=gamma)]).probed(0)(x).outputs for gamma in (1.0, 0.1))
    np.testing.assert_allclose(tenth, 10 * one, rtol=1e-5)


def test_a_centred_network_starts_at_zero():
    made = Stacked([network(centred=True, depth=3, activation="tanh", bias=True)])
    assert not made.probed(0)(inputs(5).numpy()).outputs.any()
    loss, _ = made.train(0, 1)
    assert loss[0, 0] == pytest.approx(np.log(2), abs=1e-7)


def test_random_biases_leave_all_else_as_it_was():
    """Hidden biases are drawn, the readout's is 0; the first layer's weights are those of the same seed without a spread."""
    plain, spread = (parameters(network(4096, depth=1, bias=True, **more)) for more in ({}, {"bias_scale": 0.5}))
    assert not plain["b1"].any() and not spread["b2"].any()
    assert float(spread["b1"].std()) == pytest.approx(0.5, rel=0.05)  # 4,096 draws: 1%
    torch.testing.assert_close(plain["w1"], spread["w1"], rtol=0, atol=0)


def test_only_what_is_not_at_its_default_is_in_the_id():
    plain = cell_of(TASK, network="mlp", width=64, seed=0)
    own = {"depth", "activation", "bias", "parametrisation", "init_scale", "bias_scale", "gamma", "centred"}
    assert {"task", "L", "d", "network", "width", "seed"} <= set(plain.keys())
    assert own.isdisjoint(plain.keys())
    told = {
        "depth": 3,
        "activation": "tanh",
        "bias": True,
        "parametrisation": "mup",
        "init_scale": 2.0,
        "gamma": 0.5,
        "centred": True,
    }
    for key, value in told.items():
        changed = cell_of(TASK, network="mlp", width=64, seed=0, **{key: value})
        assert changed.keys() == plain.keys() | {key: value}
        assert changed.cell_id != plain.cell_id
        default = MLP.model_fields[key].default
        assert cell_of(TASK, network="mlp", width=64, seed=0, **{key: default}).cell_id == plain.cell_id


@pytest.mark.parametrize("bad", [{"depth": 0}, {"depth": 7}, {"activation": "gelu"}, {"parametrisation": "He"},
                                 {"init_scale": 0.0}, {"bias": 1}, {"gamma": -1.0}, {"bias_scale": -1.0, "bias": True},
                                 {"bias_scale": 1.0}])  # fmt: skip
def test_bad_keys_are_refused(bad):
    with pytest.raises(ValidationError):
        network(**bad)


def test_a_lazy_network_is_centred():
    task = SameDifferent(L=4, d=8)
    lazy = {"network": "mlp", "gamma": lazy_gamma(task, MLP), "width": 4, "seed": 0}
    assert cell_of(task, **lazy, centred=True).gamma_label == "lazy"
    with pytest.raises(ValidationError, match="wants centred: true"):
        cell_of(task, **lazy)


def test_balanced_weights_are_balanced_and_their_product_is_an_axis_each():
    cell = cell_of(Modes(d=5, P=12, rank=3), width=7, depth=2, activation="linear", start="balanced", init_scale=0.5, seed=0)
    w = {name: value.numpy() for name, value in parameters(cell).items()}
    for before, after in (("w1", "w2"), ("w2", "w3")):
        np.testing.assert_allclose(w[before].T @ w[before], w[after] @ w[after].T, atol=1e-7)  # float32
    np.testing.assert_allclose(w["w1"] @ w["w2"] @ w["w3"], 0.5**3 * np.eye(5, 3), atol=1e-7)
    other = parameters(cell.model_copy(update={"seed": 1}))
    assert not np.allclose(w["w2"], other["w2"].numpy())
    assert "start" not in network().keys()  # noqa: SIM118  # ids of networks from before the key stay


@pytest.mark.parametrize(
    ("keys", "said"), [({"width": 2}, "at least as many inputs"), ({"width": 8, "parametrisation": "mup"}, "parametrisation")]
)
def test_balanced_weights_that_cannot_be_are_refused(keys, said):
    with pytest.raises(ValidationError, match=said):
        cell_of(Modes(d=5, P=12, rank=3), start="balanced", seed=0, **keys)
