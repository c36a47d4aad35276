"""What stored predictions and training dynamics say of single rows: PVI of test rows, data maps of train rows."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.data_map import DataMap
from aflite_assets.analysis.inputs.records import EvidenceTable, FilteredSet, TestSet
from aflite_assets.analysis.inputs.row_information import RowInformation
from aflite_assets.data.examples import Examples
from aflite_assets.results import PublishedResult

PVI_FILE = "pvi.parquet"
"""PVI of the rows of every natural test set; where an evaluator gives probabilities."""

DATA_MAPS = "data_maps"
"""The folder of data maps, a file per representation and evaluator; where an evaluator records its training."""

_MOST_ROWS = 50
"""Of a table by class, which is left out beyond that; a report shows as many."""


def row_information(
    models: PublishedResult, full: Examples, test_sets: tuple[TestSet, ...], *, left_out: Collection[str]
) -> tuple[RowInformation, ...]:
    """PVI of the natural test sets' rows under every evaluator that gives probabilities and is not among `left_out`.

    `full`: the train rows of the train set full, whose label shares are the model without input. Probabilities are read
    for one cell and test set at a time.
    """
    from aflite_assets.diagnostics.evidence.usable_information import pointwise_information

    counts = np.bincount(full.labels, minlength=len(full.label_names))
    shares = counts / max(counts.sum(), 1)
    found = []
    for evaluator, parts in _full_parts(models).items():
        if evaluator in left_out:
            continue
        for test in (one for one in test_sets if not one.challenge):
            probabilities = [known for part in parts if (known := _label_probability(part, test)) is not None]
            if probabilities:
                values = np.mean([pointwise_information(one, test.labels, shares) for one in probabilities], axis=0)
                found.append(
                    RowInformation(evaluator, test.name, test.row_ids, test.labels, values, len(probabilities))
                )
    return tuple(found)


def information_tables(
    found: tuple[RowInformation, ...], test_sets: tuple[TestSet, ...], filtered: tuple[FilteredSet, ...]
) -> Iterator[EvidenceTable]:
    """Mean PVI by class of kept and of removed test rows, per representation whose filter test rows took part in."""
    from aflite_assets.diagnostics.evidence.usable_information import mean_information

    by_name = {one.name: one for one in test_sets}
    for one in filtered:
        name = one.representation
        values = {
            (each.evaluator, each.test_set): (each.values, each.labels, by_name[each.test_set].kept[name])
            for each in found
            if name in by_name[each.test_set].kept
        }
        if values:
            label_names = by_name[next(iter(values))[1]].label_names  # natural sets have the dataset's
            table = mean_information(values, label_names)
            yield EvidenceTable(
                f"Usable information of kept and removed test rows ({name})",
                "Mean pointwise V-information (PVI) in bits, under evaluators trained on full. It says how much more "
                "probable than its share among the train rows a model makes a row's label once it sees the input. At 0 "
                "the input told it nothing, below 0 it misled. Removed rows have more where the evaluator finds easy "
                "what the filter found easy. Evaluators are not on one scale of ability: overconfident ones pay for "
                "their mistakes. Lines without a class are over all classes.",
                table if table.num_rows <= _MOST_ROWS else table.filter(pc.is_null(table["label_name"])),
            )


def data_maps(models: PublishedResult, raw: Examples, filtered: tuple[FilteredSet, ...]) -> tuple[DataMap, ...]:
    """The data map of every evaluator that recorded its training on full, beside each representation's kept rows.

    Where none did, the map that the dataset's own attributes have (`given_map`).
    """
    from aflite_assets.diagnostics.evidence.data_map import data_map

    maps: list[DataMap] = []
    for evaluator, parts in _full_parts(models).items():
        dynamics = [pq.read_table(path) for part in parts if (path := part.path / "dynamics.parquet").is_file()]
        if not dynamics:
            continue
        table = data_map(dynamics)
        epochs = len(np.unique(dynamics[0]["epoch"].to_numpy()))
        maps += [
            DataMap(evaluator, one.representation, len(dynamics), epochs, _beside_kept(table, raw, one))
            for one in filtered
        ]
    given = None if maps else given_map(raw)
    if given is not None:
        maps = [DataMap(GIVEN, one.representation, 0, 0, _beside_kept(given, raw, one), given=True) for one in filtered]
    return tuple(maps)


GIVEN = "attributes"
"""Stands for the evaluator in the names of maps that the dataset's attributes have."""


