"""Candidates of leaning on planted benchmarks: what is tested, what is told, and what is a shortcut."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from aflite_assets.analysis.comparisons.falls import challenge_falls
from aflite_assets.analysis.comparisons.leanings import best_skill, property_leanings
from aflite_assets.analysis.inputs.records import BenchmarkData
from tests.planted_leanings import leaning_inputs


def test_a_leaning_has_its_numbers(planted: BenchmarkData) -> None:
    (found,) = property_leanings(replace(planted, leanings=(leaning_inputs(planted),)))
    assert (found.name, found.evaluator, found.reason, found.points_to) == ("mark", "linear", "declared", ("neutral",))
    assert (found.pull, found.untied) == (pytest.approx(50.0, abs=0.1), pytest.approx(0.0))
    assert found.carriers >= 50
    assert (found.leans, found.shortcut, found.why) == (True, True, None)


def test_without_a_reason_it_is_no_shortcut(planted: BenchmarkData) -> None:
    (found,) = property_leanings(replace(planted, leanings=(leaning_inputs(planted, reason=None),)))
    assert (found.leans, found.shortcut) == (True, False)


def test_shortcuts_come_first_and_p_values_are_adjusted_together(planted: BenchmarkData) -> None:
    shortcut, other = leaning_inputs(planted), leaning_inputs(planted, reason=None)
    unseen = replace(shortcut, predicted={key: other.predicted["independent", key[1]] for key in other.predicted})
    found = property_leanings(replace(planted, leanings=(unseen, other, shortcut)))
    assert [(one.shortcut, one.leans) for one in found] == [(True, True), (False, True), (False, False)]
    assert all(one.adjusted_p is not None and one.p_value is not None for one in found)
    assert found[2].adjusted_p == 1.0


def test_what_is_lacking_is_said(planted: BenchmarkData) -> None:
    whole = leaning_inputs(planted)
    few = replace(
        whole, pointed={name: np.where(np.arange(len(one)) < 30, one, -1) for name, one in whole.pointed.items()}
    )
    cases = {
        "few carriers": few,
        "not trained": replace(whole, predicted={}),
        "few rows without the tie": replace(whole, predicted={}, too_few_rows=True),
        "no test set": replace(whole, pointed={}),
    }
    for why, one in cases.items():
        (found,) = property_leanings(replace(planted, leanings=(one,)))
        assert (found.why, found.leans, found.shortcut) == (why, None, False)


def test_a_declared_property_that_a_constructed_set_lacks_is_leant_on_if_models_fall_there(
    planted: BenchmarkData,
) -> None:
    """Of a cue without carriers outside its class no training tells, but a set that somebody made without it does."""
    natural = next(one for one in planted.test_sets if not one.challenge)
    clean = replace(next(one for one in planted.test_sets if one.challenge), collected="constructed")
    clean = replace(clean, label_names=natural.label_names, class_map=None)
    told = {natural.name: natural.labels, clean.name: np.full(len(clean.labels), -1)}
    one = replace(leaning_inputs(planted), pointed=told)
    (found,) = property_leanings(replace(planted, test_sets=(natural, clean), leanings=(one,)))
    falls = {each.evaluator: each for each in challenge_falls(replace(planted, test_sets=(natural, clean)))}
    assert falls[found.evaluator].named
    assert (found.fallen_on, found.fall, found.fall_of) == (clean.name, falls[found.evaluator].fall, "set")
    assert (found.carriers, found.pull, found.leans, found.shortcut) == (0, None, True, True)
    kept = replace(one, pointed={natural.name: natural.labels, clean.name: clean.labels})
    (few,) = property_leanings(replace(planted, test_sets=(natural, clean), leanings=(kept,)))
    assert (few.why, few.leans) == ("few carriers", None)  # models fall there, but not for want of the property
    unknown = replace(one, of=replace(one.of, reason=None))
    (open_,) = property_leanings(replace(planted, test_sets=(natural, clean), leanings=(unknown,)))
    assert (open_.why, open_.leans) == ("few carriers", None)


def test_falls_are_of_means_over_gold_labels_from_the_natural_set(planted: BenchmarkData) -> None:
    fall = next(one for one in challenge_falls(planted) if one.evaluator == "linear")
    assert (fall.natural_set, fall.test_set) == ("test", "hans")
    assert fall.fall == pytest.approx(100 * (fall.natural - fall.challenge))
    assert fall.low < fall.fall < fall.high
    assert fall.named
    collected = tuple(replace(one, collected="adversarially") if one.challenge else one for one in planted.test_sets)
    assert challenge_falls(replace(planted, test_sets=collected)) == ()


def test_the_skill_is_that_of_the_best_evaluator_over_chance(planted: BenchmarkData) -> None:
    skill = best_skill(planted)
    assert skill is not None
    assert (skill.holds_elsewhere, skill.property_skill) == (False, 0.0)
    best = max(one.natural for one in challenge_falls(planted))
    assert skill.skill == pytest.approx((best - 1 / 3) / (2 / 3), abs=0.01)
    assert skill.low < skill.skill


def test_paired_sets_on_which_an_evaluator_is_right_on_the_same_rows_are_alike(planted: BenchmarkData) -> None:
    natural, hans = (
        next(one for one in planted.test_sets if one.challenge is challenge) for challenge in (False, True)
    )
    copy = replace(hans, name="copy")
    cells = tuple(
        replace(cell, predictions=pa.concat_tables([cell.predictions, renamed(cell.predictions)]))
        for cell in planted.cells
        if cell.predictions is not None
    )
    falls = challenge_falls(replace(planted, test_sets=(natural, hans, copy), cells=cells))
    assert {(one.test_set, one.alike) for one in falls} == {("hans", ("copy",)), ("copy", ("hans",))}
    turned = replace(copy, labels=1 - hans.labels)
    assert all(
        one.alike == () for one in challenge_falls(replace(planted, test_sets=(natural, hans, turned), cells=cells))
    )


def renamed(predictions: pa.Table) -> pa.Table:
    """The predictions of hans as those of a copy."""
    own = predictions.filter(pc.equal(predictions["test_set"], "hans"))
    place = own.column_names.index("test_set")
    return own.set_column(place, "test_set", pa.array(["copy"] * own.num_rows))
