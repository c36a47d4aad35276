import re
from collections.abc import Callable

import numpy as np
import pytest
import torch

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.classifiers import NeuralClassifier, new_classifier
from aflite_assets.models.devices import DeviceSettings, Precision
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.image import inputs as image_inputs
from aflite_assets.models.training import predictions
from aflite_assets.models.training.predictions import accuracy, predict
from aflite_assets.specs.models.settings import ImageModelSpec, TextModelSpec


def test_rows_come_back_in_order_whatever_the_batches(
    text_settings: TextModelSpec,
    keyword_pairs: Callable[..., Examples],
    cpu: DeviceSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    examples = keyword_pairs(11)
    with isolated_random_state(0):
        classifier = new_classifier(text_settings, Examples(examples.table, ("a", "b", "c")), lambda _: None)
    monkeypatch.setattr(predictions, "INFERENCE_BATCH", 4)
    found = predict(classifier, examples, device=cpu)
    with torch.inference_mode():
        one_by_one = [classifier.model(**classifier.inputs(examples).batch([row])).logits for row in range(11)]
    expected = torch.cat(one_by_one).softmax(dim=1).numpy()
    assert found.probabilities is not None
    assert (found.probabilities.dtype, found.predicted.dtype) == (np.float32, np.int64)
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-5)
    np.testing.assert_array_equal(found.predicted, expected.argmax(axis=1))
    assert len(np.unique(expected.round(3), axis=0)) > 5


def test_no_rows_give_no_predictions(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], cpu: DeviceSettings
) -> None:
    with isolated_random_state(0):
        classifier = new_classifier(text_settings, keyword_pairs(2), lambda _: None)
    found = predict(classifier, keyword_pairs(2).select([]), device=cpu)
    assert found.probabilities is not None
    assert found.probabilities.shape == (0, 2)
    assert found.predicted.shape == (0,)


def _one_word_is_nan(settings: TextModelSpec, examples: Examples) -> tuple[NeuralClassifier, np.ndarray]:
    """A classifier whose embedding of the word house is not finite, and which rows have it."""
    with isolated_random_state(0):
        classifier = new_classifier(settings, examples, lambda _: None)
    number = classifier.tokenizer.convert_tokens_to_ids("house")
    with torch.no_grad():
        classifier.model.bert.embeddings.word_embeddings.weight[number] = float("nan")
    texts = zip(examples.texts(), examples.texts("text_pair"), strict=True)
    return classifier, np.array(["house" in f"{one} {two}".split() for one, two in texts])


@pytest.mark.parametrize(
    ("precision", "remedy"), [("float32", ""), ("bfloat16", " or set `precision` to float32 instead of bf")]
)
def test_logits_that_are_no_numbers_are_an_error(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], precision: Precision, remedy: str
) -> None:
    examples = keyword_pairs(30)
    classifier, hit = _one_word_is_nan(text_settings, examples)
    assert 0 < hit.sum() < 30
    message = (
        f"the model's outputs are not finite numbers for {hit.sum()} of 30 rows, probably because the training "
        "diverged; "
        f"lower `learning_rate` (now 0.005){remedy}"
    )
    with pytest.raises(ModelError, match=re.escape(message)):
        predict(classifier, examples, device=DeviceSettings("cpu", precision))
    rest = examples.select(examples.row_ids[~hit])
    assert len(predict(classifier, rest, device=DeviceSettings("cpu", precision)).predicted) == 30 - hit.sum()


def test_a_row_without_finite_logits_is_not_right(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], cpu: DeviceSettings
) -> None:
    examples = keyword_pairs(30)
    classifier, hit = _one_word_is_nan(text_settings, examples)
    rest = examples.select(examples.row_ids[~hit])
    predicted = predict(classifier, rest, device=cpu).predicted
    # Labels that class 0, which the highest of NaN would be, and the predictions of the others agree with.
    labels = np.zeros(30, np.int64)
    labels[~hit] = predicted
    assert accuracy(classifier, classifier.inputs(examples), labels, device=cpu) == (~hit).mean()


def test_images_read_ahead_have_the_same_bits(
    image_settings: ImageModelSpec,
    png_images: Callable[..., Examples],
    cpu: DeviceSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    examples = png_images(23)
    with isolated_random_state(0):
        classifier = new_classifier(image_settings, examples, lambda _: None)
    monkeypatch.setattr(predictions, "INFERENCE_BATCH", 4)
    monkeypatch.setattr(image_inputs, "CACHE_BYTES", 0)
    expected = predict(classifier, examples, device=cpu).probabilities
    monkeypatch.setattr(predictions, "reading_threads", lambda *, images, device: 3 * images)
    assert expected is not None
    np.testing.assert_array_equal(predict(classifier, examples, device=cpu).probabilities, expected)
