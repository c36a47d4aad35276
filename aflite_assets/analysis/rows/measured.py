"""Numbers about rows as tidy tables: means of data maps, and which answers evaluators picked."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.questions import PICKED
from aflite_assets.analysis.tidy import TidyTable

_Side = Literal["kept", "removed"]


@dataclass(frozen=True)
class DataMapMeans:
    """Means over the kept or the removed train rows of a data map, in [0, 1]; None if there are none.

    `rows` entered the filter. `seeds` and `epochs` are those of the training, 0 for a map `given` with the dataset.
    """

    representation: str
    evaluator: str
    given: bool
    seeds: int
    epochs: int
    side: _Side
    rows: int
    confidence: float | None
    variability: float | None
    correctness: float | None


DATA_MAPS = TidyTable("data_maps", DataMapMeans)


def data_map_means(data: BenchmarkData) -> Iterator[DataMapMeans]:
    """Yield the means over the kept rows of each data map, then over the removed ones."""
    for one in data.data_maps:
        for side in get_args(_Side):
            rows = one.table.filter(pc.equal(one.table["kept"], side == "kept"))
            values = (rows[name].to_numpy() for name in ("confidence", "variability", "correctness"))
            means = (float(np.mean(each)) if len(each) else None for each in values)
            where = (one.representation, one.evaluator, one.given, one.seeds, one.epochs)
            yield DataMapMeans(*where, side, rows.num_rows, *means)


@dataclass(frozen=True)
class AnswerPick:
    """Times that an evaluator picked the answer `row_id` of a question of the dataset, over its `trainings` on full."""

    row_id: int
    evaluator: str
    times: int
    trainings: int


ANSWER_PICKS = TidyTable("answer_picks", AnswerPick)


def answer_picks(data: BenchmarkData) -> Iterator[AnswerPick]:
    """Yield the answers that were picked, by evaluator; none if rows are no answers of questions."""
    asked = sorted(one.name for one in data.test_sets if one.unit == "question" and not one.challenge)
    counts: dict[int, Counter[str]] = {}
    trainings: Counter[tuple[str, str]] = Counter()
    set_of: dict[int, str] = {}
    for cell in data.cells:
        if cell.train_set != "full" or cell.predictions is None or PICKED not in cell.predictions.column_names:
            continue
        picks = cell.predictions.filter(pc.is_valid(cell.predictions[PICKED])).select(["test_set", PICKED])
        picks = picks.filter(pc.is_in(picks["test_set"], pa.array(asked, pa.string())))
        trainings.update((cell.evaluator, name) for name in picks["test_set"].unique().to_pylist())
        for name, row_id in zip(picks["test_set"].to_pylist(), picks[PICKED].to_pylist(), strict=True):
            counts.setdefault(row_id, Counter())[cell.evaluator] += 1
            set_of[row_id] = name
    for row_id, by_evaluator in counts.items():
        for evaluator, times in by_evaluator.items():
            yield AnswerPick(row_id, evaluator, times, trainings[evaluator, set_of[row_id]])
