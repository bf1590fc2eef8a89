"""`python -m analysis.figures 1c`: a figure of the paper from the store, as SVG, PNG and CSV."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from analysis.accuracy import accuracy_points
from analysis.charts import accuracy_chart, accuracy_frame
from analysis.coverage import coverage
from analysis.source import ResultsError
from analysis.terminal import stop

FIGURES = {"1c": "test accuracy against L for each gamma, beside Eq. 3"}
"""Figures that can be drawn so far."""

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def figures(
    figure: Annotated[str, typer.Argument(metavar="FIG", help=f"One of: {'; '.join(f'{k}: {v}' for k, v in FIGURES.items())}.")],
    sweep: Annotated[str | None, typer.Option(help="The sweep to draw; by default the only one that has data for it.")] = None,
    results: Annotated[str, typer.Option(metavar="DIR_OR_URI", help="Where results are stored.")] = "results",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the three files go.")] = Path("figures"),
) -> None:
    """Write FIG.svg, FIG.png and FIG.csv."""
    if figure not in FIGURES:
        stop(f"no figure {figure!r}: there are {', '.join(FIGURES)}")
    try:
        found = {name: points for name in coverage(results) if (points := accuracy_points(results, name))}
    except ResultsError as error:
        stop(str(error))
    if sweep is None and len(found) != 1:
        stop(
            f"no data for figure {figure} in {results}: python -m orchestrator.sweep grid.yaml makes some"
            if not found
            else f"several sweeps have data for figure {figure}: say --sweep with one of {', '.join(found)}"
        )
    name = sweep or next(iter(found))
    if name not in found:
        stop(f"sweep {name!r} has no data for figure {figure}: sweeps that have are {', '.join(found) or 'none'}")
    out.mkdir(parents=True, exist_ok=True)
    chart = accuracy_chart(found[name])
    chart.save(out / f"{figure}.svg")
    chart.save(out / f"{figure}.png", scale_factor=2)
    accuracy_frame(found[name]).to_csv(out / f"{figure}.csv", index=False)
    Console().print(f"{out / figure}.svg, .png, .csv", highlight=False)


if __name__ == "__main__":
    app()
