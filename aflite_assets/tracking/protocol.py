"""The interfaces of trackers and their runs, the record that names a run, and a tracker that keeps nothing."""

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
    """Where a run can be found again; users, passwords and queries are left out of `tracking_uri`."""

    tracking_uri: str
    experiment_id: str
    run_id: str

    @property
    def server(self) -> str | None:
        """The address that shows the run: the one that is set, else a server's own; None for a database alone.

        A setting comes first: a browser may not reach a server by the name that containers have for it.
        """
        own = self.tracking_uri.rstrip("/") if self.tracking_uri.startswith(("http://", "https://")) else None
        return base_address(MLFLOW) or own

    @property
    def url(self) -> str | None:
        """The run's page, or None where no server is known that shows it."""
        return f"{self.server}/{self.fragment}" if self.server else None

    @property
    def fragment(self) -> str:
        """Return what follows the server's address to the run's page.

        Without the last part MLflow opens in its mode for language models, which shows no run of an experiment.
        """
        return f"#/experiments/{self.experiment_id}/runs/{self.run_id}{_TRAINING}"

    @property
    def experiment_fragment(self) -> str:
        """Return what follows the server's address to the page of all runs of the dataset."""
        return f"#/experiments/{self.experiment_id}{_TRAINING}"


class TrackedRun(Protocol):
    """One run while it is open. Every method raises TrackingError when the tracker does not answer."""

    @property
    def reference(self) -> RunReference | None:
        """Where the run is kept, or None when nothing is kept."""

    def log_parameters(self, parameters: Mapping[str, object]) -> None:
        """Keep settings; nested mappings are flattened with dots, long values cut."""

    def log_metrics(self, metrics: Mapping[str, float], *, step: int | None = None) -> None:
        """Keep numbers, at `step` (0 when None); values that are NaN or infinite are skipped."""

    def log_series(self, series: Mapping[str, Sequence[float]], *, first_step: int) -> None:
        """Log each name's values at consecutive steps; values that are NaN or infinite are skipped."""

    def log_dataset(self, name: str, *, digest: str, context: str) -> None:
        """Keep which version of a dataset the run read, and for what (`context`, such as "training")."""

    def log_artifact(self, path: Path) -> None:
        """Keep a copy of a file, or of a folder with all it holds."""

    def log_table(self, name: str, table: pa.Table) -> None:
        """Keep a table whole, under `name`; a later one of the name replaces it. NaN and infinity become null."""

    def child(
        self, name: str, *, title: str | None = None, tags: Mapping[str, str] | None = None
    ) -> AbstractContextManager["TrackedRun"]:
        """Begin a run within this one, shown as `title` (default: the name); the same name continues the same child."""


class Tracker(Protocol):
    """Something that keeps runs."""

    def run(self, asset: str, partition: str, key: str) -> AbstractContextManager[TrackedRun]:
        """Return the run of one asset, partition and result key; a second call continues the first one's run."""

    def published(self, asset: str, partition: str, key: str, *, data_version: str, parts: Mapping[str, str]) -> None:
        """Note on the run which data version came out, and on its children that of the parts named like them."""


@dataclass(frozen=True)
class NullRun:
    """A run of which nothing is kept: every method accepts its arguments and does nothing."""

    @property
    def reference(self) -> None:
        """None: there is nothing to refer to."""
        return None

    def log_parameters(self, parameters: Mapping[str, object]) -> None:
        """Keep nothing."""

    def log_metrics(self, metrics: Mapping[str, float], *, step: int | None = None) -> None:
        """Keep nothing."""

    def log_series(self, series: Mapping[str, Sequence[float]], *, first_step: int) -> None:
        """Keep nothing."""

    def log_dataset(self, name: str, *, digest: str, context: str) -> None:
        """Keep nothing."""

    def log_artifact(self, path: Path) -> None:
        """Keep nothing."""

    def log_table(self, name: str, table: pa.Table) -> None:
        """Keep nothing."""

    @contextmanager
    def child(
        self, name: str, *, title: str | None = None, tags: Mapping[str, str] | None = None
    ) -> Iterator["NullRun"]:
        """Another run of which nothing is kept."""
        yield NullRun()


@dataclass(frozen=True)
class NullTracker:
    """Keeps no runs; exceptions pass through untouched."""

    @contextmanager
    def run(self, asset: str, partition: str, key: str) -> Iterator[NullRun]:
        """Yield a run of which nothing is kept."""
        yield NullRun()

    def published(self, asset: str, partition: str, key: str, *, data_version: str, parts: Mapping[str, str]) -> None:
        """Keep nothing."""
