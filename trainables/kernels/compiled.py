"""numba's settings for all compiled functions of this package."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from numba.core import event

from sweepkit.console.cache import cache_folder, digest

# numba checks whether the file of a function changed, but not the files of functions that it inlines. So the cache's name depends
# on all kernels.
_kernels = digest(Path(__file__).parent.glob("*.py"))
settings: Any = numba.config
settings.CACHE_DIR = str(Path(settings.CACHE_DIR or cache_folder(), f"kernels-{_kernels}"))

# reassoc lets sums be vectorised; nnan and ninf are left out, because divergence is a NaN that must be seen.
FAST = {"reassoc", "contract", "nsz", "arcp"}
compiled: Any = numba.njit(cache=True, nogil=True, fastmath=FAST)
# Inlined, because a call passes each array as seven words on the stack, which costs more than the work on its 256 neurons.
inline: Any = numba.njit(nogil=True, fastmath=FAST, forceinline=True)
# Divisions are not checked for zero: a check keeps a loop from becoming vectors.
unchecked: Any = numba.njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
unchecked_inline: Any = numba.njit(nogil=True, fastmath=FAST, error_model="numpy", forceinline=True)
# Without fastmath every processor gives the same digits: no sum is reordered, no multiplication fused with an addition.
exact: Any = numba.njit(cache=True, nogil=True)
exact_inline: Any = numba.njit(nogil=True, forceinline=True)


@contextmanager
def compiling() -> Iterator[list[float]]:
    """Afterwards the list holds the seconds for which numba compiled inside."""
    spent: list[float] = []
    with event.install_timer("numba:compile", spent.append):
        yield spent
