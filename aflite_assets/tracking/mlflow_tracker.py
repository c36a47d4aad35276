"""The tracker that writes to MLflow. The tracker selects the experiment of each run, and deletes old runs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from aflite_assets.address_secrets import read_address
from aflite_assets.errors import TrackingError
from aflite_assets.tracking.mlflow_refresh import RefreshRun, empty_refreshes
from aflite_assets.tracking.mlflow_run import PARENT_TAG, MlflowRun, found_runs, label_run, open_run
from aflite_assets.tracking.mlflow_session import MlflowSession
from aflite_assets.tracking.mlflow_values import digest_of
from aflite_assets.tracking.protocol import Tracker

if TYPE_CHECKING:
    from mlflow.entities import Experiment, Run


DATA_VERSION_TAG = "dagster/data_version"

KIND_TAG = "mlflow.experimentKind"
_KIND = "custom_model_development"
"""Value of the tag `KIND_TAG` for experiments that train models, for which MLflow 3.17 opens the page of runs."""

_SHORT = 8
"""Number of digits of a result's key in a run's name; the tag `aflite.key` contains the whole key."""


@dataclass(frozen=True)
class MlflowTracker(Tracker):
    """A tracker that stores the runs of all stages in MLflow. The runs of a dataset are in the experiment
    `aflite/<partition>`.

    Args:
        uri: a tracking server (http, https), or a database (`sqlite:////absolute/path` or any SQLAlchemy URL). If `uri`
            is None, the database is `<home>/mlflow/mlflow.db`.
        home: the folder of the project's state. If runs are in a database, their files are in
            `<home>/mlflow/artifacts`; a server stores files itself.
        tags: tags to set on every run.
        refresh: the identifier of a refresh. The run of the refresh becomes the parent of its stages' runs. If
            `refresh` is None, runs have no parent.

    Tags whose names begin with `dagster/` repeat Dagster's metadata: `asset_key`, `partition`, `data_version` and, for
    results of a Dagster run, `run_id` and `run_url`. No connection is opened before the first run.

    Raises:
        TrackingError: `uri` is an SQLite database without an absolute path, is ambiguous, or is a server's address with
            a query; or `uri` is None and the path of `home` has a question mark. No message contains a user, a password
            or a query.
    """

    uri: str | None = field(repr=False)
    home: Path
    tags: Mapping[str, str] = field(default_factory=dict)
    refresh: str | None = None

    def __post_init__(self) -> None:
        if self.uri:
            _check_uri(self.uri)
        elif "?" in str(self._folder):
            raise TrackingError(
                f"MLflow's database cannot be in {self._folder}, because a `?` in the path of an SQLite database "
                "begins its options; set `AFLITE_HOME` to a folder without `?`, or give a tracking URI"
            )

    @cached_property
    def session(self) -> MlflowSession:
        """The connection shared by all runs of this tracker."""
        uri = self.uri or f"sqlite:///{self._folder / 'mlflow.db'}"
        return MlflowSession(uri, self._folder / "mlflow.lock", is_own=not self.uri)

    @contextmanager
    def run(self, asset: str, partition: str, key: str) -> Iterator[MlflowRun]:
        """Yield the run of one asset, partition and result key, named `<asset> <key> <start day> <partition>`.

        The start day is in UTC. MLflow's lists cut off long names, so the parts of the name that differ within an
        experiment come first. A second call for the same result continues the same run, even from another process, so a
        retry after a failure adds no run. The run ends as FINISHED, FAILED or KILLED (see `mlflow_run.open_run`).

        Raises:
            TrackingError: the database or server cannot be used.
        """
        tags = {
            "aflite.asset": asset,
            "aflite.partition": partition,
            "aflite.key": key,
            "dagster/asset_key": asset,
            "dagster/partition": partition,
        }
        name = f"{asset} {key[:_SHORT]} {datetime.now(UTC):%Y-%m-%d} {partition}"
        identity = digest_of("run", asset, partition, key)
        experiment_id = self._experiment(f"aflite/{partition}")
        with (
            self._refresh_run(experiment_id, partition, identity) as above,
            open_run(self.session, experiment_id, name, identity=identity, tags={**tags, **self.tags, **above}) as run,
        ):
            yield run

    def published(self, asset: str, partition: str, key: str, *, data_version: str, parts: Mapping[str, str]) -> None:
        """Tag the run with the data version of its result, and each nested run with the data version of its part.

        Raises:
            TrackingError: the database or server cannot be used.
        """
        label_run(
            self.session,
            self._experiment(f"aflite/{partition}"),
            identity=digest_of("run", asset, partition, key),
            tags={DATA_VERSION_TAG: data_version},
            children={name: {DATA_VERSION_TAG: version} for name, version in parts.items()},
        )

    def _refresh_run(
        self, experiment_id: str, partition: str, identity: str
    ) -> AbstractContextManager[Mapping[str, str]]:
        """Return a context that yields tags for a stage's run. The tags name the refresh's run as parent.

        The tags are empty if the tracker has no refresh.
        """
        if self.refresh is None:
            return nullcontext({})
        return RefreshRun(self.session, experiment_id, partition, self.refresh).above(identity, tags=self.tags)

    @property
    def _folder(self) -> Path:
        return self.home.absolute() / "mlflow"

    def _experiment(self, name: str) -> str:
        client = self.session.client
        with self.session.errors(), self.session.locked():
            experiment = client.get_experiment_by_name(name) or self._create_experiment(name)
            if experiment.lifecycle_stage == "deleted":
                client.restore_experiment(experiment.experiment_id)
            if KIND_TAG not in experiment.tags:
                client.set_experiment_tag(experiment.experiment_id, KIND_TAG, _KIND)
            return str(experiment.experiment_id)

    def _create_experiment(self, name: str) -> "Experiment":
        from mlflow.exceptions import MlflowException

        # By default, MLflow stores the files of runs in a database in the current working directory.
        artifacts = None if self.session.is_server else (self._folder / "artifacts").as_uri()
        client = self.session.client
        try:
            return client.get_experiment(client.create_experiment(name, artifact_location=artifacts))
        except MlflowException:
            # Another machine created the experiment first; the lock covers this machine only.
            experiment = client.get_experiment_by_name(name)
            if experiment is None:
                raise
            return experiment


def _check_uri(uri: str) -> None:
    address = read_address(uri)
    if uri.startswith("sqlite:"):
        if not Path(uri.removeprefix("sqlite:///")).is_absolute():
            raise TrackingError(
                f"the tracking URI {address.text!r} is a relative path, which each process resolves differently; write "
                "`sqlite:///` and an absolute path"
            )
    elif not address.is_understood:
        raise TrackingError(
            f"the tracking URI is {address.text}, which is ambiguous; write http://host:port or "
            "postgresql+psycopg2://user:password@host:port/database, and percent-encode special characters in user "
            "and password (%40 for @, %2F for /)"
        )
    elif address.has_query and uri.startswith(("http://", "https://")):
        raise TrackingError(
            f"the tracking URI {address.text} ends in a query or a fragment; give only the base address of the server, "
            "and set credentials in `MLFLOW_TRACKING_USERNAME` and `MLFLOW_TRACKING_PASSWORD`"
        )


def delete_runs_without_result(
    tracker: MlflowTracker, exists: Callable[[str, str, str], bool], *, before: datetime
) -> int:
    """Delete stages' runs that ended before `before`, if their results no longer exist.

    The children of a deleted run are deleted too. The run of a refresh is deleted if it began before `before` and has
    no children left. Runs of other programs are never deleted. Deleted runs can be restored until `mlflow gc` removes
    them. Returns the number of deleted runs.

    Args:
        exists: a function that takes an asset, a partition and a key, and returns whether the result still exists.

    Raises:
        TrackingError: the database or server cannot be used.
    """
    client, deleted = tracker.session.client, 0
    with tracker.session.errors():
        for experiment in client.search_experiments(filter_string="name LIKE 'aflite/%'"):
            runs = found_runs(tracker.session, experiment.experiment_id)
            gone = {run.info.run_id for run in runs if _is_gone(run, exists, before)}
            gone |= {run.info.run_id for run in runs if run.data.tags.get(PARENT_TAG) in gone}
            gone |= {run.info.run_id for run in empty_refreshes(runs, gone, before=before)}
            for run_id in gone:
                client.delete_run(run_id)
            deleted += len(gone)
    return deleted


def _is_gone(run: "Run", exists: Callable[[str, str, str], bool], before: datetime) -> bool:
    named = [run.data.tags.get(f"aflite.{part}") for part in ("asset", "partition", "key")]
    asset, partition, key = named
    if asset is None or partition is None or key is None or run.info.end_time is None:
        return False
    return run.info.end_time < before.timestamp() * 1000 and not exists(asset, partition, key)
