"""Candidates of leaning as `analysis` reads them: where they point on test rows, and what was predicted there."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.leanings import CANDIDATES, TRAIN_SETS, LeaningInputs, TrainSetName
from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.scores.accuracy import match_predictions
from aflite_assets.analysis.train_sets import leaning_set
from aflite_assets.results import PublishedResult


def read_leanings(
    result: PublishedResult, cells: Sequence[Cell], tested: Sequence[TestSet]
) -> tuple[LeaningInputs, ...]:
    """Return every candidate of `leaning_sets` with what is known of it; `cells` are those of the whole grid."""
    found = CANDIDATES.from_arrow(pq.read_table(result.file("candidates.parquet")))
    pointed, sets = (pq.read_table(result.file(f"{name}.parquet")) for name in ("pointed", "train_sets"))
    by_row = [one for one in tested if one.unit == "row"]
    drawn = set(sets["candidate"].unique().to_pylist())
    return tuple(
        LeaningInputs(
            one,
            result.summary["evaluator"],
            _pointed(pointed, one.candidate, by_row),
            _predicted(one.candidate, cells, by_row),
            too_few_rows=one.candidate not in drawn,
        )
        for one in found
    )


def _pointed(table: pa.Table, candidate: int, tested: Sequence[TestSet]) -> Mapping[str, np.ndarray]:
    own = table.filter(pc.equal(table["candidate"], candidate))
    found = {}
    for one in tested:
        rows = own.filter(pc.equal(own["test_set"], one.name))
        places = pc.index_in(pa.array(one.row_ids), value_set=rows["row_id"].combine_chunks())
        if rows.num_rows and not places.null_count:
            found[one.name] = rows["points_to"].take(places).to_numpy()
    return found


def _predicted(
    candidate: int, cells: Sequence[Cell], tested: Sequence[TestSet]
) -> Mapping[tuple[TrainSetName, str], Sequence[np.ndarray]]:
    found: dict[tuple[TrainSetName, str], Sequence[np.ndarray]] = {}
    for name in TRAIN_SETS:
        trained = [one for one in cells if one.train_set == leaning_set(name, candidate)]
        for one in tested:
            matched = [match_predictions(cell, one) for cell in trained]
            found[name, one.name] = [each["predicted"].to_numpy() for each in matched if isinstance(each, pa.Table)]
    return found
