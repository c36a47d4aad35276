"""What a stage may ask of a tracker: the interfaces and the record that names a run. No implementation."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa


@dataclass(frozen=True)
class RunReference:
    """Where a run can be found again; user names and passwords are left out of `tracking_uri`."""

    tracking_uri: str
    experiment_id: str
    run_id: str

    @property
    def url(self) -> str | None:
        """The run's page on the tracking server, or None when the runs are kept in a database."""
        if not self.tracking_uri.startswith(("http://", "https://")):
            return None
        return f"{self.tracking_uri.rstrip('/')}/#/experiments/{self.experiment_id}/runs/{self.run_id}"


class TrackedRun(Protocol):
    """One run while it is open. Every method raises TrackingError when the tracker does not answer."""

    @property
    def reference(self) -> RunReference | None:
        """Where the run is kept, or None when nothing is kept."""

    def log_parameters(self, parameters: Mapping[str, object]) -> None:
        """Keep settings; nested mappings are flattened with dots, long values cut."""

    def log_metrics(self, metrics: Mapping[str, float], *, step: int | None = None) -> None:
        """Keep numbers, at `step` (0 when None); values that are NaN or infinite are skipped."""

    def log_dataset(self, name: str, *, digest: str, context: str) -> None:
        """Keep which version of a dataset the run read, and for what (`context`, such as "training")."""

    def log_artifact(self, path: Path) -> None:
        """Keep a copy of a file, or of a folder with all it holds."""

    def log_table(self, name: str, table: pa.Table) -> None:
        """Keep a table whole, under `name`; a later one of the name replaces it. NaN and infinity become null."""

    def child(self, name: str, *, tags: Mapping[str, str] | None = None) -> AbstractContextManager["TrackedRun"]:
        """A run within this one; the same name under the same parent continues the same child."""


class Tracker(Protocol):
    """Something that keeps runs."""

    def run(self, asset: str, partition: str, key: str) -> AbstractContextManager[TrackedRun]:
        """The run of one asset, partition and result key; a second call continues the first one's run."""
