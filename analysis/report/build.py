"""The report: the results of each sweep, then the papers' claims and figures, in one HTML file that needs no network."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.asked_chart import selected
from analysis.claims.board import instances
from analysis.claims.check import advice
from analysis.claims.papers import PAPERS
from analysis.claims.verdict import distance, marks
from analysis.data.progress.coverage import progress, reasons
from analysis.data.source import existing
from analysis.overlays.overlays import Compute
from analysis.report.facts import facts
from analysis.report.own import described_origins, own_results
from analysis.report.papers import claims, figures
from sweepkit.console.commands import command
from sweepkit.console.escaping import as_html
from sweepkit.console.words import duration, listed
from sweepkit.stats import FEW
from sweepkit.stats.rounding import with_interval
from sweepkit.store.provenance import brief

OPEN = 3
"""Most sweeps of a report whose tables and training curves are open when it is opened."""


def build(
    results: str,
    compute: Compute,
    say: Callable[[str], None] = lambda text: None,
    sweeps: Sequence[str] | None = None,
) -> str:
    """The report as HTML: of these sweeps, or of the whole store. `compute` is given theory that takes long; `say` gets words
    about the progress. ResultsError without a store, and for a sweep that it does not have."""
    existing(results)
    wanted = None if sweeps is None else list(dict.fromkeys(sweeps))
    for sweep in wanted or ():
        selected(results, sweep, None)  # refuses an unknown one
    say("reading the store ...")
    there = {one.sweep: one for one in progress(results)}
    why = reasons(results)
    about = facts(results)
    own = []
    for name in wanted or there:
        say(f"drawing sweep {name} ...")
        own.append(own_results(results, there[name], why.get(name, []), compute))
    say("putting the claims to the test ...")
    judged = claims(results, wanted)
    drawn = figures(results, wanted, compute, say)
    title = f"Sweep{'s' * (len(wanted) > 1)} {listed(wanted)}" if wanted else "Sweeps beside the theory"
    return environment(results).get_template("report.html").render(
        title=title, facts=about, papers=PAPERS, few=FEW, own=own, opened=len(own) <= OPEN, whole=wanted is None,
        claims=judged, figures=drawn,
    )  # fmt: skip


def environment(results: str) -> Environment:
    """The templates of reports, with the filters that they use."""
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    found.filters |= {
        "command": command,
        "number": _number, "with_interval": with_interval, "advice": lambda one: advice(one, results), "marks": marks,
        "instances": lambda of: instances([one.claim for one in of.claims]), "distance": distance,
        "code": lambda text: Markup(as_html(text)),
        "duration": duration, "origins": described_origins, "commit": brief, "anchor": _anchor,
    }  # fmt: skip
    return found


def _number(value: float | None) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def _anchor(text: str) -> str:
    """A name that a link within the page can have."""
    return re.sub(r"[^\w-]+", "-", text)
