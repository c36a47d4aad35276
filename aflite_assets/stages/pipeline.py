"""The stages in order, and functions that run one stage or all stages of a dataset.

The result of a stage is reused if a result with the same key exists; otherwise it is computed and published. Each stage
is defined in the module of its name.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from aflite_assets.cluster import ClusterSettings, open_cluster
from aflite_assets.errors import InvalidInputError, StoreError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import Draft, PublishedResult, ResultKey, ResultStore, StoredResult
from aflite_assets.results.locks import reading
from aflite_assets.results.refresh_records import Refresh, record_refresh
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.data.challenge_sets import CHALLENGE_SETS
from aflite_assets.stages.data.cue_scan import CUE_SCAN, refuse_artefact
from aflite_assets.stages.data.raw_dataset import RAW_DATASET
from aflite_assets.stages.embedding.embeddings import EMBEDDINGS
from aflite_assets.stages.evaluation.analysis.stage import ANALYSIS
from aflite_assets.stages.evaluation.bias_evidence import BIAS_EVIDENCE
from aflite_assets.stages.evaluation.evaluator_models import EVALUATOR_MODELS
from aflite_assets.stages.evaluation.leaning_sets import LEANING_SETS
from aflite_assets.stages.filtering.control_sets import CONTROL_SETS
from aflite_assets.stages.filtering.filtered_sets import FILTERED_SETS
from aflite_assets.stages.filtering.published_dataset import PUBLISHED_DATASET
from aflite_assets.stages.report.benchmark_report import BENCHMARK_REPORT
from aflite_assets.stages.shared.content_hashes import FieldContents, content_hashes
from aflite_assets.stages.shared.file_records import file_records
from aflite_assets.stages.stage import (
    ALL_CELLS,
    CellFilter,
    Progress,
    Stage,
    StageContext,
    no_progress,
    study_stages,
    with_study_stages,
)
from aflite_assets.stages.warmup.warmup_models import WARMUP_MODELS
from aflite_assets.stages.warmup.warmup_split import WARMUP_SPLIT
from aflite_assets.tracking import NullTracker, TrackedRun, Tracker

_CORE: tuple[Stage, ...] = (
    RAW_DATASET,
    CHALLENGE_SETS,
    CUE_SCAN,
    WARMUP_SPLIT,
    WARMUP_MODELS,
    EMBEDDINGS,
    FILTERED_SETS,
    CONTROL_SETS,
    PUBLISHED_DATASET,
    LEANING_SETS,
    EVALUATOR_MODELS,
    BIAS_EVIDENCE,
    ANALYSIS,
    BENCHMARK_REPORT,
)

STAGES: Mapping[str, Stage] = {stage.name: stage for stage in with_study_stages(_CORE)}
"""All stages by name, in the order in which they run."""

ON_CARDS = frozenset(
    {
        WARMUP_SPLIT.name,
        WARMUP_MODELS.name,
        EMBEDDINGS.name,
        FILTERED_SETS.name,
        EVALUATOR_MODELS.name,
        BIAS_EVIDENCE.name,
        *(one.stage.name for one in study_stages() if one.on_cards),
    }
)
"""Stages that train models, run models or fit classifiers, on a GPU if there is one."""

SPREAD = frozenset({EMBEDDINGS.name, FILTERED_SETS.name, EVALUATOR_MODELS.name})
"""Stages that use the workers of a cluster if there is one."""


def stage_key(
    stage: Stage, spec: DatasetSpec, inputs: Mapping[str, PublishedResult], *, contents: FieldContents | None = None
) -> ResultKey:
    """Return a stage's result key: code version, settings, hashes of the files that they name, and input versions.

    `contents`: hashes of source files that were computed earlier; by default, the files are hashed now.
    """
    reads = stage.settings.read_of(spec)
    hashes = content_hashes(spec, reads) if contents is None else contents.of(reads)
    fields = {**stage.settings.as_json(spec), "contents": hashes}
    return ResultKey(stage.code_version, fields, input_versions(inputs))


def input_versions(inputs: Mapping[str, PublishedResult]) -> dict[str, str]:
    """Return the data versions of a stage's inputs, except results that the dataset's YAML file does not request."""
    return {name: result.data_version for name, result in inputs.items() if not result.summary.get("nothing_asked")}


def waits_for_scan(name: str, spec: DatasetSpec) -> bool:
    """Return True if the stage may run only after a scan that found no artefact (`scan.stop` is `artefact`)."""
    stops = spec.scan.stop == "artefact"
    return stops and name in ON_CARDS and not STAGES[name].settings.is_disabled(spec)


def require_no_artefact(name: str, spec: DatasetSpec, make: Callable[[str], PublishedResult]) -> None:
    """Refuse a stage that would use a GPU if the scan found an artefact and `scan.stop` is `artefact`.

    `make`: a function that returns a stage's result and computes the result if necessary. A missing scan is computed
    here, because Dagster may start the stage before the scan.

    Raises:
        ArtefactFoundError: the scan found an artefact.
        AfliteError: any error of the challenge sets or the scan.
    """
    if waits_for_scan(name, spec):
        make(CHALLENGE_SETS.name)
        refuse_artefact(spec, make(CUE_SCAN.name))


def run_stage(
    name: str,
    spec: DatasetSpec,
    *,
    store: ResultStore,
    tracker: Tracker | None = None,
    device: DeviceSettings | None = None,
    progress: Progress = no_progress,
    cells: CellFilter = ALL_CELLS,
    cluster: ClusterSettings = ClusterSettings(),  # noqa: B008 - frozen
    on_making: Callable[[ResultKey], None] = lambda key: None,
) -> StoredResult:
    """Return the result of one stage for one dataset; if no result has the stage's current key, compute and publish it.

    If parts of an existing result failed, the stage runs again and computes the failed parts. `cells`: the cells of the
    evaluator grid to train in this run. `cluster`: the cluster that runs the stage if the stage can be distributed;
    results do not depend on the cluster. `on_making`: called with the result's key before the stage runs. In a new
    result's manifest, `provenance` has `seconds` (the duration) and `files` (a record of each source file).

    Raises:
        StoreError: an input was never materialised or is damaged. A damaged result is set aside and recomputed when its
            stage runs. A missing result that the dataset's YAML file does not request is created without an error.
        DataError: a file was changed after the key was computed.
        AfliteError: any error of the stage.
    """
    call = _call(name, spec, store)

    def scanned(first: str) -> PublishedResult:
        return run_stage(first, spec, store=store, tracker=tracker, device=device, progress=progress).result

    def write(draft: Draft) -> Mapping[str, object]:
        # The input is refused before the attempt is counted, because another YAML file may have the same key.
        call.stage.check_inputs(spec, call.inputs)
        require_no_artefact(name, spec, scanned)
        on_making(call.wanted)
        started = time.monotonic()
        store.check_inputs(call.inputs.values(), reader=f"{name} of {spec.name!r}", log=progress.log)
        tracked = (tracker or NullTracker()).run(name, spec.name, call.key.digest)
        with reading(call.inputs.values()), tracked as run:
            _log_origin(run, draft, call.key)
            _log_devices(run, draft, device)
            used = cluster if name in SPREAD else ClusterSettings()
            _check_shared(used, store)
            with open_cluster(used, log=progress.log) as opened:
                context = StageContext(run, device or DeviceSettings(), progress, cells, opened)
                summary = call.stage.make(spec, call.inputs, draft, context)
            call.contents.check_unchanged(call.stage.reads)
            run.log_metrics(numbers(summary))
        draft.provenance["files"] = file_records(call.contents.files(call.stage.reads))
        draft.provenance["seconds"] = round(time.monotonic() - started, 3)
        return summary

    obtained = store.get_or_create(name, spec.name, call.key, write, log=progress.log)
    if tracker is not None and not obtained.cached:
        _log_versions(tracker, obtained.result)
    return obtained


def _check_shared(cluster: ClusterSettings, store: ResultStore) -> None:
    """Check that all nodes of the cluster can read and write a stage's files.

    If results are in an object store, a stage's files are only on this machine.

    Raises:
        InvalidInputError: the cluster has other machines, and results are in an object store.
    """
    if cluster.is_ray and cluster.address != "local" and store.keeps_copies:
        raise InvalidInputError(
            f"`AFLITE_CLUSTER` or `compute_cluster` selects {cluster}, whose nodes cannot read this machine's copies "
            f"of {store.place}; unset `AFLITE_STORE` and set `AFLITE_HOME` to a folder that all nodes share, or run "
            "without the cluster"
        )


def find_stage(name: str, spec: DatasetSpec, *, store: ResultStore) -> StoredResult | None:
    """Find the result of one stage for one dataset and make the result current; return None if there is no result.

    Raises:
        StoreError: an input was never materialised.
        AfliteError: a file or model that the spec names is not available.
    """
    key = _call(name, spec, store).key
    if store.find(name, spec.name, key) is None:
        return None
    try:
        return store.get_or_create(name, spec.name, key, _leave)
    except _ToBeMadeError:
        return None


class _ToBeMadeError(Exception):
    """Error for a result that was deleted after it had been found."""


def _leave(draft: Draft) -> Mapping[str, object]:
    raise _ToBeMadeError


def run_pipeline(
    spec: DatasetSpec,
    *,
    store: ResultStore,
    tracker: Tracker | None = None,
    device: DeviceSettings | None = None,
    progress: Progress = no_progress,
    cluster: ClusterSettings = ClusterSettings(),  # noqa: B008 - frozen
    what: str = "run_pipeline",
    wait: float = -1,
) -> dict[str, StoredResult]:
    """Run every stage of one dataset in order, in this process and without Dagster.

    Only one run per dataset is possible at a time. `wait`: seconds to wait for another run to end, or a negative number
    to wait without limit. The results are recorded as a refresh. `what`: a description of the run, for the record and
    for the dataset's lock.

    Raises:
        DatasetBusyError: another run did not end in time.
        StoreError: another machine replaced a stage's input during this run.
        AfliteError: any error of a stage.
    """
    with store.dataset_lock(spec.name, what=what, wait=wait):
        results: dict[str, StoredResult] = {}
        for name in STAGES:
            results[name] = run_stage(
                name, spec, store=store, tracker=tracker, device=device, cluster=cluster, progress=progress
            )
            _check_inputs_of_this_run(results, name)
        made = [name for name, obtained in results.items() if not obtained.cached]
        record_refresh(store, [obtained.result for obtained in results.values()], made=made, what=what)
    return results


def _check_inputs_of_this_run(results: Mapping[str, StoredResult], name: str) -> None:
    """Refuse the result of stage `name` if the result was computed from inputs of another run.

    The dataset's lock prevents a second run on this machine, but not on another machine.
    """
    wanted = input_versions({asset: results[asset].result for asset in STAGES[name].input_names})
    found = results[name].result.manifest["made_from"]["inputs"]
    others = sorted(asset for asset in {*wanted, *found} if wanted.get(asset) != found.get(asset))
    if others:
        raise StoreError(
            f"`{name}` of {results[name].result.partition!r} was computed from another run's results of {others}, "
            "because another machine ran the dataset at the same time; run the dataset again, on one machine at a time"
        )


def record_if_whole(store: ResultStore, dataset: str, *, made: Iterable[str], what: str) -> Refresh | None:
    """Record the current results of a dataset as a refresh, if all stages have results that match each other.

    Results match if each result was computed from the current results of the stages before it. `made`: the stages that
    were computed in this run. `what`: what started the run.

    Raises:
        StoreError: the record cannot be written.
    """
    try:
        current = {name: store.current(name, dataset) for name in STAGES}
        for name, stage in STAGES.items():
            versions = input_versions({input_name: current[input_name] for input_name in stage.input_names})
            if current[name].manifest["made_from"]["inputs"] != versions:
                return None  # an input was recomputed, and this result was not
    except StoreError:
        return None  # a result is missing, or a manifest is damaged
    return record_refresh(store, current.values(), made=list(made), what=what)


def numbers(summary: Mapping[str, object], prefix: str = "") -> dict[str, float]:
    """Return the numbers in a nested summary by dotted names; other values, such as lists and texts, are left out."""
    flat: dict[str, float] = {}
    for name, value in summary.items():
        if isinstance(value, Mapping):
            flat |= numbers(value, f"{prefix}{name}.")
        elif isinstance(value, int | float):
            flat[f"{prefix}{name}"] = float(value)
    return flat


@dataclass(frozen=True)
class _Call:
    """One run of a stage for a dataset: its inputs, and the key of the result to find or compute.

    `wanted`: the key before `next_attempt` adds a number for results with failed parts.
    """

    stage: Stage
    inputs: Mapping[str, PublishedResult]
    contents: FieldContents
    wanted: ResultKey
    key: ResultKey


@dataclass(frozen=True)
class Attempt:
    """The key under which a stage's result is found or computed, and the published result of this key, if any."""

    key: ResultKey
    result: PublishedResult | None


