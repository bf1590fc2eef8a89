"""Small cells for `stacked`, with tasks and a network that are given by what a user would write."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from trainables.cell import cell_of
from trainables.networks import Network
from trainables.tasks import SameDifferent, Task

TASK = SameDifferent(L=5, d=16)


def network(task=TASK, **keys):
    """A small cell."""
    own = {
        "network": "mlp",
        "width": 32,
        "seed": 0,
        "batch": 32,
        "test_size": 64,
        "dtype": "float64",
        "steps": 40,
        "eval_every": 20,
    }
    if keys.get("training") == "gd":
        del own["batch"]
    return cell_of(task, **(own | keys))


class Lines(Task):
    """Inputs N(0, I_d) by class: which of the first three coordinates is largest; or these coordinates as a real vector."""

    name: ClassVar[str] = "lines"
    d: Annotated[int, Field(ge=3)] = 4

    @property
    def input_dim(self) -> int:
        return self.d

    @property
    def n_outputs(self) -> int:
        return 3

    def draw_symbols(self, rng):
        return np.zeros(0)

    def train_examples(self, rng, symbols, n):
        x = rng.standard_normal((n, self.d)).astype(np.float32)
        return x, x[:, :3].argmax(1) if self.targets == "classes" else x[:, :3]

    test_examples = train_examples


class Classes(Lines):
    name: ClassVar[str] = "three_classes"
    targets: ClassVar = "classes"
    defaults: ClassVar = {"base_lr": 0.1}


class Vectors(Lines):
    name: ClassVar[str] = "three_numbers"
    targets: ClassVar = "real"
    defaults: ClassVar = {"base_lr": 0.1}


class Tokens(Task):
    """Sequences of eight tokens below four: is there a 3?"""

    name: ClassVar[str] = "tokens"
    inputs: ClassVar = "tokens"
    defaults: ClassVar = {"base_lr": 0.5, "network": "bag", "loss": "cross_entropy"}

    @property
    def input_dim(self) -> int:
        return 8

    @property
    def n_tokens(self) -> int:
        return 4

    def draw_symbols(self, rng):
        return np.zeros(0)

    def train_examples(self, rng, symbols, n):
        x = rng.integers(0, 3, (n, 8))
        y = rng.integers(0, 2, n) == 1
        x[y, 0] = 3
        return x, y

    test_examples = train_examples


class Bag(Network):
    """Mean of the tokens' embeddings, one hidden layer; no closed form of anything is given."""

    name: ClassVar[str] = "bag"

    width: Annotated[int, Field(ge=1)] = 16

    def init(self, rng, cell):
        m = self.width
        return {
            "table": rng.standard_normal((4, m)),
            "w": rng.standard_normal((m, m)) / m**0.5,
            "a": rng.standard_normal(m) / m**0.5,
        }

    def apply(self, parameters, x, cell):
        return (parameters["table"][x].mean(-2) @ parameters["w"]).tanh() @ parameters["a"]
