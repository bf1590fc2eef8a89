"""Check that the GPU computes the CPU's numbers, made for every pack before it trains on a GPU."""

import numpy as np

from trainables.streams import BLOCK_STEPS
from trainables.trainers.base import Trainer

ROUNDING = 2e-6
SHARE = 0.01
"""Largest difference of losses: ROUNDING, some roundings of float32, plus SHARE of the change that training made."""


def check_first_steps(on_card: Trainer, on_processor: Trainer) -> None:
    """RuntimeError if losses of the first block of steps differ. The trainer on the GPU gets its state back.

    `on_processor` trains only the first and the last cell. Steps with a NaN or infinite loss are not compared.
    """
    start = {name: array.copy() for name, array in on_card.state().items()}
    ours, theirs = (engine.train(0, BLOCK_STEPS)[0][[0, -1]] for engine in (on_card, on_processor))
    on_card.load(start)
    finite = np.isfinite(theirs) & np.isfinite(ours)
    with np.errstate(invalid="ignore"):
        apart = np.abs(ours - theirs) > ROUNDING + SHARE * np.abs(theirs - theirs[:, :1])
    if apart[finite].any():
        raise RuntimeError(
            f"engine {on_card.name} computes other losses on this GPU than on the CPU: the first steps give {ours.tolist()} on "
            f"the GPU and {theirs.tolist()} on the CPU; train without the GPU (`resources: {{gpus_per_pack: 0}}` in the grid) "
            "and report it"
        )
