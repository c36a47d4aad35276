import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.words.word_inputs import (
    UNKNOWN_WORD,
    PairInputs,
    WordReader,
    frequent_words,
    is_one_word,
    word_spans,
    words_of,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A man's dog, aged 3.5, doesn't RUN!", "a man 's dog , aged 3.5 , does n't run !"),
        ("1,000 dogs in 1980s t-shirts", "1,000 dogs in 1980s t - shirts"),
        ("DON\u2019T", "do n't"),
        ("'tis a 'dog'", "' tis a ' dog '"),
        ("naïve cafe\u0301", "naïve cafe\u0301"),
        ("हिन्दी में काम।", "हिन्दी में काम ।"),
        ("我喜欢猫cat", "我 喜 欢 猫 cat"),
        ("カタ 日本 한국어", "カ タ 日 本 한국어"),
        ("собака бежит", "собака бежит"),
        ("x\x00y 👍", "x y 👍"),
        (" \t\n", ""),
    ],
)
def test_words_of_any_script(text: str, words: str) -> None:
    assert words_of(text) == words.split()


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30))
def test_spans_cover_every_visible_sign_once(text: str) -> None:
    spans = word_spans(text)
    assert (spans[:, 0] < spans[:, 1]).all()
    assert (spans[1:, 0] >= spans[:-1, 1]).all()
    covered = {position for start, end in spans for position in range(start, end)}
    assert {i for i, sign in enumerate(text) if sign.isalnum()} <= covered
    assert not any(text[i].isspace() for i in covered)


def test_what_no_text_has_is_no_word() -> None:
    assert [word for word in ("dog", "Dog", "t-shirt", "n't", ". .", "", "3.5", "我") if is_one_word(word)] == [
        "dog",
        "n't",
        "3.5",
        "我",
    ]


def test_the_most_frequent_words_come_first_and_ties_by_the_alphabet() -> None:
    counts = frequent_words(["b a Zoo", "zoo b a", "zoo c d"], 4)
    assert list(counts.items()) == [("zoo", 3), ("a", 2), ("b", 2), ("c", 1)]
    assert frequent_words(["...", ""], 5) == {".": 3}
    assert frequent_words([" "], 5) == {}


def _inputs(table: Callable[..., Examples], first: list[str], second: list[str], max_length: int = 9) -> PairInputs:
    examples = table([0] * len(first), ("a", "b"), text=first, text_pair=second)
    return WordReader(["dog", "cat"]).inputs(examples, max_length=max_length)


def test_pairs_become_padded_numbers(table: Callable[..., Examples]) -> None:
    inputs = _inputs(table, ["Dog cat dog", "cat"], ["mouse", "a dog"])
    assert len(inputs) == 2
    assert inputs.lengths.tolist() == [4, 3]
    batch = inputs.batch([1, 0])
    assert set(batch) == {"first_words", "second_words"}
    assert batch["first_words"].tolist() == [[3, 0, 0], [2, 3, 2]]
    assert batch["second_words"].tolist() == [[1, 2], [1, 0]]


def test_long_texts_are_cut_and_empty_ones_are_one_unknown_word(table: Callable[..., Examples]) -> None:
    inputs = _inputs(table, ["dog " * 50, ""], [" \n", "cat " * 5], max_length=4)
    assert inputs.lengths.tolist() == [5, 5]
    assert inputs.batch([0])["first_words"].tolist() == [[2] * 4]
    assert inputs.batch([1])["first_words"].tolist() == [[UNKNOWN_WORD]]
    assert inputs.batch([0])["second_words"].tolist() == [[UNKNOWN_WORD]]


def test_no_rows_are_no_rows(table: Callable[..., Examples]) -> None:
    assert len(_inputs(table, [], [])) == 0
    assert _inputs(table, [], []).lengths.dtype == np.int64


def test_a_saved_reader_reads_the_same(tmp_path: Path) -> None:
    reader = WordReader(["dog", "猫", '"', "naïve"])
    reader.save_pretrained(tmp_path)
    again = WordReader.from_pretrained(tmp_path)
    assert again.words == reader.words
    assert len(again) == 6
    assert again.numbers('A naïve "猫"') == [1, 5, 4, 3, 4]
    assert json.loads((tmp_path / "vocabulary.json").read_text(encoding="utf-8")) == list(reader.words)


@pytest.mark.parametrize("content", [None, "no json", "{}", "[1, 2]", '"dog"'])
def test_a_folder_without_a_vocabulary_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "vocabulary.json").write_text(content)
    with pytest.raises(
        ModelError, match=r"holds no readable vocabulary.json .*materialise the asset `warmup_models` again"
    ):
        WordReader.from_pretrained(tmp_path)
