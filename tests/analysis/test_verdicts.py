"""The scoreboard: every statement once, counted by paper and topic; the README's copy of its summary."""

import re
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analysis.claims.board import statements_of
from analysis.claims.check import check, load_claims
from analysis.claims.entries import Claim
from analysis.claims.verdict import Checked, Measured, verdict_on
from analysis.studies.loading import studies
from analysis.verdicts.__main__ import app
from analysis.verdicts.page import page
from analysis.verdicts.summary import MARKER, by_paper, summary_in, weakened, with_summary
from sweepkit.console.escaping import escaped
from sweepkit.stats import Interval
from sweepkit.stats.rounding import in_digits
from sweepkit.store.store import Store
from tests.measured_store import measured_store
from tests.store_rows import row

EMPTY = f"# Mine\n\n{MARKER}\n{MARKER}\n\nThe rest.\n"
TODAY = date(2026, 11, 24)
MEASURED = {"topic": "t", "source": "s", "says": "x", "because": "y", "measure": {"kind": "mean"}, "expected": {"at_least": 1}}
MARKED = {"plain": {}, "fitted": {"fitted": "x"}, "looked": {"after_look": "x"}, "identity": {"identity": "x"}}
WITHIN = Interval(2, 1.9, 2.1, 6)
UNMEASURED = {"id": "a", "topic": "t", "says": "x|y", "not_measured": "no"}


