"""The registry of model families, including families from installed packages. A new family needs one line in this
module.
"""

from collections.abc import Mapping
from typing import Any, cast, get_args

from aflite_assets.data.examples import Modality
from aflite_assets.errors import ModelError
from aflite_assets.models.classical.families import Linear, MaxPpmi, RbfSvm
from aflite_assets.models.devices import SMALL_MODEL
from aflite_assets.models.esim.family import EsimFamily
from aflite_assets.models.family import ClassicalFamily, ModelFamily, NeuralFamily
from aflite_assets.models.image.family import TimmImage
from aflite_assets.models.siamese.family import SiameseBag, SiameseLstm, WordOverlap
from aflite_assets.models.text.families import HuggingFaceText, SmallTransformer
from aflite_assets.specs.models.kinds import INSTALLED, ClassicalModelSpec, NeuralModelSpec, OneStageSpec
from aflite_assets.specs.models.settings import StrictSpec

_ALL: tuple[ModelFamily, ...] = (
    HuggingFaceText(),
    SmallTransformer(),
    EsimFamily(),
    SiameseBag(),
    SiameseLstm(),
    WordOverlap(),
    TimmImage(),
    Linear(),
    RbfSvm(),
    MaxPpmi(),
    *(cast(ModelFamily, one.family) for one in INSTALLED.values()),
)
_FAMILIES: Mapping[type[StrictSpec], ModelFamily] = {family.settings: family for family in _ALL}


def family_of(settings: StrictSpec) -> ModelFamily | None:
    """Return the family of a model's settings. Return None for settings without a family: the dataset's own features,
    and fine-tuned models.
    """
    return _FAMILIES.get(type(settings))


def neural_family(settings: NeuralModelSpec) -> NeuralFamily:
    """Return the family of a neural network from its settings.

    Raises:
        ModelError: an installed package registered the network with an object that is not a `NeuralFamily`.
    """
    family: NeuralFamily = _family_from(settings, NeuralFamily)
    return family


def classical_family(settings: ClassicalModelSpec) -> ClassicalFamily:
    """Return the family of an evaluator with scikit-learn's interface from its settings.

    Raises:
        ModelError: an installed package registered the evaluator with an object that is not a `ClassicalFamily`.
    """
    family: ClassicalFamily = _family_from(settings, ClassicalFamily)
    return family


def _family_from(settings: NeuralModelSpec | ClassicalModelSpec, base: type) -> Any:
    family = _FAMILIES[type(settings)]
    if not isinstance(family, base):
        raise ModelError(
            f"the model kind {settings.kind!r} of the package {INSTALLED[settings.kind].package} is not an instance of "
            f"`{base.__name__}`; correct the package"
        )
    return family


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


def kinds_for(modality: Modality) -> str:
    """Return a phrase with the model kinds that can read the given rows. Encoders are listed first, then models that
    are evaluators only.
    """
    able = [family for family in _ALL if family.modality in (None, modality)]
    neural = [_kind(one) for one in able if isinstance(one, NeuralFamily)]
    encoders = ["identity", *neural] if modality == "features" else neural
    classical = [_kind(one) for one in able if isinstance(one, ClassicalFamily)]
    return f"{_listed(encoders)}, or {_listed(classical)} as evaluator"


def _kind(family: ModelFamily) -> str:
    kind: str = get_args(family.settings.model_fields["kind"].annotation)[0]
    return kind


def _listed(names: list[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last
