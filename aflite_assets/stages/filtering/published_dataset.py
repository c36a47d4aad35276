"""The stage `published_dataset`: writes a folder with a dataset card that `datasets.load_dataset` opens."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.records import FilteredSet
from aflite_assets.data.examples import Examples
from aflite_assets.data.images import read_image
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.data.rows import rows_at
from aflite_assets.errors import DataError
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.filtering.own_layout import OwnRows, write_own
from aflite_assets.stages.filtering.published_columns import FATE_COLUMNS, PublishedColumns, published_table
from aflite_assets.stages.shared.published import (
    ControlSet,
    RowSelection,
    quarantined_rows,
    read_control_sets,
    read_selection,
)
from aflite_assets.stages.shared.report_inputs import filtered_set, trial_note
from aflite_assets.stages.shared.row_weights import row_weights, weight_summary
from aflite_assets.stages.stage import Stage, StageContext, StageInputs, StageSettings, of_choices

_BLOCK_ROWS = 1_000


@dataclass(frozen=True)
class PublishedRows:
    """All rows of the dataset in their published form (`table`), in the order of `raw`.

    `names`: the published column names. `selection`: the train rows that studies select; None if all train rows were
    filtered.
    """

    raw: Examples
    table: pa.Table
    names: PublishedColumns
    selection: RowSelection | None = None

    def at(self, row_ids: np.ndarray) -> dict[str, pa.Table]:
        """Return the rows whose ids are in `row_ids`, by split."""
        return self.by_split(self.table, np.isin(self.raw.row_ids, row_ids))

    def by_split(self, table: pa.Table, chosen: np.ndarray) -> dict[str, pa.Table]:
        """Return the rows of `table` for which `chosen` (bool) is True, by split.

        `table` has the same rows and order as `self.table`. Splits without chosen rows are left out.
        """
        splits = np.array(self.raw.table["split"].to_pylist(), object)
        return {
            split: rows_at(table, np.flatnonzero(chosen & (splits == split)))
            for split in dict.fromkeys(splits[chosen].tolist())
        }


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Write the splits of every configuration as Parquet with the types of `datasets`, and the dataset card."""
    from aflite_assets.analysis.filtering import still_predicted
    from aflite_assets.reports.page.markdown import dataset_card

    raw_result = inputs.raw_dataset
    raw, selection = load_examples(raw_result.path), read_selection(inputs.selection)
    names = PublishedColumns.of(raw, settings.columns)
    content = PublishedRows(raw, published_table(raw, names, raw_result.summary["source_rows"]), names, selection)
    filtered = [filtered_set(name, part) for name, part in inputs.filtered_sets.parts.items()]
    controls = read_control_sets(inputs.control_sets)
    files: dict[str, dict[str, str]] = {}
    rows: dict[str, dict[str, int]] = {}
    weights, hard = {}, {}
    own_rows, own_notes = _own_rows(raw_result, raw, context)
    for number, kept in enumerate(filtered):
        suffix = "" if number == 0 else f"_{kept.representation}"
        random = _first_random(controls, kept.representation)
        quarantined = quarantined_rows(inputs.filtered_sets.part(kept.representation))
        configurations = _configurations(content, kept, random, quarantined)
        own_layout = _own_layout(own_rows, content, kept, quarantined)
        for form, found in ((content, configurations), (None, own_layout)):
            for plain, tables in found:
                name = f"{plain}{suffix}"
                files[name] = _write(name, tables, form, draft.path)
                rows[name] = {split: len(table) for split, table in tables.items()}
        known = row_weights(kept.rows["label_probability"], kept.rows["label"].to_numpy())
        weights[kept.representation] = weight_summary(known)
        hard[kept.representation] = still_predicted(kept).all_under_threshold
        if hard[kept.representation]:
            files[f"hard{suffix}"], rows[f"hard{suffix}"] = files[f"filtered{suffix}"], rows[f"filtered{suffix}"]
    card = dataset_card(
        settings.title or draft.partition,
        settings.description,
        configs=files,
        rows=rows,
        filtered=filtered,
        label_names=raw.label_names,
        source_columns=names.source_names,
        own_columns=names.own,
        ids_given=names.ids_given,
        notes=(*_notes(raw_result, selection), *own_notes),
        provenance={
            f"data version of {name}": result.data_version
            for name, result in inputs.results.items()
            if selection is not None or name not in inputs.selection
        },
    )
    (draft.path / "README.md").write_text(card, encoding="utf-8")
    context.progress.log(f"published dataset: {rows}")
    fate = {names.own[name]: name for name in FATE_COLUMNS}
    return {"rows": rows, "weights": weights, "columns": names.raw_columns, "fate_columns": fate}


def _notes(raw: PublishedResult, selection: RowSelection | None) -> Iterator[str]:
    """Yield the notes of the dataset card about a row limit, standardised features, and a selection of train rows."""
    yield from trial_note(raw)
    if "standardised" in raw.summary:
        yield "Features are standardised: mean 0 and standard deviation 1 over the train rows of the source."
    if selection is not None:
        yield (
            f"A random sample of {len(selection.rows):,} train rows was filtered. Other train rows have the status "
            f"'not sampled', including {len(selection.held_back):,} rows that were used to choose its size."
        )


def _own_rows(
    raw_result: PublishedResult, raw: Examples, context: StageContext
) -> tuple[OwnRows | None, tuple[str, ...]]:
    """Return the source's rows of questions or preferences, and a note for the dataset card if reading them failed."""
    try:
        return OwnRows.of(raw_result, raw), ()
    except DataError as error:
        context.progress.log(f"published dataset: the rows in the source's own layout are left out: {error}")
        return None, ("There are no rows in the layout of the source, because its files changed or are missing.",)


