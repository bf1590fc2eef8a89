"""Check of a network before anything trains: shapes, values, and gradients that reach its parameters."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from sweepkit.console.words import listed
from trainables.cell import Cell
from trainables.checking.part import Checked, Finding, Wrong, collected, drawn_twice
from trainables.checking.task import N
from trainables.checking.tensors import close, equal, noise, one_thread, type_name
from trainables.checking.values import fresh_generator, not_finite, shown
from trainables.networks.base import Network, held, own_passes
from trainables.tensors import as_inputs, as_tensors

N_ROWS = 3
"""Number of examples that a network also gets alone, to see whether their outputs depend on the other examples."""
DRAWS = 8
"""Weights that are tried before a gradient counts as zero: under one set of weights all of a few ReLU neurons may be dead."""


def check_network(cell: Cell) -> list[Finding]:
    """Findings on the cell's network at examples of its task. The task must have passed its check."""
    with one_thread():
        return collected(_of_network(cell))


def check_size(cell: Cell) -> list[Finding]:
    """Findings on counting the parameters of the cell's network, by which time and memory are predicted. Cells of one shape are
    counted once, here if not before."""
    network = cell.network
    part = Checked(f"network {network.name}", type(network))
    name = "init" if type(network).n_parameters is Network.n_parameters else "n_parameters"
    try:
        part.call(name, lambda: network.n_parameters(cell))
    except Wrong as wrong:
        return [wrong.finding]
    return []


def _of_network(cell: Cell) -> Iterator[Finding]:
    network = cell.network
    part = Checked(f"network {network.name}", type(network))
    initial = yield from drawn_twice(part, "init", lambda rng: network.init(rng, cell))
    another = part.call("init", lambda: network.init(fresh_generator(1), cell))
    for drawn in (initial, another):
        if problems := list(_parameters(drawn)):
            yield from (part.finding("init", problem) for problem in problems)
            return
    shapes, others = ({name: np.shape(values) for name, values in drawn.items()} for drawn in (initial, another))
    if shapes != others:
        wanted = "wanted the same for every state of its generator, as networks of all seeds train side by side"
        raise Wrong(part.finding("init", f"gave parameters of shapes {_all_of(shapes)}, and then {_all_of(others)}; {wanted}"))
    yield from _scaling(part, cell, shapes)
    if "neurons" in network.keeps:
        wanted_shapes = {"w": (cell.task.input_dim, cell.width), "a": (cell.width,)}
        if shapes != wanted_shapes or not network.is_centred:
            wanted = f"wanted {_all_of(wanted_shapes)} of a centred network; else set keeps: ClassVar = ('curves',)"
            yield part.finding("keeps", f"holds neurons, and init gives {_all_of(shapes)}; {wanted}")
    x = _inputs(cell)
    theta = [as_tensors(cell, values) for values in (initial, another)]
    before = {name: value.clone() for name, value in theta[0].items()}, x.clone()
    with torch.no_grad():
        g = part.call("apply", lambda: network.apply(theta[0], x, cell))
        changed = [name for name, value in theta[0].items() if not equal(value, before[0][name])]
        changed += ["the inputs"] * (not equal(x, before[1]))
        if changed:
            raise Wrong(part.finding("apply", f"changed {', '.join(changed)} in place; wanted a new tensor"))
        if problems := list(_outputs(cell, len(x), g)):
            yield from (part.finding("apply", problem) for problem in problems)
            return
        if not g.any():  # as of a readout that starts at zero: whatever apply does, it would pass
            theta[0] = {name: value + noise(value, 0) for name, value in theta[0].items()}
            g = part.call("apply", lambda: network.apply(theta[0], x, cell))
        if not close(part.call("apply", lambda: network.apply(theta[0], x, cell)), g, g):
            wanted = "wanted a function of parameters and inputs alone"
            raise Wrong(part.finding("apply", f"gave two different outputs for the same inputs; {wanted}"))
        differing, other = _beside(cell)
        if not close(part.call("apply", lambda: network.apply(theta[0], x, other)), g, g):
            wanted = "networks that differ only there train together, so wanted a function of parameters, inputs and other keys"
            yield part.finding("apply", f"gave other outputs for another {listed(differing)}; {wanted}")
        settled, after = theta[0], ""
        if network.mixes_examples:
            settled, after = part.call("settled", lambda: network.settled(theta[0], x, cell)), ", given what settled returned"
        whole = part.call("apply", lambda: network.apply(settled, x, cell))
        few = part.call("apply", lambda: network.apply(settled, x[:N_ROWS], cell))
        if not close(few, whole[: N_ROWS * cell.task.n_answers], whole):
            wanted = f"wanted outputs that depend on their own example alone{after}"
            yield part.finding("apply", f"gave other outputs for {N_ROWS} examples alone than among {len(x)}; {wanted}")
        yield from _features(part, cell, theta[0], x)
    yield from _passes(part, cell, theta[0], x)
    apply = vmap(lambda parameters, inputs: network.apply(parameters, inputs, cell))
    reached: set[str] = set()
    for k in range(DRAWS):
        stacked = {name: torch.stack([own[name] for own in theta]) for name in initial}
        if k:
            stacked = {name: value + noise(value, k) for name, value in stacked.items()}
        stacked = {name: value.requires_grad_() for name, value in stacked.items()}
        why = "networks train many at once, so no if, while, float() or .item() may look at the values of a tensor"
        outputs = part.call("apply", lambda: apply(stacked, torch.stack([x, x])), "fails under torch.func.vmap", why)  # noqa: B023
        if not k and not close(outputs[0].detach(), g, g):
            yield part.finding("apply", "gave other outputs under torch.func.vmap than for one network; wanted the same")
        reached |= part.call("apply", lambda: _reached(stacked, outputs), "has no derivative")  # noqa: B023
        if reached == stacked.keys():
            return
    for name in initial:
        if name not in reached:
            hint = "let apply use it by operations that have a derivative, or leave it out of init"
            yield part.finding("apply", f"lets no gradient reach parameter {name!r}, as for all examples it is zero; {hint}")


