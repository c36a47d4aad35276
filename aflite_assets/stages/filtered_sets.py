"""The stage of `filtered_sets`: AFLite's loop per representation, a checkpoint per iteration; resumes there."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.algorithm import FilterResult, FilterState, IterationRecord, filter_dataset
from aflite_assets.diagnostics.kept_like_train import kept_shares, unlike_train
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import Draft, PublishedResult, ResultKey
from aflite_assets.results.files import link_or_copy, write_json
from aflite_assets.sources.specs import SpecView
from aflite_assets.stages.pipeline import Inputs
from aflite_assets.stages.progress import IterationReport, Progress
from aflite_assets.stages.published import open_features, read_rows, report_iterations
from aflite_assets.stages.sizes import filter_settings, in_pool, only_scored
from aflite_assets.tracking import TrackedRun


def run(
    spec: SpecView, inputs: Inputs, draft: Draft, *, tracker: TrackedRun, device: DeviceSettings, progress: Progress
) -> dict[str, Any]:
    """Filter each representation's rows on its own; iterations of results found again are reported again."""
    warmup = inputs["warmup_split"].summary["rows"]
    summary = {}
    for name, embedded in inputs["embeddings"].parts.items():
        fields = {"filter": spec.filter.model_dump(mode="json"), "seed": spec.seed, "warmup_rows": warmup}
        part = draft.part(
            name,
            ResultKey(draft.key.code_version, fields, {"embeddings": embedded.data_version}),
            partial(_filter, name, embedded, spec, warmup=warmup, tracker=tracker, device=device, progress=progress),
        )
        if part.reused:
            report_iterations(name, part.result, progress)
            _track_found(name, part.result, tracker)
        summary[name] = part.result.summary
    return summary


def _filter(
    name: str,
    embedded: PublishedResult,
    spec: SpecView,
    part: Draft,
    *,
    warmup: int,
    tracker: TrackedRun,
    device: DeviceSettings,
    progress: Progress,
) -> Mapping[str, Any]:
    rows = read_rows(embedded)
    features = open_features(embedded)
    splits = rows["split"].to_numpy(zero_copy_only=False)
    pool, scored = in_pool(spec.filter, splits), only_scored(spec.filter, splits)
    entering = np.flatnonzero(pool | scored)
    train, score_only = splits[entering] == "train", scored[entering]
    settings = filter_settings(spec.filter, int(pool.sum()), warmup, train_rows=int(train.sum()))
    checkpoint = Checkpoint(part.scratch)
    (part.path / "scores").mkdir()
    resume = checkpoint.load()
    if resume is not None:
        progress.log(f"filtering {name} resumes at iteration {resume.next_iteration}")
        for record in resume.iterations:
            progress.on_iteration(_report(name, record))
    row_ids = rows["row_id"].to_numpy()[entering]
    with tracker.child(name) as run:
        run.log_parameters(asdict(settings))
        if resume is not None:  # a kill may have come between the checkpoint and these
            run.log_metrics(_metrics(resume.iterations[-1]), step=resume.iterations[-1].iteration)

        def on_iteration(record: IterationRecord, state: FilterState) -> None:
            checkpoint.save(record, state, row_ids)
            progress.on_iteration(_report(name, record))
            progress.log(_line(name, record))
            run.log_metrics(_metrics(record), step=record.iteration)

        result = filter_dataset(
            features if len(entering) == len(pool) else features[entering],
            rows["label"].to_numpy()[entering],
            settings=settings,
            seed=spec.seed,
            groups=rows["group"].to_numpy()[entering] if "group" in rows.column_names else None,
            score_only=score_only if score_only.any() else None,
            counted=train,
            device=device.device,
            on_iteration=on_iteration,
            resume=resume,
        )
    checkpoint.publish_scores(part.path / "scores")
    policies = {split: spec.filter.evaluation_rows_of(split) for split in dict.fromkeys(splits) if split != "train"}
    warnings = _write(result, rows, entering, policies, part.path)
    return _summary(result, rows, entering, warnings)


def _track_found(name: str, part: PublishedResult, tracker: TrackedRun) -> None:
    """Give the run of a new result the curve of a part that was found."""
    with tracker.child(name, tags={"aflite.found": "true"}) as run:
        for row in pq.read_table(part.file("iterations.parquet")).to_pylist():
            metrics = {field: float(row[field]) for field in _TRACKED if row[field] is not None}
            run.log_metrics(metrics, step=row["iteration"])


