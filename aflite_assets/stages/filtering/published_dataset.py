"""The stage of `published_dataset`: a folder with a card that `datasets.load_dataset` opens."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import read_image
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.data.rows import rows_at
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.stages.shared.published import ControlSet, read_control_sets
from aflite_assets.stages.shared.report_inputs import filtered_set, trial_note
from aflite_assets.stages.stage import Stage, StageContext, StageInputs, StageSettings

WEIGHT_BOUNDS = (0.25, 4.0)
"""Least and most a row may weigh: a quarter, so that every row still teaches, and four, so that few rule no batch."""

_BLOCK_ROWS = 1_000


@dataclass(frozen=True)
class Configuration:
    """One way to load the folder: `tables` by split; `name` as `load_dataset` takes it."""

    name: str
    tables: Mapping[str, pa.Table]


class PublishedDatasetSettings(StageSettings):
    """What `published_dataset` reads of a dataset's file."""

    title: str
    description: str


@dataclass(frozen=True)
class PublishedDatasetInputs(StageInputs):
    """The results that `published_dataset` reads."""

    raw_dataset: PublishedResult
    filtered_sets: PublishedResult
    control_sets: PublishedResult


def run(
    settings: PublishedDatasetSettings, inputs: PublishedDatasetInputs, draft: Draft, context: StageContext
) -> dict[str, object]:
    """Write every configuration's splits as Parquet with the library's own types, and the card that lists them."""
    raw_result = inputs.raw_dataset
    raw = load_examples(raw_result.path)
    filtered = [filtered_set(name, part) for name, part in inputs.filtered_sets.parts.items()]
    controls = read_control_sets(inputs.control_sets)
    files: dict[str, dict[str, str]] = {}
    rows: dict[str, dict[str, int]] = {}
    weights = {}
    for number, kept in enumerate(filtered):
        suffix = "" if number == 0 else f"_{kept.representation}"
        random = _first_random(controls, kept.representation)
        for configuration in _configurations(raw, kept.rows, random, suffix):
            files[configuration.name] = {}
            rows[configuration.name] = {split: len(table) for split, table in configuration.tables.items()}
            for split, table in configuration.tables.items():
                path = f"data/{configuration.name}/{split}.parquet"
                (draft.path / path).parent.mkdir(parents=True, exist_ok=True)
                _to_parquet(table, raw, draft.path / path)
                files[configuration.name][split] = path
        known = row_weights(kept.rows["label_probability"], kept.rows["label"].to_numpy())
        weights[kept.representation] = weight_summary(known)
        files[f"hard{suffix}"], rows[f"hard{suffix}"] = files[f"filtered{suffix}"], rows[f"filtered{suffix}"]
    from aflite_assets.reports.page.card import dataset_card

    card = dataset_card(
        settings.title or draft.partition,
        settings.description,
        configs=list(files.items()),
        rows=rows,
        filtered=filtered,
        label_names=raw.label_names,
        notes=trial_note(raw_result),
        provenance={f"data version of {name}": result.data_version for name, result in inputs.results.items()},
    )
    (draft.path / "README.md").write_text(card, encoding="utf-8")
    context.progress.log(f"published dataset: {rows}")
    return {"rows": rows, "weights": weights}


def _first_random(controls: list[ControlSet], representation: str) -> np.ndarray:
    """Row ids of the random control with the lowest seed, all splits."""
    drawn = [control for control in controls if control.name == "random" and control.representation == representation]
    lowest = min(control.seed for control in drawn if control.seed is not None)
    return np.concatenate([control.row_ids for control in drawn if control.seed == lowest])


def _configurations(raw: Examples, rows: pa.Table, random: np.ndarray, suffix: str) -> Iterator[Configuration]:
    kept = rows.filter(rows["kept"])["row_id"].to_numpy()
    removed = rows.filter(pc.invert(rows["kept"]))["row_id"].to_numpy()
    for name, row_ids in (("filtered", kept), ("easy", removed), ("random", random)):
        chosen = rows_at(raw.table, np.flatnonzero(np.isin(raw.row_ids, row_ids)))
        if chosen.num_rows:
            yield Configuration(f"{name}{suffix}", _by_split(_content(chosen)))
    yield Configuration(f"full_tagged{suffix}", _by_split(_tagged(raw, rows)))


