"""`sweep study`: start a study of your own, run it, judge it, or list those that are there."""

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sweepkit.console.commands import command, where
from sweepkit.console.escaping import printable
from sweepkit.console.exit_codes import INTERRUPTED
from sweepkit.console.streams import run_and_leave
from sweepkit.console.terminal import complain, stop, told
from sweepkit.console.writing import check_file, write_whole
from sweepkit.extras import require
from sweepkit.shipped import ROOT
from sweepkit.studies import NAME, OURS

if TYPE_CHECKING:
    from analysis.studies.declared import Declared

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)
EXAMPLE = ROOT / "examples" / "my_law"
"""The study that a new one begins as."""

Study = Annotated[str, typer.Argument(metavar="NAME|DIR", help="A study of the project, or the folder of one.")]
Results = Annotated[str, typer.Option(metavar="DIR_OR_URI", help="The results: networks found there are not trained again.")]


@app.callback()
def study() -> None:
    """A study is a folder with the grids, theory, figures, statements and words of one law or paper."""


@app.command()
def new(name: Annotated[str, typer.Argument(metavar="NAME", help="The folder to make: small letters, digits and _.")]) -> None:
    """Make a folder with a study that works as it is: one grid, one curve of theory, one figure, two claims, words and a test."""
    folder = Path(name)
    if not re.fullmatch(NAME, folder.name, re.ASCII):
        stop(f"{name}: a study is named by its folder, in small letters, digits and _, such as my_law")
    if folder.exists():
        stop(f"{name} is there already: choose another name")
    if (OURS / folder.name).is_dir():
        stop(f"{folder.name} is a study of the project: choose another name")
    if not folder.parent.is_dir():
        stop(f"no folder {folder.parent}: make it first")
    words = folder.name.split("_")
    names = {"my_law": folder.name, "my-law": "-".join(words), "MyLaw": "".join(map(str.capitalize, words))}
    try:
        for file in sorted(file for file in EXAMPLE.rglob("*") if file.is_file() and "__pycache__" not in file.parts):
            made = folder / str(file.relative_to(EXAMPLE)).replace("my_law", folder.name)
            made.parent.mkdir(parents=True, exist_ok=True)
            text = file.read_text(encoding="utf-8")
            for old, named in names.items():
                text = text.replace(old, named)
            made.write_text(text, encoding="utf-8")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        stop(f"cannot write {error.filename}: {error.strerror}")
    next_one = f"{folder}: {command('study', 'run', str(folder))} trains it, judges it and draws it"
    Console(highlight=False, soft_wrap=True).print(printable(next_one), markup=False)


@app.command("list")
def listing(
    evidence: Annotated[
        bool,
        typer.Option(
            "--evidence", help="The sweeps whose networks are kept with the project, one a line, as `sweep run` takes them."
        ),
    ] = False,
) -> None:
    """List the studies: those of the project, those of installed packages, and those that $SWEEP_STUDIES names."""
    from analysis.studies.loading import studies

    if evidence:
        print(*(sweep for one in studies() for sweep in one.evidence), sep="\n")
        return
    table = Table(box=SIMPLE_HEAD)
    for head in ("study", "what it shows", "source"):
        table.add_column(head, no_wrap=head == "study")
    for one in studies():
        table.add_row(one.name, printable(one.shows or one.title), printable(one.source))
    Console(highlight=False).print(table)


@app.command()
def judge(name: Study, results: Results = "results") -> None:
    """Judge the statements of a study by the networks that are there."""
    from analysis.data.source import NoResults, ResultsError
    from analysis.studies.loading import load

    one = load(name)
    try:
        _print_verdicts(one, results)
    except NoResults as error:
        stop(f"{error}. {command('study', 'run', name, *where(results))} trains its networks")
    except (ResultsError, ValueError) as error:  # ValueError: an entry of the claims file
        stop(str(error))


