"""Checks of the values that a user's own parts return: sound parts pass, and for each rule one part breaks it and gets its
message."""

import itertools
import random
import sys
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pytest
import torch
from pydantic import Field

from trainables.cell import cell_of
from trainables.checking.metric import check_metric
from trainables.checking.network import check_network
from trainables.checking.task import check_task
from trainables.checking.tensors import equal
from trainables.metrics import Probe, metric
from trainables.networks import Network, TwoLayer, all_networks, register
from trainables.networks import base as networks_base
from trainables.tasks import (
    PSVRT,
    Hermite,
    Hermite3,
    InContext,
    Linear,
    Parity2,
    Pentomino,
    SameDifferent,
    Task,
    Template,
    TokenPairs,
)

SOURCE = Path(__file__).read_text().splitlines()


class Good(Task):
    """Signs of a random projection."""

    name: ClassVar[str] = "good"
    defaults: ClassVar = {"base_lr": 0.1, "prefactor": "none"}
    d: Annotated[int, Field(ge=1)] = 5

    @property
    def input_dim(self):
        return self.d

    def draw_symbols(self, rng):
        return rng.standard_normal(self.d)

    def examples(self, rng, symbols, n):
        x = rng.standard_normal((n, self.d)).astype(np.float32)
        return x, x @ symbols > 0

    def train_examples(self, rng, symbols, n):
        return self.examples(rng, symbols, n)

    def test_examples(self, rng, symbols, n):
        return self.examples(rng, symbols, n)


class Classes(Good):
    targets: ClassVar[str] = "classes"
    n_outputs: ClassVar[int] = 3

    def examples(self, rng, symbols, n):
        return rng.standard_normal((n, self.d)), rng.integers(0, 3, n)


class Vectors(Good):
    targets: ClassVar[str] = "real"
    n_outputs: ClassVar[int] = 3

    def examples(self, rng, symbols, n):
        return rng.standard_normal((n, self.d)), rng.standard_normal((n, 3))


class Tokens(Good):
    inputs: ClassVar[str] = "tokens"
    n_tokens: ClassVar[int] = 7

    def examples(self, rng, symbols, n):
        return rng.integers(0, 7, (n, self.d)), rng.integers(0, 2, n)


class FixedSet(Good):
    n_train: ClassVar[int] = 11

    def train_examples(self, rng, symbols, n):
        assert n == 11
        return self.examples(rng, symbols, n)


@pytest.mark.parametrize(
    "task",
    [
        SameDifferent(L=3, d=4, sigma2=0.5), PSVRT(L=4, patches=3, patch_size=2), Pentomino(L=4, patches=2), Hermite3(d=5, P=7),
        Linear(d=5, P=7), Parity2(d=4, P=8), TokenPairs(d=3, context=4, P=8), InContext(d=3, context=4),
        Good(), Classes(), Vectors(), Tokens(), FixedSet(),
    ],
    ids=lambda task: type(task).__name__,
)  # fmt: skip
def test_sound_tasks_pass(task):
    assert check_task(task) == []


def drawing(of, base=Good, **attributes):
    """A task whose examples are drawn so."""
    return type("Mine", (base,), {"__module__": __name__, "examples": lambda self, rng, symbols, n: of(rng, n), **attributes})()


def vectors(rng, n):
    return rng.standard_normal((n, 5))


def labels(rng, n):
    return rng.integers(0, 2, n)


