"""Tables in long form, a row per number, for those who compute with them: types of the columns, and Arrow."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.tables.table import Table

Record = Mapping[str, Any]

_COUNTS = (
    "seeds", "unfinished_seeds", "test_rows", "top", "filtered_seeds", "random_seeds", "groups", "iteration", "rows",
    "forgettable", "taken", "never_learnt", "first_rows", "second_rows", "shared", "removed", "held_back_rows", "right",
    "planted_rows", "removed_rows", "removed_planted_rows", "train_rows", "repeats", "seeds_against",
)  # fmt: skip
_NUMBERS = (
    "accuracy", "seeds_deviation", "effective_rows", "interval_low", "interval_high", "difference", "low", "high",
    "p_value", "degrees_of_freedom", "effective_groups", "adjusted_p", "most_frequent_class", "precision",
    "precision_by_chance", "recall", "recall_by_chance", "value", "deviation", "share", "largest_class", "mean",
    "jaccard", "jaccard_by_chance", "threshold", "lowest", "highest", "accuracy_against",
)  # fmt: skip
_TRUTHS = ("counts_training", "elbow", "chosen")
_TYPES = dict.fromkeys(_COUNTS, pa.int64()) | dict.fromkeys(_NUMBERS, pa.float64()) | dict.fromkeys(_TRUTHS, pa.bool_())
"""Of columns by their names, the same in every table; the others are text."""


@dataclass(frozen=True)
class LongForm:
    """A table's name below `tables/`, its columns in their order, and where its rows come from.

    `source` gives records, or tables whose cells name this one as their `form`. Accuracies and bounds of these are in
    [0, 1], differences and theirs in points. What a record has beside the columns is left out, what it lacks is null.
    """

    name: str
    columns: tuple[str, ...]
    source: Callable[[BenchmarkData], Iterable[Record] | tuple[Table, ...]]

    def records(self, data: BenchmarkData) -> list[dict[str, Any]]:
        """The rows.

        Raises:
            DataError: predictions do not fit their test sets.
        """
        return [
            {name: record.get(name) for name in self.columns}
            for one in self.source(data)
            for record in (one.records(self.name) if isinstance(one, Table) else [one])
        ]

    def table(self, data: BenchmarkData) -> pa.Table:
        """The rows as Arrow; the columns are there whatever was run, without rows if need be."""
        schema = pa.schema([(name, _TYPES.get(name, pa.string())) for name in self.columns])
        return pa.Table.from_pylist(self.records(data), schema)
