from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.reports.inputs.records import BenchmarkData, Cell
from aflite_assets.reports.sentences.interpretation import headline_split, meaning
from aflite_assets.reports.sentences.summary import findings

LAST = (
    "It does not say that what was removed is wrong or useless, nor that what was kept is the task itself: other "
    "features or another classifier would keep other rows, and wrong or disputed labels are more frequent among rows "
    "that nothing predicts."
)


def single_pass(right: str, **changes: Any) -> Cell:
    """Evaluator `p` on the rows of a single pass of `a`; a bit per row of `test`."""
    predicted = [row % 2 if bit == "1" else 1 - row % 2 for row, bit in enumerate(right)]
    table = pa.table({"test_set": ["test"] * 6, "row_id": np.arange(10, 16), "predicted": predicted})
    return Cell("p", "single_pass_model", "a", 0, 30, "done", None, table)


def test_the_paragraph_says_every_number(by_hand: BenchmarkData) -> None:
    assert meaning(by_hand, "b") == (
        "What the fall means, for p and q on test with representation b: from full to filtered, in training and in "
        "testing, accuracy falls by 0.0 to 12.5 points. "
        # p: 75.0 on all rows; on rows 2 to 5: 3 of 4 and 3 of 4
        "What is built in: these test rows were kept for being hard to predict, and a model trained on full and asked "
        "about the filtered rows alone falls by 0.0 points. "
        "With as few train rows, drawn at random, and all test rows it rises by 25.0 points. "
        "Whether training on filtered helps or harms is not told: it takes test rows that the filter did not choose, "
        f"enough of them, and two seeds or more. {LAST}"
    )
    assert meaning(by_hand, "b") in findings(by_hand)


def test_rises_and_falls_are_both_named(by_hand: BenchmarkData) -> None:
    found = meaning(by_hand, "a")
    assert found is not None
    assert "accuracy rises by up to 8.3 or falls by up to 100.0 points." in found


def test_what_training_on_filtered_does_is_told_on_rows_that_it_did_not_choose(planted: BenchmarkData) -> None:
    found = meaning(replace(planted, primary=("linear", "test")), "roberta")
    assert found is not None
    assert (
        "Trained on filtered instead of random, on test rows that the filter did not choose: above for linear on test "
        "and linear on hans; open for linear on validation."
    ) in found


@pytest.mark.parametrize(
    ("right", "said"),
    [
        ("111000", "p falls 16.7 points less."),
        ("000111", "p falls 83.3 points more."),
    ],
)
def test_a_single_pass_is_compared_on_the_same_rows(
    by_hand: BenchmarkData, make_by_hand: Any, right: str, said: str
) -> None:
    found = meaning(make_by_hand(cells=(*by_hand.cells, single_pass(right))), "a")
    assert found is not None
    assert "trained on as many rows that single_pass_model left and tested on the same filtered rows, " + said in found


def test_without_random_the_price_of_fewer_rows_is_open(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    found = meaning(make_by_hand(cells=tuple(c for c in by_hand.cells if c.train_set != "random")), "a")
    assert found is not None
    assert "Without a result for random it is open what having fewer train rows costs." in found
    assert "instead of random" not in found


def test_without_both_ends_there_is_no_paragraph(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    assert meaning(make_by_hand(cells=tuple(c for c in by_hand.cells if c.train_set != "full")), "a") is None
    assert meaning(make_by_hand(cells=()), "a") is None
    assert meaning(make_by_hand(test_sets=by_hand.test_sets[1:]), "a") is None


def test_the_split_spoken_of() -> None:
    assert headline_split(["dev", "validation", "test"]) == "test"
    assert headline_split(["dev", "validation"]) == "validation"
    assert headline_split(["dev"]) == "dev"
    assert headline_split([]) is None
