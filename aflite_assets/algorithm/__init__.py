"""AFLite on arrays: score rows, filter a dataset. No files, no Dagster; the public names are the ones below."""

from aflite_assets.algorithm.classifiers import ClassifierFit, Predict, Predictions
from aflite_assets.algorithm.filtering import filter_dataset
from aflite_assets.algorithm.records import FilterResult, IterationRecord, Scores, StopReason
from aflite_assets.algorithm.scoring import score_rows
from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.algorithm.state import FilterState
from aflite_assets.errors import InvalidInputError

__all__ = [
    "ClassifierFit",
    "FilterResult",
    "FilterSettings",
    "FilterState",
    "InvalidInputError",
    "IterationRecord",
    "Predict",
    "Predictions",
    "Scores",
    "StopReason",
    "filter_dataset",
    "score_rows",
]
