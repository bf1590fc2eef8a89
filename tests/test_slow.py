"""The list of slow tests names tests that exist: one that was renamed would else be run by `make test`."""

import pytest

from tests.conftest import UNKNOWN


def test_each_line_names_a_test(request):
    if request.config.args != request.config.getini("testpaths"):
        pytest.skip("not all tests were collected")
    assert request.config.stash[UNKNOWN] == []
