"""Multiple choice in the report: what is said of test sets that are judged by question, and accuracy by answer."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.records import EvidenceTable, TestSet
from aflite_assets.results import PublishedResult
from aflite_assets.text import listed, one_line, percent
from aflite_assets.wording import counted


def question_note(test_sets: Sequence[TestSet]) -> tuple[str, ...]:
    """What is counted, and what guessing gives, where test sets are judged by question."""
    asked = [one for one in test_sets if one.chance is not None]
    if not asked:
        return ()
    chances = listed(
        [
            f"{percent(one.chance or 0.0)} % on {one_line(one.name)} ({counted(len(one.row_ids), 'question')})"
            for one in asked
        ]
    )
    only = "" if len(asked) == len(test_sets) else f" on {listed([one_line(one.name) for one in asked])}"
    return (
        f"Accuracy{only} is by question: the share of questions whose right answer a model finds likeliest of all its "
        f"answers. Chance is one over the number of answers: {chances}. The filter and its curve are about answers: "
        "there, a row is one answer, right or wrong.",
    )


def answer_tables(models: PublishedResult, sets: Sequence[TestSet]) -> Iterator[EvidenceTable]:
    """Accuracy by answer of test sets that are judged by question, means over seeds; nothing where there is none."""
    cells = [cell for cell in pq.read_table(models.file("cells.parquet")).to_pylist() if cell["status"] == "done"]
    records = [
        {name: cell[name] for name in ("evaluator", "train_set", "representation", "seed")}
        | {"test_set": one.name, "answers": len(one.row_ids), "accuracy": accuracy, "most_frequent_class": share}
        for one in sets
        for share in [float(np.bincount(one.labels).max() / len(one.labels))]
        for cell in cells
        if (accuracy := _accuracy(models.part(cell["name"]), one)) is not None
    ]
    if not records:
        return
    keys = ["evaluator", "train_set", "representation", "test_set", "answers", "most_frequent_class"]
    means = (
        pa.Table.from_pylist(records)
        .group_by(keys, use_threads=False)
        .aggregate([("accuracy", "mean"), ("seed", "count")])
    )
    shown = {"accuracy_mean": "accuracy", "seed_count": "seeds"}
    yield EvidenceTable(
        "Accuracy by answer",
        "Share of answers, each by itself, that a model takes rightly for right or wrong, mean over seeds. Most "
        "answers are wrong: always saying so reaches most_frequent_class. The other tables of accuracies "
        "count questions.",
        means.rename_columns([shown.get(name, name) for name in means.column_names]),
    )


def _accuracy(part: PublishedResult, test_set: TestSet) -> float | None:
    """Of the stored predictions of a test set's rows; None without any."""
    said = pq.read_table(
        part.file("predictions.parquet"), columns=["row_id", "predicted"], filters=[("test_set", "=", test_set.name)]
    )
    if not said.num_rows:
        return None
    places = pc.index_in(said["row_id"], value_set=pa.array(test_set.row_ids))
    return float((said["predicted"].to_numpy() == test_set.labels[places.to_numpy()]).mean())
