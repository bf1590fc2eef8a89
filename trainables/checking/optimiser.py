"""Check of an optimiser before anything trains: it moves the parameters of each network as if that network were alone, in place,
and by nothing but what it is given."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from sweepkit.console.words import listed
from trainables.cell import Cell
from trainables.checking.part import Checked, Finding, Wrong, collected
from trainables.checking.tensors import close, equal, noise, one_thread
from trainables.checking.values import fresh_generator, not_finite, reseeded, same, shown
from trainables.tensors import as_tensors
from trainables.training.descent import Descent, Scheduled, State, own_free

NETWORKS = 3
"""Networks of the pack in which an optimiser is tried; they differ in the training's free keys."""
UPDATES = 4
"""Changes of the parameters that are tried: the first ones of a training, when moments have begun to count."""

READING = frozenset({
    "item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__index__", "__array__", "equal", "allclose", "is_nonzero",
    "nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "bincount",
})  # fmt: skip
"""Functions whose result, or the shape of it, the host learns from the values of a tensor."""
NUMBERS = ("value", "alpha")
"""Arguments that must be numbers, such as those of addcmul_ and add_: a tensor is read for its value."""


@dataclass(frozen=True)
class _Held:
    """One parameter of C networks as a trainer holds it: theta (C, ...); rate and free keys (C, 1, ..., 1)."""

    training: Descent
    theta: Tensor
    rate: Tensor
    free: Mapping[str, Tensor]
    state: State

    def update(self, gradient: Tensor, scheduled: Sequence[Scheduled]) -> None:
        self.training.update(self.theta, gradient, self.state, self.rate, self.free, scheduled)

    def copied(self) -> "_Held":
        return replace(self, theta=self.theta.clone(), state={name: value.clone() for name, value in self.state.items()})


@torch.no_grad()
def check_optimiser(cell: Cell) -> list[Finding]:
    """Findings on the cell's training, on parameters of the shapes that its network has. The network must have passed its
    check."""
    with one_thread():
        return collected(_of_training(cell))


def _of_training(cell: Cell) -> Iterator[Finding]:
    training = cell.descent
    part = Checked(f"training {training.name}", type(training))
    scheduled = _scheduled(part, cell)
    rate = part.call("rate", lambda: training.rate(cell))
    if not (_is_number(rate) and rate > 0):
        raise Wrong(part.finding("rate", f"gave {shown(rate)}; wanted a number > 0"))
    failing = f"cannot be tried, as network {cell.network.name} fails"
    drawn = part.call("", lambda: as_tensors(cell, cell.network.init(fresh_generator(), cell)), failing)
    # `update` is told no name: of the parameters with as many axes the smallest that is no mere row or column stands for all.
    least_last = sorted(drawn.values(), key=lambda value: (1 in value.shape, value.numel()), reverse=True)
    by_axes = {value.dim(): value for value in least_last}
    for _, value in sorted(by_axes.items()):
        found = list(_of_parameter(part, _pack(cell), value, scheduled))
        yield from found
        if found:
            return


def _scheduled(part: Checked, cell: Cell) -> list[Sequence[float]]:
    """The numbers of `schedule` for the first updates; those of the last one are looked at, too."""
    updates = [*range(UPDATES), cell.steps * cell.updates - 1]
    rows = [part.call("schedule", partial(cell.descent.schedule, update)) for update in updates]
    for row in rows:
        if not (isinstance(row, tuple | list) and all(map(_is_number, row))):
            raise Wrong(part.finding("schedule", f"gave {_in_words(row)}; wanted a tuple of finite numbers"))
        if len(row) != len(rows[0]):
            wanted = "wanted as many for every update"
            raise Wrong(part.finding("schedule", f"gave {len(rows[0])} numbers, and then {len(row)}; {wanted}"))
    if not same(rows[0], again := part.call("schedule", lambda: cell.descent.schedule(0))):
        wanted = "wanted the same for the same update: a network that is interrupted goes on from its number"
        raise Wrong(part.finding("schedule", f"gave {_in_words(rows[0])} and then {_in_words(again)}; {wanted}"))
    return rows[:UPDATES]


