"""The C library's allocator. Training frees large arrays at each step and asks for the same ones again; by default glibc hands
each back to the kernel, which then has to find and clear its pages anew.

On other C libraries nothing is changed.
"""

import ctypes
import platform
from functools import cache

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""Names of two parameters in malloc.h."""
_LARGE = 2**31 - 1
"""Bytes, the most that mallopt takes. Arrays up to this size are kept."""


@cache
def keep_freed() -> bool:
    """From now on this process keeps the memory of freed arrays for the next ones. False if the C library cannot be told so."""
    libc = _glibc()
    return libc is not None and all(libc.mallopt(name, _LARGE) == 1 for name in (_MMAP_THRESHOLD, _TRIM_THRESHOLD))


def give_back() -> None:
    """Hand what is kept and unused back to the machine."""
    if libc := _glibc():
        libc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
