"""Products of some rows of the pool with any number of weight vectors, tile by tile. Called by compiled code alone.

`base` is the address of slot 0 and `row_bytes` the distance between slots; `positions` are slots; weights and sums
are given by their address and lie `width` floats apart.
"""

import numpy as np
from numba import njit

from aflite_assets.algorithm.linear.tiles import TILE_ROWS, add_tile, dot_tile

_dot_1, _dot_2, _dot_3, _dot_4, _dot_6 = (dot_tile(outputs) for outputs in (1, 2, 3, 4, 6))
_add_1, _add_2, _add_3, _add_4, _add_6 = (add_tile(outputs) for outputs in (1, 2, 3, 4, 6))


@njit(nogil=True, cache=True, inline="always")
def _four(base: int, row_bytes: int, positions: np.ndarray, at: int, last: int) -> tuple:
    """Addresses of four rows from entry `at` of `positions` on; entry `last` again where there are fewer."""
    return (
        np.uintp(base + positions[min(at, last)] * row_bytes),
        np.uintp(base + positions[min(at + 1, last)] * row_bytes),
        np.uintp(base + positions[min(at + 2, last)] * row_bytes),
        np.uintp(base + positions[min(at + 3, last)] * row_bytes),
    )


@njit(nogil=True, cache=True, inline="always")
def _at_once(left: int) -> int:
    """Outputs of the next tile: one of the sizes that are compiled."""
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
    """scores[c, r] = row r . weight c, for the rows positions[start:stop], of which there is at least one.

    `scores`: float32, outputs x at least the number of rows rounded up to a multiple of four; entries past the last
    row are overwritten with its products.
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
    """Add residual[c, r] x row r to gradient c, for the rows positions[start:stop], of which there is at least one.

    `residuals`: as the scores of `dot_products`; entries past the last row have to be 0.
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
