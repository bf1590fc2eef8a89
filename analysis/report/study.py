"""The report of one study: its words, figures and statements, judged by the networks of a store, as one HTML file."""

import re
from pathlib import Path
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
from sweepkit.console.commands import command, where
from sweepkit.studies import OURS

_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(?!\s)([^$\n]+?)\$", re.DOTALL)
_PICTURE = re.compile(r"^!\[.*?\]\(.*?\)\n?", re.MULTILINE)


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
        [command("study", "run", study_word(study), *more, *where(results)) for more in ((), ("--full",))[: len(study.grids)]],
    )
    return environment(results).get_template("study.html").render(study=study, parts=parts, facts=facts(results))


def study_word(study: Declared) -> str:
    """The word by which a command finds the study: its name, if it is one of the project's, else its folder."""
    folder, here = study.folder, Path.cwd()
    return study.name if folder.parent == OURS else str(folder.relative_to(here) if folder.is_relative_to(here) else folder)


def words_of(study: Declared) -> Markup:
    """The README of a study as HTML, without its title and pictures, and with its formulas as MathML."""
    file = study.folder / "README.md"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    text = _PICTURE.sub("", re.sub(r"\A# .*\n", "", text))
    formulas: list[str] = []

    def hidden(found: re.Match[str]) -> str:
        formulas.append(convert((found[1] or found[2]).strip(), display="block" if found[1] else "inline"))
        return f"\x02{len(formulas) - 1}\x03"

    shown = MarkdownIt("commonmark", {"html": False}).enable("table").render(_FORMULA.sub(hidden, text))
    return Markup(re.sub("\x02(\\d+)\x03", lambda found: formulas[int(found[1])], shown))
