"""Page Studies: the gallery, one study whole, and a study of a user's own beside them."""

import shutil

import pytest

from analysis.claims import background_check
from analysis.claims.check import load_claims
from app.screens.studies import standing
from sweepkit.console.commands import STUDIES
from sweepkit.shipped import ROOT
from sweepkit.studies import add


@pytest.fixture(autouse=True)
def few_claims(monkeypatch, claims_checked_here):
    """Those of two studies: all take minutes."""
    monkeypatch.setenv(STUDIES, "")
    monkeypatch.setattr(
        background_check, "load_claims", lambda: [c for c in load_claims() if c.study in ("balance", "gallery_law")]
    )


def test_the_gallery_has_a_card_for_each_and_opens_one(page, small_results):
    shown = page("studies", small_results)
    titles = [one.value for one in shown.markdown]
    assert any("The one-third law" in title for title in titles) and any("balances are conserved" in title for title in titles)
    opened = next(button for button in shown.button if button.key == "open_balance").click().run()
    assert opened.subheader[0].value == "Conservation" and "study `balance`" in opened.caption[0].value
    assert any(code.value.startswith("python -m sweepkit.commands.study run balance") for code in opened.code)
    assert any("cannot be drawn of these networks yet" in one.value for one in opened.caption)


@pytest.fixture
def gallery_law(tmp_path):
    """A study of a user's own, as `sweep study new` makes it."""
    shutil.copytree(ROOT / "examples/my_law", tmp_path / "gallery_law", ignore=shutil.ignore_patterns("__pycache__"))
    for file in (tmp_path / "gallery_law").rglob("*my_law*"):
        file.rename(file.with_name(file.name.replace("my_law", "gallery_law")))
    for file in (tmp_path / "gallery_law").rglob("*.*"):
        file.write_text(file.read_text().replace("my_law", "gallery_law").replace("MyLaw", "GalleryLaw"))
    add(tmp_path / "gallery_law")
    return tmp_path / "gallery_law"


def test_a_users_own_stands_beside_them(page, small_results, gallery_law):
    shown = page("studies", small_results, study="gallery_law")
    words = " ".join(one.value for one in shown.markdown)
    assert "span a random subspace" in words and "1 - P/d" in words
    assert any("run " in code.value and "gallery_law" in code.value for code in shown.code)


def test_an_edit_of_ones_own_is_shown_by_a_running_app(page, small_results, gallery_law):
    shown = page("studies", small_results, study="gallery_law")
    readme, study = gallery_law / "README.md", (gallery_law / "study.py").read_text()
    readme.write_text(readme.read_text().replace("span a random subspace", "span another subspace"))
    (gallery_law / "study.py").write_text(study.replace("Least squares with few examples", "An edited title"))
    shown.run()
    assert "span another subspace" in " ".join(one.value for one in shown.markdown)
    assert "An edited title" in [one.value for one in shown.subheader]
    (gallery_law / "study.py").write_text("STUDY = (")
    shown.run()
    assert "study.py:1: not Python" in shown.error[0].value and shown.warning  # the other studies stand
    (gallery_law / "study.py").write_text(study)
    (gallery_law / "theory.py").write_text("1 / 0")
    assert "theory.py:1: ZeroDivisionError" in shown.run().error[0].value


def test_a_name_that_is_no_study_is_told(page, small_results):
    assert "No study is named `other`" in page("studies", small_results, study="other").warning[0].value


def test_where_a_study_stands():
    class One:
        def __init__(self, verdict):
            self.verdict = verdict

    said = {
        ("confirmed", "not measured"): "confirmed",
        ("contradicted",): "contradicted",
        ("confirmed", "contradicted"): "holds in part",
        ("in part",): "holds in part",
        ("confirmed", "identity", "needs files"): "confirmed",
        ("confirmed", "open"): "confirmed as far as measured",
        ("open",): "open",
        ("not reproduced",): "not reproduced",
        ("not measured", "needs files"): "not measured",
        (): "not judged yet",
    }
    assert {verdicts: standing([One(verdict) for verdict in verdicts]) for verdicts in said} == said
