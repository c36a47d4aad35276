"""Which rows a verdict says to use, from planted accuracies of `linear` on its test sets."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.rules.dataset_verdict import dataset_verdict
from aflite_assets.reports.sentences.first_screen import first_screen
from aflite_assets.reports.sentences.verdict import verdict_texts
from tests.planted_leanings import leaning_inputs
from tests.planted_reports import done_cell, hans
from tests.reports.sentences.test_verdict import MEND, WORD, started, verdict_text, with_shortcut

Shares = Mapping[str, tuple[float, float, float]]

BEATEN: Shares = {"full": (0.9, 0.6, 0.9), "random": (0.86, 0.55, 0.53), "filtered": (0.8, 0.7, 0.64)}
"""On hans filtered is better than random, and all rows are better still."""

OTHER = replace(hans(), name="other")
SIZES = {"full": 1_200, "random": 400, "random_matched": 400, "filtered": 400}


def trained(sets: tuple[TestSet, ...], shares: Shares, seeds: Mapping[str, int]) -> list[Cell]:
    return [
        done_cell(sets, share, evaluator="linear", train_set=name, seed=seed, train_rows=SIZES[name])
        for name, share in shares.items()
        for seed in range(seeds.get(name, 3))
    ]


def with_a_cue(
    planted: BenchmarkData,
    shares: Shares,
    *,
    other: TestSet | None = None,
    on_other: Mapping[str, float] | None = None,
    seeds: Mapping[str, int] | None = None,
) -> BenchmarkData:
    """`linear` with these shares right, a cue that is shown, and perhaps another challenge set."""
    seeds = seeds or {}
    cells = trained(planted.test_sets, shares, seeds)
    data = replace(planted, cells=tuple(cells))
    if other is not None and on_other is not None:
        there = trained((other,), {name: (0.0, 0.0, share) for name, share in on_other.items()}, seeds)
        both = zip(cells, there, strict=True)
        joined = (replace(a, predictions=pa.concat_tables([a.predictions, b.predictions])) for a, b in both)
        data = replace(planted, cells=tuple(joined), test_sets=(*planted.test_sets, other))
    return with_shortcut(started(data), WORD)


def use(data: BenchmarkData) -> str:
    """The advice on rows; if there is a shortcut, that on the data comes first."""
    said, shortcut = verdict_text(data, "roberta").details[-1].text, verdict_text(data, "roberta").code
    assert said.startswith(MEND) == shortcut.startswith("shortcut_found")
    return said.replace(MEND, "Use: ")


@pytest.mark.parametrize(
    "shares",
    [
        {"full": (0.9, 0.6, 0.67), "random": (0.86, 0.55, 0.53), "filtered": (0.8, 0.7, 0.64)},
        {"random": (0.86, 0.55, 0.53), "filtered": (0.8, 0.7, 0.64)},
    ],
    ids=["all rows as good", "all rows never trained on"],
)
def test_filtered_is_not_advised_without_a_comparison_with_all_rows(planted: BenchmarkData, shares: Shares) -> None:
    data = with_a_cue(planted, shares)
    assert verdict_text(data, "roberta").code == "shortcut_found_helps"
    assert use(data) == (
        "Use: filtered rather than as many random rows, since it is better on “hans”. No difference from all rows is "
        "shown there."
    )


def test_one_training_on_all_rows_shows_nothing_against_them(planted: BenchmarkData) -> None:
    shares = {"full": (0.9, 0.6, 0.4), "random": (0.86, 0.55, 0.53), "filtered": (0.8, 0.7, 0.64)}
    assert use(with_a_cue(planted, shares)) == (
        "Use: filtered to train for rows like those of “hans”, all rows if the shortcut holds where you apply it."
    )
    assert use(with_a_cue(planted, shares, seeds={"full": 1})).endswith("No difference from all rows is shown there.")


def test_a_challenge_set_where_all_rows_are_better_is_named_beside_one_where_filtered_is(
    planted: BenchmarkData,
) -> None:
    shares = {"full": (0.9, 0.6, 0.4), "random": (0.86, 0.55, 0.53), "filtered": (0.8, 0.7, 0.64)}
    found = with_a_cue(planted, shares, other=OTHER, on_other={"full": 0.9, "random": 0.6, "filtered": 0.65})
    assert use(found) == (
        "Use: filtered to train for rows like those of “hans”, all rows if the shortcut holds where you apply it. On "
        "“other” (25.0 points) all rows are better too."
    )


def test_without_a_shortcut_no_advice_speaks_of_one(planted: BenchmarkData) -> None:
    natural = {"full": (0.9, 0.6, 0.4), "random": (0.5, 0.4, 0.53), "filtered": (0.7, 0.7, 0.64)}
    data = replace(with_a_cue(planted, natural), leanings=())
    undeclared = tuple(replace(one, collected=None) for one in data.test_sets)
    assert verdict_text(replace(data, test_sets=undeclared), "roberta").code == "learnable_no_shortcut_shown"
    text = verdict_text(data, "roberta")
    assert text.code == "helps_no_shortcut_named"
    assert text.sentence.startswith(
        "Filtering helps, no shortcut named: Trained on filtered instead of random, “linear” gains 11.0 points on "
    )
    assert use(data) == "Use: filtered to train for rows like those of “hans”, all rows elsewhere."


def test_a_gain_on_a_set_of_unknown_origin_is_open_and_says_what_to_declare(planted: BenchmarkData) -> None:
    data = with_a_cue(planted, {"full": (0.9, 0.6, 0.4), "random": (0.5, 0.4, 0.53), "filtered": (0.7, 0.7, 0.64)})
    analysis = analyse(data)
    first = next(one for one in analysis.verdicts if one.representation == "roberta")
    undeclared = tuple(replace(one, constructed=False) for one in first.verdict.evidence.comparisons)
    verdict = dataset_verdict(replace(first.verdict.evidence, comparisons=undeclared))
    (text,) = verdict_texts(replace(analysis, verdicts=(replace(first, verdict=verdict),)))
    assert text.code == "shortcut_found"
    assert text.sentence.endswith(
        "Whether filtering helps is open: “linear” gains 11.0 points on “hans”; say in the file how “hans” came "
        "about (`collected`), because on rows that were chosen against one model any other model gains."
    )


ALL_ROWS = "Use: all rows for training, since they are better still on “hans”. "


def test_the_file_may_state_another_set_first_than_that_of_the_surest_gain(planted: BenchmarkData) -> None:
    better = {"full": 0.5, "random": 0.6, "filtered": 0.75}
    found = with_a_cue(planted, BEATEN, other=OTHER, on_other=better)
    assert use(found) == (
        "Use: filtered to train for rows like those of “other”, all rows if the shortcut holds where you apply it. On "
        "“hans” (26.0 points) all rows are better too."
    )
    named = replace(found, primary=("linear", "hans"))
    assert use(named) == (
        "Use: filtered if the shortcut is misleading in your application, as on “other” (25.0 points above all rows). "
        "Use all rows elsewhere: on “hans” they are better still."
    )
    one_seed = with_a_cue(planted, BEATEN, other=OTHER, on_other=better, seeds={"full": 1})
    assert "above all rows" not in use(one_seed)
    names = ("entailment", "non-entailment")
    tiny = TestSet("tiny", True, np.arange(5), np.arange(5) % 2, names, {}, {}, np.array([0, 1, 1]))
    few = with_a_cue(planted, BEATEN, other=tiny, on_other={"full": 0.2, "random": 0.2, "filtered": 1.0})
    assert use(few).startswith(ALL_ROWS)


def test_where_as_many_random_rows_are_better_filtered_is_not_advised(planted: BenchmarkData) -> None:
    data = with_a_cue(planted, BEATEN, other=OTHER, on_other={"full": 0.5, "random": 0.85, "filtered": 0.62})
    assert verdict_text(data, "roberta").code == "shortcut_found_mixed"
    assert use(data) == "Use: all rows for training, since they are better still on “hans”."
    gained = {**BEATEN, "full": (0.9, 0.6, 0.4)}
    data = with_a_cue(planted, gained, other=OTHER, on_other={"full": 0.5, "random": 0.85, "filtered": 0.62})
    assert verdict_text(data, "roberta").code == "shortcut_found_mixed"
    assert use(data) == "Use: all rows for training, unless rows like those of “hans” are what matters to you."


def test_another_set_is_named_where_nothing_is_shown_against_all_rows_on_the_first(planted: BenchmarkData) -> None:
    shares = {"full": (0.9, 0.6, 0.67), "random": (0.86, 0.55, 0.53), "filtered": (0.8, 0.7, 0.64)}
    data = with_a_cue(planted, shares, other=OTHER, on_other={"full": 0.5, "random": 0.6, "filtered": 0.75})
    assert use(replace(data, primary=("linear", "hans"))) == (
        "Use: filtered if the shortcut is misleading in your application, as on “other” (25.0 points above all "
        "rows). On “hans” no difference from all rows is shown."
    )


LOADS = 'load_dataset("<dataset folder>", "filtered")'
MIXED = {"full": 0.5, "random": 0.85, "filtered": 0.62}


def test_the_first_screen_advises_no_filtered_rows_where_all_rows_are_better_still(planted: BenchmarkData) -> None:
    for data in (with_a_cue(planted, BEATEN), with_a_cue(planted, BEATEN, other=OTHER, on_other=MIXED)):
        screen = first_screen(analyse(data), from_files=True)
        assert "Until then use all rows for training, since they are better still on “hans”." in screen.to_do
        assert screen.command == ""
    shares = {"full": (0.9, 0.6, 0.9), "random": (0.5, 0.4, 0.53), "filtered": (0.7, 0.7, 0.64)}
    unnamed = replace(with_a_cue(planted, shares), leanings=())
    screen = first_screen(analyse(unnamed), from_files=True)
    assert screen.badge == "Filtering helps"
    assert screen.to_do.startswith("Use all rows for training, since they are better still on “hans”.")
    assert screen.command == ""


def test_a_higher_accuracy_on_the_own_test_rows_is_no_price(planted: BenchmarkData) -> None:
    shares = {"full": (0.7, 0.5, 0.4), "random": (0.7, 0.5, 0.53), "filtered": (0.8, 0.7, 0.64)}
    screen = first_screen(analyse(with_a_cue(planted, shares)), from_files=True)
    assert screen.to_do.endswith(
        "is for applications whose rows look like “hans”: “linear” is right on 64.0 instead of 40.0 %, and on “test” "
        "76.0 instead of 62.0 %."
    )
    assert screen.command == LOADS


def test_a_set_that_the_file_states_first_is_not_called_gained_if_it_is_open(planted: BenchmarkData) -> None:
    shares = {"full": (0.9, 0.6, 0.6), "random": (0.86, 0.55, 0.6), "filtered": (0.8, 0.7, 0.6)}
    data = with_a_cue(planted, shares, other=OTHER, on_other={"full": 0.75, "random": 0.6, "filtered": 0.75})
    named = replace(data, primary=("linear", "hans"))
    assert use(named) == use(data)
    assert use(named) == (
        "Use: filtered rather than as many random rows, since it is better on “other”. No difference from all rows is "
        "shown there."
    )


def test_a_set_that_is_too_small_to_judge_is_not_stated_before_one_that_was_judged(planted: BenchmarkData) -> None:
    tiny = replace(hans(8), name="tiny")
    data = with_a_cue(planted, OPEN, other=tiny, on_other=dict.fromkeys(OPEN, 0.5))
    *natural, whole, small = data.test_sets
    for primary in (None, ("linear", "tiny")):
        turned = replace(data, test_sets=(*natural, small, whole), primary=primary)
        said = verdict_text(turned, "roberta").sentence
        assert "Whether filtering helps is not shown: linear on hans, 0.0 points [" in said


OPEN: Shares = {"full": (0.9, 0.6, 0.6), "random": (0.86, 0.6, 0.6), "filtered": (0.86, 0.6, 0.6)}
PLAIN = "Use: all rows for training, since the filtered rows are not shown to be better."
TEST_TOO = " To see how much a model leans on the shortcut, test it on the filtered test rows too."


def without_filtered_test_rows(data: BenchmarkData) -> BenchmarkData:
    return replace(data, test_sets=tuple(replace(one, kept={}) for one in data.test_sets))


def test_the_surest_gain_is_stated_first(planted: BenchmarkData) -> None:
    data = with_a_cue(planted, OPEN, other=OTHER, on_other={"full": 0.5, "random": 0.5, "filtered": 0.75})
    assert verdict_text(data, "roberta").code == "shortcut_found_helps"
    assert use(data) == (
        "Use: filtered to train for rows like those of “other”, all rows if the shortcut holds where you apply it."
    )
    assert use(with_a_cue(planted, OPEN)) == PLAIN + TEST_TOO


def test_filtered_test_rows_are_advised_only_where_there_are_some(planted: BenchmarkData) -> None:
    data = with_a_cue(planted, OPEN)
    assert use(without_filtered_test_rows(data)) == PLAIN
    whole = tuple(
        one if one.challenge else replace(one, kept={"roberta": np.ones(len(one.row_ids), bool)})
        for one in data.test_sets
    )
    assert use(replace(data, test_sets=whole)) == PLAIN
    harmed = with_a_cue(planted, {**OPEN, "filtered": (0.86, 0.6, 0.4)})
    assert verdict_text(harmed, "roberta").code == "shortcut_found_harms"
    assert use(harmed) == f"Use: all rows for training.{TEST_TOO}"
    assert use(without_filtered_test_rows(harmed)) == "Use: all rows for training."
    behind = with_a_cue(planted, BEATEN)
    assert use(behind).endswith(
        "if you cannot train on more rows than that, and to test models that lean on the shortcut."
    )
    assert use(without_filtered_test_rows(behind)).endswith(
        "Use filtered only if you cannot train on more rows than that."
    )
    pooled = tuple(replace(one, kept={}, pooled=True) for one in data.test_sets if not one.challenge)
    assert use(replace(data, test_sets=pooled)) == (
        "Use: all rows for training. Whether other rows are better cannot be judged: there is no challenge set; add "
        "one in which a shortcut is absent or misleads."
    )


def test_where_nothing_was_removed_nothing_is_said_of_what_was_kept(planted: BenchmarkData) -> None:
    (filtered,) = planted.filtered
    rows = filtered.rows.set_column(3, "kept", pa.array(np.ones(1_200, bool)))
    rows = rows.set_column(4, "removed_in_iteration", pa.nulls(1_200, pa.int64()))
    cells = tuple(cell for cell in planted.cells if cell.train_set == "full")
    data = started(replace(planted, filtered=(replace(filtered, rows=rows),), cells=cells))
    text = verdict_text(data, "roberta")
    assert text.code == "learnable_no_shortcut_shown"
    assert text.details[1].text.startswith("Nothing was removed; filtered is the whole set")
    assert use(data) == "Use: all rows. Nothing was removed, so there is no other train set to compare."


@pytest.mark.parametrize(
    ("random", "said"),
    [(0.63, " The same number of plain random rows is not shown to be worse there: try it first."), (0.53, "")],
)
def test_plain_random_rows_that_do_as_well_are_named(planted: BenchmarkData, random: float, said: str) -> None:
    shares = {
        "full": (0.9, 0.6, 0.4),
        "random": (0.86, 0.55, random),
        "random_matched": (0.86, 0.55, 0.53),
        "filtered": (0.8, 0.7, 0.64),
    }
    assert use(with_a_cue(planted, shares)) == (
        "Use: filtered to train for rows like those of “hans”, all rows if the shortcut holds where you apply it."
        f"{said}"
    )


def test_nothing_is_called_a_shortcut_that_was_not_found_to_be_one(planted: BenchmarkData) -> None:
    data = with_a_cue(planted, OPEN)
    data = replace(data, leanings=(leaning_inputs(data, reason=None),))
    assert verdict_text(data, "roberta").code == "leans_on"
    assert use(data) == (
        f"{PLAIN} To see how much a model leans on the attribute mark, test it on the filtered test rows too."
    )
