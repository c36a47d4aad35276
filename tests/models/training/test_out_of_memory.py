import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertForSequenceClassification

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.classifiers import NeuralClassifier, new_classifier
from aflite_assets.models.encoders import NeuralEncoder
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.training import predictions
from aflite_assets.models.training.out_of_memory import AdaptiveBatchSize, is_out_of_memory, more_parts
from aflite_assets.models.training.predictions import predict
from aflite_assets.specs.models.settings import TextModelSpec
from tests.models.made import CPU, made, trained

SmallCard = Callable[..., list[int]]


@pytest.fixture
def small_card(monkeypatch: pytest.MonkeyPatch) -> SmallCard:
    """Makes BERT run out of memory at over so many rows, from the given forward pass on; gives the rows of each."""

    def make(rows: int, error: Exception | None = None, *, after: int = 0) -> list[int]:
        forward, sizes = BertForSequenceClassification.forward, []

        @functools.wraps(forward)
        def limited(self: Any, input_ids: torch.Tensor, **arguments: Any) -> Any:
            sizes.append(len(input_ids))
            if len(input_ids) > rows and len(sizes) > after:
                raise error or torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
            return forward(self, input_ids=input_ids, **arguments)

        monkeypatch.setattr(BertForSequenceClassification, "forward", limited)
        return sizes

    return make


@pytest.mark.parametrize(
    "error", [None, RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried ...")]
)
def test_a_batch_that_does_not_fit_is_computed_in_parts(
    text_settings: TextModelSpec,
    keyword_pairs: Callable[..., Examples],
    tmp_path: Path,
    small_card: SmallCard,
    error: Exception | None,
) -> None:
    settings = text_settings.model_copy(update={"epochs": 2, "batch_size": 8})
    by_hand = settings.model_copy(update={"gradient_accumulation": 4})
    expected_model, expected = trained(by_hand, keyword_pairs(21), tmp_path)
    sizes, lines = small_card(2, error), list[str]()
    found_model, found = trained(settings, keyword_pairs(21), tmp_path, lines=lines)
    assert sizes[:3] == [8, 4, 2]
    assert lines[:2] == [
        "memory ran out: batches of 8 rows are now computed in 2 parts of 4 "
        "(set gradient_accumulation: 2 to do so from the start)",
        "memory ran out: batches of 8 rows are now computed in 4 parts of 2 "
        "(set gradient_accumulation: 4 to do so from the start)",
    ]
    assert found.dynamics.equals(expected.dynamics)
    for name, weight in expected_model.model.state_dict().items():
        assert torch.equal(found_model.model.state_dict()[name], weight), name
    assert [path.name for path in tmp_path.iterdir()] == ["epochs.json"]


def test_the_first_epoch_starts_again_from_the_first_weights(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path, small_card: SmallCard
) -> None:
    settings = text_settings.model_copy(update={"epochs": 1})
    by_hand = settings.model_copy(update={"gradient_accumulation": 2})
    expected_model, expected = trained(by_hand, keyword_pairs(20), tmp_path)
    # The second step does not fit, when the first has changed the weights.
    sizes = small_card(5, after=1)
    found_model, found = trained(settings, keyword_pairs(20), tmp_path)
    assert sizes == [10, 10, 5, 5, 5, 5]
    assert found.dynamics.equals(expected.dynamics)
    for name, weight in expected_model.model.state_dict().items():
        assert torch.equal(found_model.model.state_dict()[name], weight), name


def test_a_later_epoch_goes_on_from_the_last_one(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path, small_card: SmallCard
) -> None:
    settings = text_settings.model_copy(update={"epochs": 3})
    _, before = trained(settings, keyword_pairs(20), tmp_path)
    # Two batches an epoch: the fourth, the second of epoch 2, does not fit.
    sizes, lines = small_card(5, after=3), list[str]()
    _, found = trained(settings, keyword_pairs(20), tmp_path, lines=lines)
    assert sizes == [10, 10, 10, 10] + 8 * [5]
    assert [line[:13] for line in lines] == ["epoch 1 of 3:", "memory ran ou", "epoch 2 of 3:", "epoch 3 of 3:"]
    first = found.dynamics.slice(0, 20)
    assert first.equals(before.dynamics.slice(0, 20))
    assert found.metrics["steps"] == 6


def test_a_single_row_that_does_not_fit_is_an_error(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path, small_card: SmallCard
) -> None:
    sizes = small_card(0)
    with pytest.raises(
        ModelError,
        match=r"memory ran out with `batch_size` 10, .* one row at a time, and `max_length` 24 \(CUDA out of memory"
        r".*\); lower `max_length`, choose a smaller model, or free memory of the device",
    ):
        trained(text_settings, keyword_pairs(20), tmp_path)
    assert sizes == [10, 5, 2, 1]
    assert list(tmp_path.iterdir()) == []


def test_other_errors_are_passed_on(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path, small_card: SmallCard
) -> None:
    small_card(0, RuntimeError("shapes do not fit"))
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        trained(text_settings, keyword_pairs(20), tmp_path)
    classifier = made(text_settings, keyword_pairs(2))
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        predict(classifier, keyword_pairs(20), device=CPU)


def test_predictions_take_fewer_rows_at_once(
    text_settings: TextModelSpec,
    keyword_pairs: Callable[..., Examples],
    small_card: SmallCard,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(predictions, "INFERENCE_BATCH", 12)
    examples = keyword_pairs(20)
    classifier = made(text_settings, examples)
    expected = predict(classifier, examples, device=CPU).probabilities
    sizes = small_card(4)
    lines = list[str]()
    found = predict(classifier, examples, device=CPU, log=lines.append).probabilities
    assert sizes == [12, 6, 3, 3, 3, 3, 3, 3, 2]
    assert lines == [
        "memory ran out: the model now predicts 6 rows at once instead of 12",
        "memory ran out: the model now predicts 3 rows at once instead of 6",
    ]
    assert expected is not None
    assert found is not None
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_an_encoder_takes_fewer_rows_at_once_from_then_on(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], small_card: SmallCard
) -> None:
    examples, lines = keyword_pairs(20), list[str]()
    classifier = made(text_settings, examples)
    expected = NeuralEncoder(classifier, CPU).encode(examples)
    sizes = small_card(6)
    encoder = NeuralEncoder(classifier, CPU, lines.append)
    for found in (encoder.encode(examples), *encoder.encode_each([examples])):
        np.testing.assert_allclose(found.features, expected.features, atol=1e-6)
        assert found.probabilities is not None
        assert expected.probabilities is not None
        np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-6)
    assert sizes == [20, 10, 5, 5, 5, 5, 5, 5, 5, 5]
    assert lines == [
        "memory ran out: the model now predicts 10 rows at once instead of 20",
        "memory ran out: the model now predicts 5 rows at once instead of 10",
    ]


