from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from aflite_assets.data.examples import Examples
from aflite_assets.models.text import inputs as text_inputs
from aflite_assets.models.text.inputs import TokenizedTexts, text_columns, tokenize

ARGUMENTS = ["input_ids", "attention_mask", "token_type_ids"]


@pytest.fixture
def pair(table: Callable[..., Examples]) -> Examples:
    return table([0, 1], ("a", "b"), text=["dog runs", "cat"], text_pair=["not", "a big red house"])


def test_columns_follow_the_dataset(pair: Examples) -> None:
    assert text_columns(pair, None) == ["text", "text_pair"]
    assert text_columns(pair, ("text_pair",)) == ["text_pair"]
    assert text_columns(pair, ("text_pair", "text")) == ["text", "text_pair"]
    alone = Examples(pair.table.drop_columns(["text_pair"]), pair.label_names)
    assert text_columns(alone, None) == ["text"]


@pytest.mark.parametrize("chunk", [1, 4096])
@pytest.mark.parametrize("side", ["right", "left"])
def test_batches_equal_the_tokenizers_own_padding(
    pair: Examples, bert_folder: Path, monkeypatch: pytest.MonkeyPatch, side: str, chunk: int
) -> None:
    monkeypatch.setattr(text_inputs, "TOKENIZED_AT_ONCE", chunk)
    tokenizer = AutoTokenizer.from_pretrained(bert_folder, padding_side=side)
    tokens = tokenize(pair, tokenizer, inputs=None, max_length=7, arguments=ARGUMENTS)
    expected = tokenizer(
        pair.texts("text")[::-1],
        pair.texts("text_pair")[::-1],
        truncation=True,
        max_length=7,
        padding=True,
        return_tensors="np",
    )
    batch = tokens.batch([1, 0])
    assert set(batch) == set(ARGUMENTS)
    for name in ARGUMENTS:
        np.testing.assert_array_equal(batch[name].numpy(), expected[name])
    np.testing.assert_array_equal(tokens.lengths, [6, 7])
    assert len(tokens) == 2


def test_only_arguments_the_model_takes_are_made(pair: Examples, bert_folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(bert_folder)
    tokens = tokenize(
        pair, tokenizer, inputs=("text",), max_length=8, arguments=["self", "input_ids", "attention_mask"]
    )
    assert set(tokens.batch([0])) == {"input_ids", "attention_mask"}


def test_partial_input_does_not_contain_the_other_column(pair: Examples, bert_folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(bert_folder)
    tokens = tokenize(pair, tokenizer, inputs=("text_pair",), max_length=8, arguments=ARGUMENTS)
    decoded = tokenizer.decode(tokens.batch([0])["input_ids"][0], skip_special_tokens=True)
    assert decoded == "not"


def test_an_empty_text_still_has_a_token(table: Callable[..., Examples]) -> None:
    class Wordwise:
        pad_token_id, pad_token_type_id, padding_side = 9, 0, "right"
        model_input_names = ("input_ids", "attention_mask")

        def __call__(self, texts: list[str], **_: object) -> dict[str, list[list[int]]]:
            ids = [[len(word) for word in text.split()] for text in texts]
            return {"input_ids": ids, "attention_mask": [[1] * len(row) for row in ids]}

    tokens = tokenize(
        table([0, 0], ("a",), text=["", "two words"]), Wordwise(), inputs=None, max_length=8, arguments=ARGUMENTS
    )
    assert tokens.batch([0, 1])["input_ids"].tolist() == [[9, 9], [3, 5]]
    assert tokens.batch([0, 1])["attention_mask"].tolist() == [[1, 0], [1, 1]]


def test_no_rows_are_no_rows(pair: Examples, bert_folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(bert_folder)
    tokens = tokenize(pair.select([]), tokenizer, inputs=None, max_length=8, arguments=ARGUMENTS)
    assert isinstance(tokens, TokenizedTexts)
    assert len(tokens) == 0
