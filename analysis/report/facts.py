"""The first part of a report: what was run, on which machines, by which versions."""

import os
import platform
from collections.abc import Hashable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from analysis.data.selection import Selection
from analysis.data.source import damaged
from sweepkit.store.views import run

PACKAGES = ("sweepkit", "ray", "torch", "numpy", "scipy", "duckdb", "altair")


def origins(results: str, sweep: str | None = None) -> list[dict[Hashable, Any]]:
    """How many networks each host, device, engine and version trained for a sweep (None: for any), those that diverged
    among them, with their seconds and the first and last time."""
    source = Selection(sweep)
    sql = f"""SELECT host, device, engine, science_version, git_sha, count(*) AS networks, coalesce(sum(seconds), 0) AS seconds,
    min(finished_at) AS first, max(finished_at) AS last
FROM {source.source} WHERE {source.condition} AND status <> 'failed' GROUP BY ALL ORDER BY networks DESC"""
    return run(results, lambda connection: connection.execute(sql).df()).to_dict("records")


def facts(results: str) -> dict[str, Any]:
    """The results, the origins of all networks, damaged files, and this machine."""
    found = origins(results)
    return {
        "results": results,
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "damaged": damaged(results),
        "origins": found,
        "networks": sum(origin["networks"] for origin in found),
        "seconds": sum(origin["seconds"] for origin in found),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}",
        "versions": {name: one for name in PACKAGES if (one := _version(name))},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:  # a reader's machine needs neither Ray nor torch
        return None
