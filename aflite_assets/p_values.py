"""Adjustment of p-values for multiple tests (Holm), used by the scan and by the analysis."""

from collections.abc import Sequence

from aflite_assets.errors import InvalidInputError


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the p-values of a family of tests, adjusted with Holm's method, in the same order.

    The k-th smallest of m p-values is multiplied by m - k + 1. The products are limited to 1, and each product is
    raised to the largest of the products before it. Source: Holm (1979), "A simple sequentially rejective multiple test
    procedure", Scandinavian Journal of Statistics 6:65.
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise InvalidInputError(f"p-values must lie in [0, 1], but some are {[p for p in p_values if not 0 <= p <= 1]}")
    adjusted, least = [1.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = least
    return tuple(adjusted)
