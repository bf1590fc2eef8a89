"""Small equilibrium cells."""

from collections.abc import Callable
from typing import Any

import pytest

from trainables.cell import Cell, cell_of
from trainables.tasks import Hermite3, Task

MakeCell = Callable[..., Cell]


@pytest.fixture
def make_cell() -> MakeCell:
    def make(d: int = 3, P: int = 8, task: Task | None = None, **settings: Any) -> Cell:
        defaults: dict[str, Any] = {
            "network": "erf2",
            "width": 3,
            "kappa": 0.5,
            "steps": 20,
            "eval_every": 2,
            "test_size": 64,
            "seed": 0,
        }
        return cell_of(task or Hermite3(d=d, P=P), **(defaults | settings))

    return make
