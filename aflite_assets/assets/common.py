"""Code that all assets share: the decorator of stages' assets, metadata and checks. No assets are defined here."""

import functools
import inspect
import os
import shlex
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dagster as dg
import pyarrow as pa

from aflite_assets.analysis.filtering import IterationRow
from aflite_assets.assets.display.columns import column_metadata
from aflite_assets.assets.partitions import DATASETS, OWNERS, REGISTRY
from aflite_assets.assets.steps.attempts import found_or_made
from aflite_assets.assets.steps.optional_checks import asset_with_optional_checks
from aflite_assets.assets.steps.run_scope import dataset_held
from aflite_assets.assets.watched import watched_parents
from aflite_assets.checks import CheckOutcome
from aflite_assets.cluster import ClusterSettings
from aflite_assets.processors import threads_in_words
from aflite_assets.results import PublishedResult, ResultStore, StoredResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.child_process import StageJob
from aflite_assets.stages.display import result_checks
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.stage import ALL_CELLS, CellFilter, Progress
from aflite_assets.text import printable
from resources import ComputeCluster, ComputeDevice, ExperimentTracker, ResultStoreResource

if TYPE_CHECKING:
    from aflite_assets.tracking import RunReference


FILES_INTACT = "files_intact"
"""Name of the asset check that a result's files are not damaged."""

_SHOWN_NAMES = {"not_at_chance": "not_at_chance_on_challenge_sets"}
"""Asset check names that differ from the names in the report; they stay because users' alerts refer to them."""


def dataset_spec(name: str) -> DatasetSpec:
    """Return the dataset's spec as it was when this process loaded the definitions.

    Raises:
        SpecError: no dataset has this name, or its YAML file is invalid.
    """
    return REGISTRY[name]


@dataclass(frozen=True)
class AssetRun:
    """The step of an asset in a run, with the result of its stage in the open result store."""

    context: dg.AssetExecutionContext
    obtained: StoredResult
    store: ResultStore

    @property
    def result(self) -> PublishedResult:
        """The stage's result."""
        return self.obtained.result

    @property
    def summary(self) -> Mapping[str, Any]:
        """The summary of the stage's result."""
        return self.obtained.result.summary


def found_checks(run: AssetRun) -> list[dg.AssetCheckResult]:
    """Return the outcomes of the stage's checks as asset checks, and log failures of blocking checks."""
    outcomes = result_checks(run.result, dataset_spec(run.result.partition), run.store)
    for one in outcomes:
        if one.blocking and one.outcome == "failed":  # Dagster's own log line has only the check's name
            dg.get_dagster_logger().error(f"check FAILED: {one.title}: {printable(one.said)}")
    return asset_checks(outcomes)


