from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.label_errors import MOST_CHARACTERS, suspects
from aflite_assets.errors import DataError, InvalidInputError

NAMES = ["row_id", "split", "label_name", "label_probability", "predictability", "kept"]


def rows_of(probabilities: list[float | None], **columns: Any) -> pa.Table:
    count = len(probabilities)
    table = {
        "row_id": pa.array(range(count), pa.int64()),
        "split": ["train"] * (count - 1) + ["test"],
        "label": pa.array([row % 2 for row in range(count)], pa.int64()),
        "kept": pa.array([row != 1 for row in range(count)], pa.bool_()),
        "predictability": pa.array([0.5, None] * (count // 2) + [0.25] * (count % 2), pa.float32()),
        "label_probability": pa.array(probabilities, pa.float32()),
    }
    return pa.table(table | columns)


def examples_of(count: int, **columns: Any) -> Examples:
    order = list(reversed(range(count)))
    return Examples(pa.table({"row_id": pa.array(order, pa.int64()), "label": [0] * count, **columns}), ("no", "yes"))


def test_lowest_first_ties_by_row_id_and_rows_without_a_score_left_out() -> None:
    rows = rows_of([0.5, 0.25, None, 0.25, float("nan"), 0.125])
    found = suspects(rows, examples_of(6, features=[[1.0]] * 6), most=4)
    assert found.column_names == NAMES
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        (5, "test", "yes", 0.125, None, True),
        (1, "train", "yes", 0.25, None, False),
        (3, "train", "yes", 0.25, None, True),
        (0, "train", "no", 0.5, 0.5, True),
    ]
    assert suspects(rows, examples_of(6), most=1)["row_id"].to_pylist() == [5]


def test_texts_are_cut_and_annotators_named() -> None:
    examples = examples_of(
        2,
        text=["<b>" + "x" * 300, "fine"],
        text_pair=pa.array([None, "y" * MOST_CHARACTERS], pa.string()),
        annotator_labels=pa.array([[1, 0, 1], []], pa.list_(pa.int64())),
    )
    first, second = suspects(rows_of([0.9, 0.1]), examples).to_pylist()
    assert (first["row_id"], first["annotators"], first["text_pair"]) == (1, "yes, no, yes", None)
    assert first["text"] == "<b>" + "x" * (MOST_CHARACTERS - 4) + "…"
    assert (second["annotators"], second["text"], second["text_pair"]) == (None, "fine", "y" * MOST_CHARACTERS)


def test_images_are_not_shown() -> None:
    found = suspects(rows_of([0.5, 0.1]), examples_of(2, image=[{"bytes": b"x"}] * 2))
    assert found.column_names == NAMES


def test_no_scores_no_suspects() -> None:
    found = suspects(rows_of([None, None]), examples_of(2, text=["a", "b"]))
    assert (found.num_rows, found.column_names[-1]) == (0, "text")


def test_what_cannot_be_listed_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="`most` is 0; set it to at least 1"):
        suspects(rows_of([0.5]), examples_of(1), most=0)
    with pytest.raises(DataError, match="1 of 2 row ids are not in this table"):
        suspects(rows_of([0.5, 0.5]), examples_of(1))


def test_swapped_labels_are_found() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    rng = np.random.default_rng(0)
    labels = np.arange(300) % 2
    features = (rng.normal(size=(300, 3)) + 3 * labels[:, None]).astype(np.float32)
    given = labels.copy()
    swapped = [7, 80, 211]
    given[swapped] = 1 - given[swapped]
    held_out = cross_val_predict(LogisticRegression(), features, given, cv=5, method="predict_proba")
    probability = held_out[np.arange(300), given]
    rows = rows_of(probability.tolist(), label=pa.array(given, pa.int64()))
    found = suspects(rows, examples_of(300, features=features.tolist()), most=3)
    assert sorted(found["row_id"].to_pylist()) == swapped
