from typing import Any

import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell
from aflite_assets.analysis.train_sets import (
    TRAIN_SETS,
    compared_pairs,
    control_of,
    earlier_name,
    in_order,
)
from aflite_assets.reports.sentences.wording import train_set_meaning
from aflite_assets.reports.tables.challenge_tables import ZERO_SHOT


@pytest.mark.parametrize(
    ("name", "earlier"),
    [
        ("full", None),
        ("random_matched", None),
        ("single_pass_model", None),
        ("weighted", None),
        ("filtered_92k", "92k"),
        ("random_large_2", "large_2"),
        ("filtered_matched", None),
        ("filtered_", None),
        ("filtered__x", None),
        ("filtered_A", None),
        ("half_92k", None),
    ],
)
def test_names_of_train_sets(name: str, earlier: str | None) -> None:
    assert earlier_name(name) == earlier


def test_earlier_sets_stand_after_filtered_in_the_order_of_appearance() -> None:
    given = [
        "single_pass_linear",
        "filtered_z",
        "full",
        "random_a",
        "filtered_a",
        "random_z",
        "random_matched",
        "filtered",
    ]
    assert in_order([*given, *given]) == (
        *(
            "full",
            "random_matched",
            "filtered",
            "random_z",
            "filtered_z",
            "random_a",
            "filtered_a",
            "single_pass_linear",
        ),
    )
    assert in_order(reversed(TRAIN_SETS)) == TRAIN_SETS


def test_tables_show_earlier_sets_as_rows_of_their_own(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    extra = tuple(Cell("p", name, "a", 0, 60, "not run") for name in ("filtered_60", "random_60", "single_pass_model"))
    data = make_by_hand(cells=(*by_hand.cells, *extra))
    order = ["full", "random", "filtered", "random_60", "filtered_60", "single_pass_model"]
    assert [train_set for _, train_set, _ in data.cell_groups("a")] == order * 2
    assert [train_set for _, train_set, _ in data.cell_groups("b")] == order[:3] * 2
    assert [row.headings[0] for row in ZERO_SHOT.tables(analyse(data))[0].rows if not row.apart] == order


def test_train_sets_are_explained() -> None:
    assert train_set_meaning("filtered") == "the rows that filtering kept"
    assert train_set_meaning("weighted").startswith("the rows of full, each row's loss multiplied by its weight")
    assert train_set_meaning("random_92k") == (
        "as many rows as filtered_92k has, drawn at random from full (from sampled if a sample is filtered)"
    )
    assert train_set_meaning("filtered_92k").startswith("the rows left when the filter had come down to the number")


def test_filtered_sets_are_compared_with_full_and_with_their_random_rows() -> None:
    assert compared_pairs(["full", "random", "filtered", "random_x", "filtered_x", "single_pass_linear"]) == [
        ("filtered", "full"), ("filtered", "random"), ("filtered_x", "full"), ("filtered_x", "random_x"),
    ]  # fmt: skip
    assert compared_pairs(["random", "filtered", "filtered_x", "random_y", "random_matched"]) == [
        ("filtered", "random_matched"), ("filtered", "random"),
    ]  # fmt: skip
    assert compared_pairs(["weighted", "full", "filtered"]) == [("weighted", "full"), ("filtered", "full")]
    assert compared_pairs(["weighted", "random"]) == []
    assert compared_pairs(["filtered", "random_matched"]) == [("filtered", "random_matched")]


@pytest.mark.parametrize(
    ("train_set", "names", "control"),
    [
        ("filtered", ["full", "random", "filtered"], "random"),
        ("filtered", ["full", "random", "filtered", "random_matched"], "random_matched"),
        ("filtered_x", ["random", "filtered_x", "random_matched", "random_x"], "random_x"),
    ],
)
def test_the_control_has_the_class_sizes_of_filtered(train_set: str, names: list[str], control: str) -> None:
    assert control_of(train_set, names) == control
