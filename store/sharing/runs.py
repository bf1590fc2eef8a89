"""Runs: a network, or the networks that differ in their seed only, as trackers of experiments show them."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from typing import Any, Literal, get_args

import duckdb

from declarations.column import Column
from declarations.fact import FACTS
from declarations.key import Key
from declarations.metric import Metric
from declarations.omitted import FIRST_NETWORK
from store.files import Files, ResultsError
from store.sql import quoted
from store.views import declared_in, run

Per = Literal["network", "configuration"]
PER: tuple[Per, ...] = get_args(Per)
"""A run is a network, or a configuration: all networks that differ in their seed only."""

SEED, VERSION = "seed", "science_version"
NO_SWEEP = "no-sweep"
"""The sweep of networks that no sweep's present grid asks for."""

AT_ONCE = 1000
"""Networks whose curves are held in memory at the same time."""

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
    """Those with one value per network."""
    curves: Mapping[str, Metric]
    """Those with one value per evaluation."""
    facts: tuple[str, ...]


def digest(told: Any) -> str:
    """20 hexadecimal digits that are the same for equal values on every machine."""
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:20]


def sweeps(files: Files, where: str = "") -> dict[str, int]:
    """The number of finished networks of each sweep that `where`, SQL over `cells`, leaves. ResultsError for bad SQL."""
    rest = f"SELECT '{NO_SWEEP}' AS sweep, cell_id FROM cells ANTI JOIN plans USING (cell_id)"
    every = f"(SELECT sweep, cell_id FROM plans SEMI JOIN cells USING (cell_id) UNION ALL {rest})"
    sql = f"SELECT sweep, count(fits.cell_id) FROM {every} LEFT JOIN ({_fitting(where)}) AS fits USING (cell_id) GROUP BY ALL"
    try:
        found: list[tuple[str, int]] = run(files, lambda connection: _checked(connection, where).execute(sql).fetchall())
    except duckdb.Error as error:
        raise ResultsError(f"--where {where!r}: {str(error).splitlines()[0]}") from None
    return dict(sorted(found))


def runs(files: Files, sweep: str, per: Per = "network", where: str = "") -> Iterator[Run]:
    """The runs of a sweep in the order of their keys. Networks that finish meanwhile may be missing."""
    named, groups = run(files, lambda connection: _groups(connection, sweep, per, where))
    for batch in _batches(groups):
        ids = [cell_id for group in batch for cell_id in group]
        found = run(files, lambda connection, ids=ids: _networks(connection, named, ids))  # type: ignore[misc]
        for group in batch:
            networks = [found[cell_id] for cell_id in group if cell_id in found]
            if not networks:
                continue
            if per == "network":
                yield of_network(networks[0], named, sweep)
            else:
                from store.sharing.averages import of_configuration  # SciPy only where it is used

                yield of_configuration(networks, named, sweep)


def _fitting(where: str) -> str:
    return f"SELECT * FROM cells WHERE (\n{where or 'true'}\n)"


def _checked(connection: duckdb.DuckDBPyConnection, where: str) -> duckdb.DuckDBPyConnection:
    """The connection. ResultsError if `where` closes its bracket and goes on with another statement."""
    if [statement.type.name for statement in connection.extract_statements(_fitting(where))] != ["SELECT"]:
        raise ResultsError(f"--where {where!r} is more than a condition over the columns of cells")
    return connection


def _groups(connection: duckdb.DuckDBPyConnection, sweep: str, per: Per, where: str) -> tuple[Named, list[list[str]]]:
    """The columns, and the ids of each run's networks."""
    declared = declared_in(connection)
    there = {name for name, *_ in connection.execute("DESCRIBE cells").fetchall()}
    keys = {name: one for name, one in declared.items() if isinstance(one, Key) and name in there}
    measured = {name: one for name, one in declared.items() if isinstance(one, Metric) and one.kind != "text"}
    single = {name: one for name, one in measured.items() if one.per == "network" and (one.expression or name in there)}
    per_step = {name: one for name, one in measured.items() if one.per == "evaluation" and name != "step"}
    order = ", ".join(quoted(name) for name in keys if name != SEED)
    members = "SEMI JOIN (SELECT cell_id FROM plans WHERE sweep = $sweep)"
    if sweep == NO_SWEEP:
        members = "ANTI JOIN plans"
    group = f"GROUP BY {order}, {VERSION}" if per == "configuration" else f"GROUP BY {order}, {VERSION}, {SEED}, cell_id"
    sql = f"""SELECT list(cell_id ORDER BY {SEED}, cell_id) FROM ({_fitting(where)}) {members} USING (cell_id)
        {group} ORDER BY {order}, {VERSION}, min({SEED}), min(cell_id)"""
    found = connection.execute(sql, {} if sweep == NO_SWEEP else {"sweep": sweep}).fetchall()
    return Named(keys, single, per_step, tuple(name for name in FACTS if name in there)), [ids for (ids,) in found]


def _batches(groups: Iterable[list[str]]) -> Iterator[list[list[str]]]:
    batch: list[list[str]] = []
    for group in groups:
        if batch and sum(map(len, batch)) + len(group) > AT_ONCE:
            yield batch
            batch = []
        batch.append(group)
    if batch:
        yield batch


def _networks(connection: duckdb.DuckDBPyConnection, named: Named, ids: Sequence[str]) -> dict[str, Network]:
    """The networks with these ids that are still there, by id."""
    wanted = "SEMI JOIN (SELECT unnest($ids::VARCHAR[]) AS cell_id) USING (cell_id)"
    values = {name: quoted(name) for name in (*named.keys, *named.facts)} | {name: one.sql for name, one in named.metrics.items()}
    shown = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in values.items())
    rows = connection.execute(f"SELECT cell_id, {shown} FROM cells {wanted}", {"ids": ids}).fetchall()
    lists = "".join(f", list({quoted(name)} ORDER BY step)" for name in named.curves)
    sql = f"SELECT cell_id, list(step ORDER BY step){lists} FROM curves {wanted} GROUP BY cell_id"
    curves = {cell_id: lists for cell_id, *lists in connection.execute(sql, {"ids": ids}).fetchall()}
    names = ("cell_id", *values)
    return {row[0]: Network(dict(zip(names, row, strict=True)), _curves(list(named.curves), curves.get(row[0]))) for row in rows}


def _curves(names: list[str], lists: Sequence[Sequence[Any]] | None) -> dict[str, Curve]:
    """Curves by metric, without evaluations and without metrics that have no value."""
    if lists is None:
        return {}
    steps, *columns = lists
    found = {
        name: {step: float(value) for step, value in zip(steps, column, strict=True) if value is not None}
        for name, column in zip(names, columns, strict=True)
    }
    return {name: curve for name, curve in found.items() if curve}


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
