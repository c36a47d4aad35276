"""Whether a model is small enough to be trained in one thread beside others. What it costs is measured elsewhere."""

from aflite_assets.models.devices import SMALL_MODEL
from aflite_assets.models.families import family_of
from aflite_assets.models.family import NeuralFamily
from aflite_assets.specs.models.kinds import OneStageSpec


def trains_in_one_thread(settings: OneStageSpec) -> bool:
    """Whether a training on the CPU works in one thread however many there are, so that its bits are the same beside
    others as alone.

    scikit-learn's models do, and networks with under `SMALL_MODEL` weights (`devices.torch_threads_for`). Where the
    number is known only once the model is made (models of words, checkpoints), the answer is no.
    """
    family = family_of(settings)
    if not isinstance(family, NeuralFamily):
        return True
    weights = family.most_weights(settings)
    return weights is not None and weights < SMALL_MODEL


__all__ = ["trains_in_one_thread"]
