"""Every table of the report in long form, a row per number, for those who compute with them: Arrow, no text layout.

Accuracies and bounds are in [0, 1], differences in points. Every table is there whatever was run, without rows if need
be.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

import pyarrow as pa

from aflite_assets.reports.inputs.learning_curve import curve_rows
from aflite_assets.reports.inputs.published_tables import published_tables
from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.scores.accuracy import Score
from aflite_assets.reports.tables.in_distribution import InDistributionTable, in_distribution_tables
from aflite_assets.reports.tables.main_tables import ACCURACY, ChallengePart, challenge_table
from aflite_assets.reports.tables.paired import paired_differences
from aflite_assets.reports.tables.top_k import TopDifference, top_k_tables
from aflite_assets.reports.tables.transfer import TransferGain, TransferScores, transfer_tables
from aflite_assets.reports.tables.zero_shot import ZeroShotColumn, zero_shot_tables

_Record = dict[str, Any]

_TEXT, _COUNT, _NUMBER = pa.string(), pa.int64(), pa.float64()
_SCORE = {
    "status": _TEXT, "reason": _TEXT, "accuracy": _NUMBER, "seeds_deviation": _NUMBER, "seeds": _COUNT,
    "unfinished_seeds": _COUNT, "test_rows": _COUNT, "effective_rows": _NUMBER, "interval_low": _NUMBER,
    "interval_high": _NUMBER,
}  # fmt: skip
_CELL = {"representation": _TEXT, "evaluator": _TEXT, "train_set": _TEXT}
_PART = {"test_set": _TEXT, "column": _TEXT, "category": _TEXT, "label": _TEXT}
_TESTED = {"test_set": _TEXT, "evaluator": _TEXT, "train_set": _TEXT, "representation": _TEXT, "tested_on": _TEXT}
_SCHEMAS = {
    "accuracy": {**_CELL, "test_set": _TEXT, "tested_on": _TEXT, **_SCORE},
    "challenge_sets": {**_CELL, **_PART, **_SCORE},
    "zero_shot": {**_CELL, **_PART, **_SCORE},
    "zero_shot_differences": {**_CELL, "against": _TEXT, **_PART, "difference": _NUMBER},
    "in_distribution": {**_TESTED, **_SCORE, "difference": _NUMBER},
    "top_5": {**_TESTED, "top": _COUNT, **_SCORE, "difference": _NUMBER},
    "paired": {
        "representation": _TEXT, "evaluator": _TEXT, "train_set": _TEXT, "against": _TEXT, "test_set": _TEXT,
        "tested_on": _TEXT, "column": _TEXT, "category": _TEXT, "label": _TEXT, "test_rows": _COUNT,
        "filtered_seeds": _COUNT, "random_seeds": _COUNT, "difference": _NUMBER, "low": _NUMBER, "high": _NUMBER,
        "p_value": _NUMBER, "degrees_of_freedom": _NUMBER, "groups": _COUNT, "effective_groups": _NUMBER,
        "counts_training": pa.bool_(), "side": _TEXT, "why": _TEXT, "family": _TEXT, "adjusted_p": _NUMBER,
    },
    "predictability_by_iteration": {
        "representation": _TEXT, "iteration": _COUNT, "low": _NUMBER, "high": _NUMBER, "rows": _COUNT,
        "removed": _COUNT,
    },
    "warmup_curve": {
        "representation": _TEXT, "rows": _COUNT, "held_back_rows": _COUNT, "right": _COUNT, "accuracy": _NUMBER,
        "interval_low": _NUMBER, "interval_high": _NUMBER, "most_frequent_class": _NUMBER, "elbow": pa.bool_(),
        "chosen": pa.bool_(),
    },
    "transfer": {
        "representation": _TEXT, "start": _TEXT, "evaluator": _TEXT, "test_set": _TEXT, "train_set": _TEXT,
        "training": _TEXT, **_SCORE,
    },
    "transfer_differences": {
        "representation": _TEXT, "start": _TEXT, "evaluator": _TEXT, "test_set": _TEXT, "train_set": _TEXT,
        "against": _TEXT, "training": _TEXT, "difference": _NUMBER, "low": _NUMBER, "high": _NUMBER,
        "counts_training": pa.bool_(),
    },
    "planted": {
        "representation": _TEXT, "attribute": _TEXT, "values": _TEXT, "rows": _COUNT, "planted_rows": _COUNT,
        "removed_rows": _COUNT, "removed_planted_rows": _COUNT, "precision": _NUMBER, "precision_by_chance": _NUMBER,
        "recall": _NUMBER, "recall_by_chance": _NUMBER,
    },
    "published": {
        "source": _TEXT, "caption": _TEXT, "row": _TEXT, "column": _TEXT, "value": _NUMBER, "deviation": _NUMBER,
        "note": _TEXT,
    },
}  # fmt: skip


def flat_tables(data: BenchmarkData) -> dict[str, pa.Table]:
    """The tables by name: accuracy, challenge_sets, zero_shot, zero_shot_differences, in_distribution, top_5, paired,
    predictability_by_iteration, warmup_curve, transfer, transfer_differences, planted, published.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    makers: Mapping[str, Callable[[BenchmarkData], Iterable[Mapping[str, Any]]]] = {
        "accuracy": ACCURACY.rows,
        "challenge_sets": _challenge_sets,
        "zero_shot": _zero_shot,
        "zero_shot_differences": _zero_shot_differences,
        "in_distribution": _in_distribution,
        "top_5": _top_5,
        "paired": _paired,
        "predictability_by_iteration": _predictability_by_iteration,
        "warmup_curve": lambda data: iter(curve_rows(data.warmup_curves)),
        "transfer": _transfer,
        "transfer_differences": _transfer_differences,
        "planted": lambda data: (one.record() | {"values": ", ".join(one.values)} for one in data.planted),
        "published": _published,
    }
    return {name: pa.Table.from_pylist(list(make(data)), pa.schema(_SCHEMAS[name])) for name, make in makers.items()}


