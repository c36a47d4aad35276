"""A function that recognises small models. Each small model is trained in one thread, in parallel with other small
models.
"""

from aflite_assets.models.devices import SMALL_MODEL
from aflite_assets.models.families import family_of
from aflite_assets.models.family import NeuralFamily
from aflite_assets.specs.models.kinds import OneStageSpec


def trains_in_one_thread(settings: OneStageSpec) -> bool:
    """Return True if training on the CPU uses a single thread even if more threads are available. The results then do
    not depend on other training runs at the same time.

    The function returns True for scikit-learn models, and for networks with fewer than `SMALL_MODEL` weights (see
    `devices.torch_threads_for`). The function returns False for models that read words and for checkpoints, because
    their number of weights is known only after they are built.
    """
    family = family_of(settings)
    if not isinstance(family, NeuralFamily):
        return True
    weights = family.most_weights(settings)
    return weights is not None and weights < SMALL_MODEL


__all__ = ["trains_in_one_thread"]
