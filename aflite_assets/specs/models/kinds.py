"""All kinds of models that a dataset's YAML file can use: the kinds of this project, and kinds from installed packages.

A package adds a kind with an entry point in the group `aflite_assets.models` that refers to a model family
(`models.family`). The type unions in this module also contain the settings of installed kinds. Settings of installed
kinds are therefore validated, documented and included in cache keys like the settings of all other kinds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Annotated, Protocol, get_args

from pydantic import BaseModel, Field

from aflite_assets.errors import ModelError
from aflite_assets.specs.models.fine_tuning import FineTunedSpec
from aflite_assets.specs.models.settings import (
    ClassicalSpec,
    EsimSpec,
    IdentityEncoderSpec,
    ImageModelSpec,
    LinearModelSpec,
    MaxPpmiSpec,
    RbfSvmSpec,
    SiameseBagSpec,
    SiameseLstmSpec,
    SmallTransformerSpec,
    StrictSpec,
    SurfaceEncoderSpec,
    TextModelSpec,
    TrainingSpec,
    WordOverlapSpec,
)

ENTRY_POINTS = "aflite_assets.models"
"""Group of entry points in which packages register model families."""


class HasSettings(Protocol):
    """Interface of a model family, reduced to the attribute that this module uses. The module
    `aflite_assets.models.family` defines the other attributes.
    """

    settings: type[StrictSpec]


@dataclass(frozen=True)
class InstalledFamily:
    """A kind of model from an installed package. `package`: the name and version of the package, which are part of
    cache keys.
    """

    kind: str
    family: HasSettings
    package: str


def load_installed(taken: Mapping[str, type[StrictSpec]]) -> dict[str, InstalledFamily]:
    """Load the model families of installed packages, and return them by kind, sorted by the names of their entry
    points.

    Raises:
        ModelError: a family cannot be loaded, is not valid, or has a kind that already exists. `taken` contains the
            kinds of this project.
    """
    found: dict[str, InstalledFamily] = {}
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda one: (one.name, one.value)):
        one = _load(entry)
        if one.kind in taken or one.kind in found:
            owner = found[one.kind].package if one.kind in found else "aflite-assets"
            raise _refusal(entry, f"the kind {one.kind!r} already exists in {owner}; give it another name")
        found[one.kind] = one
    return found


def _load(entry: EntryPoint) -> InstalledFamily:
    try:
        family = entry.load()
    except Exception as error:  # whatever the other package's code raises while it is imported
        raise _refusal(
            entry, f"the family cannot be loaded ({type(error).__name__}: {error}); repair or uninstall the package"
        ) from error
    settings = getattr(family, "settings", None)
    if not (isinstance(settings, type) and issubclass(settings, TrainingSpec | ClassicalSpec)):
        raise _refusal(
            entry,
            f"the attribute `settings` of this family is {settings!r}; set it to a class derived from `TrainingSpec` "
            "or `ClassicalSpec`",
        )
    field = settings.model_fields.get("kind")
    kinds = () if field is None else get_args(field.annotation)
    if len(kinds) != 1 or not isinstance(kinds[0], str):
        raise _refusal(
            entry, f'the class {settings.__name__} has no field `kind: Literal["..."]` with one name; add this field'
        )
    distribution = entry.dist
    package = "unknown package" if distribution is None else f"{distribution.name} {distribution.version}"
    return InstalledFamily(kinds[0], family, package)


def _refusal(entry: EntryPoint, why: str) -> ModelError:
    package = "an installed package" if entry.dist is None else f"the package {entry.dist.name}"
    return ModelError(f"{package} names {entry.value!r} as a model family, but {why}")


ClassicalModelSpec = LinearModelSpec | RbfSvmSpec | MaxPpmiSpec
"""Models without randomness, which are the same for every seed."""

NeuralModelSpec = (
    TextModelSpec
    | SmallTransformerSpec
    | EsimSpec
    | SiameseBagSpec
    | SiameseLstmSpec
    | WordOverlapSpec
    | ImageModelSpec
)
"""Models that are trained in epochs, as encoders or as evaluators."""


def _kinds_of(union: object) -> Iterator[tuple[str, type[StrictSpec]]]:
    for settings in get_args(union):
        yield get_args(settings.model_fields["kind"].annotation)[0], settings


INSTALLED: Mapping[str, InstalledFamily] = load_installed(
    dict(_kinds_of(ClassicalModelSpec | NeuralModelSpec | IdentityEncoderSpec | SurfaceEncoderSpec | FineTunedSpec))
)
"""Kinds of models that installed packages add, by kind."""

if not TYPE_CHECKING:  # which kinds are installed is known at run time alone
    for _one in INSTALLED.values():
        if issubclass(_one.family.settings, ClassicalSpec):
            ClassicalModelSpec |= _one.family.settings
        else:
            NeuralModelSpec |= _one.family.settings

OneStageSpec = ClassicalModelSpec | NeuralModelSpec
"""Evaluators that are trained only on a train set."""

EncoderSpec = Annotated[NeuralModelSpec | IdentityEncoderSpec | SurfaceEncoderSpec, Field(discriminator="kind")]

EvaluatorSpec = Annotated[OneStageSpec | FineTunedSpec, Field(discriminator="kind")]


def validation_splits(evaluators: Mapping[str, BaseModel]) -> frozenset[str]:
    """Return the splits that evaluators use for early stopping. Score tables leave out the splits that are used for
    early stopping.
    """
    stoppings = [getattr(settings, "early_stopping", None) for settings in evaluators.values()]
    return frozenset(stopping.split for stopping in stoppings if stopping is not None and stopping.split is not None)
