from collections.abc import Callable

import numpy as np
import pytest
import torch

from aflite_assets.models import predictions
from aflite_assets.models.classifiers import new_classifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.isolation import isolated_random_state
from aflite_assets.models.predictions import predict
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.model_specs import TextModelSpec


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
