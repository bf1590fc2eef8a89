"""Transformers against a network that is written out by hand, and their identities against what they stand for."""

import numpy as np
import pytest
import torch
from torch.nn.functional import gelu

from trainables.cell import cell_of
from trainables.engines import descent_engine
from trainables.streams import stream, stream_owner
from trainables.tasks import Template
from trainables.trainers.run import PackRun

SMALL = {"embedding": 8, "heads": 2, "head_dim": 3, "width": 10, "steps": 20, "eval_every": 10, "batch": 0, "test_size": 16}


def cell(seed=0, template="aba/abb", P=12, **keys):
    return cell_of(Template(template=template, P=P), seed=seed, **{**SMALL, **keys})


def parameters(of, moved=0.0):
    """Those of a network in float64, moved off their initial values at random."""
    drawn = of.network.init(stream(stream_owner(of), "weights"), of)
    rng = np.random.default_rng(1)
    return {name: torch.from_numpy(value + moved * rng.standard_normal(value.shape)) for name, value in drawn.items()}


def by_hand(theta, x, of, identity=True):
    """Outputs (n,), one string and one head after the other, with queries and keys as one matrix W_Q W_K^T / sqrt(h) + a I."""
    network, found = of.network, []
    inner, h_dim, eye = network.heads * network.head_dim, network.head_dim, torch.eye(network.embedding, dtype=torch.float64)

    def norm(h):
        return (h - h.mean(-1, keepdim=True)) / torch.sqrt(h.var(-1, keepdim=True, unbiased=False) + 1e-5)

    for string in x:
        h = torch.cat([theta["E"][string], theta["cls"][None]]) + theta["pos"]
        for layer in range(1, network.depth + 1):
            y = norm(h) * theta[f"gain_attention{layer}"] + theta[f"shift_attention{layer}"]
            q, k, v = theta[f"qkv{layer}"].split(inner, dim=1)
            out, after = theta[f"out{layer}"], h
            for head in range(network.heads):
                own = slice(head * h_dim, (head + 1) * h_dim)
                a, b = (theta[f"{name}{layer}"][head] * identity for name in "ab")
                scores = y @ (q[:, own] @ k[:, own].T / h_dim**0.5 + a * eye) @ y.T
                after = after + scores.softmax(1) @ y @ (v[:, own] @ out[own] + b * eye)
            y = norm(after) * theta[f"gain_mlp{layer}"] + theta[f"shift_mlp{layer}"]
            z = gelu(y @ theta[f"w1_{layer}"] + theta[f"bias1_{layer}"])
            h = after + z @ theta[f"w2_{layer}"] + theta[f"bias2_{layer}"]
        found.append(norm(h[-1]) @ theta["readout"][:, 0] + theta["bias"][0])
    return torch.stack(found)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_outputs_are_those_of_the_network_by_hand(depth):
    of = cell(depth=depth)
    theta = parameters(of, moved=0.3)
    x = torch.from_numpy(of.task.test_examples(np.random.default_rng(0), np.zeros(0), 7)[0])
    found = of.network.apply(theta, x, of)
    assert found.shape == (7,)
    torch.testing.assert_close(found, by_hand(theta, x, of), rtol=1e-10, atol=1e-10)
    assert (found - by_hand(theta, x, of, identity=False)).abs().max() > 1e-3


def test_counts_are_those_of_the_parameters():
    of = cell(depth=3)
    assert of.network.n_parameters(of) == sum(value.numel() for value in parameters(of).values())


def trained(cells):
    run = PackRun(cells, descent_engine("stacked").trainer(cells))
    while not run.done:
        run.advance(1e9)
    return run


def test_an_identity_that_is_off_stays_0_also_beside_networks_that_have_it():
    """Networks in one pack have the same data and initial weights: they are compared pair by pair."""
    flags = [(False, False), (True, False), (False, True), (True, True)]
    cells = [cell(identity_qk=qk, identity_vo=vo, dtype="float64") for qk, vo in flags]
    together, alone = trained(cells), [trained([one]) for one in cells]
    (stack,) = together.trainer.stacks
    for name, which in (("a", 0), ("b", 1)):
        moved = torch.stack([stack.theta[f"{name}{layer}"].abs().sum(1) for layer in (1, 2)]).sum(0)
        assert [bool(one) for one in moved > 0] == [flag[which] for flag in flags]
    for c, one in enumerate(alone):  # rounding of products of another size
        np.testing.assert_allclose(together.curves[:, c], one.curves[:, 0], rtol=1e-9)
    losses = together.curves[0, :, -1]
    assert len(set(losses)) == 4


def test_networks_of_one_seed_see_the_same_strings_and_start_alike():
    plain, with_qk = (stream_owner(cell(identity_qk=qk, depth=depth)) for qk, depth in ((False, 2), (True, 1)))
    assert plain == with_qk != stream_owner(cell(P=13))


def test_vectors_are_refused():
    from trainables.tasks import Step

    with pytest.raises(ValueError, match="network transformer does not take vector inputs, as task step has"):
        cell_of(Step(P=4), seed=0, network="transformer", batch=4)