def _own_layout(
    own_rows: OwnRows | None, content: PublishedRows, filtered: FilteredSet, quarantined: np.ndarray
) -> Iterator[tuple[str, Mapping[str, pa.Table]]]:
    if own_rows is None:
        return
    tagged = _tagged(content, filtered, quarantined)
    fate = {name: tagged[content.names.own[name]].combine_chunks() for name in FATE_COLUMNS}
    for name, tables in own_rows.configurations(content.raw, fate, filtered).items():
        if tables:
            yield name, tables


def _write(name: str, tables: Mapping[str, pa.Table], content: PublishedRows | None, folder: Path) -> dict[str, str]:
    """Write one file per split of a configuration, and return the files' paths relative to the folder.

    `content`: the dataset's rows in published form, or None if the tables have the source's own layout.
    """
    paths = {}
    for split, table in tables.items():
        paths[split] = f"data/{name}/{split}.parquet"
        (folder / paths[split]).parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            write_own(table, folder / paths[split])
        else:
            _to_parquet(table, content, folder / paths[split])
    return paths


def _first_random(controls: Sequence[ControlSet], representation: str) -> np.ndarray:
    """Return the row ids, over all splits, of the random control with the lowest seed."""
    drawn = [control for control in controls if control.name == "random" and control.representation == representation]
    lowest = min(control.seed for control in drawn if control.seed is not None)
    return np.concatenate([control.row_ids for control in drawn if control.seed == lowest])


def _configurations(
    content: PublishedRows, filtered: FilteredSet, random: np.ndarray, quarantined: np.ndarray
) -> Iterator[tuple[str, Mapping[str, pa.Table]]]:
    """Yield the name of each configuration and its tables by split."""
    rows = filtered.rows
    kept = rows.filter(rows["kept"])["row_id"].to_numpy()
    removed = rows.filter(pc.invert(rows["kept"]))["row_id"].to_numpy()
    for name, row_ids in (("filtered", kept), ("easy", removed), ("random", random), ("quarantined", quarantined)):
        tables = content.at(row_ids)
        if tables:
            yield name, tables
    every = np.ones(len(content.raw), dtype=bool)
    yield "full_tagged", content.by_split(_tagged(content, filtered, quarantined), every)


def _tagged(content: PublishedRows, filtered: FilteredSet, quarantined: np.ndarray) -> pa.Table:
    """Return all rows with the columns that the filter adds; rows that did not enter the filter have no score.

    Rows that did not enter the filter are warm-up rows, quarantined rows, train rows that no study selected, and rows
    of splits that were not filtered.
    """
    raw, own, rows = content.raw, content.names.own, filtered.rows
    position = {row_id: number for number, row_id in enumerate(rows["row_id"].to_pylist())}
    order = pa.array([position.get(row_id) for row_id in raw.row_ids.tolist()], pa.int64())
    joined = rows.take(order)
    splits = dict.fromkeys(raw.table["split"].to_pylist())
    left_alone = [split for split in splits if split not in ("train", *filtered.filtered_splits)]
    status = pc.fill_null(pc.if_else(joined["kept"], "kept", "removed"), "warm-up")
    if content.selection is not None:
        outside = pa.array(~np.isin(raw.row_ids, content.selection.rows))
        status = pc.if_else(pc.and_(pc.equal(raw.table["split"], "train"), outside), "not sampled", status)
    status = pc.if_else(pa.array(np.isin(raw.row_ids, quarantined)), "quarantined", status)
    alone = pc.is_in(raw.table["split"], pa.array(left_alone, pa.string()))
    fate = {
        "status": pc.if_else(alone, "not filtered", status),
        "predictability": joined["predictability"],
        "removed_in_iteration": joined["removed_in_iteration"],
        "weight": row_weights(joined["label_probability"], raw.labels),
    }
    table = content.table
    for name in FATE_COLUMNS:
        table = table.append_column(own[name], fate[name])
    return table


def _to_parquet(table: pa.Table, content: PublishedRows, path: Path) -> None:
    """Write a table with the schema of `datasets`, so that the file contains the label names and the image type.

    Rows are written in blocks, because the images of a large dataset do not fit into memory.
    """
    import datasets

    features = datasets.Features.from_arrow_schema(table.schema.remove_metadata())
    features[content.names.label] = datasets.ClassLabel(names=list(content.raw.label_names))
    image = content.names.inputs["image"][0] if content.raw.modality == "image" else None
    if image is not None:
        features[image] = datasets.Image()
    schema = features.arrow_schema
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, table.num_rows, _BLOCK_ROWS):
            block = table.slice(start, _BLOCK_ROWS)
            writer.write_table((block if image is None else _with_image_bytes(block, image)).cast(schema))


def _with_image_bytes(table: pa.Table, name: str) -> pa.Table:
    """Store images as bytes, so that the folder does not depend on other files."""
    values = [{"bytes": read_image(image), "path": None} for image in table[name].to_pylist()]
    column = pa.array(values, pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
    return table.set_column(table.column_names.index(name), name, column)


_SETTINGS = StageSettings("title description columns", of_choices(own_layout="1"))
PUBLISHED_DATASET = Stage("published_dataset", "4", _SETTINGS, "raw_dataset selection filtered_sets control_sets", run)
