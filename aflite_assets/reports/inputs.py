"""Inputs that a report needs in addition to the numbers of an analysis: rows of the dataset, matrices and published
tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.comparisons.versions import VersionComparison
from aflite_assets.analysis.inputs.cues import ClassBlocks
from aflite_assets.analysis.inputs.records import EvidenceTable
from aflite_assets.analysis.inputs.source_rows import SourceRows
from aflite_assets.analysis.rows.table import RowTables
from aflite_assets.data.examples import Examples


@dataclass(frozen=True, eq=False)
class ReportInputs:
    """Inputs of one report: rows, similarity matrices (by representation), tables, and the two feature columns to plot.

    `cue_rows`: ids of a few train rows with each cue and its class, by cue number. `counterexamples`: ids of a few rows
    with each cue but another class, by cue number. `carriers`: ids of all rows with each cue (int64), by cue number.
    `versions`: comparisons with earlier results. For a cleaned copy of a dataset, one comparison is with the original
    dataset.
    """

    examples: Examples
    rows: RowTables
    source: SourceRows
    scatter_features: tuple[int, int] | None
    similarities: Mapping[str, tuple[ClassBlocks, ...]]
    evidence: tuple[EvidenceTable, ...]
    cue_rows: Mapping[int, Sequence[int]] = field(default_factory=dict)
    counterexamples: Mapping[int, Sequence[int]] = field(default_factory=dict)
    carriers: Mapping[int, np.ndarray] = field(default_factory=dict)
    versions: tuple[VersionComparison, ...] = ()

    @property
    def from_files(self) -> bool:
        """Whether the rows are in the user's own files, of which `aflite fix` can write a cleaned copy."""
        if self.examples.modality != "image":
            return self.source.from_files
        return pc.count(pc.struct_field(self.examples.table["image"], "path")).as_py() > 0

    def rows_of(self, representation: str) -> pa.Table:
        """Return a table of the dataset's rows with their outcome in one filtering.

        The columns are `row_id`, `split`, `label` (a class number), `kept`, `removed_in_iteration` and
        `predictability`.
        """
        rows = self.rows.read(representation)
        labels = pc.index_in(rows["label"], value_set=pa.array(self.examples.label_names, pa.string()))
        shown = rows.select(["row_id", "split", "kept", "removed_in_iteration", "predictability"])
        return shown.append_column("label", labels.cast(pa.int64()))
