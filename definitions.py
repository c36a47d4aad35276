"""Wiring: every asset, job and resource, and nothing else. Dagster loads `defs`."""

import warnings

import dagster as dg

from aflite_assets.home import prepare_libraries

# Partition mappings of several dimensions are beta in Dagster; it would say so in every process of every step.
warnings.filterwarnings("ignore", category=dg.BetaWarning)
prepare_libraries()

from aflite_assets.assets import data, embedding, evaluation, filtering, report, warmup  # noqa: E402
from aflite_assets.automation.jobs import benchmark_job, filter_job  # noqa: E402
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource  # noqa: E402


def build_definitions(**resource_overrides: object) -> dg.Definitions:
    """Fresh definitions; a resource given by its name (`result_store`, for one) takes the default's place."""
    resources: dict[str, object] = {
        "result_store": ResultStoreResource(),
        "compute_device": ComputeDevice(),
        "experiment_tracker": ExperimentTracker(),
    }
    return dg.Definitions(
        assets=dg.load_assets_from_modules([data, warmup, embedding, filtering, evaluation, report]),
        jobs=[filter_job, benchmark_job],
        resources=resources | resource_overrides,
        # Its default level is INFO: what the assets say, without Dagster's own event of every small step.
        loggers={"console": dg.colored_console_logger},
    )


defs = build_definitions()
