"""The timing of the compiler, which all compiled functions share."""

import numba

from trainables.kernels.compiled import compiling


def test_the_time_of_the_compiler_is_told():
    @numba.njit
    def twice(x):
        return 2 * x

    with compiling() as first:
        twice(1.0)
    with compiling() as again:
        twice(2.0)
    assert len(first) == 1 and first[0] > 0 and again == []
