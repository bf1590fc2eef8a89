"""The kinds of cells that specialised trainers accept. A subclass of a known part is refused where it may compute differently."""

from trainables.cell import Cell
from trainables.networks import TwoLayer
from trainables.tasks import SameDifferent
from trainables.tasks.images.patches import PatchTask
from trainables.training import SGD

OF_THE_PAPER = (
    "relu2 by SGD without momentum, weight decay or schedule, on the cross entropy of labels 0 and 1, "
    "with fresh examples at each step"
)
"""The cells of `is_of_the_paper` in words; then those of `sees_noiseless_pairs` and `sees_two_patches`."""
NOISELESS_PAIRS = f"noiseless same_different, by {OF_THE_PAPER}"
TWO_PATCHES = f"images that hold two patches, such as psvrt, by {OF_THE_PAPER}"


def is_of_the_paper(cell: Cell) -> bool:
    """Whether the cell is the network of [Tong25] under plain SGD on fresh examples with labels 0 and 1."""
    training = cell.training
    if type(training) is not SGD or type(cell.network) is not TwoLayer:
        return False
    others = (*SGD.hashed_at_default, *SGD.measured_by, "loss")
    own = {name: field.default for name, field in SGD.model_fields.items() if name not in others}
    is_plain = all(getattr(training, name) == default for name, default in own.items())  # momentum and the like
    return is_plain and training.loss == "cross_entropy" and cell.task.targets == "binary" and cell.task.n_train is None


def sees_noiseless_pairs(cell: Cell) -> bool:
    """Whether the cell is of the paper and its inputs are pairs of training symbols without noise."""
    return is_of_the_paper(cell) and type(cell.task) is SameDifferent and cell.task.sigma2 == 0


def sees_two_patches(cell: Cell) -> bool:
    """Whether the cell is of the paper and its inputs are images that are empty except for two patches."""
    task = type(cell.task)
    if not (is_of_the_paper(cell) and issubclass(task, PatchTask)):
        return False
    return task.train_examples is PatchTask.train_examples and task.test_examples is PatchTask.test_examples
