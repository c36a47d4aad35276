"""Products of four rows with up to six weight vectors, as vector code for numba. What to do with them: kernels.py.

A tile keeps its sums in registers and reads every number once, which neither a compiler's own vectorisation nor a
matrix product with three columns does. Addresses are passed instead of arrays: the rows of a tile lie anywhere in
the pool.
"""

from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

TILE_ROWS = 4

# One cache line: also the alignment that the addresses and the padding that the row length must have.
LINE_FLOATS = 16

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_FLOAT = ir.FloatType()
_INTO_LEVEL_2 = 2

Value = Any
Builder = Any


def _lanes() -> int:
    """Floats per register: 16 where the processor has 512-bit registers, else 8."""
    return 16 if llvmlite.binding.get_host_cpu_features().get("avx512f", False) else 8


_LANES = _lanes()
_VECTOR = ir.VectorType(_FLOAT, _LANES)


def dot_tile(outputs: int) -> Any:
    """`f(rows, upcoming, weights, stride, width, out, out_stride)`: the dot products of 4 rows with `outputs` vectors.

    `rows`, `upcoming`: four addresses of float32 rows; the latter are prefetched. `weights`: address of the first of
    `outputs` vectors that lie `stride` floats apart. `width`: floats per row, a multiple of LINE_FLOATS. The product
    of row r with vector c is written to float r + c * out_stride behind the address `out`.
    """

    @intrinsic
    def tile(
        typingctx: Any, rows: Any, upcoming: Any, weights: Any, stride: Any, width: Any, out: Any, out_stride: Any
    ) -> Any:
        four = types.UniTuple(types.uintp, TILE_ROWS)
        signature = types.void(four, four, types.uintp, types.intp, types.intp, types.uintp, types.intp)

        def generate(context: Any, builder: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
            rows, upcoming, weights, stride, width, out, out_stride = arguments
            x, ahead = _pointers(builder, rows), _pointers(builder, upcoming)
            w = _spaced(builder, weights, stride, outputs)

            def step(position: Value, sums: Sequence[Value]) -> list[Value]:
                columns = [_load(builder, pointer, position) for pointer in w]
                new = list(sums)
                for row in range(TILE_ROWS):
                    values = _load(builder, x[row], position)
                    _prefetch(builder, ahead[row], position)
                    for column in range(outputs):
                        at = column * TILE_ROWS + row
                        new[at] = _fused(builder, values, columns[column], sums[at])
                return new

            zero = ir.Constant(_VECTOR, [0.0] * _LANES)
            sums = _loop(builder, width, [zero] * (TILE_ROWS * outputs), step)
            for column, pointer in enumerate(_spaced(builder, out, out_stride, outputs)):
                four_sums = _horizontal(builder, sums[column * TILE_ROWS : (column + 1) * TILE_ROWS])
                builder.store(four_sums, builder.bitcast(pointer, four_sums.type.as_pointer()), align=4)
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
                [_broadcast(builder, builder.gep(pointer, [ir.Constant(_INT64, row)])) for row in range(TILE_ROWS)]
                for pointer in _spaced(builder, residuals, residual_stride, outputs)
            ]

            def step(position: Value, nothing: Sequence[Value]) -> list[Value]:
                totals = [_load(builder, pointer, position) for pointer in targets]
                for row in range(TILE_ROWS):
                    values = _load(builder, x[row], position)
                    for column in range(outputs):
                        totals[column] = _fused(builder, values, factors[column][row], totals[column])
                for pointer, total in zip(targets, totals, strict=True):
                    builder.store(total, _vector_pointer(builder, pointer, position), align=4)
                return []

            _loop(builder, width, [], step)
            return context.get_dummy_value()

        return signature, generate

    return tile


def _loop(
    builder: Builder, stop: Value, start: Sequence[Value], step: Callable[[Value, Sequence[Value]], list[Value]]
) -> list[Value]:
    """Go through positions 0, lanes, 2 x lanes ... below `stop` (at least one), carrying values along."""
    before = builder.block
    body, after = builder.append_basic_block("tile"), builder.append_basic_block("done")
    builder.branch(body)
    builder.position_at_end(body)
    position = builder.phi(_INT64)
    position.add_incoming(ir.Constant(_INT64, 0), before)
    carried = [builder.phi(value.type) for value in start]
    for phi, value in zip(carried, start, strict=True):
        phi.add_incoming(value, before)
    results = step(position, carried)
    following = builder.add(position, ir.Constant(_INT64, _LANES))
    position.add_incoming(following, body)
    for phi, value in zip(carried, results, strict=True):
        phi.add_incoming(value, body)
    builder.cbranch(builder.icmp_signed("<", following, stop), body, after)
    builder.position_at_end(after)
    return results


def _pointers(builder: Builder, addresses: Value) -> list[Value]:
    return [
        builder.inttoptr(builder.extract_value(addresses, number), _FLOAT.as_pointer()) for number in range(TILE_ROWS)
    ]


def _spaced(builder: Builder, address: Value, stride: Value, count: int) -> list[Value]:
    first = builder.inttoptr(address, _FLOAT.as_pointer())
    return [builder.gep(first, [builder.mul(stride, ir.Constant(_INT64, number))]) for number in range(count)]


def _vector_pointer(builder: Builder, pointer: Value, position: Value) -> Value:
    return builder.bitcast(builder.gep(pointer, [position]), _VECTOR.as_pointer())


def _load(builder: Builder, pointer: Value, position: Value) -> Value:
    return builder.load(_vector_pointer(builder, pointer, position), align=4)


def _broadcast(builder: Builder, pointer: Value) -> Value:
    empty = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(empty, builder.load(pointer), ir.Constant(_INT32, 0))
    return _shuffled(builder, first, first, [0] * _LANES)


def _fused(builder: Builder, one: Value, other: Value, addend: Value) -> Value:
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{_LANES}f32")
    return builder.call(function, [one, other, addend])


def _prefetch(builder: Builder, pointer: Value, position: Value) -> None:
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, _INT32, _INT32, _INT32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    address = builder.bitcast(builder.gep(pointer, [position]), byte)
    read, data = ir.Constant(_INT32, 0), ir.Constant(_INT32, 1)
    builder.call(function, [address, read, ir.Constant(_INT32, _INTO_LEVEL_2), data])


def _shuffled(builder: Builder, one: Value, other: Value, mask: Sequence[int]) -> Value:
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_INT32, len(mask)), list(mask)))


def _horizontal(builder: Builder, vectors: Sequence[Value]) -> Value:
    """The sums over each of four vectors, as a vector of four."""
    first, second, third, fourth = vectors
    pairs = _interleaved_sum(builder, first, second, step=1), _interleaved_sum(builder, third, fourth, step=1)
    total = _interleaved_sum(builder, *pairs, step=2)
    width = _LANES
    while width > TILE_ROWS:
        half = width // 2
        low = _shuffled(builder, total, total, range(half))
        total = builder.fadd(low, _shuffled(builder, total, total, range(half, width)))
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
    return builder.fadd(_shuffled(builder, one, other, low), _shuffled(builder, one, other, high))
