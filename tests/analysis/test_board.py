"""The scoreboard of claims: where each stands, lines for statements that differ in numbers, and the order of checks."""

import re

import pytest

from analysis.claims.board import MARKS, board, found_in, has_data, instances, likely_first, statements_of, strips
from analysis.claims.chart import claims_chart
from analysis.claims.check import load_claims
from analysis.claims.entries import Claim
from analysis.claims.networks_used import condition_of, kinds_of, with_networks
from analysis.claims.papers import FIELD, OURS, PAPERS
from analysis.claims.verdict import VERDICTS, Checked, Measured, NotMeasured
from app.parts.scoreboard import section_html
from sweepkit.stats import Interval
from sweepkit.store.store import Store
from tests.store_rows import row

CLAIMS = {claim.id: claim for claim in load_claims()}
MINE = {"topic": "t", "source": "s", "says": "x", "not_measured": "no"}
ORDER = {verdict: i for i, verdict in enumerate(VERDICTS)}


def judged(name, verdict="confirmed", value=0.0, half=0.01):
    return Checked(
        CLAIMS[name], verdict, Measured(Interval(value, value - half, value + half, 5), "of networks"), "it lies there"
    )


def without(name):
    return Checked(CLAIMS[name], "open", NotMeasured("none"), "none")


def test_the_board_says_verdicts_in_their_own_words():
    assert tuple(MARKS) == VERDICTS
    assert [has_data(one) for one in (judged("eq3-L4", "open"), without("eq3-L4"))] == [True, False]
    (section,) = board([judged("eq3-L4", "open"), without("L2-exception")])
    assert section.counts == {"open": 2} and "open" in section_html(section, {}, {}, dark=False)


def test_a_fitted_statement_says_so_and_what_was_chosen():
    fitted = judged("identity-at-64")
    for one, has in ((fitted, True), (judged("eq3-L4"), False)):
        html = section_html(board([one])[0], {}, {}, dark=False)
        assert (", fitted</span>" in html) == ("<b>Fitted</b>: " in html) == has
    (section,) = board([fitted])
    assert CLAIMS["identity-at-64"].fitted in section_html(section, {}, {}, dark=False)


def test_instances_of_a_statement_share_a_line():
    names = [f"eq3-error-{gamma}-L{L}" for gamma in (1, 10, 100) for L in (3, 4, 5)]
    lines = statements_of([*map(judged, names), judged("eq3-L4", "contradicted")])
    assert [len(line.claims) for line in lines] == [9, 1]
    assert (
        lines[0].says
        == "Trained on 3 to 5 symbols, networks of gamma = 1, 10, 100 have the test error of Eq. 3 within a factor of 1.5."
    )
    assert lines[1].says == CLAIMS["eq3-L4"].says and dict(lines[1].counts) == {"contradicted": 1}


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        (("confirmed", "confirmed"), "confirmed"),
        (("confirmed", "contradicted"), "in part"),
        (("confirmed", "open"), "in part"),
        (("confirmed", "not reproduced"), "in part"),
        (("contradicted", "open"), "contradicted"),
        (("contradicted", "not reproduced"), "contradicted"),
        (("not reproduced", "open"), "not reproduced"),
        (("open", "open"), "open"),
        (("needs files", "confirmed"), "confirmed"),
        (("needs files", "needs files"), "needs files"),
        (("identity", "identity"), "identity"),
        (("identity", "contradicted"), "contradicted"),
        (("identity", "confirmed"), "confirmed"),
    ],
)
def test_the_verdict_on_a_statement_is_that_of_all_its_instances_or_in_part(verdicts, whole):
    for given in (verdicts, verdicts[::-1]):
        (found,) = statements_of(judged(f"eq3-L{L}", verdict) for L, verdict in zip((3, 4), given, strict=True))
        assert found.verdict == whole
        where = [f"{verdict} at L = {L}" for L, verdict in zip((3, 4), given, strict=True)]
        assert found.where == (
            "" if len(set(verdicts)) == 1 else "; ".join(sorted(where, key=lambda one: ORDER[one.split(" at")[0]]))
        )


def test_instances_are_told_apart_by_the_fewest_values():
    every = {one.claims[0].claim.entry: [c.claim for c in one.claims] for one in statements_of(map(judged, CLAIMS))}
    assert instances(every["eq3-error-{gamma}-L{L}"])["eq3-error-1-L3"] == "gamma = 1, L = 3"
    assert instances(every["identity-at-64{at}"]) == {"identity-at-64": "rate = 30", "identity-at-64-rate-1": "rate = 1"}
    assert all(len(set(instances(claims).values())) == len(claims) for claims in every.values())


def test_many_instances_are_told_by_what_their_values_span():
    names = [f"psvrt-rich-perfect-{patches}" for patches in range(2, 11)]
    (found,) = statements_of(judged(name, "open" if name.endswith("-10") else "confirmed") for name in names)
    assert found.where == "confirmed at 8 of 9 (patches = 2 to 9); open at patches = 10"


def test_values_that_go_together_keep_their_order():
    law = {"for": [{"hard": 1, "power": -2}, {"hard": 3, "power": -1}], "says": "at {hard} as t^{power}"}
    told = [
        Claim.model_validate(MINE | {"id": f"a{i}", "entry": "a{hard}", "template": law["says"], "values": values})
        for i, values in enumerate(law["for"])
    ]
    (one,) = statements_of(Checked(claim, "open", NotMeasured("none"), "none") for claim in told)
    assert one.says == "at 1 and 3 as t^-2 and -1"


