"""Every entry of the claims: its networks are in its grid, and it is confirmed and contradicted where it should be.

Networks are made with the keys of the entry's own grid (`made_stores`); from their rows on, they go through what a user's store
goes through. Entries on the theory's own models have no networks: there the numbers that a model would draw are made.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from sweepkit.studies.tong25 import kinds as simulated

from analysis.claims.check import check, load_claims
from orchestrator.grid.load import load_grid
from orchestrator.running.worker import Provenance, common_columns, declared_of
from sweepkit.shipped import grid_file, grids
from sweepkit.store.store import Store
from tests.analysis.claims.made_stores import NOISE, made_store, networks, sides, values
from tests.stand_ins import stand_ins

CLAIMS = [claim for claim in load_claims() if "kind" in claim.measure]
OF_NETWORKS = [claim for claim in CLAIMS if claim.grid is not None]
OF_MODELS = [claim for claim in CLAIMS if claim.grid is None]


def named(claims):
    return pytest.mark.parametrize("claim", claims, ids=[claim.id for claim in claims])


@pytest.fixture(autouse=True)
def published_data_are_there(published, monkeypatch):
    monkeypatch.setenv("SWEEP_DATA_DIR", str(published))


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    stand_ins(folder)
    return folder


@named(OF_NETWORKS)
def test_its_networks_are_in_its_grid(claim):
    for side in sides(claim):
        assert len(networks(claim, side)), f"{claim.grid} has no networks that fit {side} = {sides(claim)[side]}"


OTHER_SIZES = {"attention", "lazy_to_rich", "power_law", "templates"}
"""Grids whose size differs from that of the quick one in a key that claims name, such as the dimension."""


def full_grid(claim):
    """The grid of a claim's quick one with more sizes and seeds; None if it has none, or one of other sizes."""
    stem = Path(claim.grid).stem
    full = stem.removesuffix("_quick")
    return full if full != stem and full not in OTHER_SIZES and full in grids() else None


@named([claim for claim in OF_NETWORKS if full_grid(claim)])
def test_its_networks_are_in_the_full_grid_too(claim):
    """All claims of a quick grid are then judged by the full one, and it trains none of their networks again."""
    full = claim.model_copy(update={"grid": full_grid(claim)})
    for side in sides(claim):
        assert len(networks(full, side)), f"{full.grid} has no networks that fit {side} = {sides(claim)[side]}"


def is_decided(claim, value, verdict, folder):
    (one,) = check(made_store(claim, value, folder), [claim])
    assert one.verdict == verdict, f"made {value:g}, expected {claim.expected}: {one.why}: {one.measured}"


def one_of_each_kind(claims):
    """Claims, left to the night where one before has the same kind of measurement and arguments, whatever their values."""
    seen = set()
    for claim in claims:
        kind = (claim.measure["kind"], *sorted(claim.measure))
        yield pytest.param(claim, id=claim.id, marks=[pytest.mark.nightly] if kind in seen else [])
        seen.add(kind)


@pytest.mark.parametrize("claim", list(one_of_each_kind(OF_NETWORKS)))
def test_a_store_decides_it(claim, tmp_path):
    agrees, *_, beyond = values(claim)
    is_decided(claim, *agrees, tmp_path / "agrees")
    is_decided(claim, *beyond, tmp_path / "beyond")


TWO_SIDED = [claim for claim in OF_NETWORKS if np.isfinite(claim.expected.region).all()]


@pytest.mark.parametrize("claim", list(one_of_each_kind(TWO_SIDED)))
def test_a_store_below_what_it_allows_contradicts_it(claim, tmp_path):
    """The other side of claims that allow an interval, where the measure reaches below it."""
    for value, verdict in values(claim)[1:-1]:
        is_decided(claim, value, verdict, tmp_path)


WORDS = {
    1e-6: "a millionth",
    0.405: "a factor of 1.5",
    0.25: "a quarter",
    0.5: ("1/2", "half"),
    2: "the square",
    0.95: "95%",
    0.55: "55%",
}
"""Tolerances and bounds that statements put in words."""


