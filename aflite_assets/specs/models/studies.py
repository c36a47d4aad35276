"""Settings that studies add to the spec models, and the models that these settings name."""

from collections.abc import Mapping

from pydantic import create_model

from aflite_assets.errors import StudyError
from aflite_assets.specs.models.settings import StrictSpec
from aflite_assets.studies import parts


def with_studies(base: type[StrictSpec], place: str) -> type[StrictSpec]:
    """Return a subclass of `base` with the settings that studies add at a place, in the order of the studies.

    Raises:
        StudyError: the `PART` of a study at this place is not derived from `base`.
    """
    added = parts(place, type)
    for part in added:
        if not issubclass(part, base):
            raise StudyError(f"{part!r} of a study is not derived from {base.__name__}; derive it from this class")
    return create_model(f"{base.__name__}WithStudies", __base__=(*reversed(added), base), __module__=base.__module__)


def with_models() -> tuple[str, ...]:
    """Return the settings of studies that name models (see `CoreSpec.with_models`)."""
    blocks = parts("specs.settings", type)
    return tuple(name for block in blocks for name in getattr(block, "with_models"))  # noqa: B009 - of a `CoreSpec`


def study_models(spec: StrictSpec) -> dict[str, StrictSpec | Mapping[str, StrictSpec | None] | None]:
    """Return the models that the settings of studies name: for each setting, one model, None, or models by name."""
    values = {name: getattr(spec, name) for name in with_models()}
    return {
        name: {key: one.model for key, one in value.items()} if isinstance(value, Mapping) else value and value.model
        for name, value in values.items()
    }
