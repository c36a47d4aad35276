"""Rules that one half of the rows suggests: shares, ranges, pairs, and their names."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aflite_assets.scan.properties.records import (
    MISSING_BIN,
    Categories,
    Flags,
    Number,
    Properties,
    flags_of,
    info_of,
    number_of,
)
from aflite_assets.scan.rows import NO_CLASS
from aflite_assets.scan.rules import (
    ClassCounts,
    Condition,
    Rule,
    best_ranges,
    best_values,
    carriers,
    choose_rules,
    fitted,
    name_of,
)


def _counts(labels: np.ndarray) -> ClassCounts:
    return ClassCounts(labels, np.unique(labels), int(labels.max()) + 1)


def _number(values: np.ndarray, name: str = "x") -> Number:
    found = number_of(info_of("column", name), values)
    assert found is not None
    return found


def _properties(*numbers: Number, flags: Flags | None = None, rows: int) -> Properties:
    return Properties(flags or flags_of([], rows=rows), numbers)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=4, max_size=40))
def test_no_other_range_tells_more(rows: list[tuple[int, bool]]) -> None:
    values, labels = np.array([value for value, _ in rows], float), np.array([own for _, own in rows], np.int64)
    if len(np.unique(labels)) < 2 or len(np.unique(values)) < 2:
        return
    number = _number(values)
    found = {
        label: strength for label, _, _, strength in best_ranges(number, np.arange(len(rows)), labels, _counts(labels))
    }
    for label, strength in found.items():
        own = labels == label
        every = [
            (inside := (values >= low) & (values <= high))[own].mean() - inside[~own].mean()
            for low in np.unique(values)
            for high in np.unique(values)
            if low <= high
        ]
        assert strength == pytest.approx(max(every))


@pytest.mark.parametrize("seed", range(5))
def test_the_reported_range_of_a_rare_class_is_not_extended_by_chance(seed: int) -> None:
    """Of 300 rows of the class and 5,700 others, 30 and 5 % have a number from one hundredth of all numbers."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(6_000) < 300).astype(np.int64)
    has = rng.random(6_000) < np.where(labels == 1, 0.3, 0.05)
    values = np.where(has, rng.integers(250_000, 255_000, 6_000), rng.integers(0, 500_000, 6_000)).astype(float)
    number, rows, counts = _number(values, "record_no"), np.arange(6_000), _counts(labels)
    rule = Rule(1, (Condition("number", 0),), 0.2)
    chosen = carriers(fitted(rule, _properties(number, rows=6_000), rows, counts), _properties(number, rows=6_000))
    assert (chosen & has).sum() / (chosen | has).sum() > 0.7


def test_a_range_has_the_ends_of_its_rows_and_missing_values_are_outside() -> None:
    values = np.arange(400, dtype=float)
    labels = ((values >= 120) & (values <= 189)).astype(np.int64)
    values[150] = np.nan
    properties = _properties(_number(values, "record_no"), rows=400)
    rule = next(rule for rule in choose_rules(properties, np.arange(400), _counts(labels)) if rule.label == 1)
    whole = fitted(rule, properties, np.arange(400), _counts(labels))
    assert name_of(whole, properties) == "record_no from 120 to 189"
    assert np.flatnonzero(carriers(whole, properties)).tolist() == [row for row in range(120, 190) if row != 150]
    assert rule.strength == pytest.approx(69 / 70)


@pytest.mark.parametrize(
    ("first", "last", "name"),
    [(0, 99, "x at most 99"), (300, 399, "x at least 300"), (7, 7, "x = 7"), (100, 149, "x from 100 to 149")],
)
def test_names_of_ranges(first: int, last: int, name: str) -> None:
    values = np.arange(400, dtype=float)
    labels = ((values >= first) & (values <= last)).astype(np.int64)
    properties = _properties(_number(values), rows=400)
    rule = next(rule for rule in choose_rules(properties, np.arange(400), _counts(labels)) if rule.label == 1)
    assert name_of(rule, properties) == name


