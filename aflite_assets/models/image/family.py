"""The model family of timm's image classifiers."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.models.family import BuiltModel, Log, ModelInputs, NeuralFamily
from aflite_assets.specs.models.settings import ImageModelSpec


class TimmImage(NeuralFamily[ImageModelSpec]):
    """Any image classifier of timm."""

    settings = ImageModelSpec
    modality = "image"

    def check(self, settings: ImageModelSpec) -> None:
        """Check the architecture's name and the checkpoint's header."""
        from aflite_assets.models.image.timm_models import check_image_model

        check_image_model(settings.architecture, checkpoint=settings.checkpoint)

    def new(self, settings: ImageModelSpec, train: Examples, log: Log) -> BuiltModel:
        """Build the architecture with new weights, or with the weights of a checkpoint."""
        from aflite_assets.models.image.timm_models import new_image_model

        return BuiltModel(new_image_model(settings, train.label_names))

    def load(self, settings: ImageModelSpec, folder: Path, label_names: Sequence[str]) -> BuiltModel:
        """Load the network in transformers' wrapper."""
        from aflite_assets.models.image.timm_models import saved_image_model

        return BuiltModel(saved_image_model(folder))

    def inputs(
        self,
        settings: ImageModelSpec,
        built: BuiltModel,
        examples: Examples,
        *,
        augmentation: np.random.Generator | None,
    ) -> ModelInputs:
        """Decode, resize and scale the images. Train images are augmented according to the settings."""
        from aflite_assets.models.image.inputs import ImageInputs
        from aflite_assets.models.image.transforms import image_preparation

        return ImageInputs(examples, image_preparation(settings), augmentation=augmentation)

    def most_weights(self, settings: ImageModelSpec) -> int | None:
        """Return the number of weights of the architecture with 100 classes, or None if timm does not have the
        architecture.
        """
        return _weights_of_architecture(settings.architecture)

    def make(self, settings: ImageModelSpec) -> str:
        """Return the model kind and timm's name of the architecture."""
        return f"{settings.kind} {settings.architecture}"

    def architecture(self, settings: ImageModelSpec) -> str:
        """Return the name of the timm module that defines the architecture. For example, `efficientnet_b0` and
        `efficientnet_b7` are defined in the same module.

        If timm does not have the architecture, return the part of the name before the first digit or underscore.
        """
        from timm.models import is_model, model_entrypoint

        if is_model(settings.architecture):
            module: str = model_entrypoint(settings.architecture).__module__
            return f"{settings.kind} {module.rpartition('.')[2]}"
        name = re.split(r"[\d_]", settings.architecture.lower())[0]
        return f"{settings.kind} {name}"


@cache
def _weights_of_architecture(architecture: str) -> int | None:
    """Return the number of weights of a timm model with 100 classes, or None if the number is unknown. No memory for
    the weights is allocated.
    """
    import timm
    import torch

    try:
        with torch.device("meta"):
            model = timm.create_model(architecture, num_classes=100)
    except (RuntimeError, ValueError, TypeError):  # the training says what is wrong with it
        return None
    return sum(weights.numel() for weights in model.parameters())
