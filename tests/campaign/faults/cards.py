"""A card that fails, in the name of which a CPU trains (tests/fake_card)."""

from collections.abc import Mapping

from tests.campaign.check import Violation
from tests.campaign.faults import fault
from tests.campaign.scene import DONE, Scene
from tests.fake_card import environment


def _failing(scene: Scene, rates: Mapping[str, float]) -> None:
    """A sweep whose card fails at these rates: it ends with all done, and no cell has failed."""
    scene.environment = environment(rates, scene.rng.randrange(1000))
    sweep = scene.start()
    told = ", ".join(f"{kind} in {rate:.0%} of its calls" for kind, rate in rates.items())
    scene.strike(sweep, f"the card fails: {told}", lambda: None)
    scene.finish(sweep, {DONE})
    if "Fake H200" not in sweep.said():
        scene.violations.append(Violation("unreadable", f"{sweep.out.stem} does not name the card"))


@fault("card-errors")
def card_errors(scene: Scene) -> None:
    """CUDA errors at random calls of a card; each leaves its process without a card."""
    _failing(scene, {"illegal": scene.rng.choice([0.01, 0.05, 0.2])})


@fault("card-crashes")
def card_crashes(scene: Scene) -> None:
    """Calls of a card that end their process, at random, and CUDA errors among them."""
    _failing(scene, {"crash": scene.rng.choice([0.01, 0.05]), "illegal": scene.rng.choice([0, 0.05])})


@fault("card-unfit")
def card_unfit(scene: Scene) -> None:
    """A card whose software lacks something, or whose memory is too small, at random calls or always."""
    _failing(scene, {scene.rng.choice(["unusable", "memory"]): scene.rng.choice([0.05, 1.0])})
