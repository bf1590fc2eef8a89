"""`resident`: dense networks whose weights stay in the cache, one network after the other."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from trainables.cell import Cell, cell_of
from trainables.engines.base import Amounts, DescentEngine
from trainables.networks.mlp import MLP
from trainables.streams import BLOCK_STEPS
from trainables.tasks import SameDifferent
from trainables.tasks.teachers import Hermite
from trainables.training.adam import Adam
from trainables.training.adamw import AdamW
from trainables.training.gd import GD
from trainables.training.sgd import SGD
from trainables.training.signsgd import SignSGD

if TYPE_CHECKING:
    from trainables.trainers.base import Trainer

PASSES = 3
"""Passes over the products of an example: one forward, one backward to the weights, one backward to the layer before."""
OF_NEURON = {"relu": 1.0, "linear": 1.0, "quadratic": 1.0, "tanh": 4.0, "erf": 8.0}
"""Time of an activation and its slope, and `OF_MOMENTS`: of a parameter's step by Adam, over those of ReLU and SGD."""
OF_MOMENTS = 4.0
LARGEST = 2**20
"""Weights of the largest layer, and `MOST_NUMBERS`: numbers of a layer for a whole batch, its inputs among them. Beyond them
products wait for memory, and a library's are faster. With fewer neurons than NARROWEST they do not fill a vector."""
MOST_NUMBERS = 2**21
NARROWEST = 16


class Resident(DescentEngine):
    """`mlp` of any depth under each of the project's own optimisers. A user's network or optimiser is left to `stacked`."""

    name: ClassVar[str] = "resident"
    needs: ClassVar[str] = (
        "networks mlp of 16 neurons and more a layer that learn by sgd, gd, adam, adamw or signsgd, with up to a million weights "
        "a layer, and two million numbers of a batch"
    )
    is_general: ClassVar[bool] = True
    double: ClassVar[float] = 2.2
    seconds: ClassVar[Mapping[str, Mapping[str, float]]] = {
        "cpu": {
            "call": 1e-6,
            "example": 2e-8,
            "product": 1.8e-11,
            "neuron": 2e-10,
            "parameter": 1e-10,
            "number": 1.5e-9,
            "evaluation": 3e-4,
        },
    }

    def trains(self, cell: Cell) -> bool:
        if type(cell.network) is not MLP or type(cell.training) not in (SGD, GD, Adam, AdamW, SignSGD):
            return False
        sizes = [size for fans in cell.network.fans(cell) for size in fans]
        is_small = _largest(cell) <= LARGEST and cell.batch * max(sizes) < MOST_NUMBERS
        return cell.task.n_answers == 1 and cell.network.width >= NARROWEST and is_small

    def trainer(self, cells: Sequence[Cell], device: str = "cpu") -> "Trainer":
        from trainables.engines.resident.trainer import Resident

        return Resident(cells)

    def pack_key(self, cell: Cell, device: str = "cpu") -> tuple[object, ...]:
        """Networks with training sets of any size P may share a pack, if a step takes a batch."""
        if cell.task.n_train is None or cell.descent.is_full_batch or cell.descent.takes_epochs:
            return cell.shape()
        sizes = cell.task.input_dim, cell.task.n_outputs, cell.task.target_scale
        return *sizes, *((key, value) for key, value in cell.shape() if key != "P")

    def step_amounts(self, cell: Cell, group: float = 1.0, device: str = "cpu") -> Amounts:
        """Kinds of its own: `example`, loss and slopes of one output, and `parameter`, the step of one number by SGD."""
        n, network = cell.batch * cell.updates, cell.network
        assert isinstance(network, MLP)
        return {
            "call": float(cell.updates),
            "example": float(n * cell.task.n_outputs),
            "product": (PASSES + network.is_centred) * n * network.n_products(cell),
            "neuron": n * network.n_activations(cell) * OF_NEURON[network.activation],
            "parameter": cell.updates * network.n_parameters(cell) * (OF_MOMENTS if isinstance(cell.training, Adam) else 1.0),
            "number": n * cell.task.input_dim / (group if cell.task.n_train is None else 1),
        }

    def evaluation_amounts(self, cell: Cell, group: float = 1.0) -> Amounts:
        n, network = cell.test_size, cell.network
        assert isinstance(network, MLP)
        return {
            "evaluation": 1.0,
            "product": (1 + network.is_centred) * n * network.n_products(cell),
            "neuron": n * network.n_activations(cell) * OF_NEURON[network.activation],
            "number": n * cell.task.input_dim / group,
        }

    def memory(self, cells: Sequence[Cell], device: str = "cpu") -> int:
        cell, drawn_anew = cells[0], cells[0].task.n_train is None
        d_in, n_activations = cell.task.input_dim, cell.network.n_activations(cell)
        tasks = {(c.seed, c.task): c.task for c in cells}.values()
        n_train = sum(task.n_train or 0 for task in tasks)
        parameters = (2 + cell.network.is_centred + cell.descent.moments) * len(cells) * cell.network.n_parameters(cell)
        step = 4 * cell.batch * (d_in + n_activations) + 3 * _largest(cell)
        n_outputs = cell.task.n_outputs
        sets = n_train * (2 * d_in + 4 * n_outputs)
        table = cell.task.table_bytes
        if table and not cell.descent.is_full_batch:  # inputs are made of the table's rows step by step, targets are classes
            sets = n_train * (4 + 4 * n_outputs)
        drawn = 2 * BLOCK_STEPS * cell.updates * cell.batch * (d_in + 2 * n_outputs if drawn_anew else 4) + 2**18
        tests = 3 * max(cell.test_size, cell.last_test_size) * (d_in + cell.task.n_outputs)
        bytes_of_a_number = 8 if any(c.needs_float64 for c in cells) else 4
        return bytes_of_a_number * (parameters + step + sets + drawn + tests) + table

    def shapes(self) -> Sequence[Sequence[Cell]]:
        drawn, fixed = SameDifferent(L=16, d=64), Hermite(d=20, degree=2, P=512)
        return [
            *(
                [cell_of(drawn, network="mlp", depth=depth, width=width, gamma=1.0 / (1 + k), seed=0) for k in range(n)]
                for depth in (1, 3)
                for width in (16, 64, 256)
                for n in (1, 8)
            ),
            *(
                [cell_of(fixed, network="mlp", training="adam", depth=3, width=width, activation="tanh", seed=0)]
                for width in (16, 128)
            ),
        ]


def _largest(cell: Cell) -> int:
    """Weights of the largest layer of an mlp."""
    assert isinstance(cell.network, MLP)
    return max(fan_in * fan_out for fan_in, fan_out in cell.network.fans(cell))