count = itertools.count()
BAD_DRAWS = [
    (lambda r, n: (vectors(r, n), 2 * labels(r, n) - 1), Good,
     'gave labels -1 and 1; wanted 0 and 1 (targets = "binary"); for numbers set targets: ClassVar = "real"'),
    (lambda r, n: (vectors(r, n), r.integers(0, 4, n)), Good,
     'labels 0, 1, 2 and 3; wanted 0 and 1 (targets = "binary"); for classes set targets: ClassVar = "classes"'),
    (lambda r, n: (vectors(r, n), r.standard_normal(n)), Good, '(64 different ones); wanted 0 and 1 (targets = "binary")'),
    (lambda r, n: (vectors(r, n), r.integers(0, 4, n)), Classes,
     'gave labels 0, 1, 2 and 3; wanted whole numbers 0 to 2 (targets = "classes", n_outputs = 3)'),
    (lambda r, n: (vectors(r, n), labels(r, n) / 2), Classes, 'gave labels 0 and 0.5; wanted whole numbers 0 to 2'),
    (lambda r, n: (vectors(r, n), r.standard_normal(n)), Vectors,
     'gave targets of shape (64,); wanted (64, 3) (targets = "real"), as n_outputs is 3'),
    (lambda r, n: (vectors(r, n), np.full((n, 3), np.inf)), Vectors, "gave targets that hold infinity; wanted finite numbers"),
    (lambda r, n: (vectors(r, n), np.full(n, np.nan)), Good, "gave targets that hold NaN; wanted finite numbers"),
    (lambda r, n: (vectors(r, n), labels(r, n)[:, None]), Good, 'targets of shape (64, 1); wanted (64,) (targets = "binary")'),
    (lambda r, n: (vectors(r, n), labels(r, n).astype(str)), Good, "gave targets of type <U21; wanted numbers"),
    (lambda r, n: (vectors(r, n)[:, :4], labels(r, n)), Good,
     "gave inputs of shape (64, 4); wanted (64, 5): n examples of input_dim numbers"),
    (lambda r, n: (vectors(r, n) / 0, labels(r, n)), Good, "gave inputs that hold infinity; wanted finite numbers"),
    (lambda r, n: (vectors(r, n) + 0j, labels(r, n)), Good, "gave inputs of type complex128; wanted numbers: x.astype"),
    (lambda r, n: (r.integers(0, 8, (n, 5)), labels(r, n)), Tokens,
     'gave inputs of type int64 from 0 to 7; wanted whole numbers 0 to 6 (n_tokens = 7) (inputs = "tokens")'),
    (lambda r, n: (vectors(r, n), labels(r, n)), Tokens, "gave inputs of type float64 from"),
    (lambda r, n: vectors(r, n), Good, "gave an array of shape (64, 5); wanted two arrays, inputs and targets"),
    (lambda r, n: (vectors(r, n), labels(r, n).tolist()), Good, "gave a tuple of 2; wanted two arrays, inputs and targets"),
    (lambda r, n: None, Good, "gave nothing (None); wanted two arrays, inputs and targets"),
    (lambda r, n: (np.random.standard_normal((n, 5)), labels(r, n)), Good,
     "gave two different draws for one state of its generator; wanted the same from the same state: draw from the generator"),
    (lambda r, n: (vectors(r, n), np.array([random.random() < 0.5 for _ in range(n)])), Good, "gave two different draws"),
    (lambda r, n: (torch.randn(n, 5).numpy(), labels(r, n)), Good, "gave two different draws"),
    (lambda r, n: (vectors(r, n) + next(count), labels(r, n)), Good, "gave two different draws"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize(("of", "base", "words"), BAD_DRAWS, ids=range(len(BAD_DRAWS)))
def test_a_draw_that_training_cannot_use(of, base, words):
    found = check_task(drawing(of, base))
    assert [finding.message.split()[:3] for finding in found] == [
        ["task", "good:", "train_examples"], ["task", "good:", "test_examples"]
    ]  # fmt: skip
    for finding in found:
        assert finding.is_wrong and words in finding.message
    assert SOURCE[found[0].line - 1].strip() == "def train_examples(self, rng, symbols, n):"


def test_what_only_the_test_examples_do_wrong():
    task = type(
        "Mine", (Good,), {"__module__": __name__, "test_examples": lambda self, rng, s, n: (vectors(rng, n), -labels(rng, n))}
    )
    [finding] = check_task(task())
    assert "task good: test_examples gave labels -1 and 0; wanted 0 and 1" in finding.message
    assert "test_examples" in SOURCE[finding.line - 1]


def test_an_exception_has_the_line_where_it_was_raised():
    def divide(rng, n):
        return vectors(rng, n), 1 // (n - n)  # here

    [finding] = check_task(drawing(divide))
    assert finding.message.startswith("task good: train_examples raised ZeroDivisionError: ")
    assert SOURCE[finding.line - 1].endswith("# here")


SHAPES = [
    ({"input_dim": 0}, "input_dim is 0; wanted a whole number of at least 1"),
    ({"input_dim": 2.5}, "input_dim is 2.5; wanted a whole number"),
    ({"targets": "binry"}, "targets = 'binry'; wanted one of binary, classes, real"),
    ({"inputs": "words"}, "inputs = 'words'; wanted one of vector, tokens"),
    ({"targets": "classes"}, "n_outputs is 1; wanted a whole number of at least 2, the number of classes"),
    ({"n_outputs": 2}, 'n_outputs is 2; wanted 1 (targets = "binary"); for classes set targets: ClassVar = "classes"'),
    ({"inputs": "tokens"}, "n_tokens raised NotImplementedError"),
    ({"n_train": 0}, "n_train is 0; wanted a whole number of at least 1"),
    ({"draw_symbols": lambda self, rng: {}["x"]}, "draw_symbols raised KeyError: 'x'"),
    ({"draw_symbols": lambda self, rng: np.random.random(5)}, "draw_symbols gave two different draws"),
]


@pytest.mark.parametrize(("attributes", "words"), SHAPES, ids=[words for _, words in SHAPES])
def test_what_a_task_says_of_itself(attributes, words):
    no_fields = {"__annotations__": {name: ClassVar for name, value in attributes.items() if not callable(value)}}
    task = type("Mine", (Good,), {"__module__": __name__, "name": "good", **no_fields, **attributes})
    found = check_task(task())
    assert found and words in found[0].message


def test_labels_that_are_all_equal_are_odd_but_legal():
    found = check_task(drawing(lambda rng, n: (vectors(rng, n), np.ones(n))))
    assert [f.message for f in found] == [f"task good: {draw} gave 512 labels that are all 1" for draw in TWO]
    assert not any(finding.is_wrong for finding in found)
    rare = drawing(lambda rng, n: (vectors(rng, n), np.arange(n) == 200))
    assert check_task(rare) == []  # one in some hundred


TWO = ("train_examples", "test_examples")


def test_generators_that_all_share_are_left_as_they_were():
    np.random.seed(5), random.seed(5), torch.manual_seed(5)
    before = np.random.random(), random.random(), float(torch.rand(()))
    np.random.seed(5), random.seed(5), torch.manual_seed(5)
    check_task(drawing(lambda rng, n: (np.random.random((n, 5)), labels(rng, n))))
    assert before == (np.random.random(), random.random(), float(torch.rand(())))


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setattr(networks_base, "_NETWORKS", dict(networks_base._NETWORKS))


class Plain(Network):
    """Two layers of tanh neurons."""

    name: ClassVar[str] = "plain"
    width: Annotated[int, Field(ge=1)]

    def init(self, rng, cell):
        outputs = (self.width, cell.task.n_outputs) if cell.task.n_outputs > 1 else (self.width,)
        return {"w": rng.standard_normal((cell.task.input_dim, self.width)), "a": rng.standard_normal(outputs)}

    def apply(self, parameters, x, cell):
        return self.features(parameters, x, cell) @ parameters["a"]

    def features(self, parameters, x, cell):
        return (x @ parameters["w"]).tanh()


def cell_with(network=Plain, task=None, **attributes):
    made = type("Mine", (network,), {"__module__": __name__, **attributes}) if attributes else network
    register(made)
    return cell_of(task or Good(), network="plain", width=4, seed=0)


@pytest.mark.parametrize("task", [Good(), Classes(), Vectors(), FixedSet()], ids=lambda task: type(task).__name__)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sound_networks_pass(task, dtype):
    register(Plain)
    assert check_network(cell_of(task, network="plain", width=4, seed=0, dtype=dtype)) == []


@pytest.mark.parametrize("kind", [n for n in all_networks() if n.family == "descent"], ids=lambda kind: kind.name)
@pytest.mark.parametrize("width", [1, 64])
def test_networks_of_the_package_pass(kind, width):
    gamma = {"gamma": 1e-3} if "gamma" in kind.model_fields else {}
    of = {"tokens": Template(template="aba/abb", P=4), "vector": SameDifferent(L=2, d=3)}
    own = {"conv": PSVRT(L=4, patches=2, patch_size=2), "sphere": Hermite(d=3, degree=2)}
    task = own.get(kind.name, of[kind.takes[0]])
    sizes = {"depth": 2, "heads": 2, "embedding": 8} if kind.name == "gpt2" else {}  # the usual ones take seconds
    if "width" in kind.model_fields:
        sizes["width"] = max(width, 2) if kind.name == "sphere" else width  # neurons of both signs
    assert check_network(cell_of(task, network=kind.name, seed=0, **gamma, **sizes)) == []


class Own:
    """A way to outputs and gradients of the plain network, times a factor each; implements Passes."""

    def __init__(self, outputs=1.0, alone=1.0, gradients=1.0):
        self.factors = outputs, alone, gradients

    def arranged(self, parameters):
        return parameters

    def outputs(self, parameters, x):
        self.h, self.x, self.a = (x @ parameters["w"]).tanh(), x, parameters["a"]
        return self.factors[0] * (self.h @ self.a[..., None])[..., 0]

    def alone(self, parameters, x):
        return self.factors[1] * (x @ parameters["w"]).tanh() @ parameters["a"]

    def gradients(self, slopes):
        yield "a", (self.h.mT @ slopes[..., None])[..., 0]
        yield "w", self.factors[2] * self.x.mT @ ((1 - self.h**2) * slopes[..., None] * self.a[:, None])


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ({}, None),
        ({"outputs": 1.1}, "passes gave other outputs than apply; wanted the same"),
        ({"alone": 1.1}, "passes gave other outputs than apply; wanted the same"),
        ({"gradients": 1.1}, "passes gave another gradient of parameter 'w' than apply has; wanted the same"),
    ],
)
def test_an_own_way_to_gradients_is_compared_with_apply(factors, words):
    found = check_network(cell_with(passes=lambda self, cells, on_cpu: Own(**factors)))
    assert [one.message for one in found] == ([] if words is None else [f"network plain: {words}"])