def run(*args):
    return CliRunner().invoke(app, list(args))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with results, a README and a folder of pages."""
    Path(measured_store(tmp_path)).rename(tmp_path / "evidence")
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(EMPTY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_writes_every_statement_once_and_the_summary_into_the_readme(here):
    assert run("-q").exit_code == 0
    text, readme = (here / "docs/verdicts.md").read_text(), (here / "README.md").read_text()
    claims = load_claims()
    rows = {claim.id: [line for line in text.splitlines() if re.search(rf"[(; ]`{claim.id}`\)", line)] for claim in claims}
    assert {claim_id: len(lines) for claim_id, lines in rows.items()} == dict.fromkeys(rows, 1)
    verdicts = {claim_id: re.match(r"\| (?:<small>)?\*\*(.*?)\*\*", line)[1] for claim_id, (line,) in rows.items()}
    again = [claim for claim in claims if claim.topic == "Rich accuracy" or claim.not_measured]
    checked = check("evidence", again)  # all of them would take as long as the command
    assert {one.claim.id: verdicts[one.claim.id] for one in checked} == {one.claim.id: one.verdict for one in checked}
    for claim in claims:
        (line,) = rows[claim.id]
        assert (verdicts[claim.id] in ("not measured", "formulas lost")) == bool(claim.not_measured), claim.id
        assert claim.grid is None or verdicts[claim.id] != "open" or f" {Path(claim.grid).stem}" in line, claim.id
        assert not claim.not_measured or escaped(" ".join(claim.not_measured.split())) in line, claim.id
    assert "258 networks" in text and re.search(r" \d{4}-\d\d-\d\d, code of commit \w+", text) and str(here) not in text
    assert readme.startswith("# Mine") and readme.endswith("The rest.\n")
    assert summary_in(readme, "README.md") == by_paper(summary_in(text, "page"))
    papers = ["Tong & Pehlevan 2025", "Rubin et al. 2025", "Nam et al. 2026", "Boix-Adsera et al. 2023"]
    papers += ["Laws of the field", "Derived here"]
    assert re.findall(r"^\| \*\*(.+?)\*\*", readme, re.MULTILINE) == papers
    assert not re.search(r"^\| [A-Z]", readme, re.MULTILINE), "topics are for the page"
    came_out = [study for study in studies() if study.came_out]
    assert [study.tag for study in came_out] == ["Tong25", "Rubin25", "Nam26", "Boix23"]
    assert all(f"- {study.paper.split(',')[0]}: {study.came_out}\n" in readme for study in came_out)
    measured = next(one for one in checked if one.verdict == "confirmed")
    (line,) = rows[measured.claim.id]
    assert f"{in_digits(*measured.measured.interval[:3])}: " in line and f">{measured.measured.interval.n}</small> |" in line


def test_a_fitted_verdict_and_the_note_of_an_open_one_are_on_the_page(measured):
    kept = {"identity-at-64", "identity-at-64-rate-1", "copy-grows-with-d-standard"}
    claims = {claim.id: claim for claim in load_claims() if claim.id in kept}
    text, _ = page(check(measured, claims.values()), measured, TODAY, is_ours=True)
    rows = {name: next(line for line in text.splitlines() if f"`{name}`)" in line) for name in claims}
    fitted = claims["identity-at-64"].fitted
    assert (
        rows["identity-at-64"].startswith("| <small>**open**, **fitted**</small> |")
        and f"*Fitted: {fitted}*" in rows["identity-at-64"]
    )
    assert "itted" not in rows["identity-at-64-rate-1"]
    assert claims["copy-grows-with-d-standard"].note.strip()[:40] in rows["copy-grows-with-d-standard"]


def test_the_summary_counts_by_paper_and_topic(measured):
    checked = check(measured, [claim for claim in load_claims() if claim.not_measured or not claim.grid])
    text, short = page(checked, measured, TODAY, is_ours=True)
    rows = [re.split(r" *\| *", line)[1:-1] for line in short.splitlines() if re.match(r"\| .+ \| \d+ \|", line)]
    rows = [
        [name, *(count.split(" (")[0] for count in counts)] for name, *counts in rows
    ]  # without the number of contradicted ones
    totals = {name.strip("*"): sum(map(int, counts)) for name, *counts in rows if name.startswith("**")}
    topics = Counter()
    for name, *counts in rows:
        topics[name] += 0 if name.startswith("**") else sum(map(int, counts))
    statements = statements_of(checked)
    assert len(statements) < len(checked) and f"\n{len(statements)} statements with {len(checked)} instances." in short
    assert sum(totals.values()) == len(statements) == sum(topics.values())
    assert +topics == Counter(one.topic for one in statements)
    assert totals["Rubin et al. 2025"] == sum(one.paper == "Rubin25" for one in statements)
    assert "2026-11-24" in short and short in text


def test_a_page_of_another_name_leaves_the_readme_alone(here):
    done = run("--out", "mine.md", "-q")
    assert done.exit_code == 0 and (here / "mine.md").is_file() and (here / "README.md").read_text() == EMPTY


@pytest.mark.parametrize(
    ("readme", "args", "words"),
    [
        ("no marker\n", [], "README.md has not two lines <!-- verdicts -->"),
        (EMPTY, ["--results", "none", "--out", "mine.md"], "no results directory"),
        (EMPTY, ["--out", "no/such.md"], "no directory"),
        (EMPTY, ["--out", "/proc/v.md"], "cannot write in /proc: name another file with --out"),
    ],
)
def test_bad_input_writes_nothing(here, readme, args, words, monkeypatch):
    monkeypatch.setattr("analysis.claims.check.check", lambda results: pytest.fail("the work was begun"))
    (here / "README.md").write_text(readme)
    done = run(*args)
    assert done.exit_code == 2 and words in done.stderr.replace("\n", " ")
    assert not (here / "docs/verdicts.md").exists() and (here / "README.md").read_text() == readme


def test_each_sweep_is_told_with_its_networks_and_commits(tmp_path):
    store = Store(str(tmp_path / "results"))
    store.commit("p", [row(0, git_sha="a" * 40), row(1, minute=3000, git_sha="b" * 40 + "+"), row(2, "diverged")])
    store.commit("q", [row(3)])
    store.write_plan("eq3", [f"{i:020x}" for i in range(3)])
    text, short = page([], store.results, TODAY, is_ours=False)
    assert "| eq3 | 2 | 2026-01-01 to 2026-01-03 | aaaaaaaaa, bbbbbbbbb+ |" in text
    assert "| (no plan) | 1 | 2026-01-01 | unknown |" in text
    assert ", 3 networks." in short


def test_a_statement_of_another_paper_has_a_part_of_its_own(measured):
    mine = Claim.model_validate(UNMEASURED | {"source": "[Mine26] S1"})
    text, short = page(check(measured, [mine]), measured, TODAY, is_ours=True)
    ours = Claim.model_validate(UNMEASURED | {"source": "this project, docs/science/theory.md"})
    assert "## Derived here\n\n### t\n" in page(check(measured, [ours]), measured, TODAY, is_ours=True)[0]
    assert (
        "## [Mine26]\n\n### Section 1" in text
        and "x&#124;y (S1; `a`)" in text
        and "| **Mine26** | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 0 |" in short
    )


def test_a_statement_of_several_instances_has_a_row_and_one_in_small_print_for_each(measured):
    chosen = [claim for claim in load_claims() if claim.entry == "eq3-best-L{L}"]
    lines = page(check(measured, chosen), measured, TODAY, is_ours=True)[0].splitlines()
    at = next(i for i, line in enumerate(lines) if "5 instances)" in line)
    head, rows = lines[at], lines[at + 1 : at + 6]
    assert re.match(r"\| \*\*in part\*\* \| .* trained on 3 to 7 symbols .* \| confirmed at L = ", head)
    assert all(f"<small>L = {L} (`eq3-best-L{L}`)</small>" in row for L, row in zip(range(3, 8), rows, strict=True))
    assert len({row.count("|") for row in lines[at - 2 : at + 6]}) == 1
    assert any(re.search(r"<small>\d+%</small>", row) for row in rows)


def test_marks_of_confirmed_statements_are_counted():
    claims = [Claim.model_validate(MEASURED | {"id": name, "entry": name} | more) for name, more in MARKED.items()]
    checked = [Checked(one, verdict_on(one, one.expected, WITHIN)[0], Measured(WITHIN, "x"), "y") for one in claims]
    assert weakened(statements_of(checked)) == (
        "4 statements with 4 instances. Of the 3 that hold at least in part: 1 after a look, 1 fitted."
    )
    assert weakened(statements_of(checked[:1])).endswith(
        "Of the 1 that hold at least in part: none is fitted or was set after a look."
    )


def test_the_summary_replaces_what_stood_between_the_markers():
    first = with_summary(EMPTY, "one", "p")
    assert with_summary(first, "two", "p") == first.replace("one", "two")
    with pytest.raises(ValueError, match="p has not two lines"):
        with_summary(f"{MARKER}\n", "one", "p")


def test_a_page_of_other_networks_is_not_that_of_the_project_and_says_which(here):
    (here / "evidence").rename(here / "mine")
    done = run("--results", "mine", "--out", "docs/verdicts.md")
    assert done.exit_code == 2 and "name another page for the networks in mine with --out" in done.output
    assert (here / "README.md").read_text() == EMPTY and not (here / "docs/verdicts.md").exists()
    claims = [claim for claim in load_claims() if claim.id == "psvrt-rich-no-size"]
    text, _ = page(check("mine", claims), "mine", TODAY, is_ours=False)
    assert "from the networks in `mine`" in text and " fig3c --results mine`" in text


def test_a_directory_is_no_page(here):
    done = run("--out", "docs")
    assert done.exit_code == 2 and "docs is a directory" in done.output
