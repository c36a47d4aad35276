"""Confident learning on planted wrong labels, and the shares of suspects by hand."""

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.diagnostics.evidence.label_noise import (
    SUSPECTS,
    quarantined_ids,
    suspect_shares,
    suspected_errors,
    suspected_rows,
    whole_suspects,
)
from aflite_assets.errors import InvalidInputError

ROWS, CLASSES = 900, 3


def planted() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Given labels of which 60 are wrong, which ones these are, and probabilities of the true classes."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, CLASSES, ROWS)
    wrong = np.isin(np.arange(ROWS), rng.choice(ROWS, 60, replace=False))
    powers = np.exp(rng.normal(size=(ROWS, CLASSES)) + 5 * np.eye(CLASSES)[true])
    given = np.where(wrong, (true + 1) % CLASSES, true)
    return given, wrong, (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)


def test_planted_wrong_labels_are_suspected() -> None:
    given, wrong, probabilities = planted()
    found = suspected_errors(given, probabilities)
    assert (found & wrong).sum() >= 57
    assert (found & ~wrong).sum() <= 5


def test_rows_that_none_predicted_are_no_suspects() -> None:
    given, wrong, probabilities = planted()
    probabilities[wrong] = np.nan
    assert suspected_errors(given, probabilities).sum() <= 5
    assert not suspected_errors(given, np.full_like(probabilities, np.nan)).any()


def test_a_rare_class_is_no_error() -> None:
    given, _, probabilities = planted()
    four = np.column_stack([probabilities, np.zeros(ROWS, np.float32)])
    given[0] = 3
    found = suspected_errors(given, four)
    assert not found[0]
    assert 50 < found.sum() < 70


@pytest.mark.parametrize(
    ("codes", "shape", "message"),
    [
        (np.zeros(3, int), (2, 2), r"`probabilities` has shape \(2, 2\), but there are 3 labels"),
        (np.array([0, 2]), (2, 2), "the largest class number is 2, but `probabilities` has 2 columns"),
    ],
)
def test_what_does_not_fit_is_refused(codes: np.ndarray, shape: tuple[int, int], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        suspected_errors(codes, np.zeros(shape))


def test_the_list_has_the_least_likely_labels_first_and_names_what_they_may_be() -> None:
    given, wrong, probabilities = planted()
    row_ids, classes = 1000 + np.arange(ROWS), np.array([2, 5, 7])
    splits = np.where(np.arange(ROWS) % 2, "test", "train").astype(object)
    table = suspected_rows(row_ids, splits, classes[given], probabilities, classes, quarantine=["train"])
    assert table.schema == SUSPECTS
    rows = table["row_id"].to_numpy() - 1000
    assert (np.diff(table["label_probability"].to_numpy()) >= 0).all()
    assert set(rows) == set(np.flatnonzero(suspected_errors(given, probabilities)))
    right = wrong[rows]
    truth = classes[(given[rows] + 2) % CLASSES]
    np.testing.assert_array_equal(table["suggested_label"].to_numpy()[right], truth[right])
    assert (table["suggested_probability"].to_numpy()[right] > 0.5).all()
    np.testing.assert_array_equal(table["quarantined"].to_numpy(zero_copy_only=False), rows % 2 == 0)
    np.testing.assert_array_equal(quarantined_ids(table), np.sort(1000 + rows[rows % 2 == 0]))


def test_shares_of_kept_and_removed_by_hand() -> None:
    rows = pa.table(
        {
            "row_id": [1, 2, 3, 4, 5],
            "split": ["train", "train", "train", "train", "test"],
            "kept": [True, True, False, True, True],
        }
    )
    columns = {"row_id": [2, 3, 9], "split": ["train", "train", "train"], "quarantined": [False, False, True]}
    train, test = suspect_shares(rows, pa.table(columns)).to_pylist()
    assert train == {
        "split": "train",
        "kept_rows": 3,
        "kept_suspects": 1,
        "kept_share": 1 / 3,
        "removed_rows": 1,
        "removed_suspects": 1,
        "removed_share": 1.0,
        "quarantined": 1,
    }
    assert (test["kept_suspects"], test["removed_rows"], test["removed_share"], test["quarantined"]) == (0, 0, None, 0)


def test_a_question_is_suspected_by_a_right_and_a_wrong_answer() -> None:
    suspects = pa.table({"row_id": [1, 2, 5, 9, 12], "label": [1, 0, 1, 0, 0]})
    questions = np.array([0, 0, 1, 2, 2])
    assert whole_suspects(suspects, questions)["row_id"].to_pylist() == [1, 2]
    assert whole_suspects(suspects.slice(3), questions[3:]).num_rows == 0
    assert whole_suspects(suspects.slice(0, 0), questions[:0]).num_rows == 0
