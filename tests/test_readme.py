"""The README shows only what there is."""

import re
from pathlib import Path

import pytest
import yaml

from orchestrator.grid.load import load_grid

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def fenced(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_worked_example_is_the_file_that_the_tests_run():
    assert (ROOT / "examples" / "parity.py").read_text().strip() in README


@pytest.mark.parametrize("block", fenced("yaml"))
def test_grids_load(block, tmp_path):
    path = tmp_path / "readme.yaml"
    path.write_text(block)
    assert yaml.safe_load(block)["sweep"] == load_grid(path).sweep


def test_pictures_and_files_exist():
    for path in re.findall(r"\]\(([^)#:]+)\)", README) + re.findall(r"`((?:docs|grids|examples|trainables)/[\w./]+)`", README):
        assert (ROOT / path).exists(), path


def test_the_table_of_verdicts_is_that_of_their_page_which_has_every_statement_and_network_as_it_is_now():
    """If this fails, `python -m analysis.verdicts` makes both anew."""
    from analysis.claims.check import load_claims
    from analysis.verdicts.page import basis
    from analysis.verdicts.summary import summary_in

    page = (ROOT / "docs" / "verdicts.md").read_text()
    assert summary_in(README, "README.md") == summary_in(page, "docs/verdicts.md")
    claims = load_claims()
    assert [claim.id for claim in claims if f"; `{claim.id}`)" not in page] == []
    assert basis(claims, str(ROOT / "evidence")) in page


def test_every_option_of_the_sweep_is_in_its_help():
    from typer.testing import CliRunner

    from orchestrator.sweep import app

    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    section = README.split("## Running a sweep")[1].split("\n## ")[0]
    for option in set(re.findall(r"(?<![\w-])--[a-z-]+", section)) - {"--help"}:
        assert option in shown, option


def test_the_sample_output_is_what_a_sweep_prints():
    from analysis.report.outcome import COLUMNS

    sample = README.split("```console\n$ make sweep\n")[1].split("```")[0]
    assert "Best test accuracy of rich networks, mean over n seeds, beside Eq. 3 [Tong25]" in sample
    assert COLUMNS[-1] in sample
    for command in ("python -m analysis.query", "python -m analysis.report", "streamlit run app/main.py"):
        assert command in sample