def of_plain(change):
    """An `apply` that changes what the plain one gives."""
    return lambda self, parameters, x, cell: change(Plain.apply(self, parameters, x, cell), parameters, x)


def drawn(**changed):
    """An `init` with other parameters."""
    return lambda self, rng, cell: Plain.init(self, rng, cell) | changed


BAD_NETWORKS = [
    ({"init": lambda self, rng, cell: [1]}, "init gave a list of 1; wanted a dict of arrays by name"),
    ({"init": lambda self, rng, cell: {}}, "init gave an empty dict; wanted a dict of arrays by name"),
    ({"init": lambda self, rng, cell: {3: np.ones(2)}}, "init gave a parameter called 3; wanted a text as its name"),
    ({"init": drawn(b=0.5)}, "init gave 0.5 as parameter 'b'; wanted an array"),
    ({"init": drawn(b=np.ones(2, np.int64))}, "init gave parameter 'b' of type int64; wanted float32 or float64"),
    ({"init": drawn(b=np.ones((2, 0)))}, "init gave parameter 'b' of shape (2, 0), which holds no number"),
    ({"init": drawn(b=np.array([1, np.nan]))}, "init gave parameter 'b' that holds NaN; wanted finite numbers"),
    ({"init": lambda self, rng, cell: {"w": np.random.random((5, 4)), "a": np.ones(4)}},
     "init gave two different draws for one state of its generator"),
    ({"init": lambda self, rng, cell: {"w": rng.standard_normal((5, rng.integers(1, 10**6)))}},
     "init gave parameters of shapes w (5, "),
    ({"init": lambda self, rng, cell: {"w": np.ones((5, 4)), ("a" if rng.random() < 0.1 else "b"): np.ones(4)}},
     "init gave parameters of shapes w (5, 4), a (4,), and then w (5, 4), b (4,); wanted the same for every state"),
    ({"init": lambda self, rng, cell: rng.no_such()}, "init raised AttributeError"),
    ({"scale": lambda self, task: 0.0}, "scale gave 0; wanted a number > 0"),
    ({"n_activations": lambda self, cell: float("nan")}, "n_activations gave nan; wanted a number > 0"),
    ({"rates": lambda self, training: None}, "rates gave nothing (None); wanted a dict of factors by the name of a parameter"),
    ({"rates": lambda self, training: {"v": 1.0}}, "rates names 'v'; wanted names of parameters: "),
    ({"rates": lambda self, training: {"w": "2"}}, "rates gave '2' as the factor of 'w'; wanted a number >= 0"),
    ({"rates": lambda self, training: {}[0]}, "rates raised KeyError: 0"),
    ({"apply": lambda self, parameters, x, cell: sys.exit()}, "apply raised SystemExit"),
    ({"apply": lambda self, parameters, x, cell: parameters["v"]}, "apply raised KeyError: 'v'"),
    ({"apply": lambda self, parameters, x, cell: 1.0}, "apply gave 1; wanted a tensor of shape (64,)"),
    ({"apply": of_plain(lambda g, p, x: g[:, None])},
     "apply gave outputs of shape (64, 1); wanted (64,): task good has one output an example"),
    ({"apply": of_plain(lambda g, p, x: (100 * g).long())}, "apply gave outputs of type int64; wanted floats"),
    ({"apply": of_plain(lambda g, p, x: g / 0)}, "apply gave outputs at initialisation that hold infinity; wanted finite"),
    ({"apply": of_plain(lambda g, p, x: g - g.mean())},
     "apply gave other outputs for 3 examples alone than among 64; wanted outputs that depend on their own example alone"),
    ({"init": lambda self, rng, cell: {"w": rng.standard_normal((5, 4)), "a": np.zeros(4)},
      "apply": of_plain(lambda g, p, x: g - g.mean())}, "apply gave other outputs for 3 examples alone than among 64"),
    ({"apply": of_plain(lambda g, p, x: g * torch.rand(()))}, "apply gave two different outputs for the same inputs"),
    ({"apply": lambda self, p, x, cell: (x @ p["w"]).relu() @ p["a"] * (1 + cell.seed)},
     "apply gave other outputs for another seed; networks that differ only there train together"),
    ({"apply": of_plain(lambda g, p, x: g + 0 * p["w"].mul_(2).sum())}, "apply changed w in place; wanted a new tensor"),
    ({"apply": of_plain(lambda g, p, x: g + 0 * x.mul_(2).sum())}, "apply changed the inputs in place; wanted a new tensor"),
    ({"apply": of_plain(lambda g, p, x: g if p["a"].sum() > 0 else 2 * g)}, "apply fails under torch.func.vmap: "),
    ({"apply": of_plain(lambda g, p, x: g * p["a"].norm().item())}, "apply fails under torch.func.vmap: "),
    ({"apply": of_plain(lambda g, p, x: g * p["a"].norm().item())},
     "no if, while, float() or .item() may look at the values of a tensor"),
    ({"apply": of_plain(lambda g, p, x: g + x[:, 0] * len(p["a"].squeeze().shape))}, ""),
    ({"init": drawn(b=np.ones(3))}, "apply lets no gradient reach parameter 'b', as for all examples it is zero; let apply"),
    ({"apply": lambda self, p, x, cell: (x @ p["w"]).sign() @ p["a"]}, "apply lets no gradient reach parameter 'w'"),
    ({"apply": of_plain(lambda g, p, x: g.detach())}, "apply lets no gradient reach parameter 'w'"),
    ({"features": lambda self, p, x, cell: (x @ p["w"]).tanh().flatten()}, "apply raised RuntimeError"),
]  # fmt: skip


