"""Which cues are one, which of several names leads, and which cue explains another."""

from dataclasses import replace

import numpy as np
import pytest

from aflite_assets.scan.merging import Found, in_order, jaccard, merged
from aflite_assets.scan.rules import Condition, Rule

ROWS = 1_000
RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 2, ROWS)
STRONG = RNG.random(ROWS) < np.where(LABELS == 1, 0.6, 0.1)


def _found(
    carriers: np.ndarray, name: str, *, artefact: bool = False, label: int = 1, index: int = 0, kind: str = "words"
) -> Found:
    inside = np.equal(LABELS, label)
    balanced = 0.5 + float(carriers[inside].mean() - carriers[~inside].mean()) / 2
    rule = Rule(label, (Condition("flag", index),), 0.3)
    return Found(rule, name, kind, carriers, artefact, balanced, balanced - 0.03, balanced + 0.03, 0.001)


def _with_errors(carriers: np.ndarray, share: float) -> np.ndarray:
    return carriers ^ (np.random.default_rng(1).random(ROWS) < share)


def test_jaccard_by_hand() -> None:
    assert jaccard(np.array([True, True, False]), np.array([True, False, True])) == pytest.approx(1 / 3)
    assert jaccard(np.zeros(3, bool), np.zeros(3, bool)) == 0.0


def test_nearly_the_same_rows_are_one_cue_and_the_artefact_leads() -> None:
    cues = merged(
        [_found(STRONG, "the words", index=0), _found(_with_errors(STRONG, 0.02), "a dash", artefact=True, index=1)],
        is_binary=True,
    )
    ((lead, same),) = cues
    assert lead.name == "a dash"
    assert [one.name for one in same] == ["the words"]


def test_of_two_classes_the_opposite_is_the_same_cue_and_of_more_it_is_not() -> None:
    both = [_found(STRONG, "has"), _found(~STRONG, "lacks", label=0, index=1)]
    assert len(merged(both, is_binary=True)) == 1
    assert len(merged(both, is_binary=False)) == 2


def test_of_a_range_and_its_opposite_the_one_with_fewer_rows_leads() -> None:
    few, many = _found(STRONG, "x at most 5"), _found(~STRONG, "x at least 6", label=0)
    few, many = (replace(one, rule=Rule(one.rule.label, (Condition("number", 4),), 0.3)) for one in (few, many))
    ((lead, same),) = merged([replace(many, balanced=many.balanced + 0.02), few], is_binary=True)
    assert (lead.name, lead.rule.label) == ("x at most 5", 1)
    assert [one.name for one in same] == ["x at least 6"]


def test_a_noisy_copy_is_explained_and_an_independent_cue_is_not() -> None:
    other = np.random.default_rng(5).random(ROWS) < np.where(LABELS == 1, 0.5, 0.2)
    cues = [
        _found(_with_errors(STRONG, 0.15), "copy", index=2),
        _found(other, "independent", index=1),
        _found(STRONG, "strong"),
    ]
    ordered, by = in_order([(cue, []) for cue in cues], LABELS, np.arange(ROWS))
    assert [lead.name for lead, _ in ordered] == ["strong", "independent", "copy"]
    assert by == [None, None, 0]


def test_the_order_in_the_file_explains_nothing_but_order() -> None:
    perfect = _found(LABELS == 1, "row number is 0 modulo 2", artefact=True, kind="order")
    half = _found(
        (LABELS == 1) & (np.arange(ROWS) % 2 == 0), "row number is 0 modulo 4", artefact=True, kind="order", index=1
    )
    ordered, by = in_order([(perfect, []), (half, []), (_found(STRONG, "words", index=2), [])], LABELS, np.arange(ROWS))
    assert [lead.name for lead, _ in ordered] == ["row number is 0 modulo 2", "words", "row number is 0 modulo 4"]
    assert by == [None, None, 0]


def test_words_are_named_before_letters_that_tell_about_as_much() -> None:
    word, letters = (
        _found(_with_errors(STRONG, 0.02), "the word 'two' (text)"),
        _found(STRONG, "begins with 'Tw' (text)"),
    )
    assert letters.balanced - 0.03 < word.balanced < letters.balanced
    ((lead, same),) = merged([letters, word], is_binary=True)
    assert [lead.name, *(one.name for one in same)] == ["the word 'two' (text)", "begins with 'Tw' (text)"]
    weaker = _found(_with_errors(STRONG, 0.12), "the word 'two' (text)")
    assert merged([letters, weaker], is_binary=True)[0][0].name == "begins with 'Tw' (text)"


def test_letters_at_an_end_come_after_words_in_the_order_of_a_report() -> None:
    rng = np.random.default_rng(5)
    word, letters = (rng.random(ROWS) < np.where(LABELS == 1, share, 0.1) for share in (0.50, 0.53))
    cues = merged(
        [_found(letters, "ends with 'ly' (text)"), _found(word, "the word 'two' (text)", index=1)], is_binary=True
    )
    ordered, _ = in_order(cues, LABELS, np.arange(ROWS))
    assert [lead.name for lead, _ in ordered] == ["the word 'two' (text)", "ends with 'ly' (text)"]


def test_a_value_of_a_column_goes_with_several_values_of_it() -> None:
    one_value = STRONG & (np.arange(ROWS) % 4 == 0)
    column = replace(_found(STRONG, "desk is 'a' or 'b'"), rule=Rule(1, (Condition("values", 0, values=(0, 1)),), 0.3))
    column, value = replace(column, source="desk"), replace(_found(one_value, "desk = 'a'"), source="desk")
    ((lead, same),) = merged([value, column], is_binary=True)
    assert (lead.name, [one.name for one in same]) == ("desk is 'a' or 'b'", ["desk = 'a'"])
    other = replace(value, source="site")
    assert len(merged([other, column], is_binary=True)) == 2
