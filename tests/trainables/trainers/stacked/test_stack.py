"""Steps of `stacked` as a GPU takes them, shown without one: nothing waits, and repeated recordings give the usual numbers."""

import gc
import weakref

import numpy as np
import pytest
import torch

from tests.trainables.trainers.stacked import recording
from tests.trainables.trainers.stacked.stacked_cells import Bag, Classes, Tokens, Vectors, network
from trainables.cell import Cell
from trainables.engines.stacked import stack as stack_module
from trainables.engines.stacked.stack import WHOLE
from trainables.engines.stacked.trainer import Stacked
from trainables.networks.base import Network
from trainables.networks.strings.transformer import Transformer
from trainables.streams import BLOCK_STEPS
from trainables.tasks import PSVRT, Parity2, SameDifferent, Template
from trainables.training import SGD

TASK, SET, PATCHES = SameDifferent(L=5, d=8), Parity2(d=8, P=40), PSVRT(L=4, patches=2, patch_size=2)
SMALL = {"width": 8, "batch": 8, "steps": 100, "eval_every": 50}


def pack(task=TASK, **keys) -> list[Cell]:
    """Three cells; two of them see the same inputs if the network has gamma."""
    keys = {key: value for key, value in SMALL.items() if key != "batch" or keys.get("training") != "gd"} | keys
    if keys.get("network") == "residual":
        return [network(task, seed=seed, **keys) for seed in range(3)]
    return [network(task, seed=seed, gamma=gamma, **keys) for seed, gamma in ((0, 1.0), (1, 1.0), (0, 0.5))]


def bags() -> list[Cell]:
    training = SGD(base_lr=0.5, batch=8, steps=100, eval_every=50, loss="cross_entropy", test_size=64, momentum=0.9)
    return [Cell(task=Tokens(), network=Bag(), training=training, seed=seed) for seed in range(2)]


def strings(name: str, **keys) -> list[Cell]:
    return [network(Template(template="aba/abb", P=12), network=name, seed=seed, **SMALL, **keys) for seed in range(2)]


MOMENTUM = {"training": "sgd", "momentum": 0.9, "weight_decay": 1e-3}
CASES = {
    "sgd": pack(training="sgd", base_lr=0.1),
    "momentum": pack(**MOMENTUM, base_lr=0.1, bias=True),
    "adam": pack(training="adam", depth=3, activation="tanh", dtype="float32"),
    "adamw": pack(training="adamw", activation="erf"),
    "signsgd": pack(training="signsgd", activation="quadratic", parametrisation="ntk"),
    "gd": pack(SET, training="gd"),
    "centred": pack(training="adam", centred=True, depth=1),
    "two precisions": [network(gamma=g, centred=True, training="adam", **SMALL, dtype="float32") for g in (1.0, 1e-5, 0.5)],
    "redrawn": pack(SET, training="adam"),
    "residual": pack(network="residual", training="adam"),
    "residual redrawn": pack(SET, network="residual", **MOMENTUM, base_lr=0.1),
    "residual gd": pack(SET, network="residual", training="gd"),
    "conv": pack(PATCHES, network="conv", training="adam", bias=True),
    "batch norm": pack(PATCHES, network="conv", training="adam", batch_norm=True),
    "classes": pack(Classes(), training="adam"),
    "squares of classes": pack(Classes(), training="adamw", loss="mse"),
    "vectors": pack(Vectors(), training="sgd", base_lr=0.02),
    "tokens": bags(),
    "transformer": strings("transformer", embedding=8, heads=2, head_dim=4, attention_init="mimetic"),
    "gpt2": strings("gpt2", embedding=8, heads=2, head_dim=4, depth=2),
    "one hot": strings("one_hot", equalities=True),
    "rnn": strings("rnn", embedding=8),
    "lstm": strings("lstm", embedding=8),
}  # fmt: skip


@pytest.fixture
def on_stand_in(monkeypatch):
    """Makes a pack that repeats recordings, as on a GPU."""
    monkeypatch.setattr(stack_module, "recorded", recording.recorded_on_cpu)
    monkeypatch.setattr(Transformer, "passes", Network.passes)  # its derivatives by hand are a CPU's

    @torch.no_grad()
    def make(cells) -> Stacked:
        made = Stacked(cells, as_on_gpu=True)
        for stack in made.stacks:
            stack.graphs = stack._recorded()
        return made

    return make


@pytest.fixture
def operations(monkeypatch):
    """Adam by tensor operations, as on a card: its compiled pass rounds otherwise."""
    monkeypatch.setattr("trainables.training.adam._lie_alike", lambda tensors: False)


