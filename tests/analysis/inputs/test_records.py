from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, FilteredSet, TestSet
from aflite_assets.errors import InvalidInputError

PREDICTIONS = pa.table({"test_set": ["t"], "row_id": [0], "predicted": [0]})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_set": "half"}, "train set must be one of"),
        ({"train_set": "full"}, "only 'full' and forgettable rows have none"),
        ({"representation": None}, "only 'full' and forgettable rows have none"),
        ({"status": "done"}, "predictions missing; only done cells have predictions"),
        ({"predictions": PREDICTIONS}, "predictions given; only done cells"),
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
        ({"row_ids": np.array([3, 3])}, "row ids repeat"),
        ({"labels": np.array([0, 2])}, r"labels must lie in \[0, 2\)"),
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


def test_the_primary_comparison_is_on_a_test_set(make_planted: Any) -> None:
    assert make_planted(primary=("linear", "hans")).primary == ("linear", "hans")
    assert make_planted(primary=("linear", "gone"), missing_sets={"gone": "no file"}).primary == ("linear", "gone")
    with pytest.raises(InvalidInputError, match=r"on 'dev', which is no test set; .* \['test', 'validation', 'hans'\]"):
        make_planted(primary=("linear", "dev"))


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