class Checkpoint:
    """The loop's state and the scores of its finished iterations, in the scratch folder of an unfinished result."""

    def __init__(self, folder: Path) -> None:
        self._state = folder / "state.npz"
        self._scores = folder / "scores"
        self._scores.mkdir(exist_ok=True)

    def save(self, record: IterationRecord, state: FilterState, row_ids: np.ndarray) -> None:
        """Write an iteration's scores, then replace the state: a kill in between repeats the iteration."""
        entered = np.ones(len(row_ids), bool)
        entered[state.removed_rows[state.removed_in_iteration < record.iteration]] = False
        scored = entered & ~np.isnan(state.predictability)
        table = pa.table({"row_id": row_ids[scored], "predictability": state.predictability[scored]})
        pq.write_table(table, self._scores / f"{record.iteration:03d}.parquet")
        aside = self._state.with_suffix(".tmp")
        with aside.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **state.to_arrays())
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(self._state)

    def load(self) -> FilterState | None:
        """The state after the last finished iteration, or None at the start."""
        if not self._state.is_file():
            return None
        with np.load(self._state, allow_pickle=False) as arrays:
            return FilterState.from_arrays(dict(arrays))

    def publish_scores(self, folder: Path) -> None:
        """Put the scores of all iterations into the result: the last known score of every row that entered each."""
        for path in sorted(self._scores.iterdir()):
            link_or_copy(path, folder / path.name)


def _report(name: str, record: IterationRecord) -> IterationReport:
    return IterationReport(
        name,
        iteration=record.iteration,
        rows_in=record.rows_in,
        train_rows_in=record.counted_rows_in,
        removed=record.removed,
        train_removed=record.counted_removed,
        scored_rows_in=record.scored_rows_in,
        scored_removed=record.scored_removed,
        cutoff=record.cutoff,
        representation_bias=record.representation_bias,
    )


def _line(name: str, record: IterationRecord) -> str:
    return (
        f"filtering {name}, iteration {record.iteration:03d}: {record.rows_in} rows "
        f"({record.counted_rows_in} of train), representation bias {record.representation_bias:.3f}, "
        f"removed {record.removed}"
    )


_TRACKED = (
    "rows_in",
    "train_rows_in",
    "removed",
    "train_removed",
    "scored_rows_in",
    "scored_removed",
    "representation_bias",
    "rows_never_held_out",
    "cutoff",
)


def _metrics(record: IterationRecord) -> dict[str, float]:
    values = _published(record)
    return {field: float(values[field]) for field in _TRACKED if values[field] is not None}


def _published(record: IterationRecord) -> dict[str, Any]:
    """The record's fields under the names that tables and metrics have."""
    named = {
        "train_rows_in": record.counted_rows_in,
        "train_removed": record.counted_removed,
        "rows_never_held_out": record.never_held_out,
        "rows_per_class": list(record.rows_per_class),
    }
    # A duration is no content: the same run must give the same data version.
    own = {"counted_rows_in", "counted_removed", "never_held_out", "seconds"}
    return {name: value for name, value in asdict(record).items() if name not in own} | named


def _write(
    result: FilterResult,
    rows: pa.Table,
    entering: np.ndarray,
    policies: Mapping[str, str],
    folder: Path,
) -> list[str]:
    """Publish every embedded row with its fate, the iterations, and how the filter ended; the warnings."""
    total = rows.num_rows
    scores = np.full(total, np.nan, np.float32)
    scores[entering] = result.predictability
    own = np.full(total, np.nan, np.float32)
    if result.label_probability is not None:
        own[entering] = result.label_probability
    held_out = np.zeros(total, np.int64)
    held_out[entering] = result.held_out_count
    removed_in = np.full(total, -1, np.int64)
    removed_in[entering[result.removed_rows]] = result.removed_in_iteration
    columns = [column for column in ("row_id", "split", "label", "group") if column in rows.column_names]
    table = rows.select(columns).replace_schema_metadata(None)
    for name, values in (
        ("kept", pa.array(removed_in < 0)),
        ("removed_in_iteration", pa.array(removed_in, mask=removed_in < 0)),
        ("predictability", pa.array(scores, mask=np.isnan(scores))),
        ("held_out_count", pa.array(held_out)),
        ("label_probability", pa.array(own, mask=np.isnan(own))),
    ):
        table = table.append_column(name, values)
    pq.write_table(table, folder / "rows.parquet")
    records = pa.Table.from_pylist([_published(record) for record in result.iterations])
    pq.write_table(records, folder / "iterations.parquet")
    filtered_splits = tuple(split for split, policy in policies.items() if policy != "kept")
    shares = kept_shares(table, splits=filtered_splits)
    warnings = [*result.warnings, *unlike_train(shares)]
    write_json(
        folder / "filter.json",
        {
            "stop_reason": result.stop_reason.name,
            "warnings": warnings,
            "settings": {**asdict(result.settings), "evaluation_rows": dict(policies)},
            "seed": result.seed,
        },
    )
    return warnings


def _summary(result: FilterResult, rows: pa.Table, entering: np.ndarray, warnings: list[str]) -> dict[str, Any]:
    kept = np.ones(rows.num_rows, bool)
    kept[entering[result.removed_rows]] = False
    splits = rows["split"].to_numpy(zero_copy_only=False)
    names = list(dict.fromkeys(splits))
    return {
        "rows": {split: int((splits == split).sum()) for split in names},
        "kept": {split: int(kept[splits == split].sum()) for split in names},
        "iterations": len(result.iterations),
        "stop_reason": result.stop_reason.name,
        "bias_before": float(result.iterations[0].representation_bias),
        "bias_after": float(result.iterations[-1].representation_bias),
        "warnings": warnings,
        "seconds": round(sum(record.seconds for record in result.iterations), 2),
    }
