"""How this package compiles: numba's settings, in one place."""

from typing import Any

import numba

# reassoc lets sums be vectorised; nnan and ninf are left out, because divergence is a NaN that must be seen.
FAST = {"reassoc", "contract", "nsz", "arcp"}
compiled: Any = numba.njit(cache=True, nogil=True, fastmath=FAST)
# A call passes an array as seven words on the stack, which costs more than the 256 neurons it is made for.
inline: Any = numba.njit(nogil=True, fastmath=FAST, forceinline=True)
