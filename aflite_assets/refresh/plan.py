"""The plan of a refresh: which stages of which datasets are found, which would be made, why, and how long it took last.

No stage is run, only hashes of files are written, and neither torch nor Dagster is imported. What a plan means for a
refresh (the switch, `refresh` of the YAML file, failures) is in `due`. After a run the next plan finds what it made; if
a data version is unchanged, the stages after it are found again and not due.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from aflite_assets.data.hub.datasets import asked_anew
from aflite_assets.errors import AfliteError, SpecError, StoreError, UnsettledDataError
from aflite_assets.refresh.changes import Change, changes
from aflite_assets.results import PublishedResult, ResultKey, ResultStore
from aflite_assets.results.damage import manifest_damage
from aflite_assets.results.file_hashes import FileHashes
from aflite_assets.results.store import DAMAGED
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import Registry
from aflite_assets.specs.sources import HubSource
from aflite_assets.stages.data.cue_scan import CUE_SCAN, refuse_artefact
from aflite_assets.stages.pipeline import STAGES, next_attempt, stage_key, waits_for_scan
from aflite_assets.stages.shared.content_hashes import MISSING, FieldContents, is_hub_id, named_models
from aflite_assets.stages.stage import Stage

_log = logging.getLogger(__name__)

State = Literal["found", "made", "after", "waiting", "refused"]
STATES: Mapping[State, str] = {
    "found": "its result is there",
    "made": "it would be made",
    "after": "it depends on stages that are not found",
    "waiting": "a file is still being written, or not hashed yet",
    "refused": "it cannot be made until what is said there is mended",
}
"""Meanings of the states in words."""


@dataclass(frozen=True)
class StagePlan:
    """Record of what a refresh would do about one stage of one dataset.

    `reasons`: why it is not found, or not current. `seconds`: how long making the current result took, None where
    unknown. `key`: digest of its present key, None where inputs or files do not determine it yet. `current`: it is
    found and is what is read downstream. `made_before`: there is a current result, of whatever key. `data_version`:
    that of the result found.
    """

    dataset: str
    stage: str
    state: State
    reasons: tuple[Change, ...] = ()
    seconds: float | None = None
    key: str | None = None
    current: bool = False
    made_before: bool = False
    data_version: str | None = None

    @property
    def stale(self) -> bool:
        """Whether running the stage now would change what is read downstream."""
        return self.state == "made" or (self.state == "found" and not self.current)


@dataclass(frozen=True)
class DatasetPlan:
    """The stages of one dataset in order; none where `failure` says why its file was not understood.

    `notes`: what the plan had to assume, such as a commit that the hub did not confirm. `contents`: its files and
    commits as they were read.
    """

    dataset: str
    stages: tuple[StagePlan, ...]
    failure: str | None = None
    notes: tuple[str, ...] = ()
    contents: FieldContents | None = field(default=None, compare=False, repr=False)

    @property
    def stale(self) -> tuple[StagePlan, ...]:
        """The stages that could be run now and would change something."""
        return tuple(stage for stage in self.stages if stage.stale)

    @property
    def begun(self) -> bool:
        """Whether any stage was made before."""
        return any(stage.made_before for stage in self.stages)

    @property
    def up_to_date(self) -> bool:
        """Whether every stage is found and current."""
        return self.failure is None and all(stage.current for stage in self.stages)

    @property
    def seconds(self) -> float | None:
        """How long the stages that are not found took last time; None where that is unknown for any of them."""
        last_times = [stage.seconds for stage in self.stages if stage.state != "found"]
        known = [seconds for seconds in last_times if seconds is not None]
        return sum(known) if len(known) == len(last_times) else None

    def __getitem__(self, stage: str) -> StagePlan:
        return next(each for each in self.stages if each.stage == stage)


def plan_datasets(
    registry: Registry,
    store: ResultStore,
    names: Iterable[str] | None = None,
    *,
    hashes: FileHashes | None = None,
    hub_seconds: float = 15.0,
) -> Iterator[DatasetPlan]:
    """Yield the plans of these datasets, by default of all, and a plan with a `failure` for each file not understood.

    The hub is asked anew for every commit, all questions together within `hub_seconds`; files are hashed by `hashes`,
    whose budget the datasets share. A dataset that cannot be planned does not affect the others.

    Raises:
        SpecError: a name that no file has.
    """
    wanted = list(registry.specs) if names is None else list(names)
    failures = {path.stem: message for path, message in registry.failures.items() if path.stem not in registry.specs}
    specs = {name: registry[name] for name in wanted if name not in failures}
    with asked_anew(seconds=hub_seconds) as asking:
        for name, spec in specs.items():
            asking.unanswered.clear()
            contents = FieldContents(spec, hashes=hashes or FileHashes())
            try:
                plan = plan_dataset(spec, store, contents=contents)
            except Exception as error:  # anything in one dataset's folders, such as a manifest that is not JSON
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

    A stage is found where the key that follows from the found results before it has a complete result, whatever is
    current. `contents`: its files and commits; by default they are read now, without a limit.
    """
    contents = contents or FieldContents(spec)
    plans: dict[str, StagePlan] = {}
    results: dict[str, PublishedResult] = {}
    for name, stage in stages.items():
        plans[name] = _Planner(spec, store, contents, stage, plans, results).plan()
    return DatasetPlan(spec.name, tuple(plans.values()))


