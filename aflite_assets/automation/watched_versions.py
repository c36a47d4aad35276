"""Reports of the sensor `refresh` on the asset `source_files`: changed versions of each dataset's sources."""

import hashlib
import json
from collections.abc import Iterator

import dagster as dg

from aflite_assets.errors import AfliteError
from aflite_assets.refresh.plan import DatasetPlan
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.shared.content_hashes import CONTENT_FIELDS, FieldContents

ASSET = "source_files"
VERSION_TAG = "dagster/data_version"
_OF_FILES = ("file ", "commit ", "the files ")


def watched_version(spec: DatasetSpec, plan: DatasetPlan) -> str | None:
    """Return a hash of the files and commits that a planned dataset reads; None if a file is missing or changes."""
    try:
        contents = (plan.contents or FieldContents(spec)).of(CONTENT_FIELDS)
    except AfliteError:  # the plan contains the error
        return None
    return digest(contents)


def inputs_of(spec: DatasetSpec, plan: DatasetPlan) -> str | None:
    """Return a hash of everything that a run of a dataset reads; None if the version of its files is unknown."""
    codes, version = {name: stage.code_version for name, stage in STAGES.items()}, watched_version(spec, plan)
    return None if version is None else digest([spec.model_dump(mode="json"), version, codes])[:20]


def digest(value: object) -> str:
    """Return the sha256 of a value's JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def event_of(instance: dg.DagsterInstance, plan: DatasetPlan, version: str | None) -> Iterator[dg.AssetMaterialization]:
    """Yield the event that reports a version, or nothing if the version is unknown or not new.

    A version is new if it differs from the last reported version. If no version was reported, a version is new if
    files or commits changed since the current results, so the first tick reports only changes.
    """
    changed = dict.fromkeys(one for stage in plan.stages for one in stage.reasons if one.startswith(_OF_FILES))
    latest = latest_version(instance, plan.dataset)
    if version is not None and (changed if latest is None else latest != version):
        metadata = {"changed": "\n".join(changed) or "nothing, compared with the current results"}
        yield dg.AssetMaterialization(ASSET, partition=plan.dataset, metadata=metadata, tags={VERSION_TAG: version})


def latest_version(instance: dg.DagsterInstance, dataset: str) -> str | None:
    """Return the last reported data version of a dataset's files, or None if none was reported."""
    wanted = dg.AssetRecordsFilter(dg.AssetKey(ASSET), asset_partitions=[dataset])
    materializations = [one.asset_materialization for one in instance.fetch_materializations(wanted, limit=1).records]
    return next(((one.tags or {}).get(VERSION_TAG) for one in materializations if one is not None), None)
