"""Check that the GPU computes the CPU's numbers, made for every pack before it trains on a GPU."""

from collections.abc import Callable, Sequence

import numpy as np

from trainables.basics import CardUnusable
from trainables.cell import Cell
from trainables.trainers.base import Trainer

STEPS = 100
"""Steps that are compared: in ten a very rich network moves its loss by less than a rounding."""
PRODUCTS = 1e13
"""Most products that a comparison takes, but for one step: about a minute on a CPU."""
ROUNDING = 2e-6
SHARE = 0.01
"""Largest difference of losses: ROUNDING plus SHARE of the change that training made.

Both are chosen, not derived: above the differences of right trainers, far below those of a wrong step. In 90 settings of L, d,
width, gamma (lazy to 100) and base_lr (0.01 to 1), 100 steps on a CPU (2026-11-26), four trainers in float32 differed from `gram`
in float64 by at most 8e-7, some 14 roundings of a loss near log 2, while the loss had changed by less than 1e-3; later by at most
ROUNDING + 0.0013 of the change. Steps half as long again change a loss by about half as much again.
On an NVIDIA H200 networks of all kinds in grids/ differed by at most 8e-7 in 20 to 60 steps (2026-11-27).
"""
WILD = 4.0
"""A network whose loss reaches this many times one plus its first loss amplifies roundings: no two machines agree on it.

Chosen as well: from log 2 it is ten times the loss of a guess, and of the 90 settings above none reached a third of that.
"""

Make = Callable[[Sequence[Cell]], Trainer]


def prove(cells: Sequence[Cell], on_card: Make, on_processor: Make) -> None:
    """CardUnusable if a card computes other losses than a processor for the first or the last cell of a pack.

    Each is trained alone: a result depends on its cell alone. A cell at a rate so high that training amplifies every rounding is
    compared once more at a tenth of its rate.
    """
    for cell in dict.fromkeys((cells[0], cells[-1])):
        if not _apart(cell, on_card, on_processor):
            continue
        tame = cell.descent.model_copy(update={"base_lr": cell.descent.base_lr / 10})
        if apart := _apart(cell.model_copy(update={"training": tame}), on_card, on_processor):
            raise CardUnusable(apart)


def _apart(cell: Cell, on_card: Make, on_processor: Make) -> str:
    """Where the losses of the first steps differ, in words; empty if they do not. Nothing is compared once a loss is wild."""
    made = on_card([cell])
    of_step = cell.network.n_products(cell) * cell.batch * cell.updates
    steps = max(1, min(STEPS, int(PRODUCTS / of_step)))
    ours, theirs = (trainer.train(0, steps)[0][0] for trainer in (made, on_processor([cell])))
    with np.errstate(invalid="ignore"):
        calm = np.maximum(ours, theirs) < WILD * (1 + theirs[0])  # False for NaN
        apart = np.logical_and.accumulate(calm) & (np.abs(ours - theirs) > ROUNDING + SHARE * np.abs(theirs - theirs[0]))
    if not apart.any():
        return ""
    step = int(apart.argmax())
    return (
        f"engine {made.name} computes other losses on this GPU than on the CPU, {ours[step]:.7g} and {theirs[step]:.7g} "
        f"before step {step + 1} of {cell.describe()}; please report it"
    )
