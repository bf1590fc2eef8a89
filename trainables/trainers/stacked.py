"""`stacked`: any network that descends a gradient, many trained at once, on the CPU or a GPU.

A network is given by `init` and `apply` of ONE network; C networks are trained as one tensor program. theta stands for each
parameter, (C, ...); B is the number of examples in a step. Cells fall into S <= C groups that see the same inputs.

f      output g(theta)/epsilon, for a centred network (g(theta) - g(theta_0))/epsilon; (C, B), or (C, B, K) for K outputs
loss   mean over the examples; see `trainables.training.losses`
data   fresh batches; or a fixed training set of P examples, drawn once, from which batches are drawn with replacement, while `gd`
       takes all P at each step. Test examples are fresh

The gradient of the sum of all networks' losses holds each network's own gradient, since no network's loss depends on another's
parameters: one backward pass of `apply` under torch.func.vmap yields all of them. A network may have a faster way (`passes`).

No operation mixes networks, so a result depends on its cell alone, except for rounding: a sum or a batched product may be taken
in another order in a pack of another size. In packs of 1 to 24 networks over 200 steps the loss differed in its last digit, 2e-16
in float64 and 1e-7 in float32, and the difference did not grow. If a library changes its products with the size of the pack,
training may amplify the difference. The tests allow 1e-9 and 1e-5. The same pack, resumed or in another order, gives the same
numbers bit for bit.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from trainables.cell import Cell
from trainables.networks.base import Network, Parameters
from trainables.streams import BLOCK_STEPS, stream
from trainables.tasks.base import Array
from trainables.trainers.base import Groups, Measures, Probed, blocks
from trainables.trainers.centred import half_alignment
from trainables.trainers.staging import Room, Staging
from trainables.training.descent import Minibatch
from trainables.training.losses import loss_of


class Stacked:
    """Cells of one shape; implements Trainer. Cells of one pack may have two precisions; those of each precision form a Stack."""

    name: ClassVar[str] = "stacked"

    def __init__(self, cells: Sequence[Cell], device: str = "cpu") -> None:
        kinds = [dtype_of(cell) for cell in cells]
        self.members = [[c for c, kind in enumerate(kinds) if kind == own] for own in dict.fromkeys(kinds)]
        self.stacks = [Stack([cells[c] for c in members], device) for members in self.members]
        self.place = {
            c: (stack, k) for members, stack in zip(self.members, self.stacks, strict=True) for k, c in enumerate(members)
        }

    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        asked = [stack.take(first_step, n_steps) for stack in self.stacks]
        loss, right = self._together([curves.cpu().numpy().swapaxes(0, 1) for curves in asked]).swapaxes(0, 1)
        return loss, right

    def evaluate(self, step: int) -> Array:
        return self._together([stack.evaluate(step) for stack in self.stacks])

    def measures(self, step: int) -> Measures:
        found = [stack.measures(step) for stack in self.stacks]
        readout, alignment, change = (
            None if any(p is None for p in parts) else self._together([p for p in parts if p is not None])
            for parts in zip(*found, strict=True)
        )
        return Measures(readout, alignment, change)

    def hidden_weights(self, c: int, neurons: Array) -> Array:
        stack, k = self.place[c]
        return stack.theta["w"][k][:, torch.as_tensor(neurons, device=stack.device)].T.cpu().numpy()

    def probed(self, c: int, x: Array) -> Probed:
        stack, k = self.place[c]
        return stack.probed(k, x)

    def state(self) -> dict[str, Array]:
        return {f"{s} {name}": value.cpu().numpy() for s, stack in enumerate(self.stacks) for name, value in stack.changed()}

    def load(self, state: dict[str, Array]) -> None:
        for s, stack in enumerate(self.stacks):
            for name, value in stack.changed():
                value.copy_(torch.from_numpy(state[f"{s} {name}"]))

    def _together(self, parts: list[Array]) -> Array:
        """The stacks' arrays, (C', ...) each, as one array in the order of the pack, (C, ...)."""
        whole = np.empty((len(self.place), *parts[0].shape[1:]), parts[0].dtype)
        for members, part in zip(self.members, parts, strict=True):
            whole[members] = part
        return whole


def dtype_of(cell: Cell) -> torch.dtype:
    """Precision in which the cell is computed: float64 also if a centred output would lose its digits in float32."""
    is_small = cell.network.is_centred and not cell.output_is_literal
    return torch.float64 if cell.dtype == "float64" or is_small else torch.float32


class Stack:
    """Networks of one precision that take each step together."""

    @torch.no_grad()
    def __init__(self, cells: Sequence[Cell], device: str) -> None:
        self.cells, self.device, self.dtype = list(cells), torch.device(device), dtype_of(cells[0])
        self.cell = cell = cells[0]
        self.network, self.training = cell.network, cell.descent
        self.input_dtype = self.dtype if cell.task.inputs == "vector" else torch.int64
        self.target_dtype = torch.int64 if cell.task.targets == "classes" else self.dtype
        self.groups = groups = Groups(cells)
        is_shared = len(groups) < len(cells)
        self.group = torch.tensor(groups.group, device=self.device) if is_shared else None

        self.passes = self.network.passes(cell) or Traced(self.network, cell)
        self.theta = self.passes.arranged(self._initial())
        self.theta_0 = {name: value.clone() for name, value in self.theta.items()} if self.network.is_centred else None
        self.inv_epsilon = self._per_cell(lambda cell: 1 / cell.epsilon)
        rate, factors = self._per_cell(lambda cell: cell.descent.rate(cell)), self.network.rates(self.training)
        free = self._free()
        self.rates, self.free, self.kept = {}, {}, {}
        for name, theta in self.theta.items():
            multiplying = (-1, *(1,) * (theta.dim() - 1))
            self.rates[name] = (rate * factors.get(name, 1.0)).view(multiplying)
            self.free[name] = {key: value.view(multiplying) for key, value in free.items()}
            self.kept[name] = self.training.start(theta, self.free[name])

        self.loss = loss_of(cell)
        kind = Fresh if cell.task.n_train is None else WholeSet if self.training.is_full_batch else Redrawn
        self.batches: Batches = kind(self)

    def _initial(self) -> Parameters:
        """Initial parameters (C, ...), drawn one by one, because drawing all first would take the memory twice."""
        theta: Parameters = {}
        for c, cell in enumerate(self.cells):
            drawn = cell.network.init(stream(self.groups.owners[self.groups.group[c]], "weights"), cell)
            for name, values in drawn.items():
                if name not in theta:
                    theta[name] = torch.empty(len(self.cells), *np.shape(values), dtype=self.dtype, device=self.device)
                theta[name][c] = torch.from_numpy(np.asarray(values))
        return theta

    def _per_cell(self, of: Callable[[Cell], float]) -> Tensor:
        return torch.tensor([of(cell) for cell in self.cells], dtype=self.dtype, device=self.device)

    def _free(self) -> Parameters:
        """The training's own keys in which cells may differ, (C,) each. A key that is 0 by default and in all cells is left
        out."""
        found = {}
        for name in self.training.free:
            values = [getattr(cell.training, name) for cell in self.cells]
            if name not in Minibatch.model_fields and (any(values) or type(self.training).model_fields[name].default != 0):
                found[name] = self._per_cell(lambda cell, name=name: getattr(cell.training, name))  # type: ignore[misc]
        return found

    @torch.no_grad()
    def take(self, first_step: int, n_steps: int) -> Tensor:
        """Take the steps without waiting for the device. Returns loss and right predictions, (2, C, n_steps)."""
        parts = []
        for block, steps in blocks(first_step, n_steps):
            self.batches.draw(block)
            taken = [self._step(*self.batches.at(k), block * BLOCK_STEPS + k) for k in range(steps.start, steps.stop)]
            self.batches.used(block + (steps.stop == BLOCK_STEPS))
            f, y = (torch.stack(tensors, 1) for tensors in zip(*taken, strict=True))
            parts.append(torch.stack(self.loss.measured(f, y)))
        return torch.cat(parts, -1)

    def of_cells(self, x: Tensor) -> Tensor:
        """An array with an entry per group, (S, ...), expanded to an entry per cell, (C, ...)."""
        return x if self.group is None else x[self.group]

    def _step(self, x: Tensor, y: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """One step on inputs (C, B, ...) and targets. Returns f before it, and the targets."""
        g_0 = self.passes.outputs(self.theta_0, x).clone() if self.theta_0 is not None else None
        g = self.passes.outputs(self.theta, x)
        to_output = self.inv_epsilon.view(-1, *(1,) * (g.dim() - 1))
        f = g * to_output if g_0 is None else (g - g_0) * to_output
        slopes = self.loss.slopes(f, y).mul_(to_output / f.shape[1])
        for name, gradient in self.passes.gradients(slopes):
            self.training.update(self.theta[name], gradient, self.kept[name], self.rates[name], self.free[name], step)
        return f, y

    @torch.no_grad()
    def outputs(self, c: int, x: Tensor) -> Tensor:
        """f (n,) or (n, K) of one network at inputs (n, ...)."""
        g = self.network.apply({name: theta[c] for name, theta in self.theta.items()}, x, self.cell)
        if self.theta_0 is not None:
            g = g - self.network.apply({name: theta[c] for name, theta in self.theta_0.items()}, x, self.cell)
        return g * self.inv_epsilon[c]

    def evaluate(self, step: int) -> Array:
        """Accuracy (C,), or for real targets the mean squared error."""
        found = torch.empty(len(self.cells), dtype=torch.float64, device=self.device)
        for g, members in enumerate(self.groups.members):
            x, y = self._test_examples(g, step)
            for c in members:
                loss, right = self.loss.measured(self.outputs(c, x), y)
                found[c] = loss if self.cell.task.targets == "real" else right / len(x)
        return found.cpu().numpy()

    @torch.no_grad()
    def measures(self, step: int) -> Measures:
        """Measures from the weights now and at initialisation; None for a network that keeps no neurons."""
        if "neurons" not in self.network.keeps or self.theta_0 is None:
            return Measures(None, None, None)
        w, w_0 = self.theta["w"], self.theta_0["w"]
        change = np.empty(len(self.cells))
        for g, members in enumerate(self.groups.members):
            x, _ = self._test_examples(g, step)
            for c in members:
                h_0 = x @ w_0[c]
                change[c] = float((x @ w[c] - h_0).abs().mean() / h_0.abs().mean())
        readout = self.theta["a"]
        alignment = half_alignment(w) if self.cell.task.has_two_halves else torch.full_like(readout, torch.nan)
        return Measures(readout.cpu().numpy().copy(), alignment.cpu().numpy(), change)

    @torch.no_grad()
    def probed(self, c: int, x: Array) -> Probed:
        """Outputs, features and parameters of one network at inputs from the host."""
        own = {name: theta[c] for name, theta in self.theta.items()}
        inputs = self.inputs(x)
        features = self.network.features(own, inputs, self.cell)
        return Probed(
            self.outputs(c, inputs).cpu().numpy(),
            None if features is None else features.cpu().numpy(),
            {name: value.cpu().numpy().copy() for name, value in own.items()},
        )

    def changed(self) -> Iterator[tuple[str, Tensor]]:
        """All that training changes, by name."""
        for name, theta in self.theta.items():
            yield name, theta
            for kept, value in self.kept[name].items():
                yield f"{name} {kept}", value

    def inputs(self, x: Array) -> Tensor:
        """Inputs from the host as a tensor: vectors in the stack's precision, tokens as whole numbers."""
        return torch.from_numpy(np.ascontiguousarray(x)).to(self.device, self.input_dtype)

    def targets(self, y: Array) -> Tensor:
        """Targets from the host as a tensor: classes as whole numbers, others in the stack's precision."""
        return torch.from_numpy(np.ascontiguousarray(y)).to(self.device, self.target_dtype)

    def train_examples(self, g: int, n: int, block: int = 0) -> tuple[Array, Array]:
        """The n training examples of a block, as a group of cells sees them."""
        rng = stream(self.groups.owners[g], "batches", block)
        return self.groups.cells[g].task.train_examples(rng, self.groups.symbols[g], n)

    def _test_examples(self, g: int, step: int) -> tuple[Tensor, Tensor]:
        x, y = self.groups.draw_tests(g, step)
        return self.inputs(x), self.targets(y)


