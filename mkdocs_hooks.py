"""Hooks of the documentation site at build time: formulas as MathML, and pages that are derived from declarations in the code.

MathML is drawn by every browser of 2023 and later, so the site loads no script or font from the net.
"""

import html
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import typer
from latex2mathml.converter import convert
from markdown.extensions.toc import slugify
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.utils import get_relative_url

from analysis.claims.kinds import KINDS, OF_ANY
from analysis.figures.registry import FIGURES, figures_of
from analysis.studies.loading import load, studies
from sweepkit.console.escaping import escaped
from sweepkit.console.yaml_lines import read_yaml
from sweepkit.shipped import grids

sys.path.insert(0, str(Path(__file__).parent))  # MkDocs loads this file alone
from mkdocs_checks import swallowed, unknown_elements

ROOT = Path(__file__).parent
_EXPORTS = "<!-- everything that orchestrator exports -->"
ENTRY_POINT = "sweep"


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made from the code."""
    made = {"reference/commands.md": commands_page(), "reference/figures.md": figures_page(), "science/laws.md": laws_page()}
    made["reference/claims.md"] = claims_page()
    for path, text in made.items():
        if stub := files.get_file_from_path(path):  # what the repository shows at this place
            files.remove(stub)
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Refuse what Markdown would swallow. Put what `orchestrator` exports where the page about Python says so, each name at the
    module that defines it. Links to the next page stand only where pages are read in order."""
    _refuse(page, swallowed(markdown))
    if not page.file.src_path.startswith("start/"):
        page.meta["hide"] = [*page.meta.get("hide", []), "footer"]
    if _EXPORTS not in markdown:
        return markdown
    orchestrator = importlib.import_module("orchestrator")
    found = [(name, getattr(orchestrator, name)) for name in getattr(orchestrator, "__all__", ())]
    return markdown.replace(_EXPORTS, "\n\n".join(f"::: {thing.__module__}.{name}" for name, thing in found))


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Turn what `pymdownx.arithmatex` marked as a formula into MathML; refuse elements that no browser knows."""
    html = re.sub(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', _mathml, html, flags=re.DOTALL)
    _refuse(page, unknown_elements(html))
    return html


def _refuse(page: Any, found: Iterable[str]) -> None:
    if mistakes := list(found):
        raise PluginError("\n".join(f"{page.file.src_path}: {mistake}" for mistake in mistakes))


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Take the script by which the search works from the disk from this site, and refuse what is loaded from the net."""
    output = output.replace("https://unpkg.com/iframe-worker/shim", get_relative_url("assets/iframe-worker.js", page.url))
    if found := re.search(r'<(?:script|img|link)[^>]+(?:src|href)="https?://[^"]+"', output):
        raise PluginError(f"{page.file.src_path} loads something from the net: {found[0]}")
    return output


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """The same for the page 404.html, which has no address of its own."""
    return output_content.replace("https://unpkg.com/iframe-worker/shim", "assets/iframe-worker.js")


def on_post_build(config: Any) -> None:
    """Let the search find W&B: it holds words as HTML, W&amp;B, and what is typed is none."""
    index = Path(config.site_dir) / "search/search_index.json"
    index.write_text(re.sub(r"(?<=\w)&amp;(?=\w)", "&", index.read_text()))


def _mathml(match: re.Match[str]) -> str:
    """A formula; one on a line of its own lies in a box that scrolls where it is too narrow."""
    if match[2] == "(":
        return convert(html.unescape(match[3]), display="inline")
    return f'<div class="formula">{convert(html.unescape(match[3]), display="block")}</div>'


def commands_page() -> str:
    """Every command with its help."""
    lines = [
        "# Commands",
        "",
        "Made from the commands themselves: `--help` after any of them prints the same.",
        "",
        "Exit codes: 0 all done, networks that diverged included; 1 some networks failed or are missing, a check found",
        "something, or an answer could not be written; 2 bad input, nothing was started or written; 130 interrupted, after",
        "running packs finished.",
        "",
    ]
    (entry,) = distribution("sweepkit").entry_points.select(name=ENTRY_POINT)
    for words, told in _helps(typer.main.get_command(importlib.import_module(entry.module).app), ENTRY_POINT):
        lines += [f"## `{words}`", "", f"```text\n{told}\n```", ""]
    return "\n".join(lines)


