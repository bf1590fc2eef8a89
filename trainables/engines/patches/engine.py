"""`patches`: exact training on images that are empty except for two patches."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from trainables.cell import Cell, cell_of
from trainables.engines.base import Amounts, DescentEngine, evaluation_numbers, groups_of, item_bytes
from trainables.kernels.sizes import CHUNK, TILE, padded
from trainables.kinds import TWO_PATCHES, sees_two_patches
from trainables.streams import BLOCK_STEPS
from trainables.tasks import PSVRT, Pentomino
from trainables.tasks.images.patches import PatchTask

if TYPE_CHECKING:
    from trainables.trainers.base import Trainer


class Patches(DescentEngine):
    """Images with two filled patches. Its own kinds of work: `example` is one image drawn, `pair` one neuron on one image, `atom`
    one neuron on one atom (a patch at a place), `tile` one multiplication and addition of an atom with a weight, `weight` one
    weight passed."""

    name: ClassVar[str] = "patches"
    needs: ClassVar[str] = TWO_PATCHES
    double: ClassVar[float] = 2.0
    seconds: ClassVar[Mapping[str, Mapping[str, float]]] = {
        "cpu": {
            "call": 1e-5,
            "example": 1e-7,
            "pair": 3e-10,
            "atom": 1e-10,
            "tile": 1.6e-11,
            "weight": 1e-11,
            "evaluation": 5e-4,
        },
    }

    def trains(self, cell: Cell) -> bool:
        return sees_two_patches(cell)

    def trainer(self, cells: Sequence[Cell], device: str = "cpu") -> "Trainer":
        from trainables.engines.patches.trainer import Patches

        return Patches(cells)

    def step_amounts(self, cell: Cell, group: float = 1.0, device: str = "cpu") -> Amounts:
        atoms = distinct_atoms(_images(cell).n_train_forms, _images(cell), cell.batch)
        return {"call": 1.0, "example": cell.batch / group, **_arithmetic(cell, 2 + 1 / group, cell.batch, atoms)}

    def evaluation_amounts(self, cell: Cell, group: float = 1.0) -> Amounts:
        atoms = distinct_atoms(_images(cell).n_test_forms, _images(cell), cell.test_size)
        return {"evaluation": 1.0, "example": cell.test_size / group, **_arithmetic(cell, 1 + 1 / group, cell.test_size, atoms)}

    def memory(self, cells: Sequence[Cell], device: str = "cpu") -> int:
        cell, n, n_groups, m = cells[0], len(cells), groups_of(cells), padded(cells[0].width, CHUNK)
        weights = _images(cell).n_places * padded(_images(cell).patch_size ** 2, TILE) * m
        # Two atoms per image: initial preactivations of a block; their change and their gradients in a step; both preactivations
        # in a test.
        preactivations = 2 * (BLOCK_STEPS * cell.batch + 2 * cell.batch + 2 * cell.test_size)
        initial = n_groups * cell.task.input_dim * cell.width
        return int(item_bytes(cell) * (initial + (n + n_groups) * weights + preactivations * m + evaluation_numbers(cells)))

    def shapes(self) -> Sequence[Sequence[Cell]]:
        def images(task: PatchTask, width: int, n: int = 1) -> list[Cell]:
            return [cell_of(task, width=width, gamma=1.0 / (1 + k), seed=0) for k in range(n)]

        return [
            images(PSVRT(L=16), 512), images(PSVRT(L=1024), 512, 4), images(PSVRT(L=1024, patches=2), 512),
            images(PSVRT(L=1024, patches=10), 512), images(PSVRT(L=4, patches=2), 2048),
            images(PSVRT(L=12, patches=2, patch_size=2), 256), images(Pentomino(L=16), 512, 4),
            images(Pentomino(L=16, patches=6), 512),
        ]  # fmt: skip


def distinct_atoms(n_forms: float, task: PatchTask, batch: int) -> float:
    """Expected number of different (form, place) in a batch, if one of n_forms is drawn for each patch."""
    n = n_forms * task.n_places
    return n * (1 - (1 - 1 / n) ** (2 * batch))


def _arithmetic(cell: Cell, products: float, images: int, atoms: float) -> Amounts:
    """Amounts of arithmetic on these numbers of images and distinct atoms; the weights multiply each atom `products` times."""
    task, m = _images(cell), padded(cell.width, CHUNK)
    pixels = padded(task.patch_size**2, TILE)
    places = task.n_places * (1 - (1 - 1 / task.n_places) ** atoms)
    work = {"pair": images * m, "atom": products * atoms * m, "tile": products * atoms * pixels * m}
    return work | {"weight": products * places * pixels * m}


def _images(cell: Cell) -> PatchTask:
    assert isinstance(cell.task, PatchTask)
    return cell.task
