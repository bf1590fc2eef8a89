"""Cells for suites in Triton's interpreter."""

import pytest


@pytest.fixture
def make(make_cell):
    """Cells for an interpreter that is a million times slower than what it stands for."""
    return lambda **settings: make_cell(**({"steps": 12, "eval_every": 6, "batch": 10} | settings))


@pytest.fixture
def d():
    """Dimension of the symbols."""
    return 16