def _score(score: Score) -> _Record:
    record: _Record = {
        "status": score.status,
        "reason": score.reason,
        "test_rows": score.test_rows,
        "unfinished_seeds": score.unfinished_seeds,
    }
    if score.accuracy is None:
        return record
    interval = score.accuracy.interval
    return record | {
        "accuracy": score.accuracy.mean,
        "seeds_deviation": score.accuracy.seeds_deviation,
        "seeds": score.accuracy.seeds,
        "effective_rows": score.accuracy.effective_rows,
        "interval_low": interval.low,
        "interval_high": interval.high,
    }


def _challenge_sets(data: BenchmarkData) -> Iterator[_Record]:
    for name in data.representations:
        for row in challenge_table(data, name):
            cell = {"representation": name, "evaluator": row.evaluator, "train_set": row.train_set}
            yield cell | {"test_set": row.test_set} | _score(row.overall)
            for part in row.parts:
                yield cell | {"test_set": row.test_set} | _where(part) | _score(part.score)


def _where(part: ChallengePart | ZeroShotColumn) -> _Record:
    return {"column": part.column, "category": part.category, "label": part.label}


def _zero_shot(data: BenchmarkData) -> Iterator[_Record]:
    for name in data.representations:
        for table in zero_shot_tables(data, name):
            for row in table.rows:
                cell = {"representation": name, "evaluator": table.evaluator, "train_set": row.train_set}
                for one, score in zip(table.columns, row.scores, strict=True):
                    yield cell | {"test_set": one.test_set} | _where(one) | _score(score)


def _zero_shot_differences(data: BenchmarkData) -> Iterator[_Record]:
    """Trained on `train_set` minus trained on `against`, in points; none where either has no result."""
    for name in data.representations:
        for table in zero_shot_tables(data, name):
            for row in table.differences:
                cell = {"representation": name, "evaluator": table.evaluator, "train_set": row.train_set}
                for one, difference in zip(table.columns, row.points, strict=True):
                    found: _Record = cell | {"against": row.against, "test_set": one.test_set} | _where(one)
                    yield found | {"difference": difference}


def _in_distribution(data: BenchmarkData) -> Iterator[_Record]:
    """Scores of evaluators, with the difference beside filtered; "human" has shares of annotators as accuracy."""
    for table in in_distribution_tables(data):
        for row in table.rows:
            left = list(row.differences)
            for column, score in zip(table.columns, row.scores, strict=True):
                difference = left.pop(0) if column.train_set == "filtered" else None
                yield {
                    **{"test_set": table.test_set, "evaluator": row.evaluator, "train_set": column.train_set},
                    **{"representation": column.representation, "tested_on": column.tested_on},
                    **_score(score),
                    "difference": difference,
                }
        yield from _human(table)


