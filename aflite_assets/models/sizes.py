"""Decision whether a model is small enough to be trained in one thread, in parallel with other trainings."""

from aflite_assets.models.devices import SMALL_MODEL
from aflite_assets.models.families import family_of
from aflite_assets.models.family import NeuralFamily
from aflite_assets.specs.models.kinds import OneStageSpec


def trains_in_one_thread(settings: OneStageSpec) -> bool:
    """Return True if a training on the CPU uses one thread even if more are available. Its results then do not depend
    on other trainings that run at the same time.

    The function returns True for scikit-learn's models and for networks with fewer than `SMALL_MODEL` weights (see
    `devices.torch_threads_for`). The function returns False if the number of weights is known only after the model is
    built (models that read words, checkpoints).
    """
    family = family_of(settings)
    if not isinstance(family, NeuralFamily):
        return True
    weights = family.most_weights(settings)
    return weights is not None and weights < SMALL_MODEL


__all__ = ["trains_in_one_thread"]
