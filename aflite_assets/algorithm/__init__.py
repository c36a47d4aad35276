"""AFLite on arrays: the package scores rows, filters rows, and searches tiny data exhaustively. The package reads no
files and does not depend on Dagster. Its public names are listed in `__all__`.

A module is imported only when one of its names is first used, because some modules load torch and numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING

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
    from aflite_assets.errors import InvalidInputError

_MODULES = {
    "BiasTable": "aflite_assets.algorithm.optimum",
    "ChanceScores": "aflite_assets.algorithm.records",
    "ClassifierFit": "aflite_assets.algorithm.tally",
    "FilterResult": "aflite_assets.algorithm.records",
    "FilterSettings": "aflite_assets.algorithm.settings",
    "FilterState": "aflite_assets.algorithm.records",
    "InvalidInputError": "aflite_assets.errors",
    "IsLearnt": "aflite_assets.algorithm.records",
    "IterationRecord": "aflite_assets.algorithm.records",
    "Optimum": "aflite_assets.algorithm.optimum",
    "Predict": "aflite_assets.algorithm.tally",
    "Predictions": "aflite_assets.algorithm.tally",
    "RemovedRows": "aflite_assets.algorithm.selection",
    "RowWords": "aflite_assets.algorithm.vocabulary",
    "Scores": "aflite_assets.algorithm.records",
    "StopReason": "aflite_assets.algorithm.records",
    "bias_table": "aflite_assets.algorithm.optimum",
    "exact_bias": "aflite_assets.algorithm.optimum",
    "filter_dataset": "aflite_assets.algorithm.filtering",
    "optimal_subset": "aflite_assets.algorithm.optimum",
    "remove_highest": "aflite_assets.algorithm.selection",
    "score_permuted": "aflite_assets.algorithm.chance",
    "score_rows": "aflite_assets.algorithm.scoring",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


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
