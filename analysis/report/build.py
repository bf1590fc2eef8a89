"""The report: facts, claims and figures of a store in one HTML file that needs no network to be read."""

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.claims.check import advice, check
from analysis.claims.papers import PAPERS
from analysis.claims.verdict import VERDICTS, Checked, Verdict
from analysis.data.source import existing
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.figures.registry import FIGURES
from analysis.overlays.overlays import Later
from analysis.report.facts import facts
from stats import FEW
from stats.rounding import with_interval


def build(results: str, compute: Callable[[list[Later]], None], say: Callable[[str], None] = lambda text: None) -> str:
    """The report as HTML. `compute` is given theory that takes long; `say` is told what is being done. ResultsError without a
    store."""
    existing(results)
    say("reading the store ...")
    about = facts(results)
    say("putting the claims to the test ...")
    checked = check(results)
    panels = []
    for figure in FIGURES.values():
        say(f"drawing figure {figure.name} ...")
        panels.append(_panel(figure, figure.draw_in_full(results, None, compute), results))
    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"number": _number, "with_interval": with_interval, "advice": lambda one: advice(one, results)}
    simulated = [one for one in checked if one.claim.grid is None and not one.claim.not_measured]
    others = [one for one in checked if one.claim.grid is not None or one.claim.not_measured]
    topics = list(dict.fromkeys(one.claim.topic for one in checked))
    by_topic = {topic: [one for one in checked if one.claim.topic == topic] for topic in topics}
    template = environment.get_template("template.html")
    return template.render(
        facts=about, papers=PAPERS, few=FEW, panels=panels, counts=_counts(others), simulated=_counts(simulated), topics=by_topic
    )


def _counts(checked: list[Checked]) -> dict[Verdict, int]:
    return {verdict: sum(one.verdict == verdict for one in checked) for verdict in VERDICTS}


def _panel(figure: Figure, drawn: Drawn | Missing, results: str) -> dict[str, Any]:
    if isinstance(drawn, Missing):
        return {"figure": figure, "missing": drawn.needs, "commands": figure.commands(results)}
    svg = io.StringIO()
    drawn.chart.save(svg, format="svg")
    data = base64.b64encode(drawn.frame.to_csv(index=False).encode()).decode()
    return {
        "figure": figure, "missing": None, "caption": drawn.caption, "sql": drawn.sql,
        "svg": Markup(svg.getvalue()),
        "csv": f"data:text/csv;base64,{data}",
    }  # fmt: skip


def _number(value: float | None) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
