"""How this package compiles: numba's settings, in one place."""

from pathlib import Path
from typing import Any

import numba

from console.cache import cache_folder, digest

# numba looks whether the file of a function changed, not those whose functions it inlines: here any kernel's change counts.
_kernels = digest(Path(__file__).parent.glob("*.py"))
settings: Any = numba.config
settings.CACHE_DIR = str(Path(settings.CACHE_DIR or cache_folder(), f"kernels-{_kernels}"))

# reassoc lets sums be vectorised; nnan and ninf are left out, because divergence is a NaN that must be seen.
FAST = {"reassoc", "contract", "nsz", "arcp"}
compiled: Any = numba.njit(cache=True, nogil=True, fastmath=FAST)
# A call passes an array as seven words on the stack, which costs more than the 256 neurons it is made for.
inline: Any = numba.njit(nogil=True, fastmath=FAST, forceinline=True)
# The same digits on every processor: no reordered sum, and no multiplication fused with an addition where the processor can.
exact: Any = numba.njit(cache=True, nogil=True)
exact_inline: Any = numba.njit(nogil=True, forceinline=True)