def test_a_statement_in_part_says_where_on_the_board():
    (section,) = board([judged("eq3-L4"), judged("eq3-L5", "contradicted", 0.09)])
    html = section_html(section, {}, {}, dark=False)
    assert section.counts == {"in part": 1} and "2 instances: " in html and 'title="in part"' in html


def test_every_claim_stands_once_on_the_board_by_paper_and_section():
    sections = board(without(name) for name in CLAIMS)
    assert sorted(one.claim.id for part in sections for line in part.statements for one in line.claims) == sorted(CLAIMS)
    assert list(dict.fromkeys(part.paper for part in sections)) == [*PAPERS, FIELD, OURS]
    assert len({(part.paper, part.heading) for part in sections}) == len(sections)
    assert all(line.says and "#" not in line.says for part in sections for line in part.statements)


def test_a_strip_shows_the_interval_in_or_outside_the_region():
    inside, outside = judged("eq3-L4"), judged("eq3-L5", "contradicted", 0.09)
    of_inside, of_outside = strips([inside, outside]).values()
    assert of_inside.region[0] < of_inside.low < of_inside.at < of_inside.high < of_inside.region[1]
    assert of_outside.low > of_outside.region[1]
    assert strips([without("eq3-L4")]) == {}


def test_a_section_as_html_has_a_line_for_each_and_escapes_what_it_shows():
    ones = [judged("eq3-L4"), judged("eq3-L5", "contradicted", 0.09), without("L2-exception")]
    (section,) = board([one._replace(why="a < b & `c`") for one in ones])
    found = section_html(section, strips(ones), {"L2-exception": ["sweep run <grid>"]}, dark=False)
    assert found.count("<details") == found.count("</details>") == 1 + 1 + 2 + 1  # section, line of two, its two, single one
    assert "a &lt; b &amp; <code>c</code>" in found and "sweep run &lt;grid&gt;" in found
    assert re.search(r'<details class="section" open>', found)
    folded = section_html(section, {}, {}, dark=True, folded=True)
    assert "<details open" not in folded and 'class="section" open' not in folded
    assert folded.count('class="arrow"') == folded.count("<summary")  # what opens shows it


def test_claims_with_networks_are_checked_first_and_those_that_nothing_measures_last(tmp_path):
    store = Store(str(tmp_path))
    store.commit(
        "one", [row(seed, task="psvrt", L=32, d=None, patches=5, patch_size=5, width=512, seed=seed) for seed in range(3)]
    )
    ordered = likely_first(store.results, list(CLAIMS.values()))
    assert sorted(claim.id for claim in ordered) == sorted(CLAIMS)
    tasks = [claim.measure.get("of", {}).get("task") for claim in ordered if claim.measure.get("of")]
    assert tasks[0] == "psvrt" and "same_different" in tasks[tasks.index("psvrt") :]
    n_unmeasured = sum(not claim.measure for claim in ordered)
    assert not any(claim.measure for claim in ordered[-n_unmeasured:])


def test_a_claim_has_networks_where_any_kind_that_it_names_has_some_in_the_sweeps_asked_about(tmp_path):
    store = Store(str(tmp_path))
    lazy = [row(seed, L=16, d=4, gamma=1e-6, gamma_label="lazy", sigma2=0.0, prefactor="sqrt_d", seed=seed) for seed in range(2)]
    store.commit("one", lazy)
    store.write_plan("lazy", [one["cell_id"] for one in lazy], whole=True)
    # It compares networks of gamma = 0.05 with lazy ones; the store has the latter alone.
    pair, other, simulated = CLAIMS["Fig1f-decay-lazy-0.05"], CLAIMS["Fig1f-decay-0.5-1"], CLAIMS["handcrafted-rho-3"]
    assert len([*kinds_of(pair.measure)]) == 2 and not [*kinds_of(simulated.measure)]
    asked = [pair, other, simulated]
    assert with_networks(store.results, asked) == with_networks(store.results, asked, ["lazy"]) == {pair.id, simulated.id}
    assert with_networks(store.results, asked, ["another"]) == with_networks(store.results, asked, []) == {simulated.id}
    assert [claim.id for claim in likely_first(store.results, [other, pair])] == [pair.id, other.id]


def test_a_kind_of_network_as_sql():
    where = {"task": "parity", "d": [4, None], "L": {"at_least": 2, "at_most": 8}}
    assert condition_of(where, ["task", "d", "L"]) == "(d IN (4) OR d IS NULL) AND task IN ('parity') AND L >= 2 AND L <= 8"
    assert condition_of(where, ["task", "d"]) == "false" and condition_of({}, []) == "true"


def test_words_find_a_claim_by_what_it_says_or_its_id():
    one = judged("eq3-L4")
    assert found_in(one, "") and found_in(one, "EQ3 rich") and found_in(one, "tong25 fig. c3") and not found_in(one, "eq3 parity")


def test_the_chart_of_one_claim_has_its_numbers_on_the_axis():
    axis = claims_chart([judged("eq3-L4")]).to_dict()["layer"][0]["encoding"]["x"]["axis"]
    assert "datum.value == 0 ? '0'" in axis["labelExpr"] and "datum.value == 1 ? '0.03'" in axis["labelExpr"]
    assert "expected: 0 ± 0.03" in axis["title"]
