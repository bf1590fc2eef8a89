"""Faults of a card, which are not faults of cells: what must be there before a card trains, and which errors are the card's.

The driver imports this module, so torch is loaded only where it is used.
"""

import gc
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sweepkit.console.cache import cache_folder
from sweepkit.console.words import first_line
from trainables.basics import CannotRecordError, CardFault, CardUnusable

_WORDS = "CUDA error|CUDA driver|CUBLAS_STATUS|CUDNN_STATUS|Triton Error|NVML|ECC error|device-side assert"
_OF_THE_CARD = re.compile(_WORDS, re.IGNORECASE)
"""Words in the messages of PyTorch, of NVIDIA's libraries and of Triton when the card or its driver failed."""
_TOO_SMALL = re.compile("out of memory|ALLOC_FAILED", re.IGNORECASE)
"""Words of those among them that say that the card's memory, or pinned memory, does not suffice."""


def check_card() -> None:
    """CardUnusable unless PyTorch sees a card, and Triton finds what it compiles its launcher with.

    Triton then keeps its compiled kernels in this project's cache: a home may be read-only, or forbid programs.
    """
    import torch

    if not torch.cuda.is_available():
        raise CardUnusable(f"PyTorch {torch.__version__} sees no GPU here: {_why_unseen()}")
    os.environ.setdefault("TRITON_CACHE_DIR", str(cache_folder() / "triton"))
    if missing := _missing():
        raise CardUnusable(f"Triton cannot compile for the GPU: {missing}")


def _why_unseen() -> str:
    """Why PyTorch sees no card, and what to do."""
    import torch

    if torch.version.cuda is None:
        return "it is made without CUDA; install one that is made for it"
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
    except (RuntimeError, AssertionError) as error:
        shown = f" CUDA_VISIBLE_DEVICES is {allowed!r}." if allowed is not None else ""
        return f"{str(error).splitlines()[0]}{shown} See what nvidia-smi says"
    return "see what nvidia-smi says"


def _missing() -> str:
    """The first thing that Triton's compilation lacks, and what installs it; empty where nothing is missing."""
    if not os.environ.get("CC") and not any(map(shutil.which, ("gcc", "clang"))):
        return "no C compiler is there; install gcc, or name one in CC"
    scheme = sysconfig.get_default_scheme()
    headers = Path(sysconfig.get_paths(scheme="posix_prefix" if scheme == "posix_local" else scheme)["include"])
    if not (headers / "Python.h").exists():
        return f"{headers / 'Python.h'} is missing; install python3-dev"
    if not _libcuda_is_found():
        return "the driver's library libcuda.so.1 is not found; run ldconfig, or name its folder in LD_LIBRARY_PATH"
    return ""


def _libcuda_is_found() -> bool:
    folders = [os.environ.get("TRITON_LIBCUDA_PATH", ""), *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
    if any(folder and Path(folder, "libcuda.so.1").exists() for folder in folders):
        return True
    try:
        known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    return "libcuda.so.1" in known


@contextmanager
def card_faults(device: str) -> Iterator[None]:
    """Inside, an error of CUDA is raised as a CardFault, if the work is on a card; as MemoryError if memory does not suffice that
    PyTorch does not manage. PyTorch's own OutOfMemoryError stays what it is, as do all other errors."""
    try:
        yield
    except (CardUnusable, CardFault, CannotRecordError):
        raise
    except Exception as error:
        import torch

        kind = getattr(torch, "AcceleratorError", None)
        of_card = (kind and isinstance(error, kind)) or (isinstance(error, RuntimeError) and _OF_THE_CARD.search(str(error)))
        if device != "cpu" and of_card and not isinstance(error, torch.cuda.OutOfMemoryError):
            if _TOO_SMALL.search(str(error)):  # libraries and pinned memory do not go through PyTorch's allocator
                raise MemoryError(f"not enough memory on the card: {error}") from error
            raise CardFault(first_line(error)) from error
        raise


def take_every_digit() -> None:
    """Let cuDNN convolve with all digits of float32, and add in one order. By default it takes TF32, which has three digits, and
    sums whose order changes from run to run."""
    import torch

    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True


def release() -> None:
    """Give back the memory of packs that have ended, so that other processes on the card can have it."""
    import torch

    gc.collect()
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()