def _helps(command: Any, words: str, parent: Any = None) -> Iterator[tuple[str, str]]:
    """The words that call a command, and what its --help prints; those of its subcommands after it."""
    context = command.context_class(command, info_name=words.split()[-1] if parent else words, parent=parent, terminal_width=90)
    yield words, command.get_help(context).strip()
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from _helps(command.get_command(context, name), f"{words} {name}", context)


def figures_page() -> str:
    """Every figure and every grid that comes with the project."""
    lines = [
        "# Figures and grids",
        "",
        "Made from the registry of figures and from the grid files. `sweep figure NAME` draws a figure as SVG, PNG and PDF,",
        "with its data as CSV.",
        "The first grid is the paper's own; a smaller one may follow.",
        "",
        "## Figures",
        "",
        "| figure | what it shows | source | grids that yield its data |",
        "|---|---|---|---|",
    ]
    for figure in FIGURES.values():
        yielding = ", ".join(f"`{grid}`" for grid in figure.grids) or "none: theory alone"
        lines.append(f"| `{figure.name}` | {escaped(figure.title)} | {escaped(figure.source)} | {yielding} |")
    lines += ["", "## Grids", "", "| file | sweep | what it holds |", "|---|---|---|"]
    for path in [path for path in grids().values() if "examples" not in path.parts]:
        text = path.read_text()
        comment = re.match(r"(?:#.*\n)*", text)
        about = " ".join(line.lstrip("# ") for line in (comment[0] if comment else "").splitlines())
        lines.append(f"| `{path.relative_to(ROOT)}` | `{read_yaml(path)['sweep']}` | {escaped(' '.join(about.split()))} |")
    return "\n".join([*lines, ""])


def claims_page(kinds: Mapping[str, Callable[..., Any]] = KINDS) -> str:
    """Every kind of measurement that a claim may name, with its arguments."""
    lines = [
        "# Measurements of claims",
        "",
        "Made from the functions themselves: in the repository, those of any study, written by `python mkdocs_hooks.py >",
        "docs/reference/claims.md`; on the site those of the project's studies, too. [A statement](../howto/claims.md) names one",
        "by `kind` and gives its arguments; those in brackets may be left out.",
        "",
        "| kind | arguments | measures |",
        "|---|---|---|",
    ]
    for name, function in sorted(kinds.items()):
        given = [one for one in inspect.signature(function).parameters.values() if one.name != "results"]
        told = ", ".join(f"`{one.name}`" if one.default is one.empty else f"[`{one.name}`]" for one in given)
        says = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
        lines.append(f"| `{name}` | {told} | {escaped(says)} |")
    return "\n".join([*lines, ""])


def laws_page() -> str:
    """docs/science/laws.md with a table of the studies that are no paper's, and their words."""
    laws = [study for study in studies() if not study.tag]
    lines = ["| law | grid | on 2 cores | without `_quick` | figure |", "|---|---|---|---|---|"]
    for study in laws:
        quick, full = (minutes(study.grid_file(grid)) for grid in study.grids)
        drawn = ", ".join(f"`{figure.name}`" for figure in figures_of(study))
        lines.append(f"| [{study.shows}](#{slugify(study.title, '-')}) | `{study.grids[0]}` | {quick} | {full} | {drawn} |")
    page = (ROOT / "docs/science/laws.md").read_text().replace("<!-- laws -->", "\n".join(lines))
    head, marker, _ = page.partition("<!-- words of the laws")
    if not marker:
        raise PluginError("science/laws.md has no line <!-- words of the laws ... -->")
    return head + "\n".join(words(study.folder) for study in laws)


def words(folder: Path) -> str:
    """The README of a study as a section of a page in docs/science: its links lead to where the site has their targets."""
    text = re.sub(r"(?m)^#", "##", (folder / "README.md").read_text())
    text = text.replace("](../../docs/science/", "](").replace("](../../docs/", "](../")
    return re.sub(r"\]\(\.\./(\w+)/README\.md\)", lambda link: f"](#{slugify(load(link[1]).title, '-')})", text)


def minutes(grid: Path) -> str:
    """How long a grid takes by its head."""
    head = " ".join(grid.read_text().split("\nsweep:")[0].replace("\n#", "").split())
    found = re.findall(r"(?:a minute|[\d.]+ (?:minutes|hours))(?: on a core)?", head)
    if not found:
        raise PluginError(f"{grid}: its head must say how long it takes, such as `5 minutes on 2 cores`")
    return str(found[-1])


if __name__ == "__main__":
    print(claims_page(OF_ANY), end="")
