"""Notes and tables of the report about multiple choice, for which accuracy is computed per question or per answer."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.records import EvidenceTable, TestSet
from aflite_assets.results import PublishedResult
from aflite_assets.stages.evaluation.analysis.rows import stored_predictions
from aflite_assets.text import listed, one_line, percent
from aflite_assets.wording import counted


def question_notes(test_sets: Sequence[TestSet]) -> tuple[str, ...]:
    """Return notes on test sets that are scored by question.

    The notes state what is counted, the accuracy of guessing, and which rows are left out.
    """
    asked = [one for one in test_sets if one.chance is not None]
    if not asked:
        return ()
    chances = [
        f"{percent(one.chance or 0.0)} % on {one_line(one.name)} ({counted(len(one.row_ids), 'question')})"
        for one in asked
    ]
    only = "" if len(asked) == len(test_sets) else f" on {listed([one_line(one.name) for one in asked])}"
    return (
        f"Accuracy{only} is by question: the share of questions for which a model gives the right answer the "
        f"highest probability of all answers. Chance is one over the number of answers: {listed(chances)}. In the "
        "filter and its curve, a row is one answer, right or wrong.",
        *(note for one in asked if not one.challenge for note in one.notes),
    )


def answer_tables(models: PublishedResult, sets: Sequence[TestSet]) -> Iterator[EvidenceTable]:
    """Yield a table of the accuracy on single answers to multiple-choice questions, averaged over seeds.

    `sets`: the test sets with one row per answer. If no predictions are stored for `sets`, no table is yielded.
    """
    cells = [cell for cell in pq.read_table(models.file("cells.parquet")).to_pylist() if cell["status"] == "done"]
    keys = ["evaluator", "train_set", "representation"]
    records = []
    for one in sets:
        facts = {"test_set": one.name, "answers": len(one.row_ids)}
        facts["most_frequent_class"] = float(np.bincount(one.labels).max() / len(one.labels))
        for cell in cells:
            predicted = stored_predictions(models.part(cell["name"]), one, "predicted")
            if predicted is not None:
                accuracy = float((predicted.to_numpy() == one.labels).mean())
                records.append({key: cell[key] for key in keys} | facts | {"accuracy": accuracy})
    if not records:
        return
    by_seed = pa.Table.from_pylist(records).group_by([*keys, *facts], use_threads=False)
    means = by_seed.aggregate([("accuracy", "mean"), ("accuracy", "count")])
    yield EvidenceTable(
        "Accuracy by answer",
        "Share of single answers that a model classifies correctly as right or wrong, mean over seeds. Most answers "
        "are wrong: a model that always predicts wrong reaches most_frequent_class. The other tables of accuracies "
        "count questions.",
        means.rename_columns({"accuracy_mean": "accuracy", "accuracy_count": "seeds"}),
    )