def _content(table: pa.Table) -> pa.Table:
    """The columns that a user of the dataset reads."""
    return table.drop_columns([name for name in ("row_id", "group") if name in table.column_names])


def _by_split(table: pa.Table) -> dict[str, pa.Table]:
    splits = np.array(table["split"].to_pylist(), object)
    return {
        split: rows_at(table, np.flatnonzero(splits == split)).drop_columns(["split"])
        for split in dict.fromkeys(splits)
    }


def _tagged(raw: Examples, rows: pa.Table) -> pa.Table:
    """All rows with their fate; rows that never entered the filter (warm-up, or splits left alone) have no score."""
    position = {row_id: number for number, row_id in enumerate(rows["row_id"].to_pylist())}
    order = pa.array([position.get(row_id) for row_id in raw.row_ids.tolist()], pa.int64())
    joined = rows.take(order)
    table = _content(raw.table)
    status = pc.if_else(joined["kept"], "kept", "removed")
    for name, values in (
        ("status", pc.fill_null(status, "warm-up")),
        ("predictability", joined["predictability"]),
        ("removed_in_iteration", joined["removed_in_iteration"]),
        ("weight", row_weights(joined["label_probability"], raw.labels)),
    ):
        table = table.append_column(name, values)
    return table


def row_weights(label_probability: pa.ChunkedArray, labels: np.ndarray) -> pa.Array:
    """Class share / label probability, clipped to `WEIGHT_BOUNDS`; float32, null where there is no probability.

    1 is a row about whose label the features say as much as the class's share does, less one that they give away, more
    one that they mislead about. But for the clipping, and where the probabilities are right and no label impossible,
    weighted rows have a mean of 1, their classes' shares, and labels that do not depend on what the classifiers see.
    This is reweighing (Kamiran and Calders 2012) with the classifiers' probability in place of a share counted per
    group; in statistics a stabilised inverse probability weight, which Cole and Hernan (2008) truncate likewise.

    Args:
        label_probability: per row the first iteration's mean held-out probability of its own label, in [0, 1], or null.
        labels: the classes, rows int64 from 0; shares are taken over the rows that have a probability.
    """
    probability = pc.fill_null(label_probability.cast(pa.float64()), float("nan")).to_numpy()
    known = ~np.isnan(probability)
    shares = np.bincount(labels[known], minlength=int(labels.max(initial=0)) + 1) / max(known.sum(), 1)
    with np.errstate(divide="ignore"):
        weights = np.clip(shares[labels] / probability, *WEIGHT_BOUNDS)
    return pa.array(weights.astype(np.float32), mask=~known)


def weight_summary(weights: pa.Array) -> dict[str, float | None]:
    """The mean weight and the shares of weighted rows at either bound; None of each where no row has a weight."""
    least, most = WEIGHT_BOUNDS
    return {
        "mean": pc.mean(weights).as_py(),
        "share_at_least": pc.mean(pc.less_equal(weights, least)).as_py(),
        "share_at_most": pc.mean(pc.greater_equal(weights, most)).as_py(),
    }


def _to_parquet(table: pa.Table, raw: Examples, path: Path) -> None:
    """Write with the schema of `datasets`, so that label names and the image type travel in the file.

    In blocks, since the images of a large dataset do not fit into memory.
    """
    import datasets

    features = datasets.Features.from_arrow_schema(table.schema.remove_metadata())
    features["label"] = datasets.ClassLabel(names=list(raw.label_names))
    if raw.modality == "image":
        features["image"] = datasets.Image()
    schema = features.arrow_schema
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, table.num_rows, _BLOCK_ROWS):
            block = table.slice(start, _BLOCK_ROWS)
            writer.write_table((_with_image_bytes(block) if raw.modality == "image" else block).cast(schema))


def _with_image_bytes(table: pa.Table) -> pa.Table:
    """Images as bytes, so that the folder stands on its own."""
    values = [{"bytes": read_image(image), "path": None} for image in table["image"].to_pylist()]
    column = pa.array(values, pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
    return table.set_column(table.column_names.index("image"), "image", column)


PUBLISHED_DATASET = Stage("published_dataset", "2", PublishedDatasetSettings, PublishedDatasetInputs, run)
