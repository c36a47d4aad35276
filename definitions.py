"""Wiring: every asset, job and resource, and nothing else. Dagster loads `defs`."""

import dagster as dg

from aflite_assets.assets import data, embedding, evaluation, filtering, report, warmup
from aflite_assets.assets.source_links import linked_to_source
from aflite_assets.automation.jobs import benchmark_job, filter_job
from aflite_assets.home import prepare_libraries
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource

prepare_libraries()


def build_definitions(**resource_overrides: object) -> dg.Definitions:
    """Fresh definitions; a resource given by its name (`result_store`, for one) takes the default's place."""
    resources: dict[str, object] = {
        "result_store": ResultStoreResource(),
        "compute_device": ComputeDevice(),
        "experiment_tracker": ExperimentTracker(),
    }
    return dg.Definitions(
        assets=linked_to_source(
            dg.load_assets_from_modules([data, warmup, embedding, filtering, evaluation, report], include_specs=True)
        ),
        jobs=[filter_job, benchmark_job],
        resources=resources | resource_overrides,
        # Its default level is INFO: what the assets say, without Dagster's own event of every small step.
        loggers={"console": dg.colored_console_logger},
    )


defs = build_definitions()