def _beside(cell: Cell) -> tuple[list[str], Cell]:
    """The keys of seed and network in which cells of one pack may differ, and a cell that differs in them."""
    free = {name: getattr(cell.network, name) for name in cell.network.free if name in type(cell.network).model_fields}
    numbers = {name: value for name, value in free.items() if isinstance(value, int | float) and not isinstance(value, bool)}
    network = cell.network.model_copy(update={name: value + 1 for name, value in numbers.items()})
    return ["seed", *numbers], cell.model_copy(update={"seed": cell.seed + 1, "network": network})


def _parameters(drawn: Any) -> Iterator[str]:
    """Problems of initial parameters."""
    if not isinstance(drawn, dict) or not drawn:
        yield f"gave {shown(drawn)}; wanted a dict of arrays by name"
        return
    for name, values in drawn.items():
        if not isinstance(name, str):
            yield f"gave a parameter called {name!r}; wanted a text as its name"
        elif not isinstance(values, np.ndarray | np.generic):
            yield f"gave {shown(values)} as parameter {name!r}; wanted an array"
        elif values.dtype not in (np.float32, np.float64):
            yield f"gave parameter {name!r} of type {values.dtype}; wanted float32 or float64"
        elif not np.size(values):
            yield f"gave parameter {name!r} of shape {np.shape(values)}, which holds no number"
        elif not np.isfinite(values).all():
            yield f"gave parameter {name!r} that holds {not_finite(np.asarray(values))}; wanted finite numbers"


def _scaling(part: Checked, cell: Cell, names: Collection[str]) -> Iterator[Finding]:
    """Findings on the numbers that a network gives besides its function; `names` are those of its parameters."""
    network = cell.network
    for name, number in (
        ("scale", part.call("scale", lambda: network.scale(cell.task))),
        ("n_activations", part.call("n_activations", lambda: network.n_activations(cell))),
    ):
        if not (_is_finite(number) and number > 0):
            yield part.finding(name, f"gave {shown(number)}; wanted a number > 0")
    rates = part.call("rates", lambda: network.rates(cell.training))
    if not isinstance(rates, Mapping):
        yield part.finding("rates", f"gave {shown(rates)}; wanted a dict of factors by the name of a parameter")
        return
    for name, factor in rates.items():
        if name not in names:
            yield part.finding("rates", f"names {name!r}; wanted names of parameters: {', '.join(names)}")
        elif not (_is_finite(factor) and factor >= 0):
            yield part.finding("rates", f"gave {shown(factor)} as the factor of {name!r}; wanted a number >= 0")


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(-np.inf < value < np.inf)


def _all_of(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items())


