"""Building blocks for the vector code in `products.py` and `activations.py`. This module contains no formulas of
AFLite. Numba cannot keep sums in registers across a loop, and cannot vectorise loops over 16 numbers. Loops that must
keep sums in registers are therefore written as LLVM instructions, in functions that work on addresses.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

INT32, INT64 = ir.IntType(32), ir.IntType(64)
FLOAT = ir.FloatType()

Value = Any
Builder = Any


def loop(
    builder: Builder,
    stop: Value,
    start: Sequence[Value],
    step: Callable[[Value, Sequence[Value]], list[Value]],
    *,
    stride: int = 1,
) -> list[Value]:
    """Emit a loop over the positions 0, stride, 2 x stride and so on below `stop`, which must be positive. Values are
    passed from one iteration to the next.
    """
    before = builder.block
    body, after = builder.append_basic_block("body"), builder.append_basic_block("after")
    builder.branch(body)
    builder.position_at_end(body)
    position = builder.phi(INT64)
    position.add_incoming(INT64(0), before)
    carried = [builder.phi(value.type) for value in start]
    for phi, value in zip(carried, start, strict=True):
        phi.add_incoming(value, before)
    results = step(position, carried)
    following = builder.add(position, INT64(stride))
    position.add_incoming(following, body)
    for phi, value in zip(carried, results, strict=True):
        phi.add_incoming(value, body)
    builder.cbranch(builder.icmp_signed("<", following, stop), body, after)
    builder.position_at_end(after)
    return results


def pointer(builder: Builder, address: Value, kind: ir.Type = FLOAT) -> Value:
    """Convert an address to a pointer."""
    return builder.inttoptr(address, kind.as_pointer())


def _vector_pointer(builder: Builder, start: Value, position: Value, vector: ir.VectorType) -> Value:
    """Return a pointer to the vector that begins `position` numbers after a pointer."""
    return builder.bitcast(builder.gep(start, [position]), vector.as_pointer())


def load(builder: Builder, start: Value, position: Value, vector: ir.VectorType) -> Value:
    """Read the vector that begins `position` numbers after a pointer."""
    return builder.load(_vector_pointer(builder, start, position, vector), align=4)


def store(builder: Builder, value: Value, start: Value, position: Value) -> None:
    """Write a vector to memory, `position` numbers after a pointer."""
    builder.store(value, _vector_pointer(builder, start, position, value.type), align=4)


def constant(value: float, vector: ir.VectorType) -> Value:
    """Return a constant vector with the same number in every lane."""
    return ir.Constant(vector, [value] * vector.count)


def broadcast(builder: Builder, number: Value, lanes: int) -> Value:
    """Return a vector that repeats one number in every lane."""
    empty = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    first = builder.insert_element(empty, number, INT32(0))
    return shuffled(builder, first, first, [0] * lanes)


def shuffled(builder: Builder, first: Value, second: Value, lanes: Sequence[int]) -> Value:
    """Return a vector with the selected lanes of two vectors. The lanes of the second vector are numbered after the
    lanes of the first vector.
    """
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(INT32, len(lanes)), list(lanes)))


def fused(builder: Builder, left: Value, right: Value, addend: Value) -> Value:
    """Emit a fused multiply-add: left x right + addend with a single rounding."""
    kind = ir.FunctionType(left.type, [left.type] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{left.type.count}f32")
    return builder.call(function, [left, right, addend])
