"""Products of matrices that lie in the cache, at the processor's speed: tiles of a product are summed in its registers.

Matrices are parts of flat arrays: a start and how far rows lie apart. A library takes microseconds for a call and packs its
factors, which pays off for larger ones.
"""

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from trainables.kernels.compiled import compiled, inline

_HAS = binding.get_host_cpu_features()
VECTOR_BYTES = 64 if _HAS.get("avx512f") else 32 if _HAS.get("avx2") else 16
"""Bytes of a vector register."""
ROWS = 8 if VECTOR_BYTES != 32 else 4
"""Rows of the largest tile. With two vectors each they fill half of the 32 registers, or of 16 where AVX2 is all there is."""

_intrinsic: Any = intrinsic
_INT, _INT32 = ir.IntType(64), ir.IntType(32)


def _tile(rows: int, vectors: int) -> Any:
    """A compiled function that replaces a tile of c, so many rows of so many vectors, by alpha a b."""

    @_intrinsic
    def tile(typing, c, start, across, a, a_start, a_row, a_column, b, b_start, b_row, inner, alpha):
        def code(context, builder, signature, args):
            c, start, across, a, a_start, a_row, a_column, b, b_start, b_row, inner, alpha = args
            number = context.get_value_type(signature.args[0].dtype)
            size = context.get_abi_sizeof(number)
            lanes = VECTOR_BYTES // size
            vector = ir.VectorType(number, lanes)
            undefined, first = ir.Constant(vector, ir.Undefined), ir.Constant(_INT32, 0)
            everywhere = ir.Constant(ir.VectorType(_INT32, lanes), [first] * lanes)

            def at(k: int, array: Any, begin: Any) -> Any:
                return builder.gep(context.make_array(signature.args[k])(context, builder, array).data, [begin])

            def filled(x: Any) -> Any:
                return builder.shuffle_vector(builder.insert_element(undefined, x, first), undefined, everywhere)

            def summed(x: Any, y: Any, z: Any) -> Any:
                """x y + z, by one instruction where the processor has it."""
                together = ("contract",)
                return builder.fadd(builder.fmul(x, y, flags=together), z, flags=together)

            def vector_at(pointer: Any, j: int) -> Any:
                return builder.bitcast(builder.gep(pointer, [ir.Constant(_INT, j * lanes)]), vector.as_pointer())

            c_at, a_at, b_at = at(0, c, start), at(3, a, a_start), at(7, b, b_start)
            a_rows = [builder.mul(a_row, ir.Constant(_INT, r)) for r in range(rows)]
            entry, loop, end = builder.block, builder.append_basic_block("inner"), builder.append_basic_block("end")
            builder.branch(loop)

            builder.position_at_end(loop)  # `inner` is at least 1
            left, a_now, b_now = builder.phi(_INT), builder.phi(a_at.type), builder.phi(b_at.type)
            sums = [[builder.phi(vector) for _ in range(vectors)] for _ in range(rows)]
            b_row_now = [builder.load(vector_at(b_now, j), align=size) for j in range(vectors)]
            following = []
            for r in range(rows):
                x = filled(builder.load(builder.gep(a_now, [a_rows[r]])))
                following.append([summed(x, b_row_now[j], sums[r][j]) for j in range(vectors)])
            zero = ir.Constant(vector, [ir.Constant(number, 0.0)] * lanes)
            onward = [
                (left, inner, builder.sub(left, ir.Constant(_INT, 1))),
                (a_now, a_at, builder.gep(a_now, [a_column])),
                (b_now, b_at, builder.gep(b_now, [b_row])),
                *((sums[r][j], zero, following[r][j]) for r in range(rows) for j in range(vectors)),
            ]
            for phi, before, after in onward:
                phi.add_incoming(before, entry)
                phi.add_incoming(after, loop)
            builder.cbranch(builder.icmp_signed(">", onward[0][2], ir.Constant(_INT, 0)), loop, end)

            builder.position_at_end(end)
            factor = filled(alpha)
            for r in range(rows):
                row = builder.gep(c_at, [builder.mul(across, ir.Constant(_INT, r))])
                for j in range(vectors):
                    builder.store(builder.fmul(following[r][j], factor), vector_at(row, j), align=size)
            return context.get_dummy_value()

        place = types.intp
        return types.void(c, place, place, a, place, place, place, b, place, place, place, c.dtype), code

    return tile


