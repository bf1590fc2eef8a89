"""`python -m analysis.figures curve` or `1c`: a figure of one's own sweep, or one of the papers, as SVG, PNG, PDF and CSV."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperCommand

from analysis.figures.names import OWN
from analysis.overlays.overlays import Compute, Later
from analysis.overlays.waiting import computed, left_out
from sweepkit.console.escaping import printable
from sweepkit.console.exit_codes import INTERRUPTED
from sweepkit.console.streams import run_and_leave
from sweepkit.console.terminal import stop, told
from sweepkit.console.words import counted, listed, nearest
from sweepkit.console.writing import check_folder
from sweepkit.extras import require
from sweepkit.options import Studies

if TYPE_CHECKING:
    from analysis.figures.drawn import Titled

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

LEAST, MOST = 40, 4000
"""Bounds of a panel's width and height in pixels."""


class _WithNames(TyperCommand):
    """A command that names the figures in its help only: the registry is slow to import."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """One word for the figure: further ones are refused, and each with its own hint."""
        return [f"{'|'.join(OWN)}|FIGURE", "[OPTIONS]"]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        figure: Any = next(parameter for parameter in self.params if parameter.name == "figure")
        figure.help = f"{listed(OWN)}: of a sweep of yours. Or a figure of the papers: {__getattr__('NAMES')}."
        super().format_help(ctx, formatter)


def __getattr__(name: str) -> str:
    """`NAMES`, the names of all figures, imported when it is asked for."""
    if name != "NAMES":
        raise AttributeError(name)
    from analysis.figures.registry import FIGURES

    return ", ".join(FIGURES)


@app.command(cls=_WithNames)
def figures(
    figure: Annotated[str, typer.Argument(metavar="FIGURE")],
    more: Annotated[list[str] | None, typer.Argument(hidden=True, metavar="")] = None,
    sweep: Annotated[
        str | None, typer.Option(help="Draw the networks of this sweep alone; by default those of the whole store.")
    ] = None,
    x: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Own figures: the parameter along the x axis; curve: `step` for curves along training."),
    ] = None,
    y: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Own figures: the metric; by default the main one of the networks.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="Own figures: the parameter that tells curves apart, or `none`. map: the one along the y axis."
        ),
    ] = None,
    panels: Annotated[
        str | None, typer.Option(metavar="KEY", help="curve, threshold: the parameter with a panel for each value, or `none`.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUES", help="Own figures: only networks with these values, such as d=64,128. May be repeated."
        ),
    ] = None,
    centre: Annotated[
        str | None, typer.Option(metavar="mean|median", help="curve, map: the centre of the seeds. Default: mean.")
    ] = None,
    log_x: Annotated[
        bool | None, typer.Option("--log-x/--linear-x", help="curve: the x axis. Default: what suits the values.")
    ] = None,
    log_y: Annotated[
        bool | None, typer.Option("--log-y/--linear-y", help="curve: the y axis. Default: what suits the metric.")
    ] = None,
    seeds: Annotated[bool, typer.Option("--seeds", help="curve: a dot for each network too.")] = False,
    theory: Annotated[bool, typer.Option(help="curve: the theory of these networks, where there is one.")] = True,
    residuals: Annotated[bool, typer.Option(help="curve: measured minus theory, below.")] = True,
    intervals: Annotated[bool, typer.Option(help="curve: 95% intervals.")] = True,
    library: Annotated[
        str | None, typer.Option(metavar="altair|matplotlib", help="curve: what draws it. Default: altair.")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help="Figures of the papers: draw a curve, a map or Lstar by this metric, such as final_test_auc.",
        ),
    ] = None,
    at: Annotated[
        float | None,
        typer.Option(metavar="LEVEL", help="threshold, rescaled, compare, Lstar: the level to reach. Default: the usual one."),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="threshold, rescaled, compare: the parameter of which so much suffices to reach the level."
        ),
    ] = None,
    exponent: Annotated[
        str | None,
        typer.Option(metavar="fitted|best|NUMBER", help="rescaled: the power of x that rescales curves. Default: fitted."),
    ] = None,
    arms: Annotated[
        str | None, typer.Option(metavar="KEY=A,B", help="compare: a parameter and two of its values, paired by seed.")
    ] = None,
    ratio: Annotated[bool, typer.Option("--ratio", help="compare: means divided; the default is their difference.")] = False,
    width: Annotated[
        int | None, typer.Option(min=LEAST, max=MOST, metavar="PIXELS", help="Width of a panel, 96 to the inch in a PDF.")
    ] = None,
    height: Annotated[int | None, typer.Option(min=LEAST, max=MOST, metavar="PIXELS", help="Height of a panel.")] = None,
    results: Annotated[str, typer.Option(metavar="DIR_OR_URI", help="Where results are stored.")] = "results",
    study: Studies = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR|FILE", help="The folder of the four files, or one of them, such as paper.pdf.")
    ] = Path("figures"),
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Their name without its ending. Default: the sweep's and the figure's.")
    ] = None,
    caption: Annotated[bool, typer.Option(help="Own figures: write what is held fixed, seeds and laws into the picture.")] = True,
    wait: Annotated[bool, typer.Option(help="Compute theory that takes minutes and is not kept on disk yet.")] = True,
) -> None:
    """Write a figure as SVG, PNG, PDF and CSV: measured means with 95% intervals, and the theory beside them."""
    require("figures")
    for word in more or ():
        stop(f"{word}: say --where {word}" if "=" in word else f"{word!r}: a command draws one figure; --help shows its options")
    own = {
        "x": x, "y": y, "by": by, "panels": panels, "where": where or None, "centre": centre, "log-x": log_x, "log-y": log_y,
        "seeds": seeds or None, "no-theory": None if theory else True, "no-residuals": None if residuals else True,
        "no-intervals": None if intervals else True,
        "library": library, "of": of, "exponent": exponent, "arms": arms, "ratio": ratio or None,
    }  # fmt: skip
    size = {side: pixels for side, pixels in (("width", width), ("height", height)) if pixels is not None}
    if name is not None and (Path(name).name != name or name in ("", ".", "..")):
        stop(f"--name {name}: say a file's name without a folder; --out names the folder")
    if figure.lower() in OWN:
        if measure is not None:
            stop(f"--measure is for figures of the papers: with `{figure}`, name the metric by --y {measure}")
        draw = partial(_own, figure.lower(), results, sweep, own | {"at": at}, size, caption)
    else:
        if given := [f"--{option}" for option, value in own.items() if value is not None]:
            stop(f"{', '.join(given)}: for {listed(OWN)} only; figure {figure} has axes of its own")
        draw = partial(_of_paper, figure, results, sweep, measure, at, size)
    if out.suffix.removeprefix(".").lower() in _kinds() and not out.is_dir():
        if name is not None:
            stop(f"--out {out} names the files already: leave --name out, or name a folder with --out")
        out, name = out.parent, out.stem
    check_folder(out)
    missing: list[Later] = []

    def noted(later: list[Later]) -> bool:
        missing.extend(later)
        return False

    drawn = draw(noted if wait else left_out)
    files, before = _written(drawn, out, name)
    if missing:
        told(f"{files} are written, without the theory of {counted(len(missing), 'point')}; Ctrl-C leaves them so")
        try:
            computed(missing)
        except KeyboardInterrupt:
            told("the figure stays without that theory; what was computed of it is kept on disk")
            raise typer.Exit(INTERRUPTED) from None
        drawn = draw(left_out)
        files, _ = _written(drawn, out, name)
    console = Console(highlight=False, soft_wrap=True)
    console.print(printable(f"{drawn.title}. {drawn.caption}"), markup=False)
    console.print(f"{files}{before}", markup=False)


def _kinds() -> tuple[str, ...]:
    from analysis.figures.files import FILES

    return FILES


def _own(
    figure: str,
    results: str,
    sweep: str | None,
    own: dict[str, Any],
    size: dict[str, int],
    caption: bool,
    compute: Compute,
) -> "Titled":
    """A figure of one's own sweep, from the values of the options."""
    from analysis.data.source import NoResults, ResultsError, existing
    from analysis.figures.asked import own_figure
    from sweepkit.console.commands import sweep_command

    try:
        existing(results)
        drawn = own_figure(figure, results, sweep, own, size, compute)
        return drawn.with_caption() if caption else drawn
    except NoResults as error:
        stop(f"{error}. {sweep_command('grid.yaml', results)} trains some networks")
    except ResultsError as error:
        stop(str(error))


