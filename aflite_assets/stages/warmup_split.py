"""The stage of `warmup_split`: the train rows spent on the encoders, once the whole plan is known to be possible."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.errors import DataError
from aflite_assets.models.checks import check_model
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import Draft
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.sampling import stratified_sample
from aflite_assets.sources.specs import SpecView
from aflite_assets.sources.tables import load_examples
from aflite_assets.stages.pipeline import Inputs
from aflite_assets.stages.progress import Progress
from aflite_assets.stages.published import without_rows
from aflite_assets.stages.sizes import filter_settings, in_pool, warmup_rows
from aflite_assets.tracking import TrackedRun


def run(
    spec: SpecView, inputs: Inputs, draft: Draft, *, tracker: TrackedRun, device: DeviceSettings, progress: Progress
) -> dict[str, Any]:
    """Draw the warm-up rows (whole groups, stratified), after every model and size was checked against the data."""
    raw = load_examples(inputs["raw_dataset"].path)
    train = raw.in_split("train")
    for settings in [*spec.representations.values(), *spec.evaluators.values()]:
        check_model(settings, raw)
    needed = any(encoder.kind != "identity" for encoder in spec.representations.values())
    size = warmup_rows(spec.warmup, len(train), needed=needed)
    drawn = stratified_sample(train.labels, train.groups, size, rng=np.random.default_rng([spec.seed, 0]))
    _check_plan(spec, raw, train.row_ids[drawn], needed=needed)
    labels = train.labels[drawn]
    pq.write_table(pa.table({"row_id": train.row_ids[drawn], "label": labels}), draft.path / "rows.parquet")
    progress.log(f"warm-up rows: {len(drawn)} of {len(train)} train rows")
    return {
        "rows": len(drawn),
        "rows_asked": size,
        "share": len(drawn) / len(train),
        "rows_per_class": dict(
            zip(raw.label_names, np.bincount(labels, minlength=len(raw.label_names)).tolist(), strict=True)
        ),
        "reason": None if needed else "no representation is a trained model",
    }


def _check_plan(spec: SpecView, raw: Examples, warmup: np.ndarray, *, needed: bool) -> None:
    """Refuse what would fail later: a warm-up or a pool of one class, sizes that the pool cannot meet, large groups."""
    drawn = raw.select(warmup)
    if needed and len(np.unique(drawn.labels)) < 2:
        raise DataError(
            f"warmup.size {spec.warmup.size} gives {len(drawn)} rows of {len(np.unique(drawn.labels))} classes, since "
            "groups are taken whole; raise it, or group by a column of smaller groups"
        )
    rest = without_rows(raw, warmup)
    splits = rest.table["split"].to_numpy(zero_copy_only=False)
    pool = in_pool(spec.filter, splits)
    if len(np.unique(rest.labels[pool])) < 2:
        raise DataError(f"after {len(drawn)} warm-up rows the {pool.sum()} rows left have one class; lower warmup.size")
    settings = filter_settings(spec.filter, int(pool.sum()), len(drawn))
    if rest.groups is not None:
        smallest = np.unique(rest.groups[pool], return_counts=True)[1].min()
        if smallest > settings.train_size:
            raise DataError(
                f"the smallest group has {smallest} rows, more than filter.train_size {settings.train_size}; "
                "raise train_size or group by another column"
            )
