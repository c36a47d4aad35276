"""Features of all rows by an encoder trained on all train rows, in which distances are measured; a part of evidence."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from aflite_assets.data.examples import Examples
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import Draft, PublishedResult, ResultKey
from aflite_assets.results.files import link_or_copy
from aflite_assets.specs.dataset import SpecView
from aflite_assets.stages.shared.content_hashes import checkpoint_content
from aflite_assets.stages.shared.progress import Progress
from aflite_assets.tracking import TrackedRun

NAME = "distance_encoder"


def distance_features(
    spec: SpecView,
    raw: Examples,
    draft: Draft,
    *,
    raw_version: str,
    tracker: TrackedRun,
    device: DeviceSettings,
    progress: Progress,
) -> PublishedResult | None:
    """Every row's features, warm-up rows too, in the form of a part of `embeddings`; None where no encoder is named.

    The source measures in a model trained on all of the dataset (ICLR 2020 submission of AFLite, section 3.2). What was
    trained for the same rows is found again, and a run that was killed goes on.
    """
    settings = spec.distance_encoder
    if settings is None:
        return None
    fields = {
        "settings": settings.model_dump(mode="json"), "checkpoint": checkpoint_content(settings), "seed": spec.seed,
    }  # fmt: skip
    key = ResultKey(draft.key.code_version, fields, {"raw_dataset": raw_version})
    write = partial(_write, settings, raw, seed=spec.seed, tracker=tracker, device=device, progress=progress)
    return draft.part(NAME, key, write).result


def _write(
    settings: Any,
    raw: Examples,
    part: Draft,
    *,
    seed: int,
    tracker: TrackedRun,
    device: DeviceSettings,
    progress: Progress,
) -> Mapping[str, Any]:
    from aflite_assets.models.encoders import load_encoder  # takes seconds, which most datasets need not wait for
    from aflite_assets.stages.embedding.embeddings import encode_all

    folder: Path | None = None
    metrics: Mapping[str, float] = {}
    if settings.kind != "identity":
        folder = part.scratch / "model"
        metrics = _trained(settings, raw, folder, seed=seed, tracker=tracker, device=device, progress=progress)
    width = raw.features.shape[1] if raw.modality == "features" else None
    encoder = load_encoder(settings, folder, raw.label_names, width=width, device=device, log=progress.log)
    features, _ = encode_all(NAME, encoder, raw, part.scratch, progress)
    link_or_copy(part.scratch / "features.npy", part.path / "features.npy")
    table = raw.table.select(["row_id", "split", "label"]).replace_schema_metadata(None)
    pq.write_table(table, part.path / "rows.parquet")
    return {"encoded_rows": len(raw), "width": features.shape[1], **metrics}


def _trained(
    settings: Any,
    raw: Examples,
    folder: Path,
    *,
    seed: int,
    tracker: TrackedRun,
    device: DeviceSettings,
    progress: Progress,
) -> Mapping[str, float]:
    """Train into `folder`, which is there only when the training has ended."""
    from aflite_assets.models.encoders import train_encoder

    if folder.is_dir():
        return {}
    train, aside = raw.in_split("train"), folder.with_name("training")
    progress.log(f"training {NAME} on all {len(train)} train rows")
    with tracker.child(NAME) as run:
        run.log_parameters(settings.model_dump(mode="json"))
        metrics = train_encoder(
            settings, train, aside / "model", seed=seed, device=device, log=progress.log, scratch=aside / "scratch"
        )
        run.log_metrics(metrics)
    (aside / "model").rename(folder)
    return dict(metrics)
