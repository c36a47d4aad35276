"""Rows to train on: the dataset's classes by the map read backwards, and no row that a test set has."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.errors import DataError
from aflite_assets.specs.core import ChallengeSpec
from aflite_assets.stages.data.fine_tune_rows import build_fine_tune, in_dataset_classes, without_test_rows

NLI = ("entailment", "neutral", "contradiction")


def _rows(labels: list[int], names: tuple[str, ...], **columns: Any) -> Examples:
    count = len(labels)
    plain = {"row_id": np.arange(count), "source_id": [str(n) for n in range(count)], "split": ["more"] * count}
    return Examples(pa.table({**plain, "label": np.array(labels, np.int64), **columns}), names)


def _challenge(**changes: Any) -> ChallengeSpec:
    source = {"format": "csv", "splits": {"test": "a", "more": "b"}}
    return ChallengeSpec.model_validate({"source": source, "fine_tune": "more", **changes})


def test_labels_in_another_order_become_the_datasets() -> None:
    rows = _rows([0, 1, 2, 0], ("contradiction", "entailment", "neutral"), text=list("abcd"))
    found = in_dataset_classes("far", _challenge(), rows, NLI)
    assert (found.labels.tolist(), found.label_names) == ([2, 0, 1, 2], NLI)
    assert found.texts() == list("abcd")


def test_the_map_is_read_backwards_and_classes_that_the_set_lacks_do_no_harm() -> None:
    given = _challenge(map={"entailment": "yes", "neutral": None, "contradiction": "no"})
    found = in_dataset_classes("far", given, _rows([0, 1, 1], ("no", "yes"), text=list("abc")), NLI)
    assert found.labels.tolist() == [2, 0, 0]


HANS = {"entailment": "entailment", "neutral": "non-entailment", "contradiction": "non-entailment"}


@pytest.mark.parametrize(
    ("given", "names", "message"),
    [
        (HANS, ("entailment", "non-entailment"), r"'far': 2 rows to fine-tune on have the label 'non-entailment', but "
         r"the labels 'neutral' and 'contradiction' of the dataset are mapped to it.* or leave out `fine_tune`"),
        (None, ("entailment", "maybe"), "have the label 'maybe', but no label of the dataset is mapped to it"),
    ],
)  # fmt: skip
def test_a_label_without_one_class_is_refused(given: Any, names: tuple[str, ...], message: str) -> None:
    rows = _rows([0, 1, 1], names, text=list("abc"))
    with pytest.raises(DataError, match=message):
        in_dataset_classes("far", _challenge(map=given), rows, NLI)


def test_a_label_that_no_row_has_needs_no_class() -> None:
    rows = _rows([0, 0], ("entailment", "non-entailment"), text=list("ab"))
    assert in_dataset_classes("far", _challenge(map=HANS), rows, NLI).labels.tolist() == [0, 0]


def _inputs(modality: str, values: list[int]) -> dict[str, Any]:
    if modality == "features":
        return {"features": pa.array([[value, 0.5] for value in values], pa.list_(pa.float32()))}
    if modality == "image":
        images = [{"bytes": bytes([value]), "path": None, "sha256": None} for value in values]
        return {"image": pa.array(images, IMAGE_TYPE)}
    return {"text": [f"t{value}" for value in values], "text_pair": ["same"] * len(values)}


@pytest.mark.parametrize("modality", ["text", "image", "features"])
def test_rows_that_any_test_set_has_are_dropped_whatever_their_label(modality: str) -> None:
    rows = _rows([0, 1, 0, 1, 0], NLI, **_inputs(modality, [1, 2, 3, 4, 4]))
    tests = [_rows([1, 1], NLI, **_inputs(modality, [9, 2])), _rows([0], ("x", "y"), **_inputs(modality, [4]))]
    found = without_test_rows("far", rows, tests)
    assert (found.row_ids.tolist(), found.label_names) == ([0, 2], NLI)


def test_one_text_of_a_pair_is_no_repeat() -> None:
    rows = _rows([0], NLI, text=["a"], text_pair=["b"])
    assert without_test_rows("far", rows, [_rows([0], NLI, text=["a"], text_pair=["c"])]).row_ids.tolist() == [0]


def test_when_no_row_is_left_it_is_said() -> None:
    rows = _rows([0], NLI, text=["a"])
    with pytest.raises(
        DataError, match="'far': all 1 rows to fine-tune on are also test rows; set `fine_tune` to another"
    ):
        without_test_rows("far", rows, [rows])


def test_the_limit_is_of_the_rows_to_train_on_and_stratified() -> None:
    table = pa.table({"text": [f"t{row}" for row in range(90)], "label": ["yes", "no", "no"] * 30})
    challenge = _challenge(columns={"text": "text"}, labels=["yes", "no"], fine_tune_limit=12, limit=3)
    found = build_fine_tune("far", challenge, {"more": table}, seed=0)
    assert np.bincount(found.examples.labels).tolist() == [4, 8]
    assert found.source_rows == {"more": 90}
