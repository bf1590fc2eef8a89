"""`resident`: dense networks whose weights stay in a core's cache, on the CPU.

`stacked` takes a step of all networks of a pack before the next step, so that weights, moments and activations come from far
memory each time. Here one network takes a block of steps, then the next one: what a step needs stays in the cache, and products,
activations, loss, gradients and optimiser are one compiled function (trainables.engines.resident.step). So a result does not
depend on the other networks of its pack, not even by rounding.

Examples, initial weights and all that is measured between steps are those of `stacked`.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.engines.resident import step
from trainables.engines.stacked.batches import Held, Seen
from trainables.engines.stacked.stack import Stack, batches_of
from trainables.engines.stacked.traced import Traced
from trainables.engines.stacked.trainer import Stacked
from trainables.networks.base import Parameters, Passes
from trainables.networks.mlp import MLP
from trainables.streams import BLOCK_STEPS
from trainables.tasks.base import Array
from trainables.trainers.base import Groups
from trainables.training.adam import Adam
from trainables.training.adamw import AdamW
from trainables.training.signsgd import SignSGD

ACTIVATIONS = {"relu": step.RELU, "tanh": step.TANH, "erf": step.ERF, "linear": step.LINEAR, "quadratic": step.QUADRATIC}
OPTIMISERS = {Adam: step.ADAM, AdamW: step.ADAM, SignSGD: step.SIGNS}
"""All others descend."""
RIGHT = {"binary": step.SIGN, "classes": step.GREATEST, "real": step.NEITHER}
NO_BYTES = np.empty(0, np.float32)
STAGED_BYTES = 2**19
"""Examples of a group that are drawn at a time, if a block has not more: they still lie in the cache when they are used."""


class Rows(Stack):
    """Networks of one precision whose parameters lie in one row each, as does what the optimiser keeps."""

    def _passes(self, cells: Sequence[Cell], on_gpu: bool) -> Passes:
        return Traced(cells)  # parameters as they are drawn

    def _make_ready(self) -> None:
        cell, network, n_cells = self.cell, self.network, len(self.cells)
        assert isinstance(network, MLP)
        # Each group's own, as training sets of any size may share a pack.
        self.examples = [batches_of(cell)(Seen(Groups([cell]), self.dtype, self.device)) for cell in self.groups.cells]
        self.rows, at = _in_rows(self.theta)
        self.nothing = np.empty((0, 0), self.rows.dtype)
        self.initial = self.nothing if self.theta_0 is None else _in_rows(self.theta_0)[0]
        self.moments = [self._moment(name) for name in next(iter(self.kept.values()))]
        self.moments += [self.nothing] * (2 - len(self.moments))

        names = [(f"w{layer}", f"b{layer}") for layer in range(1, network.depth + 2)]
        w_at, b_at = (np.array([at.get(name, -1) for name in of]) for of in zip(*names, strict=True))
        rates = np.zeros((n_cells, len(names), 2), self.rows.dtype)
        for layer, of_layer in enumerate(names):
            for part, name in enumerate(of_layer):
                if name in self.rates:
                    rates[:, layer, part] = self.rates[name].flatten()
        trained = rates.any((0, 2))
        lowest = int(trained.argmax()) if trained.any() else len(names) - 1
        sizes = np.array([cell.task.input_dim, *(fan_out for _, fan_out in network.fans(cell))])
        factors = self._numbers(network.factors(cell))
        self.layers = step.Layers(sizes, w_at, b_at, factors, ACTIVATIONS[network.activation], lowest)

        free = {name: values.flatten().numpy() for name, values in self.free["w1"].items()}
        decay, momentum = (free.get(name, self._numbers([0.0] * n_cells)) for name in ("weight_decay", "momentum"))
        self.rule = step.Rule(
            loss=step.SQUARED if cell.loss == "mse" else step.LOGISTIC if cell.task.targets == "binary" else step.SURPRISE,
            right=RIGHT[cell.task.targets],
            optimiser=OPTIMISERS.get(type(self.training), step.DESCENT),
            rates=rates,
            decay=decay,
            momentum=momentum,
            keep=self.training.kept(self.rows.dtype) if isinstance(self.training, Adam) else self._numbers([0.0] * 3),
            scheduled=np.empty((0, 0)),
            has_factor=not self.training.has_constant_rate,
            inv_epsilon=self.inv_epsilon.numpy(),
        )
        fresh = BLOCK_STEPS * cell.batch * (cell.task.input_dim + cell.task.n_outputs) * self.rows.itemsize
        staged = BLOCK_STEPS * self.updates * cell.batch * 8 if cell.task.n_train is not None else fresh
        self.targets: dict[int, Array] = {}
        self.blocks_at_once = max(1, STAGED_BYTES // staged)

    def _moment(self, name: str) -> Array:
        of_all = {parameter: kept[name] for parameter, kept in self.kept.items()}
        rows, _ = _in_rows(of_all)
        for parameter, view in of_all.items():
            self.kept[parameter][name] = view
        return rows

    def _numbers(self, values: Sequence[object]) -> Array:
        return np.array(values, np.float64 if self.dtype == torch.float64 else np.float32)

    @torch.no_grad()
    def take(self, first_step: int, n_steps: int) -> Tensor:
        per_step, n_cells = self.updates, len(self.cells)
        loss, right = np.empty((2, n_steps * per_step, n_cells))
        updates = range(first_step * per_step, (first_step + n_steps) * per_step)
        scheduled = np.array([self.training.scheduled(update, per_step) for update in updates])
        last, span = first_step + n_steps, self.blocks_at_once * BLOCK_STEPS
        parts = [
            (at, min(last, (at // span + 1) * span)) for at in [first_step, *range(first_step // span * span + span, last, span)]
        ]
        for g, members in enumerate(self.groups.members):
            for start, end in parts:
                changes = slice((start - first_step) * per_step, (end - first_step) * per_step)
                step.take_changes(
                    np.array(members), self.rows, self.initial, *self.moments, self.layers, self._examples(g, start, end),
                    self.rule._replace(scheduled=scheduled[changes]), loss[changes], right[changes],
                )  # fmt: skip
        each = (n_cells, n_steps, per_step)
        return torch.from_numpy(np.stack([loss.T.reshape(each).mean(-1), right.T.reshape(each).sum(-1)]))

    def _examples(self, g: int, start: int, end: int) -> step.Examples:
        """The batches of group g in these steps."""
        blocks = range(start // BLOCK_STEPS, -(-end // BLOCK_STEPS))
        x, y, order, in_order = self.examples[g].placed(blocks)
        if len(order) > 1:
            skipped = (start - blocks.start * BLOCK_STEPS) * self.updates
            order = order[skipped : skipped + (end - start) * self.updates]
        wanted, n_steps = self._wanted(g, y), (end - start) * self.updates
        if isinstance(x, Held):
            inputs = x.numbers.numpy()
            found = step.Examples(
                inputs, wanted, order, in_order, np.empty((0, 0), np.uint8), np.empty(0, np.int64), self.nothing, NO_BYTES
            )
            n, shapes = len(inputs), (inputs.shape[1:], wanted.shape[1:])
        else:
            of_bytes = np.arange(256, dtype=np.float32) / np.float32(x.white)
            found = step.Examples(
                self.nothing, wanted, order, in_order, x.table.numpy(), x.rows.numpy(), x.front.numpy(), of_bytes
            )
            n, shapes = len(x.rows), (x.table.shape[1:], wanted.shape[1:])
        # Compiled code reads whatever lies beyond an array: a task of a user's own may give fewer examples than it says.
        task = self.cell.task
        is_whole = len(order) == n_steps or (len(order) == 1 and in_order and task.n_train is not None)
        if not is_whole or order.max() >= min(n, len(wanted)) or [*map(tuple, shapes)] != [(task.input_dim,), (task.n_outputs,)]:
            raise ValueError(
                f"task {task.name} gave {n} inputs and {len(wanted)} targets of the shapes {shapes} for {order.size} places"
            )
        return found

    def _wanted(self, g: int, y: Tensor) -> Array:
        """Numbers (R, K) with which the loss compares the outputs of group g. Those of a fixed training set are computed once."""
        if self.cell.task.n_train is None:
            return self._compared(y)
        if g not in self.targets:
            self.targets[g] = self._compared(y)
        return self.targets[g]

    def _compared(self, y: Tensor) -> Array:
        task = self.cell.task
        if task.targets == "classes":
            units = torch.nn.functional.one_hot(y, task.n_outputs).to(self.dtype)
            return (units if self.cell.loss == "cross_entropy" else units * task.target_scale).numpy()
        if task.targets == "binary" and self.cell.loss == "mse":
            y = 2 * y - 1
        return y.reshape(len(y), -1).numpy()

    @torch.no_grad()
    def outputs(self, c: int, settled: Parameters, x: Tensor) -> Tensor:
        """f (n,) or (n, K) of one network at inputs (n, D)."""
        inputs = np.ascontiguousarray(x.numpy())
        g = step.outputs(self.rows[c], inputs, self.layers)
        if self.theta_0 is not None:
            g -= step.outputs(self.initial[c], inputs, self.layers)
        f = torch.from_numpy(g) * self.inv_epsilon[c]
        return f[:, 0] if self.cell.task.n_outputs == 1 else f


def _in_rows(tensors: Parameters) -> tuple[Array, dict[str, int]]:
    """Tensors (C, ...) side by side, (C, P), and where each begins in a row; those given become views of it."""
    flat = torch.cat([tensor.flatten(1) for tensor in tensors.values()], 1)
    at, start = {}, 0
    for name, tensor in tensors.items():
        at[name], end = start, start + tensor[0].numel()
        tensors[name] = flat[:, start:end].view(tensor.shape)
        start = end
    return flat.numpy(), at


class Resident(Stacked):
    """Cells of one shape; implements Trainer."""

    name: ClassVar[str] = "resident"
    stack: ClassVar[type[Stack]] = Rows