def _outputs(cell: Cell, n: int, g: Any) -> Iterator[str]:
    """Problems of outputs for n examples."""
    k = cell.task.n_outputs
    n *= cell.task.n_answers
    shape = (n,) if k == 1 else (n, k)
    if not isinstance(g, torch.Tensor):
        yield f"gave {shown(g)}; wanted a tensor of shape {shape}"
    elif tuple(g.shape) != shape:
        outputs = "one output" if k == 1 else f"{k} outputs"
        yield f"gave outputs of shape {tuple(g.shape)}; wanted {shape}: task {cell.task.name} has {outputs} an example"
    elif not g.is_floating_point():
        yield f"gave outputs of type {type_name(g)}; wanted floats"
    elif not torch.isfinite(g).all():
        yield f"gave outputs at initialisation that hold {not_finite(g.numpy())}; wanted finite numbers"


def _features(part: Checked, cell: Cell, theta: dict[str, Tensor], x: Tensor) -> Iterator[Finding]:
    h = part.call("features", lambda: cell.network.features(theta, x, cell))
    if h is None:
        return
    if not isinstance(h, torch.Tensor) or h.dim() != 2 or len(h) != len(x):
        given = f"a tensor of shape {tuple(h.shape)}" if isinstance(h, torch.Tensor) else shown(h)
        yield part.finding("features", f"gave {given}; wanted ({len(x)}, m), activations of m neurons for n examples, or None")
    elif not h.is_floating_point():
        yield part.finding("features", f"gave activations of type {type_name(h)}; wanted floats")
    elif not torch.isfinite(h).all():
        yield part.finding("features", f"gave activations that hold {not_finite(h.numpy())}; wanted finite numbers")


def _passes(part: Checked, cell: Cell, theta: dict[str, Tensor], x: Tensor) -> Iterator[Finding]:
    """A network's own way to outputs and gradients, beside autograd through `apply`."""
    passes = part.call("passes", lambda: own_passes([cell], on_cpu=True))
    if passes is None:
        return
    untrained = held([cell])
    theta = {name: (value if name in untrained else value + noise(value, 0)).requires_grad_() for name, value in theta.items()}
    g = cell.network.apply(theta, x, cell)
    slopes = torch.from_numpy(fresh_generator().standard_normal(tuple(g.shape))).to(g.dtype)
    wanted = torch.autograd.grad(g, list(theta.values()), slopes, allow_unused=True)
    with torch.no_grad():
        stacked = passes.arranged({name: value.detach()[None].clone() for name, value in theta.items()})
        alone = part.call("passes", lambda: passes.alone({name: value[0] for name, value in stacked.items()}, x))
        outputs = part.call("passes", lambda: passes.outputs(stacked, x[None]).clone())
        found = part.call("passes", lambda: {name: one.clone() for name, one in passes.gradients(slopes[None])})
    if not (close(outputs[0], g.detach(), g) and close(alone, g.detach(), g)):
        yield part.finding("passes", "gave other outputs than apply; wanted the same")
    for name, gradient in zip(theta, wanted, strict=True):
        if name not in untrained and gradient is not None and not (name in found and close(found[name][0], gradient, gradient)):
            yield part.finding("passes", f"gave another gradient of parameter {name!r} than apply has; wanted the same")


def _reached(theta: Mapping[str, Tensor], outputs: Tensor) -> set[str]:
    """Names of the parameters with a nonzero gradient of these outputs, weighted at random as a loss would weight them."""
    if not outputs.requires_grad:
        return set()
    slopes = torch.from_numpy(fresh_generator().standard_normal(tuple(outputs.shape))).to(outputs.dtype)
    found = torch.autograd.grad(outputs, list(theta.values()), slopes, allow_unused=True)
    return {name for name, gradient in zip(theta, found, strict=True) if gradient is not None and bool((gradient != 0).any())}


def _inputs(cell: Cell) -> Tensor:
    """Examples of the cell's task; random numbers instead if the task's files are not made yet."""
    task = cell.task
    if not task.preparations():
        return as_inputs(cell, task.test_examples(fresh_generator(), task.draw_symbols(fresh_generator()), N)[0])
    if task.inputs == "tokens":
        return as_inputs(cell, fresh_generator().integers(0, task.n_tokens, (N, task.input_dim)))
    return as_inputs(cell, fresh_generator().standard_normal((N, task.input_dim)))