def _human(table: InDistributionTable) -> Iterator[_Record]:
    if table.human is None:
        return
    left = list(table.human.differences)
    for column, agreement in zip(table.columns, table.human.agreements, strict=True):
        difference = left.pop(0) if column.train_set == "filtered" else None
        yield {
            **{"test_set": table.test_set, "evaluator": "human", "train_set": column.train_set},
            **{"representation": column.representation, "tested_on": column.tested_on},
            "status": "done" if agreement is not None else "no rows",
            "accuracy": None if agreement is None else agreement.share,
            "test_rows": 0 if agreement is None else agreement.rows,
            "difference": difference,
        }


def _top_5(data: BenchmarkData) -> Iterator[_Record]:
    """Scores with full minus filtered, in points, beside filtered."""
    for table in top_k_tables(data):
        for row in table.rows:
            left = list(row.differences)
            for column, scores in zip(table.columns, row.scores, strict=True):
                where: _Record = {
                    "test_set": table.test_set,
                    "evaluator": row.evaluator,
                    "train_set": column.train_set,
                }
                where |= {"representation": column.representation, "tested_on": column.tested_on}
                difference = left.pop(0) if column.train_set == "filtered" else TopDifference(None, None)
                yield where | {"top": 1} | _score(scores.top_1) | {"difference": difference.top_1}
                yield where | {"top": 5} | _score(scores.top_5) | {"difference": difference.top_5}


def _paired(data: BenchmarkData) -> Iterator[_Record]:
    for name in data.representations:
        for difference in paired_differences(data, name):
            found: _Record = {
                field: getattr(difference, field) for field in _SCHEMAS["paired"] if hasattr(difference, field)
            }
            for record in (difference.interval, difference.verdict):
                found |= {field: getattr(record, field) for field in _SCHEMAS["paired"] if hasattr(record, field)}
            yield found


def _predictability_by_iteration(data: BenchmarkData) -> Iterator[_Record]:
    for name, counts in data.score_counts.items():
        for at, iteration in enumerate(counts.iterations.tolist()):
            for place, rows in enumerate(counts.rows[at].tolist()):
                low, high = counts.edges[place : place + 2].tolist()
                where = {"representation": name, "iteration": iteration, "low": low, "high": high}
                yield where | {"rows": rows, "removed": int(counts.removed[at, place])}


def _transfer(data: BenchmarkData) -> Iterator[_Record]:
    """`training` is fine_tuned (of `evaluator`) or zero_shot (of `start`, on the same rows)."""
    for name in data.representations:
        for table in transfer_tables(data, name):
            for row in table.rows:
                for column, scores in zip(table.columns, row.scores, strict=True):
                    where: _Record = {"representation": name, "start": table.evaluator, "evaluator": column.evaluator}
                    where |= {"test_set": column.test_set, "train_set": row.train_set}
                    for field in fields(TransferScores):
                        yield where | {"training": field.name} | _score(getattr(scores, field.name))


def _transfer_differences(data: BenchmarkData) -> Iterator[_Record]:
    """Trained on `train_set` minus trained on `against`, in points."""
    for name in data.representations:
        for table in transfer_tables(data, name):
            for difference in table.differences:
                for column, gain in zip(table.columns, difference.gains, strict=True):
                    where: _Record = {"representation": name, "start": table.evaluator, "evaluator": column.evaluator}
                    where |= {
                        "test_set": column.test_set,
                        "train_set": difference.train_set,
                        "against": difference.against,
                    }
                    for field in fields(TransferGain):
                        interval = getattr(gain, field.name)
                        shown = _BOUNDS if interval is not None else ()
                        yield where | {"training": field.name} | {name: getattr(interval, name) for name in shown}


_BOUNDS = ("difference", "low", "high", "counts_training")


def _published(data: BenchmarkData) -> Iterator[_Record]:
    for table in published_tables(data.published):
        for place, (row, values) in enumerate(table.rows):
            deviations = [None] * len(values) if table.deviations is None else table.deviations[place]
            for column, value, deviation in zip(table.columns, values, deviations, strict=True):
                where = {"source": table.source, "caption": table.caption, "row": row, "column": column}
                yield where | {"value": value, "deviation": deviation, "note": table.note}