class Traced:
    """Outputs and gradients of any network: `apply` under torch.func.vmap, and autograd; implements Passes."""

    def __init__(self, network: Network, cell: Cell) -> None:
        self.apply = vmap(lambda parameters, x: network.apply(parameters, x, cell))
        self.parameters: Parameters = {}
        self.g: Tensor | None = None

    def arranged(self, parameters: Parameters) -> Parameters:
        return parameters

    def outputs(self, parameters: Parameters, x: Tensor) -> Tensor:
        self.parameters = {name: theta.detach().requires_grad_() for name, theta in parameters.items()}
        with torch.enable_grad():
            self.g = self.apply(self.parameters, x)
        return self.g.detach()

    def gradients(self, slopes: Tensor) -> Iterator[tuple[str, Tensor]]:
        assert self.g is not None
        found = torch.autograd.grad(self.g, list(self.parameters.values()), slopes, materialize_grads=True)
        self.g = None
        yield from zip(self.parameters, found, strict=True)


class Batches(Protocol):
    """Inputs and targets of the steps of a block."""

    def draw(self, block: int) -> None:
        """Get the steps of this block ready."""

    def used(self, following: int) -> None:
        """Note that the steps are queued; those of the block `following` come next."""

    def at(self, k: int) -> tuple[Tensor, Tensor]:
        """Inputs (C, B, ...) and targets (C, B) or (C, B, K) of step k of the block."""


