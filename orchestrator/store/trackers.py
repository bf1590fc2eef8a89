"""`store export --to`: networks as runs of MLflow, Weights & Biases or TensorBoard, with a bar and a line per sweep."""

from collections.abc import Mapping, Sequence
from typing import Any

import typer
from rich.progress import Progress

from sweepkit.console.escaping import printable
from sweepkit.console.terminal import complain, err, stop
from sweepkit.console.words import nearest
from sweepkit.store.files import Files, ResultsError
from sweepkit.store.sharing.destination import Broken
from sweepkit.store.sharing.runs import PER, Per
from sweepkit.store.sharing.share import Shared, chosen, share
from sweepkit.store.sharing.trackers import TRACKERS, Tracker, tracker


def share_runs(files: Files, to: str, sweeps: Sequence[str], where: str, per: str, options: Mapping[str, Any]) -> None:
    """Share the sweeps. Ends the command with 2 for bad input, with 1 if the tracker stops answering, with 130 if interrupted."""
    try:
        found = tracker(to)
        check_options(options, found)
        how = _per(per)
        numbers = chosen(files, sweeps, where)
        destination = found.opened(options)
    except ResultsError as error:
        stop(str(error))
    code = 0
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        for sweep, n in numbers.items():
            # The number of configurations is known only at the end: the bar then runs without a length.
            task = bar.add_task(sweep, total=n if how == "network" else None)
            done = Shared()
            try:
                share(files, destination, sweep, how, where, lambda task=task: bar.advance(task), done)  # type: ignore[misc]
            except KeyboardInterrupt:
                complain("interrupted: the runs that are there stay, and the same command goes on")
                code = 130
            except Broken as error:
                complain(f"{error}\nThe runs that are there stay, and the same command goes on.")
                code = 1
            except ResultsError as error:
                complain(str(error))
                code = 2
            typer.echo(printable(f"{sweep}: {done.added:,} runs added, {done.replaced:,} replaced, {done.there:,} there already"))
            if code:
                raise typer.Exit(code)
    if not numbers:
        typer.echo("nothing to share: no finished network fits")
    typer.echo(printable(f"in {destination.place}"))
    if destination.look:
        typer.echo(printable(f"to look: {destination.look}"))


def check_options(options: Mapping[str, Any], found: Tracker | None = None) -> None:
    """ResultsError if an option is given that this tracker, or the export to files for None, does not take."""
    taken = found.options if found else ("out", "csv")
    for name, value in options.items():
        if value is not None and name not in taken:
            of = [other.name for other in TRACKERS.values() if name in other.options] or ([] if found else list(TRACKERS))
            said = " or ".join(f"--to {one}" for one in of) or "an export to files, without --to"
            raise ResultsError(f"--{name.replace('_', '-')} goes with {said}")


def _per(text: str) -> Per:
    for per in PER:
        if text == per:
            return per
    raise ResultsError(f"unknown --per {text!r}{nearest(text, PER) or ';'} legal: {', '.join(PER)}")
