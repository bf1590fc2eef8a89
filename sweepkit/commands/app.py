"""`sweep app`: the pages over a results directory, in a browser."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from sweepkit import FOLDER
from sweepkit.console.terminal import stop, told
from sweepkit.extras import require
from sweepkit.options import Studies

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
PAGE = FOLDER / "app" / "main.py"


@app.command()
def pages(
    results: Annotated[str, typer.Option(metavar="DIR_OR_URI", help="Where the results are.")] = "results",
    study: Studies = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="The port of the server. Default: the first free one from 8501 on.")
    ] = None,
    address: Annotated[
        str, typer.Option(metavar="HOST", help="The address to listen at. There is no log-in: beyond this machine, use a tunnel.")
    ] = "localhost",
) -> None:
    """Serve the app, until Ctrl-C. It follows running sweeps."""
    require("app")
    if "://" not in results and Path(results).is_file():
        stop(f"{Path(results).resolve()} is a file, and results are kept in a directory: name one with --results")
    if "://" not in results and not Path(results).is_dir():
        told(f"there is no {Path(results).resolve()} yet: the pages stay empty until a sweep writes to it")
    from click import Abort  # here: help and wrong options need not wait for these
    from streamlit.web.cli import main

    words = ["run", str(PAGE), "--server.address", address, *(["--server.port", str(port)] if port else [])]
    with suppress(Abort):  # Ctrl-C
        # In this process, which `sweep` leaves at once: in an ordinary end, DuckDB's bindings report leaks.
        main([*words, "--", "--results", results], standalone_mode=False)
