"""`python -m analysis.report`: one HTML file with the results of each sweep, then the papers' claims and figures."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from analysis.overlays.waiting import computed, left_out
from sweepkit.console.streams import run_and_leave
from sweepkit.console.terminal import stop, told
from sweepkit.console.writing import check_file, write_whole
from sweepkit.extras import require
from sweepkit.options import Studies

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def report(
    sweep: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Report this sweep alone. May be repeated. Default: the whole store.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write.")] = Path("report.html"),
    results: Annotated[str, typer.Option(metavar="DIR_OR_URI", help="Where results are stored.")] = "results",
    study: Studies = None,
    wait: Annotated[bool, typer.Option(help="Compute theory that takes minutes and is not kept on disk yet.")] = True,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Write a self-contained report: each sweep's own results first. Theory of infinite width is computed once, in minutes, and
    kept on disk."""
    from analysis.data.source import NoResults, ResultsError
    from analysis.report.build import build
    from sweepkit.console.commands import sweep_command

    require("figures")
    check_file(out, "report.html")
    try:
        html = build(results, computed if wait else left_out, (lambda text: None) if quiet else told, sweep or None)
        write_whole(out, html)
    except NoResults as error:
        stop(f"{error}. {sweep_command('quick', results)} trains some networks for every figure on symbols")
    except (ResultsError, ValueError) as error:  # ValueError: an entry of a claims file
        stop(str(error))
    except OSError as error:
        stop(f"{error.filename}: {error.strerror}")
    Console(highlight=False, soft_wrap=True).print(str(out), markup=False)


if __name__ == "__main__":
    run_and_leave(lambda: app(prog_name="python -m analysis.report"), quiet_pipe=True)
