"""Networks of one shape and one precision that take each step together; notation of trainables.engines.stacked.trainer."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from trainables.cell import Cell
from trainables.engines.stacked.batches import Batches, Fresh, Redrawn, Seen, Shuffled, WholeSet
from trainables.engines.stacked.traced import Traced
from trainables.kernels.sizes import TOGETHER
from trainables.metrics.base import Probed
from trainables.networks.base import Parameters, Passes, own_passes
from trainables.result import scores_of
from trainables.streams import BLOCK_STEPS, initial_parameters, measured_at_once, training_probe
from trainables.tasks.base import Array
from trainables.trainers.base import Groups, Measures, blocks
from trainables.trainers.card.faults import take_every_digit
from trainables.trainers.card.graphs import recorded
from trainables.trainers.card.staging import Room, Staging, in_turn
from trainables.trainers.centred import compared_halves
from trainables.trainers.scores import scored
from trainables.training.descent import Scheduled, own_free
from trainables.training.losses import loss_of

WHOLE = slice(0, BLOCK_STEPS)
"""All steps of a block."""


class Stack:
    """Networks of one precision that take each step together."""

    @torch.no_grad()
    def __init__(self, cells: Sequence[Cell], device: str, as_on_gpu: bool | None = None) -> None:
        self.cells, self.device = list(cells), torch.device(device)
        self.cell = cell = cells[0]
        self.dtype = torch.float64 if cell.needs_float64 else torch.float32
        self.network, self.training = cell.network, cell.descent
        on_gpu = self.device.type == "cuda"
        self.as_on_gpu = on_gpu if as_on_gpu is None else as_on_gpu
        if on_gpu:
            take_every_digit()
        self.groups = groups = Groups(cells)
        self.seen = Seen(groups, self.dtype, self.device)

        self.passes = self._passes(cells, on_gpu or self.as_on_gpu)
        self.theta = self.passes.arranged(self._initial())
        self.probe = self._training_probe() if self.network.mixes_examples else None
        self.theta_0 = {name: value.clone() for name, value in self.theta.items()} if self.network.is_centred else None
        self.inv_epsilon = self._per_cell([1 / cell.epsilon for cell in cells])
        rate = self._per_cell([cell.descent.rate(cell) for cell in cells])
        free = {name: self._per_cell(values) for name, values in own_free([cell.descent for cell in cells]).items()}
        factors = [cell.network.rates(self.training) for cell in cells]
        self.rates, self.free, self.kept = {}, {}, {}
        for name, theta in self.theta.items():
            multiplying = (-1, *(1,) * (theta.dim() - 1))
            self.rates[name] = (rate * rate.new_tensor([of.get(name, 1.0) for of in factors])).view(multiplying)
            self.free[name] = {key: value.view(multiplying) for key, value in free.items()}
            self.kept[name] = self.training.start(theta, self.free[name])

        self.loss = loss_of(cell)
        self.updates = cell.updates
        self.apply = vmap(lambda parameters, x: cell.network.apply(parameters, x, cell))
        self.settle = vmap(lambda parameters, x: cell.network.settled(parameters, x, cell))
        self._make_ready()

    def _make_ready(self) -> None:
        """Make what steps need."""
        cell = self.cell
        self.batches = batches_of(cell)(self.seen)
        scheduled = Room((BLOCK_STEPS * self.updates, len(self.training.scheduled(0))), torch.float64)
        fill = partial(_fill, self.batches, cell, len(self.groups))
        self.staging = Staging([*self.batches.rooms, scheduled], self.device, len(self.groups) + 1, fill, ahead=self.as_on_gpu)
        # Outputs (C, n, B) or (C, n, B, K) of the batches of the steps that are measured at once; and of a block's steps loss and
        # right predictions (2, C, BLOCK_STEPS).
        self.at_once = measured_at_once(cell)
        components = (cell.task.n_outputs,) if cell.task.n_outputs > 1 else ()
        kept = (len(self.cells), self.at_once * self.updates, cell.batch * cell.task.n_answers, *components)
        self.f = torch.zeros(kept, dtype=self.dtype, device=self.device)
        self.curves = torch.zeros(2, len(self.cells), BLOCK_STEPS, dtype=torch.float64, device=self.device)
        self.graphs = self._recorded() if self.device.type == "cuda" else None

    def _passes(self, cells: Sequence[Cell], on_gpu: bool) -> Passes:
        return own_passes(cells, on_cpu=not on_gpu) or Traced(cells)

    def _initial(self) -> Parameters:
        """Initial parameters (C, ...), drawn one by one, because drawing all first would take the memory twice."""
        theta: Parameters = {}
        for c, cell in enumerate(self.cells):
            drawn = initial_parameters(cell)
            for name, values in drawn.items():
                if name not in theta:
                    theta[name] = torch.empty(len(self.cells), *np.shape(values), dtype=self.dtype, device=self.device)
                theta[name][c] = torch.from_numpy(np.asarray(values))
        return theta

    def _training_probe(self) -> Tensor:
        """Training inputs of each group, (S, n, ...), from which a network that mixes examples takes what evaluation needs."""
        return torch.stack([self.seen.inputs(training_probe(cell)[0]) for cell in self.groups.cells])

    def _per_cell(self, values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=self.dtype, device=self.device)

    @torch.no_grad()
    def take(self, first_step: int, n_steps: int) -> Tensor:
        """Take the steps without waiting for the device. Returns loss and right predictions, (2, C, n_steps)."""
        curves = torch.empty(2, len(self.cells), n_steps, dtype=torch.float64, device=self.device)
        done = 0
        for block, steps in blocks(first_step, n_steps):
            self.staging.take(block)
            if self.graphs and steps == WHOLE:
                self.graphs[self.staging.turn].replay()
            else:
                self._steps(steps, self.staging.turn)
            self.staging.used(block + (steps.stop == BLOCK_STEPS))
            end = done + steps.stop - steps.start
            curves[..., done:end] = self.curves[..., steps]
            done = end
        return curves

    def _steps(self, steps: slice, turn: int) -> None:
        """Take these steps of a block. All that differs from block to block lies in the staged tensors of the turn."""
        *staged, rows = self.staging.tensors[turn]
        scheduled = [row.unbind() for row in rows] if self.as_on_gpu else rows.tolist()
        for part in [steps] if self.at_once > 1 else [slice(k, k + 1) for k in range(steps.start, steps.stop)]:
            batches = range(part.start * self.updates, part.stop * self.updates)
            y = self.seen.answers(self.batches.targets(staged, slice(batches.start, batches.stop)))
            for n, k in enumerate(batches):
                self.f[:, n] = self._step(self.batches.inputs(staged, k), y[:, n], scheduled[k])
            loss, right = self.loss.measured(self.f[:, : len(batches)], y)
            self.curves[0][:, part] = loss.view(len(self.cells), -1, self.updates).mean(-1)
            self.curves[1][:, part] = right.view(len(self.cells), -1, self.updates).sum(-1)

    def _step(self, x: Tensor, y: Tensor, scheduled: Sequence[Scheduled]) -> Tensor:
        """One change of the parameters, on inputs (C, B, ...) and targets. Returns f before it."""
        g_0 = self.passes.outputs(self.theta_0, x).clone() if self.theta_0 is not None else None
        g = self.passes.outputs(self.theta, x)
        to_output = self.inv_epsilon.view(-1, *(1,) * (g.dim() - 1))
        f = g * to_output if g_0 is None else (g - g_0) * to_output
        slopes = self.loss.slopes(f, y).mul_(to_output / f.shape[1])
        factor, own = (None, scheduled) if self.training.has_constant_rate else (scheduled[0], scheduled[1:])
        for name, gradient in self.passes.gradients(slopes):
            rate = self.rates[name] if factor is None else self.rates[name] * factor
            self.training.update(self.theta[name], gradient, self.kept[name], rate, self.free[name], own)
        return f

    def _recorded(self) -> list[torch.cuda.CUDAGraph]:
        """The steps of a block as a CUDA graph, for each turn of the staged tensors. Leaves networks before their first step."""
        initial = {name: theta.to("cpu", copy=True) for name, theta in self.theta.items()}
        works = [partial(self._steps, WHOLE, turn) for turn in range(len(self.staging.tensors))]
        try:
            graphs = recorded(self.device, partial(self._steps, slice(0, 1), 0), works)
        except RuntimeError as error:
            error.add_note(f"The steps of network {self.network.name} are recorded as a CUDA graph; see Network.apply.")
            raise
        for name, theta in self.theta.items():
            theta.copy_(initial[name])
            for kept, value in self.training.start(theta, self.free[name]).items():
                self.kept[name][kept].copy_(value)
        return graphs

    @torch.no_grad()
    def settled(self, c: int) -> Parameters:
        """The parameters of one network as evaluation takes them."""
        own = {name: theta[c] for name, theta in self.theta.items()}
        return own if self.probe is None else self.network.settled(own, self.probe[self.groups.group[c]], self.cell)

    @torch.no_grad()
    def outputs(self, c: int, settled: Parameters, x: Tensor) -> Tensor:
        """f (n,) or (n, K) of one network at inputs (n, ...)."""
        g = self.passes.alone(settled, x)
        if self.theta_0 is not None:
            g = g - self.passes.alone({name: theta[c] for name, theta in self.theta_0.items()}, x)
        return g * self.inv_epsilon[c]

    @torch.no_grad()
    def evaluate(self, step: int, n: int) -> Array:
        """Scores (S, C) on n test examples, and as many for validation if there is one. More than `test_size` are passed in
        parts of that many, to take no more memory."""
        if self.cell.task.n_answers > 1:
            found = self._evaluated_in_parts(step, n)
        else:
            found = self._evaluated_together(step, n) if self.as_on_gpu else self._evaluated_in_turn(step, n)
        return found.cpu().numpy()

    def _evaluated_in_parts(self, step: int, n: int) -> Tensor:
        """Evaluate the cells one by one on parts as large as a batch, so that it holds no more outputs than a training step."""
        batch, n_answers = self.cell.batch, self.cell.task.n_answers
        found = torch.empty(len(scores_of(self.cell.task)), len(self.cells), dtype=torch.float64, device=self.device)
        for g, members in enumerate(self.groups.members):
            x, y = self._as_tensors(self._drawn(g, step, n))
            for c in members:
                settled, means = self.settled(c), []
                for own_x, own_y in zip(
                    torch.split(x, n), torch.split(y, n * n_answers), strict=True
                ):  # test, and validation if there is one
                    parts = zip(torch.split(own_x, batch), torch.split(own_y, batch * n_answers), strict=True)
                    sums = torch.stack([self._summed(c, settled, *part) for part in parts]).sum(0)
                    means.append(sums / len(own_y))
                of_test, *of_validation = means
                found[:, c] = torch.stack([of_test[1], *(mean[0] for mean in of_validation)])
        return found

    def _summed(self, c: int, settled: Parameters, x: Tensor, y: Tensor) -> Tensor:
        """Sums of loss and of right predictions, (2,), over answers to classes."""
        loss, right = self.loss.measured(self.outputs(c, settled, x), y)
        return torch.stack([loss * y.numel(), right])

    def _evaluated_in_turn(self, step: int, n: int) -> Tensor:
        """Evaluate the cells one by one, so that arrays stay in a CPU's cache."""
        found = torch.empty(len(scores_of(self.cell.task)), len(self.cells), dtype=torch.float64, device=self.device)
        for g, members in enumerate(self.groups.members):
            x, y = self._as_tensors(self._drawn(g, step, n))
            for c in members:
                settled = self.settled(c)
                f = [self.outputs(c, settled, part) for part in torch.split(x, self.cell.test_size)]
                found[:, c] = self._scores(f[0] if len(f) == 1 else torch.cat(f), y, 0)
        return found

    def _evaluated_together(self, step: int, n: int) -> Tensor:
        """Evaluate many cells at once, while threads draw the examples of the next ones."""
        parts = self._at_once()
        groups = [list(dict.fromkeys(self.groups.group[part])) for part in parts]
        asked = [g for own in groups for g in own]
        drawn = in_turn(lambda i: self._drawn(asked[i], step, n), len(asked))
        found = []
        for part, own in zip(parts, groups, strict=True):
            tests = [next(drawn) for _ in own]
            x, y = self.seen.inputs(np.stack([x for x, _ in tests])), self.seen.targets(np.stack([y for _, y in tests]))
            group = [own.index(g) for g in self.groups.group[part]]
            if len(own) < len(group):
                x, y = x[group], y[group]
            theta = {name: theta[part] for name, theta in self.theta.items()}
            if self.probe is not None:
                theta = self.settle(theta, self.probe[self.groups.group[part]])
            f = [self._outputs_together(part, theta, inputs) for inputs in torch.split(x, self.cell.test_size, dim=1)]
            found.append(self._scores(f[0] if len(f) == 1 else torch.cat(f, dim=1), y, 1))
        return torch.cat(found, dim=1)

    def _outputs_together(self, part: slice, settled: Parameters, x: Tensor) -> Tensor:
        """f (k, n) or (k, n, K) of a part of the networks at inputs (k, n, ...)."""
        g = self.apply(settled, x)
        if self.theta_0 is not None:
            g = g - self.apply({name: theta[part] for name, theta in self.theta_0.items()}, x)
        return g * self.inv_epsilon[part].view(-1, *(1,) * (g.dim() - 1))

    def _at_once(self) -> list[slice]:
        """The cells in parts that are evaluated together on a GPU."""
        n_numbers = self.cell.test_size * (self.cell.task.input_dim + self.network.n_activations(self.cell))
        k = max(1, TOGETHER // n_numbers)
        return [slice(i, i + k) for i in range(0, len(self.cells), k)]

    def _drawn(self, g: int, step: int, n: int) -> tuple[Array, Array]:
        """Inputs and targets of group g on which `step` is evaluated: n for the test, then as many for validation, if any."""
        x, y = self.groups.draw_tests(g, step, n)
        if not self.cell.task.validates:
            return x, y
        more_x, more_y = self.groups.draw_validation(g, n)
        return np.concatenate([x, more_x]), np.concatenate([y, more_y])

    def _scores(self, f: Tensor, y: Tensor, axis: int) -> Tensor:
        """Scores (S, ...) of outputs and targets of the examples of `_drawn`, which lie along this axis."""
        if not self.cell.task.validates:
            return scored(f, y, self.cell.task.targets, self.loss)
        (f, held_out), (y, wanted) = f.tensor_split(2, axis), y.tensor_split(2, axis)
        loss, _ = self.loss.measured(held_out, wanted)
        return torch.cat([scored(f, y, self.cell.task.targets, self.loss), loss[None]])

    @torch.no_grad()
    def measures(self, step: int) -> Measures:
        """Measures from the weights now and at initialisation; None for a network that keeps no neurons."""
        if "neurons" not in self.network.keeps or self.theta_0 is None:
            return Measures(None, None, None, None)
        w, w_0 = self.theta["w"], self.theta_0["w"]
        change = torch.empty(len(self.cells), dtype=torch.float64, device=self.device)
        for g, members in enumerate(self.groups.members):
            x, _ = self._as_tensors(self.groups.draw_tests(g, step, self.cell.test_size))
            for c in members:
                h_0 = x @ w_0[c]
                change[c] = (x @ w[c] - h_0).abs().mean() / h_0.abs().mean()
        readout = self.theta["a"]
        paired = self.cell.task.has_two_halves
        halves = compared_halves(w) if paired else torch.full((2, *readout.shape), torch.nan)
        alignment, norms = halves.cpu().numpy()
        return Measures(readout.cpu().numpy().copy(), alignment, norms, change.cpu().numpy())

    @torch.no_grad()
    def probed(self, c: int) -> Callable[[Array], Probed]:
        """Outputs, features and parameters of one network, as a function of inputs from the host."""
        parameters = {name: theta[c].cpu().numpy().copy() for name, theta in self.theta.items()}
        return partial(self._probed, c, self.settled(c), parameters)

    @torch.no_grad()
    def _probed(self, c: int, settled: Parameters, parameters: dict[str, Array], x: Array) -> Probed:
        inputs = self.seen.inputs(x)
        features = self.network.features(settled, inputs, self.cell)
        return Probed(
            self.outputs(c, settled, inputs).cpu().numpy(), None if features is None else features.cpu().numpy(), parameters
        )

    def changed(self) -> Iterator[tuple[str, Tensor]]:
        """All that training changes, by name."""
        for name, theta in self.theta.items():
            yield name, theta
            for kept, value in self.kept[name].items():
                yield f"{name} {kept}", value

    def _as_tensors(self, examples: tuple[Array, Array]) -> tuple[Tensor, Tensor]:
        x, y = examples
        return self.seen.inputs(x), self.seen.answers(self.seen.targets(y))


def batches_of(cell: Cell) -> "Callable[[Seen], Batches]":
    """The way in which the cell's training takes examples."""
    if cell.task.n_train is None:
        return Fresh
    if cell.batch == cell.task.n_train and (cell.descent.is_full_batch or cell.descent.takes_epochs):
        return WholeSet
    return Shuffled if cell.descent.takes_epochs else Redrawn


def _fill(batches: Batches, cell: Cell, n_groups: int, part: int, block: Hashable, rooms: Sequence[Tensor]) -> None:
    """Fill the staged tensors of a block: a group's examples, and as the last part the numbers that belong to its steps."""
    assert isinstance(block, int)
    if part < n_groups:
        batches.fill(part, block, rooms[:-1])
    else:
        n = BLOCK_STEPS * cell.updates
        rows = [cell.descent.scheduled(update, cell.updates) for update in range(block * n, (block + 1) * n)]
        rooms[-1].copy_(torch.tensor(rows, dtype=torch.float64))
