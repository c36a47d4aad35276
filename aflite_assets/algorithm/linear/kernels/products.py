"""Products of rows with any number of weight vectors, computed in tiles of four rows. Losses are in `activations.py`.

A tile multiplies four rows with up to six vectors. A tile keeps its sums in registers and reads every number only once.
A compiler's vectorised loop and a matrix product with three columns are both slower, because they read each number
several times. Tiles are vector code for numba. The rows of a tile may lie anywhere in the pool, so each row is passed
by address. `base` is the address of slot 0, `row_bytes` is the distance between slots in bytes, and `positions` are
slots. Weight vectors and sums are passed by address. Consecutive vectors lie `width` floats apart.
"""

from collections.abc import Sequence
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from aflite_assets.algorithm.linear.kernels.vector_code import (
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
    """Return the number of floats per register: 16 if the processor has 512-bit registers, otherwise 8."""
    return 16 if llvmlite.binding.get_host_cpu_features().get("avx512f", False) else 8


_LANES = _lanes()
_VECTOR = ir.VectorType(FLOAT, _LANES)


def dot_tile(outputs: int) -> Any:
    """Compile a function `f(rows, weights, stride, width, out, out_stride)` that computes the dot products of 4 rows
    with `outputs` vectors.

    `rows`: the addresses of four float32 rows. `weights`: the address of the first vector; consecutive vectors lie
    `stride` floats apart. `width`: the number of floats per row, a multiple of 16. The product of row r and vector c is
    written r + c * out_stride floats after the address `out`.
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
    """Compile a function `f(rows, residuals, residual_stride, width, sums, stride)` that adds residual x row to
    `outputs` running sums.

    `rows` and `width` are as in `dot_tile`. The residual of row r and sum c lies r + c * residual_stride floats after
    the address `residuals`. The sums start at the address `sums` and lie `stride` floats apart.
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
    """Return a vector of four numbers: for each of four vectors, the sum of its lanes."""
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


def _interleaved_sum(builder: Builder, first: Value, second: Value, *, step: int) -> Value:
    """Add lanes in pairs within every group of four lanes, for two vectors: lane i is added to lane i + 2. In the
    result, the lanes of the two vectors alternate by `step`.
    """
    low, high = [], []
    for lane in range(_LANES):
        quarter, inside = lane - lane % 4, lane % 4
        offset = _LANES if inside % (2 * step) >= step else 0
        source = inside // 2 if step == 1 else inside % 2
        low.append(quarter + source + offset)
        high.append(quarter + source + 2 + offset)
    return builder.fadd(shuffled(builder, first, second, low), shuffled(builder, first, second, high))


_dot_1, _dot_2, _dot_3, _dot_4, _dot_6 = (dot_tile(outputs) for outputs in (1, 2, 3, 4, 6))
_add_1, _add_2, _add_3, _add_4, _add_6 = (add_tile(outputs) for outputs in (1, 2, 3, 4, 6))


@njit(nogil=True, cache=True, inline="always")
def _four(base: int, row_bytes: int, positions: np.ndarray, at: int, last: int) -> tuple:
    """Return the addresses of four rows, starting at entry `at` of `positions`. Entry `last` is repeated if fewer than
    four rows remain.
    """
    return (
        np.uintp(base + positions[min(at, last)] * row_bytes),
        np.uintp(base + positions[min(at + 1, last)] * row_bytes),
        np.uintp(base + positions[min(at + 2, last)] * row_bytes),
        np.uintp(base + positions[min(at + 3, last)] * row_bytes),
    )


@njit(nogil=True, cache=True, inline="always")
def _at_once(left: int) -> int:
    """Return the number of outputs of the next tile: one of the sizes for which a tile is compiled."""
    return 6 if left >= 6 else min(left, 4)


@njit(nogil=True, cache=True)
def dot_products(
    base: int,
    row_bytes: int,
    positions: np.ndarray,
    start: int,
    stop: int,
    weight: int,
    outputs: int,
    width: int,
    scores: np.ndarray,
) -> None:
    """Compute scores[c, r] = row r . weight c for the rows positions[start:stop]. There must be at least one row.

    `scores`: float32, outputs x columns. The number of columns is at least the number of rows rounded up to a multiple
    of four. Entries after the last row are overwritten with the products of the last row.
    """
    last = stop - 1
    stride, address = scores.shape[1], scores.ctypes.data
    output = 0
    while output < outputs:
        taken = _at_once(outputs - output)
        here = np.uintp(weight + output * width * 4)
        for at in range(start, stop, TILE_ROWS):
            rows = _four(base, row_bytes, positions, at, last)
            out = np.uintp(address + (output * stride + at - start) * 4)
            if taken == 6:
                _dot_6(rows, here, width, width, out, stride)
            elif taken == 4:
                _dot_4(rows, here, width, width, out, stride)
            elif taken == 3:
                _dot_3(rows, here, width, width, out, stride)
            elif taken == 2:
                _dot_2(rows, here, width, width, out, stride)
            else:
                _dot_1(rows, here, width, width, out, stride)
        output += taken


@njit(nogil=True, cache=True)
def add_products(
    base: int,
    row_bytes: int,
    positions: np.ndarray,
    start: int,
    stop: int,
    gradient: int,
    outputs: int,
    width: int,
    residuals: np.ndarray,
) -> None:
    """Add residual[c, r] x row r to gradient c for the rows positions[start:stop]. There must be at least one row.

    `residuals` has the layout of `scores` in `dot_products`. Entries after the last row must be 0.
    """
    last = stop - 1
    stride, address = residuals.shape[1], residuals.ctypes.data
    output = 0
    while output < outputs:
        taken = _at_once(outputs - output)
        here = np.uintp(gradient + output * width * 4)
        for at in range(start, stop, TILE_ROWS):
            rows = _four(base, row_bytes, positions, at, last)
            source = np.uintp(address + (output * stride + at - start) * 4)
            if taken == 6:
                _add_6(rows, source, stride, width, here, width)
            elif taken == 4:
                _add_4(rows, source, stride, width, here, width)
            elif taken == 3:
                _add_3(rows, source, stride, width, here, width)
            elif taken == 2:
                _add_2(rows, source, stride, width, here, width)
            else:
                _add_1(rows, source, stride, width, here, width)
        output += taken
