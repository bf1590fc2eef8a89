"""The first part of a report: what was run, on which machines, by which versions."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from analysis.data.source import damaged
from store.views import run

PACKAGES = ("sweep-orchestrator", "ray", "torch", "numpy", "scipy", "duckdb", "altair")

_ORIGINS = """
SELECT host, device, engine, science_version, git_sha, count(*) AS networks, sum(seconds) / 3600 AS hours,
    min(finished_at) AS first, max(finished_at) AS last
FROM cells WHERE status = 'ok' GROUP BY ALL ORDER BY networks DESC
"""


def facts(results: str) -> dict[str, Any]:
    """The results, the origins of all networks, damaged files, and this machine."""
    origins = run(results, lambda connection: connection.execute(_ORIGINS).df()).to_dict("records")
    return {
        "results": results,
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "damaged": damaged(results),
        "origins": origins,
        "networks": sum(origin["networks"] for origin in origins),
        "hours": sum(origin["hours"] or 0 for origin in origins),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}",
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:  # a reader's machine needs neither Ray nor torch
        return None