@named(CLAIMS)
def test_a_statement_says_how_far_its_measure_goes(claim):
    """A network within 0.03 of a formula does not "have the accuracy of" it. Orderings have no tolerance to name."""
    expected = claim.expected
    numbers = re.findall(r"\d+(?:\.\d+)?", claim.says)
    said = [expected.within] if expected.equal is not None else [expected.at_least, expected.at_most]
    ordering = 1 if claim.measure["kind"] in ("threshold_ratio", "steps_ratio") else 0
    for bound in (abs(bound) for bound in said if bound not in (None, ordering)):
        if expected.at_least is not None and expected.at_most is not None:
            continue  # between a bound and the end of what is possible
        words = WORDS.get(bound, ())
        in_words = any(word in claim.says for word in ([words] if isinstance(words, str) else words))
        assert in_words or f"{bound:g}" in numbers, f"{bound:g} is not in: {claim.says}"


RIVAL = re.compile(r"\brivals?\b|[Hh]alfway|[Hh]alf of the (?:distance|way)")


@named([claim for claim in CLAIMS if RIVAL.search(claim.because)])
def test_an_entry_that_speaks_of_a_rival_states_its_value(claim):
    """The tolerance is then held to half of the distance when the file is read."""
    assert claim.rivals


@named([claim for claim in CLAIMS if re.search(r"after (?:the|these|one|some|a)\b[^.,]* looked at", claim.because)])
def test_what_was_set_after_a_look_is_marked(claim):
    assert claim.after_look


def test_what_was_chosen_by_the_quantity_judged_is_marked_and_stands_once_more_at_the_papers_value():
    """Rate 30 of identities that learn; without identities their rate has no effect."""
    at = {"30": set(), "1": set()}
    for claim in CLAIMS:
        for side in (claim.measure.get(name, {}) for name in ("of", "a", "b")):
            keys = claim.measure["of"] | side if "of" in claim.measure else side
            if keys.get("identity_qk") is True or keys.get("identity_vo") is True:
                at[f"{keys.get('identity_rate', 1):g}"].add(claim.id)
                assert bool(claim.fitted) == ("30 times the rate" in claim.says), claim.id
    fitted = {claim.id for claim in CLAIMS if claim.fitted}
    assert fitted == at["30"] and len(fitted) == 9
    assert {f"{name}-rate-1" for name in fitted} <= at["1"]


def made_draws(value):
    """Each model's draws as `simulated` keeps them, with this mean."""
    some = (value + NOISE * np.linspace(-1, 1, 6)).tolist()
    return {
        "process": {"code": some, "text": some, "cosine": some, "norms": some},
        "different_right": value,
        "eigenvalues": {"positive": some, "negative": some},
        "cosines_of_halves": {"largest": some, "smallest": some},
    }


@named(OF_MODELS)
def test_draws_decide_it(claim, tmp_path, monkeypatch):
    for value, verdict in values(claim):
        drawn = made_draws(value)
        monkeypatch.setattr(simulated, "kept", lambda draw, *size, drawn=drawn: drawn[draw.__name__])
        (one,) = check(str(tmp_path), [claim])
        assert one.verdict == verdict, f"made {value:g}, expected {claim.expected}: {one.why}: {one.measured}"


@named([claim for claim in OF_NETWORKS if claim.measure["kind"] == "extremes"])
def test_networks_that_kept_no_weights_do_not_stand_before_those_that_did(claim, tmp_path):
    value, verdict = values(claim)[0]
    results = made_store(claim, value, tmp_path)
    more = load_grid(grid_file(claim.grid), ["L=2", "seed=range(9)"]).cells  # more seeds, at another L
    rows = [{**common_columns(p, "other", Provenance("", "made")), "status": "ok", "best_test_acc": 1.0} for p in more]
    Store(results).commit("other", rows, declared_of(more))
    (one,) = check(results, [claim])
    assert one.verdict == verdict, f"{one.why}: {one.measured}"
