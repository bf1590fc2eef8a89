"""The rehearsal of a search: what it will probably ask for."""

from copy import deepcopy

import numpy as np
import pytest

from orchestrator.search.bisection import ThresholdSearch
from orchestrator.search.rehearsal import places, rehearsed

LADDER = [2 * 1.21**k for k in range(30)]


def search(**keys):
    return ThresholdSearch(LADDER, [6] * len(LADDER), **{"level": 0.8, "tolerance": 0.1, **keys})


def worked_off(made, middle, width, sd, seed):
    """The search with networks about a curve that crosses its level at a middle."""
    rng = np.random.default_rng(seed)
    while wanted := made.wanted():
        up = np.array([np.log(LADDER[k] / middle) for k, _ in wanted]) / width
        values = made.level + 0.5 * (1 / (1 + np.exp(-up)) - 0.5) + sd * rng.standard_normal(len(wanted))
        made.told(dict(zip(wanted, values.tolist(), strict=True)))
    return made


def test_it_takes_about_as_many_networks_as_searches_of_such_curves():
    """Over a factor of two in the curve's width, and in the spread of networks. A factor of 1.5 is what a forecast promises."""
    told = np.mean([sum(map(len, rehearsed(search(), place, seed))) for place in places(4) for seed in range(4)])
    for width, sd in ((0.3, 0.06), (0.2, 0.06), (0.4, 0.05)):
        took = [worked_off(search(), middle, width, sd, seed).n_networks for middle in (8, 30, 90) for seed in range(5)]
        assert 1 / 1.5 < told / np.mean(took) < 1.5


def test_a_rehearsal_leaves_the_search_as_it_is_and_goes_on_from_there():
    begun = search()
    begun.told({network: 0.9 for network in begun.wanted()})
    before = deepcopy(begun)
    steps = rehearsed(begun, 0.5)
    assert begun == before and steps == rehearsed(begun, 0.5) and steps[0] == begun.wanted()
    assert len(steps) < len(rehearsed(search(), 0.5)) + 5
    ended = worked_off(search(), 30, 0.3, 0.03, 0)
    assert rehearsed(ended, 0.5) == []


@pytest.mark.parametrize("falling", [False, True])
def test_falling_measures_are_rehearsed_falling(falling):
    """Else the search would see a curve that goes the other way, and end at once at an end of its ladder."""
    made = search(falling=falling)
    assert {k for step in rehearsed(made, 0.3) for k, _ in step}.isdisjoint({len(LADDER) - 1})
    assert len(rehearsed(made, 0.3)) > 4