def stage_asset(
    *,
    group: str,
    kinds: set[str],
    checks: Iterable[tuple[str, str, bool]] = (),
    find_checks: Callable[[AssetRun], Sequence[dg.AssetCheckResult]] = found_checks,
    on_iteration: Callable[[dg.AssetExecutionContext, IterationRow], None] = lambda context, report: None,
    on_cluster: bool = False,
    config: type[dg.Config] | None = None,
) -> Callable[[Callable[[AssetRun], Mapping[str, Any]]], dg.AssetsDefinition]:
    """Decorate the function that returns the metadata of a stage's result; its name is that of the stage and asset.

    The asset runs the stage and shows the metadata, the columns of the result's tables, and the outcomes of the checks.

    Args:
        checks: further asset checks, besides the stage's own checks, as tuples (name, description, blocking).
        find_checks: the function that returns the outcomes of all checks that apply.
        on_iteration: a function that receives each finished iteration of the stage.
        on_cluster: True if the stage can distribute its work in a cluster.
        config: the run configuration, if a run can choose the cells of the evaluator grid that it trains.
    """

    def decorate(describe: Callable[[AssetRun], Mapping[str, Any]]) -> dg.AssetsDefinition:
        name = describe.__name__
        stage = STAGES[name]
        own = [
            (_SHOWN_NAMES.get(check, check), asks, check in stage.checks.blocking)
            for check, asks in stage.checks.asks.items()
        ]

        @functools.wraps(describe, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
        def compute(context: dg.AssetExecutionContext, **given: Any) -> dg.MaterializeResult[None]:
            run = run_asset(context, **given, on_iteration=lambda report: on_iteration(context, report))
            found = find_checks(run)
            damaged = any(one.check_name == FILES_INTACT and not one.passed for one in found)
            columns = {} if damaged else column_metadata(run.result, run.store)
            return _materialized(run, {**describe(run), **columns}, found)

        compute.__signature__ = _signature(on_cluster, config)  # type: ignore[attr-defined]
        return asset_with_optional_checks(
            group_name=group,
            kinds=kinds,
            owners=OWNERS,
            partitions_def=DATASETS,
            deps=[*stage.input_names, *watched_parents(stage)],
            code_version=stage.code_version,
            tags={"domain": group},
            check_specs=[
                check_by_dataset(check, asset=name, description=description, blocking=blocking)
                for check, description, blocking in (*checks, *own)
            ],
        )(compute)

    return decorate


def _signature(on_cluster: bool, config: type[dg.Config] | None) -> inspect.Signature:
    """Return the signature from which Dagster learns what an asset needs: the context, the run configuration if there
    is one, and the resources.
    """
    parameters = {
        "context": dg.AssetExecutionContext,
        **({"config": config} if config else {}),
        "result_store": ResultStoreResource,
        "experiment_tracker": ExperimentTracker,
        "compute_device": ComputeDevice,
        **({"compute_cluster": ComputeCluster} if on_cluster else {}),
    }
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature([inspect.Parameter(name, kind, annotation=of) for name, of in parameters.items()])


def check_by_dataset(
    name: str, *, asset: str, description: str, blocking: bool, partitions_def: dg.PartitionsDefinition[str] = DATASETS
) -> dg.AssetCheckSpec:
    """Return an asset check with a separate outcome per dataset, which is a preview feature of Dagster 1.13."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*partitions_def.* on an AssetCheckSpec")
        return dg.AssetCheckSpec(
            name, asset=asset, description=description, blocking=blocking, partitions_def=partitions_def
        )


def run_asset(
    context: dg.AssetExecutionContext,
    *,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
    compute_cluster: ComputeCluster | None = None,
    config: dg.Config | None = None,
    on_iteration: Callable[[IterationRow], None],
) -> AssetRun:
    """Get the result of the stage with the asset's name, for the dataset of the partition.

    `config`: the cells of the evaluator grid to train in this run. Errors and retries are the same as in
    `found_or_made`.
    """
    name = context.op_def.name  # a check that runs alone has no asset key
    if _comes_first(context):
        context.log.info(threads_in_words())
        if not os.environ.get("DAGSTER_HOME"):
            context.log.info(
                "`DAGSTER_HOME` is not set, so Dagster's history of this run is temporary; results are kept."
            )
    store = result_store.open()
    job = StageJob(
        name,
        dataset_spec(context.partition_key),
        store=store,
        tracker=experiment_tracker.open(),
        cells=ALL_CELLS if config is None else CellFilter(**{key: tuple(values) for key, values in config}),
        cluster=ClusterSettings() if compute_cluster is None else compute_cluster.settings(),
    )
    progress = Progress(log=context.log.info, on_iteration=on_iteration)
    with dataset_held(context.run.run_id, store, job.spec.name, log=context.log.info) as scope:
        obtained = found_or_made(context, job, progress, compute_device=compute_device, worker=scope.worker)
        scope.obtained[name] = obtained
    context.log.info(f"{name}: {'reused' if obtained.cached else 'computed'} {obtained.result.path}")
    return AssetRun(context, obtained, store)


def _comes_first(context: dg.AssetExecutionContext) -> bool:
    """Return True if none of the asset's inputs is computed in the same run."""
    made = context.job_def.asset_layer.executable_asset_keys
    return not any(dg.AssetKey(parent) in made for parent in STAGES[context.op_def.name].input_names)


def _materialized(
    run: AssetRun, metadata: Mapping[str, Any], checks: Iterable[dg.AssetCheckResult]
) -> dg.MaterializeResult[None]:
    """Return the record of a result for Dagster: data version, location, provenance, and `metadata`."""
    result = run.result
    dataset = dg.MetadataValue.text(result.partition)
    named = [each._replace(metadata={**each.metadata, "dataset": dataset}) for each in checks]
    devices = result.manifest["provenance"].get("devices")
    return dg.MaterializeResult(
        metadata={
            "dataset": dataset,
            **metadata,
            "folder": dg.MetadataValue.path(str(result.path)),
            "key": result.key,
            "settings": dg.MetadataValue.json(STAGES[result.asset].settings.as_json(dataset_spec(result.partition))),
            "reused": run.obtained.cached,
            **({"gpu": ", ".join(devices)} if devices else {}),
            **mlflow_metadata(result),
        },
        data_version=dg.DataVersion(result.data_version),
        check_results=named,
    )


def mlflow_metadata(result: PublishedResult) -> dict[str, Any]:
    """Return the MLflow run that computed the result.

    The run is a link if the address of a server is known; otherwise, the metadata contain a command to open MLflow.
    """
    origin = result.manifest["provenance"].get("tracking")
    if origin is None:
        return {"mlflow_run": "not tracked"}
    from aflite_assets.tracking import RunReference

    reference = RunReference(**origin)
    if reference.url:
        return {
            "mlflow_run": dg.MetadataValue.url(reference.url),
            "mlflow_experiment": dg.MetadataValue.url(f"{reference.server}/{reference.experiment_fragment}"),
        }
    return {"mlflow_run": reference.run_id, "mlflow_open": open_in_mlflow(reference)}


def open_in_mlflow(reference: "RunReference") -> str:
    """Return the command and the address that show a run stored in a database.

    The address selects MLflow's mode for experiments, because the default mode (for language models) shows no runs.
    """
    # The stored address lacks passwords, so the command uses the environment variable, except for a file.
    is_file = reference.tracking_uri.startswith("sqlite:////")
    uri = shlex.quote(reference.tracking_uri) if is_file else '"$MLFLOW_TRACKING_URI"'
    return f"mlflow ui --backend-store-uri {uri}\nthen http://127.0.0.1:5000/{reference.fragment}"


def check(name: str, passed: bool, *, warn: bool = False, **metadata: Any) -> dg.AssetCheckResult:
    """Return the outcome of an asset check; with `warn`, a failed check does not stop a run."""
    severity = dg.AssetCheckSeverity.WARN if warn else dg.AssetCheckSeverity.ERROR
    shown = {key: _lines(value) if isinstance(value, Mapping) else value for key, value in metadata.items()}
    return dg.AssetCheckResult(check_name=name, passed=bool(passed), severity=severity, metadata=shown)


def asset_checks(outcomes: Iterable[CheckOutcome]) -> list[dg.AssetCheckResult]:
    """Return one asset check per check name; outcomes for several subjects are merged.

    A check that does not apply passes with a remark, because Dagster would show a check without an outcome as
    unfinished.
    """
    named: dict[str, list[CheckOutcome]] = {}
    for one in outcomes:
        named.setdefault(one.name, []).append(one)
    return [_asset_check(each) for each in named.values()]


def _asset_check(outcomes: Sequence[CheckOutcome]) -> dg.AssetCheckResult:
    failed = [one for one in outcomes if one.outcome == "failed"]
    metadata = {
        name: _number({one.subject: one.numbers[name] for one in outcomes if name in one.numbers})
        for name in dict.fromkeys(name for one in outcomes for name in one.numbers)
    }
    found = "found" if any(one.applies for one in outcomes) else "result"
    texts = {
        found: {one.subject: one.found for one in outcomes if one.found},
        "failed": {"": ", ".join(one.subject for one in failed)},
        "what_to_do": {one.subject: one.what_to_do for one in failed if one.what_to_do},
    }
    metadata |= {name: text for name, values in texts.items() if (text := values.get("", values))}
    name, warn = outcomes[0].name, not outcomes[0].blocking
    return check(_SHOWN_NAMES.get(name, name), not failed, warn=warn, **metadata)


def _number(by_subject: Mapping[str, int | float | str]) -> int | float | str | Mapping[str, int | float | str]:
    """Return the value, rounded to four decimals, if all subjects have the same value; otherwise, return all values."""
    first, *others = dict.fromkeys(by_subject.values())
    if others:
        return by_subject
    return round(first, 4) if isinstance(first, float) else first


def _lines(values: Mapping[str, Any]) -> str:
    """Return one line per value, because the UI shows text directly but hides a JSON object behind a link."""
    return "\n".join(f"{name}: {_cell(value)}" for name, value in values.items()) or "none"


def table(rows: Iterable[Mapping[str, Any]]) -> dg.MetadataValue:
    """Return rows of plain values as a table for the UI, with rounded floats; missing values are empty."""
    listed = list(rows)
    names = list(dict.fromkeys(name for row in listed for name in row))
    records = [dg.TableRecord({name: _cell(row.get(name)) for name in names}) for row in listed]
    return dg.MetadataValue.table(records) if records else dg.MetadataValue.text("none")


def first_rows(values: pa.Table, most: int = 100) -> dg.MetadataValue:
    """Return the first rows of an Arrow table as a table for the UI; columns without values are left out."""
    shown = values.slice(0, most)
    named = [name for name in shown.column_names if shown[name].null_count < shown.num_rows]
    return table(shown.select(named).to_pylist())


def _cell(value: Any) -> str | int | float | bool:
    if value is None:
        return ""
    if isinstance(value, float):
        return float(f"{value:.4g}") if abs(value) < 1000 else round(value, 1)
    if isinstance(value, list | tuple):
        return ", ".join(str(_cell(each)) for each in value)
    return value if isinstance(value, bool | int | str) else str(value)
