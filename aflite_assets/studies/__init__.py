"""Companion studies, one folder each, and the registry by which the core finds them.

A study adds settings to a dataset's YAML file, stages, assets, numbers, tables and checks. Its modules have the names
of the core's packages, such as `stages`, and may import what these packages may import. The core imports no module of
a study: it asks `parts` for what the studies add at a place.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from types import FunctionType
from typing import Any, TypeVar

from aflite_assets.errors import StudyError

ENTRY_POINTS = "aflite_assets.studies"
"""Group of entry points in which packages register studies; an entry point names the study and its package."""

_Part = TypeVar("_Part")


@dataclass(frozen=True)
class Study:
    """A companion study; `package` is the dotted name of the package with its modules."""

    name: str
    package: str

    def part(self, place: str) -> object | None:
        """Return `PART` of the study's module at `place`, such as `stages`; None if the study has no such module.

        Raises:
            StudyError: the module cannot be imported, or defines no `PART`.
        """
        module = f"{self.package}.{place}"
        try:
            import_module(self.package)
            return import_module(module).PART if self._has(module) else None
        except Exception as error:  # whatever the other package's code raises while it is imported
            raise StudyError(
                f"the study {self.name!r} cannot be loaded from {module} ({type(error).__name__}: {error}); repair or "
                "uninstall the package"
            ) from error

    def _has(self, module: str) -> bool:
        try:
            return find_spec(module) is not None
        except ModuleNotFoundError as error:  # the folder above the module is missing too
            if not (error.name or "").startswith(self.package):
                raise
            return False


def _registered() -> Iterator[Study]:
    yield from (Study(name, f"{__name__}.{name}") for name in ("forgettables", "sample"))
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda one: (one.name, one.value)):
        yield Study(entry.name, entry.value)


STUDIES: tuple[Study, ...] = tuple(_registered())
"""Every study: those of this project, then those of installed packages, by name."""


@cache
def _parts(place: str) -> tuple[tuple[Study, object], ...]:
    found = ((study, study.part(place)) for study in STUDIES)
    return tuple((study, part) for study, part in found if part is not None)


def parts(place: str, kind: type[_Part]) -> tuple[_Part, ...]:
    """Return what each study adds at a place, such as `stages`, in the order of `STUDIES`.

    Raises:
        StudyError: a study's module cannot be imported, or its `PART` is not of `kind`.
    """
    return tuple(_checked(study, place, part, kind) for study, part in _parts(place))


def functions(place: str) -> tuple[Callable[..., Any], ...]:
    """Return the functions that studies add at a place, in the order of `STUDIES`. Raises StudyError like `parts`."""
    return parts(place, FunctionType)


def _checked(study: Study, place: str, part: object, kind: type[_Part]) -> _Part:
    if not isinstance(part, kind):
        raise StudyError(
            f"`PART` in {study.package}.{place} of the study {study.name!r} is {part!r}; set it to an instance of "
            f"{kind.__name__}"
        )
    return part