class _Planner:
    """One stage's plan, given those of the stages before it; adds its result to `results`."""

    def __init__(
        self,
        spec: DatasetSpec,
        store: ResultStore,
        contents: FieldContents,
        stage: Stage,
        plans: Mapping[str, StagePlan],
        results: dict[str, PublishedResult],
    ) -> None:
        self._spec, self._store, self._contents, self._stage = spec, store, contents, stage
        self._plans, self._results = plans, results
        self._current = _current(store, stage.name, spec.name)
        self._current_key = store.current_key(stage.name, spec.name)
        self._manifest, self._damage = _manifest(self._current)

    def plan(self) -> StagePlan:
        stage = self._stage
        inputs = {name: self._results[name] for name in stage.input_names if name in self._results}
        missing = [name for name in stage.input_names if name not in self._results]
        try:
            key = stage_key(stage, self._spec, inputs, contents=self._contents)
            if missing:
                return self._planned("after", (*self._own_changes(key, missing), *self._after(missing)))
            unavailable = self._unavailable(key)
            if unavailable:
                return self._planned("waiting", unavailable, key=key.digest)
            wanted = next_attempt(self._store, stage.name, self._spec.name, key)
            result = self._store.find(stage.name, self._spec.name, wanted)
            if result is not None:
                return self._is_found(key, result)
            _check_models(self._spec, stage)
            stage.refuse(self._spec, inputs)
            if waits_for_scan(stage.name, self._spec):
                if CUE_SCAN.name not in self._results:
                    return self._planned("after", tuple(self._after([CUE_SCAN.name])), key=key.digest)
                refuse_artefact(self._spec, self._results[CUE_SCAN.name])
        except UnsettledDataError as error:
            return self._planned("waiting", (Change("note", str(error)),))
        except AfliteError as error:
            return self._planned("refused", (Change("note", str(error)),))
        return self._planned("made", self._why_made(key, again=wanted != key), key=key.digest)

    def _is_found(self, key: ResultKey, result: PublishedResult) -> StagePlan:
        self._results[self._stage.name] = result
        current = self._current is not None and self._current.key == result.key
        reasons: tuple[Change, ...] = ()
        if not current:
            reasons = (Change("note", "found, but not what is current"), *self._own_changes(key, ()))
        return self._planned("found", reasons, key=key.digest, current=current, data_version=result.data_version)

    def _why_made(self, key: ResultKey, *, again: bool) -> tuple[Change, ...]:
        if self._current is None:
            return (self._absent(),)
        different = self._own_changes(key, ())
        if again and not different:
            return (Change("incomplete", "its result lacks parts that failed; they are tried again"),)
        damage = None if different else self._store.damage(self._stage.name, self._spec.name, key)
        lost = Change("lost", "its folder is missing" if damage is None else f"its result is damaged: {damage.files}")
        return different or (lost,)

    def _absent(self) -> Change:
        """Why there is no current result: none was ever made, or its folder was set aside or deleted."""
        if self._current_key is None:
            return Change("never made", "never made")
        aside = self._store.root / self._stage.name / self._spec.name / DAMAGED
        was_damaged = any(aside.glob(f"{self._current_key}-*"))
        return Change("lost", "its result was damaged and is set aside" if was_damaged else "its folder is missing")

    def _unavailable(self, key: ResultKey) -> tuple[Change, ...]:
        """Challenge sets that the current result has and the hub does not serve now: an outage is not a change."""
        if self._manifest is None or "challenge_sets" not in self._stage.reads:
            return ()
        had = self._manifest["made_from"]["fields"].get("contents", {}).get("challenge_sets", {})
        has = key.fields["contents"]["challenge_sets"]
        return tuple(
            Change("note", f"challenge_sets.{name}: the hub does not give it now; it is asked again later")
            for name, challenge in self._spec.challenge_sets.items()
            if isinstance(challenge.source, HubSource) and has[name] == MISSING and had.get(name, MISSING) != MISSING
        )

    def _after(self, names: Sequence[str]) -> Iterator[Change]:
        """Yield the stages before this one that are not found, as notes."""
        wording = {"after {}": ("made", "after"), "{} waiting": ("waiting",), "{} refused": ("refused",)}
        for words, states in wording.items():
            named = [name for name in names if name in self._plans and self._plans[name].state in states]
            if named:
                yield Change("note", words.format(", ".join(named)))

    def _own_changes(self, key: ResultKey, unknown_inputs: Iterable[str]) -> tuple[Change, ...]:
        """How the key differs from the current result's, leaving out inputs whose data version is not known yet."""
        if self._current is None:
            return (self._absent(),) if unknown_inputs else ()
        if self._manifest is None:
            return (Change("lost", f"its result is damaged: {self._damage}"),)
        made_from = self._manifest["made_from"]
        unknown = set(unknown_inputs)
        known = {name: version for name, version in made_from["inputs"].items() if name not in unknown}
        return changes(
            {**made_from, "inputs": known},
            key,
            old_files=self._manifest["provenance"].get("files", {}),
            new_files=self._contents.files(self._stage.reads),
        )

    def _planned(self, state: State, reasons: tuple[Change, ...], **rest: Any) -> StagePlan:
        made_before = self._current_key is not None
        seconds = None if self._manifest is None else self._manifest["provenance"].get("seconds")
        return StagePlan(
            self._spec.name, self._stage.name, state, reasons, seconds=seconds, made_before=made_before, **rest
        )


