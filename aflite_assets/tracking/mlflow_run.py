"""One MLflow run: functions that open or continue the run, log to it, and end it.

All calls go through `MlflowClient`. MLflow's fluent interface is not used, because its active run and experiment are
global, so child runs and datasets could be stored in the wrong experiment.
"""

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from aflite_assets.errors import InvalidInputError, TrackingError
from aflite_assets.tracking import mlflow_values as values
from aflite_assets.tracking.mlflow_session import MlflowSession
from aflite_assets.tracking.protocol import RunReference, TrackedRun

if TYPE_CHECKING:
    from mlflow.entities import Run

IDENTITY_TAG = "aflite.identity"
ERROR_TAG = "aflite.error"
NAME_TAG = "aflite.name"
CHANGED_PARAMETER_TAG = "aflite.changed_parameter"
PARENT_TAG = "mlflow.parentRunId"
DATASET_CONTEXT_TAG = "mlflow.data.context"
TABLES_TAG = "mlflow.loggedArtifacts"
"""Tag that lists a run's tables for MLflow's pages and for `mlflow.load_table`."""


@dataclass(frozen=True)
class MlflowRun(TrackedRun):
    """A run in MLflow. Its methods raise TrackingError if MLflow refuses a call."""

    session: MlflowSession
    experiment_id: str
    run_id: str

    @property
    def reference(self) -> RunReference:
        """Reference to the stored run."""
        return RunReference(self.session.shown_uri, self.experiment_id, self.run_id)

    def log_parameters(self, parameters: Mapping[str, object]) -> None:
        """Log settings. Nested names are joined with dots, and values are cut after 6000 characters.

        MLflow cannot change a logged parameter. If a run is retried with another value, the first value is kept, and
        the new value is stored in the tag `aflite.changed_parameter.<name>`.
        """
        from mlflow.entities import Param, RunTag

        with self.session.errors():
            stored = self.session.client.get_run(self.run_id).data.params
            given = values.flattened(parameters)
            new = [Param(name, value) for name, value in given.items() if name not in stored]
            changed = [
                RunTag(values.accepted_name(f"{CHANGED_PARAMETER_TAG}.{name}"), value)
                for name, value in given.items()
                if stored.get(name, value) != value
            ]
            self._log_batches("params", new, values.PARAMETERS_PER_BATCH)
            self._log_batches("tags", changed, values.PARAMETERS_PER_BATCH)

    def log_metrics(self, metrics: Mapping[str, float], *, step: int | None = None) -> None:
        """Log metrics at `step` (0 if None).

        NaN and infinite values are skipped, because MLflow's charts and searches would treat them as ordinary numbers.
        """
        self._log_points((name, value, step or 0) for name, value in metrics.items())

    def log_series(self, series: Mapping[str, Sequence[float]], *, first_step: int) -> None:
        """Log each metric's values at consecutive steps, which begin at `first_step`. The metrics are sent in as few
        requests as possible.
        """
        self._log_points(
            (name, value, step) for name, each in series.items() for step, value in enumerate(each, first_step)
        )

    def _log_points(self, named: Iterable[tuple[str, float, int]]) -> None:
        """Log metrics given as (name, value, step); NaN and infinite values are skipped."""
        from mlflow.entities import Metric

        now = time.time_ns() // 1_000_000
        points = [
            Metric(values.accepted_name(name), float(value), now, step)
            for name, value, step in named
            if math.isfinite(value)
        ]
        with self.session.errors():
            self._log_batches("metrics", points, values.METRICS_PER_BATCH)

    def _log_batches(self, kind: str, items: Sequence[object], size: int) -> None:
        """Log parameters, tags or metrics in as many requests as MLflow's limit requires."""
        for start in range(0, len(items), size):
            given: dict[str, Any] = {kind: items[start : start + size]}
            self.session.client.log_batch(self.run_id, **given, synchronous=True)

    def log_dataset(self, name: str, *, digest: str, context: str) -> None:
        """Log the version of a dataset that the run used.

        MLflow accepts digests of at most 36 characters, so `digest` is cut; the full digest is stored in the dataset's
        source. MLflow stores each dataset version only once per run. If the same version is logged again with another
        context, MLflow ignores the second call.
        """
        from mlflow.entities import Dataset, DatasetInput, InputTag

        dataset = Dataset(
            name=values.accepted_text(name, longest=500),
            digest=digest[: values.LONGEST_DIGEST],
            source_type="code",
            source=json.dumps({"tags": {"aflite.digest": digest}}),
        )
        entry = DatasetInput(dataset, [InputTag(DATASET_CONTEXT_TAG, context)])
        with self.session.errors():
            self.session.client.log_inputs(self.run_id, datasets=[entry])

    def log_artifact(self, path: Path) -> None:
        """Store a copy of a file, or of a folder with its content. A later copy with the same name replaces the stored
        copy.

        Raises:
            InvalidInputError: `path` does not exist.
        """
        if not path.exists():
            raise InvalidInputError(f"{path} does not exist; write the file or folder before logging it to MLflow")
        with self.session.errors():
            self.session.client.log_artifact(self.run_id, str(path))

    def log_table(self, name: str, table: pa.Table) -> None:
        """Store a table as `tables/<name>.json`, in the format of `mlflow.load_table` and of MLflow's pages.

        MLflow's own `log_table` is not used, because it would append to the table of an earlier attempt of the run.
        """
        file = f"tables/{values.accepted_part(name)}.json"
        with self.session.errors():
            self.session.client.log_text(self.run_id, values.split_json(table), file)
            tags = self.session.client.get_run(self.run_id).data.tags
            logged = json.loads(tags.get(TABLES_TAG, "[]"))
            entry = {"path": file, "type": "table"}
            if entry not in logged:
                self.session.client.set_tag(self.run_id, TABLES_TAG, json.dumps([*logged, entry]))

    @contextmanager
    def child(
        self, name: str, *, title: str | None = None, tags: Mapping[str, str] | None = None
    ) -> Iterator["MlflowRun"]:
        """Yield a child run with the title `title` (by default, `name`), and with `name` as its tag `aflite.name`.

        A second call with the same name under the same parent continues the same child.
        """
        child_tags = {**(tags or {}), PARENT_TAG: self.run_id, NAME_TAG: name}
        identity = values.digest_of("child", self.run_id, name)
        with open_run(self.session, self.experiment_id, title or name, identity=identity, tags=child_tags) as run:
            yield run


