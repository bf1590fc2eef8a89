"""`python -m orchestrator.nodes ADDRESS N`: waits until N nodes have joined a Ray cluster, as a script that starts one must."""

import time
from typing import Annotated

import typer

from analysis.terminal import stop

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def nodes(
    address: Annotated[str, typer.Argument(help="host:port of the cluster's head.")],
    count: Annotated[int, typer.Argument(min=1, metavar="N", help="How many nodes there are to be.")],
    seconds: Annotated[float, typer.Option(help="How long they may take.")] = 180.0,
) -> None:
    """Exit 0 once N nodes of the cluster are alive, 2 when they are not in time or no cluster answers."""
    import ray  # slow: not to print help

    from orchestrator.cluster import ClusterError, joined

    deadline = time.monotonic() + seconds
    try:
        with joined(address):
            while len(alive := [node["NodeManagerHostname"] for node in ray.nodes() if node["Alive"]]) < count:  # type: ignore[no-untyped-call]
                if time.monotonic() > deadline:
                    raise ClusterError(f"{len(alive)} of {count} nodes joined within {seconds:g} s: {', '.join(alive)}")
                time.sleep(0.5)
    except ClusterError as error:
        stop(str(error))


if __name__ == "__main__":
    app()