@app.command()
def run(
    name: Study,
    results: Results = "results",
    full: Annotated[
        bool, typer.Option("--full", help="Train the last of its grids, with more sizes and seeds, not the quick one.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Train in one process, without Ray.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The report. Default: report.html in its folder; NAME.html here for a study of the project."
        ),
    ] = None,
) -> None:
    """Train what is missing of a study's quick grid, judge its statements, draw its figures, and write a report."""
    from analysis.data.source import ResultsError
    from analysis.studies.loading import load

    require("figures")
    one = load(name)
    file = out or (Path(f"{one.name}.html") if one.folder.parent == OURS else one.folder / "report.html")
    check_file(file, "report.html")
    _check_all(one)
    if one.grids:
        _train(one, one.grid_file(one.grids[-1 if full else 0]), results, debug)
    else:
        told(f"{one.name} has no grid: it is judged by what is in {results}")
    try:
        _print_verdicts(one, results)
        from analysis.overlays.waiting import computed
        from analysis.report.study import build

        told("drawing its figures ...")
        write_whole(file, build(one, results, computed))
    except (ResultsError, ValueError) as error:
        stop(str(error))
    except OSError as error:
        stop(f"{error.filename}: {error.strerror}")
    Console(highlight=False, soft_wrap=True).print(printable(str(file)), markup=False)


def _train(one: "Declared", grid: Path, results: str, debug: bool) -> None:
    """Train what is missing, in a process of its own, to which signals are handed on: Ctrl-C drains it. Leave if that fails, or
    if no network of the grid is there; some that failed stop nothing."""
    require("train")
    words = [sys.executable, "-m", "orchestrator.sweep", str(grid), "--results", results, *(["--debug"] if debug else [])]
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def hand_on(number: int, frame: object) -> None:
        early.append(number) if child is None else child.send_signal(number)

    handed_on = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {one: signal.signal(one, hand_on) for one in handed_on}
    try:
        # In a process group of its own, so that Ctrl-C on a terminal reaches it once, as a signal to this process alone does.
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, process_group=0)
        for number in early:
            child.send_signal(number)
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if code not in (0, 1):
        raise typer.Exit(INTERRUPTED if code < 0 else code)
    if code and not _trained(one, results):
        stop(f"nothing of {one.name} was trained", 1)
    if code:
        told(f"some networks of {one.name} failed: it is judged by the others")


def _trained(one: "Declared", results: str) -> bool:
    """True if some network of the study's sweeps is there."""
    from analysis.data.progress.coverage import progress
    from analysis.data.source import ResultsError
    from analysis.studies.words import sweeps_of

    try:
        return any(sweep.ok for sweep in progress(results) if sweep.sweep in sweeps_of(one))
    except ResultsError:
        return False


def _check_all(one: "Declared") -> None:
    """Stop for a mistake in any file of the study: better before hours of training than after."""
    from analysis.claims.check import load_claims
    from analysis.figures.registry import figures_of
    from analysis.overlays.registry import theories_of
    from analysis.studies.loading import part

    class _All(frozenset[str]):
        """The metrics of the study's own files are not known yet."""

        def __contains__(self, name: object) -> bool:
            return True

    try:
        theories_of(one), figures_of(one), part(one.folder, "kinds"), load_claims(known_measures=_All(), study=one.name)
    except (ValueError, OSError) as error:
        stop(str(error))


def _print_verdicts(one: "Declared", results: str) -> None:
    from analysis.claims.check import load_claims
    from analysis.claims.verdict import Measured, marks
    from analysis.claims.verdict_cache import checked
    from analysis.data.measures import measures
    from analysis.data.source import existing
    from analysis.overlays.unheard import unheard
    from sweepkit.stats.rounding import with_interval

    existing(results)
    claims = load_claims(known_measures=measures(results), study=one.name)
    if not claims:
        told(f"{one.name} states nothing: it has no claims.yaml")
        return
    table = Table(box=SIMPLE_HEAD, title=printable(f"{one.title}: statements judged by the networks in {results}"))
    for head in ("verdict", "statement", "measured, 95% interval", "expected"):
        table.add_column(head, overflow="fold")
    for found in checked(results, claims, f"judging its statements by the networks in {results}"):
        measured = with_interval(found.measured.interval) if isinstance(found.measured, Measured) else found.why
        says, expected = f"{found.claim.says} ({found.claim.id})", str(found.claim.expected or "")
        table.add_row(
            ", ".join(dict.fromkeys([found.verdict, *marks(found.claim)])), printable(says), printable(measured), expected
        )
    Console(highlight=False).print(table)
    for words in unheard(one, results):
        complain(words)


if __name__ == "__main__":
    run_and_leave(lambda: app(prog_name="python -m sweepkit.commands.study"), quiet_pipe=True)
