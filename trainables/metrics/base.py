"""Interface of a metric on request: what is measured of a network, from its parameters and its outputs on a probe set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from sweepkit.declarations.columns import Condition, Metric
from trainables.cell import Cell
from trainables.streams import initial_parameters

Array = np.ndarray[Any, Any]

Per = Literal["network", "evaluation", "eigenfunction", "example"]
DESCENT: Condition = (("sampled", ("no",)),)
"""Networks that learn by gradient descent."""
ANSWERS_ONCE: Condition = (("answers", ("one",)),)
"""Networks that answer once an example, so that features and outputs on a probe set are a row for each of its examples."""
FEATURES: Condition = (("features", ("yes",)), *ANSWERS_ONCE)
"""Networks that give the features of their last hidden layer."""


class Probed(NamedTuple):
    """One network evaluated at some inputs, for metrics; all arrays are on the host."""

    outputs: Array
    """(n,) or (n, K)."""
    features: Array | None
    """(n, m), activations of the last hidden layer; None for a network that has none."""
    parameters: dict[str, Array]


@dataclass(frozen=True, eq=False)
class Probe:
    """A network, or a sample of a posterior, at its probe set: the fresh test examples of this evaluation, of a trained network
    the last one. The probe set is drawn, and the network evaluated there, once a metric asks for it."""

    cell: Cell
    examples: Callable[[], tuple[Array, Array]]
    """Draws the probe set."""
    at: Callable[[Array], Probed]
    """The network as it is now at other inputs (n, input_dim)."""
    at_start: Callable[[Array], Array | None]
    """The features (n, m) at initialisation, at other inputs."""

    @cached_property
    def _examples(self) -> tuple[Array, Array]:
        return self.examples()

    @cached_property
    def _seen(self) -> Probed:
        return self.at(self.inputs)

    @cached_property
    def _own(self) -> Mapping[str, Array]:
        return self.at(self.inputs[:1]).parameters  # outputs on all examples of a text would fill the memory

    @property
    def inputs(self) -> Array:
        """(n, input_dim)."""
        return self._examples[0]

    @property
    def targets(self) -> Array:
        """(n,): labels, classes or real numbers; (n, K) for vectors of them."""
        return self._examples[1]

    @property
    def outputs(self) -> Array:
        """(n,) for one output, else (n, K)."""
        return self._seen.outputs

    @property
    def features(self) -> Array | None:
        """(n, m), activations of the last hidden layer; None for a network that has none."""
        return self._seen.features

    @cached_property
    def initial(self) -> Mapping[str, Array]:
        """Parameters at initialisation by name, drawn again. ValueError for a sample of a posterior, which has none."""
        return initial_parameters(self.cell)

    @property
    def parameters(self) -> Mapping[str, Array]:
        """Parameters by name; the two-layer network has w (D, m) and a (m,). A sample of a posterior names none."""
        return self._own


MOST: Mapping[str, int] = {"eigenfunction": 64, "example": 256}
"""Values that the results keep of a metric that has several at the end of training: the first ones."""

Measure = Callable[[Probe], Any]
"""A number, an array (k,) for a metric per eigenfunction or example, or None where the metric is undefined."""


@dataclass(frozen=True)
class Requested:
    """A metric that a grid asks for by `save:`, and its function, which gives None or NaN where the metric is undefined.

    A metric per evaluation is measured at each evaluation, any other one at the end of training.
    """

    metric: Metric
    measure: Measure

    @property
    def name(self) -> str:
        return self.metric.name

    @property
    def file_digest(self) -> str:
        """Digest of the source file of a user's own metric; empty for those of this package."""
        return self.metric.digest

    def allows(self, value: Any) -> Any:
        """True if a finite value, or each of an array of them, lies within the declared bounds, up to rounding in float32."""
        low, high = self.metric.low, self.metric.high
        slack = 1e-6 * max([1.0, *(abs(bound) for bound in (low, high) if np.isfinite(bound))])
        return (low - slack <= value) & (value <= high + slack)

    def of_file(self, digest: str) -> "Requested":
        """This metric, as defined in a user's own file with this digest."""
        return replace(self, metric=replace(self.metric, digest=digest))


def metric(
    title: str,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    better: Literal["higher", "lower", ""] = "",
    unit: str = "",
    logarithmic: bool = False,
    is_accuracy: bool = False,
    per: Per = "network",
    at_equilibrium: bool = False,
    needs: Condition = (),
) -> Callable[[Measure], Requested]:
    """Decorator that declares a function as a metric with this title and bounds; the metric has the function's name.

    Networks that learn by descent have it. `at_equilibrium`: the ones that are sampled have it too, as the mean over samples.
    `needs`: what else a network must have, such as (("outputs", ("several",)),). ValueError for both `at_equilibrium` and a value
    per evaluation: a mean has none.
    """
    if at_equilibrium and per == "evaluation":
        raise ValueError("a metric per evaluation is not measured at equilibrium; leave out at_equilibrium, or per")

    of = needs if at_equilibrium else DESCENT + needs

    def declared(measure: Measure) -> Requested:
        found = Metric(
            measure.__name__, title, "number" if per == "network" else "single", unit=unit, low=low, high=high, better=better,
            logarithmic=logarithmic, of=(of,) if of else (), on_request=True, is_accuracy=is_accuracy, per=per,
        )  # fmt: skip
        return Requested(found, measure)

    return declared


class Group(NamedTuple):
    """Metrics that a grid may ask for together, by the name of the group."""

    name: str
    members: tuple[str, ...]


_REQUESTED: dict[str, Requested] = {}
_GROUPS: dict[str, Group] = {}


def register(found: Requested) -> Requested:
    """Make a metric known to grids by its name. Registering the same name again replaces it."""
    _REQUESTED[found.name] = found
    return found


def register_group(found: Group) -> Group:
    """Make a group of registered metrics known to grids by its name."""
    _GROUPS[found.name] = found
    return found


def metric_groups() -> dict[str, Group]:
    """All groups of metrics by name."""
    return dict(_GROUPS)


def requested_metric(name: str) -> Requested:
    """The registered metric of this name; KeyError when there is none."""
    return _REQUESTED[name]


def is_per_evaluation(name: str) -> bool:
    """True if the registered metric of this name is measured at each evaluation."""
    return _REQUESTED[name].metric.per == "evaluation"


def requested_names() -> list[str]:
    """Names of all registered metrics on request, sorted."""
    return sorted(_REQUESTED)