def test_a_range_of_nearly_all_numbers_is_no_rule() -> None:
    """It would say no more than that the number is given."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 600)
    values = np.where(rng.random(600) < np.where(labels == 1, 0.5, 0.05), np.nan, 1.0 * rng.integers(0, 3, 600))
    rules = choose_rules(_properties(_number(values), rows=600), np.arange(600), _counts(labels))
    assert all(part.low > 0 or part.high < 2 for rule in rules for part in rule.parts)


def test_of_many_classes_lacking_a_property_is_a_rule_too() -> None:
    labels = np.repeat(np.arange(4), 100)
    has = (labels != 2) & (np.arange(400) % 5 > 0)
    flags = flags_of([(info_of("words", "the word", absent="not the word"), has)], rows=400)
    properties = _properties(flags=flags, rows=400)
    names = {
        (rule.label, name_of(rule, properties)) for rule in choose_rules(properties, np.arange(400), _counts(labels))
    }
    assert (2, "not the word") in names
    assert {label for label, name in names if name == "the word"} == {0, 1, 3}


def test_rows_without_a_class_are_no_third_class() -> None:
    labels = np.repeat([0, 1, NO_CLASS], [200, 200, 1])
    has = (labels == 0) & (np.arange(401) % 5 > 0)
    properties = _properties(flags=flags_of([(info_of("words", "the word"), has)], rows=401), rows=401)
    rules = choose_rules(properties, np.arange(400), ClassCounts(labels, np.arange(2), 2))
    assert [(rule.label, name_of(rule, properties)) for rule in rules] == [(0, "the word")]


def test_a_pair_that_tells_more_than_either_is_a_rule() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 2_000)) < 0.5
    labels = np.where(first & second, rng.random(2_000) < 0.9, rng.random(2_000) < 0.2).astype(np.int64)
    flags = flags_of([(info_of("words", "one"), first), (info_of("words", "two"), second)], rows=2_000)
    properties = _properties(flags=flags, rows=2_000)
    rules = choose_rules(properties, np.arange(2_000), _counts(labels))
    pair = next(rule for rule in rules if len(rule.parts) == 2)
    assert name_of(pair, properties) == "one and two"
    assert (carriers(pair, properties) == (first & second)).all()
    assert pair.strength > 0.1 + max(rule.strength for rule in rules if len(rule.parts) == 1)


def test_numbers_of_many_values_are_cut_at_quantiles_and_keep_their_ends() -> None:
    values = np.random.default_rng(0).normal(size=10_000)
    number = _number(values)
    assert number.bins == 512
    assert (number.lows[0], number.highs[-1]) == (values.min(), values.max())
    inside = number.codes == 7
    assert (values[inside].min(), values[inside].max()) == (number.lows[7], number.highs[7])
    assert number_of(info_of("column", "x"), np.full(9, 3.0)) is None


def _column(codes: np.ndarray, values: int) -> Categories:
    return Categories(info_of("column", "desk"), codes.astype(np.int32), tuple(f"'{place}'" for place in range(values)))


def test_values_that_stand_out_are_chosen_those_that_tell_the_most_first() -> None:
    """Of 100 rows each, class 1 has 90 with value 0, 60 with 1, 20 with 2 and 3, and 10 without a frequent value."""
    codes = np.repeat([0, 1, 2, 3, MISSING_BIN], 100)
    labels = np.concatenate([np.arange(100) < own for own in (90, 60, 20, 20, 10)]).astype(np.int64)
    rows, column = np.arange(500), _column(codes, 4)
    found = {
        label: (values, strength) for label, values, strength in best_values(column, rows, labels, _counts(labels))
    }
    assert [found[label][0] for label in (0, 1)] == [(2, 3), (0, 1)]
    assert found[1][1] == pytest.approx(150 / 200 - 50 / 300)
    assert found[0][1] == pytest.approx(160 / 300 - 40 / 200)
    properties = Properties(flags_of([], rows=500), (), (column,))
    assert len(properties) == 1
    rule = next(rule for rule in choose_rules(properties, rows, _counts(labels)) if rule.label == 1)
    assert name_of(rule, properties) == "desk is '0' or '1'"
    assert np.flatnonzero(carriers(rule, properties)).tolist() == list(range(200))
    other = replace(rule, parts=(replace(rule.parts[0], values=(3, 2)),))
    assert fitted(other, properties, rows, _counts(labels)) == replace(rule, parts=rule.parts)


def test_several_values_are_no_rule_where_one_tells_nearly_as_much() -> None:
    codes = np.repeat([0, 1, 2], [400, 20, 400])
    labels = np.concatenate([np.arange(400) < 320, np.arange(20) < 16, np.arange(400) < 80]).astype(np.int64)
    column = _column(codes, 3)
    flags = flags_of([(info_of("column", "desk = '0'", source="desk"), codes == 0)], rows=820)
    column = replace(column, info=replace(column.info, source="desk"))
    properties = Properties(flags, (), (column,))
    rules = choose_rules(properties, np.arange(820), _counts(labels))
    assert {name_of(rule, properties) for rule in rules if rule.label == 1} == {"desk = '0'"}
    assert best_values(column, np.arange(820), labels, _counts(labels))[0][1] == (0, 1)


def test_a_name_lists_five_of_many_values() -> None:
    codes = np.arange(1_000) % 20
    labels = (codes < 8).astype(np.int64)
    properties = Properties(flags_of([], rows=1_000), (), (_column(codes, 20),))
    rule = next(rule for rule in choose_rules(properties, np.arange(1_000), _counts(labels)) if rule.label == 1)
    assert name_of(rule, properties) == "desk is one of 8 values: '0', '1', '2', '3', '4' …"
