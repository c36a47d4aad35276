"""AFOpt on tiny inputs: an exhaustive search for the subset with the least representation bias. The bias of every
subset is exact.

Let training sets of a fixed size be drawn uniformly at random from a set of rows S. For a training set T and another
row i of S, let `right(T, i)` be 1 if the classifier trained on T predicts the label of row i, and 0 otherwise. By
equations 2 to 5 of the ICML 2020 paper, the representation bias of S is the mean of `right(T, i)` over all pairs (T,
i). All rows have the same weight, because each row is outside the same number of training sets T. All training sets T
have the same weight, because each T leaves out the same number of rows. The value `right(T, i)` does not depend on S.
Each T is therefore fitted only once, and each correct prediction is counted for the set T + i. The bias of S follows
from the sum of the counts over all subsets of S.

Among all subsets of at least n rows, only the subsets of exactly n rows need to be searched. For a proof, remove one
row from S in every possible way. Each pair (T, i) is part of the same number of these smaller subsets. The bias of S is
therefore the mean of the biases of these subsets, and at least one subset has no higher bias than S. The proof requires
that at least one row can be held out, that is, n > train_size. A larger subset can have the least bias only if all of
its subsets of n rows have the least bias too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from aflite_assets.algorithm.inputs import Inputs, check_filter_sizes, check_inputs, check_row_numbers, check_train_size
from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.algorithm.tally import ClassifierFit, tally_partitions
from aflite_assets.errors import InvalidInputError

_MEMORY_LIMIT = 2**30
_MOST_FITS = 20_000
_MOST_SUBSETS = 2**20


@dataclass(frozen=True)
class BiasTable:
    """Numbers of correct predictions for every subset of the rows. The function `bias_table` computes the table, and
    `exact_bias` uses it.

    `n_rows`: number of rows in the data. `train_size`: number of rows that each classifier was trained on. `correct`:
    int64, of length 2**n_rows. For each subset, `correct` is the number of pairs (training set in the subset, other row
    of the subset) with a correct prediction. In the binary form of a subset's position, bit n_rows - 1 - i is set if
    the subset contains row i.
    """

    n_rows: int
    train_size: int
    correct: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class Optimum:
    """The subset with the least representation bias.

    `kept_rows`: int64, ascending. `representation_bias`: the exact bias of the subset, in [0, 1]. `subsets_searched`:
    number of compared subsets, which are all subsets of the target size. `ties`: number of subsets that have the least
    bias, including `kept_rows`. If several subsets have the least bias, `kept_rows` is the first of them in the order
    of row numbers. `table`: the counts that `exact_bias` needs.
    """

    kept_rows: np.ndarray
    representation_bias: float
    subsets_searched: int
    ties: int
    table: BiasTable


def optimal_subset(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    target_size: int,
    train_size: int,
    fit: ClassifierFit | None = None,
    inverse_regularization: float = 1.0,
    most_fits: int = _MOST_FITS,
    most_subsets: int = _MOST_SUBSETS,
) -> Optimum:
    """Return the rows with the least representation bias, by exhaustive search (AFOpt, equation 1, ICML 2020).

    Exactly `target_size` rows are kept, because no larger subset has less bias (the docstring of this module gives the
    proof).

    Args:
        features: rows x width, finite numbers of at most 64 bits.
        labels: one integer of 0 or more per row, at least two classes.
        target_size: number of rows to keep; train_size < target_size <= number of rows.
        train_size: number of rows that each classifier is trained on. The number of fits is the binomial coefficient of
            the number of rows and `train_size`.
        fit: a function that replaces the classifier, as in `score_rows`. The function is called once per training set,
            with rows in ascending order, and must be deterministic. If `fit` is None, logistic regression is fitted to
            its optimum.
        inverse_regularization: scikit-learn's C, used by the logistic regression.
        most_fits: maximum number of fits; more fits raise an error. A logistic regression takes some milliseconds.
        most_subsets: maximum number of subsets, 2**rows; more subsets raise an error. Each subset takes 8 bytes.

    Raises:
        InvalidInputError: an argument is not as described, or a limit is exceeded. The error is raised before any
            fitting. Only an error in the results of `fit` is raised later.
    """
    settings = FilterSettings(
        target_size=target_size, train_size=train_size, slice_size=1, inverse_regularization=inverse_regularization
    )
    inputs = check_inputs(features, labels, groups=None, score_only=None, memory_limit=_MEMORY_LIMIT)
    check_filter_sizes(inputs, settings)
    return _least(_table(inputs, settings, fit, most_fits, most_subsets), settings.target_size)


def bias_table(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    train_size: int,
    fit: ClassifierFit | None = None,
    inverse_regularization: float = 1.0,
    most_fits: int = _MOST_FITS,
    most_subsets: int = _MOST_SUBSETS,
) -> BiasTable:
    """Return the table that `exact_bias` needs, without a search for the optimum. Arguments and errors are as in
    `optimal_subset`.
    """
    settings = FilterSettings(
        target_size=1, train_size=train_size, slice_size=1, inverse_regularization=inverse_regularization
    )
    inputs = check_inputs(features, labels, groups=None, score_only=None, memory_limit=_MEMORY_LIMIT)
    check_train_size(inputs, settings)
    return _table(inputs, settings, fit, most_fits, most_subsets)


def exact_bias(table: BiasTable, rows: Sequence[int] | np.ndarray) -> float:
    """Return the representation bias of the subset `rows`, in [0, 1]. The result is the bias in equation 5 of ICML
    2020, over all training sets in the subset.

    The bias is the mean of the rows' predictability. The predictability of a row is the share of correct predictions
    over all training sets that do not contain the row. Each training set has `table.train_size` rows of the subset.

    Args:
        table: the result of `bias_table`, or `Optimum.table`.
        rows: more than `table.train_size` row numbers, each once, in any order.

    Raises:
        InvalidInputError: `rows` is not as described.
    """
    chosen = check_row_numbers("`rows`", rows, table.n_rows)
    if len(chosen) <= table.train_size:
        raise InvalidInputError(
            f"`rows` contains {len(chosen)} rows, but `train_size` is {table.train_size}; give more rows than "
            "`train_size`, so that some rows can be held out"
        )
    return int(table.correct[_bits(table.n_rows)[chosen].sum()]) / _pairs(len(chosen), table.train_size)


def _table(
    inputs: Inputs, settings: FilterSettings, fit: ClassifierFit | None, most_fits: int, most_subsets: int
) -> BiasTable:
    rows, train_size = len(inputs.labels), settings.train_size
    _check_limits(rows, train_size, most_fits=most_fits, most_subsets=most_subsets)
    if fit is None:
        from aflite_assets.algorithm.reference import reference_fits  # loads scikit-learn

        fits = reference_fits(settings)
    else:
        fits = (fit,)
    bits, everything = _bits(rows), np.arange(rows)
    correct = np.zeros(2**rows, dtype=np.int64)
    for trained in combinations(range(rows), train_size):
        subset = np.array(trained)
        tally = tally_partitions(inputs, [subset], pool=everything, fits=fits, memory_limit=_MEMORY_LIMIT)
        correct[bits[subset].sum() + bits[tally.correct > 0]] += 1
    _add_subsets(correct)
    return BiasTable(rows, train_size, correct)


def _add_subsets(counts: np.ndarray) -> None:
    """Replace the count of each set, in place, by the sum of the counts of its subsets. The rows (bits) are processed
    one by one.
    """
    width = 1
    while width < len(counts):
        halves = counts.reshape(-1, 2, width)
        halves[:, 1] += halves[:, 0]
        width *= 2


def _least(table: BiasTable, size: int) -> Optimum:
    subsets = np.flatnonzero(np.bitwise_count(np.arange(len(table.correct))) == size)
    counts = table.correct[subsets]
    # Subsets of one size have equally many pairs: their counts, which are whole numbers, rank them without rounding.
    best = subsets[counts == counts.min()]
    # Row 0 is the highest bit: of sets of one size the greatest position is the first in the order of row numbers.
    kept = np.flatnonzero(best.max() & _bits(table.n_rows))
    return Optimum(kept, exact_bias(table, kept), len(subsets), len(best), table)


def _bits(rows: int) -> np.ndarray:
    return 2 ** np.arange(rows - 1, -1, -1)


def _pairs(size: int, train_size: int) -> int:
    """Return the number of pairs (training set, other row) in a subset of `size` rows."""
    return comb(size, train_size) * (size - train_size)


def _check_limits(rows: int, train_size: int, *, most_fits: int, most_subsets: int) -> None:
    if 2**rows > most_subsets:
        raise InvalidInputError(
            f"{rows} rows have 2**{rows} subsets, but `most_subsets` is {most_subsets}; give fewer rows, or raise "
            "`most_subsets` (each subset takes 8 bytes)"
        )
    if comb(rows, train_size) > most_fits:
        raise InvalidInputError(
            f"{rows} rows have {comb(rows, train_size)} training sets of `train_size` {train_size}, but `most_fits` "
            f"is {most_fits}; give fewer rows, lower `train_size`, or raise `most_fits`"
        )
