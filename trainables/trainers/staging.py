"""Arrays on their way from the host to a device, so that neither waits for the other."""

import torch
from torch import Tensor


class Staging:
    """Two pinned host buffers in turn for one tensor on a GPU: the host fills one while the other is still being copied.

    `send` returns before the copy is made. The device copies after all work queued before, so the copy overwrites nothing that is
    still to be read. On the CPU nothing is copied: the buffer is the tensor itself.
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
            self.copied[self.turn].synchronize()  # its own last copy; the other buffer's may still be queued
        return self.buffers[self.turn]

    def send(self) -> None:
        """Copy the buffer that was filled last to the device."""
        if self.on_gpu:
            self.to.copy_(self.buffers[self.turn], non_blocking=True)
            self.copied[self.turn].record()
