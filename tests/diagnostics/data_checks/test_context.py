from collections.abc import Callable

import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.data_checks.context import (
    CheckContext,
    SourceFacts,
    listed,
    not_applicable,
    quoted_text,
)
from aflite_assets.diagnostics.data_checks.input_checks import repeated_texts_grouped
from aflite_assets.diagnostics.data_checks.row_checks import few_repeats_in_train


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "'plain'"),
        ("<b>\x00\x1b\n\u202e", r"'<b>\x00\x1b\n\u202e'"),
        ("\ud800", r"'\ud800'"),
        ("x" * 80, f"'{'x' * 80}'"),
        ("x" * 81, f"'{'x' * 79}…'"),
    ],
)
def test_texts_of_the_data_are_short_and_print(text: str, shown: str) -> None:
    assert quoted_text(text) == shown
    assert quoted_text(text).isprintable()


def test_long_lists_are_cut() -> None:
    assert listed([]) == ""
    assert listed([1, 2]) == "1, 2"
    assert listed(range(22)) == ", ".join(map(str, range(20))) + " and 2 more"
    assert listed(["a\n", "b"]) == r"'a\n', 'b'"


def test_rows_are_named_by_their_places() -> None:
    places = ["a.csv, line 2", "a.csv, line 9", "b.csv, line 3", "one.parquet (train, source row 4)", "c, source row 5"]
    source = SourceFacts(lambda row_ids: [places[row] for row in row_ids])
    assert source.rows_text([0]) == "a.csv, line 2"
    assert source.rows_text([0, 1, 2, 3, 4]) == (
        "a.csv, lines 2, 9; b.csv, line 3; one.parquet (train, source row 4); c, source row 5"
    )
    assert source.rows_text([0, 1], 1_234) == "a.csv, lines 2, 9; and 1,232 more"
    assert SourceFacts().rows_text(range(100, 107)) == "row ids 100, 101, 102, 103, 104; and 2 more"


def test_columns_have_the_sources_names() -> None:
    assert SourceFacts().columns_text([1, 3]) == "columns 1, 3 (from 0)"
    named = SourceFacts(feature_names=("age", "size"), column_names={"text": "premise"})
    assert named.columns_text([1, 0]) == "'size', 'age'"
    assert (named.named("text"), named.named("text_pair")) == ("premise", "text_pair")


def test_what_does_not_apply_passes_and_says_so() -> None:
    outcome = not_applicable("texts only")
    assert (outcome.outcome, outcome.passed, outcome.found) == ("skipped", True, "not applicable: texts only")


def test_answers_of_questions_repeat_by_their_nature(make_examples: Callable[..., Examples]) -> None:
    texts = {"text": ["one?"] * 4, "text_pair": ["a", "b"] * 2, "group": [0, 0, 1, 1]}
    asked = make_examples(["train"] * 4, [0, 1, 0, 1], ("right", "wrong"), **texts)
    assert CheckContext(asked).questions
    for check in (few_repeats_in_train, repeated_texts_grouped):
        assert not check(CheckContext(asked)).applies
    plain = make_examples(["train"] * 4, [0, 1, 0, 1], **texts)
    assert not CheckContext(plain).questions
    assert not few_repeats_in_train(CheckContext(plain)).passed
