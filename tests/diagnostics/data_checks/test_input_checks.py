from collections.abc import Callable

import numpy as np
import pytest

from aflite_assets.checks import CheckOutcome
from aflite_assets.diagnostics.data_checks import input_checks
from aflite_assets.diagnostics.data_checks.context import CheckContext

Data = Callable[..., CheckContext]
OF_FEATURES = [
    input_checks.features_finite,
    input_checks.no_constant_features,
    input_checks.no_repeated_features,
    input_checks.features_on_one_scale,
]
OF_TEXTS = [input_checks.no_empty_texts, input_checks.repeated_texts_grouped]


def of_features(data: Data, features: list[list[float]] | np.ndarray) -> CheckContext:
    return data(["train"] * len(features), [row % 2 for row in range(len(features))], features=features)


@pytest.mark.parametrize("check", OF_FEATURES)
def test_texts_have_no_features(check: Callable[[CheckContext], CheckOutcome], data: Data) -> None:
    outcome = check(data(["train"], [0], text=["a"]))
    assert (outcome.outcome, outcome.found) == ("skipped", "not applicable: features only")


@pytest.mark.parametrize("check", OF_TEXTS)
def test_features_have_no_texts(check: Callable[[CheckContext], CheckOutcome], data: Data) -> None:
    outcome = check(of_features(data, [[1.0]]))
    assert (outcome.outcome, outcome.found) == ("skipped", "not applicable: texts only")


@pytest.mark.parametrize("check", OF_FEATURES[1:])
@pytest.mark.parametrize(
    ("features", "reason"), [([[1.0, 1.0]], "fewer than 2 train rows"), ([[1.0], [np.nan]], "finite features only")]
)
def test_columns_of_odd_matrices_are_not_judged(
    check: Callable[[CheckContext], CheckOutcome], features: list[list[float]], reason: str, data: Data
) -> None:
    outcome = check(of_features(data, features))
    assert (outcome.outcome, outcome.found) == ("skipped", f"not applicable: {reason}")


def test_features_that_are_not_finite(data: Data) -> None:
    outcome = input_checks.features_finite(of_features(data, [[1.0, 2.0], [np.inf, 3.0]]))
    assert (outcome.passed, outcome.numbers) == (False, {"rows": 2, "columns": 2})
    assert "replace or drop NaN" in outcome.what_to_do
    assert input_checks.features_finite(of_features(data, [[1.0, 2.0]])).passed


def test_constant_columns(data: Data) -> None:
    outcome = input_checks.no_constant_features(of_features(data, [[0, 1, 5], [0, 2, 5]]))
    assert not outcome.passed
    assert outcome.numbers == {"columns": 3, "constant": 2, "all_zero": 1, "first_constant": "0, 2"}
    assert "they contain no information" in outcome.what_to_do
    outcome = input_checks.no_constant_features(of_features(data, [[0, 1], [1, 2]]))
    assert (outcome.passed, outcome.numbers) == (True, {"columns": 2, "constant": 0, "all_zero": 0})


def test_a_column_is_constant_by_the_train_rows(data: Data) -> None:
    rows = data(["train", "train", "test"], [0, 1, 0], features=[[1], [1], [2]])
    assert input_checks.no_constant_features(rows).numbers["constant"] == 1


def test_repeated_columns(data: Data) -> None:
    outcome = input_checks.no_repeated_features(of_features(data, [[1, 2, 1, 2, 1, 7], [2, 1, 2, 1, 2, 7]]))
    assert not outcome.passed
    assert outcome.numbers == {"columns": 6, "surplus": 3, "sets": 2, "equal_columns": "0, 2, 4; 1, 3"}
    assert "keep one column of each set" in outcome.what_to_do
    outcome = input_checks.no_repeated_features(of_features(data, [[1, 2], [2, 1]]))
    assert (outcome.passed, outcome.numbers) == (True, {"columns": 2, "surplus": 0, "sets": 0})


@pytest.mark.parametrize(("large", "passed"), [(1e4, True), (2e4, False)])
def test_columns_on_scales_far_apart(large: float, passed: bool, data: Data) -> None:
    outcome = input_checks.features_on_one_scale(of_features(data, [[9, 0, 0], [9, 2 * large, 2]]))
    assert outcome.passed == passed
    assert outcome.numbers == {
        "ratio": pytest.approx(large),
        "largest_ratio": 1e4,
        "smallest_deviation": 1.0,
        "smallest_column": 2,
        "largest_deviation": pytest.approx(large),
        "largest_column": 1,
    }
    assert ("set `standardise: true`" in outcome.what_to_do) != passed


def test_columns_without_a_scale(data: Data) -> None:
    outcome = input_checks.features_on_one_scale(of_features(data, [[9, 0], [9, 0]]))
    assert outcome.found == "not applicable: all columns are constant"


def test_empty_texts(data: Data) -> None:
    outcome = input_checks.no_empty_texts(
        data(["train", "train", "test"], [0, 1, 0], text=["a", "", "b"], text_pair=[" ", "\n", "\t"])
    )
    assert not outcome.passed
    assert outcome.numbers == {
        "empty": 4,
        "text.train.empty": 1,
        "text.train.row_ids": "101",
        "text_pair.train.empty": 2,
        "text_pair.train.row_ids": "100, 101",
        "text_pair.test.empty": 1,
        "text_pair.test.row_ids": "102",
    }
    assert "add the missing texts" in outcome.what_to_do
    assert input_checks.no_empty_texts(data(["train"], [0], text=["a"])).numbers == {"empty": 0}


