"""Multiple choice in the report: every cell's accuracy by question, a row per cell, test set and part of it."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.data.formats.choices import RIGHT
from aflite_assets.errors import DataError
from aflite_assets.reports.inputs.records import EvidenceTable, TestSet
from aflite_assets.reports.intervals import wilson_interval
from aflite_assets.reports.scores.questions import is_multiple_choice, question_scores, whole_questions
from aflite_assets.results import PublishedResult

SCHEMA = pa.schema(
    [
        ("evaluator", pa.string()),
        ("train_set", pa.string()),
        ("representation", pa.string()),
        ("seed", pa.int64()),
        ("test_set", pa.string()),
        ("part", pa.string()),
        ("questions", pa.int64()),
        ("accuracy", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("chance", pa.float64()),
    ]
)
"""`part`: all, or the name of the representation whose filter kept the question. Shares in [0, 1]; `low` and `high` are
a Wilson interval of 95 %, with questions as units."""


def choice_sets(test_sets: Sequence[TestSet], label_names: tuple[str, ...]) -> list[TestSet]:
    """The test sets whose groups are questions with one right answer, in the dataset's own classes."""
    if RIGHT not in label_names or len(label_names) != 2:
        return []
    number = label_names.index(RIGHT)
    return [one for one in test_sets if one.class_map is None and is_multiple_choice(one.labels == number, one.groups)]


def by_question(models: PublishedResult, sets: Sequence[TestSet], label_names: tuple[str, ...]) -> pa.Table:
    """`SCHEMA`'s rows for every finished cell that gives probabilities, from its stored predictions.

    Raises:
        DataError: predictions do not match a test set's rows one to one.
    """
    number = label_names.index(RIGHT)
    cells = pq.read_table(models.file("cells.parquet")).to_pylist()
    rows = [
        {name: cell[name] for name in ("evaluator", "train_set", "representation", "seed")} | scored
        for cell in cells
        if cell["status"] == "done"
        for test_set in sets
        for scored in _scored(models.part(cell["name"]), test_set, number)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def question_tables(scores: pa.Table) -> Iterator[EvidenceTable]:
    """The means over seeds for the page; nothing where there is none."""
    if not scores.num_rows:
        return
    keys = ["evaluator", "train_set", "representation", "test_set", "part"]
    means = scores.group_by(keys, use_threads=False).aggregate(
        [("accuracy", "mean"), ("chance", "mean"), ("questions", "max"), ("seed", "count")]
    )
    names = {"accuracy_mean": "accuracy", "chance_mean": "chance", "questions_max": "questions", "seed_count": "seeds"}
    yield EvidenceTable(
        "Accuracy by question",
        "Share of questions whose right answer a model finds likeliest, mean over seeds; chance is one over the number "
        "of answers. Part: all questions, or those that a representation's filter kept whole.",
        means.rename_columns([names.get(name, name) for name in means.column_names]),
    )


def _scored(part: PublishedResult, test_set: TestSet, number: int) -> Iterator[dict[str, object]]:
    probability = _probability(part, test_set, number)
    if probability is None:
        return
    right, groups = test_set.labels == number, test_set.groups
    assert groups is not None
    for name, kept in (("all", None), *test_set.kept.items()):
        chosen = whole_questions(right, groups, kept)
        if not chosen.any():
            continue
        scores = question_scores(probability[chosen], right[chosen], groups[chosen])
        interval = wilson_interval(scores.accuracy, len(scores.questions))
        yield {
            "test_set": test_set.name,
            "part": name,
            "questions": len(scores.questions),
            "accuracy": scores.accuracy,
            "low": interval.low,
            "high": interval.high,
            "chance": float(scores.chance.mean()),
        }


def _probability(part: PublishedResult, test_set: TestSet, number: int) -> np.ndarray | None:
    """Of the class `RIGHT`, in the test set's row order; None where the evaluator gives no probabilities."""
    columns = ["row_id", "probabilities"]
    said = pq.read_table(
        part.file("predictions.parquet"), columns=columns, filters=[("test_set", "=", test_set.name)]
    ).sort_by("row_id")
    if not said.num_rows or said["probabilities"].null_count:
        return None
    order = np.argsort(test_set.row_ids, kind="stable")
    if not np.array_equal(said["row_id"].to_numpy(), test_set.row_ids[order]):
        raise DataError(
            f"{said.num_rows} predictions of test set {test_set.name!r} do not match its {len(order)} rows one to one; "
            "they come from different versions, materialise evaluator_models again"
        )
    values = said["probabilities"].combine_chunks().flatten().to_numpy().reshape(len(order), -1)
    probability = np.empty(len(order))
    probability[order] = values[:, number]
    return probability
