"""A plan keeps the question of a search beside the networks that it asked for."""

import pyarrow as pa
import pytest

from sweepkit.store.schema import PLAN_SCHEMA, PLANNED_FIND, parquet_bytes
from sweepkit.store.searches import Question, questions
from sweepkit.store.store import Store
from sweepkit.store.upkeep.check import check
from sweepkit.store.views import fetch, run
from tests.store_rows import START, rows

OF_L, OF_P = Question("L", "best_test_acc", 0.85), Question("P", "alignment_f", 0.1)
ALL = "SELECT cell_id FROM cells"


def ids(first, n):
    return [one["cell_id"] for one in rows(first, n)]


def asked(store, ids=ALL, sweep=None):
    return run(store.results, lambda connection: questions(connection, ids, sweep))


@pytest.fixture
def store(tmp_path):
    store = Store(str(tmp_path))
    store.prepare()
    store.commit("p", rows(0, 9))
    return store


def test_that_of_most_networks_comes_first(store):
    store.write_plan("a", ids(0, 5), whole=True, asked=dict.fromkeys(ids(0, 2), OF_P))
    store.write_plan("b", ids(4, 5), whole=True, asked=dict.fromkeys(ids(4, 3), OF_L))
    store.write_plan("c", ids(0, 9), whole=True)
    assert asked(store) == [OF_L, OF_P]
    assert asked(store, sweep="a") == [OF_P] and asked(store, sweep="c") == []
    assert asked(store, f"{ALL} WHERE seed < 2") == [OF_P]
    assert fetch(store.results, "SELECT sweep, count(*) FROM plans GROUP BY ALL ORDER BY ALL") == [("a", 5), ("b", 5), ("c", 9)]


def test_a_network_of_a_search_and_of_a_plain_request_is_planned_once(store):
    store.write_plan("a", ids(0, 5), whole=True)
    store.write_plan("a", ids(3, 5), asked=dict.fromkeys(ids(3, 5), OF_L))
    assert fetch(store.results, "SELECT count(*), count(DISTINCT cell_id) FROM plans") == [(8, 8)]
    assert fetch(store.results, "SELECT networks FROM sweeps") == [(8,)]


def test_a_whole_grid_that_asks_otherwise_replaces_the_question(store):
    store.write_plan("a", ids(0, 5), whole=True, asked=dict.fromkeys(ids(0, 5), OF_L))
    other = OF_L._replace(at=0.97)
    store.write_plan("a", ids(0, 5), whole=True, asked=dict.fromkeys(ids(0, 5), other))
    assert asked(store) == [other]
    store.write_plan("a", ids(0, 5), whole=True)
    assert asked(store) == []


def test_plans_of_another_writer_may_hold_none(store):
    store.write_plan("a", ids(0, 5), whole=True, asked=dict.fromkeys(ids(0, 2), OF_L))
    columns = [["a", "b"], ids(7, 2), [None, None], [False, False]]
    store.files.write("plans/other.parquet", parquet_bytes(pa.table(columns, schema=PLAN_SCHEMA)))
    assert asked(store) == [OF_L]


def test_a_column_of_another_type_is_foreign(store):
    columns = [["a"], ids(0, 1), [None], [True]]
    table = pa.table(columns, schema=PLAN_SCHEMA).append_column("find", [[1]])
    store.files.write("plans/other.parquet", parquet_bytes(table))
    assert asked(store) == [] and fetch(store.results, "SELECT count(*) FROM plans") == [(0,)]


NO_QUESTIONS = [
    '{"axis": "L"}',
    "L >= 3",
    "[1, 2]",
    "[" * 10_000,
    '{"axis": "L", "metric": "acc", "at": "high"}',
    '{"axis": "L", "metric": "acc", "at": NaN}',
    '{"axis": 3, "metric": "acc", "at": 0.5, "falling": false}',
]


@pytest.mark.parametrize("text", NO_QUESTIONS)
def test_a_text_that_is_no_question_is_left_out_and_told(store, text):
    store.write_plan("a", ids(0, 5), whole=True, asked=dict.fromkeys(ids(0, 2), OF_L))
    columns = [["b"], ids(7, 1), [START], [True]]
    table = pa.table(columns, schema=PLAN_SCHEMA).append_column(PLANNED_FIND, [[text]])
    store.files.write("plans/other.parquet", parquet_bytes(table))
    assert asked(store) == [OF_L] and asked(store, sweep="b") == []
    [(path, problem)] = check(store.files).bad.items()
    assert path == "plan of b" and problem.startswith("foreign: ") and problem.endswith(" is no question of a search")


@pytest.mark.parametrize("text", NO_QUESTIONS)
def test_what_is_no_question_is_an_error(text):
    with pytest.raises(ValueError, match="is no question"):
        Question.read(text)
    assert Question.read(OF_L.written()) == OF_L
