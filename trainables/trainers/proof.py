"""Check that the GPU computes the CPU's numbers, made for every pack before it trains on a GPU."""

from collections.abc import Callable, Sequence

import numpy as np

from trainables.basics import CardUnusable
from trainables.cell import Cell
from trainables.trainers.base import Trainer

STEPS = 100
"""Steps that are compared: in ten a very rich network moves its loss by less than a rounding."""
ROUNDING = 2e-6
SHARE = 0.01
"""Largest difference of losses: ROUNDING, some roundings of float32, plus SHARE of the change that training made."""

Make = Callable[[Sequence[Cell]], Trainer]


def prove(cells: Sequence[Cell], on_card: Make, on_processor: Make) -> None:
    """CardUnusable if a card computes other losses than a processor for the first or the last cell of a pack.

    Each is trained alone: a result depends on its cell alone. Steps with a NaN or infinite loss are not compared.
    """
    for cell in dict.fromkeys((cells[0], cells[-1])):
        made = on_card([cell])
        ours, theirs = (trainer.train(0, STEPS)[0][0] for trainer in (made, on_processor([cell])))
        finite = np.isfinite(theirs) & np.isfinite(ours)
        with np.errstate(invalid="ignore"):
            apart = finite & (np.abs(ours - theirs) > ROUNDING + SHARE * np.abs(theirs - theirs[0]))
        if apart.any():
            step = int(apart.argmax())
            raise CardUnusable(
                f"engine {made.name} computes other losses on this GPU than on the CPU, {ours[step]:.7g} and {theirs[step]:.7g} "
                f"before step {step + 1} of {cell.describe()}; please report it"
            )
