"""A figure as data: a metric along a parameter or along training for some kinds of networks, beside theory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

STEP = "step"


class Case(NamedTuple):
    """Networks of one kind by their keys, a series or a panel of a figure."""

    title: str
    where: Mapping[str, Any]
    axes: Sequence[str] = ()
    """The keys that vary among them; those of a figure `Along` follow from it."""
    by: str | None = None
    """The key with a curve for each of its values."""
    theory: str = ""
    """The function of the study's `theory.py` that is drawn beside them, if any. Its arguments are keys, which are taken from
    `where` and from the axes, and along training also `t`, an array of the abscissa's values."""


@dataclass(frozen=True)
class Along:
    """A figure of a metric over `x` for some cases, with 95% intervals:

    ```python
    Along("OneThird", "train_loss", x="base_lr * step", slopes_from=100, title="...", cases=(
        Case("cross entropy", {"task": "halfspace", "batch": 256, "margin": 0, "base_lr": 1}, by="d", theory="loss"),
    ))
    ```
    """

    name: str
    metric: str
    cases: Sequence[Case]
    title: str
    x: str = STEP
    """A key; or `step`, or a key times it, as `base_lr * step`, for values along training."""
    x_title: str = ""
    y_title: str = ""
    """The title of the ordinate, if not that of the metric."""
    slopes_from: float | None = None
    """From which abscissa on the exponent of a power law is told for each case: along training that of the means, over a key the
    mean over seeds with its 95% interval. None for no exponents."""
    guide: float | None = None
    """The power of the abscissa with which a dashed line goes through the last point of each case."""
    level: float | None = None
    """The height of a dashed line."""
    panels: bool = False
    """Each case is a panel of its own."""

    @property
    def is_along_training(self) -> bool:
        """True if its abscissa is the step, or a key times it."""
        return self.x.split("*")[-1].strip() == STEP

    @property
    def factor(self) -> str | None:
        """The key that the step is multiplied by."""
        parts = [part.strip() for part in self.x.split("*")]
        return parts[0] if len(parts) == 2 else None

    def case_axes(self, case: Case) -> tuple[str, ...]:
        """The keys that vary among the networks of a case."""
        return tuple(key for key in (None if self.is_along_training else self.x, case.by, *case.axes) if key)
