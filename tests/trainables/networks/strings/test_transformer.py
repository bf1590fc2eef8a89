"""Transformers against a network that is written out by hand, and their identities against what they stand for."""

import numpy as np
import pytest
import torch
from torch.nn.functional import gelu

from trainables.cell import cell_of
from trainables.engines import descent_engine
from trainables.streams import stream, stream_owner
from trainables.tasks import SymbolicTemplate, Template
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
    h_dim, eye = network.head_dim, torch.eye(network.embedding, dtype=torch.float64)

    def norm(h):
        return (h - h.mean(-1, keepdim=True)) / torch.sqrt(h.var(-1, keepdim=True, unbiased=False) + 1e-5)

    for string in x:
        read = [theta["cls"][None]] if network.read_from == "cls" else []
        h = torch.cat([theta["E"][string], *read]) + theta["pos"]
        for layer in range(1, network.depth + 1):
            y = norm(h) * theta[f"gain_attention{layer}"] + theta[f"shift_attention{layer}"]
            q, k, v = (theta[f"{name}{layer}"] for name in "qkv")
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


@pytest.mark.parametrize(("depth", "read_from"), [(1, "cls"), (2, "cls"), (3, "cls"), (1, "last"), (2, "last")])
def test_outputs_are_those_of_the_network_by_hand(depth, read_from):
    of = cell(depth=depth, read_from=read_from)
    theta = parameters(of, moved=0.3)
    x = torch.from_numpy(of.task.test_examples(np.random.default_rng(0), np.zeros(0), 7)[0])
    found = of.network.apply(theta, x, of)
    assert found.shape == (7,)
    torch.testing.assert_close(found, by_hand(theta, x, of), rtol=1e-10, atol=1e-10)
    assert (found - by_hand(theta, x, of, identity=False)).abs().max() > 1e-3


@pytest.mark.parametrize(("logits", "factor"), [("standard", 1), ("ntk", 8**-0.5), ("mean_field", 1 / 8)])
def test_logits_have_the_variance_of_their_scale(logits, factor):
    """A row of E, N(0, 1) each, times a vector of length sqrt(d), times the scale."""
    of = cell_of(SymbolicTemplate(template="copy", P=400), seed=0, **SMALL, logits=logits)
    standard = cell_of(SymbolicTemplate(template="copy", P=400), seed=0, **SMALL)
    x = torch.arange(100)[:, None]
    plain, scaled = (one.network.apply(parameters(one), x, one) for one in (standard, of))
    torch.testing.assert_close(scaled, factor * plain, rtol=0.0, atol=1e-12)  # outputs are of order 1
    # 5 standard errors of a variance over the 600 rows of E, which all strings share.
    assert scaled.var().item() == pytest.approx(8 * factor**2, rel=5 * (2 / 600) ** 0.5)


@pytest.mark.parametrize("read_from", ["cls", "last"])
def test_counts_are_those_of_the_parameters(read_from):
    of = cell(depth=3, read_from=read_from)
    assert ("cls" in parameters(of)) == (read_from == "cls")
    assert of.network.n_parameters(of) == sum(value.numel() for value in parameters(of).values())


def trained(cells):
    run = PackRun(cells, descent_engine("stacked").trainer(cells))
    while not run.done:
        run.advance(1e9)
    return run


@pytest.mark.parametrize("keys", [{"attention_init": "mimetic"}, {"read_from": "last"}])
def test_networks_alone_train_as_in_a_pack(keys):
    cells = [cell(seed=seed, dtype="float64", **keys) for seed in range(3)]
    together, alone = trained(cells), [trained([one]) for one in cells]
    for c, one in enumerate(alone):
        np.testing.assert_array_equal(together.curves[:, c], one.curves[:, 0])
    assert len(set(together.curves[0, :, -1])) == 3


def test_an_identity_that_is_off_stays_0_also_beside_networks_that_have_it():
    """Networks in one pack have the same data and initial weights: they are compared pair by pair."""
    flags = [(False, False), (True, False), (False, True), (True, True)]
    cells = [cell(identity_qk=qk, identity_vo=vo, dtype="float64") for qk, vo in flags]
    together, alone = trained(cells), [trained([one]) for one in cells]
    (stack,) = together.trainer.stacks
    for name, which in (("a", 0), ("b", 1)):
        moved = torch.stack([stack.theta[f"{name}{layer}"].abs().sum(1) for layer in (1, 2)]).sum(0)
        assert [bool(one) for one in moved > 0] == [flag[which] for flag in flags]
    for c, one in enumerate(alone):  # which leaves out the terms of an identity that it has not
        np.testing.assert_allclose(together.curves[:, c], one.curves[:, 0], rtol=1e-9)
    losses = together.curves[0, :, -1]
    assert len(set(losses)) == 4