def test_a_single_row_that_cannot_be_encoded_is_an_error(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], small_card: SmallCard
) -> None:
    encoder = NeuralEncoder(made(text_settings, keyword_pairs(2)), CPU)
    sizes = small_card(0)
    with pytest.raises(ModelError, match=r"memory ran out on the prediction of a single row \(CUDA out of"):
        encoder.encode(keyword_pairs(3))
    assert sizes == [3, 1]
    small_card(0, RuntimeError("shapes do not fit"))
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        encoder.encode(keyword_pairs(3))


@pytest.mark.parametrize("threads", [0, 2])
def test_what_was_read_ahead_is_read_again_in_smaller_pieces(threads: int) -> None:
    def answer(rows: np.ndarray) -> list[int]:
        if len(rows) > 2 and rows[0] >= 3:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return list(rows)

    at_once = AdaptiveBatchSize(lambda _: None, 3, threads)
    found = [answered for _, answered in at_once.ask(np.arange(8), lambda rows: rows, answer)]
    assert found == [[0, 1, 2], [3], [4], [5], [6], [7]]
    assert at_once.most == 1


@pytest.mark.parametrize(
    ("parts", "batch_size", "more"), [(1, 32, 2), (2, 32, 4), (1, 10, 2), (2, 10, 5), (5, 10, 10), (1, 7, 7)]
)
def test_parts_at_least_double_and_divide_the_batch(parts: int, batch_size: int, more: int) -> None:
    assert more_parts(parts, batch_size=batch_size) == more
    assert more_parts(batch_size, batch_size=batch_size) is None


def test_errors_that_mean_too_little_memory() -> None:
    assert is_out_of_memory(torch.OutOfMemoryError("no"))
    assert is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
    assert not is_out_of_memory(RuntimeError("CUDA error: device-side assert triggered"))
    assert not is_out_of_memory(ValueError("out of memory"))


def _classifier(settings: TextModelSpec, examples: Examples) -> NeuralClassifier:
    with isolated_random_state(0):
        return new_classifier(settings, examples, lambda _: None)


def test_a_single_row_that_cannot_be_asked_about_is_an_error(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], small_card: SmallCard
) -> None:
    classifier = _classifier(text_settings, keyword_pairs(2))
    small_card(0)
    with pytest.raises(ModelError, match=r"memory ran out on the prediction of a single row \(CUDA out of"):
        predict(classifier, keyword_pairs(3), device=CPU)
