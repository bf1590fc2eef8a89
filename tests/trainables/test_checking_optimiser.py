"""The check of an optimiser before a sweep: sound ones pass, and for each rule one optimiser breaks it and gets its message."""

from pathlib import Path
from typing import Annotated, ClassVar

import pytest
import torch
from pydantic import Field

from trainables.cell import Cell, cell_of
from trainables.checking.optimiser import check_optimiser
from trainables.tasks import Hermite3, SameDifferent
from trainables.training import Minibatch, all_trainings, register
from trainables.training import base as trainings

SOURCE = Path(__file__).read_text().splitlines()
TASK = SameDifferent(L=4, d=8)
DEEP = {"network": "mlp", "depth": 2, "bias": True, "width": 6}


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setattr(trainings, "_TRAININGS", dict(trainings._TRAININGS))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("training", "keys"),
    [
        *((training.name, {}) for training in all_trainings() if training.family == "descent" and training.name != "gd"),
        ("sgd", {"momentum": 0.9}), ("sgd", {"weight_decay": 0.1}), ("adamw", {"weight_decay": 0.0}),
        ("adam", {"lr_schedule": "warm_up 10"}),
    ],
)  # fmt: skip
def test_sound_ones_pass(training, keys, dtype):
    assert check_optimiser(cell_of(TASK, training=training, seed=0, dtype=dtype, **DEEP, **keys)) == []


def test_full_batches_pass():
    assert check_optimiser(cell_of(Hermite3(d=6, P=20), training="gd", network="mlp", width=8, seed=0)) == []


class Sound(Minibatch):
    """SGD with momentum, with a warm-up of its own."""

    name: ClassVar[str] = "sound"
    free: ClassVar[tuple[str, ...]] = ("base_lr", "friction")

    friction: Annotated[float, Field(ge=0)] = 0.5

    def start(self, theta, free):
        return {"velocity": torch.zeros_like(theta)}

    def schedule(self, update):
        return (1 - 0.5 ** (update + 1),)

    def update(self, theta, gradient, state, rate, free, scheduled):
        state["velocity"].mul_(free["friction"]).add_(gradient)
        theta.sub_(state["velocity"] * rate * scheduled[0])


def cell(base: type[Minibatch] = Sound, **attributes) -> Cell:
    """A cell of an optimiser with these methods."""
    made = register(type("Mine", (base,), {"__module__": __name__, **attributes}))
    return cell_of(TASK, training=made.name, seed=0, **DEEP)


def test_the_sound_one_passes():
    assert check_optimiser(cell()) == []


def by(work):
    """The optimiser whose update calls this with theta, gradient, state, rate, free, scheduled, itself."""

    def update(self, theta, gradient, state, rate, free, scheduled):
        work(theta, gradient, state, rate, free, scheduled, self)

    return {"update": update}


def starting(work):
    return {"start": lambda self, theta, free: work(theta)}


def following(work):
    return {"schedule": lambda self, update: work(update)}


CALLS: list[int] = []
KEPT: dict[int, list[int]] = {}


def counting(theta, gradient, state, rate, *others):
    CALLS.append(1)
    theta.sub_(gradient * rate / len(CALLS))


def remembering(theta, gradient, state, rate, *others):
    KEPT.setdefault(id(state["velocity"]), []).append(1)
    theta.sub_(gradient * rate * len(KEPT[id(state["velocity"])]))


def replacing(theta, gradient, state, rate, *others):
    state["velocity"] = state["velocity"] + gradient
    theta.sub_(state["velocity"] * rate)


def normalised(theta, gradient, state, rate, *others):
    length = gradient.flatten(1).norm(dim=1)
    theta.sub_(rate * gradient / length.view(-1, *[1] * (theta.dim() - 1)))