def premises(data: Data, **columns: list[int]) -> CheckContext:
    rows = range(300)
    return data(
        ["train"] * 300,
        [row % 3 for row in rows],
        ("e", "n", "c"),
        text=[f"<b>\x00 premise{row // 3}" for row in rows],
        text_pair=[f"hypothesis{row}" for row in rows],
        **columns,
    )


def test_premises_without_groups_fail_with_the_reason_in_numbers(data: Data) -> None:
    outcome = input_checks.repeated_texts_grouped(premises(data))
    assert not outcome.passed
    random, grouped = (outcome.numbers[f"text.accuracy_{held}_held_out"] for held in ("rows", "texts"))
    assert float(random) < 0.1 < 0.2 < float(grouped) < 0.45
    rest = {name: value for name, value in outcome.numbers.items() if not name.endswith("held_out")}
    assert rest == {
        "largest_share": 0.05,
        "text.share": 1.0,
        "text.share_across_groups": 1.0,
        "text.most_frequent": r"'<b>\x00 premise0' in 3 rows",
        "text.majority_share": pytest.approx(1 / 3),
        "text.accuracy_sample_rows": 300,
    }
    assert outcome.what_to_do.startswith("set `columns.group` to the column in `columns.text`, so that")


def test_groups_that_hold_the_shared_texts_pass(data: Data) -> None:
    outcome = input_checks.repeated_texts_grouped(premises(data, group=[row // 3 for row in range(300)]))
    assert (outcome.passed, outcome.what_to_do) == (True, "")
    assert outcome.numbers == {"largest_share": 0.05, "text.share": 1.0, "text.share_across_groups": 0.0}


def test_groups_that_group_nothing_fail(data: Data) -> None:
    outcome = input_checks.repeated_texts_grouped(premises(data, group=list(range(300))))
    assert not outcome.passed
    assert outcome.numbers["text.share_across_groups"] == 1.0
    assert "to the list in `columns.group`, so that rows that share either value are one group" in outcome.what_to_do


def test_a_second_column_that_leaks_fails_though_the_first_is_grouped(data: Data) -> None:
    """Blocks of two claims and two pieces of evidence; each supports one claim and refutes the other."""
    blocks, rows = 100, 400
    claims = [f"claim {row // 2}" for row in range(rows)]
    evidence = [f"evidence {row // 4} {row % 2}" for row in range(rows)]
    labels = [(row % 4 in (0, 3)) * 1 for row in range(rows)]
    columns = {"text": claims, "text_pair": evidence}
    by_claim = data(["train"] * rows, labels, group=[row // 2 for row in range(rows)], **columns)
    outcome = input_checks.repeated_texts_grouped(by_claim)
    assert not outcome.passed
    assert float(outcome.numbers["text_pair.accuracy_rows_held_out"]) < 0.3
    assert float(outcome.numbers["text_pair.accuracy_texts_held_out"]) > 0.4
    assert "add the column in `columns.text_pair` to the list in `columns.group`" in outcome.what_to_do
    by_block = data(["train"] * rows, labels, group=[row // 4 for row in range(rows)], **columns)
    assert input_checks.repeated_texts_grouped(by_block).passed
    assert len(set(claims)) == len(set(evidence)) == 2 * blocks


@pytest.mark.parametrize(("repeated", "passed"), [(5, True), (6, False)])
def test_a_few_texts_may_stand_twice(repeated: int, passed: bool, data: Data) -> None:
    texts = ["same"] * repeated + [f"text {row}" for row in range(100 - repeated)]
    outcome = input_checks.repeated_texts_grouped(data(["train"] * 100, [0, 1] * 50, text=texts))
    assert outcome.passed == passed
    assert outcome.numbers["text.share"] == repeated / 100
    assert ("text.accuracy_rows_held_out" in outcome.numbers) != passed


@pytest.mark.parametrize(
    "texts", [["same"] * 40, ["", " ", "\n", "a"] * 10, [f"text {row}" for row in range(40)], ["a"]]
)
def test_texts_that_cannot_be_groups_are_not_asked_for(texts: list[str], data: Data) -> None:
    outcome = input_checks.repeated_texts_grouped(data(["train"] * len(texts), [0] * len(texts), text=texts))
    assert (outcome.passed, outcome.what_to_do) == (True, "")


def test_shared_texts_without_words_have_no_accuracy(data: Data) -> None:
    outcome = input_checks.repeated_texts_grouped(
        data(["train"] * 20, [0, 1] * 10, text=["-" * (row // 2) for row in range(20)])
    )
    assert not outcome.passed
    assert outcome.numbers == {
        "largest_share": 0.05,
        "text.share": 1.0,
        "text.share_across_groups": 1.0,
        "text.most_frequent": "'' in 2 rows",
    }


def test_exchanged_columns_are_suspected(data: Data) -> None:
    names = tuple(f"this is text {row}" for row in range(40))
    rows = data(["train"] * 40, list(range(40)), names=names, text=["spam", "ham"] * 20)
    outcome = input_checks.labels_are_not_texts(rows)
    assert outcome.numbers == {"rows": 40, "distinct_labels": 40, "text.distinct": 2}
    assert not outcome.passed
    assert outcome.what_to_do.startswith("swap the column names in `columns.text` and `columns.label`")
    right = data(["train"] * 40, [0, 1] * 20, text=list(names))
    assert input_checks.labels_are_not_texts(right).passed
    of_features = data(["train"] * 2, [0, 1], features=[[1.0], [2.0]])
    assert input_checks.labels_are_not_texts(of_features).found == "not applicable: texts only"
