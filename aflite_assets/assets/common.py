"""What all assets share: options, running a stage, base metadata, checks. Defines no assets."""

import os
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import dagster as dg
import pyarrow as pa

from aflite_assets.assets.partitions import DATASETS, OWNERS, REGISTRY
from aflite_assets.assets.steps.attempts import found_or_made
from aflite_assets.assets.steps.run_scope import dataset_held
from aflite_assets.assets.watched import watched_parents
from aflite_assets.cluster import ClusterSettings
from aflite_assets.processors import threads_in_words
from aflite_assets.results import PublishedResult, StoredResult
from aflite_assets.stages.child_process import StageJob
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.stage import ALL_CELLS, CellFilter, IterationReport, Progress
from resources import ComputeCluster, ComputeDevice, ExperimentTracker, ResultStoreResource

if TYPE_CHECKING:
    from aflite_assets.tracking import RunReference


def stage_options(
    name: str, *, group: str, kinds: set[str], pool: str | None = None, checks: Iterable[tuple[str, str, bool]] = ()
) -> dict[str, Any]:
    """Decorator arguments of a stage's asset; `checks` are (name, description, blocking)."""
    stage = STAGES[name]
    return {
        "group_name": group,
        "kinds": kinds,
        "pool": pool,
        "owners": OWNERS,
        "partitions_def": DATASETS,
        "deps": [*stage.input_names, *watched_parents(stage)],
        "code_version": stage.code_version,
        "tags": {"domain": group},
        "check_specs": [
            dg.AssetCheckSpec(check, asset=name, description=description, blocking=blocking)
            for check, description, blocking in checks
        ],
    }


def run_asset(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
    compute_cluster: ComputeCluster | None = None,
    *,
    on_iteration: Any = lambda report: None,
    cells: CellFilter = ALL_CELLS,
) -> StoredResult:
    """The result of the stage that the asset is named after, for the dataset of its partition.

    `cells` as in `run_stage`; what is raised, and what is tried again, as in `found_or_made`.
    """
    name = context.op_def.name  # of a check that is run alone there is no asset key
    if _comes_first(context):
        context.log.info(threads_in_words())
        if not os.environ.get("DAGSTER_HOME"):
            context.log.info("DAGSTER_HOME is not set: Dagster's history of this run is temporary; results are kept.")
    store = result_store.open()
    job = StageJob(
        name,
        REGISTRY[context.partition_key],
        store=store,
        tracker=experiment_tracker.open(),
        cells=cells,
        cluster=ClusterSettings() if compute_cluster is None else compute_cluster.settings(),
    )
    progress = Progress(log=context.log.info, on_iteration=on_iteration)
    with dataset_held(context.run.run_id, store, job.spec.name, log=context.log.info) as note:
        obtained = found_or_made(context, job, progress, compute_device=compute_device)
        note(name, obtained)
    context.log.info(f"{name}: {'found' if obtained.cached else 'made'} {obtained.result.path}")
    return obtained


def _comes_first(context: dg.AssetExecutionContext) -> bool:
    """Whether no asset that this one reads is made in the same run."""
    made = context.job_def.asset_layer.executable_asset_keys
    return not any(dg.AssetKey(parent) in made for parent in STAGES[context.op_def.name].input_names)


def materialized(
    obtained: StoredResult, metadata: Mapping[str, Any], checks: Iterable[dg.AssetCheckResult] = ()
) -> dg.MaterializeResult[None]:
    """What Dagster keeps of a result: its data version, where it is, what it was made with, and `metadata`."""
    result = obtained.result
    dataset = dg.MetadataValue.text(result.partition)
    # Dagster keeps a check's last outcome only, whichever partition it was about: it says which.
    named = [each._replace(metadata={**each.metadata, "dataset": dataset}) for each in checks]
    return dg.MaterializeResult(
        metadata={
            "dataset": dataset,
            **metadata,
            "folder": dg.MetadataValue.path(str(result.path)),
            "key": result.key,
            "reused": obtained.cached,
            **device_metadata(result),
            **mlflow_metadata(result),
        },
        data_version=dg.DataVersion(result.data_version),
        check_results=named,
    )


def device_metadata(result: PublishedResult) -> dict[str, Any]:
    """The GPUs that the result was made on; nothing where none was leased."""
    devices = result.manifest["provenance"].get("devices")
    return {"gpu": ", ".join(devices)} if devices else {}


def mlflow_metadata(result: PublishedResult) -> dict[str, Any]:
    """The MLflow run that made the result: a link where a server's address is known, else how to open it."""
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
    """The command and the address that show a run kept in a database; the mode MLflow opens in shows none."""
    # What a reference lacks of an address is in the variable; a file has nothing that it could lack.
    is_file = reference.tracking_uri.startswith("sqlite:////")
    uri = shlex.quote(reference.tracking_uri) if is_file else '"$MLFLOW_TRACKING_URI"'
    return f"mlflow ui --backend-store-uri {uri}\nthen http://127.0.0.1:5000/{reference.fragment}"


def check(name: str, passed: bool, *, warn: bool = False, **metadata: Any) -> dg.AssetCheckResult:
    """A check's outcome; `warn` marks those that never stop a run."""
    severity = dg.AssetCheckSeverity.WARN if warn else dg.AssetCheckSeverity.ERROR
    shown = {key: _lines(value) if isinstance(value, Mapping) else value for key, value in metadata.items()}
    return dg.AssetCheckResult(check_name=name, passed=bool(passed), severity=severity, metadata=shown)


def _lines(values: Mapping[str, Any]) -> str:
    """One line per value, which the UI shows at once; a JSON object stands there behind a link."""
    return "\n".join(f"{name}: {_cell(value)}" for name, value in values.items()) or "none"


def table(rows: Iterable[Mapping[str, Any]]) -> dg.MetadataValue:
    """Rows of plain values as a table in the UI, four digits of fractions; a value that some rows lack is empty."""
    listed = list(rows)
    names = list(dict.fromkeys(name for row in listed for name in row))
    records = [dg.TableRecord({name: _cell(row.get(name)) for name in names}) for row in listed]
    return dg.MetadataValue.table(records) if records else dg.MetadataValue.text("none")


def first_rows(values: pa.Table, most: int = 100) -> dg.MetadataValue:
    """The first rows of an Arrow table as a table in the UI, without columns that have no value in them."""
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


__all__ = [
    "DATASETS",
    "OWNERS",
    "REGISTRY",
    "IterationReport",
    "check",
    "first_rows",
    "materialized",
    "run_asset",
    "stage_options",
    "table",
]
