"""The stage of `embeddings`: features of every row not spent on warm-up, per representation; resumes at the batch."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.encoders import Encoder, load_encoder
from aflite_assets.results import Draft, PublishedResult, ResultKey
from aflite_assets.results.files import link_or_copy, reserve, write_json
from aflite_assets.specs.dataset import SpecView
from aflite_assets.stages.shared.progress import Progress
from aflite_assets.stages.shared.published import read_warmup_rows, without_rows
from aflite_assets.stages.stage import Inputs
from aflite_assets.tracking import TrackedRun

BATCH_ROWS = 256


def run(
    spec: SpecView, inputs: Inputs, draft: Draft, *, tracker: TrackedRun, device: DeviceSettings, progress: Progress
) -> dict[str, Any]:
    """Extract every representation's features of the rows left after warm-up, all splits."""
    raw = load_examples(inputs["raw_dataset"].path)
    rows = without_rows(raw, read_warmup_rows(inputs["warmup_split"]))
    models = inputs["warmup_models"]
    summary = {}
    for name, settings in spec.representations.items():
        model = None if settings.kind == "identity" else models.part(name)
        versions = {
            "raw_dataset": inputs["raw_dataset"].data_version,
            "warmup_split": inputs["warmup_split"].data_version,
        }
        versions |= {} if model is None else {"warmup_model": model.data_version}
        part = draft.part(
            name,
            ResultKey(draft.key.code_version, {"settings": settings.model_dump(mode="json")}, versions),
            partial(_extract, name, settings, model, rows, device=device, progress=progress),
        )
        summary[name] = part.result.summary
    return summary


def _extract(
    name: str,
    settings: Any,
    model: PublishedResult | None,
    rows: Examples,
    part: Draft,
    *,
    device: DeviceSettings,
    progress: Progress,
) -> Mapping[str, Any]:
    width = rows.features.shape[1] if rows.modality == "features" else None
    folder = None if model is None else model.path
    encoder = load_encoder(settings, folder, rows.label_names, width=width, device=device, log=progress.log)
    features, probabilities = encode_all(name, encoder, rows, part.scratch, progress)
    link_or_copy(part.scratch / "features.npy", part.path / "features.npy")
    columns = [column for column in ("row_id", "split", "label", "group") if column in rows.table.column_names]
    own = pa.array(probabilities, mask=np.isnan(probabilities))
    table = rows.table.select(columns).append_column("warmup_label_probability", own)
    pq.write_table(table.replace_schema_metadata(None), part.path / "rows.parquet")
    return {"rows": len(rows), "width": features.shape[1], "megabytes": round(features.nbytes / 1e6, 3)}


def encode_all(
    name: str, encoder: Encoder, rows: Examples, scratch: Path, progress: Progress
) -> tuple[np.ndarray, np.ndarray]:
    """Features and the encoder's probability of each row's own label, NaN without an output layer; files in `scratch`.

    Rows are encoded batch by batch into files of known shape; a mark says how many are safely written.
    """
    mark = scratch / "progress.json"
    done = json.loads(mark.read_text())["rows"] if mark.is_file() else 0
    mode = "r+" if done else "w+"
    features = np.lib.format.open_memmap(
        scratch / "features.npy", mode=mode, dtype=np.float32, shape=(len(rows), encoder.width)
    )
    own = np.lib.format.open_memmap(scratch / "own.npy", mode=mode, dtype=np.float32, shape=(len(rows),))
    for mapped in ("features.npy", "own.npy"):
        reserve(scratch / mapped)
    if done:
        progress.log(f"embeddings of {name} resume at row {done} of {len(rows)}")
    starts = range(done, len(rows), BATCH_ROWS)
    batches = (Examples(rows.table.slice(start, BATCH_ROWS), rows.label_names) for start in starts)
    for start, encoded in zip(starts, encoder.encode_each(batches), strict=True):
        stop = start + len(encoded.features)
        features[start:stop] = encoded.features
        own[start:stop] = (
            np.nan
            if encoded.probabilities is None
            else encoded.probabilities[np.arange(stop - start), rows.labels[start:stop]]
        )
        features.flush()
        own.flush()
        write_json(mark, {"rows": stop})
        if stop == len(rows) or (start // BATCH_ROWS) % 20 == 19:
            progress.log(f"embeddings of {name}: {stop} of {len(rows)} rows")
    return features, np.array(own)
