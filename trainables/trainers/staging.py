"""Arrays on their way from the host to a device, so that neither waits for the other."""

import torch
from torch import Tensor


class Staging:
    """Two pinned host buffers in turn for one tensor on a GPU: the host fills one while the other is still being copied.

    `send` returns before the copy is made; the device makes it after all that it was asked before, so it overwrites nothing
    that is still to be read. On the CPU there is nothing to copy: what is filled is the tensor itself.
    """

    def __init__(self, to: Tensor) -> None:
        self.to = to
        self.on_gpu = to.device.type == "cuda"
        self.buffers = [torch.empty(to.shape, dtype=to.dtype, pin_memory=True) for _ in range(2)] if self.on_gpu else [to]
        self.copied = [torch.cuda.Event() for _ in self.buffers] if self.on_gpu else []  # type: ignore[no-untyped-call]
        self.turn = 0

    def room(self) -> Tensor:
        """The buffer to fill next."""
        self.turn = (self.turn + 1) % len(self.buffers)
        if self.on_gpu:
            self.copied[self.turn].synchronize()  # its copy of the time before last: the last is still ahead of the device
        return self.buffers[self.turn]

    def send(self) -> None:
        """Copy what was filled last."""
        if self.on_gpu:
            self.to.copy_(self.buffers[self.turn], non_blocking=True)
            self.copied[self.turn].record()
