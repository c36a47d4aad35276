"""Definition of a stage: the settings and results that it reads, and the function that computes its result.

Each stage is defined in a module of its name. `pipeline` lists the stages in order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from aflite_assets.analysis.filtering import IterationRow
from aflite_assets.checks import CheckOutcome
from aflite_assets.cluster import Cluster
from aflite_assets.cluster.local import LocalCluster
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.specs.core import CoreSpec
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.sources import CHOICE_FORMATS
from aflite_assets.studies import parts
from aflite_assets.tracking import TrackedRun

if TYPE_CHECKING:
    from aflite_assets.reports.figures.drawing import Picture


@dataclass(frozen=True)
class Progress:
    """Callbacks of a running stage for log lines, finished iterations, and finished parts.

    `on_part` receives the number of finished parts and the number of all parts.
    """

    log: Callable[[str], None] = lambda line: None
    on_iteration: Callable[[IterationRow], None] = lambda row: None
    on_part: Callable[[int, int], None] = lambda done, total: None


no_progress = Progress()
"""A `Progress` that discards log lines and iterations."""


@dataclass(frozen=True)
class CellFilter:
    """The cells of the evaluator grid to train in this run; an empty field selects all values.

    Results of earlier training runs are used even for cells that are not selected.
    """

    evaluators: tuple[str, ...] = ()
    train_sets: tuple[str, ...] = ()
    representations: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()


ALL_CELLS = CellFilter()


@dataclass(frozen=True)
class StageContext:
    """Resources of a running stage, such as tracker, device and cluster, which do not change the result.

    `cells` only limits which cells of the evaluator grid are computed in this run.
    """

    tracker: TrackedRun
    device: DeviceSettings
    progress: Progress
    cells: CellFilter = ALL_CELLS
    cluster: Cluster = LocalCluster()  # noqa: RUF009 - frozen


@dataclass(frozen=True)
class StageSettings:
    """Settings of a dataset's YAML file that one stage reads, and on which the key of the stage's result depends.

    `names`: names of fields of `DatasetSpec`, separated by blanks. `stage`: the stage to whose settings studies add
    their own by `CoreSpec.read_by`. `versions`: a function that returns versions of code that only some datasets use;
    they are further fields of the key. `is_disabled`: a function that returns True if the dataset's YAML file does not
    use the stage, so that its result is empty; the key of an empty result has only the first setting.
    """

    names: str = ""
    versions: Callable[[DatasetSpec], Mapping[str, object]] = lambda spec: {}
    is_disabled: Callable[[DatasetSpec], bool] = lambda spec: False
    stage: str = ""

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Names of the settings, including those that studies add."""
        return (*self.names.split(), *study_settings(self.stage))

    def of(self, spec: DatasetSpec) -> DatasetSpec:
        """Return a copy of a dataset's YAML file with these settings alone; other settings are not attributes of it.

        `spec` may also be a copy that another stage's settings returned, if it has the settings.
        """
        some = spec.model_copy()
        for name in set(vars(some)) - set(self.fields):
            del some.__dict__[name]
        return some

    def as_json(self, spec: DatasetSpec) -> dict[str, object]:
        """Return the JSON values for the result's key, in the order of the fields in `DatasetSpec`."""
        return {**spec.model_dump(mode="json", include=set(self.read_of(spec))), **self.versions(spec)}

    def read_of(self, spec: DatasetSpec) -> tuple[str, ...]:
        """Return the names of the settings on which the stage's result depends."""
        return self.fields[:1] if self.is_disabled(spec) else self.fields


def of_choices(**versions: object) -> Callable[[DatasetSpec], Mapping[str, object]]:
    """Return a function that returns the given versions for a dataset of multiple choice, and nothing for others."""
    return lambda spec: versions if spec.source.format in CHOICE_FORMATS else {}


def study_settings(stage: str) -> tuple[str, ...]:
    """Return the names of the settings that studies add to a stage of the core, by `CoreSpec.read_by`."""
    blocks = (block for block in parts("specs.settings", type) if issubclass(block, CoreSpec))
    return tuple(name for block in blocks for name in block.read_by.get(stage, ()))


StudyRole = Literal["selects", "draws", "measures"]
"""Use of a study's results. selects: the file `published.SELECTION_FILE` selects the train rows that are used at all.
draws: evaluators may train on the sets of rows in the file `published.ROW_SETS_FILE`. measures: only the report reads
the results.
"""

StudyResults = Mapping[str, PublishedResult]
"""Results of the stages of studies, by stage."""

_ROLES: Mapping[str, StudyRole] = {"selection": "selects", "drawn": "draws", "measured": "measures"}


