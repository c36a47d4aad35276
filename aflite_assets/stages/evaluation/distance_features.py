"""Features of all rows for measuring distances, from an encoder trained on all train rows; used by `bias_evidence`."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from aflite_assets.data.examples import Examples
from aflite_assets.results import Draft, PublishedResult, ResultKey
from aflite_assets.results.files import link_or_copy
from aflite_assets.specs.models.kinds import EncoderSpec, NeuralModelSpec
from aflite_assets.specs.models.settings import UntrainedSpec
from aflite_assets.stages.embedding.opened_encoders import open_encoder
from aflite_assets.stages.shared.content_hashes import checkpoint_content
from aflite_assets.stages.shared.nested_samples import train_logged
from aflite_assets.stages.stage import StageContext

NAME = "distance_encoder"


def distance_features(
    settings: EncoderSpec,
    raw: Examples,
    draft: Draft,
    *,
    seed: int,
    raw_version: str,
    context: StageContext,
) -> PublishedResult:
    """Return the features of every row, including warm-up rows, in the same form as a part of `embeddings`.

    The encoder is trained on all train rows, as in section 3.2 of the ICLR 2020 submission of AFLite. An encoder that
    was trained earlier on the same rows is reused, and a run that was killed is resumed.
    """
    fields = {
        "settings": settings.model_dump(mode="json"),
        "checkpoint": checkpoint_content(settings),
        "seed": seed,
    }
    key = ResultKey(draft.key.code_version, fields, {"raw_dataset": raw_version})
    write = partial(_write, settings, raw, seed=seed, context=context)
    return draft.part(NAME, key, write).result


def _write(settings: EncoderSpec, raw: Examples, part: Draft, *, seed: int, context: StageContext) -> dict[str, object]:
    from aflite_assets.stages.embedding.embeddings import encode_all

    folder: Path | None = None
    metrics: Mapping[str, float] = {}
    if not isinstance(settings, UntrainedSpec):
        folder = part.scratch / "model"
        metrics = _trained(settings, raw, folder, seed=seed, context=context)
    encoder = open_encoder(settings, folder, raw, device=context.device, log=context.progress.log)
    features, _ = encode_all(NAME, encoder, raw, part.scratch, context.progress)
    link_or_copy(part.scratch / "features.npy", part.path / "features.npy")
    table = raw.table.select(["row_id", "split", "label"]).replace_schema_metadata(None)
    pq.write_table(table, part.path / "rows.parquet")
    return {"encoded_rows": len(raw), "width": features.shape[1], **metrics}


def _trained(
    settings: NeuralModelSpec, raw: Examples, folder: Path, *, seed: int, context: StageContext
) -> Mapping[str, float]:
    """Train an encoder into `folder`, which is created only after the training has finished."""
    if folder.is_dir():
        return {}
    train, aside = raw.in_split("train"), folder.with_name("training")
    context.progress.log(f"training {NAME} on all {len(train)} train rows")
    metrics = train_logged(NAME, settings, train, aside / "model", aside / "scratch", seed=seed, context=context)
    (aside / "model").rename(folder)
    return metrics
