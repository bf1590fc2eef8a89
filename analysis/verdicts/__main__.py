"""`python -m analysis.verdicts`: docs/verdicts.md, every statement of the papers with its verdict."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sweepkit.console.commands import documented
from sweepkit.console.streams import run_and_leave
from sweepkit.console.terminal import stop
from sweepkit.console.writing import check_file, write_whole
from sweepkit.options import Studies

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
PAGE, README = Path("docs/verdicts.md"), Path("README.md")
EVIDENCE = "evidence"
"""The networks that the project's own page is made from."""


@app.command()
def verdicts(
    results: Annotated[
        str | None,
        typer.Option(metavar="DIR_OR_URI", help=f"The networks to judge by. Default: {EVIDENCE} in a clone, else results."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"The page to write. Default: {PAGE} for {EVIDENCE}, else verdicts.md.")
    ] = None,
    study: Studies = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Check all claims and write the page.

    Its counts by paper also go into README.md, between its two lines <!-- verdicts -->, unless --out names another page, as it
    must for other networks. The app shows the verdicts without another check; those of evidence/ are kept with its networks.
    """
    from analysis.claims.check import load_claims
    from analysis.claims.published import publish
    from analysis.claims.verdict_cache import checked
    from analysis.data.measures import measures
    from analysis.data.source import ResultsError, existing
    from analysis.verdicts.page import page
    from analysis.verdicts.summary import by_paper, summary_in, with_summary

    if results is None:
        results = EVIDENCE if PAGE.parent.is_dir() and Path(EVIDENCE).is_dir() else "results"
    if out is None:
        out = PAGE if results == EVIDENCE and PAGE.parent.is_dir() else Path("verdicts.md")
    if out == PAGE and results != EVIDENCE:
        stop(f"{PAGE} and the table in {README} are of {EVIDENCE}/: name another page for the networks in {results} with --out")
    try:
        check_file(out)
        if out == PAGE:
            summary_in(README.read_text(), str(README))  # before the check, which takes a minute
        existing(results)
        with documented():  # the page says the same whoever makes it
            words = None if quiet else f"putting the claims to the test on {results}"
            found = checked(results, load_claims(known_measures=measures(results)), words)
            text, short = page(found, results, datetime.now(UTC).date(), is_ours=results == EVIDENCE)
        write_whole(out, text)
        if out == PAGE:
            publish(results, found)
            write_whole(README, with_summary(README.read_text(), by_paper(short), str(README)))
    except (ResultsError, ValueError) as error:  # ValueError: an entry of a claims file, or a README without markers
        stop(str(error))
    except KeyboardInterrupt:
        stop(f"interrupted: {out} is as it was", 130)
    except OSError as error:
        stop(f"{error.filename}: {error.strerror}")
    Console(highlight=False, soft_wrap=True).print(str(out), markup=False)


if __name__ == "__main__":
    run_and_leave(lambda: app(prog_name="python -m analysis.verdicts"), quiet_pipe=True)
