"""Accuracy by attribute on planted predictions: shares right, differences within classes, and harder rows."""

from dataclasses import replace

import numpy as np
import pytest

from aflite_assets.analysis.comparisons.attributes import (
    AttributeAccuracy,
    attribute_accuracies,
    harder_everywhere,
)
from aflite_assets.analysis.inputs.records import AttributeValues, BenchmarkData
from tests.planted_attributes import wood_benchmark
from tests.planted_leanings import leaning_inputs


def _found(data: BenchmarkData) -> dict[tuple[str, str], AttributeAccuracy]:
    return {(one.value, one.test_set): one for one in attribute_accuracies(data)}


def test_accuracies_are_those_of_the_rows_with_the_value(planted: BenchmarkData) -> None:
    found = _found(wood_benchmark(planted))
    assert {key: (one.test_rows, one.accuracy, one.set_rows) for key, one in found.items()} == {
        ("oak", "test"): (300, pytest.approx(0.5), 1200),
        ("oak", "plain"): (900, pytest.approx(0.5), 1200),
        ("pine", "test"): (900, pytest.approx(0.9), 1200),
        ("pine", "plain"): (300, pytest.approx(0.9), 1200),
    }
    oak, pine = found["oak", "test"], found["pine", "test"]
    assert (oak.difference, pine.difference) == (pytest.approx(-40.0), pytest.approx(40.0))
    assert (oak.low or 0.0) < -40.0 < (oak.high or 0.0) < 0
    assert (oak.harder, pine.harder) == (True, False)
    # two independent shares: 1.96 times the root of 0.5 x 0.5 / 300 + 0.9 x 0.1 / 900, in points
    assert ((oak.high or 0.0) - (oak.low or 0.0)) / 2 == pytest.approx(5.99, abs=0.1)


def test_groups_with_both_values_do_not_widen_the_interval(planted: BenchmarkData) -> None:
    """Rows of one group have both values, and right answers are spread evenly over the groups."""
    data = wood_benchmark(planted)
    natural = replace(data.test_sets[0], groups=np.arange(1200) // 4 % 30)
    grouped = _found(replace(data, test_sets=(natural, *data.test_sets[1:])))["oak", "test"]
    alone = _found(data)["oak", "test"]
    assert grouped.difference == pytest.approx(-40.0)
    assert (grouped.high or 0.0) - (grouped.low or 0.0) <= (alone.high or 0.0) - (alone.low or 0.0) + 1.0


def test_the_difference_is_within_classes(planted: BenchmarkData) -> None:
    """Rows of one class are harder, and oak is nearly only in this class: within classes there is no difference."""
    data = wood_benchmark(planted, oak={"test": 0.9, "plain": 0.9}, pine=0.9)
    natural = data.test_sets[0]
    hard = natural.labels == 0
    wood = np.where(hard & (np.arange(1200) % 4 < 3) | (np.arange(1200) % 24 == 4), "oak", "pine").astype(object)
    wrong = np.flatnonzero(hard & (np.arange(1200) % 8 < 4))
    cells = []
    for cell in data.cells:
        assert cell.predictions is not None
        predicted = cell.predictions["predicted"].to_numpy().copy()
        predicted[wrong] = 1
        table = cell.predictions.set_column(2, "predicted", [predicted])
        cells.append(replace(cell, predictions=table))
    values = {**data.attributes[0].values, "test": wood}
    changed = replace(data, cells=tuple(cells), attributes=(AttributeValues("wood", True, values),))
    found = _found(changed)
    oak, pine = found["oak", "test"], found["pine", "test"]
    assert (oak.accuracy or 0.0) < (pine.accuracy or 0.0) - 0.3
    assert oak.difference == pytest.approx(0.0, abs=0.1)
    assert oak.harder is False


def test_only_values_that_are_harder_in_every_set_are_harder_everywhere(planted: BenchmarkData) -> None:
    both = list(attribute_accuracies(wood_benchmark(planted)))
    ((first, second),) = harder_everywhere(both, "test")
    assert [(one.value, one.test_set) for one in (first, second)] == [("oak", "test"), ("oak", "plain")]
    here_only = wood_benchmark(planted, oak={"test": 0.5, "plain": 0.9})
    assert harder_everywhere(list(attribute_accuracies(here_only)), "test") == []
    there_only = wood_benchmark(planted, oak={"test": 0.9, "plain": 0.5})
    assert harder_everywhere(list(attribute_accuracies(there_only)), "test") == []


def test_rows_with_a_cue_of_one_class_are_not_harder_in_every_class(planted: BenchmarkData) -> None:
    """A value that models follow to its class makes rows of this class easier, and rows of other classes harder."""
    data = wood_benchmark(planted, oak={"test": 0.2, "plain": 0.2})
    own = (data.test_sets[0].labels == 0) & (data.attributes[0].values["test"] == "oak")
    cells = []
    for cell in data.cells:
        assert cell.predictions is not None
        predicted = cell.predictions["predicted"].to_numpy().copy()
        predicted[np.flatnonzero(own)] = 0
        cells.append(replace(cell, predictions=cell.predictions.set_column(2, "predicted", [predicted])))
    oak = _found(replace(data, cells=tuple(cells)))["oak", "test"]
    assert (oak.difference or 0.0) < -30
    assert (oak.below_in_all, oak.harder) == (False, False)


def test_attributes_with_many_values_need_a_name_in_the_scan_or_a_test_of_leaning(planted: BenchmarkData) -> None:
    data = wood_benchmark(planted)
    many = replace(data, attributes=(replace(data.attributes[0], few=False),))
    assert _found(many) == {}
    candidate = leaning_inputs(planted)
    named = replace(candidate, of=replace(candidate.of, name="wood"), pointed={}, predicted={})
    assert set(_found(replace(many, leanings=(named,)))) == set(_found(data))


def test_rare_values_and_sets_without_the_attribute_are_left_out(planted: BenchmarkData) -> None:
    data = wood_benchmark(planted)
    rare = data.attributes[0].values["test"].copy()
    rare[:20] = "elm"
    found = _found(replace(data, attributes=(AttributeValues("wood", True, {"test": rare}),)))
    assert set(found) == {("oak", "test"), ("pine", "test")}
    one_value = np.full(1200, "oak", dtype=object)
    assert _found(replace(data, attributes=(AttributeValues("wood", True, {"test": one_value}),))) == {}


def test_a_set_of_one_value_has_an_accuracy_but_no_difference(planted: BenchmarkData) -> None:
    data = wood_benchmark(planted)
    values = {**data.attributes[0].values, "plain": np.full(1200, "oak", dtype=object)}
    found = _found(replace(data, attributes=(AttributeValues("wood", True, values),)))
    assert (found["oak", "plain"].test_rows, found["oak", "plain"].difference) == (1200, None)
    assert (found["pine", "plain"].test_rows, found["pine", "plain"].status) == (0, "no rows")
    ((only,),) = harder_everywhere(list(found.values()), "test")
    assert only.test_set == "test"
