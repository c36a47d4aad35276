"""AFLite on arrays: score rows, filter, search tiny data. No files, no Dagster; the public names are the ones below."""

from aflite_assets.algorithm.filtering import filter_dataset
from aflite_assets.algorithm.optimum import BiasTable, Optimum, bias_table, exact_bias, optimal_subset
from aflite_assets.algorithm.records import FilterResult, FilterState, IterationRecord, Scores, StopReason
from aflite_assets.algorithm.scoring import score_rows
from aflite_assets.algorithm.selection import Removal, remove_highest
from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.algorithm.tally import ClassifierFit, Predict, Predictions
from aflite_assets.errors import InvalidInputError

__all__ = [
    "BiasTable",
    "ClassifierFit",
    "FilterResult",
    "FilterSettings",
    "FilterState",
    "InvalidInputError",
    "IterationRecord",
    "Optimum",
    "Predict",
    "Predictions",
    "Removal",
    "Scores",
    "StopReason",
    "bias_table",
    "exact_bias",
    "filter_dataset",
    "optimal_subset",
    "remove_highest",
    "score_rows",
]
