"""How much work a cell is on each engine, in units that a machine has a rate for: what a step and an evaluation count.

L symbols, input of length D, width m, batch B, T test examples; of `group` cells that see the same inputs, each does its share
of drawing them and of the initial preactivations.
"""

from trainables.cell import AnyCell, Cell
from trainables.engines.base import EngineName
from trainables.equilibrium.cell import EquilibriumCell
from trainables.kernels.sizes import CHUNK, TILE, padded
from trainables.tasks.patches import PatchTask

LEAPFROGS = 12.0
"""Steps that a trajectory takes on the average, of `langevin`; packs that finish correct it."""

LOGISTIC_NEURON, LOGISTIC_EXAMPLE = 100.0, 11_000.0
"""Of a readout that is sampled, in products a step, example and chain: passes over the neurons, and Newton's steps of jumps."""

Amounts = dict[str, float]
"""Work by kind: `call` is one step, `evaluation` one evaluation, `product` one multiplication and addition of a dense product,
`neuron` the arithmetic of one neuron on one example, `number` one normal number drawn. Of `gram`: `example` is one pair of a
batch drawn and sorted, `pair` and `lazy_pair` the arithmetic of one neuron on one distinct pair, and `tile` one multiplication
and addition with the Gram matrix. Of `patches`: `example` is one image drawn, `pair` one neuron on one image, `atom` one neuron
on one atom (a patch at a place), `tile` one multiplication and addition of an atom with a weight, `weight` one weight passed."""


def step_amounts(cell: AnyCell, engine: EngineName, group: float = 1.0) -> Amounts:
    """Work of one training step of one cell, at equilibrium of one trajectory of all its chains."""
    if isinstance(cell, EquilibriumCell):
        n, m = cell.n_train, cell.n_features
        least, patches = min(n, m), m // cell.width
        readout = 3 * least * n * m + 2 * least**3 if cell.loss == "mse" else n * (LOGISTIC_NEURON * m + LOGISTIC_EXAMPLE)
        forces = 4 * n * cell.n_hidden_weights * patches + readout
        return {"call": LEAPFROGS, "product": cell.chains * LEAPFROGS * forces}
    assert isinstance(cell, Cell)
    d_in, m, batch = cell.task.input_dim, cell.width, cell.batch
    if engine == "gram":
        n_symbols: int = cell.task.L  # type: ignore[attr-defined]
        pair = "pair" if cell.output_is_literal else "lazy_pair"
        m = padded(m, CHUNK)
        tiles = 2 * distinct_symbols(n_symbols, batch) * padded(n_symbols, TILE) * m
        return {"call": 1.0, "example": batch / group, pair: distinct_pairs(n_symbols, batch) * m, "tile": tiles}
    if engine == "patches":
        atoms = distinct_atoms(_images(cell).n_train_forms, _images(cell), batch)
        return {"call": 1.0, "example": batch / group, **_patch_work(cell, 2 + 1 / group, batch, atoms)}
    products, share = (6.0, 1.0) if engine == "reference" else (2 + 1 / group, 1 / group)
    return {"call": 1.0, "neuron": batch * m, "product": products * batch * d_in * m, "number": share * batch * d_in}


def evaluation_amounts(cell: AnyCell, engine: EngineName, group: float = 1.0) -> Amounts:
    """Work of one evaluation of one cell on its fresh test examples."""
    if isinstance(cell, EquilibriumCell):
        return {"product": 1.0 * cell.chains * cell.test_size * cell.n_hidden_weights * cell.n_features // cell.width}
    assert isinstance(cell, Cell)
    d_in, m, n = cell.task.input_dim, cell.width, cell.test_size
    if engine == "gram":
        n_symbols: int = cell.task.L  # type: ignore[attr-defined]
        products = n * (m * d_in / group + n_symbols * (d_in + 2 * m))
    elif engine == "patches":
        atoms = distinct_atoms(_images(cell).n_test_forms, _images(cell), n)
        return {"evaluation": 1.0, "example": n / group, **_patch_work(cell, 1 + 1 / group, n, atoms)}
    else:
        products = n * m * d_in * (2.0 if engine == "reference" else 1 + 1 / group)
    share = 1.0 if engine == "reference" else 1 / group
    return {"evaluation": 1.0, "product": products, "neuron": n * m, "number": share * n * d_in}


def distinct_pairs(n_symbols: int, batch: int) -> float:
    """Expected number of different (u, v) in a batch that is half same, half different."""
    pairs = n_symbols * (n_symbols - 1)
    return n_symbols * (1 - (1 - 0.5 / n_symbols) ** batch) + pairs * (1 - (1 - 0.5 / pairs) ** batch)


def distinct_symbols(n_symbols: int, batch: int) -> float:
    """Expected number of different symbols in one half of a batch."""
    return n_symbols * (1 - (1 - 1 / n_symbols) ** batch)


def distinct_atoms(n_forms: float, task: PatchTask, batch: int) -> float:
    """Expected number of different (form, place) in a batch, if one of n_forms is drawn for each patch."""
    n = n_forms * task.n_places
    return n * (1 - (1 - 1 / n) ** (2 * batch))


def _patch_work(cell: Cell, products: float, images: int, atoms: float) -> Amounts:
    """Arithmetic on images, with so many products of their atoms and the weights."""
    task, m = _images(cell), padded(cell.width, CHUNK)
    pixels = padded(task.patch_size**2, TILE)
    places = task.n_places * (1 - (1 - 1 / task.n_places) ** atoms)
    work = {"pair": images * m, "atom": products * atoms * m, "tile": products * atoms * pixels * m}
    return work | {"weight": products * places * pixels * m}


def _images(cell: Cell) -> PatchTask:
    return cell.task  # type: ignore[return-value]
