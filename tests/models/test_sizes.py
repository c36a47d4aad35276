"""Which models are small enough to be trained beside others: never one that works in several threads when alone."""

import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.models.classifiers import new_classifier
from aflite_assets.models.devices import SMALL_MODEL
from aflite_assets.models.family_registry import neural_family, trains_in_one_thread
from aflite_assets.specs.models.kinds import OneStageSpec
from aflite_assets.specs.models.settings import (
    ImageModelSpec,
    LinearModelSpec,
    SiameseBagSpec,
    SmallTransformerSpec,
    TextModelSpec,
)


@pytest.mark.parametrize(
    ("settings", "small"),
    [
        (LinearModelSpec(kind="linear"), True),
        (SmallTransformerSpec(kind="small_transformer"), True),
        (SmallTransformerSpec(kind="small_transformer", width=128, layers=6), False),
        (ImageModelSpec(kind="timm_image", architecture="test_efficientnet_gn"), True),
        (ImageModelSpec(kind="timm_image", architecture="resnet18"), False),
        (ImageModelSpec(kind="timm_image", architecture="no_such_architecture"), False),
        (TextModelSpec(kind="huggingface_text", checkpoint="somewhere"), False),
        (SiameseBagSpec(kind="siamese_bag", vocabulary=100, vector_width=8), False),
    ],
)
def test_small_models_are_known_before_they_are_made(settings: OneStageSpec, small: bool) -> None:
    assert trains_in_one_thread(settings) is small


@pytest.mark.parametrize(("width", "layers", "heads"), [(16, 1, 2), (64, 2, 4), (96, 5, 4)])
def test_the_bound_is_over_the_weights_that_a_transformer_has(width: int, layers: int, heads: int) -> None:
    settings = SmallTransformerSpec(
        kind="small_transformer", vocabulary=100, width=width, layers=layers, heads=heads, max_length=16
    )
    words = [chr(97 + row % 26) * 3 + chr(97 + row // 26) for row in range(300)]
    table = pa.table({"row_id": range(300), "split": ["train"] * 300, "label": [0, 1] * 150, "text": words})
    classifier = new_classifier(settings, Examples(table, ("a", "b")), lambda line: None)
    made = sum(weights.numel() for weights in classifier.model.parameters())
    bound = neural_family(settings).most_weights(settings)
    assert bound is not None
    assert made <= bound < 1.5 * made
    assert trains_in_one_thread(settings) is (bound < SMALL_MODEL)