@pytest.mark.parametrize(("attributes", "words"), BAD_NETWORKS, ids=range(len(BAD_NETWORKS)))
def test_a_network_that_cannot_be_trained(attributes, words):
    found = check_network(cell_with(**attributes))
    if not words:
        assert found == []
        return
    assert found and found[0].is_wrong and found[0].message.startswith("network plain: ") and words in found[0].message
    assert found[0].line is not None


def test_a_change_of_what_is_not_finite_is_seen():
    largest = torch.finfo(torch.float64).max
    one = torch.tensor([1.0, torch.nan, torch.inf], dtype=torch.float64)
    assert equal(one, one.clone())
    for other in ([1.0, 0.0, torch.inf], [1.0, torch.nan, largest], [1.0, torch.nan, -torch.inf], [2.0, torch.nan, torch.inf]):
        assert not equal(one, torch.tensor(other, dtype=torch.float64)), other
    assert not equal(one, one[:1]) and equal(torch.arange(3), torch.arange(3)) and not equal(torch.arange(3), torch.arange(3, 6))


def test_what_depends_on_its_batch_cannot_be_centred():
    yes = property(lambda self: True)
    assert cell_with(mixes_examples=yes).network.mixes_examples
    with pytest.raises(ValueError, match="centred: true does not go with a network whose outputs depend on their batch"):
        cell_with(mixes_examples=yes, is_centred=yes)


