"""The Dagster definitions: every asset, check, job, schedule, sensor and resource. Dagster loads `defs`."""

from aflite_assets.paths import configure_libraries

configure_libraries()  # before numpy is imported, because its libraries read the number of threads only once

import dagster as dg

from aflite_assets import assets
from aflite_assets.assets.display.source_links import linked_to_source
from aflite_assets.automation.alerts import check_alerts, failure_alerts
from aflite_assets.automation.datasets import datasets
from aflite_assets.automation.jobs import benchmark_job, filter_job
from aflite_assets.automation.one_process import one_process_executor
from aflite_assets.automation.prune import forget_old_runs, forget_old_runs_monthly, prune_job
from aflite_assets.automation.refresh_sensor import refresh
from aflite_assets.automation.up_to_date import up_to_date
from aflite_assets.studies import parts
from resources import ComputeCluster, ComputeDevice, ExperimentTracker, ResultStoreResource


def build_definitions(**resource_overrides: object) -> dg.Definitions:
    """Return new definitions; `resource_overrides` replace default resources by name, such as `result_store`."""
    resources: dict[str, object] = {
        "result_store": ResultStoreResource(),
        "compute_device": ComputeDevice(),
        "compute_cluster": ComputeCluster(),
        "experiment_tracker": ExperimentTracker(),
    }
    return dg.Definitions(
        # The whole package is loaded, so that it includes assets and checks created with `dg scaffold defs`.
        assets=linked_to_source(
            [
                *dg.load_assets_from_package_module(assets, include_specs=True),
                *parts("assets.assets", dg.AssetsDefinition),
            ]
        ),
        asset_checks=[up_to_date, *dg.load_asset_checks_from_package_module(assets)],
        jobs=[filter_job, benchmark_job, prune_job, forget_old_runs],
        schedules=[forget_old_runs_monthly],
        sensors=[check_alerts, datasets, failure_alerts, refresh],
        executor=one_process_executor,
        resources=resources | resource_overrides,
        # At this logger's default level, INFO, the log has the lines of the assets, but not Dagster's own events.
        loggers={"console": dg.colored_console_logger},
    )


defs = build_definitions()


def benchmark() -> dg.JobDefinition:
    """Return the job `benchmark`, which `aflite refresh` runs."""
    return defs.resolve_job_def("benchmark")
