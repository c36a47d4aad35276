"""The plan of a refresh: the stages whose results exist, the stages that would run, and why.

A plan runs no stage and writes only hashes of files. The module `due` decides which planned stages a refresh runs. If a
run does not change a stage's data version, the next plan finds the results of the later stages.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from aflite_assets.data.hub.datasets import asked_anew
from aflite_assets.errors import AfliteError, SpecError, StoreError, UnsettledDataError
from aflite_assets.refresh.changes import changes
from aflite_assets.results import PublishedResult, ResultKey, ResultStore
from aflite_assets.results.damage import manifest_damage
from aflite_assets.results.file_hashes import FileHashes
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.studies import study_models
from aflite_assets.specs.registry import Registry
from aflite_assets.specs.sources import HubSource
from aflite_assets.stages.data.cue_scan import CUE_SCAN, refuse_artefact
from aflite_assets.stages.pipeline import STAGES, next_attempt, stage_key, waits_for_scan
from aflite_assets.stages.shared.content_hashes import MISSING, FieldContents, is_hub_id, named_models
from aflite_assets.stages.stage import Stage

_log = logging.getLogger(__name__)
_LOST = "its folder is missing, or was set aside because it was damaged"

State = Literal["found", "made", "after", "waiting", "refused", "left", "cancelled"]
"""State of a stage, as docs/operations.md explains. Only `what_is_due` gives stages the last two states."""
HUB_SECONDS = 15.0
"""Seconds within which the Hub answers all requests of a plan for commits."""


@dataclass(frozen=True)
class StagePlan:
    """The planned work on one stage of one dataset.

    `reasons`: why the stage is not found or not current. `seconds`: how long the current result took to
    compute, or None if unknown. `key`: digest of the stage's present key, None if an input or a file is missing.
    `current`: the stage is found, and later stages read this result. `made_before`: the stage has a current result,
    whatever its key.
    """

    dataset: str
    stage: str
    state: State
    reasons: tuple[str, ...] = ()
    seconds: float | None = None
    key: str | None = None
    current: bool = False
    made_before: bool = False

    @property
    def stale(self) -> bool:
        """Whether running the stage now would change the inputs of later stages."""
        return self.state == "made" or (self.state == "found" and not self.current)

    @property
    def state_words(self) -> str:
        """The state for a person."""
        if not self.made_before and self.state in ("made", "after", "waiting"):
            return "never made"
        return {"made": "to make", "found": "found" if self.current else "not current"}.get(self.state, self.state)


@dataclass(frozen=True)
class DatasetPlan:
    """The planned stages of one dataset in order; empty if `failure` explains why its file is invalid.

    `notes`: assumptions of the plan, such as a commit that the Hub did not confirm. `contents`: the dataset's files and
    commits as they were read.
    """

    dataset: str
    stages: tuple[StagePlan, ...]
    failure: str | None = None
    notes: tuple[str, ...] = ()
    contents: FieldContents | None = field(default=None, compare=False, repr=False)

    @property
    def stale(self) -> tuple[StagePlan, ...]:
        """The stages that could be run now and would change the inputs of later stages."""
        return tuple(stage for stage in self.stages if stage.stale)

    @property
    def begun(self) -> bool:
        """Whether any stage has a result."""
        return any(stage.made_before for stage in self.stages)

    @property
    def up_to_date(self) -> bool:
        """Whether every stage is found and current."""
        return self.failure is None and all(stage.current for stage in self.stages)

    def in_state(self, *states: State) -> tuple[StagePlan, ...]:
        """Return the stages in one of these states."""
        return tuple(stage for stage in self.stages if stage.state in states)

    def __getitem__(self, stage: str) -> StagePlan:
        return next(each for each in self.stages if each.stage == stage)


def plan_datasets(
    registry: Registry, store: ResultStore, names: Iterable[str] | None = None, *, hashes: FileHashes | None = None
) -> Iterator[DatasetPlan]:
    """Yield a plan per dataset, by default of all datasets. The plan of an invalid file has a `failure`.

    The Hub has `HUB_SECONDS` to answer all requests for commits. `hashes` computes the hashes of files; all datasets
    share its budget. A dataset that cannot be planned does not affect the others.

    Raises:
        SpecError: no file has one of the names.
    """
    wanted = list(registry.specs) if names is None else list(names)
    failures = {path.stem: message for path, message in registry.failures.items() if path.stem not in registry.specs}
    specs = {name: registry[name] for name in wanted if name not in failures}
    with asked_anew(seconds=HUB_SECONDS) as asking:
        for name, spec in specs.items():
            asking.unanswered.clear()
            contents = FieldContents(spec, hashes=hashes or FileHashes())
            try:
                plan = plan_dataset(spec, store, contents=contents)
            except Exception as error:  # a damaged folder of one dataset may raise anything
                _log.exception("%s could not be planned", name)
                plan = DatasetPlan(name, (), failure=f"{name} could not be planned: {type(error).__name__}: {error}")
            notes = tuple(f"{what} is taken at its last known commit: {why}" for what, why in asking.unanswered.items())
            yield replace(plan, notes=notes, contents=contents)
    for name, message in failures.items():
        if names is None or name in wanted:
            yield DatasetPlan(name, (), failure=message)


def plan_dataset(
    spec: DatasetSpec,
    store: ResultStore,
    *,
    contents: FieldContents | None = None,
    stages: Mapping[str, Stage] = STAGES,
) -> DatasetPlan:
    """Return what a refresh of one dataset would do, stage by stage.

    A stage is found if the store has a complete result for its key, which follows from the found results of earlier
    stages. A found result need not be the current result. `contents`: the dataset's files and commits; by default, they
    are read now.
    """
    contents = contents or FieldContents(spec)
    results: dict[str, PublishedResult] = {}
    plans = [_Planner(spec, store, contents, stage, results).plan() for stage in stages.values()]
    return DatasetPlan(spec.name, tuple(plans))


@dataclass
class _Planner:
    """The plan of one stage, given the found results of earlier stages. A found result is added to `results`."""

    spec: DatasetSpec
    store: ResultStore
    contents: FieldContents
    stage: Stage
    results: dict[str, PublishedResult]

    def __post_init__(self) -> None:
        place = self.stage.name, self.spec.name
        self.current_key = self.store.current_key(*place)
        self.current: PublishedResult | None = None
        with suppress(StoreError):
            self.current = self.store.current(*place)
        self.damage = None if self.current is None else manifest_damage(self.current)
        self.manifest = None if self.current is None or self.damage is not None else self.current.manifest

    def plan(self) -> StagePlan:
        stage, name = self.stage, self.spec.name
        inputs = {name: self.results[name] for name in stage.input_names if name in self.results}
        try:
            key = stage_key(stage, self.spec, inputs, contents=self.contents)
            missing = [name for name in stage.input_names if name not in inputs]
            if missing:
                return self._planned("after", (*self._own_changes(key), f"after {', '.join(missing)}"))
            unavailable = self._unavailable(key)
            if unavailable:
                return self._planned("waiting", unavailable, key=key.digest)
            attempt = next_attempt(self.store, stage.name, name, key)
            if attempt.result is not None:
                return self._is_found(key, attempt.result)
            _check_models(self.spec, stage)
            stage.check_inputs(self.spec, inputs)
            if waits_for_scan(stage.name, self.spec):
                if CUE_SCAN.name not in self.results:
                    return self._planned("after", (f"after {CUE_SCAN.name}",), key=key.digest)
                refuse_artefact(self.spec, self.results[CUE_SCAN.name])
        except UnsettledDataError as error:
            return self._planned("waiting", (str(error),))
        except AfliteError as error:
            return self._planned("refused", (str(error),))
        return self._planned("made", self._why_made(key, again=attempt.key != key), key=key.digest)

    def _is_found(self, key: ResultKey, result: PublishedResult) -> StagePlan:
        self.results[self.stage.name] = result
        current = self.current is not None and self.current.key == result.key
        reasons: tuple[str, ...] = () if current else ("found, but another result is current",)
        if self.current is not None and not current:
            reasons += self._own_changes(key)
        return self._planned("found", reasons, key=key.digest, current=current)

    def _why_made(self, key: ResultKey, *, again: bool) -> tuple[str, ...]:
        different = self._own_changes(key)
        if different:
            return different
        if again:
            return ("its result lacks parts that failed; they are tried again",)
        damage = self.store.damage(self.stage.name, self.spec.name, key)
        why = _LOST if damage is None else f"its result is damaged: {damage.files}"
        return (why,)

    def _unavailable(self, key: ResultKey) -> tuple[str, ...]:
        """Return the challenge sets in the current result that the Hub does not serve now; these are no changes."""
        if self.manifest is None or "challenge_sets" not in self.stage.reads:
            return ()
        had = self.manifest["made_from"]["fields"].get("contents", {}).get("challenge_sets", {})
        has = key.fields["contents"]["challenge_sets"]
        return tuple(
            f"challenge_sets.{name}: the Hub does not serve it now; a later refresh requests it again"
            for name, challenge in self.spec.challenge_sets.items()
            if isinstance(challenge.source, HubSource) and has[name] == MISSING and had.get(name, MISSING) != MISSING
        )

    def _own_changes(self, key: ResultKey) -> tuple[str, ...]:
        """Return the differences of `key` from the current result's key, except inputs without a result."""
        if self.current_key is None:
            return ("never made",)
        if self.manifest is None:
            return (f"its result is damaged: {self.damage}" if self.damage else _LOST,)
        made_from = self.manifest["made_from"]
        unknown = set(self.stage.input_names) - set(key.inputs)
        known = {name: version for name, version in made_from["inputs"].items() if name not in unknown}
        return changes(
            {**made_from, "inputs": known},
            key,
            old_files=self.manifest["provenance"].get("files", {}),
            new_files=self.contents.files(self.stage.reads),
        )

    def _planned(self, state: State, reasons: tuple[str, ...], **rest: Any) -> StagePlan:
        seconds = None if self.manifest is None else self.manifest["provenance"].get("seconds")
        made_before = self.current_key is not None
        names = self.spec.name, self.stage.name
        return StagePlan(*names, state, reasons, seconds=seconds, made_before=made_before, **rest)


def _check_models(spec: DatasetSpec, stage: Stage) -> None:
    """Refuse a model whose folder or file is missing, before the stage is begun.

    Raises:
        SpecError: a model's folder or file is missing.
    """
    models: dict[str, BaseModel | None] = {"distance_encoder": spec.distance_encoder}
    for field_name, of_study in study_models(spec).items():
        by_name = of_study if isinstance(of_study, Mapping) else {"": of_study}
        models |= {f"{field_name}.{name}.model".replace("..", "."): one for name, one in by_name.items()}
    for field_name in ("representations", "evaluators"):
        models |= {f"{field_name}.{name}": model for name, model in getattr(spec, field_name).items()}
    read = stage.settings.read_of(spec)
    for place, settings in models.items():
        if settings is None or place.partition(".")[0] not in read:
            continue
        for named in named_models(settings):
            if not is_hub_id(named, settings) and not Path(named).exists():
                raise SpecError(
                    f"{place} names {named!r}, which does not exist; put the model back or correct the path"
                )
