"""Definition of a stage: its inputs from a dataset's YAML file and from other stages, and how it makes its result.

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
    """The receiver of a running stage's log lines, finished iterations, and numbers of finished and of all parts."""

    log: Callable[[str], None]
    on_iteration: Callable[[IterationRow], None]
    on_part: Callable[[int, int], None] = lambda done, total: None


def _ignore(_: object) -> None:
    return None


no_progress = Progress(log=_ignore, on_iteration=_ignore)
"""A receiver that discards log lines and iterations."""


@dataclass(frozen=True)
class CellFilter:
    """The cells of the grid of evaluators to train now; an empty field means all.

    Results of earlier trainings are used in any case.
    """

    evaluators: tuple[str, ...] = ()
    train_sets: tuple[str, ...] = ()
    representations: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()


ALL_CELLS = CellFilter()


@dataclass(frozen=True)
class StageContext:
    """The resources of a running stage, none of which changes its result.

    `cells` changes only how much of a grid is made now.
    """

    tracker: TrackedRun
    device: DeviceSettings
    progress: Progress
    cells: CellFilter = ALL_CELLS
    cluster: Cluster = LocalCluster()  # noqa: RUF009 - frozen


class StageSettings(BaseModel):
    """The fields of a dataset's YAML file that one stage reads; its result's key is computed from them.

    A subclass declares them with the same annotations as in `DatasetSpec`.
    """

    # Never validated, so no validator is built: definitions load all stages.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def of(cls, spec: "DatasetSpec | StageSettings") -> Self:
        """Take the values from a dataset's YAML file, which was checked when it was read, or from settings with these
        fields.
        """
        values = {name: getattr(spec, name) for name in cls.model_fields}
        return cls.model_construct(**values)  # type: ignore[return-value]  # pydantic's plugin forgets Self

    @classmethod
    def as_json(cls, spec: DatasetSpec) -> dict[str, object]:
        """Return the JSON values that go into a key: `DatasetSpec` decides their order."""
        return spec.model_dump(mode="json", include=set(cls.read_of(spec)))

    @classmethod
    def read_of(cls, spec: DatasetSpec) -> tuple[str, ...]:
        """Return the fields of a dataset's YAML file that the stage's result depends on; fewer if the file does not use
        the stage.
        """
        return tuple(cls.model_fields)

    @classmethod
    def asks_nothing(cls, spec: DatasetSpec) -> bool:
        """Whether a dataset's YAML file does not use the stage, so that its result is empty."""
        return False


@dataclass(frozen=True)
class StageInputs:
    """The results that one stage reads: a subclass has one field for each, named like the stage that makes it."""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the stages that make these results."""
        return tuple(field.name for field in fields(cls))

    @classmethod
    def of(cls, results: Mapping[str, PublishedResult]) -> Self:
        """Select the results that the stage reads."""
        make: Callable[..., Self] = cls
        return make(**{name: results[name] for name in cls.names()})

    @property
    def results(self) -> dict[str, PublishedResult]:
        """The results by the stages that made them."""
        return {name: getattr(self, name) for name in self.names()}


def _refuse_nothing(spec: DatasetSpec, results: Mapping[str, PublishedResult]) -> None:
    """Refuse no result; most stages use this default."""


# Covariant, so that the pipeline may hold stages of any settings and inputs: it makes both by `of` alone.
Settings_co = TypeVar("Settings_co", bound=StageSettings, default=StageSettings, covariant=True)
Inputs_co = TypeVar("Inputs_co", bound=StageInputs, default=StageInputs, covariant=True)


def _find_nothing(*read: object) -> Iterable[CheckOutcome]:
    """Yield no outcome; most stages have no checks."""
    return ()


@dataclass(frozen=True)
class StageChecks(Generic[Settings_co]):
    """Checks of a stage's published result, which `stages.checks` runs once for each result.

    `asks`: by the name of a check, the statement that holds if it passes; the checks in `blocking` block. `run` returns
    the outcomes, given the result, the stage `inputs` that the checks read (by name), and the `settings` that they
    read.
    """

    asks: Mapping[str, str] = field(default_factory=dict)
    run: Callable[[PublishedResult, Mapping[str, PublishedResult], Settings_co], Iterable[CheckOutcome]] = _find_nothing
    inputs: tuple[str, ...] = ()
    settings: type[Settings_co] = StageSettings  # type: ignore[assignment]  # of a stage that reads none
    blocking: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Stage(Generic[Settings_co, Inputs_co]):
    """One stage of the pipeline.

    `run` fills the draft and returns the numbers that describe the result. `code_version` is raised when `run` gives a
    different result. `refuse` is called with the whole file before a result is made; it raises an error if nothing
    could use the result. The values it reads are in no key, because they do not change the result. `checks` are run on
    its published result.
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
        """The fields of a dataset's YAML file that the stage reads."""
        return tuple(self.settings.model_fields)

    @property
    def input_names(self) -> tuple[str, ...]:
        """The stages whose results this stage reads."""
        return self.inputs.names()

    def make(
        self, spec: DatasetSpec, results: Mapping[str, PublishedResult], draft: Draft, context: StageContext
    ) -> Mapping[str, object]:
        """Run the stage for one dataset."""
        return self.run(self.settings.of(spec), self.inputs.of(results), draft, context)
