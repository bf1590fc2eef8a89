"""`python -m orchestrator.nodes [ADDRESS [N]]`: wait until a Ray cluster has N machines, then list them."""

import time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from sweepkit.console.streams import run_and_leave
from sweepkit.console.terminal import stop, told

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def nodes(
    address: Annotated[str, typer.Argument(help="host:port of the cluster's head, or auto on one of its machines.")] = "auto",
    count: Annotated[int, typer.Argument(min=1, metavar="N", help="Wait until the cluster has this many machines.")] = 1,
    seconds: Annotated[float, typer.Option(help="Seconds to wait for them at most.")] = 180.0,
) -> None:
    """List the machines of the cluster. Exit 2 if fewer than N have joined in time, or if no cluster answers."""
    from orchestrator.ray.cluster import ClusterError, joined

    deadline = time.monotonic() + seconds
    seen: set[str] = set()
    try:
        with joined(address):
            while len(alive := _alive()) < count:
                _tell_new(alive, seen)
                if time.monotonic() > deadline:
                    names = ", ".join(node["NodeManagerHostname"] for node in alive)
                    raise ClusterError(f"{len(alive)} of {count} nodes joined within {seconds:g} s: {names}")
                time.sleep(0.5)
    except ClusterError as error:
        stop(str(error))
    Console().print(_table(alive))


def _alive() -> list[dict[str, Any]]:
    import ray

    every: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return sorted((node for node in every if node["Alive"]), key=lambda node: str(node["NodeManagerAddress"]))


def _tell_new(alive: list[dict[str, Any]], seen: set[str]) -> None:
    for node in alive:
        if node["NodeID"] not in seen:
            seen.add(node["NodeID"])
            told(f"{node['NodeManagerAddress']} ({node['NodeManagerHostname']}) has joined")


def _table(alive: list[dict[str, Any]]) -> Table:
    table = Table(box=None)
    for name in ("address", "name", "CPUs", "GPUs", "memory / GB"):
        table.add_column(name, justify="left" if name in ("address", "name") else "right")
    for node in alive:
        have = node["Resources"]
        amounts = (have.get("CPU", 0), have.get("GPU", 0), have.get("memory", 0) / 1e9)
        table.add_row(node["NodeManagerAddress"], node["NodeManagerHostname"], *(f"{amount:.3g}" for amount in amounts))
    return table


if __name__ == "__main__":
    run_and_leave(app)
