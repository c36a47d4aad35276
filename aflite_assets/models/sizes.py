"""Decision whether a model is small enough to be trained in one thread beside others. Costs are measured elsewhere."""

from aflite_assets.models.devices import SMALL_MODEL
from aflite_assets.models.families import family_of
from aflite_assets.models.family import NeuralFamily
from aflite_assets.specs.models.kinds import OneStageSpec


def trains_in_one_thread(settings: OneStageSpec) -> bool:
    """Return True if a training on the CPU uses one thread however many there are, so that its bits do not depend on
    other trainings beside it.

    The answer is True for scikit-learn's models and for networks with fewer than `SMALL_MODEL` weights
    (`devices.torch_threads_for`). If the number of weights is known only once the model is made (models of words,
    checkpoints), return False.
    """
    family = family_of(settings)
    if not isinstance(family, NeuralFamily):
        return True
    weights = family.most_weights(settings)
    return weights is not None and weights < SMALL_MODEL


__all__ = ["trains_in_one_thread"]
