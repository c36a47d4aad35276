from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.classifiers import new_classifier, saved_classifier
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.specs.models.settings import ImageModelSpec, TextModelSpec

LABELS = ("agrees", "contradicts")


@pytest.mark.parametrize("augmentation", ["flip_crop", "randaugment"])
def test_only_train_rows_are_augmented(
    augmentation: Literal["flip_crop", "randaugment"], png_images: Callable[..., Examples]
) -> None:
    settings = ImageModelSpec(kind="timm_image", architecture="test_resnet", image_size=16, augmentation=augmentation)
    examples = png_images(4)
    with isolated_random_state(0):
        classifier = new_classifier(settings, examples, lambda _: None)
    plain = classifier.inputs(examples).batch(range(4))["pixel_values"]
    train = classifier.inputs(examples, augmentation_seed=0).batch(range(4))["pixel_values"]
    assert plain.equal(classifier.inputs(examples).batch(range(4))["pixel_values"])
    assert not plain.equal(train)
    off = new_classifier(settings.model_copy(update={"augmentation": "none"}), examples, lambda _: None)
    assert plain.equal(off.inputs(examples, augmentation_seed=0).batch(range(4))["pixel_values"])


def test_a_saved_classifier_stands_alone(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    examples = keyword_pairs(6)
    with isolated_random_state(0):
        classifier = new_classifier(text_settings, examples, lambda _: None)
    classifier.save(tmp_path / "model")
    assert "model.safetensors" in {path.name for path in (tmp_path / "model").iterdir()}
    elsewhere = text_settings.model_copy(update={"checkpoint": "/nowhere"})
    again = saved_classifier(elsewhere, tmp_path / "model", LABELS)
    batch = again.inputs(examples).batch(range(6))
    np.testing.assert_array_equal(batch["input_ids"], classifier.inputs(examples).batch(range(6))["input_ids"])
    expected = classifier.model.eval()(**batch).logits.detach()
    np.testing.assert_array_equal(again.model.eval()(**batch).logits.detach(), expected)


def test_a_classifier_for_other_labels_is_refused(text_settings: TextModelSpec, bert_folder: Path) -> None:
    with pytest.raises(ModelError, match=r"was not trained on the dataset's 3 labels \(x, y, z\)"):
        saved_classifier(text_settings, bert_folder, ("x", "y", "z"))


def test_an_image_classifier_for_other_labels_is_refused(png_images: Callable[..., Examples], tmp_path: Path) -> None:
    settings = ImageModelSpec(kind="timm_image", architecture="test_resnet", image_size=16)
    with isolated_random_state(0):
        new_classifier(settings, png_images(2), lambda _: None).save(tmp_path)
    with pytest.raises(ModelError, match=r"was not trained on the dataset's 3 labels"):
        saved_classifier(settings, tmp_path, ("x", "y", "z"))


def test_an_empty_folder_is_refused(text_settings: TextModelSpec, tmp_path: Path) -> None:
    with pytest.raises(
        ModelError,
        match=r"holds no encoder, because the file config.json is missing; materialise the asset `warmup_models`",
    ):
        saved_classifier(text_settings, tmp_path, LABELS)
