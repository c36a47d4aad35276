"""The MLflow run of one refresh of a dataset, which is the parent of the runs of the refreshed stages.

No parameters or metrics are logged to the parent run.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from aflite_assets.errors import TrackingError
from aflite_assets.tracking.mlflow_run import IDENTITY_TAG, PARENT_TAG, begun_run, runs_tagged
from aflite_assets.tracking.mlflow_session import MlflowSession
from aflite_assets.tracking.mlflow_values import digest_of

if TYPE_CHECKING:
    from mlflow.entities import Run

REFRESH_TAG = "aflite.refresh"

_SHORT = 8
_WORST_FIRST = ("FAILED", "KILLED")


@dataclass(frozen=True)
class RefreshRun:
    """The MLflow run of one refresh of a dataset, in the dataset's experiment.

    `partition`: the name of the dataset. `refresh`: the identifier of the refresh.
    """

    session: MlflowSession
    experiment_id: str
    partition: str
    refresh: str

    @contextmanager
    def above(self, stage_identity: str, *, tags: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Yield the tag that makes a stage's run a child of the refresh's run, and update the refresh's status.

        The refresh's run is created when its first stage is computed, and is RUNNING while a stage is running. After
        its last stage, the refresh's run is FAILED or KILLED if a stage failed or was killed, and otherwise FINISHED.
        If an earlier refresh began the stage, the stage's run is moved to this refresh. If the earlier refresh's run
        has no other children, it is deleted. `stage_identity`: the identity of the stage's run. `tags`: tags of the
        refresh's run.

        Raises:
            TrackingError: the database or server cannot be used.
        """
        with self.session.errors(), self.session.locked():
            earlier = self._parents_of(stage_identity)
            own = begun_run(self.session, self.experiment_id, self._name, self._identity, {**tags, **self._tags})
        try:
            yield {PARENT_TAG: own}
        except BaseException as error:
            try:
                self._settle({own, *earlier})
            except TrackingError as tracking_error:
                error.add_note(str(tracking_error))  # the error of the stage is raised, not this one
            raise
        self._settle({own, *earlier})

    @property
    def _name(self) -> str:
        return f"refresh {self.refresh[:_SHORT]} {datetime.now(UTC):%Y-%m-%d} {self.partition}"

    @property
    def _identity(self) -> str:
        return digest_of("refresh", self.partition, self.refresh)

    @property
    def _tags(self) -> dict[str, str]:
        return {REFRESH_TAG: self.refresh, "aflite.partition": self.partition, "dagster/partition": self.partition}

    def _parents_of(self, stage_identity: str) -> set[str]:
        stages = runs_tagged(self.session, self.experiment_id, IDENTITY_TAG, stage_identity)
        return {stage.data.tags[PARENT_TAG] for stage in stages if PARENT_TAG in stage.data.tags}

    def _settle(self, parents: set[str]) -> None:
        client = self.session.client
        with self.session.errors(), self.session.locked():
            for parent in parents:
                if client.get_run(parent).info.lifecycle_stage == "deleted":
                    continue
                stages = runs_tagged(self.session, self.experiment_id, PARENT_TAG, parent)
                status = _status_of(stages)
                if not stages:
                    client.delete_run(parent)
                elif status is not None:
                    client.set_terminated(parent, status)


def _status_of(stages: "list[Run]") -> str | None:
    """Return the status of a refresh from the statuses of its stages, or None if a stage is still running."""
    statuses = {stage.info.status for stage in stages}
    if "RUNNING" in statuses:
        return None
    return next((status for status in _WORST_FIRST if status in statuses), "FINISHED")


def empty_refreshes(runs: "list[Run]", deleted: set[str], *, before: datetime) -> "list[Run]":
    """Return the runs of refreshes that began before `before` and whose children are all in `deleted`."""
    parents = {run.data.tags.get(PARENT_TAG) for run in runs if run.info.run_id not in deleted}
    return [
        run
        for run in runs
        if REFRESH_TAG in run.data.tags
        and run.info.run_id not in parents
        and run.info.start_time < before.timestamp() * 1000
    ]


__all__ = ["REFRESH_TAG", "RefreshRun", "empty_refreshes"]
