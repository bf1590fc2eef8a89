"""One pack of equilibrium cells: sampled in turn, each as one batched program over its chains."""

import time
from collections.abc import Collection, Sequence
from typing import Any

from trainables.cell import Cell
from trainables.engines.langevin.chains import Chains
from trainables.engines.langevin.probing import Measured
from trainables.engines.langevin.result import EquilibriumResult
from trainables.metrics.measuring import Value


class EquilibriumRun:
    """Cells that take equally many trajectories. Call `advance` until `done`, then `results`; `state` and `load` carry the
    run to another process.

    Every cell is computed by itself, so that its numbers are the same bit for bit in every pack: chains amplify rounding, and
    a product over more cells at once would round differently. ValueError if cells differ in steps or eval_every.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        if len({(cell.steps, cell.eval_every) for cell in cells}) != 1:
            raise ValueError("a pack holds cells of one number of steps and one eval_every")
        self.cells, self.chains = list(cells), [Chains(cell) for cell in cells]

    @property
    def step(self) -> int:
        """Trajectories that every cell has taken."""
        return min(chains.t for chains in self.chains)

    @property
    def n_steps(self) -> int:
        return self.cells[0].training.steps

    @property
    def seconds(self) -> float:
        """Seconds of sampling, all cells together."""
        return sum(chains.seconds for chains in self.chains)

    @property
    def done(self) -> bool:
        return self.step >= self.n_steps

    def watch(self, names: Sequence[Collection[str]]) -> None:
        """Measure these metrics of each cell, in the pack's order, on samples to come (trainables.engines.langevin.probing)."""
        for chains, of_cell in zip(self.chains, names, strict=True):
            chains.measured = Measured(tuple(sorted(of_cell)))

    def measured(self, c: int, names: Sequence[str]) -> tuple[dict[str, Value], dict[str, str]]:
        """Means of these watched metrics over samples of cell c, and the errors of those that failed, each by the metric's
        name."""
        return self.chains[c].measured.means(names)

    def advance(self, seconds: float) -> None:
        """Sample for about this long, at least up to one evaluation of one cell. The cell that is furthest behind goes first."""
        until = time.perf_counter() + seconds
        while not self.done:
            min(self.chains, key=lambda chains: chains.t).advance()
            if time.perf_counter() >= until:
                break

    def results(self) -> list[EquilibriumResult]:
        """One result per cell, in the pack's order."""
        return [chains.result() for chains in self.chains]

    def state(self, copied: bool = True) -> dict[str, Any]:
        """Arrays and numbers from which another process can continue. With copied=False they are the chains' own arrays, which
        later steps change."""
        return {"chains": [chains.state(copied) for chains in self.chains]}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from a value that `state` returned."""
        for chains, own in zip(self.chains, state["chains"], strict=True):
            chains.load(own)
