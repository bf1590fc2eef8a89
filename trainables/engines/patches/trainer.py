"""`patches`: exact training on images that are empty except for two patches, on the CPU.

A step reads and changes only the weights of the two filled patches, 2 k of P k pixels, so its time does not grow with the image.
The P places and the k pixels of a patch are those of trainables.tasks.images.patches. The arrays pad pixels to a multiple of TILE
and neurons to one of CHUNK, with zeros (trainables.engines.patches.step).
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.engines.patches.step import outputs, plan_atoms, preactivations, train_steps
from trainables.kernels.sizes import CHUNK, TILE, padded
from trainables.kinds import TWO_PATCHES, sees_two_patches
from trainables.result import SCORES
from trainables.streams import BLOCK_STEPS, stream, stream_of_tests
from trainables.tasks.base import Array
from trainables.tasks.images.patches import PatchTask, Placed
from trainables.trainers.base import blocks
from trainables.trainers.ensemble import Ensemble, chunked
from trainables.trainers.scaled import Scaled
from trainables.trainers.scores import scored


class _Planned(NamedTuple):
    """Steps of images as the kernel reads them, and the initial preactivations of their atoms."""

    forms: Array
    atoms: Array
    starts: Array
    pairs: Array
    p: Array


class Patches(Scaled):
    """Networks one after the other, each in a compiled loop over a block of steps; implements Trainer."""

    name: ClassVar[str] = "patches"

    def __init__(self, cells: Sequence[Cell]) -> None:
        if not all(map(sees_two_patches, cells)):
            raise ValueError(f"engine patches trains {TWO_PATCHES}; take engine stacked, or auto")
        self.nets = nets = Ensemble(cells, "cpu")
        self.task: PatchTask = cells[0].task  # type: ignore[assignment]
        self.k, self.width = self.task.patch_size**2, cells[0].width
        self.w0 = np.stack([self._in_chunks(w) for w in nets.w0])  # (S, n, P, K, CHUNK)
        self.u = np.zeros((len(cells), *self.w0.shape[1:]), self.w0.dtype)
        self.a0 = chunked(nets.a0.numpy())
        self.b = np.zeros_like(self.a0)
        nets.b = torch.from_numpy(self.b).flatten(1)[:, : self.width]  # a view: the ensemble sees what the kernel trains
        self.p = self._room(BLOCK_STEPS, 2 * cells[0].batch)  # kept: fresh megabytes would be mapped page by page for each block
        self.train(0, 0)  # compiles, so that no pack is charged for it

    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        nets, batch = self.nets, self.nets.cells[0].batch
        loss, right = np.empty((2, len(nets.cells), n_steps))
        eps, lr = nets.eps[:, 0, 0].numpy(), nets.lr[:, 0].numpy()
        q, on = self._room(1, 2 * batch)[0], np.zeros((2 * batch + TILE, CHUNK), self.u.dtype)
        for g, cells in enumerate(nets.groups.members):
            done = 0
            for block, steps in blocks(first_step, n_steps) if n_steps else [(0, slice(0, 0))]:
                plan, same = self._draw(g, block, steps)
                part = slice(done, done + len(same))
                for c in cells:
                    on[:] = 0  # a network of the pack that diverged may have left NaN
                    weights = (self.u[c], q, on, self.a0[c], self.b[c])
                    train_steps(*plan[:4], same, plan.p, *weights, eps[c], lr[c], loss[c, part], right[c, part])
                done = part.stop
        return loss, right

    def evaluate(self, step: int, n: int) -> Array:
        found = np.empty((len(SCORES["binary"]), len(self.nets.cells)))
        for g, members in enumerate(self.nets.groups.members):
            cell, owner = self.nets.groups.cells[g], self.nets.groups.owners[g]
            images = self.task.test_images(stream_of_tests(owner, cell.task, step), self.nets.groups.symbols[g], n)
            f: list[list[Array]] = [[] for _ in members]
            for first in range(0, n, cell.test_size):  # in parts, so that many examples need no more memory than the usual ones
                own = slice(first, min(first + cell.test_size, n))
                size = own.stop - first
                part = Placed(images.forms, images.form[own], images.place[own], images.same[own])
                plan = self._plan(g, part, size, self._room(1, 2 * size))
                q = np.empty_like(plan.p)
                for c, parts in zip(members, f, strict=True):
                    preactivations(*plan[:3], self.u[c], q)
                    eps = self.nets.eps[c, 0, 0].numpy()[()]
                    parts.append(outputs(plan.pairs[0], plan.p[0], q[0], self.a0[c], self.b[c], eps))
            same = torch.from_numpy(images.same)
            for c, parts in zip(members, f, strict=True):
                found[:, c] = scored(torch.from_numpy(np.concatenate(parts)), same, "binary")
        return found

    def state(self) -> dict[str, Array]:
        return {"u": self.u, "b": self.b}

    def load(self, state: dict[str, Array]) -> None:
        self.u[:], self.b[:] = state["u"], state["b"]

    def _draw(self, g: int, block: int, steps: slice) -> tuple[_Planned, Array]:
        """These steps of a block of the group's batches, and their labels (T, B)."""
        groups, batch = self.nets.groups, self.nets.cells[0].batch
        drawn = self.task.train_images(stream(groups.owners[g], "batches", block), groups.symbols[g], BLOCK_STEPS * batch)
        part = slice(steps.start * batch, steps.stop * batch)
        images = Placed(drawn.forms, drawn.form[part], drawn.place[part], drawn.same[part])
        return self._plan(g, images, batch, self.p), images.same.reshape(-1, batch)

    def _plan(self, g: int, images: Placed, batch: int, p: Array) -> _Planned:
        """Images of some steps in order, `batch` per step, as the kernel reads them; p is the array for preactivations."""
        forms = np.zeros((len(images.forms), padded(self.k, TILE)), self.u.dtype)
        forms[:, : self.k] = images.forms
        form, place = (x.reshape(-1, batch, 2) for x in (images.form, images.place))
        atoms, starts, pairs = plan_atoms(form, place, len(forms), self.task.n_places)
        p = p[: len(form)]
        preactivations(forms, atoms, starts, self.w0[g], p)
        return _Planned(forms, atoms, starts, pairs, p)

    def _room(self, n_steps: int, n_atoms: int) -> Array:
        return np.empty((n_steps, self.w0.shape[1], n_atoms, CHUNK), self.w0.dtype)

    def _in_chunks(self, w: Tensor) -> Array:
        """Weights (P k, m) as (n, P, K, CHUNK)."""
        pixels = w.numpy().reshape(self.task.n_places, self.k, -1)
        whole = np.pad(pixels, ((0, 0), (0, -self.k % TILE), (0, 0)))
        return np.ascontiguousarray(np.moveaxis(chunked(whole), 2, 0))

    def scaled_weights(self, c: int) -> Tensor:
        """U (P k, m) of a cell."""
        u: Any = np.moveaxis(self.u[c], 0, 2)[:, : self.k]
        return torch.from_numpy(u.reshape(self.task.input_dim, -1)[:, : self.width].copy())
