"""Questions and preferences in the source's own columns and layout, with the filter's outcome for each row."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.records import FilteredSet
from aflite_assets.data.examples import Examples
from aflite_assets.data.loading import AnsweredRows, answered_rows, content_fingerprint
from aflite_assets.errors import DataError
from aflite_assets.results import PublishedResult
from aflite_assets.specs.sources import ChoiceSource
from aflite_assets.stages.filtering.published_columns import free_name
from aflite_assets.stages.shared.source_places import source_of, source_rows_of

FILTERED, FULL = "own_layout_filtered", "own_layout_full"
"""Names of the configurations: source rows of which the filter kept all answers, and all source rows with scores."""


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Rows of a source of questions or preferences.

    `tables`: the rows with the columns of the source's files, by split of the source. `split` and `row`: for each row
    of the raw table, the row's split in the source and its number (from 0) in the split.
    """

    tables: Mapping[str, pa.Table]
    split: np.ndarray
    row: np.ndarray

    @classmethod
    def of(cls, raw_result: PublishedResult, raw: Examples) -> "OwnRows | None":
        """Return the rows of a source of questions or preferences, or None for other sources.

        Raises:
            DataError: the source's files are missing or were changed after the raw dataset was made.
        """
        source = source_of(raw_result)
        if not isinstance(source, ChoiceSource):
            return None
        if content_fingerprint(source) != raw_result.manifest["made_from"]["fields"]["contents"]["source"]:
            raise DataError(
                "the source's files changed since `raw_dataset` was computed; materialise `raw_dataset` again"
            )
        read: Mapping[str, AnsweredRows] = answered_rows(source)
        splits, numbers = source_rows_of(raw.row_ids, raw_result.summary["source_rows"])
        rows = [read[split].rows[number] for split, number in zip(splits, numbers.tolist(), strict=True)]
        tables = {split: one.table for split, one in read.items()}
        return cls(tables, np.array(splits, dtype=object), np.array(rows, dtype=np.int64))

    def configurations(
        self, raw: Examples, fate: Mapping[str, pa.Array], filtered: FilteredSet
    ) -> dict[str, dict[str, pa.Table]]:
        """Return the rows of the source by configuration and by split of the dataset.

        The filtered configuration has the rows for which the filter kept all answers. `fate`: the filter's columns by
        name, with one value per row of the raw table. If a source row has several answers, the numbers in `fate` are
        averaged over the answers. Source rows that are not in the raw table, such as ties, are left out.
        """
        kept_ids = filtered.rows.filter(filtered.rows["kept"])["row_id"].to_numpy()
        kept = np.isin(raw.row_ids, kept_ids)
        found: dict[str, dict[str, pa.Table]] = {FILTERED: {}, FULL: {}}
        of_set = np.array(raw.table["split"].to_pylist(), dtype=object)
        for name in dict.fromkeys(of_set.tolist()):
            mine = np.flatnonzero(of_set == name)
            parts = [self._part(mine[self.split[mine] == split], split, fate, kept) for split in self.tables]
            whole = pa.concat_tables([table for table, _ in parts if len(table)], promote_options="default")
            all_kept = np.concatenate([one for table, one in parts if len(table)])
            found[FULL][name] = whole
            if all_kept.any():
                found[FILTERED][name] = whole.filter(pa.array(all_kept)).drop_columns(whole.column_names[-len(fate) :])
        return found

    def _part(
        self, positions: np.ndarray, split: str, fate: Mapping[str, pa.Array], kept: np.ndarray
    ) -> tuple[pa.Table, np.ndarray]:
        """Return the source rows of the answers at `positions`, and a bool per row: True if all answers were kept."""
        rows, firsts, of_row = np.unique(self.row[positions], return_index=True, return_inverse=True)
        table = self.tables[split].replace_schema_metadata(None).take(pa.array(rows))
        taken = set(table.column_names)
        counts = np.bincount(of_row, minlength=len(rows))
        for name, values in fate.items():
            own = values.take(pa.array(positions))
            if pa.types.is_floating(own.type):
                numbers = np.asarray(own.to_numpy(zero_copy_only=False), dtype=np.float64)
                mean = np.bincount(of_row, numbers, minlength=len(rows)) / counts
                own = pa.array(mean, pa.float32(), mask=np.isnan(mean))
            else:
                own = own.take(pa.array(firsts))
            table = table.append_column(free_name(name, taken), own)
        all_kept = np.bincount(of_row, kept[positions], minlength=len(rows)) == counts
        return table, np.asarray(all_kept)


def write_own(table: pa.Table, path: Path) -> None:
    """Write rows of a source as a Parquet file that `datasets` opens with the source's own types."""
    import datasets

    features = datasets.Features.from_arrow_schema(table.schema)
    pq.write_table(table.cast(features.arrow_schema), path)