class Fresh:
    """Fresh examples at each step, a block of steps drawn at a time; implements Batches."""

    def __init__(self, stack: "Stack") -> None:
        self.stack, cell = stack, stack.cell
        shape = (len(stack.groups), BLOCK_STEPS, cell.batch)
        components = (cell.task.n_outputs,) if cell.task.targets == "real" and cell.task.n_outputs > 1 else ()
        rooms = [Room((*shape, cell.task.input_dim), stack.input_dtype), Room((*shape, *components), stack.target_dtype)]
        on_gpu = stack.device.type == "cuda"
        self.staging = Staging(rooms, stack.device, len(stack.groups), stack.groups.draw_block, ahead=on_gpu)

    def draw(self, block: int) -> None:
        self.x, self.y = self.staging.take(block)

    def used(self, following: int) -> None:
        self.staging.used(following)

    def at(self, k: int) -> tuple[Tensor, Tensor]:
        return self.stack.of_cells(self.x[:, k]), self.stack.of_cells(self.y[:, k])


class WholeSet:
    """The P examples of a fixed training set at each step; implements Batches."""

    def __init__(self, stack: "Stack") -> None:
        n = stack.cell.task.n_train or 0
        drawn = [stack.train_examples(g, n) for g in range(len(stack.groups))]
        self.x = stack.of_cells(torch.stack([stack.inputs(x) for x, _ in drawn]))
        self.y = stack.of_cells(torch.stack([stack.targets(y) for _, y in drawn]))

    def draw(self, block: int) -> None:
        """Nothing is left to draw."""

    def used(self, following: int) -> None:
        """Nothing is drawn."""

    def at(self, k: int) -> tuple[Tensor, Tensor]:
        return self.x, self.y


class Redrawn:
    """Batches drawn with replacement from a fixed training set of P examples; implements Batches."""

    def __init__(self, stack: "Stack") -> None:
        self.stack, self.n = stack, stack.cell.task.n_train or 0
        drawn = [stack.train_examples(g, self.n) for g in range(len(stack.groups))]
        self.x, self.y = [stack.inputs(x) for x, _ in drawn], [stack.targets(y) for _, y in drawn]
        self.order: Tensor | None = None

    def draw(self, block: int) -> None:
        shape = (BLOCK_STEPS, self.stack.cell.batch)
        order = [stream(owner, "order", block).integers(0, self.n, shape) for owner in self.stack.groups.owners]
        self.order = torch.from_numpy(np.stack(order)).to(self.stack.device)

    def used(self, following: int) -> None:
        """The next batches are drawn when they are asked for."""

    def at(self, k: int) -> tuple[Tensor, Tensor]:
        assert self.order is not None
        x, y = (torch.stack([a[rows] for a, rows in zip(of, self.order[:, k], strict=True)]) for of in (self.x, self.y))
        return self.stack.of_cells(x), self.stack.of_cells(y)
