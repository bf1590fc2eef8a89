"""The chains of one cell: its data and posterior, their start, trajectories, records and checkpoint."""

import time
from copy import deepcopy
from functools import partial
from math import exp, nan, sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainables.basics import Array
from trainables.cell import Cell
from trainables.engines.langevin.diagnostics import bulk_ess, split_r_hat, standard_error
from trainables.engines.langevin.energies.posterior import Posterior, evaluate, make_posterior, outputs_and_features
from trainables.engines.langevin.measures import Means, accuracy, alignment, foremost, judged
from trainables.engines.langevin.probing import Measured, chosen
from trainables.engines.langevin.result import EquilibriumResult
from trainables.engines.langevin.sampler import Sampler, Step
from trainables.engines.langevin.setting import JUMPS_BELOW, Setting
from trainables.kernels.compiled import compiling
from trainables.metrics.base import Probe, Probed
from trainables.streams import stream, stream_owner

SPECIALISED_SHARE, SPECIALISED_AT = 0.25, 1.5
"""Share of a layer's neurons that start specialised, and their w.w*. Both are larger than at equilibrium [Rubin25 App. E.1]."""


class Chains:
    """The chains of one cell. They depend on their cell alone: cells share no tensor and no random number."""

    def __init__(self, of: Cell) -> None:
        self.cell = cell = Setting(of)
        owner = stream_owner(of)
        target = cell.task.draw_symbols(stream(owner, "symbols"))
        x, y = map(_double, cell.task.train_examples(stream(owner, "batches"), target, cell.n_train))
        self.x_test, self.y_test = map(_double, cell.task.test_examples(stream(owner, "test"), target, cell.test_size))
        if cell.classifies:  # labels 0 and 1 are y = -1 and +1 here
            y, self.y_test = 2 * y - 1, 2 * self.y_test - 1
        self.posterior = make_posterior(of, x, y, _double(np.atleast_2d(target)))
        self.sampler = Sampler(self.posterior, self.posterior.to(getattr(torch, cell.dtype)))
        self.t, self.seconds, self.step = 0, 0.0, Step()
        self.u = self._start()
        self.energy = self.posterior.energy(self.u)
        self.energies = np.full((cell.chains, cell.steps), np.nan)
        self.accepted = np.full(cell.steps, np.nan)
        self.curves = np.full((4, cell.chains, cell.steps // cell.eval_every), np.nan)
        n_layers = len(self.posterior.layers(self.u))
        self.means = Means.none(cell.test_size, n_layers)
        self.neurons = np.full((2 * n_layers, *self.curves.shape[1:]), np.nan)
        self.measured = Measured()
        self.measured_at = chosen(cell.burn_in // cell.eval_every, self.curves.shape[2])

    def advance(self) -> None:
        """Take the trajectories up to the next evaluation, and evaluate."""
        started = time.perf_counter()
        with compiling() as spent:
            self._advance()
        self.seconds += time.perf_counter() - started - sum(spent)

    def _advance(self) -> None:
        cell = self.cell
        for _ in range(cell.eval_every):
            self.t += 1
            rng = stream(cell.cell_id, "batches", self.t)
            self.u, self.energy, accepted = self.sampler.trajectory(self.u, self.energy, exp(self.step.log_angle), rng)
            for layer, n_jumps in self._jumps():
                for _ in range(n_jumps):
                    self.u, self.energy = self.sampler.jump(self.u, self.energy, rng, layer)
            self.accepted[self.t - 1] = float(accepted.mean())
            self.energies[:, self.t - 1] = self.energy.numpy()
            self.step = self.step.adapted(self.accepted[self.t - 1], self.t, cell.burn_in)
        self._evaluate()

    def _start(self) -> Tensor:
        """Initial u (B, n), drawn from the prior. Some neurons of the layers that start specialised then move to the directions e
        in turn."""
        chains = self.cell.chains
        u = torch.from_numpy(stream(self.cell.cell_id, "weights").standard_normal((chains, self.posterior.n_weights)))
        for k in range(len(self.posterior.layers(u))):
            layer, e = self.posterior.layers(u)[k]  # computed anew: e of a layer depends on the layers below
            n = max(1, int(SPECIALISED_SHARE * layer.shape[2]))
            own = torch.arange(n) % e.shape[1]
            where = self._specialised(k)
            c = (e @ layer[:, :, :n])[where][:, own, torch.arange(n)].unsqueeze(1)
            layer[where, :, :n] += e[where][:, own].mT * (SPECIALISED_AT * sqrt(layer.shape[1]) - c)
        return u

    def _specialised(self, layer: int) -> Tensor:
        """The chains whose hidden layer `layer` starts specialised.

        That is the second half of the chains; if all layers are explored, equally many chains start from each pattern: in order
        none, the first, the second, both.
        """
        chains = self.cell.chains
        patterns = 2**self.cell.sampled.n_hidden
        pattern = np.arange(chains) * patterns // chains
        specialised = pattern >> layer & 1 if self.cell.explores_all else np.arange(chains) >= chains // 2
        return torch.from_numpy(np.flatnonzero(specialised))

    def _jumps(self) -> list[tuple[int, int]]:
        """Hidden layers whose neurons jump after each trajectory, counted from the first, and how often."""
        last = self.cell.sampled.n_hidden - 1
        below = [(layer, JUMPS_BELOW) for layer in range(last)] if self.cell.explores_all else []
        return [(last, self.cell.jumps), *below]

    def _overlaps(self) -> list[Array]:
        """Overlaps c (B, N) of each hidden layer; of K directions the one with the largest |c|."""
        return [foremost((e @ layer).numpy()) for layer, e in self.posterior.layers(self.u)]

    def _fan_ins(self) -> list[int]:
        return [layer.shape[1] for layer, _ in self.posterior.layers(self.u)]

    def _evaluate(self) -> None:
        outputs, on_training = evaluate(self.posterior, self.u, self.x_test)
        f, y = outputs.numpy(), self.y_test.numpy()
        loss = self.posterior.readout.loss(on_training).numpy()  # NaN where there is no training set
        right = accuracy(on_training.numpy(), self.posterior.readout.y.numpy()), accuracy(f, y)
        overlaps, k = self._overlaps(), self.t // self.cell.eval_every - 1
        self.curves[:, :, k] = alignment(f, y), loss, *right
        self.neurons[:, :, k] = judged(overlaps, self._fan_ins())
        if self.t > self.cell.burn_in:
            self.means.add(f, overlaps)
        if k in self.measured_at:
            for chain in range(self.cell.chains):
                self.measured.add(partial(self._probe, chain))

    def _probe(self, chain: int) -> Probe:
        """The sample that this chain is now, at the test examples."""
        inputs, y = self.x_test.numpy(), self.y_test.numpy()
        at = partial(_probed, self.posterior, self.u[chain : chain + 1])
        targets = (y + 1) / 2 if self.cell.classifies else y
        return Probe(self.cell.cell, lambda: (inputs, targets), at=at, at_start=lambda x: None)

    def result(self) -> EquilibriumResult:
        """The result of chains that have taken all their steps."""
        cell, means = self.cell, self.means
        after = cell.burn_in // cell.eval_every
        energies, aligned = self.energies[:, cell.burn_in :], self.curves[0, :, after:]
        draws = [aligned, energies, *(self.neurons[:, :, after:] if cell.explores_all else ())]
        squared, loss = cell.loss == "mse", float(self.curves[1, :, after:].mean())
        return EquilibriumResult(
            alignment_f=float(aligned.mean()),
            alignment_f_se=standard_error(aligned),
            test_mse=float(((means.f / means.n - self.y_test.numpy()) ** 2).mean()) if squared else nan,
            train_mse=loss if squared else nan,
            train_loss=nan if squared else loss,
            train_acc=float(self.curves[2, :, after:].mean()) if cell.classifies else nan,
            test_acc=float(self.curves[3, :, after:].mean()) if cell.classifies else nan,
            r_hat=float(np.max([split_r_hat(one) for one in draws])),  # NaN if either is
            ess=float(np.min([bulk_ess(one) for one in draws])),
            acceptance=float(self.accepted[cell.burn_in :].mean()),
            n_specialised=tuple(float(n) for n in means.specialised / means.n),
            magnitude=means.magnitudes(self._fan_ins()),
            overlap=means.overlap / means.n,
            step=cell.eval_every * np.arange(1, cell.steps // cell.eval_every + 1),
            curve_alignment=self.curves[0],
            curve_train_mse=self.curves[1] if squared else None,
            curve_train_loss=None if squared else self.curves[1],
            curve_train_acc=self.curves[2] if cell.classifies else None,
            curve_test_acc=self.curves[3] if cell.classifies else None,
            seconds=self.seconds,
        )

    def state(self, copied: bool) -> dict[str, Any]:
        """All that sampling has changed. With copied=False the arrays are the chains' own, which later steps change."""
        return {k: deepcopy(v) if copied else v for k, v in self._changed().items()}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from a value that `state` returned."""
        for k, v in state.items():
            setattr(self, k, torch.from_numpy(v.copy()) if k in ("u", "energy") else deepcopy(v))

    def _changed(self) -> dict[str, Any]:
        names = ("t", "seconds", "step", "energies", "accepted", "curves", "neurons", "means", "measured")
        own = {k: getattr(self, k) for k in names}
        return {**own, "u": self.u.numpy(), "energy": self.energy.numpy()}


def _probed(posterior: Posterior, u: Tensor, x: Array) -> Probed:
    """One chain (1, n) at inputs x (n, d)."""
    outputs, features = outputs_and_features(posterior, u, _double(x))
    return Probed(outputs[0].numpy(), features[0].numpy(), {})


def _double(x: Array) -> Tensor:
    return torch.from_numpy(np.asarray(x, np.float64))