INTERRUPTED = "gave other parameters when it was interrupted and went on; wanted a function of its arguments alone"
IN_A_PACK = "gave a network other parameters in a pack than alone; wanted the same"
AT_RATE_0 = "changed parameters at a rate of 0; wanted each change multiplied by `rate`"
WRONG = {
    "not in place": (by(lambda t, g, s, r, *_: t - r * g), "changed no parameter; wanted theta changed in place"),
    "no start": (starting(lambda t: None), "start gave nothing (None); wanted a dict of tensors by name"),
    "numbers for a state": (starting(lambda t: {"velocity": 0.0}), "start gave a dict; wanted a dict of tensors"),
    "a start that moves": (starting(lambda t: {"velocity": t.mul_(2).clone()}), "start changed theta; wanted the state"),
    "theta as state": (starting(lambda t: {"velocity": t}), "start gave one tensor twice, or theta itself"),
    "one for two": (starting(lambda t: dict.fromkeys("mv", t.clone())), "start gave one tensor twice"),
    "many moments": (starting(lambda t: {name: t.clone() for name in ("velocity", "b", "c")}),
                     "start gave 3 tensors; set moments: ClassVar[int] = 3, by which memory is predicted (it is 2)"),
    "a new tensor": (by(replacing), "put a new tensor into state['velocity']; wanted that of start changed in place"),
    "one tensor more": (by(lambda t, g, s, r, *_: s.update(last=t.sub_(g * r))), "put 'last' into the state"),
    "the gradient": (by(lambda t, g, s, r, *_: t.sub_(g.mul_(r))), "changed gradient in place; wanted theta and state"),
    "the rate": (by(lambda t, g, s, r, *_: t.sub_(g * r.mul_(0.5))), "changed rate in place"),
    "a free key": (by(lambda t, g, s, r, f, *_: t.sub_(g * r * f["friction"].mul_(0.5))), "changed free['friction'] in place"),
    "the mean of networks": (by(lambda t, g, s, r, *_: t.sub_(g.mean(0) * r)), IN_A_PACK),
    "the norm of all": (by(lambda t, g, s, r, *_: t.sub_(g / g.norm() * r)), IN_A_PACK),
    "a free key of itself": (by(lambda t, g, s, r, f, n, own: t.sub_(g * r * own.friction)), "free come as free['friction']"),
    "random numbers": (by(lambda t, g, s, r, *_: t.sub_(g * r * torch.rand(()))), INTERRUPTED),
    "a count of its own": (by(counting), INTERRUPTED),
    "a state of its own": (by(remembering), INTERRUPTED),
    "no rate": (by(lambda t, g, s, r, *_: t.sub_(0.01 * g)), AT_RATE_0),
    "a decay without a rate": (by(lambda t, g, s, r, *_: t.mul_(0.99).sub_(r * g)), AT_RATE_0),
    "no gradient": (by(normalised), "gave NaN where the gradient is 0; wanted finite numbers, as neurons that are off have no"),
    "infinite": (by(lambda t, g, s, r, *_: t.sub_(r / (0 * g))), "gave parameters that hold NaN; wanted finite numbers"),
    "item": (by(lambda t, g, s, r, *_: t.sub_(g * r * (g[0].sum().item() < 1e9))), "item reads the values of a tensor"),
    "if": (by(lambda t, g, s, r, *_: t.sub_(g * r) if (g < 1e9).all() else None), "__bool__ reads the values of a tensor"),
    "a mask": (by(lambda t, g, s, r, *_: t.sub_(g * r * (g[g > 99].numel() == 0))), "a mask as index reads the values"),
    "a number of schedule": (by(lambda t, g, s, r, f, n, *_: t.sub_(g * r * float(n[0]))),
                             "update fails among steps that a GPU records: RuntimeError: __float__ reads the values of a tensor"),
    "a number as value": (by(lambda t, g, s, r, f, n, *_: t.addcmul_(g, r, value=-n[0])), "addcmul_(value=a tensor) reads the"),
    "view": (by(lambda t, g, s, r, *_: t.view(-1).sub_((g * r).reshape(-1))), "update raised RuntimeError: view"),
    "it raises": (by(lambda *_: 1 / 0), "update raised ZeroDivisionError"),
    "a rate of 0": ({"rate": lambda self, cell: 0.0}, "rate gave 0; wanted a number > 0"),
    "a schedule of words": (following(lambda k: ("fast",)), "schedule gave ('fast'); wanted a tuple of finite numbers"),
    "a number for a schedule": (following(lambda k: 0.5), "schedule gave 0.5; wanted a tuple of finite numbers"),
    "a schedule that grows": (following(lambda k: (1.0,) * (1 + k)), "gave 1 numbers, and then 2; wanted as many for every"),
    "a schedule that ends": (following(lambda k: (float("inf") if k > 100 else 1.0,)), "schedule gave (inf)"),
    "a schedule that counts": (following(lambda k: (float(len(CALLS)), CALLS.append(1))[:1]), "wanted the same for the same"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_one_says_what_is_wanted(what):
    attributes, said = WRONG[what]
    CALLS.clear()
    found = check_optimiser(cell(**attributes))
    assert [finding.is_wrong for finding in found] == [True], found
    assert found[0].message.startswith("training sound: ") and said in found[0].message


class Unlucky(Sound):
    """It fails in a line of its own."""

    def update(self, theta, gradient, state, rate, free, scheduled):
        theta.sub_(rate * gradient)
        theta.add_(state["speed"])


def test_a_finding_has_its_line():
    [finding] = check_optimiser(cell(Unlucky))
    assert finding.message == "training sound: update raised KeyError: 'speed'"
    assert SOURCE[finding.line - 1].strip() == 'theta.add_(state["speed"])' and "KeyError" in finding.trace


def test_the_numbers_of_a_check_change_no_stream():
    before = torch.get_rng_state()
    check_optimiser(cell(**WRONG["random numbers"][0]))
    assert torch.equal(torch.get_rng_state(), before)
