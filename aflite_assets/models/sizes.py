"""Whether a model is small enough to be trained in one thread beside others. What it costs is measured elsewhere."""

from functools import cache

from aflite_assets.models.devices import SMALL_MODEL
from aflite_assets.specs.models import (
    ClassicalModelSpec,
    ImageModelSpec,
    OneStageSpec,
    SmallTransformerSpec,
)


def trains_in_one_thread(settings: OneStageSpec) -> bool:
    """Whether a training on the CPU works in one thread however many there are, so that its bits are the same beside
    others as alone.

    scikit-learn's models do, and networks with under `SMALL_MODEL` weights (`devices.torch_threads_for`). Where the
    number is known only once the model is made (models of words, checkpoints), the answer is no.
    """
    if isinstance(settings, ClassicalModelSpec):
        return True
    weights = _most_weights(settings)
    return weights is not None and weights < SMALL_MODEL


def _most_weights(settings: OneStageSpec) -> int | None:
    """Return an upper bound of the weights with up to 100 classes; None where the file does not say."""
    if isinstance(settings, ImageModelSpec):
        return _weights_of_architecture(settings.architecture)
    if isinstance(settings, SmallTransformerSpec):
        width = settings.width
        tables = (settings.vocabulary + settings.max_length + 4) * width
        return tables + settings.layers * (12 * width * width + 13 * width) + width * (width + 1) + 100 * (width + 1)
    return None


@cache
def _weights_of_architecture(architecture: str) -> int | None:
    """Return the size of one of timm's models with 100 classes, without making its numbers; None if timm does not know
    it.
    """
    import timm
    import torch

    try:
        with torch.device("meta"):
            model = timm.create_model(architecture, num_classes=100)
    except (RuntimeError, ValueError, TypeError):  # the training says what is wrong with it
        return None
    return sum(weights.numel() for weights in model.parameters())


__all__ = ["trains_in_one_thread"]
