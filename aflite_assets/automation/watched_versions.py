"""Reports of the sensor `refresh` on `source_files`: versions that changed, and why one could not be determined."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from aflite_assets.errors import AfliteError, UnsettledDataError
from aflite_assets.refresh.plan import DatasetPlan
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.shared.content_hashes import CONTENT_FIELDS, FieldContents

ASSET = "source_files"
VERSION_TAG = "dagster/data_version"
_MARK = 6


@dataclass(frozen=True)
class Watched:
    """A dataset's files and commits: their version, or why they have none; neither while a file still changes.

    `moved`: a current result was made from another version.
    """

    dataset: str
    version: str | None
    refusal: str | None
    metadata: Mapping[str, Any]
    moved: bool

    @property
    def mark(self) -> str:
        """A short hash of the version or the refusal; empty where there is neither."""
        content = self.version or self.refusal
        return _hash(content)[:_MARK] if content else ""


def watch(spec: DatasetSpec, plan: DatasetPlan) -> Watched:
    """Return the present version of what a planned dataset reads."""
    contents = plan.contents or FieldContents(spec)
    reasons = [reason for stage in plan.stages for reason in stage.reasons if reason.kind in ("file", "commit")]
    changed = "\n".join(dict.fromkeys(map(str, reasons)))
    metadata: dict[str, Any] = {"dataset": spec.name, "changed": changed or "nothing against the current results"}
    try:
        version = _hash(contents.of(CONTENT_FIELDS))
    except UnsettledDataError:
        return Watched(spec.name, None, None, metadata, bool(changed))
    except AfliteError as error:
        return Watched(spec.name, None, str(error), metadata, bool(changed))
    files = [file for some in contents.files(CONTENT_FIELDS).values() for file in some]
    if files:
        metadata |= {"files": len(files), "bytes": sum(file.mark.size for file in files)}
    return Watched(spec.name, version, None, metadata, bool(changed))


def event_of(
    instance: dg.DagsterInstance, watched: Watched, mark: str
) -> dg.AssetMaterialization | dg.AssetObservation | None:
    """Return the event to report for a dataset, or None; `mark`: that of the previous tick, empty at the first look.

    A version is reported if it differs from the one that the instance was told last, or, if it was told none, from the
    one that a current result was made from. So the first look at many datasets reports no more than later ones.
    """
    name = watched.dataset
    if not watched.mark or mark == watched.mark:
        return None
    if watched.version is None:
        metadata = {"dataset": name, "reason": watched.refusal}
        return dg.AssetObservation(ASSET, partition=name, description=watched.refusal, metadata=metadata)
    latest = latest_version(instance, name)
    is_news = watched.moved if latest is None else latest != watched.version
    if not is_news:
        return None
    return dg.AssetMaterialization(
        ASSET, partition=name, metadata=watched.metadata, tags={VERSION_TAG: watched.version}
    )


def latest_version(instance: dg.DagsterInstance, dataset: str) -> str | None:
    """Return the data version that the instance has of a dataset's files; None where none was reported."""
    wanted = dg.AssetRecordsFilter(dg.AssetKey(ASSET), asset_partitions=[dataset])
    for record in instance.fetch_materializations(wanted, limit=1).records:
        if record.asset_materialization is not None:
            return (record.asset_materialization.tags or {}).get(VERSION_TAG)
    return None


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


__all__ = ["Watched", "event_of", "latest_version", "watch"]