def _pack(cell: Cell) -> list[Cell]:
    """The cell, and others that differ from it in the training's free keys, as cells of one pack may."""
    numbers = {name: getattr(cell.training, name) for name in cell.training.free}

    def other(k: int) -> dict[str, Any]:
        return {name: value + k if isinstance(value, int) else value / (1 + k) for name, value in numbers.items()}

    trainings = [cell.training.model_copy(update=other(k)) if k else cell.training for k in range(NETWORKS)]
    return [cell.model_copy(update={"training": training}) for training in trainings]


def _of_parameter(part: Checked, cells: Sequence[Cell], value: Tensor, scheduled: list[Sequence[float]]) -> Iterator[Finding]:
    theta = torch.stack([value + noise(value, k) for k in range(len(cells))])
    if theta.dim() > 2:
        theta = theta.mT.contiguous().mT  # an engine may turn its matrices
    numbers = fresh_generator(NETWORKS).standard_normal((UPDATES, *theta.shape))
    gradients = list(torch.from_numpy(numbers).to(theta.dtype))
    fresh = _held(cells, theta)

    held = yield from _started(part, fresh)
    with reseeded(1):
        for gradient, row in zip(gradients, scheduled, strict=True):
            _check_update(part, held, gradient, row)
    if not torch.isfinite(held.theta).all():
        raise Wrong(part.finding("update", f"gave parameters that hold {not_finite(held.theta.numpy())}; wanted finite numbers"))
    if equal(held.theta, theta):
        wanted = "wanted theta changed in place, as by theta.addcmul_(gradient, rate, value=-1)"
        raise Wrong(part.finding("update", f"changed no parameter; {wanted}"))
    with reseeded(2):
        half = UPDATES // 2
        first = _updated(part, _begun(part, fresh), gradients[:half], scheduled)
        again = _updated(part, first.copied(), gradients[half:], scheduled[half:])
    if not equal(again.theta, held.theta):
        wanted = (
            "wanted a function of its arguments alone: what it needs of earlier updates belongs into `state`, and numbers that "
            "follow from the update's own into `schedule`"
        )
        raise Wrong(part.finding("update", f"gave other parameters when it was interrupted and went on; {wanted}"))
    for c, cell in enumerate(cells):
        alone = _updated(part, _begun(part, _held([cell], theta[c : c + 1])), [g[c : c + 1] for g in gradients], scheduled)
        if not close(alone.theta, held.theta[c : c + 1], held.theta):
            free = listed(f"free[{name!r}]" for name in fresh.free)
            hint = f"; keys that are free come as {free}" if fresh.free else ""
            wanted = f"wanted the same: the first axis is that of the networks, and none may see another{hint}"
            raise Wrong(part.finding("update", f"gave a network other parameters in a pack than alone; {wanted}"))
    still = _updated(part, _begun(part, replace(fresh, rate=torch.zeros_like(fresh.rate))), gradients, scheduled)
    if not equal(still.theta, theta):
        wanted = "wanted each change multiplied by `rate`, as schedules and networks set the rates of their parameters by it"
        yield part.finding("update", f"changed parameters at a rate of 0; {wanted}")
    flat = _updated(part, _begun(part, fresh), [torch.zeros_like(theta)] * UPDATES, scheduled)
    if not torch.isfinite(flat.theta).all():
        wanted = "wanted finite numbers, as neurons that are off have no gradient"
        yield part.finding("update", f"gave {not_finite(flat.theta.numpy())} where the gradient is 0; {wanted}")
    _check_as_recorded(part, fresh, gradients, scheduled)


def _held(cells: Sequence[Cell], theta: Tensor) -> _Held:
    """These networks' parameter before `start`."""

    def of_each(values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=theta.dtype).view(-1, *(1,) * (theta.dim() - 1))

    free = {name: of_each(values) for name, values in own_free([cell.descent for cell in cells]).items()}
    return _Held(cells[0].descent, theta, of_each([cell.descent.rate(cell) for cell in cells]), free, {})


def _begun(part: Checked, held: _Held) -> _Held:
    """A copy with the state of `start`."""
    theta = held.theta.clone()
    return replace(held, theta=theta, state=part.call("start", lambda: held.training.start(theta, held.free)))


