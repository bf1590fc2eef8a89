"""The README and the documentation show only what there is."""

import ast
import re
from pathlib import Path

import pytest

from orchestrator.grid.load import load_grid
from sweepkit.console.yaml_lines import read_yaml

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = {str(path.relative_to(ROOT)): path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]}

ROOMS = ("docs", "studies", "examples", "trainables", "analysis", "orchestrator", "sweepkit", "tests", "benchmarks")


def fenced(language):
    """Blocks of this language, each with the name of its page."""
    return [(name, block) for name, text in PAGES.items() for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


def test_the_readme_is_read_in_four_minutes():
    assert len(README.splitlines()) <= 150


def test_the_worked_example_is_the_file_that_the_tests_run():
    for example in ("parity.py", "own_optimiser.py"):
        assert (ROOT / "examples" / example).read_text().strip() in PAGES["docs/howto/own-parts.md"]


@pytest.mark.parametrize(("name", "block"), [found for found in fenced("yaml") if found[1].startswith("sweep:")])
def test_grids_load(name, block, tmp_path):
    path = tmp_path / "documented.yaml"
    path.write_text(block)
    assert read_yaml(path)["sweep"] == load_grid(path).sweep


def test_python_is_python():
    for name, block in fenced("python"):
        try:
            ast.parse(block)
        except SyntaxError as error:
            pytest.fail(f"{name}: {error}\n{block}")


def test_pictures_and_files_exist():
    """Links of the README; elsewhere files that are named, as `make docs` checks the links of the site."""
    for path in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / path).exists(), path
    for name, text in PAGES.items():
        for path in re.findall(rf"`((?:{'|'.join(ROOMS)})/[\w/]+\.\w+)`", text):
            assert "NAME" in path or (ROOT / path).exists(), f"{name}: {path}"


def test_the_table_of_verdicts_is_that_of_their_page_which_has_every_statement_and_network_as_it_is_now():
    """If this fails, `python -m analysis.verdicts` makes both anew."""
    from analysis.claims.check import load_claims
    from analysis.verdicts.page import basis
    from analysis.verdicts.summary import by_paper, summary_in

    page = PAGES["docs/verdicts.md"]
    assert summary_in(README, "README.md") == by_paper(summary_in(page, "docs/verdicts.md"))
    claims = load_claims()
    assert [claim.id for claim in claims if f"`{claim.id}`)" not in page] == []
    assert basis(claims, str(ROOT / "evidence")) in page


def test_every_option_of_the_sweep_is_in_its_help():
    from typer.testing import CliRunner

    from orchestrator.sweep import app

    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGES["docs/howto/running.md"])) - {"--help"}:
        assert option in shown, option


def test_the_sample_output_has_the_title_and_columns_that_a_sweep_prints():
    from analysis.outcome.attained import COLUMNS

    sample = README.split("```console\n$ make sweep")[1].split("```")[0]
    assert "Best test accuracy of rich networks, mean over n seeds, beside Eq. 3 [Tong25]" in sample
    assert "difference" in COLUMNS and "difference" in sample


def test_every_figure_that_a_page_draws_exists():
    from analysis.figures.names import OWN
    from analysis.figures.registry import FIGURES

    for name, text in PAGES.items():
        for figure in re.findall(r"(?:sweep figure|analysis\.figures) (\w+)", text):
            assert figure in {*FIGURES, *OWN, "NAME", "FIG"}, f"{name}: {figure}"


def test_every_target_that_is_named_is_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    texts = [
        *PAGES.values(),
        makefile,
        *((ROOT / name).read_text() for name in ("mkdocs.yml", "mkdocs_hooks.py", "pyproject.toml")),
    ]
    named = {word for text in texts for word in re.findall(r"`make ([a-z-]+)`", text)}
    assert {"docs", "sweep", "slow"} <= named <= {*re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)}
