"""A tracker that keeps nothing, for scripts and notebooks that do not use MLflow."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa


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

    def log_dataset(self, name: str, *, digest: str, context: str) -> None:
        """Keep nothing."""

    def log_artifact(self, path: Path) -> None:
        """Keep nothing."""

    def log_table(self, name: str, table: pa.Table) -> None:
        """Keep nothing."""

    @contextmanager
    def child(self, name: str, *, tags: Mapping[str, str] | None = None) -> Iterator["NullRun"]:
        """Another run of which nothing is kept."""
        yield NullRun()


@dataclass(frozen=True)
class NullTracker:
    """Keeps no runs; exceptions pass through untouched."""

    @contextmanager
    def run(self, asset: str, partition: str, key: str) -> Iterator[NullRun]:
        """A run of which nothing is kept."""
        yield NullRun()

    def published(self, asset: str, partition: str, key: str, *, data_version: str, parts: Mapping[str, str]) -> None:
        """Keep nothing."""
