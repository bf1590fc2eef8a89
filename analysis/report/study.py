"""The report of one study: its words, figures and statements, judged by the networks of a store, as one HTML file."""

import re
from typing import NamedTuple

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markupsafe import Markup

from analysis.data.source import existing
from analysis.figures.registry import figures_of
from analysis.overlays.overlays import Compute
from analysis.report.build import environment
from analysis.report.facts import facts
from analysis.report.papers import Claims, Figures, claims, figures
from analysis.studies.declared import Declared
from analysis.studies.words import readme, run_command

_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(?!\s)([^$\n]+?)\$", re.DOTALL)


class Parts(NamedTuple):
    """The parts of the report of a study."""

    words: Markup
    figures: Figures
    claims: Claims
    train: list[str]
    """Commands that train its networks: the quick grid first."""


def build(study: Declared, results: str, compute: Compute) -> str:
    """The report as HTML. `compute` is given theory that takes long. ResultsError without a store."""
    existing(results)
    parts = Parts(
        words_of(study),
        figures(results, None, compute, lambda text: None, figures_of(study)),
        claims(results, None, study.name),
        [run_command(study, results, full) for full in (False, True)[: len(study.grids)]],
    )
    return environment(results).get_template("study.html").render(study=study, parts=parts, facts=facts(results))


def words_of(study: Declared) -> Markup:
    """The README of a study as HTML, without its title and pictures, and with its formulas as MathML."""
    formulas: list[str] = []

    def hidden(found: re.Match[str]) -> str:
        text = (found[1] or found[2]).strip()
        try:
            formulas.append(convert(text, display="block" if found[1] else "inline"))
        except Exception:  # noqa: BLE001 - what is no formula stands as it is written
            formulas.append(Markup("<code>{}</code>").format(text))
        return f"\x02{len(formulas) - 1}\x03"

    shown = MarkdownIt("commonmark", {"html": False}).enable("table").render(_FORMULA.sub(hidden, readme(study)))
    return Markup(re.sub("\x02(\\d+)\x03", lambda found: formulas[int(found[1])], shown))
