"""Vector code for numba that converts scores to probabilities, derivatives of the losses, or the highest-scoring class.

The formulas are in `losses.py`. A *line* holds the float32 scores of one output for a group of GROUP rows. The lines of
a group are contiguous in memory. The arguments of every function include the address of the first line and the number
of lines, at least 1. `intercepts` is the address of an array with one float32 per line. `seen` is the address of an
array with one byte per line. The byte is 0 if the training set has no row of the line's class. With two classes,
there are only scores of class 1, and class 0 has score 0. `zero` is True if there are two classes and class 0 was seen.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from aflite_assets.algorithm.linear.kernels.vector_code import (
    FLOAT,
    INT32,
    INT64,
    Builder,
    Value,
    broadcast,
    constant,
    fused,
    load,
    loop,
    pointer,
    store,
)

GROUP = 16
"""Number of rows that are processed together, which is the length of a line."""

_LINE, _NUMBERS = ir.VectorType(FLOAT, GROUP), ir.VectorType(INT32, GROUP)
_BYTE = ir.IntType(8)

_LOWEST = -3e38
# Cephes' expf: ln 2 in two parts, the polynomial of e ** r for |r| <= ln 2 / 2 from its highest power down.
_SMALLEST_EXPONENT = -87.0
_LOG2_E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.693359375, -2.12194440e-4
_SERIES = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
# Added to a float32 far smaller, it leaves the nearest integer in the lowest bits.
_ROUNDING = 12582912.0
_EXPONENT_BIAS, _MANTISSA_BITS = 127, 23


@intrinsic
def to_probabilities(typingctx: Any, scores: Any, outputs: Any, intercepts: Any, seen: Any, zero: Any) -> Any:
    """Replace scores (without intercepts) by the probabilities of their classes. The probability is 0 for unseen
    classes.
    """
    signature = types.void(types.uintp, types.intp, types.uintp, types.uintp, types.boolean)

    def generate(context: Any, builder: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
        _softmax(builder, lambda output, share: share, *arguments)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def to_logistic_slopes(
    typingctx: Any,
    scores: Any,
    outputs: Any,
    intercepts: Any,
    seen: Any,
    zero: Any,
    first: Any,
    codes: Any,
    count: Any,
) -> Any:
    """Replace scores (without intercepts) by the derivatives of the logistic loss, correct to 1e-7. The derivative is 0
    for unseen classes.

    `first`: the class of the first line. `codes`: the address of the classes of the rows, one int32 per row. The class
    of each row must have been seen. `count`: the number of rows. For entries after the first `count` rows, the
    derivatives are 0.
    """
    signature = types.void(
        types.uintp, types.intp, types.uintp, types.uintp, types.boolean, types.intp, types.uintp, types.intp
    )

    def generate(context: Any, builder: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
        *common, first, codes, count = arguments
        used, own = _used(builder, count), _codes(builder, codes)
        zero, unit = constant(0.0, _LINE), constant(1.0, _LINE)

        def slope(output: Value, share: Value) -> Value:
            label = builder.select(builder.icmp_signed("==", own, _number(builder, output, first)), unit, zero)
            return builder.select(used, builder.fsub(share, label), zero)

        _softmax(builder, slope, *common)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def to_hinge_slopes(
    typingctx: Any, scores: Any, outputs: Any, intercepts: Any, seen: Any, first: Any, codes: Any, count: Any
) -> Any:
    """Replace scores (without intercepts) by the derivatives of the squared hinge loss. The derivative is 0 for unseen
    classes.

    `first`, `codes` and `count` are as in `to_logistic_slopes`.
    """
    signature = types.void(types.uintp, types.intp, types.uintp, types.uintp, types.intp, types.uintp, types.intp)

    def generate(context: Any, builder: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
        scores, outputs, intercepts, seen, first, codes, count = arguments
        lines, shifts, classes = pointer(builder, scores), pointer(builder, intercepts), pointer(builder, seen, _BYTE)
        used, own = _used(builder, count), _codes(builder, codes)
        zero, unit = constant(0.0, _LINE), constant(1.0, _LINE)

        def slope(output: Value, _: Sequence[Value]) -> list[Value]:
            is_own = builder.icmp_signed("==", own, _number(builder, output, first))
            side = builder.select(is_own, unit, constant(-1.0, _LINE))
            short = builder.fsub(unit, builder.fmul(side, _score(builder, lines, shifts, output)))
            slopes = builder.fmul(builder.fmul(constant(-2.0, _LINE), side), _higher(builder, short, zero))
            slopes = builder.select(_flag(builder, classes, output), slopes, zero)
            _write(builder, builder.select(used, slopes, zero), lines, output)
            return []

        loop(builder, outputs, [], slope)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def highest_class(
    typingctx: Any, scores: Any, outputs: Any, intercepts: Any, seen: Any, zero: Any, first: Any, chosen: Any
) -> Any:
    """Write the highest-scoring class of each row to the address `chosen`, as int32. Among equal scores, the first
    class is chosen.

    `scores` do not include the intercepts. `first` is the class of the first line.
    """
    signature = types.void(types.uintp, types.intp, types.uintp, types.uintp, types.boolean, types.intp, types.uintp)

    def generate(context: Any, builder: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
        scores, outputs, intercepts, seen, zero, first, chosen = arguments
        lines, shifts, classes = pointer(builder, scores), pointer(builder, intercepts), pointer(builder, seen, _BYTE)
        none = constant(float("-inf"), _LINE)

        def compare(output: Value, best: Sequence[Value]) -> list[Value]:
            highest, numbers = best
            score = builder.select(_flag(builder, classes, output), _score(builder, lines, shifts, output), none)
            better = builder.fcmp_ordered(">", score, highest)
            number = _number(builder, output, first)
            return [builder.select(better, score, highest), builder.select(better, number, numbers)]

        start = [builder.select(zero, constant(0.0, _LINE), none), ir.Constant(_NUMBERS, [0] * GROUP)]
        _, numbers = loop(builder, outputs, start, compare)
        store(builder, numbers, pointer(builder, chosen, INT32), INT64(0))
        return context.get_dummy_value()

    return signature, generate


def _softmax(
    builder: Builder,
    finish: Callable[[Value, Value], Value],
    scores: Value,
    outputs: Value,
    intercepts: Value,
    seen: Value,
    zero: Value,
) -> None:
    """Compute the probabilities of each line, and overwrite the line with `finish(line number, probabilities)`."""
    lines, shifts, classes = pointer(builder, scores), pointer(builder, intercepts), pointer(builder, seen, _BYTE)
    lowest, none = constant(_LOWEST, _LINE), constant(0.0, _LINE)

    def shift(output: Value, highest: Sequence[Value]) -> list[Value]:
        score = builder.select(_flag(builder, classes, output), _score(builder, lines, shifts, output), lowest)
        _write(builder, score, lines, output)
        return [_higher(builder, score, highest[0])]

    def exponentiate(output: Value, total: Sequence[Value]) -> list[Value]:
        power = _exponential(builder, builder.fsub(_read(builder, lines, output), highest))
        power = builder.select(_flag(builder, classes, output), power, none)
        _write(builder, power, lines, output)
        return [builder.fadd(total[0], power)]

    def divide(output: Value, _: Sequence[Value]) -> list[Value]:
        _write(builder, finish(output, builder.fmul(_read(builder, lines, output), share)), lines, output)
        return []

    (highest,) = loop(builder, outputs, [builder.select(zero, none, lowest)], shift)
    apart = builder.select(zero, _exponential(builder, builder.fsub(none, highest)), none)
    (total,) = loop(builder, outputs, [apart], exponentiate)
    share = builder.fdiv(constant(1.0, _LINE), total)
    loop(builder, outputs, [], divide)


def _used(builder: Builder, count: Value) -> Value:
    """Return a mask that is True for the rows before `count`."""
    rows = ir.Constant(_NUMBERS, list(range(GROUP)))
    return builder.icmp_signed("<", rows, broadcast(builder, builder.trunc(count, INT32), GROUP))


def _codes(builder: Builder, codes: Value) -> Value:
    return load(builder, pointer(builder, codes, INT32), INT64(0), _NUMBERS)


def _number(builder: Builder, output: Value, first: Value) -> Value:
    """Return a vector that repeats the class number of a line for every row."""
    return broadcast(builder, builder.trunc(builder.add(output, first), INT32), GROUP)


def _read(builder: Builder, lines: Value, output: Value) -> Value:
    return load(builder, lines, builder.mul(output, INT64(GROUP)), _LINE)


def _write(builder: Builder, line: Value, lines: Value, output: Value) -> None:
    store(builder, line, lines, builder.mul(output, INT64(GROUP)))


def _score(builder: Builder, lines: Value, shifts: Value, output: Value) -> Value:
    intercept = builder.load(builder.gep(shifts, [output]))
    return builder.fadd(_read(builder, lines, output), broadcast(builder, intercept, GROUP))


def _flag(builder: Builder, flags: Value, number: Value) -> Value:
    return builder.icmp_unsigned("!=", builder.load(builder.gep(flags, [number])), _BYTE(0))


def _higher(builder: Builder, first: Value, second: Value) -> Value:
    """Return the higher of two numbers in each lane. A NaN in `first` is returned, so that the error is not hidden."""
    return builder.select(builder.fcmp_ordered("<", first, second), second, first)


def _exponential(builder: Builder, value: Value) -> Value:
    """Emit code for e ** value in float32 precision, for values of at most 0. NaN stays NaN."""
    value = _higher(builder, value, constant(_SMALLEST_EXPONENT, _LINE))
    shifted = fused(builder, value, constant(_LOG2_E, _LINE), constant(_ROUNDING, _LINE))
    power = builder.fsub(shifted, constant(_ROUNDING, _LINE))
    rest = fused(builder, power, constant(-_LN2_HIGH, _LINE), value)
    rest = fused(builder, power, constant(-_LN2_LOW, _LINE), rest)
    series = constant(_SERIES[0], _LINE)
    for coefficient in _SERIES[1:]:
        series = fused(builder, series, rest, constant(coefficient, _LINE))
    series = builder.fadd(fused(builder, builder.fmul(series, rest), rest, rest), constant(1.0, _LINE))
    exponent = builder.add(builder.bitcast(shifted, _NUMBERS), ir.Constant(_NUMBERS, [_EXPONENT_BIAS] * GROUP))
    scale = builder.shl(exponent, ir.Constant(_NUMBERS, [_MANTISSA_BITS] * GROUP))
    return builder.fmul(series, builder.bitcast(scale, _LINE))