def test_several_outputs_are_wanted_of_classes():
    found = check_network(cell_with(task=Classes(), apply=of_plain(lambda g, p, x: g[:, 0])))
    assert [f.message for f in found] == [
        "network plain: apply gave outputs of shape (64,); wanted (64, 3): task good has 3 outputs an example"
    ]


@pytest.mark.parametrize(
    ("h", "words"),
    [
        (
            lambda x: x.sum(1),
            "features gave a tensor of shape (64,); wanted (64, m), activations of m neurons for n examples, or None",
        ),
        (lambda x: x.numpy(), "features gave an array of shape (64, 5); wanted (64, m)"),
        (lambda x: x > 0, "features gave activations of type bool; wanted floats"),
        (lambda x: x / 0, "features gave activations that hold infinity"),
    ],
)
def test_features(h, words):
    """Of a network whose outputs do not need them."""
    apply = {"apply": lambda self, p, x, cell: (x @ p["w"]).tanh() @ p["a"]}
    [finding] = check_network(cell_with(**apply, features=lambda self, p, x, cell: h(x)))
    assert words in finding.message
    assert check_network(cell_with(**apply, features=lambda self, p, x, cell: None)) == []


def test_weights_that_start_at_zero_and_dead_neurons_are_no_problem():
    zero = {"init": drawn(a=np.zeros(4))}
    assert check_network(cell_with(**zero)) == []
    dead = {"init": drawn(w=np.full((5, 4), -1e-3)), "apply": lambda self, p, x, cell: (x.abs() @ p["w"]).relu() @ p["a"]}
    assert check_network(cell_with(**dead)) == []


