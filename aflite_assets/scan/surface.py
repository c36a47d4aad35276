"""Accuracy of one linear model that reads all artefacts. The model detects artefacts that predict the label only
together.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.scan.properties.records import Properties
from aflite_assets.scan.rules import Rule, carriers
from aflite_assets.scan.statistics.cuts import RowHalves
from aflite_assets.scan.statistics.effects import Z_95

MOST_COLUMNS = 1_500
"""Maximum number of columns that the model reads; properties of the most rows are chosen."""

MOST_RULES = 200
"""Maximum number of chosen rules that the model reads; the strongest rules are chosen."""

FEWEST_ROWS = 20
"""Minimum number of rows with a property, and of rows without it, for features of kind `surface`."""

_NUMBER_BINS = 8


@dataclass(frozen=True)
class SurfaceAccuracy:
    """Balanced accuracy in [0, 1] of a linear model that reads only artefacts, on held-out rows.

    `low`, `high`: a 95 % interval that accounts for units. `balanced`, `low` and `high` are medians over the random
    cuts. `chance`: 1 divided by the number of classes. `columns`: number of properties that the model reads.
    """

    balanced: float
    low: float
    high: float
    chance: float
    columns: int


def surface_accuracy(
    properties: Properties,
    labels: np.ndarray,
    units: np.ndarray,
    cuts: Sequence[RowHalves],
    rules: Sequence[Sequence[Rule]],
    *,
    fewest: int,
) -> SurfaceAccuracy | None:
    """Train a ridge classifier with balanced classes on one half of each cut, and test it on the other half.

    The classifier reads all artefacts, and the artefact `rules` that were chosen on the half used for training.
    `fewest`: minimum number of rows with a property. Returns None if no artefact varies among the rows.
    """
    rows = np.sort(np.concatenate([cuts[0].chosen_on, cuts[0].tested_on]))
    matrix = _matrix(properties, rows, fewest)
    if matrix.shape[1] == 0:
        return None
    found = []
    for cut, chosen in zip(cuts, rules, strict=True):
        whole = np.column_stack([matrix, *(carriers(rule, properties)[rows] for rule in chosen[:MOST_RULES])])
        train, test = np.searchsorted(rows, cut.chosen_on), np.searchsorted(rows, cut.tested_on)
        predicted = _predict(whole[train], labels[cut.chosen_on], whole[test])
        found.append(_balanced(predicted == labels[cut.tested_on], labels[cut.tested_on], units[cut.tested_on]))
    balanced, low, high = np.median(np.array(found), axis=0).tolist()
    return SurfaceAccuracy(balanced, low, high, 1 / len(np.unique(labels[rows])), matrix.shape[1])


def _matrix(properties: Properties, rows: np.ndarray, fewest: int) -> np.ndarray:
    """Return the artefacts of the rows as float32 columns. There is a column for each flag and for each bin of a
    number; bins have similar numbers of rows.
    """
    artefact = np.array([info.is_artefact for info in properties.flags.infos], dtype=bool)
    columns = [frequent_flags(properties, rows, artefact, fewest)]
    for number in properties.numbers:
        if number.info.is_artefact:
            columns.append(binned_numbers(number.codes[rows]))
    return np.concatenate(columns, axis=1)


def frequent_flags(properties: Properties, rows: np.ndarray, wanted: np.ndarray, fewest: int) -> np.ndarray:
    """Return the most frequent yes-or-no properties of the rows, float32 of shape (rows, properties).

    `wanted`: bool, True for the properties to return. `fewest`: minimum number of rows with and without a property. At
    most `MOST_COLUMNS` properties are returned.
    """
    present = properties.flags.present[rows]
    counts = np.asarray(present.sum(axis=0)).ravel()
    often = np.minimum(counts, len(rows) - counts)
    kept = np.flatnonzero(wanted & (often >= fewest))
    kept = kept[np.argsort(-often[kept], kind="stable")][:MOST_COLUMNS]
    return np.asarray(present[:, kept].toarray().astype(np.float32))


def binned_numbers(codes: np.ndarray) -> np.ndarray:
    """Return a float32 column for each bin of a number. The bins contain similar numbers of rows.

    `codes`: the small bin of each row, negative for a missing value. Small bins are combined into larger bins. A row
    with a missing value is 0 in all columns.
    """
    known = codes[codes >= 0]
    if not len(known):
        return np.zeros((len(codes), 0), dtype=np.float32)
    edges = np.unique(np.quantile(known, np.arange(1, _NUMBER_BINS) / _NUMBER_BINS, method="inverted_cdf"))
    bins = np.where(codes < 0, -1, np.searchsorted(edges, codes, side="left"))
    return np.asarray(bins[:, None] == np.arange(len(edges) + 1), dtype=np.float32)


def _predict(train: np.ndarray, labels: np.ndarray, test: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import RidgeClassifier

    if len(np.unique(labels)) < 2:
        return np.full(len(test), labels[0])
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    scale = np.where(deviation > 1e-6, deviation, 1.0)
    model = RidgeClassifier(alpha=0.02 * len(train), class_weight="balanced", solver="cholesky")
    model.fit((train - mean) / scale, labels)
    return np.asarray(model.predict((test - mean) / scale))


def _balanced(right: np.ndarray, labels: np.ndarray, units: np.ndarray) -> tuple[float, float, float]:
    """Return the share of correct predictions, averaged over classes, and the interval of this average."""
    shares, variance = [], 0.0
    for label in np.unique(labels):
        own = labels == label
        share = float(right[own].mean())
        _, codes = np.unique(units[own], return_inverse=True)
        of_units = np.bincount(codes, right[own] - share)
        variance += float((of_units**2).sum()) / own.sum() ** 2 + 0.25 / own.sum() ** 2
        shares.append(share)
    half = Z_95 * float(np.sqrt(variance)) / len(shares)
    mean = float(np.mean(shares))
    return mean, max(mean - half, 0.0), min(mean + half, 1.0)
