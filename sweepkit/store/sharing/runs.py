"""Runs: a network, or the networks that differ in their seed only, as trackers of experiments show them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from typing import Any, Literal, get_args

from sweepkit.declarations.columns import FACTS, Column, Key, Metric
from sweepkit.declarations.keys import FIRST_NETWORK

Per = Literal["network", "configuration"]
PER: tuple[Per, ...] = get_args(Per)
"""A run is a network, or a configuration: all networks that differ in their seed only."""

SEED, VERSION = "seed", "science_version"

_FORMAT = 1
"""Part of each digest of a run's content: count it up where runs shall be written anew."""

Value = str | int | float | bool
Curve = Mapping[int, float]
"""Values by step."""


@dataclass(frozen=True)
class Run:
    """Everything that a tracker is told."""

    identity: str
    """The network's cell_id; of a configuration, a digest of its keys."""
    name: str
    params: Mapping[str, Value]
    metrics: Mapping[str, float]
    curves: Mapping[str, Curve]
    tags: Mapping[str, str]
    telling: Mapping[str, Value]
    """The params that are not at their declared default: a key that is declared later changes no run."""
    succeeded: bool
    started: float
    ended: float
    """Seconds since 1970."""

    @cached_property
    def content(self) -> str:
        """A digest of the numbers and the status: a run with another one in its place is out of date."""
        told = [_FORMAT, self.telling, self.metrics, self.curves, self.tags["status"], self.tags.get("reason")]
        return digest(told)[:12]


@dataclass(frozen=True)
class Network:
    """One network's row and curves."""

    row: Mapping[str, Any]
    curves: Mapping[str, Curve]


@dataclass(frozen=True)
class Named:
    """The columns of a store by their use."""

    keys: Mapping[str, Key]
    metrics: Mapping[str, Metric]
    """The metrics with one value per network."""
    curves: Mapping[str, Metric]
    """The metrics with one value per evaluation."""
    facts: tuple[str, ...]


def digest(told: Any) -> str:
    """20 hexadecimal digits that are the same for equal values on every machine."""
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:20]


def of_network(network: Network, named: Named, sweep: str) -> Run:
    """One network as a run."""
    row = network.row
    params = params_of(row, named.keys)
    return Run(
        identity=row["cell_id"],
        name=f"{label(params, named.keys)} {row['cell_id'][:8]}",
        params=params,
        metrics={name: float(row[name]) for name in named.metrics if row[name] is not None},
        curves=network.curves,
        tags={"cell_id": row["cell_id"], "sweep": sweep, "per": "network", **facts_of(row)},
        telling=telling(params, named.keys),
        succeeded=row["status"] == "ok",
        started=seconds_of(row)[0],
        ended=seconds_of(row)[1],
    )


def params_of(row: Mapping[str, Any], keys: Mapping[str, Key]) -> dict[str, Value]:
    """The keys that a network has, with their values."""
    params = {name: row[name] for name in keys if row[name] is not None}
    return params if "network" in params else {**params, "network": FIRST_NETWORK}


def telling(params: Mapping[str, Value], keys: Mapping[str, Column]) -> dict[str, Value]:
    """The params without those at the default that their part declares, and without the network that rows need not name."""
    default = {name: key.default for name, key in keys.items() if isinstance(key, Key) and params.get(key.part) in key.of}
    first = {"network": FIRST_NETWORK}
    return {name: value for name, value in params.items() if value != (default | first).get(name)}


def facts_of(row: Mapping[str, Any]) -> dict[str, str]:
    """The facts that are text: status, reason, engine, commit, host and so on."""
    return {name: row[name] for name, fact in FACTS.items() if fact.kind == "text" and row.get(name) is not None}


def seconds_of(row: Mapping[str, Any]) -> tuple[float, float]:
    """Start and end of a network's training in seconds since 1970. Its share of the pack's time stands for its own."""
    ended = row["finished_at"].timestamp() if row["finished_at"].tzinfo else row["finished_at"].replace(tzinfo=UTC).timestamp()
    return ended - (row.get("seconds") or 0.0), ended


def label(params: Mapping[str, Value], keys: Mapping[str, Key]) -> str:
    """The words that tell networks apart: `same_different gamma=1 L=4 d=128 width=512 seed=0`."""
    shown = [name for name, key in keys.items() if _tells(key) and name in params and name not in ("task", SEED)]
    named = {"gamma": params.get("gamma_label"), **{name: params[name] for name in shown}, SEED: params.get(SEED)}
    return " ".join([str(params["task"]), *(f"{name}={value}" for name, value in named.items() if value is not None)])


def _tells(key: Key) -> bool:
    return key.kind == "whole" and key.searched and key.part in ("task", "network")
