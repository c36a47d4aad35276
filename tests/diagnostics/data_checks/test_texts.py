from collections.abc import Callable

import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.data_checks.texts import EmptyTexts, empty_texts


def test_empty_and_blank_texts_by_column_and_split(make_examples: Callable[..., Examples]) -> None:
    examples = make_examples(
        ["train", "train", "train", "test", "test"],
        [0, 1, 0, 0, 1],
        text=["", "a", " \t\n\u00a0\u3000", " b ", "c"],
        text_pair=["a", "\r\n", "b", "", " "],
    )
    assert empty_texts(examples) == (
        EmptyTexts("text", "train", 2, (100, 102)),
        EmptyTexts("text_pair", "train", 1, (101,)),
        EmptyTexts("text_pair", "test", 2, (103, 104)),
    )


def test_only_the_first_rows_are_named(make_examples: Callable[..., Examples]) -> None:
    (found,) = empty_texts(make_examples(["train"] * 30, [0] * 30, text=[""] * 30))
    assert (found.rows, found.row_ids) == (30, tuple(range(100, 110)))


@pytest.mark.parametrize("texts", [[], ["a"], [None], ["\x00"]])
def test_texts_that_are_not_empty(make_examples: Callable[..., Examples], texts: list[str | None]) -> None:
    assert empty_texts(make_examples(["train"] * len(texts), [0] * len(texts), text=texts)) == ()
