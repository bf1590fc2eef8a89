"""Verdicts that a directory of results brings with it are shown at once, and stand while nothing they rest on has changed."""

import re

import pytest

from analysis.claims import verdict_cache
from analysis.claims.background_check import Following
from analysis.claims.check import load_claims
from analysis.claims.published import FILE, publish, published
from analysis.claims.verdict import Again, Checked, Measured, NotMeasured
from analysis.data.source import state
from sweepkit import FOLDER
from sweepkit.stats import Interval
from sweepkit.store.store import Store
from tests.measured_store import measured_store
from tests.store_rows import row


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return measured_store(tmp_path)


def verdicts():
    """All claims, the first with a ratio that has no upper end."""
    first, *others = load_claims()
    again = Again({"seed": "range(6)"}, {"task": "he3"})
    ratio = Measured(Interval(2.5, 0.5, float("inf"), 3, "resampled"), "ratio", again)
    return [
        Checked(first, "open", ratio, "open", ("quick", "full")),
        *(Checked(claim, "open", NotMeasured("none"), "none") for claim in others),
    ]


def test_a_server_shows_them_without_a_check(results):
    publish(results, verdicts())
    new = Following(results)
    assert new.look(state(results)) == (verdicts(), 0, None)
    assert new.running is None


@pytest.mark.parametrize("changed", ["code", "networks"])
def test_other_code_and_other_networks_check_them_anew_and_show_them_until_then(results, changed, monkeypatch):
    publish(results, verdicts())
    if changed == "code":
        monkeypatch.setattr(verdict_cache, "CODE", "edited")
    else:
        Store(results).commit("another", [row("another", seed=77)])
    new = Following(results)
    asked = []
    monkeypatch.setattr(new.apart, "compute", lambda work: asked.append(work) or [])
    found = new.look(state(results))
    assert found.checked == verdicts() and found.n_to_come == len(verdicts())
    assert new.running.result(30) is None and len(asked) == 1


def test_a_claim_that_says_something_else_now_has_no_verdict_yet(results):
    publish(results, verdicts())
    first, *others = load_claims()
    known, to_come = published(results, [first.model_copy(update={"says": "else"}), *others])
    assert first.id not in known and len(known) == len(others) and to_come == {first.id}


@pytest.mark.parametrize("content", [None, b"", b'{"code": 1}', b"\xff"])
def test_a_file_that_is_not_there_or_cannot_be_read_brings_none(results, content):
    if content is not None:
        with open(f"{results}/{FILE}", "wb") as file:
            file.write(content)
    every = {claim.id for claim in load_claims()}
    assert published(results, load_claims()) == ({}, every)
    assert published("s3://bucket/results", load_claims()) == ({}, every)


def test_the_evidence_brings_the_verdicts_of_the_page():
    page = (FOLDER / "docs/verdicts.md").read_text()
    mark, small = r"(?:, \*\*[a-z ]+\*\*)*", "(?:</?small>)?"
    rows = re.findall(rf"^\| {small}\*\*(.+?)\*\*{mark}{small} \|.*?`([\w.-]+)`\){small} \|", page, re.MULTILINE)
    known = published(str(FOLDER / "evidence"), load_claims()).known
    assert {(one.verdict, claim_id) for claim_id, one in known.items()} == {*rows} and len(rows) > 500
