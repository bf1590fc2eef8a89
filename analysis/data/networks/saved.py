"""Networks by what they have saved besides their numbers, and those that differ from a network in a single key."""

from collections.abc import Collection, Mapping
from typing import Any

from analysis.data.keys import gamma_once, value_of
from analysis.data.networks.listing import network
from analysis.data.selection import SEED, VERSION, grid_keys
from analysis.studies.page import Saved
from sweepkit.store.sql import literal, quoted
from sweepkit.store.views import run

RICHNESS = ("d_lr", "curve_d_lr", "rho", "quality", "utilisation")
"""Metrics of `save: [richness]` and `save: [richness_curve]`, one of which a network needs for its richness to be shown."""

HOLDING: dict[Saved, str] = {
    "weights": "SELECT cell_id FROM internal.weights",
    "neurons": "SELECT cell_id FROM internal.rows WHERE holds_neurons",
    "richness": f"SELECT cell_id FROM internal.best WHERE list_has_any(measured, {list(RICHNESS)})",
}
"""SQL with the ids of the networks that have saved this."""


def measured_of(results: str, cell_id: str) -> frozenset[str]:
    """Names of the metrics on request that the grids of a network asked for, those without a value among them."""
    sql = "SELECT measured FROM internal.best WHERE cell_id = ?"
    found = run(results, lambda connection: connection.execute(sql, [cell_id]).fetchone())
    return frozenset(request.partition("@")[0] for request in (found and found[0]) or [])


def differing_in_one(
    results: str, cell: Mapping[str, Any], saved: Saved, among: Collection[str] | None = None
) -> dict[str, dict[str, str]]:
    """Networks that have saved this and differ from a network (a row of `cells`) in one key only, which is one of `among`.

    By key in the order of declaration, the id by the text of the value in the order of values. The label of gamma stands for
    gamma.
    """
    known = grid_keys(results)
    keys = [key for key in gamma_once(known, known) if key != VERSION]
    free = [key for key in keys if among is None or key in among]
    same = [key for key in (*keys, SEED, *({VERSION} & {*known})) if key not in free]
    alike = " AND ".join(["status = 'ok'", *(_has(key, cell[key]) for key in same)])
    differ = " + ".join(f"(({_has(key, cell[key])}) IS NOT TRUE)::INTEGER" for key in free)
    names = ", ".join(map(quoted, free))
    sql = f"""SELECT cell_id, {names} FROM cells WHERE {alike} AND {differ} = 1 AND cell_id IN ({HOLDING[saved]})
ORDER BY gamma, {names}, cell_id"""
    found: dict[str, dict[str, str]] = {}
    for cell_id, *values in run(results, lambda connection: connection.execute(sql).fetchall()):
        key, value = next((key, value) for key, value in zip(free, values, strict=True) if value != cell[key])
        found.setdefault(key, {})[value_of(key, value)] = cell_id
    return {key: found[key] for key in free if key in found}


def _has(key: str, value: Any) -> str:
    return f"{quoted(key)} IS NULL" if value is None else f"{quoted(key)} = {literal(value)}"


def beside_in_one(results: str, cell_id: str, saved: Saved, among: Collection[str] | None = None) -> dict[str, dict[str, str]]:
    """The networks of `differing_in_one` beside the network with this id; none if there is no such network."""
    cell = network(results, cell_id)
    return {} if cell is None else differing_in_one(results, cell, saved, among)


def of_other_gamma(results: str, cell: Mapping[str, Any], saved: Saved = "weights") -> dict[str, str]:
    """Networks that differ from this one in gamma only and have saved weights, or what is named: label to id, by gamma."""
    return differing_in_one(results, cell, saved, ("gamma_label",)).get("gamma_label", {})
