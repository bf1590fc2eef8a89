"""Small cells for the engines."""

from collections.abc import Callable
from typing import Any

import pytest

from trainables.cell import Cell, cell_of, lazy_gamma
from trainables.tasks import SameDifferent, Task

MakeCell = Callable[..., Cell]


@pytest.fixture
def make_cell() -> MakeCell:
    def make(
        L: int = 5,
        d: int = 16,
        sigma2: float = 0.0,
        prefactor: Any = "sqrt_d",
        task: Task | None = None,
        data_seed: int | None = None,
        **settings: Any,
    ) -> Cell:
        own = {"prefactor": prefactor} if task is None else {}
        task = task or SameDifferent(L=L, d=d, sigma2=sigma2)
        task = task if data_seed is None else task.model_copy(update={"data_seed": data_seed})
        defaults: dict[str, Any] = {"width": 32, "gamma": 1.0, "base_lr": 0.1, "steps": 40, "eval_every": 20, "test_size": 64}
        settings = defaults | own | {"batch": 32, "seed": 0, "dtype": "float64"} | settings
        if settings["gamma"] == "lazy":
            settings["gamma"] = lazy_gamma(task, **own)
        return cell_of(task, **settings)

    return make
