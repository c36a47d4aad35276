"""The stage `embeddings`: computes features of every row that was not used for warm-up, per representation.

A stopped run resumes at its last batch.
"""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.array_files import ArrayFileError, open_array
from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import less_other_answers
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import StoreError
from aflite_assets.results import Draft, PublishedResult, ResultKey
from aflite_assets.results.files import link_or_copy, reserve, write_json
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import EncoderSpec
from aflite_assets.specs.models.settings import UntrainedSpec
from aflite_assets.stages.embedding.opened_encoders import open_encoder
from aflite_assets.stages.embedding.spread_encoding import BATCH_ROWS, EncoderJob, encode_spread, own_probability
from aflite_assets.stages.shared.published import read_selection, read_warmup_rows, selected_rows, without_rows
from aflite_assets.stages.stage import (
    Progress,
    Stage,
    StageContext,
    StageInputs,
    StageSettings,
)

if TYPE_CHECKING:
    from aflite_assets.models.encoders import Encoder


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Compute each representation's features for the rows of all splits, except for warm-up rows.

    If the train rows were sampled, only the sampled train rows are encoded.
    """
    raw, selection = load_examples(inputs.raw_dataset.path), read_selection(inputs.selection)
    rows = without_rows(selected_rows(raw, selection), read_warmup_rows(inputs.warmup_split))
    models = inputs.warmup_models
    summary: dict[str, object] = {}
    for name, encoder in settings.representations.items():
        model = None if isinstance(encoder, UntrainedSpec) else models.part(name)
        read = {name: one for name, one in inputs.results.items() if name in ("raw_dataset", "warmup_split")}
        read |= {} if model is None else {"warmup_model": model}
        chosen_by = {} if selection is None else inputs.selection
        read |= {name: one for name, one in chosen_by.items() if not one.summary.get("nothing_asked")}
        fields: dict[str, object] = {"settings": encoder.model_dump(mode="json")}
        fields |= {} if settings.answers == "alone" else {"answers": settings.answers}
        key = ResultKey(draft.key.code_version, fields, {name: one.data_version for name, one in read.items()})
        compared = settings.answers == "compared"
        extract = partial(_extract, name, encoder, model, rows, raw=inputs.raw_dataset, context=context)
        part = draft.part(name, key, partial(extract, compared=compared))
        summary[name] = part.result.summary
    return summary


def _extract(
    name: str,
    settings: EncoderSpec,
    model: PublishedResult | None,
    rows: Examples,
    part: Draft,
    *,
    raw: PublishedResult,
    context: StageContext,
    compared: bool,
) -> dict[str, object]:
    folder = None if model is None else model.path
    if context.cluster.spreads and model is not None and not isinstance(settings, UntrainedSpec):
        job = EncoderJob(settings, model.path, raw, context.device)
        features, probabilities = encode_spread(name, job, rows, part.scratch, context)
    else:
        encoder = open_encoder(settings, folder, rows, device=context.device, log=context.progress.log)
        features, probabilities = encode_all(name, encoder, rows, part.scratch, context.progress)
    questions = rows.questions
    if compared and questions is not None:
        np.save(part.path / "features.npy", less_other_answers(features, questions), allow_pickle=False)
    else:
        link_or_copy(part.scratch / "features.npy", part.path / "features.npy")
    columns = [column for column in ("row_id", "split", "label", "group") if column in rows.table.column_names]
    own = pa.array(probabilities, mask=np.isnan(probabilities))
    table = rows.table.select(columns).append_column("warmup_label_probability", own)
    pq.write_table(table.replace_schema_metadata(None), part.path / "rows.parquet")
    return {"rows": len(rows), "width": features.shape[1], "megabytes": round(features.nbytes / 1e6, 3)}


def encode_all(
    name: str, encoder: "Encoder", rows: Examples, scratch: Path, progress: Progress
) -> tuple[np.ndarray, np.ndarray]:
    """Return the features (float32) and the encoder's probability of each row's own label (float32).

    Probabilities are NaN if the encoder has no output layer. Rows are encoded in batches into memory-mapped files in
    `scratch`. A progress file records how many rows are safely written.
    """
    mark = scratch / "progress.json"
    done = json.loads(mark.read_text())["rows"] if mark.is_file() else 0
    features = _mapped(scratch / "features.npy", (len(rows), encoder.width), begun=done > 0)
    own = _mapped(scratch / "own.npy", (len(rows),), begun=done > 0)
    for mapped in ("features.npy", "own.npy"):
        reserve(scratch / mapped)
    if done:
        progress.log(f"embeddings of {name} resume at row {done} of {len(rows)}")
    starts = range(done, len(rows), BATCH_ROWS)
    batches = (Examples(rows.table.slice(start, BATCH_ROWS), rows.label_names) for start in starts)
    for start, encoded in zip(starts, encoder.encode_each(batches), strict=True):
        stop = start + len(encoded.features)
        features[start:stop] = encoded.features
        own[start:stop] = own_probability(encoded, rows.labels[start:stop])
        features.flush()
        own.flush()
        write_json(mark, {"rows": stop})
        if stop == len(rows) or (start // BATCH_ROWS) % 20 == 19:
            progress.log(f"embeddings of {name}: {stop} of {len(rows)} rows")
    return features, np.array(own)


def _mapped(path: Path, shape: tuple[int, ...], *, begun: bool) -> np.memmap:
    if not begun:
        return np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    try:
        return open_array(path, mode="r+", shape=shape)
    except ArrayFileError as error:
        raise StoreError(
            f"{path} does not contain encoded rows ({error}); delete the folder {path.parent} and materialise again"
        ) from error


_SETTINGS = StageSettings("representations answers")
EMBEDDINGS = Stage("embeddings", "3", _SETTINGS, "raw_dataset selection warmup_split warmup_models", run)