@contextmanager
def open_run(
    session: MlflowSession, experiment_id: str, name: str, *, identity: str, tags: Mapping[str, str]
) -> Iterator[MlflowRun]:
    """Yield the run with the tag `identity`. During the block, the run has the status RUNNING.

    The run is created if it does not exist. The run ends with the status FINISHED, with FAILED after an exception, or
    with KILLED after an interruption (KeyboardInterrupt, SystemExit). The text of the error is stored in the tag
    `aflite.error`. Every exception is raised again.
    """
    with session.errors(), session.locked():
        run_id = begun_run(session, experiment_id, name, identity, tags)
    try:
        yield MlflowRun(session, experiment_id, run_id)
    except BaseException as error:  # includes interruptions, because the run must not stay RUNNING
        _end_with_error(session, run_id, error)
        raise
    with session.errors():
        session.client.set_terminated(run_id, "FINISHED")


def begun_run(session: MlflowSession, experiment_id: str, name: str, identity: str, tags: Mapping[str, str]) -> str:
    """Create or continue the run with the tag `identity`, set its status to RUNNING, and return its id.

    The caller must hold `session.locked()`.
    """
    client, accepted = session.client, _accepted_tags(tags)
    runs = runs_tagged(session, experiment_id, IDENTITY_TAG, identity)
    if not runs:
        shown_name = values.accepted_text(name, longest=values.LONGEST_NAME)
        run = client.create_run(experiment_id, run_name=shown_name, tags=accepted | {IDENTITY_TAG: identity})
        return str(run.info.run_id)
    run_id = str(runs[0].info.run_id)
    client.update_run(run_id, status="RUNNING")
    for tag, value in accepted.items():
        client.set_tag(run_id, tag, value)
    if ERROR_TAG in runs[0].data.tags:
        client.delete_tag(run_id, ERROR_TAG)
    return run_id


def label_run(
    session: MlflowSession,
    experiment_id: str,
    *,
    identity: str,
    tags: Mapping[str, str],
    children: Mapping[str, Mapping[str, str]],
) -> None:
    """Set tags on the run with the tag `identity`, and on the children named in `children`.

    If the run no longer exists, nothing is done.
    """
    with session.errors():
        runs = runs_tagged(session, experiment_id, IDENTITY_TAG, identity)
        if not runs:
            return
        own = runs[0].info.run_id
        for tag, value in _accepted_tags(tags).items():
            session.client.set_tag(own, tag, value)
        for child in runs_tagged(session, experiment_id, PARENT_TAG, own) if children else ():
            name = child.data.tags.get(NAME_TAG, "")
            for tag, value in _accepted_tags(children.get(name, {})).items():
                session.client.set_tag(child.info.run_id, tag, value)


def found_runs(session: MlflowSession, experiment_id: str, filtered: str = "") -> list["Run"]:
    """Return the experiment's runs that fit an MLflow filter, the oldest first. Deleted runs are left out."""
    runs: list[Run] = []
    token = None
    while True:
        page = session.client.search_runs(
            [experiment_id], filtered, order_by=["attributes.start_time ASC"], page_token=token
        )
        runs.extend(page)
        token = page.token
        if not token:
            return runs


def runs_tagged(session: MlflowSession, experiment_id: str, tag: str, value: str) -> list["Run"]:
    """Return the experiment's runs whose tag `tag` is `value`, the oldest first. Deleted runs are left out."""
    return found_runs(session, experiment_id, f"tags.`{tag}` = '{value}'")


def _accepted_tags(tags: Mapping[str, str]) -> dict[str, str]:
    return {
        values.accepted_name(tag): values.accepted_text(value, longest=values.LONGEST_TAG)
        for tag, value in tags.items()
    }


def _end_with_error(session: MlflowSession, run_id: str, error: BaseException) -> None:
    text = values.accepted_text(f"{type(error).__name__}: {error}", longest=values.LONGEST_TAG)
    try:
        with session.errors():
            session.client.set_tag(run_id, ERROR_TAG, text)
            session.client.set_terminated(run_id, "FAILED" if isinstance(error, Exception) else "KILLED")
    except TrackingError as tracking_error:
        # The error of the block is raised; the failure to record it is added as a note.
        error.add_note(str(tracking_error))
