"""The report: one file that needs nothing else, with every figure and claim, or what to run for it."""

import re

import pytest
from typer.testing import CliRunner

from analysis.claims.check import load_claims
from analysis.figures.registry import FIGURES
from analysis.report.__main__ import app


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    from tests.measured_store import measured_store

    folder = tmp_path_factory.mktemp("report")
    done = CliRunner().invoke(app, ["--results", measured_store(folder), "--out", str(folder / "r.html"), "--no-wait", "-q"])
    assert done.exit_code == 0, done.output
    return (folder / "r.html").read_text()


def test_it_needs_no_network(html):
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", html)
    assert "@import" not in html and "url(http" not in html


def test_every_figure_is_there_or_says_what_to_run(html):
    for name in FIGURES:
        panel = html.split(f'<h3 id="fig-{name}">')[1].split("<h3 id=")[0]
        assert ("<svg" in panel) != ("No data:" in panel), name
        if "No data:" in panel:
            assert "python -m orchestrator.sweep" in panel
    assert html.count("<svg") == len(FIGURES) - 16  # no lazy neurons were saved, nothing of images, nothing at equilibrium


def test_every_claim_has_a_verdict(html):
    for claim in load_claims():
        row = html.split(f'<tr id="claim-{claim.id}">')[1].split("</tr>")[0]
        verdict = row.split("</td>")[0]
        assert ("not measured" in verdict) == bool(claim.not_measured), claim.id
        assert re.search("confirmed|contradicted|not enough data|not measured", verdict), claim.id
        assert "not enough data" not in verdict or claim.grid is None or claim.grid in row, claim.id
        assert "None" not in row, claim.id


def test_what_was_run_and_by_what(html):
    assert "measured" in html and "diverged at step 1000000" in html
    assert "duckdb" in html and "processors" in html


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--results", "{tmp}/none"], "no results directory"),
        (["--out", "{tmp}"], "is a directory"),
        (["--out", "{tmp}/no/such/r.html"], "no directory"),
        (["--out", "{tmp}/" + 300 * "r"], "File name too long"),
    ],
)
def test_bad_input(tmp_path, args, words):
    done = CliRunner().invoke(app, [a.format(tmp=tmp_path) for a in args])
    assert done.exit_code == 2 and words in done.stderr.replace("\n", " ")
    assert not list(tmp_path.iterdir())
