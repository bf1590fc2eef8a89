"""Ridge regression on what the last layer sees: only the last layer is trained, to its optimum [Boix23 Sec. 4].

f = sum_i c_i K(x, x_i), c = (K + lambda)^-1 y, or f = w.h, w = (H^T H + lambda)^-1 H^T y, where the layer sees few numbers h: the
minimum of sum_i (f(x_i) - y_i)^2 + lambda |w|^2 over last layers w
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from trainables.training.base import Family, Loss, Precision, Training

if TYPE_CHECKING:
    from trainables.spec import CellSpec


class Ridge(Training):
    """One linear system on what the last layer sees, X (P, n): (X'X + ridge) w = X'y, without intercept, in float64."""

    name: ClassVar[str] = "ridge"
    family: ClassVar[Family] = "ridge"
    headline: ClassVar[tuple[str, str]] = ("test_mse", "test mean squared error")
    free: ClassVar[tuple[str, ...]] = ("ridge",)
    steps: ClassVar[int] = 1  # type: ignore[misc]  # no key: a grid cannot ask for more of them
    eval_every: ClassVar[int] = 1  # type: ignore[misc]
    dtype: ClassVar[Precision] = "float64"  # type: ignore[misc]
    loss: ClassVar[Loss] = "mse"  # type: ignore[misc]

    ridge: Annotated[float, Field(gt=0, title="ridge lambda")] = 1e-4
    test_size: Annotated[int, Field(ge=1)] = 1024

    def check(self, cell: "CellSpec") -> None:
        if not cell.task.n_train:
            raise ValueError(f"training ridge takes a training set of P examples, and task {cell.task.name} has none here")
        if cell.task.targets != "real":
            raise ValueError(f"training ridge takes real targets, and those of {cell.task.name} are labels")
