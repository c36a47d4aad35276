"""AFLite on arrays: the package scores rows, filters rows, and searches tiny data exhaustively. The package reads no
files and does not depend on Dagster. Its public names are listed in `__all__`.

A module is imported only when one of its names is first used, because some modules load torch and numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from aflite_assets.errors import InvalidInputError

if TYPE_CHECKING:
    from aflite_assets.algorithm.chance import score_permuted
    from aflite_assets.algorithm.filtering import filter_dataset
    from aflite_assets.algorithm.optimum import BiasTable, Optimum, bias_table, exact_bias, optimal_subset
    from aflite_assets.algorithm.records import (
        ChanceScores,
        FilterResult,
        FilterState,
        IsLearnt,
        IterationRecord,
        Scores,
        StopReason,
    )
    from aflite_assets.algorithm.scoring import score_rows
    from aflite_assets.algorithm.selection import RemovedRows, remove_highest
    from aflite_assets.algorithm.settings import FilterSettings
    from aflite_assets.algorithm.tally import ClassifierFit, Predict, Predictions
    from aflite_assets.algorithm.vocabulary import RowWords

_MODULES = {
    "chance": ("score_permuted",),
    "filtering": ("filter_dataset",),
    "optimum": ("BiasTable", "Optimum", "bias_table", "exact_bias", "optimal_subset"),
    "records": ("ChanceScores", "FilterResult", "FilterState", "IsLearnt", "IterationRecord", "Scores", "StopReason"),
    "scoring": ("score_rows",),
    "selection": ("RemovedRows", "remove_highest"),
    "settings": ("FilterSettings",),
    "tally": ("ClassifierFit", "Predict", "Predictions"),
    "vocabulary": ("RowWords",),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "BiasTable",
    "ChanceScores",
    "ClassifierFit",
    "FilterResult",
    "FilterSettings",
    "FilterState",
    "InvalidInputError",
    "IsLearnt",
    "IterationRecord",
    "Optimum",
    "Predict",
    "Predictions",
    "RemovedRows",
    "RowWords",
    "Scores",
    "StopReason",
    "bias_table",
    "exact_bias",
    "filter_dataset",
    "optimal_subset",
    "remove_highest",
    "score_permuted",
    "score_rows",
]
