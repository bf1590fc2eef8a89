"""Whether a card computes what a processor does, asked of every pack before it trains."""

import numpy as np

from trainables.streams import BLOCK_STEPS
from trainables.trainers.base import Trainer

ROUNDING = 2e-6
SHARE = 0.01
"""How far the losses may lie apart: some roundings of float32, and this share of how far training has moved them."""


def check_first_steps(on_card: Trainer, on_processor: Trainer) -> None:
    """RuntimeError where losses of a whole block of steps differ; the engine on the card is left as it was.

    The second engine trains the first and the last cell alone. Steps in which a loss has left the numbers are not compared.
    """
    start = {name: array.copy() for name, array in on_card.state().items()}
    ours, theirs = (engine.train(0, BLOCK_STEPS)[0][[0, -1]] for engine in (on_card, on_processor))
    on_card.load(start)
    finite = np.isfinite(theirs) & np.isfinite(ours)
    with np.errstate(invalid="ignore"):
        apart = np.abs(ours - theirs) > ROUNDING + SHARE * np.abs(theirs - theirs[:, :1])
    if apart[finite].any():
        raise RuntimeError(
            f"engine {on_card.name} on this card does not compute what the processor does: losses of the first steps are "
            f"{ours.tolist()}, and {theirs.tolist()} there; train without the card (`resources: {{gpus_per_pack: 0}}` in the "
            "grid) and report it"
        )
