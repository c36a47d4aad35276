"""Products of four rows with up to six weight vectors, as vector code for numba. What to do with them: kernels.py.

A tile keeps its sums in registers and reads every number once, which neither a compiler's own vectorisation nor a
matrix product with three columns does. Addresses are passed instead of arrays: the rows of a tile lie anywhere in
the pool.
"""

from collections.abc import Sequence
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from aflite_assets.algorithm.linear.vector_code import (
    FLOAT,
    INT64,
    Builder,
    Value,
    broadcast,
    constant,
    fused,
    load,
    loop,
    pointer,
    shuffled,
    store,
)

TILE_ROWS = 4


def _lanes() -> int:
    """Floats per register: 16 where the processor has 512-bit registers, else 8."""
    return 16 if llvmlite.binding.get_host_cpu_features().get("avx512f", False) else 8


_LANES = _lanes()
_VECTOR = ir.VectorType(FLOAT, _LANES)


def dot_tile(outputs: int) -> Any:
    """`f(rows, weights, stride, width, out, out_stride)`: the dot products of 4 rows with `outputs` vectors.

    `rows`: four addresses of float32 rows. `weights`: address of the first of `outputs` vectors that lie `stride`
    floats apart. `width`: floats per row, a multiple of 16. The product of row r with vector c is written to float
    r + c * out_stride behind the address `out`.
    """

    @intrinsic
    def tile(typingctx: Any, rows: Any, weights: Any, stride: Any, width: Any, out: Any, out_stride: Any) -> Any:
        four = types.UniTuple(types.uintp, TILE_ROWS)
        signature = types.void(four, types.uintp, types.intp, types.intp, types.uintp, types.intp)

        def generate(context: Any, builder: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
            rows, weights, stride, width, out, out_stride = arguments
            x, w = _pointers(builder, rows), _spaced(builder, weights, stride, outputs)

            def step(position: Value, sums: Sequence[Value]) -> list[Value]:
                columns = [load(builder, column, position, _VECTOR) for column in w]
                new = list(sums)
                for row in range(TILE_ROWS):
                    values = load(builder, x[row], position, _VECTOR)
                    for column in range(outputs):
                        at = column * TILE_ROWS + row
                        new[at] = fused(builder, values, columns[column], sums[at])
                return new

            sums = loop(builder, width, [constant(0.0, _VECTOR)] * (TILE_ROWS * outputs), step, stride=_LANES)
            for column, target in enumerate(_spaced(builder, out, out_stride, outputs)):
                four_sums = _horizontal(builder, sums[column * TILE_ROWS : (column + 1) * TILE_ROWS])
                store(builder, four_sums, target, INT64(0))
            return context.get_dummy_value()

        return signature, generate

    return tile


def add_tile(outputs: int) -> Any:
    """`f(rows, residuals, residual_stride, width, sums, stride)`: add residual x row to `outputs` running sums.

    `rows` and `width` as in `dot_tile`; the residual of row r and sum c is float r + c * residual_stride behind the
    address `residuals`; the sums start at the address `sums`, `stride` floats apart.
    """

    @intrinsic
    def tile(
        typingctx: Any, rows: Any, residuals: Any, residual_stride: Any, width: Any, sums: Any, stride: Any
    ) -> Any:
        four = types.UniTuple(types.uintp, TILE_ROWS)
        signature = types.void(four, types.uintp, types.intp, types.intp, types.uintp, types.intp)

        def generate(context: Any, builder: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
            rows, residuals, residual_stride, width, sums, stride = arguments
            x = _pointers(builder, rows)
            targets = _spaced(builder, sums, stride, outputs)
            factors = [
                [broadcast(builder, builder.load(builder.gep(start, [INT64(row)])), _LANES) for row in range(TILE_ROWS)]
                for start in _spaced(builder, residuals, residual_stride, outputs)
            ]

            def step(position: Value, nothing: Sequence[Value]) -> list[Value]:
                totals = [load(builder, target, position, _VECTOR) for target in targets]
                for row in range(TILE_ROWS):
                    values = load(builder, x[row], position, _VECTOR)
                    for column in range(outputs):
                        totals[column] = fused(builder, values, factors[column][row], totals[column])
                for target, total in zip(targets, totals, strict=True):
                    store(builder, total, target, position)
                return []

            loop(builder, width, [], step, stride=_LANES)
            return context.get_dummy_value()

        return signature, generate

    return tile


def _pointers(builder: Builder, addresses: Value) -> list[Value]:
    return [pointer(builder, builder.extract_value(addresses, number)) for number in range(TILE_ROWS)]


def _spaced(builder: Builder, address: Value, stride: Value, count: int) -> list[Value]:
    first = pointer(builder, address)
    return [builder.gep(first, [builder.mul(stride, INT64(number))]) for number in range(count)]


def _horizontal(builder: Builder, vectors: Sequence[Value]) -> Value:
    """The sums over each of four vectors, as a vector of four."""
    first, second, third, fourth = vectors
    pairs = _interleaved_sum(builder, first, second, step=1), _interleaved_sum(builder, third, fourth, step=1)
    total = _interleaved_sum(builder, *pairs, step=2)
    width = _LANES
    while width > TILE_ROWS:
        half = width // 2
        low = shuffled(builder, total, total, range(half))
        total = builder.fadd(low, shuffled(builder, total, total, range(half, width)))
        width = half
    return total


def _interleaved_sum(builder: Builder, one: Value, other: Value, *, step: int) -> Value:
    """In every quarter of four lanes, add the halves of each vector; lanes of `one` and `other` alternate by `step`."""
    low, high = [], []
    for lane in range(_LANES):
        quarter, inside = lane - lane % 4, lane % 4
        from_other = _LANES if inside % (2 * step) >= step else 0
        source = inside // 2 if step == 1 else inside % 2
        low.append(quarter + source + from_other)
        high.append(quarter + source + 2 + from_other)
    return builder.fadd(shuffled(builder, one, other, low), shuffled(builder, one, other, high))
