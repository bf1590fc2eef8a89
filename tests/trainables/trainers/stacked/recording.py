"""Stand-ins for a GPU: operations watched for what makes the host wait, recorded as a CUDA graph records them, and repeated.

Tensors of a processor show their values without an operation, and those of "meta" take numbers from the host without one: work
that keeps a GPU waiting fails on one of the two.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from trainables.networks.batched_mlp import Layers

aten = torch.ops.aten
WAITING = {
    aten._local_scalar_dense, aten.nonzero, aten.masked_select, aten.equal, aten.is_nonzero, aten._unique2, aten.bincount,
    aten.unique_dim, aten.unique_consecutive, aten.repeat_interleave, aten._pin_memory, aten._assert_async,
}  # fmt: skip
"""Operations whose result the host must know, or whose shape depends on values."""


def tensors_of(*trees: Any) -> list[Tensor]:
    return [leaf for leaf in tree_flatten(trees)[0] if isinstance(leaf, Tensor)]


class Recorder(TorchDispatchMode):
    """Records operations as a CUDA graph does, tensors by place and numbers by value; refuses what a graph refuses."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device, self.calls = device, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function.overloadpacket in WAITING:
            raise RuntimeError(f"{function} waits for the device")
        is_index = function.overloadpacket in (aten.index, aten.index_put, aten.index_put_)
        if is_index and any(index.dtype in (torch.bool, torch.uint8) for index in tensors_of(args[1])):
            raise RuntimeError(f"{function} with a mask has a shape that depends on values")
        if function.overloadpacket is aten.lift_fresh:
            raise RuntimeError("a tensor is made from numbers of the host")
        found = function(*args, **kwargs)
        if any(t.device.type != self.device for t in tensors_of(args, kwargs, found)):
            raise RuntimeError(f"{function} takes or makes a tensor of the host")
        self.calls.append((function, args, kwargs, found))
        return found

    def replay(self) -> None:
        """Repeat the operations on what the tensors hold now; results go into new tensors, as if a graph overwrote the old."""
        now: dict[int, Tensor] = {}

        def present(leaf):
            return now.get(id(leaf), leaf)

        for function, args, kwargs, recorded in self.calls:
            found = function(*tree_map(present, args), **tree_map(present, kwargs))
            now |= {id(old): new for old, new in zip(tensors_of(recorded), tensors_of(found), strict=True) if old is not new}


class Recording:
    """A recorded piece of work in the place of a CUDA graph."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.recorder, self.times = Recorder("cpu"), 0
        with self.recorder:
            work()

    def replay(self) -> None:
        self.times += 1
        self.recorder.replay()


def recorded_on_cpu(device: torch.device, before: Callable[[], object], works: Sequence[Callable[[], object]]) -> list[Recording]:
    """Stands for trainables.trainers.card.graphs.recorded. Unlike a GPU it also does the work while it records."""
    before()
    return [Recording(work) for work in works]


def moved_elsewhere(made: Any) -> Any:
    """Put all tensors that an object of the package holds onto the device "meta", which knows shapes alone and no values."""

    def moved(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            return leaf.to("meta")
        is_ours = type(leaf).__module__.startswith(("trainables.engines", "trainables.trainers")) or isinstance(leaf, Layers)
        return moved_elsewhere(leaf) if is_ours and hasattr(leaf, "__dict__") else leaf

    for name, value in vars(made).items():
        setattr(made, name, torch.device("meta") if isinstance(value, torch.device) else tree_map(moved, value))
    return made