def test_networks_of_one_seed_see_the_same_strings_and_start_alike():
    plain, with_qk = (stream_owner(cell(identity_qk=qk, depth=depth)) for qk, depth in ((False, 2), (True, 1)))
    assert plain == with_qk != stream_owner(cell(P=13))


def heads(of, layer=1):
    """Queries and keys of each head, (heads, embedding, head_dim)."""
    drawn = of.network.init(np.random.default_rng(5), of)
    both = np.stack([drawn[f"{name}{layer}"].astype(np.float64) for name in "qk"])
    return both.reshape(2, of.network.embedding, of.network.heads, of.network.head_dim).transpose(0, 2, 1, 3)


@pytest.mark.parametrize("layer", [1, 2])
@pytest.mark.parametrize(("embedding", "head_dim"), [(8, 3), (7, 5), (6, 6)])
def test_mimetic_queries_and_keys_multiply_to_the_best_part_of_their_rank(embedding, head_dim, layer):
    sizes = {"embedding": embedding, "head_dim": head_dim}
    (q, k), made = heads(cell(**sizes), layer), heads(cell(**sizes, attention_init="mimetic", mimetic_alpha=0.5), layer)
    for head in range(2):
        wanted = 0.5**0.5 * q[head] @ k[head].T + 0.7**0.5 * np.eye(embedding)
        found = made[0, head] @ made[1, head].T
        singular = np.linalg.svd(wanted, compute_uv=False)
        assert np.linalg.matrix_rank(found, tol=1e-5) == head_dim
        # No matrix of this rank is nearer (Eckart and Young): the distance is that of the singular values left out.
        left_out = np.sqrt((singular[head_dim:] ** 2).sum())
        assert np.linalg.norm(found - wanted) == pytest.approx(left_out, abs=1e-5)  # weights are float32
        for one in made[:, head]:  # each factor takes a half: its columns are as long as the root of a singular value
            np.testing.assert_allclose(np.linalg.norm(one, axis=0) ** 2, singular[:head_dim], rtol=1e-5)


def test_mimetic_networks_start_with_the_other_weights_of_their_seed():
    both = (cell(attention_init=init) for init in ("gaussian", "mimetic"))
    plain, mimetic = (of.network.init(np.random.default_rng(0), of) for of in both)
    assert [name for name in plain if (plain[name] != mimetic[name]).any()] == ["q1", "k1", "q2", "k2"]
    assert mimetic["q1"].dtype == np.float32


def test_alpha_1_and_beta_0_keep_the_products_that_were_drawn():
    (q, k), made = heads(cell()), heads(cell(attention_init="mimetic", mimetic_alpha=1.0, mimetic_beta=0.0))
    np.testing.assert_allclose(made[0] @ made[1].transpose(0, 2, 1), q @ k.transpose(0, 2, 1), atol=1e-6)


def test_defaults_leave_ids_as_they_were():
    given = cell(attention_init="gaussian", read_from="cls", mimetic_alpha=0.7, mimetic_beta=0.7, logits="standard")
    added = {"attention_init", "mimetic_alpha", "read_from", "logits"}
    assert given.cell_id == cell().cell_id and not added & given.keys().keys()
    assert len({cell(**key).cell_id for key in ({}, {"attention_init": "mimetic"}, {"read_from": "last"})}) == 3


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"attention_init": "mimetic", "head_dim": 9}, "no larger than the embedding, and here head_dim = 9 and embedding = 8"),
        ({"mimetic_beta": 0.5}, "mimetic_beta changes nothing without attention_init: mimetic"),
        ({"mimetic_alpha": 0.5, "mimetic_beta": 0.5}, "mimetic_alpha and mimetic_beta change nothing without"),
        ({"logits": "mean_field"}, "logits: mean_field goes with labels that are tokens, and those of task template are numbers"),
    ],
)
def test_keys_that_do_not_fit_are_refused(keys, words):
    with pytest.raises(ValueError, match=words):
        cell(**keys)


def test_vectors_are_refused():
    from trainables.tasks import Step

    with pytest.raises(ValueError, match="network transformer does not take vector inputs, as task step has"):
        cell_of(Step(P=4), seed=0, network="transformer", batch=4)