def given_map(raw: Examples) -> pa.Table | None:
    """A data map of others, from the attributes confidence, variability and correctness of the train rows.

    Correctness may count epochs, as in the files of Swayamdipta et al. 2020; it is divided by its largest value then.
    Rows that lack one of the three are left out. None where an attribute is missing, is no number, or is out of the
    range of a data map: confidence in [0, 1], variability in [0, 0.5], correctness from 0.

    Returns:
        Columns row_id (ascending), confidence, variability and correctness, all but the first float64.
    """
    train = raw.in_split("train").table
    if any(f"attribute.{name}" not in train.column_names for name in _COORDINATES):
        return None
    try:
        columns = [pc.cast(train[f"attribute.{name}"], pa.float64()) for name in _COORDINATES]
    except pa.ArrowInvalid:
        return None
    table = pa.table([train["row_id"], *columns], ["row_id", *_COORDINATES]).drop_null().sort_by("row_id")
    confidence, variability, correctness = (table[name].to_numpy() for name in _COORDINATES)
    inside = (confidence >= 0) & (confidence <= 1) & (variability >= 0) & (variability <= 0.5) & (correctness >= 0)
    if not len(inside) or not inside.all() or not np.isfinite(correctness).all():
        return None
    share = correctness / max(correctness.max(), 1.0)
    return table.set_column(3, "correctness", pa.array(share))


_COORDINATES = ("confidence", "variability", "correctness")


def _beside_kept(table: pa.Table, raw: Examples, filtered: FilteredSet) -> pa.Table:
    row_ids = table["row_id"].to_numpy()
    return pa.table(
        {
            "guid": raw.table["source_id"].take(pa.array(_places(raw.row_ids, row_ids))),
            "index": np.arange(len(row_ids)),
            **{name: table[name] for name in (*_COORDINATES, "row_id")},
            "kept": _kept(filtered.rows, row_ids),
        }
    )


def write_row_statistics(found: tuple[RowInformation, ...], maps: tuple[DataMap, ...], folder: Path) -> None:
    """Write `PVI_FILE` and a file per data map, of what there is."""
    if found:
        pq.write_table(pa.concat_tables([one.table for one in found]), folder / PVI_FILE)
    for one in maps:
        (folder / DATA_MAPS).mkdir(exist_ok=True)
        pq.write_table(one.table, folder / DATA_MAPS / f"{one.name}.parquet")


def _full_parts(models: PublishedResult) -> Mapping[str, list[PublishedResult]]:
    """The finished cells of the train set full, by evaluator, a part per seed."""
    parts: dict[str, list[PublishedResult]] = {}
    for row in pq.read_table(models.file("cells.parquet")).to_pylist():
        if row["train_set"] == "full" and row["status"] == "done":
            parts.setdefault(row["evaluator"], []).append(models.part(row["name"]))
    return parts


def _label_probability(part: PublishedResult, test: TestSet) -> np.ndarray | None:
    """A cell's probability of each row's own label, in the test set's order; None where it gives none."""
    table = pq.read_table(
        part.file("predictions.parquet"),
        columns=["row_id", "probabilities"],
        filters=[("test_set", "=", test.name)],
    )
    said = table["probabilities"].combine_chunks()
    if not table.num_rows or said.null_count:
        return None
    matrix = said.flatten().to_numpy().reshape(table.num_rows, -1)
    rows = _places(table["row_id"].to_numpy(), test.row_ids)
    probability: np.ndarray = matrix[rows, test.labels]
    return probability


def _places(row_ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where in `row_ids` each of the wanted ones is; all are there."""
    order = np.argsort(row_ids, kind="stable")
    places: np.ndarray = order[np.searchsorted(row_ids[order], wanted)]
    return places


def _kept(rows: pa.Table, row_ids: np.ndarray) -> pa.Array:
    """Whether each row was kept; null for those that never entered the filter."""
    known = rows["row_id"].to_numpy()
    entered = np.isin(row_ids, known)
    kept = np.isin(row_ids, rows.filter(rows["kept"])["row_id"].to_numpy())
    return pa.array(kept, mask=~entered)