def measure(of, **bounds):
    of.__name__ = "mine"
    return metric("a number of mine", **bounds)(of)


@pytest.mark.parametrize("kind", ["plain", "relu2"])
@pytest.mark.parametrize("value", [0.5, None, np.nan, np.float32(0.25), np.int64(1), True, np.bool_(True)])
def test_sound_metrics_pass(kind, value):
    register(Plain)
    gamma = {"gamma": 1.0} if kind == "relu2" else {}
    cell = cell_of(Good(), network=kind, width=4, seed=0, **gamma)
    assert check_metric(measure(lambda probe: value, low=0, high=1), cell) == []


def test_a_metric_sees_a_network_and_its_examples():
    seen = []

    def look(probe: Probe):
        seen.append(probe)
        return float(probe.outputs.std())

    assert check_metric(measure(look), cell_of(Good(), network="relu2", width=4, gamma=0.1, seed=0)) == []
    probe = seen[0]
    assert probe.inputs.shape == (64, 5) and probe.targets.shape == probe.outputs.shape == (64,)
    assert probe.features.shape == (64, 4) and {name: p.shape for name, p in probe.parameters.items()} == {"w": (5, 4), "a": (4,)}
    assert probe.outputs.std() > 0  # not at initialisation, where a centred output is 0


def spoil(probe):
    probe.outputs[:] = 0
    return 0.0


