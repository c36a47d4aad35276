"""Definition of a stage: what it reads of a dataset's file and of other stages, and how it makes its result.

Each stage is defined in a module of its name; their order is in `pipeline`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Generic, Self

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypeVar

from aflite_assets.analysis.filtering import IterationRow
from aflite_assets.checks import CheckOutcome
from aflite_assets.cluster import Cluster
from aflite_assets.cluster.local import LocalCluster
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.tracking import TrackedRun


@dataclass(frozen=True)
class Progress:
    """Where a running stage tells its log lines, its finished iterations, and how many parts are done of how many."""

    log: Callable[[str], None]
    on_iteration: Callable[[IterationRow], None]
    on_part: Callable[[int, int], None] = lambda done, total: None


def _ignore(_: object) -> None:
    return None


no_progress = Progress(log=_ignore, on_iteration=_ignore)
"""Log lines and iterations go nowhere."""


@dataclass(frozen=True)
class CellFilter:
    """Which cells of the grid of evaluators to train now; an empty field means all.

    What was trained before is found all the same.
    """

    evaluators: tuple[str, ...] = ()
    train_sets: tuple[str, ...] = ()
    representations: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()


ALL_CELLS = CellFilter()


@dataclass(frozen=True)
class StageContext:
    """Record of what a running stage works with, none of which changes its result.

    `cells` changes how much of a grid is made now.
    """

    tracker: TrackedRun
    device: DeviceSettings
    progress: Progress
    cells: CellFilter = ALL_CELLS
    cluster: Cluster = LocalCluster()  # noqa: RUF009 - frozen


class StageSettings(BaseModel):
    """The fields of a dataset's file that one stage reads; its result's key is made of them.

    A subclass declares them with the annotations that they have in `DatasetSpec`.
    """

    # Never validated, so no validator is built: definitions load all stages.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def of(cls, spec: "DatasetSpec | StageSettings") -> Self:
        """Return the values of a dataset's file, which was checked when it was read, or of settings that have these
        fields.
        """
        values = {name: getattr(spec, name) for name in cls.model_fields}
        return cls.model_construct(**values)  # type: ignore[return-value]  # pydantic's plugin forgets Self

    @classmethod
    def as_json(cls, spec: DatasetSpec) -> dict[str, object]:
        """Return the JSON values that go into a key: `DatasetSpec` decides their order, and which are left out."""
        return spec.model_dump(mode="json", include=set(cls.read_of(spec)))

    @classmethod
    def read_of(cls, spec: DatasetSpec) -> tuple[str, ...]:
        """Return the fields of one dataset's file that its result depends on; fewer where it asks for nothing."""
        return tuple(cls.model_fields)

    @classmethod
    def asks_nothing(cls, spec: DatasetSpec) -> bool:
        """Whether a dataset's file asks nothing of the stage, so that its result holds nothing."""
        return False


@dataclass(frozen=True)
class StageInputs:
    """The results that one stage reads: a subclass has a field for each, named as the stage that makes it."""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the stages whose results these are."""
        return tuple(field.name for field in fields(cls))

    @classmethod
    def of(cls, results: Mapping[str, PublishedResult]) -> Self:
        """Those of the results that the stage reads."""
        make: Callable[..., Self] = cls
        return make(**{name: results[name] for name in cls.names()})

    @property
    def results(self) -> dict[str, PublishedResult]:
        """The results by the stages that made them."""
        return {name: getattr(self, name) for name in self.names()}


def _refuse_nothing(spec: DatasetSpec, results: Mapping[str, PublishedResult]) -> None:
    """Say that every result of most stages is of use."""


# Covariant, so that the pipeline may hold stages of any settings and inputs: it makes both by `of` alone.
Settings_co = TypeVar("Settings_co", bound=StageSettings, default=StageSettings, covariant=True)
Inputs_co = TypeVar("Inputs_co", bound=StageInputs, default=StageInputs, covariant=True)


def _find_nothing(*read: object) -> Iterable[CheckOutcome]:
    """Most stages have no checks."""
    return ()


@dataclass(frozen=True)
class StageChecks(Generic[Settings_co]):
    """Checks of a stage's published result, which `stages.checks` runs once for each result.

    `asks`: by name of a check what holds if it passes; those in `blocking` block. `run` returns the outcomes from the
    result, the `inputs` of the stage that the checks read, by name, and the `settings` that they read.
    """

    asks: Mapping[str, str] = field(default_factory=dict)
    run: Callable[[PublishedResult, Mapping[str, PublishedResult], Settings_co], Iterable[CheckOutcome]] = _find_nothing
    inputs: tuple[str, ...] = ()
    settings: type[Settings_co] = StageSettings  # type: ignore[assignment]  # of a stage that reads none
    blocking: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Stage(Generic[Settings_co, Inputs_co]):
    """One stage of the pipeline.

    `run` fills the draft and returns the numbers that describe it. `code_version` is raised when it gives another
    answer. `refuse` is asked before a result is made, with the whole file: it raises where nothing could follow from
    the result. What it looks at is in no key, for the result would be the same. `checks` are of its published result.
    """

    name: str
    code_version: str
    settings: type[Settings_co]
    inputs: type[Inputs_co]
    run: Callable[[Settings_co, Inputs_co, Draft, StageContext], Mapping[str, object]]
    refuse: Callable[[DatasetSpec, Mapping[str, PublishedResult]], None] = _refuse_nothing
    checks: StageChecks = StageChecks()

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields of a dataset's file that it reads."""
        return tuple(self.settings.model_fields)

    @property
    def input_names(self) -> tuple[str, ...]:
        """The stages whose results it reads."""
        return self.inputs.names()

    def make(
        self, spec: DatasetSpec, results: Mapping[str, PublishedResult], draft: Draft, context: StageContext
    ) -> Mapping[str, object]:
        """Run it for one dataset."""
        return self.run(self.settings.of(spec), self.inputs.of(results), draft, context)