def _of_paper(
    figure: str,
    results: str,
    sweep: str | None,
    measure: str | None,
    level: float | None,
    size: dict[str, int],
    compute: Compute,
) -> "Titled":
    """A figure of the papers."""
    from analysis.asked_chart import MOST_LISTED
    from analysis.charts.shown.sizing import sized
    from analysis.data.measures import measures
    from analysis.data.progress.coverage import sweeps
    from analysis.data.source import NoResults, ResultsError, existing
    from analysis.figures.drawn import Titled
    from analysis.figures.registry import FIGURES, Missing

    names = {name.lower(): name for name in (*OWN, *FIGURES)}
    if figure.lower() not in names:
        stop(f"no figure {figure!r}{nearest(figure, names.values()) or ':'} there are {', '.join(names.values())}")
    chosen = FIGURES[names[figure.lower()]]
    try:
        if chosen.grids:
            existing(results)
        there = sweeps(results) if sweep is not None else []
        if sweep is not None and sweep not in there:
            stop(f"no sweep {sweep!r} in {results}{nearest(sweep, there) or ':'} there are {listed(there, MOST_LISTED)}")
        if measure is not None and (chosen.draw_by is None or measure not in measures(results)):
            by = ", ".join(f.name for f in FIGURES.values() if f.draw_by)
            known = f"measures {', '.join(measures(results))}" if chosen.draw_by else f"figures that can be: {by}"
            stop(f"figure {chosen.name} cannot be drawn by {measure!r}; {known}")
        if level is not None and not chosen.has_level:
            have = ", ".join(f.name for f in FIGURES.values() if f.has_level)
            stop(f"figure {chosen.name} has no level; figures that have one: {have}")
        drawn = chosen.draw_in_full(results, sweep, compute, measure, level)
        title = chosen.title if measure is None else chosen.title_by(measures(results)[measure])
    except NoResults as error:
        stop(f"{error}. Its data come from {' or '.join(chosen.commands(results))}")
    except ResultsError as error:
        stop(str(error))
    if isinstance(drawn, Missing):
        others = f"; {listed(OWN)} draw any sweep" if sweep is not None else ""
        stop(f"figure {chosen.name}: {drawn.needs} in {results}; run {' or '.join(chosen.commands(results))}{others}")
    words = [sweep, chosen.name, measure, None if level is None else f"{level:g}"]
    usual = "-".join(word for word in words if word is not None)
    return Titled(title, drawn.caption, sized(drawn.chart, **size), drawn.frame, usual)


def _written(drawn: "Titled", out: Path, name: str | None) -> tuple[str, str]:
    """Write the files, by their usual name if none is given; say where they are, and what of an earlier figure they replaced."""
    from analysis.figures.files import FILES, write

    name = name or drawn.name
    try:
        replaced = write(drawn.chart, drawn.frame, out, name)
    except OSError as error:
        stop(f"cannot write {name}.{FILES[0]} and the like in {out}: {error.strerror}; name a folder with --out")
    of_before = ", .".join(replaced)
    return f"{out / name}.{', .'.join(FILES)}", f" (replaced: .{of_before} of an earlier figure)" if replaced else ""


if __name__ == "__main__":
    run_and_leave(lambda: app(prog_name="python -m analysis.figures"), quiet_pipe=True)