BAD_METRICS = [
    (lambda probe: 1.5, "gave 1.5; wanted a number between its low = 0 and high = 1"),
    (lambda probe: -0.1, "gave -0.1; wanted a number between"),
    (lambda probe: probe.outputs, "gave an array of shape (64,); wanted a number, or None where it is undefined"),
    (lambda probe: "much", "gave 'much'; wanted a number"),
    (lambda probe: np.random.random(), "for the same network; wanted one value"),
    (lambda probe: float(torch.rand(())), "for the same network; wanted one value"),
    (lambda probe: probe.parameters["nothing"], "raised KeyError: 'nothing'"),
    (spoil, "changed the probe's arrays in place; wanted a copy to be changed"),
]


@pytest.mark.parametrize(("of", "words"), BAD_METRICS, ids=[words for _, words in BAD_METRICS])
def test_a_metric_that_cannot_be_stored(of, words):
    [finding] = check_metric(measure(of, low=0, high=1), cell_of(Good(), network="relu2", width=4, gamma=1.0, seed=0))
    assert finding.is_wrong and finding.message.startswith("metric mine: ") and words in finding.message
    assert finding.line is not None


def test_a_task_with_files_to_make_is_left_to_its_time():
    class Late(Good):
        @cached_property
        def never(self):
            raise AssertionError

        def preparations(self):
            return ["something"]

        def draw_symbols(self, rng):
            return self.never

    assert check_task(Late()) == []
    register(Plain)
    assert check_network(cell_of(Late(), network="plain", width=4, seed=0)) == []


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({}, ""),
        (
            {"init": lambda self, rng, cell: {"v": np.ones((6, 4)), "a": np.ones(4)}},
            "gives v (6, 4), a (4,); wanted w (6, 4)",
        ),
        ({"centred": False}, "wanted w (6, 4), a (4,) of a centred network"),
        ({"centred": False, "keeps": ("curves",)}, ""),
    ],
)
def test_neurons_are_kept_of_networks_that_have_them(attributes, words):
    fields = {"__annotations__": {name: ClassVar for name in ("centred", "keeps") if name in attributes}}
    apply = {"apply": lambda self, parameters, x, cell: (x @ next(iter(parameters.values()))).relu() @ parameters["a"]}
    features = {"features": lambda self, parameters, x, cell: None}
    own = {"__module__": __name__, "name": "own", **fields, **apply, **features, **attributes}
    register(type("Own", (TwoLayer,), own))
    found = check_network(cell_of(SameDifferent(L=2, d=3), network="own", width=4, gamma=1.0, seed=0))
    assert bool(found) == bool(words) and all(words in finding.message for finding in found)


@pytest.mark.parametrize("task", [Hermite3(d=5, P=8), Linear(d=5, P=8), Parity2(d=5, P=8)], ids=lambda task: task.name)
def test_targets_of_the_package_are_directions(task):
    assert check_task(task, is_sampled=True) == []


@pytest.mark.parametrize("symbols", [np.ones(5), np.eye(4), np.zeros((0,)), None, np.eye(5, dtype=int)])
def test_a_task_that_is_sampled_draws_directions(symbols):
    task = type("Mine", (FixedSet,), {"__module__": __name__, "draw_symbols": lambda self, rng: symbols})()
    wanted = "wanted unit vectors (5,) or (K, 5)"
    assert not any(wanted in found.message for found in check_task(task))
    assert wanted in check_task(task, is_sampled=True)[0].message
