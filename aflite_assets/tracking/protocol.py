"""Base classes of trackers and of their runs, which store nothing, and references to stored runs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from aflite_assets.addresses import MLFLOW, base_address

_TRAINING = "?workflowType=machine_learning"


@dataclass(frozen=True)
class RunReference:
    """A reference to a stored run; `tracking_uri` contains no user, password or query."""

    tracking_uri: str
    experiment_id: str
    run_id: str

    @property
    def server(self) -> str | None:
        """The address of the server whose pages show the run, or None if there is no server.

        The configured address takes precedence over the tracking server's address. Browsers may be unable to reach the
        server by the host name that containers use.
        """
        own = self.tracking_uri.rstrip("/") if self.tracking_uri.startswith(("http://", "https://")) else None
        return base_address(MLFLOW) or own

    @property
    def url(self) -> str | None:
        """The address of the run's page, or None if no server shows the run."""
        return f"{self.server}/{self.fragment}" if self.server else None

    @property
    def fragment(self) -> str:
        """Path of the run's page, to append to the server's address.

        The path ends with a query. Without this query, MLflow opens the page in its mode for language models, which
        shows no runs.
        """
        return f"#/experiments/{self.experiment_id}/runs/{self.run_id}{_TRAINING}"

    @property
    def experiment_fragment(self) -> str:
        """Path of the page with all runs of the dataset, to append to the server's address."""
        return f"#/experiments/{self.experiment_id}{_TRAINING}"


class TrackedRun:
    """An open run. This class stores nothing; the runs of a tracker override its methods.

    Every method raises TrackingError if the tracker does not respond.
    """

    @property
    def reference(self) -> RunReference | None:
        """Reference to the stored run, or None if nothing is stored."""
        return None

    def log_parameters(self, parameters: Mapping[str, object]) -> None:
        """Log settings. Nested names are joined with dots, and long values are cut."""

    def log_metrics(self, metrics: Mapping[str, float], *, step: int | None = None) -> None:
        """Log metrics at `step` (0 if None); NaN and infinite values are skipped."""

    def log_series(self, series: Mapping[str, Sequence[float]], *, first_step: int) -> None:
        """Log each metric's values at consecutive steps; NaN and infinite values are skipped."""

    def log_dataset(self, name: str, *, digest: str, context: str) -> None:
        """Log the version of a dataset that the run used, and its use (`context`, such as "training")."""

    def log_artifact(self, path: Path) -> None:
        """Store a copy of a file, or of a folder with its content."""

    def log_table(self, name: str, table: pa.Table) -> None:
        """Store a table under `name`. A later table with the same name replaces the stored table.

        NaN and infinite values become null.
        """

    @contextmanager
    def child(
        self, name: str, *, title: str | None = None, tags: Mapping[str, str] | None = None
    ) -> Iterator["TrackedRun"]:
        """Open a child run with the title `title` (by default, `name`). If the name was used before, continue the
        earlier child run.
        """
        yield TrackedRun()


class Tracker:
    """A tracker of runs. This class stores nothing and does not handle exceptions; other trackers override it."""

    @contextmanager
    def run(self, asset: str, partition: str, key: str) -> Iterator[TrackedRun]:
        """Open the run of one asset, partition and result key. A second call with the same arguments continues the same
        run.
        """
        yield TrackedRun()

    def published(self, asset: str, partition: str, key: str, *, data_version: str, parts: Mapping[str, str]) -> None:
        """Tag the run with the data version of its result, and each child run with the data version of its part."""


NullTracker = Tracker
"""A tracker that stores no runs."""