def _updated(part: Checked, held: _Held, gradients: Sequence[Tensor], scheduled: Sequence[Sequence[Scheduled]]) -> _Held:
    """The parameter after an update with each of these gradients."""
    for gradient, row in zip(gradients, scheduled, strict=False):
        part.call("update", partial(held.update, gradient.clone(), row))
    return held


def _started(part: Checked, fresh: _Held) -> Generator[Finding, None, _Held]:
    """A copy with the state of `start`, which is looked at."""
    held = _begun(part, fresh)
    if not equal(held.theta, fresh.theta):
        raise Wrong(part.finding("start", "changed theta; wanted the state alone"))
    state: Any = held.state
    if not isinstance(state, dict) or not all(isinstance(value, Tensor) for value in state.values()):
        raise Wrong(part.finding("start", f"gave {shown(state)}; wanted a dict of tensors by name, or an empty one"))
    places = [value.data_ptr() for value in (held.theta, *state.values())]
    if len({*places}) < len(places):
        raise Wrong(part.finding("start", "gave one tensor twice, or theta itself; wanted a tensor for each name: theta.clone()"))
    if len(state) > (most := held.training.moments):
        hint = f"set moments: ClassVar[int] = {len(state)}, by which memory is predicted"
        yield part.finding("start", f"gave {len(state)} tensors; {hint} (it is {most})")
    return held


def _check_update(part: Checked, held: _Held, gradient: Tensor, scheduled: Sequence[float]) -> None:
    """Take an update, and see that it changes theta and the tensors of the state, and nothing else."""
    given = {"gradient": gradient, "rate": held.rate, **{f"free[{name!r}]": value for name, value in held.free.items()}}
    before, state = {name: value.clone() for name, value in given.items()}, dict(held.state)
    part.call("update", partial(held.update, gradient, scheduled))
    if changed := [name for name, value in given.items() if not equal(value, before[name])]:
        raise Wrong(part.finding("update", f"changed {listed(changed)} in place; wanted theta and state changed, nothing else"))
    if held.state.keys() != state.keys():
        names = listed(sorted(map(repr, held.state.keys() ^ state.keys())))
        raise Wrong(part.finding("update", f"put {names} into the state, or took it out; wanted what start returns, no more"))
    for name, value in state.items():
        if held.state[name] is not value:
            wanted = "wanted that of start changed in place, as by mul_, add_ or copy_"
            raise Wrong(part.finding("update", f"put a new tensor into state[{name!r}]; {wanted}"))


class _Recorded(TorchFunctionMode):
    """Inside, functions that read a tensor's values raise, as they do among steps that a GPU records and repeats."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, name = kwargs or {}, getattr(function, "__name__", "")
        number = next((key for key in NUMBERS if isinstance(kwargs.get(key), Tensor)), "")
        if name in READING or number or (name == "__getitem__" and _has_mask(args[1])):
            said = f"{name}({number}=a tensor)" if number else "a mask as index" if name == "__getitem__" else name
            raise RuntimeError(f"{said} reads the values of a tensor")
        return function(*args, **kwargs)


def _has_mask(index: Any) -> bool:
    return any(isinstance(one, Tensor) and one.dtype == torch.bool for one in (index if isinstance(index, tuple) else (index,)))


def _check_as_recorded(part: Checked, fresh: _Held, gradients: Sequence[Tensor], scheduled: Sequence[Sequence[float]]) -> None:
    """Take the updates as a GPU records them. Values that are read then would be those of the first steps for ever."""
    held = _begun(part, fresh)
    why = "so let no if, while, float() or .item() look at the value of a tensor; the numbers of `scheduled` are tensors there"

    def run() -> None:
        with _Recorded():
            for gradient, row in zip(gradients, rows, strict=True):
                held.update(gradient, row)

    rows = [torch.tensor(row, dtype=torch.float64).unbind() if row else () for row in scheduled]
    part.call("update", run, "fails among steps that a GPU records", why)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(-np.inf < value < np.inf)


def _in_words(row: Any) -> str:
    return f"({', '.join(map(shown, row))})" if isinstance(row, tuple | list) and len(row) < 5 else shown(row)
