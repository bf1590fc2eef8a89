"""Theory for networks of one hidden layer that learn a linear target of white inputs: how rich they are, D_LR [Nam26].

s        init_scale; m width; d input dimension; task `linear` has |w*| = 1
start    scales of the balanced network f = a.Wx/c, in which a and W learn at one rate: sigma2, tau2 (`two_layer_linear`)
c        the target in the balanced network's units

parametrisation   W                        a           sigma2     tau2    c
standard          w1                       w2          s^2 m/d    s^2     gamma
ntk               w1                       w2          s^2 m      s^2 m   gamma sqrt(m d)
mup               w1/sqrt(m)               sqrt(m) w2  s^2/d      s^2     gamma

The rate of the parameters is eta gamma^2, eta = base_lr for gamma <= 1, else base_lr/gamma, and the loss is 2 E: training lasts
t = 2 eta gamma^2 steps/c^2.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.overlays.theory import BY_SQUARES, About, Theory
from sweepkit.declarations.evaluations import PROBED

from .laziness import Alignment, of_relu_on_gaussian
from .two_layer_linear import Start, alignment, learned

_LONGEST_STEP = 0.2
"""The largest step of gradient descent, times the greatest eigenvalue of the kernel: networks still agree (tests)."""
_FEWEST = 8
"""Neurons, and training examples, for each input dimension: corrections are of first order in d/m."""
_KEYS = ("depth", "activation", "bias", "parametrisation", "init_scale", "centred", "trained")


def _one_layer(activation: str, where: Callable[[pd.DataFrame], "pd.Series[Any]"]) -> About:
    """Centred networks of one hidden layer, wide enough and without biases, with enough examples."""

    def holds(frame: pd.DataFrame) -> "pd.Series[Any]":
        fit = (frame["depth"] == 1) & (frame["activation"] == activation) & (frame["centred"] == 1) & (frame["bias"] == 0)
        large = frame[["width", "P"]].min(axis=1) >= _FEWEST * frame["d"]
        return fit & large & frame["patch"].isna() & where(frame)

    return About(("linear",), ("mlp",), ("sgd", "gd"), holds, BY_SQUARES, _KEYS)


def balanced(at: Mapping[str, Any]) -> tuple[Start, float]:
    """The network's start and c."""
    s2, m, d, gamma = float(at["init_scale"]) ** 2, float(at["width"]), float(at["d"]), float(at["gamma"])
    match at["parametrisation"]:
        case "standard":
            return Start(s2 * m / d, s2), gamma
        case "ntk":
            return Start(s2 * m, s2 * m), gamma * (m * d) ** 0.5
        case "mup":
            return Start(s2 / d, s2), gamma
        case other:
            raise ValueError(f"no parametrisation {other!r}")


def _step(at: Mapping[str, Any]) -> float:
    """The time of one step."""
    gamma = float(at["gamma"])
    eta = float(at["base_lr"]) * min(1.0, 1 / gamma)
    return float(2 * eta * (gamma / balanced(at)[1]) ** 2)


_SCALES = ("d", "width", "gamma", "init_scale", "parametrisation", "base_lr")


def _is_flow(at: Mapping[str, Any]) -> bool:
    start, c = balanced(at)
    return bool(_step(at) * np.hypot(start.S, 2 * c) <= _LONGEST_STEP)


def _learns_all(frame: pd.DataFrame) -> "pd.Series[Any]":
    fit = frame["trained"].isna() | (frame["trained"] == "all")
    flows = [_is_flow({key: row[key] for key in _SCALES}) for _, row in frame[fit].iterrows()]
    return fit & frame.index.isin(frame.index[fit][np.array(flows, bool)])


def _keeps_features(frame: pd.DataFrame) -> "pd.Series[Any]":
    return (frame["trained"] == "last") | (frame["gamma_label"] == "lazy")


LINEAR, RANDOM_RELU = _one_layer("linear", _learns_all), _one_layer("relu", _keeps_features)


def of_linear(at: Mapping[str, Any]) -> Alignment:
    """The trained linear network's features beside its output, after its steps."""
    start, c = balanced(at)
    return alignment(int(at["d"]), start, float(learned(_step(at) * float(at["steps"]), start, c)))


def _examples(measure: str, at: Mapping[str, Any]) -> float:
    return min(float(at["P"]), PROBED) if measure == "d_lr" else PROBED


def _theories(
    name: str, source: str, keys: tuple[str, ...], of: Callable[[Mapping[str, Any]], Alignment], about: About
) -> list[Theory]:
    """D of infinitely many neurons and examples; and with the corrections for the network's own, by measure."""

    def own(measure: str) -> Theory:
        return Theory(
            f"{name}, its width", f"{source}, for finite n and m", (*dict.fromkeys((*keys, "width", "P")),),
            lambda at: of(at).d_lr(_examples(measure, at), float(at["width"])), about, (measure,),
        )  # fmt: skip

    return [Theory(name, source, keys, lambda at: of(at).d_lr(), about, MEASURES), *map(own, MEASURES)]


MEASURES = ("d_lr", "d_lr_test")
THEORIES = (
    *_theories(
        "linear networks", "two-layer linear network, closed form [Nam26 App. E.1]",
        (*_SCALES, "steps"), of_linear, LINEAR,
    ),
    *_theories(
        "random ReLU features", "ReLU features at initialisation, closed form [Nam26 App. E.1]", ("d",),
        lambda at: of_relu_on_gaussian(int(at["d"])), RANDOM_RELU,
    ),
)  # fmt: skip
