"""Reward models: the loss of pairs is that of Bradley and Terry, and scores order the answers of new pairs."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import answer_pairs, credit_by_question
from aflite_assets.errors import DataError, ModelError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.evaluators import evaluate
from aflite_assets.models.preflight import check_model
from aflite_assets.specs.models.settings import SmallTransformerSpec

CPU = DeviceSettings(device="cpu")


def _spec(**changes: Any) -> SmallTransformerSpec:
    small = {"kind": "small_transformer", "vocabulary": 100, "width": 16, "layers": 1, "heads": 2, "max_length": 24}
    values = {**small, "batch_size": 8, "epochs": 4, "learning_rate": 3e-3, "loss": "bradley_terry", **changes}
    return SmallTransformerSpec.model_validate(values)


def _answers(questions: int, wrong: int = 1, seed: int = 0) -> Examples:
    """Questions whose right answer has the better of two words that neither is right by itself: 'good' or 'fair'."""
    rng = np.random.default_rng(seed)
    texts, labels, codes = [], [], []
    for number in range(questions):
        better, worse = [("good", "fair"), ("fair", "poor")][int(rng.integers(2))]
        for label, word in [(0, better), *[(1, worse)] * wrong]:
            filler = " ".join(f"w{one}" for one in rng.integers(0, 20, 4))
            texts.append(f"{filler} {word}")
            labels.append(label)
            codes.append(number)
    order = rng.permutation(len(texts))
    column = pa.array(np.array(codes)[order])
    table = pa.table(
        {
            "row_id": pa.array(np.arange(len(texts))),
            "source_id": [str(number) for number in range(len(texts))],
            "split": ["train"] * len(texts),
            "label": pa.array(np.array(labels)[order]),
            "text": [f"question {codes[place]}" for place in order],
            "text_pair": [texts[place] for place in order],
            "group": column,
            "question": column,
        }
    )
    return Examples(table, ("right", "wrong"))


def _evaluate(train: Examples, test: Examples, folder: Path, **changes: Any) -> Any:
    given: dict[str, Any] = {"seed": 0, "device": CPU, "scratch": folder, "log": lambda line: None}
    return evaluate(_spec(**changes), train, {"test": test}, **given)


def test_pairs_are_every_right_answer_with_every_wrong_one_of_its_question() -> None:
    table = pa.table({"label": [1, 0, 1, 1, 0, 0], "question": [4, 4, 4, 7, 9, 9]})
    examples = Examples(table, ("right", "wrong"))
    assert answer_pairs(examples).tolist() == [[1, 0], [1, 2]]
    assert answer_pairs(Examples(table, ("no", "yes"))).shape == (0, 2)


@pytest.mark.parametrize("wrong", [1, 3])
def test_a_reward_model_learns_an_order_of_answers(wrong: int, tmp_path: Path) -> None:
    train, test = _answers(200, wrong), _answers(100, wrong, seed=1)
    found = _evaluate(train, test, tmp_path)
    assert test.questions is not None
    scores = found.predictions["test"].probabilities[:, 0]
    credit = credit_by_question(scores, test.labels == 0, test.questions)
    assert credit.mean() > 0.95
    assert found.metrics["steps"] == 4 * np.ceil(2 * 200 * wrong / 8)
    assert found.metrics["train_accuracy"] > 0.9


def test_the_first_loss_is_that_of_a_coin_and_both_answers_have_their_pairs(tmp_path: Path) -> None:
    train = _answers(40)
    found = _evaluate(train, train, tmp_path, epochs=1, learning_rate=1e-9)
    dynamics = found.dynamics.to_pydict()
    by_row = dict(zip(dynamics["row_id"], dynamics["label_probability"], strict=True))
    pairs = train.row_ids[answer_pairs(train)]
    assert np.mean(list(by_row.values())) == pytest.approx(0.5, abs=0.1)
    assert [by_row[first] for first, _ in pairs] == pytest.approx([by_row[second] for _, second in pairs], abs=1e-6)
    assert found.metrics["train_loss"] == pytest.approx(np.log(2), abs=0.1)


def test_an_answer_without_its_pair_is_not_trained_on(tmp_path: Path) -> None:
    whole = _answers(60)
    broken = whole.select(whole.row_ids[1:])
    found = _evaluate(broken, whole, tmp_path, epochs=1)
    assert found.metrics["rows"] == 118
    with pytest.raises(DataError, match="the 60 train rows hold no question with a right and a wrong answer"):
        _evaluate(whole.select(whole.row_ids[whole.labels == 0]), whole, tmp_path)


def test_weights_of_zero_leave_the_model_as_it_was(tmp_path: Path) -> None:
    train = _answers(20)
    given: dict[str, Any] = {"seed": 0, "device": CPU, "log": lambda line: None}
    zero = np.zeros(len(train), np.float32)
    spec = _spec(epochs=1, weight_decay=0.0)
    still = evaluate(spec, train, {"test": train}, scratch=tmp_path / "a", row_weights=zero, **given)
    slow = _spec(epochs=1, weight_decay=0.0, learning_rate=1e-9)
    same = evaluate(slow, train, {"test": train}, scratch=tmp_path / "b", **given)
    found, expected = (one.predictions["test"].probabilities for one in (still, same))
    assert found is not None
    assert expected is not None
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_what_does_not_fit_pairs_is_refused() -> None:
    with pytest.raises(
        ValidationError,
        match=r"`batch_size` is 6, but with `loss: bradley_terry` it must be a multiple of 4 \(2 x "
        r"`gradient_accumulation`\); change `batch_size`",
    ):
        _spec(batch_size=6, gradient_accumulation=2)
    with pytest.raises(
        ValidationError,
        match="`loss` is 'bradley_terry', but `early_stopping` works only with the labels of single rows; "
        "remove `early_stopping`",
    ):
        _spec(early_stopping={})
    table = _answers(4).table.drop_columns(["group", "question"])
    with pytest.raises(ModelError, match="the dataset's rows are not right and wrong answers to questions"):
        check_model(_spec(), Examples(table, ("right", "wrong")))
