"""Which of MLflow's runs nobody needs any more, and their deletion. What a store holds is the caller's to say."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from aflite_assets.tracking.mlflow_run import PARENT_TAG
from aflite_assets.tracking.mlflow_tracker import MlflowTracker

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

_PAGE = 1000


def delete_runs_without_result(
    tracker: MlflowTracker, exists: Callable[[str, str, str], bool], *, before: datetime
) -> int:
    """Delete the runs of stages that ended before a time and whose result is gone, with the runs within them.

    `exists(asset, partition, key)` says whether a result is still kept. Runs that this project did not make are left
    alone. Deleted runs can be restored until `mlflow gc` takes them. Returns how many were deleted.

    Raises:
        TrackingError: the database or server cannot be used.
    """
    client, deleted = tracker.session.client, 0
    with tracker.session.errors():
        for experiment in client.search_experiments(filter_string="name LIKE 'aflite/%'"):
            runs = list(_runs(client, experiment.experiment_id))
            gone = {run.info.run_id for run in runs if _is_gone(run, exists, before)}
            for run in runs:
                if run.info.run_id in gone or run.data.tags.get(PARENT_TAG) in gone:
                    client.delete_run(run.info.run_id)
                    deleted += 1
    return deleted


def _runs(client: "MlflowClient", experiment_id: str) -> Iterator["Run"]:
    token: str | None = None
    while True:
        page = client.search_runs([experiment_id], max_results=_PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _is_gone(run: "Run", exists: Callable[[str, str, str], bool], before: datetime) -> bool:
    named = [run.data.tags.get(f"aflite.{part}") for part in ("asset", "partition", "key")]
    asset, partition, key = named
    if asset is None or partition is None or key is None or run.info.end_time is None:
        return False
    return run.info.end_time < before.timestamp() * 1000 and not exists(asset, partition, key)