def _current(store: ResultStore, stage: str, dataset: str) -> PublishedResult | None:
    try:
        return store.current(stage, dataset)
    except StoreError:
        return None


def _manifest(result: PublishedResult | None) -> tuple[Mapping[str, Any] | None, str]:
    """Return a result's manifest, or None and what is wrong with it."""
    if result is None:
        return None, ""
    damage = manifest_damage(result)
    return (result.manifest, "") if damage is None else (None, damage)


def _check_models(spec: DatasetSpec, stage: Stage) -> None:
    """Refuse a model whose folder or file is missing, before the stage is begun.

    Raises:
        SpecError: names the field, and what it names.
    """
    read = stage.settings.read_of(spec)
    models = {
        **{f"{field}.{name}": model for field in ("representations", "evaluators") if field in read
           for name, model in getattr(spec, field).items()},
        **({"distance_encoder": spec.distance_encoder} if "distance_encoder" in read else {}),
        **{f"forgettables.{name}.model": entry.model for name, entry in spec.forgettables.items()
           if "forgettables" in read and entry.model is not None},
    }  # fmt: skip
    for place, settings in models.items():
        for named in named_models(settings):
            if not is_hub_id(named, settings) and not Path(named).exists():
                raise SpecError(f"{place} names {named!r}, which is not there; put the model back or correct the path")