def _column(vectors: int) -> Any:
    """A compiled function that computes so many vectors of all rows of a product."""
    many, four, two, one = (_tile(rows, vectors) for rows in (ROWS, 4, 2, 1))

    @inline
    def column(c, start, across, a, a_start, a_row, a_column, b, b_start, b_row, rows, inner, alpha):
        i = 0
        while i + ROWS <= rows:
            many(c, start + i * across, across, a, a_start + i * a_row, a_row, a_column, b, b_start, b_row, inner, alpha)
            i += ROWS
        if i + 4 <= rows:
            four(c, start + i * across, across, a, a_start + i * a_row, a_row, a_column, b, b_start, b_row, inner, alpha)
            i += 4
        if i + 2 <= rows:
            two(c, start + i * across, across, a, a_start + i * a_row, a_row, a_column, b, b_start, b_row, inner, alpha)
            i += 2
        if i < rows:
            one(c, start + i * across, across, a, a_start + i * a_row, a_row, a_column, b, b_start, b_row, inner, alpha)

    return column


_double, _single = _column(2), _column(1)


@compiled
def multiply(c, start, across, a, a_start, a_row, a_column, b, b_start, b_row, rows, inner, columns, alpha):
    """c <- alpha a b for flat arrays: a (rows, inner) with any strides, b (inner, columns) and c (rows, columns) row by row.

    Each begins at its `start`; c's rows lie `across` apart, b's `b_row`. The order of sums depends on the sizes alone.
    """
    lanes = VECTOR_BYTES // c.itemsize
    if columns < lanes:
        for i in range(rows):
            for j in range(columns):
                total = c.dtype.type(0)
                for k in range(inner):
                    total += a[a_start + i * a_row + k * a_column] * b[b_start + k * b_row + j]
                c[start + i * across + j] = alpha * total
        return
    j = 0
    while j < columns:
        if columns - j >= 2 * lanes:
            _double(c, start + j, across, a, a_start, a_row, a_column, b, b_start + j, b_row, rows, inner, alpha)
            j += 2 * lanes
        else:
            j = min(j, columns - lanes)  # the last vector may compute some columns again
            _single(c, start + j, across, a, a_start, a_row, a_column, b, b_start + j, b_row, rows, inner, alpha)
            j += lanes


@_intrinsic
def _turn_block(typing, c, start, across, a, a_start, a_across):
    """Write the transpose of a square block of a, as wide as a vector, to c; rows lie `across` and `a_across` apart."""

    def code(context, builder, signature, args):
        c, start, across, a, a_start, a_across = args
        number = context.get_value_type(signature.args[0].dtype)
        size = context.get_abi_sizeof(number)
        lanes = VECTOR_BYTES // size
        vector = ir.VectorType(number, lanes)

        def row(k: int, array: Any, begin: Any, apart: Any, r: int) -> Any:
            data = context.make_array(signature.args[k])(context, builder, array).data
            place = builder.add(begin, builder.mul(apart, ir.Constant(_INT, r)))
            return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())

        rows = [builder.load(row(3, a, a_start, a_across, r), align=size) for r in range(lanes)]
        half = lanes // 2
        while half:  # swap the blocks of this size beside the diagonal of each block of twice the size
            low = [x if not x & half else lanes + x - half for x in range(lanes)]
            high = [x + half if not x & half else lanes + x for x in range(lanes)]
            masks = [ir.Constant(ir.VectorType(_INT32, lanes), [ir.Constant(_INT32, x) for x in of]) for of in (low, high)]
            for r in range(lanes):
                if not r & half:
                    pair = rows[r], rows[r + half]
                    rows[r], rows[r + half] = (builder.shuffle_vector(*pair, mask) for mask in masks)
            half //= 2
        for r in range(lanes):
            builder.store(rows[r], row(0, c, start, across, r), align=size)
        return context.get_dummy_value()

    return types.void(c, types.intp, types.intp, a, types.intp, types.intp), code


@compiled
def transpose(c, a, start, rows, columns):
    """c (columns, rows) <- the transpose of a (rows, columns), which begins at `start`; flat arrays."""
    lanes = VECTOR_BYTES // c.itemsize
    if rows < lanes or columns < lanes:
        for i in range(rows):
            for j in range(columns):
                c[j * rows + i] = a[start + i * columns + j]
        return
    for block in range(0, rows, lanes):
        i = min(block, rows - lanes)  # the last block may turn some rows again
        for beside in range(0, columns, lanes):
            j = min(beside, columns - lanes)
            _turn_block(c, j * rows + i, rows, a, start + i * columns + j, columns)
