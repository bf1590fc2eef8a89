"""A store of known laws, made once."""

import pytest

from tests.measured_store import measured_store


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    return measured_store(tmp_path_factory.mktemp("measured"))
