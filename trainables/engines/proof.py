"""Whether a card computes what a processor does, asked of every pack before it trains."""

import numpy as np

from trainables.engines.base import Engine

STEPS = 4
ROUNDING = 2e-5
SHARE = 0.01
"""How far the losses may lie apart: float32's rounding in four steps, and this share of how far training has moved them."""


def check_first_steps(on_card: Engine, on_processor: Engine) -> None:
    """RuntimeError where the first cell's losses differ in the first steps; the engine on the card is left as it was.

    The second engine trains the first cell alone. Steps in which a loss has left the numbers are not compared.
    """
    start = {name: array.copy() for name, array in on_card.state().items()}
    ours, theirs = (engine.train(0, STEPS)[0][0] for engine in (on_card, on_processor))
    on_card.load(start)
    finite = np.isfinite(theirs) & np.isfinite(ours)
    moved = np.abs(theirs - theirs[0])
    if (np.abs(ours - theirs) > ROUNDING + SHARE * moved)[finite].any():
        raise RuntimeError(
            f"engine {on_card.name} on this card does not compute what the processor does: losses of the first steps are {ours}, "
            f"and {theirs} there; train without the card (`resources: {{gpus_per_pack: 0}}` in the grid) and report it"
        )
