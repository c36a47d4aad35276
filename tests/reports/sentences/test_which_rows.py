"""Which rows a verdict says to use, from planted accuracies of `linear` on its test sets."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.reports.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.reports.sentences.verdict import verdict_text
from tests.reports.conftest import done_cell, hans
from tests.reports.sentences.test_verdict import WORD, started, with_cues

Shares = Mapping[str, tuple[float, float, float]]

BEATEN: Shares = {"full": (0.9, 0.6, 0.9), "random": (0.86, 0.55, 0.53), "filtered": (0.8, 0.7, 0.64)}
"""On hans filtered is better than random, and all rows are better still."""

OTHER = replace(hans(), name="other")
SIZES = {"full": 1_200, "random": 400, "filtered": 400}


def trained(sets: tuple[TestSet, ...], shares: Shares, seeds: Mapping[str, int]) -> list[Cell]:
    return [
        done_cell(sets, share, evaluator="linear", train_set=name, seed=seed, train_rows=SIZES[name])
        for name, share in shares.items()
        for seed in range(seeds.get(name, 3))
    ]


def marked(
    planted: BenchmarkData,
    shares: Shares,
    *,
    other: TestSet | None = None,
    on_other: Mapping[str, float] | None = None,
    seeds: Mapping[str, int] | None = None,
) -> BenchmarkData:
    """`linear` with these shares right, a mark that is shown, and perhaps another challenge set."""
    seeds = seeds or {}
    cells = trained(planted.test_sets, shares, seeds)
    data = replace(planted, cells=tuple(cells))
    if other is not None and on_other is not None:
        there = trained((other,), {name: (0.0, 0.0, share) for name, share in on_other.items()}, seeds)
        both = zip(cells, there, strict=True)
        joined = (replace(a, predictions=pa.concat_tables([a.predictions, b.predictions])) for a, b in both)
        data = replace(planted, cells=tuple(joined), test_sets=(*planted.test_sets, other))
    return with_cues(started(data), WORD)


def use(data: BenchmarkData) -> str:
    return verdict_text(data, "roberta").details[-1].text


@pytest.mark.parametrize(
    "shares",
    [
        {"full": (0.9, 0.6, 0.67), "random": (0.86, 0.55, 0.53), "filtered": (0.8, 0.7, 0.64)},
        {"random": (0.86, 0.55, 0.53), "filtered": (0.8, 0.7, 0.64)},
    ],
    ids=["all rows as good", "all rows never trained on"],
)
def test_filtered_is_not_advised_without_a_comparison_with_all_rows(planted: BenchmarkData, shares: Shares) -> None:
    data = marked(planted, shares)
    assert verdict_text(data, "roberta").code == "shortcut_found_helps"
    assert use(data) == (
        "Use: filtered rather than as many random rows, since it is better on “hans”. Against all rows nothing is "
        "shown there."
    )


def test_one_training_on_all_rows_shows_nothing_against_them(planted: BenchmarkData) -> None:
    shares = {"full": (0.9, 0.6, 0.4), "random": (0.86, 0.55, 0.53), "filtered": (0.8, 0.7, 0.64)}
    assert use(marked(planted, shares)).startswith(
        "Use: filtered for training where the shortcut is absent or misleads"
    )
    assert use(marked(planted, shares, seeds={"full": 1})).endswith("Against all rows nothing is shown there.")


@pytest.mark.parametrize(
    ("full", "said"),
    [
        ((0.7, 0.7, 0.6), ", and than all rows."),
        ((0.99, 0.99, 0.6), "; all rows are better still."),
        ((0.9, 0.9, 0.6), "; against all rows nothing is shown."),
    ],
)
def test_rows_of_the_same_data_say_nothing_of_where_the_shortcut_misleads(
    planted: BenchmarkData, full: tuple[float, float, float], said: str
) -> None:
    shares = {"full": full, "random": (0.7, 0.5, 0.6), "filtered": (0.9, 0.9, 0.6)}
    data = replace(marked(planted, shares), primary=("linear", "test"))
    assert verdict_text(data, "roberta").code == "shortcut_found_helps"
    assert use(data) == (
        f"Use: on “test” filtered is better than as many random rows{said} These rows were drawn from the same data: a "
        "challenge set would show more."
    )


ALL_ROWS = "Use: all rows for training, since they are better still on “hans”. "


def test_where_all_rows_are_worse_is_asked_of_sets_that_can_tell(planted: BenchmarkData) -> None:
    better = {"full": 0.5, "random": 0.6, "filtered": 0.75}
    found = marked(planted, BEATEN, other=OTHER, on_other=better)
    assert use(found) == (
        "Use: filtered for training where the shortcut misleads, as on “other” (25.0 points above all rows). Use all "
        "rows elsewhere: on “hans” they are better still."
    )
    one_seed = marked(planted, BEATEN, other=OTHER, on_other=better, seeds={"full": 1})
    assert "above all rows" not in use(one_seed)
    names = ("entailment", "non-entailment")
    tiny = TestSet("tiny", True, np.arange(5), np.arange(5) % 2, names, {}, {}, np.array([0, 1, 1]))
    few = marked(planted, BEATEN, other=tiny, on_other={"full": 0.2, "random": 0.2, "filtered": 1.0})
    assert use(few).startswith(ALL_ROWS)


def test_where_as_many_random_rows_are_better_filtered_is_not_advised(planted: BenchmarkData) -> None:
    data = marked(planted, BEATEN, other=OTHER, on_other={"full": 0.5, "random": 0.85, "filtered": 0.62})
    assert use(data).startswith(ALL_ROWS)


def test_another_set_is_named_where_nothing_is_shown_against_all_rows_on_the_first(planted: BenchmarkData) -> None:
    shares = {"full": (0.9, 0.6, 0.67), "random": (0.86, 0.55, 0.53), "filtered": (0.8, 0.7, 0.64)}
    data = marked(planted, shares, other=OTHER, on_other={"full": 0.5, "random": 0.6, "filtered": 0.75})
    assert use(data) == (
        "Use: filtered for training where the shortcut misleads, as on “other” (25.0 points above all rows). On “hans” "
        "nothing is shown against all rows."
    )