class StageInputs:
    """Results that one stage reads; results that the stage does not name are not attributes.

    An attribute of the type `StudyResults` has the results of all stages of studies with one role.
    """

    raw_dataset: PublishedResult
    challenge_sets: PublishedResult
    cue_scan: PublishedResult
    warmup_split: PublishedResult
    warmup_models: PublishedResult
    embeddings: PublishedResult
    filtered_sets: PublishedResult
    control_sets: PublishedResult
    published_dataset: PublishedResult
    leaning_sets: PublishedResult
    evaluator_models: PublishedResult
    bias_evidence: PublishedResult
    analysis: PublishedResult
    selection: StudyResults
    drawn: StudyResults
    measured: StudyResults

    def __init__(self, names: Iterable[str], results: Mapping[str, PublishedResult]) -> None:
        for name in names:
            of_studies = {stage: results[stage] for stage in _stages_of(name)}
            setattr(self, name, of_studies if name in _ROLES else results[name])

    @property
    def results(self) -> dict[str, PublishedResult]:
        """The results by stage name."""
        found: dict[str, PublishedResult] = {}
        for name, one in vars(self).items():
            found |= one if name in _ROLES else {name: one}
        return found


def _stages_of(name: str) -> tuple[str, ...]:
    """Return the stages whose results are the attribute `name` of `StageInputs`."""
    role = _ROLES.get(name)
    return (name,) if role is None else tuple(one.stage.name for one in study_stages() if one.role == role)


@dataclass(frozen=True)
class StageChecks:
    """Checks of a stage's published result; `stages.checks` runs them once per result.

    `asks`: the statement of each check, which is true if the check passes. `blocking`: names of the checks that stop a
    run if they fail. `run`: the function that returns the outcomes, called with the result, the `inputs` and the
    `settings`. `inputs`: names of the stages whose results the checks read. `settings`: the fields that the checks
    read.
    """

    asks: Mapping[str, str] = field(default_factory=dict)
    run: Callable[[PublishedResult, Mapping[str, PublishedResult], DatasetSpec], Iterable[CheckOutcome]] = (
        lambda *read: ()
    )
    inputs: tuple[str, ...] = ()
    settings: StageSettings = StageSettings()
    blocking: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline.

    `run` fills the draft and returns the numbers that describe the result. `code_version` must be increased if a change
    of `run` changes the result. `refuse` is called with all settings before a result is computed, and raises an error
    if the result would be of no use to later stages. Values that only `refuse` reads do not change the result, so they
    are not part of the key. `inputs`: attributes of `StageInputs`, separated by blanks. `checks` are run on the
    published result.
    """

    name: str
    code_version: str
    settings: StageSettings
    inputs: str
    run: Callable[[DatasetSpec, StageInputs, Draft, StageContext], Mapping[str, object]]
    refuse: Callable[[DatasetSpec, Mapping[str, PublishedResult]], None] = lambda spec, results: None
    checks: StageChecks = StageChecks()

    @property
    def reads(self) -> tuple[str, ...]:
        """Fields of a dataset's YAML file that the stage reads."""
        return self.settings.fields

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the stages whose results this stage reads."""
        return tuple(stage for name in self.inputs.split() for stage in _stages_of(name))

    def inputs_of(self, results: Mapping[str, PublishedResult]) -> StageInputs:
        """Select the results that the stage reads."""
        return StageInputs(self.inputs.split(), results)

    def check_inputs(self, spec: DatasetSpec, results: Mapping[str, PublishedResult]) -> None:
        """Refuse inputs of which a result would be of no use, by the stage's own rule and by the rules of studies."""
        for one in study_stages():
            if self.name in one.refuse:
                one.refuse[self.name](spec, results)
        self.refuse(spec, results)

    def make(
        self, spec: DatasetSpec, results: Mapping[str, PublishedResult], draft: Draft, context: StageContext
    ) -> Mapping[str, object]:
        """Run the stage for one dataset."""
        return self.run(self.settings.of(spec), self.inputs_of(results), draft, context)


@dataclass(frozen=True, kw_only=True)
class StudyStage:
    """A stage of a study, which runs before the stage `before` of the core.

    `role`: what the core does with the results. `on_cards`: whether the stage trains or runs models. `refuse`:
    functions that refuse the inputs of stages of the core because of the study's results, by stage. `pictures`: a
    function that draws small pictures of a result.
    """

    stage: Stage
    before: str
    role: StudyRole
    on_cards: bool = False
    refuse: Mapping[str, Callable[[DatasetSpec, Mapping[str, PublishedResult]], None]] = field(default_factory=dict)
    pictures: Callable[[PublishedResult], "dict[str, Picture]"] | None = None


def study_stages() -> tuple[StudyStage, ...]:
    """Return the stages of all studies, which are the `PART` of the studies' modules `stages.pipeline`."""
    return tuple(one for part in parts("stages.pipeline", tuple) for one in part)


def with_study_stages(core: Iterable[Stage]) -> Iterator[Stage]:
    """Yield stages of the core in order, and each stage of a study before the stage that it names."""
    for stage in core:
        yield from (one.stage for one in study_stages() if one.before == stage.name)
        yield stage
