"""`python -m analysis.figures 1c`: a figure of the paper from the store, as SVG, PNG and CSV."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperCommand

from analysis.overlays.waiting import computed, left_out
from console.printable import printable
from console.terminal import stop

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class _WithNames(TyperCommand):
    """A command that names the figures in its help only: the registry is slow to import."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        figure: Any = next(parameter for parameter in self.params if parameter.name == "figure")
        figure.help = f"One of {__getattr__('NAMES')}."
        super().format_help(ctx, formatter)


def __getattr__(name: str) -> str:
    """`NAMES`, the names of all figures, imported when it is asked for."""
    if name != "NAMES":
        raise AttributeError(name)
    from analysis.figures.registry import FIGURES

    return ", ".join(FIGURES)


@app.command(cls=_WithNames)
def figures(
    figure: Annotated[str, typer.Argument(metavar="FIG")],
    sweep: Annotated[
        str | None, typer.Option(help="Draw the networks of this sweep alone; by default those of the whole store.")
    ] = None,
    measure: Annotated[
        str | None, typer.Option(help="Draw a curve, a map or Lstar by this measure, such as final_test_auc, instead of its own.")
    ] = None,
    results: Annotated[str, typer.Option(metavar="DIR_OR_URI", help="Where results are stored.")] = "results",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the three files go.")] = Path("figures"),
    wait: Annotated[bool, typer.Option(help="Compute theory that takes minutes and is not kept on disk yet.")] = True,
) -> None:
    """Write FIG.svg, FIG.png and FIG.csv: measured means with 95% intervals and the theory beside them."""
    from analysis.data.coverage import coverage
    from analysis.data.measures import measures
    from analysis.data.source import ResultsError, existing
    from analysis.figures.registry import FIGURES, Missing

    names = {name.lower(): name for name in FIGURES}
    if figure.lower() not in names:
        stop(f"no figure {figure!r}: there are {', '.join(FIGURES)}")
    chosen = FIGURES[names[figure.lower()]]
    try:
        if chosen.grids:
            existing(results)
        sweeps = list(coverage(results)) if sweep is not None else []
        if sweep is not None and sweep not in sweeps:
            stop(f"no sweep {sweep!r} in {results}: there are {', '.join(sweeps) or 'none'}")
        if measure is not None and (chosen.draw_by is None or measure not in measures(results)):
            by = ", ".join(f.name for f in FIGURES.values() if f.draw_by)
            known = f"measures {', '.join(measures(results))}" if chosen.draw_by else f"figures that can be: {by}"
            stop(f"figure {chosen.name} cannot be drawn by {measure!r}; {known}")
        drawn = chosen.draw_in_full(results, sweep, computed if wait else left_out, measure)
    except ResultsError as error:
        stop(f"{error}. Its data come from {' or '.join(chosen.commands(results))}" if chosen.grids else str(error))
    if isinstance(drawn, Missing):
        stop(f"figure {chosen.name}: {drawn.needs} in {results}; run {' or '.join(chosen.commands(results))}")
    name = chosen.name if measure is None else f"{chosen.name}-{measure}"
    try:
        out.mkdir(parents=True, exist_ok=True)
        drawn.chart.save(out / f"{name}.svg")
        drawn.chart.save(out / f"{name}.png", scale_factor=2)
        drawn.frame.to_csv(out / f"{name}.csv", index=False)
    except OSError as error:
        stop(f"cannot write {name}.svg, .png and .csv in {out}: {error.strerror}; name a folder with --out")
    console = Console(highlight=False, soft_wrap=True)
    by = "" if measure is None else f", by {measures(results)[measure].title}"
    console.print(printable(f"{chosen.title}{by}. {drawn.caption}"), markup=False)
    console.print(f"{out / name}.svg, .png, .csv", markup=False)


if __name__ == "__main__":
    app(prog_name="python -m analysis.figures")
