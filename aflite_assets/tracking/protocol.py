"""The interfaces of trackers and their runs, the record that identifies a run, and a tracker that stores nothing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from aflite_assets.addresses import MLFLOW, base_address

_TRAINING = "?workflowType=machine_learning"


@dataclass(frozen=True)
class RunReference:
    """The place of a run; users, passwords and queries are left out of `tracking_uri`."""

    tracking_uri: str
    experiment_id: str
    run_id: str

    @property
    def server(self) -> str | None:
        """The address that shows the run: the configured address, or else the server's; None for a plain database.

        A configured address comes first, because a browser may not reach a server by the name that containers use.
        """
        own = self.tracking_uri.rstrip("/") if self.tracking_uri.startswith(("http://", "https://")) else None
        return base_address(MLFLOW) or own

    @property
    def url(self) -> str | None:
        """The address of the run's page, or None if no server shows the run."""
        return f"{self.server}/{self.fragment}" if self.server else None

    @property
    def fragment(self) -> str:
        """Return the path of the run's page, to append to the server's address.

        The last part is needed because MLflow otherwise opens in its mode for language models, which shows no runs.
        """
        return f"#/experiments/{self.experiment_id}/runs/{self.run_id}{_TRAINING}"

    @property
    def experiment_fragment(self) -> str:
        """Return the path of the page with all runs of the dataset, to append to the server's address."""
        return f"#/experiments/{self.experiment_id}{_TRAINING}"


class TrackedRun(Protocol):
    """One run while it is open. Every method raises TrackingError if the tracker does not respond."""

    @property
    def reference(self) -> RunReference | None:
        """The place where the run is stored, or None if nothing is stored."""

    def log_parameters(self, parameters: Mapping[str, object]) -> None:
        """Log settings; nested mappings are flattened with dots, and long values cut."""

    def log_metrics(self, metrics: Mapping[str, float], *, step: int | None = None) -> None:
        """Log numbers at `step` (0 if None); NaN and infinite values are skipped."""

    def log_series(self, series: Mapping[str, Sequence[float]], *, first_step: int) -> None:
        """Log each name's values at consecutive steps; NaN and infinite values are skipped."""

    def log_dataset(self, name: str, *, digest: str, context: str) -> None:
        """Log the version of a dataset that the run read, and its use (`context`, such as "training")."""

    def log_artifact(self, path: Path) -> None:
        """Store a copy of a file, or of a folder with its content."""

    def log_table(self, name: str, table: pa.Table) -> None:
        """Store a whole table under `name`; a later table with the same name replaces it.

        NaN and infinity become null.
        """

    def child(
        self, name: str, *, title: str | None = None, tags: Mapping[str, str] | None = None
    ) -> AbstractContextManager["TrackedRun"]:
        """Begin a child run, shown as `title` (default: the name); the same name continues the same child."""


class Tracker(Protocol):
    """A store of runs."""

    def run(self, asset: str, partition: str, key: str) -> AbstractContextManager[TrackedRun]:
        """Return the run of one asset, partition and result key; a second call continues the first call's run."""

    def published(self, asset: str, partition: str, key: str, *, data_version: str, parts: Mapping[str, str]) -> None:
        """Tag the run with the result's data version, and each child run with the data version of its part."""


@dataclass(frozen=True)
class NullRun:
    """A run that stores nothing: every method accepts its arguments and does nothing."""

    @property
    def reference(self) -> None:
        """None, because nothing is stored."""
        return None

    def log_parameters(self, parameters: Mapping[str, object]) -> None:
        """Do nothing."""

    def log_metrics(self, metrics: Mapping[str, float], *, step: int | None = None) -> None:
        """Do nothing."""

    def log_series(self, series: Mapping[str, Sequence[float]], *, first_step: int) -> None:
        """Do nothing."""

    def log_dataset(self, name: str, *, digest: str, context: str) -> None:
        """Do nothing."""

    def log_artifact(self, path: Path) -> None:
        """Do nothing."""

    def log_table(self, name: str, table: pa.Table) -> None:
        """Do nothing."""

    @contextmanager
    def child(
        self, name: str, *, title: str | None = None, tags: Mapping[str, str] | None = None
    ) -> Iterator["NullRun"]:
        """Yield another run that stores nothing."""
        yield NullRun()


@dataclass(frozen=True)
class NullTracker:
    """A tracker that stores no runs; exceptions pass through unchanged."""

    @contextmanager
    def run(self, asset: str, partition: str, key: str) -> Iterator[NullRun]:
        """Yield a run that stores nothing."""
        yield NullRun()

    def published(self, asset: str, partition: str, key: str, *, data_version: str, parts: Mapping[str, str]) -> None:
        """Do nothing."""
