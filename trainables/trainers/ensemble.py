"""Networks in scaled changes, shared by several trainers: initial weights by group, evaluation, and the measures at the end."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.kernels.dense import outputs
from trainables.kernels.sizes import CHUNK, TOGETHER
from trainables.metrics.base import Probed
from trainables.tasks.base import Array
from trainables.trainers.base import Groups, Measures
from trainables.trainers.card.staging import in_turn
from trainables.trainers.centred import centred_output, compared_halves, draw_initial
from trainables.trainers.products import product
from trainables.trainers.scores import scored

SCORED = 2**22
"""Most outputs that are scored at once: all networks together, as each score is some 40 operations, but no more memory than an
evaluation takes."""

_Chosen = slice | Tensor


class Ensemble:
    """C networks in S groups that see the same inputs: w0 (D, m) of each group; a0, b (C, m); eps, lr (C, 1, 1) and (C, 1).

    Networks may differ in D, but not in m or in the law of their initial weights.
    """

    def __init__(self, cells: Sequence[Cell], device: str) -> None:
        self.cells, self.device = list(cells), torch.device(device)
        self.at_once = self.device.type != "cpu"
        """True if the cells of a group are evaluated together; a CPU takes them one by one, so that arrays stay in its cache."""
        self.dtype = torch.float64 if cells[0].dtype == "float64" else torch.float32
        self.groups = Groups(cells)
        width, sizes = cells[0].width, [cell.task.input_dim for cell in self.groups.cells]
        self.all_w0 = torch.empty(sum(sizes), width, dtype=self.dtype, device=self.device)
        self.w0 = torch.split(self.all_w0, sizes)
        self.a0 = torch.empty(len(cells), width, dtype=self.dtype, device=self.device)
        for g, cell in enumerate(self.groups.cells):  # one by one: drawing all first would take the memory twice
            w0, a0 = draw_initial(cell)
            self.w0[g][:], self.a0[self.groups.members[g]] = self.tensor(w0), self.tensor(a0)
        self.b = torch.zeros_like(self.a0)
        self.of_group = torch.tensor(self.groups.group, device=self.device)
        self.eps = self.tensor(np.array([cell.epsilon for cell in cells]))[:, None, None]
        self.lr = self.tensor(np.array([cell.scaled_lr for cell in cells]))[:, None]

    def tensor(self, x: Array) -> Tensor:
        """The array on this ensemble's device in its precision."""
        return torch.from_numpy(np.ascontiguousarray(x)).to(self.device, self.dtype)

    def readout(self) -> Tensor:
        """a = a0 + eps b, (C, m)."""
        return torch.addcmul(self.a0, self.eps[:, 0], self.b)

    def evaluate(self, step: int, n: int, changes: Callable[[Sequence[int], Tensor], Tensor]) -> Array:
        """Scores (S, C) on n test examples of `step`; `changes(cells, x)` is q = x U of some cells of a group, (k, n, m).

        More than `test_size` examples are passed in parts of that many, so that they need no more memory than the usual ones.
        """
        f = torch.empty(len(self.cells), n, dtype=self.dtype, device=self.device)
        y = torch.empty(len(self.groups), n, dtype=self.dtype, device=self.device)
        for g, (x, labels) in enumerate(self._tests(step, n)):
            y[g], size = labels, self.groups.cells[g].test_size
            for start in range(0, n, size):
                part = x[start : start + size]
                h0 = product(part, self.w0[g])
                for cells, chosen in self._parts[g]:
                    f[chosen, start : start + size] = self._centred_outputs(chosen, h0, changes(cells, part))
        rows = max(1, SCORED // n)
        parts = zip(torch.split(f, rows), torch.split(self.of_group, rows), strict=True)
        return torch.cat([scored(own, y[groups], "binary") for own, groups in parts], dim=1).cpu().numpy()

    @cached_property
    def _parts(self) -> list[list[tuple[list[int], _Chosen]]]:
        """The cells of each group in parts that are evaluated together, as numbers, and as what picks their rows of an array: a
        slice, or their numbers on the device, because a list would be copied there anew at each use, and the host would wait."""
        return [[(part, self._chosen(part)) for part in self._together(g)] for g in range(len(self.groups))]

    def _together(self, g: int) -> Iterator[list[int]]:
        members, cell = self.groups.members[g], self.groups.cells[g]
        k = max(1, TOGETHER // (cell.test_size * cell.width)) if self.at_once else 1
        return (members[i : i + k] for i in range(0, len(members), k))

    def _chosen(self, cells: Sequence[int]) -> _Chosen:
        if list(cells) == list(range(cells[0], cells[-1] + 1)):
            return slice(cells[0], cells[-1] + 1)
        return torch.tensor(cells, device=self.device)

    def _centred_outputs(self, chosen: _Chosen, h0: Tensor, q: Tensor) -> Tensor:
        """Centred outputs (k, n) of some cells, from h0 (n, m) and q (k, n, m)."""
        a0, b, eps = self.a0[chosen], self.b[chosen], self.eps[chosen]
        if self.at_once:
            return centred_output(h0, q, a0, b, eps)[0]
        found = []
        for c, own in enumerate(q):
            parameters = (a0[c].numpy(), b[c].numpy(), eps[c, 0, 0].numpy()[()])
            found.append(torch.from_numpy(outputs(h0.numpy(), own.numpy(), *parameters)))
        return torch.stack(found)

    def measures(self, step: int, scaled_weights: Callable[[int], Tensor]) -> Measures:
        """Weight structure and activation change; `scaled_weights(c)` is U (D, m) of cell c."""
        change, halves = np.empty(len(self.cells)), np.full((2, *self.a0.shape), np.nan)
        for g, (x, _) in enumerate(self._tests(step, self.cells[0].test_size)):
            size = product(x, self.w0[g]).abs().mean()
            for c in self.groups.members[g]:
                moved = self.eps[c] * scaled_weights(c)
                change[c] = product(x, moved).abs().mean() / size
                if self.cells[c].task.has_two_halves:
                    halves[:, c] = compared_halves(self.w0[g] + moved).cpu().numpy()
        return Measures(self.readout().cpu().numpy(), halves[0], halves[1], change)

    def hidden_weights(self, c: int, neurons: Array, scaled_weights: Callable[[int], Tensor]) -> Array:
        """w = w0 + eps U of some neurons (n,) of cell c, (n, D); `scaled_weights(c)` is U (D, m)."""
        chosen = torch.as_tensor(neurons, dtype=torch.int64, device=self.device)
        w0, u = (w[:, chosen] for w in (self.w0[self.groups.group[c]], scaled_weights(c)))
        return torch.addcmul(w0, self.eps[c], u).T.cpu().numpy()

    @torch.no_grad()
    def probed(self, c: int, u: Tensor) -> Callable[[Array], Probed]:
        """Outputs, activations and parameters of cell c, whose scaled weights are u (D, m), as a function of inputs (n, D)."""
        w, a = torch.addcmul(self.w0[self.groups.group[c]], self.eps[c], u), self.readout()[c]
        return partial(self._probed, c, u, {"w": w.cpu().numpy(), "a": a.cpu().numpy()})

    @torch.no_grad()
    def _probed(self, c: int, u: Tensor, parameters: dict[str, Array], x: Array) -> Probed:
        inputs = self.tensor(x)
        h0, q = product(inputs, self.w0[self.groups.group[c]]), product(inputs, u)
        f = self._centred_outputs(slice(c, c + 1), h0, q[None])[0]
        features = torch.addcmul(h0, self.eps[c], q).relu()
        return Probed(f.cpu().numpy(), features.cpu().numpy(), parameters)

    def _tests(self, step: int, n: int) -> Iterator[tuple[Tensor, Tensor]]:
        """n test examples of `step` of each group. For a GPU, threads draw those of the next groups meanwhile."""
        if self.device.type == "cpu":
            drawn: Iterator[tuple[Array, Array]] = (self.groups.draw_tests(g, step, n) for g in range(len(self.groups)))
        else:
            drawn = in_turn(partial(self.groups.draw_tests, step=step, n=n), len(self.groups))
        for x, y in drawn:
            yield self.tensor(x), self.tensor(y)


def chunked(x: Array) -> Array:
    """(..., m) as (..., n, CHUNK), padded with zeros, as compiled steps take neurons."""
    whole = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % CHUNK)])
    return whole.reshape(*x.shape[:-1], -1, CHUNK)
