"""Networks on strings of templates [Boix23]: one curve over the training strings for each network, whatever its own keys are."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from analysis.data.choosing import matching
from analysis.data.keys import captioned
from analysis.data.points import Points, described, one_setting, unusual
from analysis.data.selection import Selection, Value, points_sql
from sweepkit.console.words import counted
from sweepkit.declarations.columns import Key
from sweepkit.declarations.keys import KEYS
from sweepkit.stats import FEW

OVER, SERIES = "P", "networks"
LEVEL = 0.5
"""The error, or accuracy, at which [Boix23] reads thresholds off: P50."""
PLAIN: Mapping[str, Value] = {
    "network": "transformer", "identity_qk": False, "identity_vo": False, "attention_init": "gaussian", "read_from": "cls",
}  # fmt: skip
NETWORKS: Mapping[str, Mapping[str, Value]] = {
    "perceptron on one-hots": {"network": "one_hot", "equalities": False},
    "perceptron, with equalities": {"network": "one_hot", "equalities": True},
    "rnn": {"network": "rnn"},
    "lstm": {"network": "lstm"},
    "transformer": PLAIN,
    "transformer + b I": {**PLAIN, "identity_vo": True},
    "transformer + a I": {**PLAIN, "identity_qk": True},
    "transformer + a I, b I": {**PLAIN, "identity_qk": True, "identity_vo": True},
    "transformer, mimetic": {**PLAIN, "attention_init": "mimetic"},
    "GPT-2 from scratch": {"network": "gpt2", "pretrained": False, "identity_qk": False, "identity_vo": False},
    "GPT-2 from scratch + a I, b I": {"network": "gpt2", "pretrained": False, "identity_qk": True, "identity_vo": True},
    "GPT-2 pretrained": {"network": "gpt2", "pretrained": True, "identity_qk": False, "identity_vo": False},
    "kernel, finite width": {"network": "features"},
    "kernel, infinite width": {"network": "kernel"},
}
"""The series of a figure: networks by their keys. All others are one series for each network, `others`."""
KINDS = {name: str(keys["network"]) for name, keys in NETWORKS.items()}
"""The kind of each of these series, of which some are variants."""
TOLD = (
    "embedding", "heads", "width", "depth", "logits", "training", "base_lr", "batch", "steps", "identity_rate", "ridge", "beta",
    "position", "activation",
)  # fmt: skip
"""Keys that captions tell, if a network has them."""
PREFERRED: Mapping[str, Value] = {
    "steps": 1000,
    "base_lr": 1e-3,
    "batch": 1024,
    "embedding": 128,
    "heads": 16,
    "head_dim": 64,
    "logits": "mean_field",
    "ridge": 1e-4,
    "beta": 4.0,
}
DECLARED = {**KEYS, SERIES: Key(SERIES, "networks", "text", "network", in_streams=False)}
"""The columns of frames with SERIES."""


class ByNetwork(NamedTuple):
    """Points of curves over P, of which SERIES names the network; for each network its keys of TOLD, and its query."""

    frame: pd.DataFrame
    told: dict[str, dict[str, Value]]
    queries: list[str]


def by_network(found: Points, selection: Selection, panels: str | None = None) -> ByNetwork:
    """The networks that have two P among these points of one task, each at the setting nearest to the paper's.

    panels: a further key that may vary; networks without it are left out.
    """
    axes = [OVER] if panels is None else [OVER, panels]
    frame = found.frame
    named = {name: frame[matching(frame, keys)] for name, keys in NETWORKS.items() if {*keys} <= {*frame}}
    rest = frame.drop(index=[row for part in named.values() for row in part.index])
    known = {keys["network"] for keys in NETWORKS.values()}
    by_name = [(str(name), part) for name, part in rest.groupby("network")] if "network" in rest else []
    others = {f"{name}, others" if name in known else name: part for name, part in by_name}
    parts, queries = [], []
    told: dict[str, dict[str, Value]] = {}
    for name, part in (named | others).items():
        part = part if panels is None or panels not in part else part[part[panels].notna()]
        if part.empty or not {*axes} <= {*part} or part[OVER].nunique() < 2:
            continue
        had = [key for key in found.keys if part[key].notna().any()]
        setting = one_setting(part, had, axes, PREFERRED, found.declared)
        parts.append(setting.frame.assign(**{SERIES: name}))
        own = TOLD if name in NETWORKS else [*TOLD, *(key for key in unusual(setting.values) if key not in of_task(found))]
        told[name] = {key: setting.values[key] for key in captioned(own, found.declared) if key in setting.values}
        if not (setting.values.get("identity_qk") or setting.values.get("identity_vo")):
            told[name].pop("identity_rate", None)  # it has nothing to scale
        if told[name].get("logits") == "standard":
            told[name].pop("logits")  # the default, and the only one where labels are numbers
        queries.append(f"-- {name}\n{points_sql(selection.only(setting.values), found.measure, axes, FEW)}")
    return ByNetwork(pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(), told, queries)


def of_task(found: Points) -> set[str]:
    """The keys of points that belong to the task."""
    return {key for key in found.keys if isinstance(column := found.declared[key], Key) and column.part == "task"}


def caption(drawn: ByNetwork, *more: str) -> str:
    """Words for how many networks there are and for their settings: what most of them share is said once."""
    values = pd.DataFrame(drawn.told.values(), dtype=object)
    usual = {str(key): values[key].mode()[0] for key in values if values[key].count() > 1}
    parts = [*more, counted(int(drawn.frame["n"].sum()), "network"), f"if not said otherwise, {described(usual)}"]
    for name, told in drawn.told.items():
        others = {key: value for key, value in told.items() if value != usual.get(key)}
        parts += [f"{name}: {described(others)}"] if others else []
    return f"{'; '.join(parts)}."
