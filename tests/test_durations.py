"""Tests are slow by what was measured."""

from types import SimpleNamespace

import pytest

from tests import durations
from tests.durations import Measuring, renewed

A, B, C, SHARED = "tests/a.py::test_a", "tests/a.py::test_b[1]", "tests/a.py::test_b[2]", "tests/a.py::made"


def test_lines_are_what_is_slow_and_the_rest_of_each_file():
    assert renewed({}, {A: 0.4, B: 3.0, C: 2.0}, {A, B, C}) == {"tests/a.py::test_b": 3.0, "tests/a.py": 0.4}
    assert renewed({}, {A: 0.25, B: 3.0, C: 0.25}, {A, B, C}) == {B: 3.0, "tests/a.py": 0.5}


def test_a_line_stays_where_little_changed_and_goes_with_its_test():
    old = {A: 2.0, "tests/a.py::test_gone": 5.0, "tests/other.py::test_c": 9.0}
    assert renewed(old, {A: 1.5}, {A}) == {A: 2.0, "tests/other.py::test_c": 9.0}
    assert renewed(old, {A: 1.2}, {A}) == {A: 1.2, "tests/other.py::test_c": 9.0}
    assert renewed({A: 2.0}, {A: 0.3}, {A}) == {"tests/a.py": 0.3}


def test_what_did_not_run_keeps_its_line():
    old = {A: 2.0, "tests/a.py::test_b": 4.0}
    assert renewed(old, {}, {A, B, C}) == old
    assert renewed({"tests/a.py": 7.0}, {A: 0.2}, {A, B, C}) == {"tests/a.py": 7.0}


def test_a_fixture_of_a_file_is_not_counted_to_the_test_that_made_it():
    measuring = Measuring()
    for seconds, made in ((5.2, [(SHARED, 5.0)]), (0.1, []), (0.2, [])):
        said = {"nodeid": A, "passed": True, "duration": seconds, "user_properties": [("made", made)]}
        measuring.pytest_runtest_logreport(SimpleNamespace(**said))
    assert measuring.took[SHARED] == 5.0 and abs(measuring.took[A] - 0.5) < 1e-9


def test_what_is_written_is_read(tmp_path):
    durations.write({A: 2.04, "tests/a.py": 0.123}, tmp_path / "kept")
    assert durations.read(tmp_path / "kept") == {A: 2.0, "tests/a.py": 0.12}


def test_each_line_names_what_there_is(request):
    """A test that was renamed would else run among the fast ones."""
    if request.config.args != request.config.getini("testpaths"):
        pytest.skip("not all tests were collected")
    assert request.config.stash[durations.UNKNOWN] == []