def _call(name: str, spec: DatasetSpec, store: ResultStore) -> _Call:
    stage, contents = STAGES[name], FieldContents(spec)
    inputs = {asset: _input(asset, spec, store) for asset in stage.input_names}
    wanted = stage_key(stage, spec, inputs, contents=contents)
    return _Call(stage, inputs, contents, wanted, next_attempt(store, name, spec.name, wanted).key)


def _input(name: str, spec: DatasetSpec, store: ResultStore) -> PublishedResult:
    """Return the current result of an input stage.

    If the dataset's YAML file does not request the result and the result is missing, an empty result is created here.
    Creating the empty result here avoids a new run for a store whose results are older than the stage.
    """
    if STAGES[name].settings.is_disabled(spec) and store.current_key(name, spec.name) is None:
        return run_stage(name, spec, store=store).result
    return store.current(name, spec.name)


def next_attempt(store: ResultStore, name: str, partition: str, key: ResultKey) -> Attempt:
    """Return the attempt at `key`, or a new attempt if the result with the key `key` has failed parts.

    The key of the new attempt has no published result yet.
    """
    attempt = 0
    tried = key
    while (earlier := store.find(name, partition, tried)) is not None and earlier.summary.get("incomplete"):
        attempt += 1
        tried = replace(key, fields={**key.fields, "attempt": attempt})
    return Attempt(tried, earlier)


def _log_origin(run: TrackedRun, draft: Draft, key: ResultKey) -> None:
    run.log_parameters(key.as_json())
    for asset, version in key.inputs.items():
        run.log_dataset(f"{draft.partition}.{asset}", digest=version, context="input")
    if run.reference is not None:
        draft.provenance["tracking"] = {
            "tracking_uri": run.reference.tracking_uri,
            "experiment_id": run.reference.experiment_id,
            "run_id": run.reference.run_id,
        }


def _log_devices(run: TrackedRun, draft: Draft, device: DeviceSettings | None) -> None:
    if device is not None and device.leased:
        draft.provenance["devices"] = list(device.leased)
        run.log_parameters({"devices": ", ".join(device.leased)})


def _log_versions(tracker: Tracker, result: PublishedResult) -> None:
    """Log the data versions, which are known only after publishing because they are hashes of the published files."""
    versions = {name: part["data_version"] for name, part in result.manifest["parts"].items()}
    tracker.published(result.asset, result.partition, result.key, data_version=result.data_version, parts=versions)
