"""Derivatives of transformers that are written out, against autograd through `apply`."""

from functools import partial

import numpy as np
import pytest
import torch

from trainables.cell import cell_of
from trainables.engines.stacked.stack import Stack
from trainables.engines.stacked.traced import Traced
from trainables.networks.strings.batched_transformer import Derivatives, Pairs
from trainables.networks.strings.transformer import Transformer
from trainables.tasks import SymbolicTemplate, Template

SMALL = {
    "embedding": 8,
    "heads": 2,
    "head_dim": 3,
    "width": 10,
    "steps": 20,
    "eval_every": 10,
    "batch": 0,
    "test_size": 16,
    "dtype": "float64",
}
TASK, SYMBOLIC = Template(template="aba/abb", P=12), SymbolicTemplate(template="copy", P=12)
PLAIN, BOTH = (False, False), (True, True)


def cells_of(*identities, task=TASK, **keys):
    return [
        cell_of(task, seed=seed, identity_qk=qk, identity_vo=vo, **{**SMALL, **keys}) for seed, (qk, vo) in enumerate(identities)
    ]


@pytest.mark.parametrize("identities", [[PLAIN], [(True, False)], [(False, True)], [BOTH, PLAIN]])
@pytest.mark.parametrize(
    "keys",
    [{}, {"depth": 1}, {"depth": 3}, {"read_from": "last"}, {"task": SYMBOLIC}, {"task": SYMBOLIC, "logits": "mean_field"}],
)
def test_outputs_and_gradients_are_those_of_autograd(identities, keys):
    cells = cells_of(*identities, **keys)
    stack, traced = Stack(cells, "cpu"), Traced(cells)
    assert isinstance(stack.passes, Derivatives)
    drawn = partial(torch.randn, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    held = stack.passes.held
    theta = {name: value if name in held else value + 0.3 * drawn(value.shape) for name, value in stack.theta.items()}
    x = stack.batches.inputs([], 0)
    for strings in (x, x[:, :7]):  # other strings, other pairs
        with torch.no_grad():
            found = stack.passes.outputs(theta, strings)
        wanted = traced.outputs(theta, strings)
        torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)  # sums in another order
        first = {name: value[0] for name, value in theta.items()}
        torch.testing.assert_close(stack.passes.alone(first, strings[0]), wanted[0], rtol=1e-12, atol=1e-12)
        slopes = drawn(found.shape)
        with torch.no_grad():
            gradients = dict(stack.passes.gradients(slopes))
        others = dict(traced.gradients(slopes))
        assert gradients.keys() == others.keys()
        for name, gradient in gradients.items():
            assert gradient.abs().max() > 0, name
            torch.testing.assert_close(
                gradient, others[name], rtol=1e-10, atol=1e-12, msg=lambda said, name=name: f"{name}: {said}"
            )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_networks_digits_do_not_depend_on_its_pack(dtype):
    cells = cells_of(BOTH, PLAIN, BOTH, dtype=dtype)
    together = Stack(cells, "cpu")
    losses = together.take(0, 20)[0]
    for c, cell in enumerate(cells):
        alone = Stack([cell], "cpu")
        assert torch.equal(losses[c], alone.take(0, 20)[0, 0])
        assert all(torch.equal(value[c], alone.theta[name][0]) for name, value in together.theta.items())


def test_what_an_evaluation_sees_between_outputs_and_gradients_changes_nothing():
    cells = cells_of(BOTH)
    stack = Stack(cells, "cpu")
    x, slopes = stack.batches.inputs([], 0), torch.ones(1, 12, dtype=torch.float64)
    found = []
    for evaluates in (False, True):
        with torch.no_grad():
            stack.passes.outputs(stack.theta, x)
            if evaluates:
                stack.passes.alone({name: value[0] for name, value in stack.theta.items()}, x[0, :5])
            found.append({name: gradient.clone() for name, gradient in stack.passes.gradients(slopes)})
    assert all(torch.equal(gradient, found[1][name]) for name, gradient in found[0].items())


def test_a_token_that_the_task_has_not_is_refused():
    with pytest.raises(IndexError, match="tokens from 0 to 5; the task has 5, from 0 on"):
        Pairs.of(torch.tensor([[0, 5]]), 5, True)


class Causal(Transformer):
    """Tokens see those before them alone."""

    is_causal = True


@pytest.mark.parametrize("network", [Causal, Transformer])
def test_a_subclass_that_computes_something_else_is_trained_through_apply(network):
    (cell,) = cells_of(PLAIN)
    changed = cell.model_copy(update={"network": network(**cell.network.model_dump())})
    assert isinstance(Stack([changed], "cpu").passes, Derivatives) == (network is Transformer)


def test_gpus_and_long_strings_go_through_apply(monkeypatch):
    cells = cells_of(PLAIN)
    assert isinstance(Stack(cells, "cpu", as_on_gpu=True).passes, Traced)
    monkeypatch.setattr("trainables.networks.strings.softmax.SHORT", 3)
    assert isinstance(Stack(cells, "cpu").passes, Traced)


@pytest.mark.parametrize("reads_cls", [False, True])
def test_pairs_stand_for_the_tokens_of_all_strings(reads_cls):
    x = torch.tensor([[3, 1, 3], [3, 4, 4], [1, 1, 3]])
    tokens, places, rows = Pairs.of(x, 5, reads_cls)
    assert len(tokens) == 6 and rows.shape == (3, 3 + reads_cls)
    assert torch.equal(tokens[rows[:, :3]], x) and torch.equal(places[rows[:, :3]], torch.arange(3).expand(3, 3))
    if reads_cls:
        assert rows[:, 3].tolist() == [6, 6, 6]


@pytest.mark.parametrize("keys", [{}, {"batch": 1}, {"batch": 5, "training": "sgd", "base_lr": 0.1}])
def test_all_strings_a_few_and_one_train_as_through_apply(keys, monkeypatch):
    by_hand = Stack(cells_of(BOTH, **keys), "cpu")
    monkeypatch.setattr("trainables.networks.strings.transformer.Transformer.passes", lambda *_: None)
    traced = Stack(cells_of(BOTH, **keys), "cpu")
    np.testing.assert_allclose(by_hand.take(0, 20), traced.take(0, 20), rtol=1e-9)  # 20 steps amplify rounding
    assert isinstance(by_hand.passes, Derivatives) and isinstance(traced.passes, Traced)