@pytest.mark.usefixtures("operations")
@pytest.mark.parametrize("case", CASES)
def test_repeated_recordings_take_the_usual_steps(case, on_stand_in):
    """Bit for bit: the same operations on the same numbers, which an optimiser finds in staged tensors instead of in Python."""
    usual, repeated = Stacked(CASES[case]), on_stand_in(CASES[case])
    for first, n in ((0, 34), (34, 36)):  # whole blocks, the parts of one, and whole blocks again
        np.testing.assert_array_equal(repeated.train(first, n), usual.train(first, n))
    assert [[graph.times for graph in stack.graphs] for stack in repeated.stacks] == [[3, 3]] * len(repeated.stacks)
    for name, value in usual.state().items():
        np.testing.assert_array_equal(repeated.state()[name], value)


@pytest.mark.parametrize("case", CASES)
def test_no_step_waits_for_the_device(case):
    for stack in Stacked(CASES[case], as_on_gpu=True).stacks:
        recording.moved_elsewhere(stack)
        with torch.no_grad(), recording.Recorder("meta"):
            stack._steps(WHOLE, 1)


@pytest.mark.usefixtures("on_stand_in", "operations")
def test_a_number_that_a_recording_froze_is_noticed():
    """The test above would fail if Adam took its step's number from Python."""
    cells = CASES["adam"]
    frozen = Stacked(cells, as_on_gpu=True)
    (stack,) = frozen.stacks
    stack.as_on_gpu = False
    for *_, rows in stack.staging.tensors:
        rows.copy_(torch.tensor([stack.training.schedule(k) for k in range(BLOCK_STEPS)]))
    with torch.no_grad():
        stack.graphs = stack._recorded()
    usual, found = Stacked(cells).train(0, 40)[0], frozen.train(0, 40)[0]
    np.testing.assert_array_equal(found[:, :BLOCK_STEPS], usual[:, :BLOCK_STEPS])
    assert np.abs(found - usual).max() > 1e-3  # some 1e-2 is seen, and float32 keeps 7 digits


WAITS = {
    "item": lambda x: x * x.sum().item(),
    "condition": lambda x: x if x.sum() > 0 else -x,
    "mask": lambda x: x[x > 0],
    "values": lambda x: x.tolist(),
    "copy": lambda x: x.cpu() if x.is_cpu else x.to("cpu"),
    "array": lambda x: x.numpy(),
    "number": lambda x: x * torch.tensor(2.0, device=x.device),
    "vector": lambda x: x + torch.ones(4),
    "rows": lambda x: x[[0, 1]],
    "from the host": lambda x: x + torch.from_numpy(np.ones(4, np.float32)).to(x.device),
    "repetitions": lambda x: x.repeat_interleave(torch.ones(3, dtype=torch.int64, device=x.device), 0),
}


@pytest.mark.parametrize("waits", WAITS.values(), ids=WAITS)
def test_what_makes_a_gpu_wait_is_noticed(waits):
    noticed = []
    for device in ("cpu", "meta"):
        x = torch.ones(3, 4, device=device)
        try:
            with recording.Recorder(device):
                waits(x)
        except (RuntimeError, NotImplementedError, TypeError) as error:
            noticed.append(str(error))
    assert noticed


@pytest.mark.parametrize("together", [2**26, 64 * 30])
@pytest.mark.parametrize(
    "case", ["adam", "redrawn", "residual", "batch norm", "classes", "vectors", "tokens", "centred", "two precisions"]
)
def test_evaluated_together_as_one_by_one(case, together, monkeypatch):
    """All at once, and in parts of one or two cells that split a group. float32 keeps 7 digits, and an outlier of 64 may flip."""
    monkeypatch.setattr(stack_module, "TOGETHER", together)
    pairs = Stacked(CASES[case]), Stacked(CASES[case], as_on_gpu=True)
    for made in pairs:
        made.train(0, 20)
    alone, at_once = (made.evaluate(20, CASES[case][0].test_size) for made in pairs)
    np.testing.assert_allclose(at_once, alone, rtol=0, atol=1e-9 if case not in ("adam", "two precisions") else 1 / 64 + 1e-12)
    assert len(set(alone[0])) > 1


@pytest.mark.parametrize("case", ["adam", "redrawn", "residual", "gd"])
def test_a_pack_is_freed_with_its_last_reference(case):
    gc.collect()
    gc.disable()
    try:
        made = Stacked(CASES[case], as_on_gpu=True)
        made.train(0, 20)
        made.evaluate(20, CASES[case][0].test_size)
        left = weakref.ref(made.stacks[0])
        del made
        assert left() is None
    finally:
        gc.enable()
