from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, FilteredSet, FineTuned, TestSet, fine_tuned_note
from aflite_assets.errors import InvalidInputError

PREDICTIONS = pa.table({"test_set": ["t"], "row_id": [0], "predicted": [0]})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_set": "half"}, "train set must be one of"),
        ({"train_set": "full"}, "only 'full' and forgettable rows have none"),
        ({"representation": None}, "only 'full' and forgettable rows have none"),
        ({"status": "running"}, "use 'done', 'failed' or 'not run'"),
        ({"status": "done"}, "predictions missing; only done cells have predictions"),
        ({"predictions": PREDICTIONS}, "predictions given; only done cells"),
        ({"status": "failed"}, "a failed cell needs a reason"),
        ({"status": "done", "predictions": PREDICTIONS.drop(["row_id"])}, r"lacks the columns \['row_id'\]"),
    ],
)
def test_contradicting_cells_are_refused(changes: dict[str, Any], message: str) -> None:
    fields = {"train_set": "random", "representation": "r", "status": "not run", "reason": None} | changes
    with pytest.raises(InvalidInputError, match=message):
        Cell(evaluator="linear", seed=0, train_rows=10, **fields)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.array([0])}, "2 row ids but 1 labels"),
        ({"row_ids": np.array([3, 3])}, "row ids repeat"),
        ({"labels": np.array([0, 2])}, r"labels must lie in \[0, 2\)"),
        ({"challenge": True}, "challenge sets are not filtered"),
        ({"kept": {"r": np.array([1, 0])}}, r"kept\['r'\] must be bool of shape \(2,\), got int64"),
        ({"categories": {"kind": np.array(["a"])}}, "2 rows but 1 categories of 'kind'"),
        ({"class_map": np.array([0, 2, 1])}, r"class_map must lie in \[-1, 2\), got \[0, 2, 1\]"),
        ({"collapse": "logits"}, r"collapse is 'logits'; use one of \('label', 'probability'\)"),
    ],
)
def test_contradicting_test_sets_are_refused(changes: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {
        "challenge": False,
        "row_ids": np.array([3, 4]),
        "labels": np.array([0, 1]),
        "kept": {"r": np.array([True, False])},
    }
    with pytest.raises(InvalidInputError, match=message):
        TestSet(name="t", label_names=("a", "b"), **(fields | changes))


def test_a_filtered_set_needs_its_columns(planted: BenchmarkData) -> None:
    filtered = planted.filtered[0]
    with pytest.raises(InvalidInputError, match=r"'roberta': iterations table lacks the columns \['cutoff'\]"):
        FilteredSet("roberta", filtered.iterations.drop(["cutoff"]), "threshold", (), filtered.rows, {})


def test_what_would_vanish_from_the_report_is_refused(planted: BenchmarkData, make_planted: Any) -> None:
    stray = Cell("linear", "random", "bert", 0, 10, "not run")
    with pytest.raises(InvalidInputError, match=r"representations \['bert'\] that have no filtered set"):
        make_planted(cells=(*planted.cells, stray))
    with pytest.raises(InvalidInputError, match="cell given more than once"):
        make_planted(cells=(*planted.cells, planted.cells[0]))
    with pytest.raises(InvalidInputError, match="test set given more than once"):
        make_planted(test_sets=(*planted.test_sets, planted.test_sets[0]))
    with pytest.raises(InvalidInputError, match=r"test set given more than once: \['hans'\]"):
        make_planted(missing_sets={"hans": "gone"})


@pytest.mark.parametrize(
    ("challenge", "changes", "message"),
    [
        (False, {"groups": np.arange(3)}, r"groups must be int64 of shape \(2,\), got int64 of shape \(3,\)"),
        (False, {"groups": np.zeros(2)}, r"groups must be int64 of shape \(2,\), got float64"),
        (True, {"pooled": True}, "challenge sets never enter the pool"),
    ],
)
def test_groups_and_pools_must_fit(challenge: bool, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        TestSet("t", challenge, np.arange(2), np.arange(2), ("a", "b"), {}, **changes)


def test_the_primary_comparison_is_on_a_test_set(make_planted: Any) -> None:
    assert make_planted(primary=("linear", "hans")).primary == ("linear", "hans")
    assert make_planted(primary=("linear", "gone"), missing_sets={"gone": "no file"}).primary == ("linear", "gone")
    with pytest.raises(InvalidInputError, match=r"on 'dev', which is no test set; .* \['test', 'validation', 'hans'\]"):
        make_planted(primary=("linear", "dev"))


def test_classes_of_test_sets_must_fit(planted: BenchmarkData, make_planted: Any) -> None:
    swapped = TestSet("t", False, np.arange(1), np.zeros(1, dtype=int), planted.label_names[::-1], {})
    with pytest.raises(InvalidInputError, match="give a class_map"):
        make_planted(test_sets=(swapped,))
    short = TestSet("t", True, np.arange(1), np.zeros(1, dtype=int), ("a", "b"), {}, class_map=np.array([0, 1]))
    with pytest.raises(InvalidInputError, match="class_map has 2 entries for the dataset's 3 classes"):
        make_planted(test_sets=(short,))


@pytest.mark.parametrize(
    ("class_map", "collapse", "adds"),
    [
        (None, "probability", False),
        ([0, 1], "probability", False),
        ([1, 0], "probability", False),
        ([0, 1, 1], "probability", True),
        ([0, -1, 1], "probability", True),
        ([0, 1, 1], "label", False),
    ],
)
def test_probabilities_are_added_only_where_classes_merge_or_drop_out(
    class_map: list[int] | None, collapse: Any, adds: bool
) -> None:
    given = None if class_map is None else np.array(class_map)
    one = TestSet("t", True, np.arange(2), np.arange(2), ("a", "b"), {}, class_map=given, collapse=collapse)
    assert one.adds_probabilities is adds


def test_a_set_says_for_whom_it_is_not_zero_shot() -> None:
    fine_tuned = {"x": FineTuned("p", ("odd",)), "y": FineTuned("p", ("even", "odd")), "z": FineTuned("p", ("even",))}
    assert fine_tuned_note("odd", fine_tuned) == (
        "Not zero-shot for evaluators fine-tuned on other rows of this set: x, y.",
    )
    assert fine_tuned_note("other", fine_tuned) == ()
