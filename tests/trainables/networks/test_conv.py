"""Convolutional networks: beside torch's own modules, alone and in packs, resumed, and what batch norm means in evaluation."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import nn

from trainables.cell import cell_of
from trainables.checking.network import check_network
from trainables.engines.stacked.trainer import Stacked
from trainables.metrics.measuring import values_of
from trainables.networks import MLP, Conv
from trainables.streams import stream, stream_owner, training_probe
from trainables.tasks import PSVRT, Clusters, Digits, Modular, SameDifferent
from trainables.tensors import as_tensors, features_of, settled
from trainables.trainers.run import PackRun

IMAGES = Digits(P=60, alpha=0.5)
SMALL = {"width": 3, "batch": 16, "steps": 20, "eval_every": 10, "test_size": 32, "dtype": "float64", "training": "adam"}
NORMED = {"batch_norm": True, "depth": 3}
CASES = {
    "plain": {},
    "normed": NORMED,
    "biased": {"bias": True, "activation": "tanh", "kernel_size": 5},
    "ntk": {"parametrisation": "ntk", "stride": 1, "depth": 1},
    "mup": NORMED | {"parametrisation": "mup", "stride": 3},
}


def cell(task=IMAGES, **keys):
    return cell_of(task, network="conv", **({"seed": 0} | SMALL | keys))


def drawn(c, seed=1):
    """Parameters of a network, in which no bias is 0 and no gain is 1."""
    rng = np.random.default_rng(seed)
    theta = as_tensors(c, c.network.init(rng, c))
    return {
        name: value if name[0] == "w" else value + torch.from_numpy(rng.normal(0, 0.3, value.shape))
        for name, value in theta.items()
    }


def torchs(c, theta):
    """The network of torch's own modules, with these parameters; its features are (channels, height, width)."""
    network, layers = c.network, []
    channels, k = c.task.image_shape[0], c.network.kernel_size
    factors = network.factors(c)
    for layer in range(1, network.depth + 1):
        made = nn.Conv2d(channels, network.width, k, network.stride, k // 2, bias=network.bias and not network.batch_norm)
        filters = theta[f"w{layer}"].reshape(k, k, channels, network.width).permute(3, 2, 0, 1)
        made.weight.data = filters * factors[layer - 1]
        layers.append(made)
        if network.batch_norm:
            layers.append(nn.BatchNorm2d(network.width, momentum=1.0))  # its running statistics are those of the last batch
            layers[-1].weight.data, layers[-1].bias.data = theta[f"gain{layer}"], theta[f"b{layer}"]
        elif network.bias:
            made.bias.data = theta[f"b{layer}"]
        layers.append({"relu": nn.ReLU(), "tanh": nn.Tanh()}[network.activation])
        channels = network.width
    return nn.Sequential(*layers).double()


def images(x):
    return x.reshape(len(x), 1, 8, 8)


@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_torchs_modules_do(case):
    """In training, and in evaluation after torch's running statistics have seen the same examples."""
    c = cell(**CASES[case])
    theta, (x, _) = drawn(c), training_probe(c)
    x = torch.from_numpy(x).double()
    own, last = torchs(c, theta), c.network.depth + 1
    readout = theta[f"w{last}"] * c.network.factors(c)[-1]
    b = theta.get(f"b{last}", torch.zeros(10).double())

    def expected():
        h = own(images(x)).permute(0, 2, 3, 1).flatten(1)
        return h.detach(), (h @ readout + b).detach()

    for at in (theta, c.network.settled(theta, x, c)):
        h, g = expected()
        # Sums of some hundred numbers of order 1 in another order.
        torch.testing.assert_close(c.network.features(at, x, c), h, rtol=0, atol=1e-11)
        torch.testing.assert_close(c.network.apply(at, x, c), g, rtol=0, atol=1e-11)
        own.eval()
        _without_bessel(own, len(x), c)
    assert c.network.n_parameters(c) == sum(value.numel() for value in theta.values())


def _without_bessel(own, n, c):
    """torch's running variance is over n - 1 where the variance of a training batch, and ours, is over n."""
    sides = iter(c.network.maps(c.task)[1:])
    for layer in own:
        if isinstance(layer, nn.BatchNorm2d):
            height, width = next(sides)
            layer.running_var.mul_(1 - 1 / (n * height * width))


def test_its_gradients_are_those_of_torchs_modules():
    """One step of sgd on a whole set: the change of each parameter over the rate."""
    c = cell(**NORMED, training="sgd", base_lr=0.5, batch="full")
    made = Stacked([c])
    before = {name: value[0].clone() for name, value in made.stacks[0].theta.items()}
    made.train(0, 1)
    x, y = (torch.from_numpy(part) for part in training_probe(c))
    own = torchs(c, {name: value.clone() for name, value in before.items()})
    readout = before["w4"].clone().requires_grad_()
    targets = c.task.target_scale * nn.functional.one_hot(y, 10)
    h = own(images(x.double())).permute(0, 2, 3, 1).flatten(1)
    loss = (h @ readout - targets).square().sum(1).mean()
    loss.backward()
    changes = {name: (before[name] - value[0]) / 0.5 for name, value in made.stacks[0].theta.items()}
    torch.testing.assert_close(changes["w4"], readout.grad, rtol=0, atol=1e-10)
    convs, norms = own[::3], own[1::3]
    for layer, (conv, norm) in enumerate(zip(convs, norms, strict=True), 1):
        filters = conv.weight.grad.permute(2, 3, 1, 0).reshape(before[f"w{layer}"].shape)
        torch.testing.assert_close(changes[f"w{layer}"], filters, rtol=0, atol=1e-10)
        torch.testing.assert_close(changes[f"gain{layer}"], norm.weight.grad, rtol=0, atol=1e-10)
        torch.testing.assert_close(changes[f"b{layer}"], norm.bias.grad, rtol=0, atol=1e-10)


@pytest.mark.parametrize("case", CASES)
def test_a_pack_trains_and_evaluates_each_as_alone(case):
    """Two see the same examples, one others. Networks are computed one by one, so that nothing differs but sums over the pack."""
    cells = [cell(**CASES[case], seed=seed, gamma=gamma) for seed, gamma in ((0, 1.0), (1, 1.0), (0, 0.5))]
    together = Stacked(cells)
    losses, scores = together.train(0, 20)[0], together.evaluate(20, 32)
    for k, c in enumerate(cells):
        alone = Stacked([c])
        np.testing.assert_allclose(losses[k], alone.train(0, 20)[0][0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(scores[:, k], alone.evaluate(20, 32)[:, 0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("task", [IMAGES, PSVRT(L=4, patches=2, patch_size=3)], ids=lambda task: task.name)
def test_a_gpus_way_gives_the_same(task):
    """Under torch.func.vmap, and evaluated together."""
    cells = [cell(task, **NORMED, seed=seed, base_lr=1e-3) for seed in (0, 1)]
    usual, as_on_gpu = Stacked(cells), Stacked(cells, as_on_gpu=True)
    for stack in as_on_gpu.stacks:
        stack.passes.in_turn_on_cpu = False
    np.testing.assert_allclose(as_on_gpu.train(0, 20)[0], usual.train(0, 20)[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(as_on_gpu.evaluate(20, 32), usual.evaluate(20, 32), rtol=0, atol=1e-9)


def test_resumed_it_goes_on_bit_for_bit():
    cells = [cell(**NORMED, seed=seed) for seed in range(2)]
    usual, first, second = (PackRun(cells, Stacked(cells)) for _ in range(3))
    for run in (usual, first):
        while not run.done if run is usual else run.step < 10:
            run._train(10)
    second.load(first.state())
    while not second.done:
        second._train(10)
    np.testing.assert_array_equal(second.curves, usual.curves)
    names = ["d_lr", "s_init", "theta_norm2"]
    assert values_of(second, 1, names) == values_of(usual, 1, names)
    assert set(usual.trainer.state()) == set(second.trainer.state())


def test_evaluation_is_that_of_the_training_probe():
    """So an output depends on its example alone, and the whole training set gets the outputs that a step on it has."""
    c = cell(**NORMED, batch="full")
    made = Stacked([c])
    made.train(0, 20)
    (x, _), theta = training_probe(c), {name: value[0] for name, value in made.stacks[0].theta.items()}
    seen = torch.from_numpy(x).double()
    in_a_step = c.network.apply(theta, seen, c).numpy()
    np.testing.assert_allclose(made.probed(0)(x).outputs, in_a_step, rtol=0, atol=1e-12)
    np.testing.assert_allclose(made.probed(0)(x[:3]).outputs, in_a_step[:3], rtol=0, atol=1e-12)
    parameters = {name: value.numpy() for name, value in theta.items()}
    np.testing.assert_allclose(made.probed(0)(x).features, features_of(c, parameters, x), rtol=0, atol=1e-12)
    assert set(made.probed(0)(x).parameters) == set(theta)
    assert set(settled(c, theta)) == set(theta) | {f"{name}{layer}" for name in ("mean", "var") for layer in (1, 2, 3)}


@pytest.mark.parametrize("batch_norm", [False, True])
def test_trained_last_only_the_features_stay(batch_norm):
    """Not even weight decay moves the others."""
    keys = {"batch_norm": batch_norm, "bias": True, "training": "adamw", "weight_decay": 0.1}
    cells = [cell(**keys, trained=trained) for trained in ("last", "all")]
    for c in cells:
        run = PackRun([c], Stacked([c]))
        while not run.done:
            run._train(10)
        found, failures = values_of(run, 0, ["s_init", "d_lr", "participation"])
        assert not failures and 0 < found["d_lr"] < 1
        now, start = (
            run.trainer.probed(0)(training_probe(c)[0][:1]).parameters,
            c.network.init(stream(stream_owner(c), "weights"), c),
        )
        moved = {name for name, value in start.items() if not np.array_equal(value, now[name])}
        assert moved == ({"w3", "b3"} if c.network.trained == "last" else start.keys())
        assert (found["s_init"] == pytest.approx(1, abs=1e-12)) == (c.network.trained == "last")


@pytest.mark.parametrize(
    ("task", "image"),
    [
        (IMAGES, lambda x: x.reshape(-1, 1, 8, 8)),
        (PSVRT(L=4, patches=2, patch_size=3), lambda x: x.reshape(-1, 1, 2, 2, 3, 3).swapaxes(3, 4).reshape(-1, 1, 6, 6)),
    ],
    ids=["digits", "psvrt"],
)
def test_arrays_and_tensors_are_the_same_images(task, image):
    x = np.random.default_rng(0).standard_normal((4, task.input_dim))
    np.testing.assert_array_equal(task.as_images(x), image(x))
    np.testing.assert_array_equal(task.as_images(torch.from_numpy(x)).numpy(), image(x))


@pytest.mark.parametrize("task", [SameDifferent(L=4, d=4), Modular(modulus=5), Clusters(d=16)], ids=lambda task: task.name)
def test_other_inputs_than_images_are_refused(task):
    with pytest.raises(
        ValidationError,
        match=rf"conv takes images, and the inputs of task {task.name} are no images; take a task of images \(.*mnist5k",
    ):
        cell(task)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"kernel_size": 4}, "must be odd"),
        ({"batch_norm": True, "centred": True}, "centred: true does not go with a network .*, as with batch norm"),
        ({"batch_norm": True, "batch": 1, "depth": 3}, "a batch must hold two numbers of a channel"),
        ({"depth": 7}, "less than or equal to 6"),
    ],
)
def test_keys_that_do_not_fit_are_refused(keys, words):
    with pytest.raises(ValidationError, match=words):
        cell(**keys)


@pytest.mark.parametrize("case", CASES)
def test_it_passes_the_check_of_networks(case):
    assert check_network(cell(**CASES[case])) == []


def test_products_are_counted_and_the_keys_of_mlp_are_its_keys():
    c = cell(width=5, depth=2)
    assert c.network.n_products(c) == 4 * 4 * 9 * 5 + 2 * 2 * 45 * 5 + 20 * 10
    assert c.network.n_activations(c) == 4 * 4 * 5 + 2 * 2 * 5
    assert Conv.model_fields.keys() == (MLP.model_fields.keys() - {"start"}) | {"kernel_size", "stride", "batch_norm"}
