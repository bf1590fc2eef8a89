"""The steps after which a network is evaluated, and how a grid says them."""

import pytest
from pydantic import ValidationError

from sweepkit.declarations.evaluations import evaluations
from trainables.cell import cell_of
from trainables.tasks import SameDifferent

KEYS = {"width": 8, "gamma": 1.0, "seed": 0}


def test_multiples_of_eval_every():
    assert evaluations(50, 20 // 2) == (10, 20, 30, 40, 50)


def test_decades_are_added_to_them():
    assert evaluations(1000, 500, "log 2") == (1, 3, 10, 32, 100, 316, 500, 1000)
    assert evaluations(7, 7, "log 8") == (1, 2, 3, 4, 6, 7)


@pytest.mark.parametrize("n", [1, 8, 100])
def test_evaluations_are_ascending_and_end_with_the_last_step(n):
    found = evaluations(25000, 1000, f"log {n}")
    assert list(found) == sorted(set(found))
    assert (found[0], found[-1]) == (1, 25000)
    assert set(range(1000, 25001, 1000)) <= set(found)


def test_a_cell_without_them_keeps_its_id_and_one_with_them_does_not():
    plain = cell_of(SameDifferent(L=4, d=8), **KEYS)
    assert cell_of(SameDifferent(L=4, d=8), eval_at="even", final_test_size=1024, **KEYS) == plain
    assert "eval_at" not in plain.keys()  # noqa: SIM118
    often = cell_of(SameDifferent(L=4, d=8), eval_at="log 8", **KEYS)
    larger = cell_of(SameDifferent(L=4, d=8), final_test_size=2048, **KEYS)
    assert len({cell.cell_id for cell in (plain, often, larger)}) == 3
    assert (plain.last_test_size, larger.last_test_size) == (1024, 2048)


@pytest.mark.parametrize(
    "value", ["log", "log 0", "log 8.5", "LOG 8", "", {"log": 0}, {"log": "8"}, {"pow2": [1, 3]}, {"log": 8, "d": 1}]
)
def test_other_values_are_refused(value):
    with pytest.raises(ValidationError, match="eval_at"):
        cell_of(SameDifferent(L=4, d=8), eval_at=value, **KEYS)
