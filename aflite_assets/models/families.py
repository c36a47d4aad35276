"""The registry of model families, including families from installed packages. A new family needs one line in this
module.
"""

from collections.abc import Mapping
from typing import cast, get_args

from aflite_assets.data.examples import Modality
from aflite_assets.errors import ModelError
from aflite_assets.models.classical.families import Linear, MaxPpmi, RbfSvm
from aflite_assets.models.esim.family import EsimFamily
from aflite_assets.models.family import ClassicalFamily, ModelFamily, NeuralFamily
from aflite_assets.models.image.family import TimmImage
from aflite_assets.models.siamese.family import SiameseBag, SiameseLstm, WordOverlap
from aflite_assets.models.text.families import HuggingFaceText, SmallTransformer
from aflite_assets.specs.models.kinds import INSTALLED, ClassicalModelSpec, NeuralModelSpec
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
    family = _FAMILIES[type(settings)]
    if not isinstance(family, NeuralFamily):
        raise _no_family(settings, "NeuralFamily")
    return family


def classical_family(settings: ClassicalModelSpec) -> ClassicalFamily:
    """Return the family of an evaluator with scikit-learn's interface from its settings.

    Raises:
        ModelError: an installed package registered the evaluator with an object that is not a `ClassicalFamily`.
    """
    family = _FAMILIES[type(settings)]
    if not isinstance(family, ClassicalFamily):
        raise _no_family(settings, "ClassicalFamily")
    return family


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


def _no_family(settings: NeuralModelSpec | ClassicalModelSpec, base: str) -> ModelError:
    package = INSTALLED[settings.kind].package
    return ModelError(
        f"the model kind {settings.kind!r} of the package {package} is not an instance of `{base}`; correct the package"
    )


__all__ = ["classical_family", "family_of", "kinds_for", "neural_family"]
