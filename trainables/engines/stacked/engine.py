"""`stacked`: any network that learns by descent, many at once."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from trainables.cell import Cell, cell_of
from trainables.engines.base import ALONE, Amounts, DescentEngine, groups_of
from trainables.kernels.sizes import TOGETHER
from trainables.streams import BLOCK_STEPS, measured_at_once, n_probed
from trainables.tasks import Hermite, SameDifferent

if TYPE_CHECKING:
    from trainables.trainers.base import Trainer

PASSES = 3
"""Passes over the products of an example: one forward, one backward to the parameters, one backward to the layer before."""

SMOOTH, OF_SMOOTH = frozenset({"tanh", "erf"}), 2.5
"""Activations of which PyTorch's take longer than its ReLU, and how many times: measured at batches of 64 and 1000."""

COPIES_IF_EACH_ANSWERS = 2
"""Copies of the activations that a step holds where each token is answered: on a CPU 2 for strings of 256 tokens, 1.3 of 1024."""


class Stacked(DescentEngine):
    """Any network given by `init` and `apply`. A pack shares a step's calls: `call` is a network's share in a pack of usual
    size, and `parameter`, on processors, a parameter's gradient and step, whatever the batch."""

    name: ClassVar[str] = "stacked"
    needs: ClassVar[str] = "networks that learn by gradient descent"
    devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda")
    is_general: ClassVar[bool] = True
    double: ClassVar[float] = 2.0
    seconds: ClassVar[Mapping[str, Mapping[str, float]]] = {
        # On an Intel Xeon (Ice Lake, 2.8 GHz), from perceptrons in packs of 24; the first packs of another machine correct it.
        "cpu": {"call": 4e-5, "product": 2e-11, "neuron": 1.5e-9, "parameter": 1.6e-9, "number": 1.5e-9, "evaluation": 5e-4},
        # On an NVIDIA H200, from packs of 64 perceptrons; alone some 60 small kernels a step from a CUDA graph.
        "cuda": {"call": 1e-6, "product": 5e-14, "neuron": 2e-11, "number": 2.5e-9, "evaluation": 6e-5},
        ALONE: {"call": 7.4e-5, "product": 7e-14, "neuron": 1e-10, "number": 2.5e-9},
    }

    def trains(self, cell: Cell) -> bool:
        return cell.training.family == "descent"

    def trainer(self, cells: Sequence[Cell], device: str = "cpu") -> "Trainer":
        from trainables.engines.stacked.trainer import Stacked

        if device != "cpu":
            from trainables.trainers.card.faults import check_card
            from trainables.trainers.card.proof import prove

            check_card()
            prove(cells, partial(Stacked, device=device), Stacked)
        return Stacked(cells, device)

    def step_amounts(self, cell: Cell, group: float = 1.0, device: str = "cpu") -> Amounts:
        n = cell.batch * cell.updates
        drawn = 0.0 if cell.task.n_train is not None else n * cell.task.input_dim / group
        passes = PASSES + cell.network.is_centred
        found = {
            "call": float(cell.updates),
            "product": passes * n * cell.network.n_products(cell),
            "neuron": n * cell.network.n_activations(cell),
            "number": drawn,
        }
        if device == "cpu":
            is_smooth = getattr(cell.network, "activation", "") in SMOOTH
            found["neuron"] *= OF_SMOOTH if is_smooth else 1.0
            found["parameter"] = float(cell.updates * cell.network.n_parameters(cell))
        return found

    def evaluation_amounts(self, cell: Cell, group: float = 1.0) -> Amounts:
        n, more = cell.test_size, _n_probed(cell)
        return {
            "evaluation": 1.0,
            "product": ((1 + cell.network.is_centred) * n + more) * cell.network.n_products(cell),
            "neuron": (n + more) * cell.network.n_activations(cell),
            "number": n * cell.task.input_dim / group,
        }

    def memory(self, cells: Sequence[Cell], device: str = "cpu") -> int:
        cell, n, n_groups, on_gpu = cells[0], len(cells), groups_of(cells), device == "cuda"
        n_train, d_in, n_activations = cell.task.n_train, cell.task.input_dim, cell.network.n_activations(cell)
        # At most five arrays per parameter: its values, its gradient, its initial values and an optimiser's two moments, or more
        # of them. What recorded steps hold for the moment is theirs alone: a GPU has it again for steps that are no whole block.
        parameters = (3 + cell.descent.moments + on_gpu) * n * cell.network.n_parameters(cell)
        answers_each = cell.task.n_answers > 1
        live = (1 + on_gpu) * n * cell.batch * (d_in + (COPIES_IF_EACH_ANSWERS if answers_each else 4) * n_activations)
        # A GPU has fresh examples in two turns, and copies those of a step; an index takes the room of two numbers.
        examples = 3 * n_groups * (BLOCK_STEPS * cell.batch if n_train is None else n_train) * d_in
        table = cell.task.table_bytes
        if table and not cell.descent.is_full_batch:  # inputs are made of the table's rows step by step, targets are classes
            examples = n_groups * (n_train or 0) * (4 + cell.task.n_outputs)
        order = 0 if n_train is None else 4 * n_groups * BLOCK_STEPS * cell.updates * cell.batch
        answers = measured_at_once(cell) * cell.updates * cell.batch * cell.task.n_answers
        curves = 5 * n * answers * cell.task.n_outputs  # outputs, targets, losses and their summands
        together = max(1, min(n, TOGETHER // (cell.test_size * (d_in + n_activations)))) if on_gpu else 1
        examples_of_test = 2 * cell.test_size * d_in + (cell.last_test_size - cell.test_size) * d_in
        if answers_each:  # as many strings pass at once as in a step, which holds more of them for its gradients
            evaluation = together * examples_of_test
        else:
            evaluation = together * (examples_of_test + 2 * cell.test_size * n_activations)
        if more := _n_probed(cell):
            examples += n_groups * more * d_in
            evaluation = max(evaluation, together * more * (d_in + 3 * n_activations))
        bytes_of_a_number = 8 if any(c.needs_float64 for c in cells) else 4
        return int(bytes_of_a_number * (parameters + live + examples + order + curves + evaluation)) + table

    def card_packs(self) -> Sequence[Sequence[Cell]]:
        task = SameDifferent(L=16, d=64)

        def pack(depth: int, width: int) -> list[Cell]:
            cells = [(seed, 1.0 / (1 + k)) for seed in range(8) for k in range(8)]
            return [cell_of(task, network="mlp", depth=depth, width=width, gamma=gamma, seed=seed) for seed, gamma in cells]

        return [pack(1, 64), pack(3, 64), pack(1, 1024), pack(3, 1024)]

    def shapes(self) -> Sequence[Sequence[Cell]]:
        task, fixed = SameDifferent(L=16, d=64), Hermite(d=16, degree=2, P=512)
        few = cell_of(fixed, network="mlp", depth=3, width=512, batch=16, seed=0)  # products weigh little beside parameters
        smooth = cell_of(fixed, network="mlp", training="adam", depth=3, width=128, batch=64, activation="tanh", seed=0)
        return [
            *(
                [cell_of(task, network="mlp", depth=depth, width=width, gamma=1.0 / (1 + k), seed=0) for k in range(n)]
                for depth in (1, 3)
                for width in (64, 256)
                for n in (1, 4, 24)
            ),
            [few] * 8,
            [smooth] * 8,
        ]


def _n_probed(cell: Cell) -> int:
    """Training examples that an evaluation takes besides those of the test; see `Network.settled`."""
    return n_probed(cell) if cell.network.mixes_examples else 0
