"""What the sensor `refresh` reports of external assets: versions that changed, and why one could not be determined."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from aflite_assets.assets.watched import DATA_FIELDS, model_fields, settings_name, watched_parents
from aflite_assets.errors import AfliteError, UnsettledDataError
from aflite_assets.refresh.changes import Change, Kind
from aflite_assets.refresh.plan import DatasetPlan
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.shared.content_hashes import FieldContents

VERSION_TAG = "dagster/data_version"
_DATA: tuple[Kind, ...] = ("file", "commit")
_SETTINGS: tuple[Kind, ...] = ("field", *_DATA)
_MARK = 6


@dataclass(frozen=True)
class Watched:
    """One external asset of one dataset: its version, or why it has none; neither while its files still change.

    `moved`: a current result was made from another version.
    """

    asset: str
    version: str | None
    refusal: str | None
    metadata: Mapping[str, Any]
    moved: bool

    @property
    def mark(self) -> str:
        """A short hash of the version or the refusal; empty where there is neither."""
        content = self.version or self.refusal
        return _hash(content)[:_MARK] if content else ""


def watch(spec: DatasetSpec, plan: DatasetPlan) -> Iterator[Watched]:
    """The present versions of a planned dataset's external assets."""
    contents = plan.contents or FieldContents(spec)
    for asset, fields in DATA_FIELDS.items():
        readers = [stage.name for stage in STAGES.values() if asset in watched_parents(stage)]
        changed = _changed(plan, readers[:1], _DATA)
        yield _looked(asset, spec, {}, contents, fields, {"dataset": spec.name}, changed)
    for stage in STAGES.values():
        settings = stage.settings.as_json(spec)
        shown = {
            "dataset": spec.name,
            "settings": dg.MetadataValue.json(settings),
        }
        changed = _changed(plan, [stage.name], _SETTINGS)
        yield _looked(settings_name(stage.name), spec, settings, contents, model_fields(stage), shown, changed)


class ReportedVersions:
    """What an instance was told of external assets before; looked up once for each asset, and only where it matters."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self._instance = instance
        self._datasets: dict[str, set[str]] = {}

    def latest(self, asset: str, dataset: str) -> str | None:
        """The data version that was last reported; None where none was."""
        if asset not in self._datasets:
            self._datasets[asset] = self._instance.get_materialized_partitions(dg.AssetKey(asset))
        return latest_version(self._instance, asset, dataset) if dataset in self._datasets[asset] else None


def events_of(
    reported: ReportedVersions, dataset: str, watched: Iterable[Watched], marks: Mapping[str, str]
) -> tuple[list[dg.AssetMaterialization | dg.AssetObservation], dict[str, str]]:
    """The events to report for a dataset, and its new marks; `marks`: those of the previous tick.

    A version is reported where it moved: since the previous tick, or at the first look since the instance was last told
    or since a current result was made. So the first look at many datasets reports no more than later ones.
    """
    events: list[dg.AssetMaterialization | dg.AssetObservation] = []
    now = dict(marks)
    for external in watched:
        if not external.mark or marks.get(external.asset) == external.mark:
            continue
        now[external.asset] = external.mark
        if external.version is None:
            metadata = {"dataset": dataset, "reason": external.refusal}
            events.append(
                dg.AssetObservation(external.asset, partition=dataset, description=external.refusal, metadata=metadata)
            )
        elif _is_news(external, dataset, reported, first=external.asset not in marks):
            events.append(
                dg.AssetMaterialization(
                    external.asset, partition=dataset, metadata=external.metadata, tags={VERSION_TAG: external.version}
                )
            )
    return events, now


def _is_news(external: Watched, dataset: str, reported: ReportedVersions, *, first: bool) -> bool:
    latest = reported.latest(external.asset, dataset)
    if latest is None and first:
        return external.moved
    return latest != external.version


def latest_version(instance: dg.DagsterInstance, asset: str, dataset: str) -> str | None:
    """The data version that the instance has of an external asset; None where none was reported."""
    wanted = dg.AssetRecordsFilter(dg.AssetKey(asset), asset_partitions=[dataset])
    for record in instance.fetch_materializations(wanted, limit=1).records:
        if record.asset_materialization is not None:
            return (record.asset_materialization.tags or {}).get(VERSION_TAG)
    return None


def _looked(
    asset: str,
    spec: DatasetSpec,
    settings: Mapping[str, Any],
    contents: FieldContents,
    fields: Iterable[str],
    metadata: dict[str, Any],
    changed: str,
) -> Watched:
    named, moved = tuple(fields), bool(changed)
    metadata["changed"] = changed or "nothing against the current results"
    try:
        version = _hash({"settings": settings, "contents": contents.of(named)})
    except UnsettledDataError:
        return Watched(asset, None, None, metadata, moved)
    except AfliteError as error:
        return Watched(asset, None, str(error), metadata, moved)
    files = [file for some in contents.files(named).values() for file in some]
    if files:
        metadata |= {"files": len(files), "bytes": sum(file.mark.size for file in files)}
    return Watched(asset, version, None, metadata, moved)


def _changed(plan: DatasetPlan, stages: Iterable[str], kinds: tuple[Kind, ...]) -> str:
    reasons: dict[Change, None] = {
        reason: None for stage in stages for reason in plan[stage].reasons if reason.kind in kinds
    }
    return "\n".join(map(str, reasons))


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


__all__ = ["ReportedVersions", "Watched", "events_of", "latest_version", "watch"]
