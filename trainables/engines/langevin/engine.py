"""`langevin`: samples of posteriors by Hamiltonian Monte Carlo."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from trainables.cell import Cell, cell_of
from trainables.engines.base import Amounts, Engine, Run, Timed
from trainables.engines.langevin.setting import CANDIDATES, CANDIDATES_BELOW, JUMPS_BELOW, Setting
from trainables.tasks import Hermite3

LEAPFROGS = 12.0
"""Leapfrog steps per trajectory on average; finished packs correct this value."""
ERF = 50.0
"""Cost of erf of one number, in products."""
LOGISTIC_NEURON, LOGISTIC_EXAMPLE = 100.0, 11_000.0
"""Cost of sampling the readout under cross entropy, in products per step, example and chain: for each neuron, the passes over it;
for the example itself, the Newton steps of jumps."""


class Langevin(Engine):
    """Sampling of networks at equilibrium. A step is one trajectory of all chains of a cell."""

    name: ClassVar[str] = "langevin"
    needs: ClassVar[str] = "networks at equilibrium, of tasks with a training set of P examples such as he3"
    seconds: ClassVar[Mapping[str, Mapping[str, float]]] = {"cpu": {"call": 1e-4, "product": 5e-11}}  # chains are in float64

    def trains(self, cell: Cell) -> bool:
        return cell.training.family == "sampling"

    def make(self, cells: Sequence[Cell], device: str = "cpu") -> Run:
        from trainables.engines.langevin.run import EquilibriumRun

        return EquilibriumRun(cells)

    def step_amounts(self, cell: Cell, group: float = 1.0, device: str = "cpu") -> Amounts:
        s = Setting(cell)
        n, m = s.n_train, s.n_features
        least = min(n, m)
        readout = 3 * least * n * m + 2 * least**3 if s.loss == "mse" else n * (LOGISTIC_NEURON * m + LOGISTIC_EXAMPLE)
        forces = 4 * n * s.forward_products + readout
        below = JUMPS_BELOW * (s.sampled.n_hidden - 1) if s.explores_all else 0
        energies = below * (CANDIDATES_BELOW + 1) * (readout / 3 + ERF * n * m)
        return {"call": LEAPFROGS, "product": s.chains * (LEAPFROGS * forces + energies)}

    def evaluation_amounts(self, cell: Cell, group: float = 1.0) -> Amounts:
        s = Setting(cell)
        return {"product": 1.0 * s.chains * s.test_size * s.forward_products}

    def memory(self, cells: Sequence[Cell], device: str = "cpu") -> int:
        s = Setting(cells[0])
        examples, features = s.n_train + s.test_size, s.n_features + (s.width1 or 0)
        of_a_chain = 6 * s.n_hidden_weights + 8 * examples * features + 4 * min(s.n_train, features) ** 2
        at_once = s.n_readouts if s.loss == "mse" else 6  # arrays of a jump: Newton's steps have several
        of_a_chain += (CANDIDATES + 1) * s.n_train * at_once
        return 8 * len(cells) * (s.chains * of_a_chain + examples * s.task.input_dim)

    def calibration(self) -> Iterable[Timed]:
        from trainables.engines.langevin.chains import Chains

        for d, n_train in ((8, 32), (32, 128), (64, 512)):
            task = Hermite3(d=d, P=n_train)
            cell = cell_of(task, network="erf2", width=d, kappa=1.0, steps=100_000, eval_every=5, test_size=256, seed=0)
            amounts = {k: 5 * n for k, n in self.step_amounts(cell).items()}
            for k, n in self.evaluation_amounts(cell).items():
                amounts[k] = amounts.get(k, 0.0) + n
            yield Timed(amounts, Chains(cell).advance, 1)
