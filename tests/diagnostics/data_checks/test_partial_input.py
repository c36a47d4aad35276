from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.data_checks.partial_input import (
    _whole_texts,
    held_out_solved,
    strongest_terms,
    text_only_accuracy,
)

Make = Callable[[list[str | None], list[int]], Examples]


@pytest.fixture
def train(make_examples: Callable[..., Examples]) -> Make:
    return lambda texts, labels: make_examples(["train"] * len(texts), labels, ("a", "b", "c"), text=texts)


def test_words_that_give_the_label_away_do_so_in_new_texts_too(train: Make) -> None:
    texts: list[str | None] = [f"{('yes', 'no')[row % 2]} number{row // 4}" for row in range(400)]
    found = text_only_accuracy(train(texts, [row % 2 for row in range(400)]), "text", seed=0)
    assert found is not None
    assert (found.random, found.grouped, found.majority) == (1.0, 1.0, 0.5)


def test_a_sample_is_drawn_in_whole_texts_by_seed(train: Make) -> None:
    texts: list[str | None] = [f"t{row // 3}" for row in range(600)]
    examples = train(texts, [row % 3 for row in range(600)])
    first, again, other = (text_only_accuracy(examples, "text", seed=seed, most_rows=100) for seed in (0, 0, 1))
    assert first is not None
    assert first.rows == 99
    assert first == again != other


def test_a_text_that_would_fill_a_fold_is_left_out() -> None:
    codes = np.repeat([0, 1, 2, 3, 4, 5], [21, 20, 20, 20, 10, 9])
    rows = _whole_texts(codes, 100, np.random.default_rng(0))
    assert set(codes[rows].tolist()) == {1, 2, 3, 4, 5}
    assert len(rows) == 79


@pytest.mark.parametrize(
    "texts",
    [["a"] * 50, ["a", "b", "c", "d"] * 5, [f"{'-' * row}" for row in range(20)], [None] * 20, [""] * 20, ["a"], []],
)
def test_too_few_texts_or_words_say_nothing(train: Make, texts: list[str | None]) -> None:
    assert text_only_accuracy(train(texts, [row % 2 for row in range(len(texts))]), "text", seed=0) is None


@pytest.mark.parametrize(("first", "share"), [(2, 1.0), (1, 39 / 40)])
def test_one_class_is_predicted_and_a_class_of_one_row_is_no_trouble(train: Make, first: int, share: float) -> None:
    found = text_only_accuracy(train([f"word{row // 2}" for row in range(40)], [first, *[2] * 39]), "text", seed=0)
    assert found is not None
    assert (found.random, found.grouped, found.majority) == (share, share, share)


def test_snli_premises(example_data: Path) -> None:
    rows = pq.read_table(example_data / "snli" / "validation.parquet").rename_columns(["text", "text_pair", "label"])
    examples = Examples(rows.append_column("row_id", pa.array(range(rows.num_rows))), ("e", "n", "c"))
    found = text_only_accuracy(examples, "text", seed=0)
    assert found is not None
    assert found.random == pytest.approx(0.08, abs=0.02)
    assert found.grouped == pytest.approx(0.34, abs=0.02)
    assert found.majority == pytest.approx(0.34, abs=0.01)


def test_questions_are_solved_by_their_likeliest_answer(make_examples: Callable[..., Examples]) -> None:
    rng = np.random.default_rng(0)
    question = np.repeat(np.arange(100), 4)
    labels = (np.tile(np.arange(4), 100) == 0).astype(int)
    marked = (labels == 1) & (question < 50)
    texts = [
        f"{'best' if mark else 'good'} {word}" for mark, word in zip(marked, rng.choice(["a", "b"], 400), strict=True)
    ]
    given = {"text": [f"q {number}" for number in question], "text_pair": texts, "group": pa.array(question)}
    found = held_out_solved(make_examples(["train"] * 400, labels.tolist(), ("wrong", "right"), **given), seed=0)
    assert found is not None
    assert found.majority == 0.25
    assert found.right[question[found.rows] < 50].all()
    assert 0.1 < found.right[question[found.rows] >= 50].mean() < 0.4
    plain = make_examples(["train"] * 400, labels.tolist(), **given)
    assert held_out_solved(plain, seed=0) is None


def test_the_strongest_terms_are_counted_in_held_out_texts_and_near_copies_of_them_left_out() -> None:
    rng = np.random.default_rng(0)
    right = np.arange(600) % 2 == 0
    cue = np.where(rng.random(600) < 0.7, right, ~right)
    texts = [f"{'surely so' if own else 'maybe not'} w{rng.integers(90)} w{rng.integers(90)}" for own in cue]
    terms = strongest_terms(texts, right, np.arange(600) // 2, rng=np.random.default_rng(0), most=4)
    assert len(terms) == 4
    assert {one.tells_right for one in terms[:2]} == {True, False}
    signs = {word: one for one in terms[:2] for word in one.term.split()}
    assert signs.keys() <= {"surely", "so", "maybe", "not"}  # "surely" or "so", not both
    for one in terms[:2]:
        own, other = (one.right, one.wrong) if one.tells_right else (one.wrong, one.right)
        assert (own, other) == (pytest.approx(210, abs=25), pytest.approx(90, abs=25))
    assert strongest_terms(["", "."] * 10, right[:20], np.arange(20) // 2, rng=rng, most=3) == []


def test_a_premise_with_a_hypothesis_per_label_predicts_below_chance(train: Make) -> None:
    # Of each of 200 premises the three labels: whichever row is held out, the other two rows have other labels.
    found = text_only_accuracy(
        train([f"premise{row // 3}" for row in range(600)], [row % 3 for row in range(600)]), "text", seed=0
    )
    assert found is not None
    assert found.rows == 600
    assert found.majority == pytest.approx(1 / 3)
    assert found.random < 0.1
    assert 0.2 < found.grouped < 0.45
