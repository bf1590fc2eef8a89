"""Interface of a network: its function of inputs and parameters, its initial parameters, the scales of output and rates."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from sweepkit.declarations.columns import Role
from trainables.parts import Part
from trainables.training.base import Family

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec
    from trainables.tasks.base import Task
    from trainables.training.base import Training

Array = np.ndarray[Any, Any]

Parameters = dict[str, "Tensor"]
"""Parameters of C networks by name, each tensor (C, ...)."""

LAZY_EPSILON = 1e-5
"""gamma s in the lazy limit; with s = sqrt(d), `lazy` is gamma = 1e-5/sqrt(d) [Tong25 App. G.1]."""


class Passes(Protocol):
    """Outputs and gradients of C networks of one shape, without autograd; see `Network.passes`."""

    def arranged(self, parameters: Parameters) -> Parameters:
        """The initial parameters as `outputs` takes them fastest: their order in memory may change, nothing else."""

    def outputs(self, parameters: Parameters, x: "Tensor") -> "Tensor":
        """g at inputs x (C, n, ...): (C, n) or (C, n, K). The next call may overwrite it, and what `gradients` needs. The caller
        leaves x as it is."""

    def alone(self, parameters: Parameters, x: "Tensor") -> "Tensor":
        """g (n,) or (n, K) of one network at inputs x (n, ...), for evaluation."""

    def gradients(self, slopes: "Tensor") -> Iterator[tuple[str, "Tensor"]]:
        """Each parameter's name and gradient of the sum of slopes times outputs, for the last inputs. A parameter whose rate is 0
        may be left out.

        Once a gradient is yielded, its parameter is no longer needed: the caller may change both before it asks for the next. The
        gradient may lie in an array that the next one overwrites.
        """


class Network(Part):
    """One network with its keys resolved.

    The output is f(x; theta) = g(x; theta) / epsilon, minus its value at initialisation if the network `is_centred`.
    """

    role: ClassVar[Role] = "network"
    family: ClassVar[Family] = "descent"
    """The family of trainings that can train the network."""
    takes: ClassVar[tuple[str, ...]] = ("vector", "tokens")
    """Kinds of inputs that `apply` understands."""
    has_one_output: ClassVar[bool] = False
    """Whether `apply` gives (n,) for every task, so that tasks with several outputs are refused."""
    answers_each: ClassVar[bool] = False
    """True if `apply` answers after each token of a string, (n T, K), for a task with T answers an example."""
    keeps: ClassVar[tuple[str, ...]] = ("curves",)
    """Lists that a grid may save: `curves`, `neurons`, `weights`. The last two are measured on parameters w (D, m) and a (m,) of
    a centred network."""
    in_turn_on_cpu: ClassVar[bool] = False
    """True if a CPU computes `apply` for one network after the other. That is faster where one network keeps a core busy with
    operations that torch.func.vmap makes slow, such as convolutions."""
    if TYPE_CHECKING:  # fields of each network, with its own legal values and defaults
        width: int

    @classmethod
    def traits(cls) -> dict[str, str | None]:
        """The network's part of `Cell.traits`."""
        has_features = cls.family == "sampling" or cls.features is not Network.features
        traits = {"neurons": "neurons" in cls.keeps, "features": has_features}
        return {"network": cls.name, **{trait: "yes" if has else "no" for trait, has in traits.items()}}

    @property
    def is_centred(self) -> bool:
        """Whether the output is f(x; theta) - f(x; theta_0); a network sets it by `centred`, a key or a class attribute."""
        return bool(getattr(self, "centred", False))

    @property
    def mixes_examples(self) -> bool:
        """True if an output depends on the other examples of its batch in training, as with batch norm; see `settled`."""
        return False

    def check(self, cell: "CellSpec") -> None:
        """ValueError if the network does not fit the cell's task or training."""
        task = cell.task
        if task.inputs not in self.takes:
            raise ValueError(f"network {self.name} does not take {task.inputs} inputs, as task {task.name} has")
        if self.has_one_output and task.n_outputs != 1:
            raise ValueError(f"network {self.name} has one output, and task {task.name} wants {task.n_outputs}; take mlp")
        if task.n_answers > 1 and not self.answers_each:
            raise ValueError(f"network {self.name} answers once an example, and task {task.name} asks each token; take gpt2")
        if self.mixes_examples and self.is_centred:
            of_batch = "a network whose outputs depend on their batch, as with batch norm"
            raise ValueError(f"centred: true does not go with {of_batch}: the output at initialisation would change with it")
        if self.gamma_label(task) == "lazy" and not self.is_centred:
            wanted = "centred: true" if "centred" in type(self).model_fields else "a network that is centred"
            raise ValueError(f"gamma = lazy wants {wanted}, else the output at initialisation, over gamma, drowns the rest")

    def scale(self, task: "Task") -> float:
        """s in epsilon = gamma s: sqrt(d) where the norm of an input is O(1) [Tong25 Eq. 1], else 1."""
        return 1.0

    def epsilon(self, task: "Task") -> float:
        """Divisor of the output: gamma s, where gamma is 1 for a network without that key."""
        return float(getattr(self, "gamma", 1.0)) * self.scale(task)

    def lazy_gamma(self, task: "Task") -> float:
        """The gamma that stands for gamma ~ 0: gamma s = 1e-5 [Tong25 App. G.1]."""
        return LAZY_EPSILON / self.scale(task)

    def gamma_label(self, task: "Task") -> str | None:
        """`lazy`, or gamma in its shortest form: `1`, `0.1`; None for a network without gamma."""
        gamma = getattr(self, "gamma", None)
        if gamma is None:
            return None
        return "lazy" if gamma == self.lazy_gamma(task) else f"{gamma:.6g}"

    def rates(self, training: "Training") -> dict[str, float]:
        """Factors of the learning rate by parameter, as the parametrisation requires; parameters not named have factor 1."""
        return {}

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> "dict[str, Array]":
        """Initial parameters of ONE network by name, drawn from `rng`, float32 or float64."""
        raise NotImplementedError

    def apply(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        """g of ONE network at inputs x (n, input_dim): (n,) for one output, else (n, K); plain PyTorch without loops over n.
        For a task with T answers an example: (n T, K), see `answers_each`.

        Networks that train together differ in seed and in free keys, so `apply` must not use these. A GPU repeats a recording of
        it, which cannot contain copies from the host, as in `torch.tensor(..., device=x.device)`.
        """
        raise NotImplementedError

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor | None":
        """Activations (n, m) of ONE network's last hidden layer; None for a network that has none. Without this method a grid
        cannot ask for richness of the network."""
        return None

    def settled(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "dict[str, Tensor]":
        """The parameters as evaluation gives them to `apply` and `features`, for a network that `mixes_examples`.

        It adds what training takes from its batch, such as a mean, here taken from training inputs x (n, input_dim). So an output
        depends on its own example alone.
        """
        return parameters

    def n_parameters(self, cell: "CellSpec") -> int:
        """How many numbers the parameters hold; counted in a first draw unless a network overrides this."""
        shape = (type(self), cell.shape())
        if shape not in _COUNTED:
            drawn = self.init(np.random.default_rng(0), cell)
            _COUNTED[shape] = sum(np.asarray(values).size for values in drawn.values())
        return _COUNTED[shape]

    def n_products(self, cell: "CellSpec") -> int:
        """How many products of a parameter and a number one example takes, for predictions of time."""
        return self.n_parameters(cell)

    def n_activations(self, cell: "CellSpec") -> int:
        """How many activations one example has, for predictions of time and memory."""
        return 4 * self.width

    def passes(self, cells: "Sequence[CellSpec]", on_cpu: bool) -> Passes | None:
        """A faster way to outputs and gradients of these networks, on a CPU or a GPU; None for torch.func.vmap of `apply` and
        autograd."""
        return None


def own_passes(cells: "Sequence[CellSpec]", on_cpu: bool) -> Passes | None:
    """Passes that the networks' own class defines; None if it inherits them, as it may compute something else."""
    network = cells[0].network
    return network.passes(cells, on_cpu) if "passes" in vars(type(network)) else None


def held(cells: "Sequence[CellSpec]") -> set[str]:
    """Names of parameters that no step changes in any of these networks."""
    rates = [cell.network.rates(cell.training) for cell in cells]
    return {name for name in rates[0] if all(of.get(name) == 0 for of in rates)}


def answered(outputs: "Tensor", task: "Task") -> "Tensor":
    """A readout's outputs (n, K) as `Network.apply` gives them: (n,) for a task with one output."""
    return outputs.squeeze(-1) if task.n_outputs == 1 else outputs


_COUNTED: dict[tuple[Any, ...], int] = {}
_NETWORKS: dict[tuple[str, Family], type[Network]] = {}


def register(cls: type[Network]) -> type[Network]:
    """Make a network known to grids by its `name`. Registering the same name again replaces it."""
    _NETWORKS[cls.name, cls.family] = cls
    return cls


def network_class(name: str, family: Family) -> type[Network]:
    """The class of the registered network of this name that trainings of this family can train; KeyError if there is none."""
    return _NETWORKS[name, family]


def network_names(family: Family | None = None) -> list[str]:
    """Names of all registered networks, or of those that trainings of one family can train, sorted."""
    return sorted({name for name, of in _NETWORKS if family in (None, of)})


def all_networks() -> list[type[Network]]:
    """All registered networks in the order of their registration."""
    return list(_NETWORKS.values())
