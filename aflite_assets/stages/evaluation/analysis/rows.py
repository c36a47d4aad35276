"""Facts about single rows for the report, as Arrow columns.

The facts are the filter's outcome, the row's position in the source, pointwise V-information (PVI) and data maps.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.records import DATA_MAP_COLUMNS, DataMap, EvidenceTable, FilteredSet, TestSet
from aflite_assets.analysis.inputs.source_rows import ANSWER_PLACES, SourceRows
from aflite_assets.analysis.rows.table import INFORMATION, ROW_FACTS, lines_of
from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import right_answers, right_class
from aflite_assets.data.raw_table.standardise import Scale
from aflite_assets.results import PublishedResult
from aflite_assets.specs.columns import ColumnsSpec, text_names
from aflite_assets.specs.sources import ChoiceSource
from aflite_assets.stages.shared.published import plausible_label_errors, predicted_instead
from aflite_assets.stages.shared.report_inputs import read_by_representation, score_files
from aflite_assets.stages.shared.source_places import places_in_files, places_of, source_of

GIVEN = "attributes"
"""Name used in place of an evaluator's name for data maps that the dataset's own attributes contain."""

_COORDINATES = ("confidence", "variability", "correctness")
_MOST_ROWS = 50
"""Largest number of classes for which a table by class is made, because a report shows at most this many rows."""


def read_row_facts(
    parts: Mapping[str, PublishedResult], evidence: PublishedResult, raw: Examples
) -> dict[str, pa.Table]:
    """Return a table with the columns `ROW_FACTS` for the rows of each filtered set."""
    nearest, facts = read_by_representation(evidence, "nearest_kept"), {}
    for name, part in parts.items():
        stored = {"instead": predicted_instead(part), "suspects": plausible_label_errors(part, raw)}
        rows = pq.read_table(part.file("rows.parquet"))
        facts[name] = row_facts(rows, score_files(part), nearest=nearest.get(name), **stored)
    return facts


def row_facts(
    rows: pa.Table,
    scores: Iterable[tuple[int, pa.Table]],
    *,
    instead: pa.Table | None = None,
    nearest: pa.Table | None = None,
    suspects: pa.Table | None = None,
) -> pa.Table:
    """Return the columns `ROW_FACTS` from stored tables; columns of missing tables are null.

    Every table in the arguments has a column `row_id`.

    Args:
        rows: the rows that the filter read; the column `removed_in_iteration` is null for kept rows.
        scores: pairs of an iteration number (from 0) and a table of the predictability of the rows that entered the
            iteration.
        instead: the wrong labels predicted for each row, in columns `label_<rank>` and `share_<rank>`; the columns are
            null for ranks without a predicted label.
        nearest: a table with the columns `nearest_kept` and `similarity`.
        suspects: suspected label errors, with the columns `suggested_label` and `suggested_probability`.
    """
    row_ids = rows["row_id"].to_numpy()
    columns = {"row_id": rows["row_id"], "predictability_by_iteration": _by_iteration(rows, dict(scores))}
    if instead is not None:
        columns |= _instead(row_ids, instead)
    if nearest is not None:
        found = lines_of(nearest, row_ids)
        columns |= {"nearest_kept": found["nearest_kept"], "nearest_similarity": found["similarity"]}
    if suspects is not None:
        found = lines_of(suspects, row_ids)
        columns |= {name: found[name] for name in ("suggested_label", "suggested_probability")}
    missing = pa.nulls(len(row_ids))
    return pa.table([columns.get(field.name, missing).cast(field.type) for field in ROW_FACTS], ROW_FACTS)


def _by_iteration(rows: pa.Table, scores: Mapping[int, pa.Table]) -> pa.Array:
    """Return one list per row, with one value for each iteration that the row entered; lists are null if no scores are
    stored.
    """
    if not scores:
        return pa.nulls(rows.num_rows)
    lengths = pc.fill_null(rows["removed_in_iteration"], max(scores)).to_numpy() + 1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = np.full(offsets[-1], np.nan, dtype=np.float32)
    for iteration, table in scores.items():
        found = pc.index_in(table["row_id"], value_set=rows["row_id"])
        places, known = found.drop_null().to_numpy(), table["predictability"].filter(pc.is_valid(found)).to_numpy()
        entered = lengths[places] > iteration
        values[offsets[places[entered]] + iteration] = known[entered]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values, mask=np.isnan(values)))


def _instead(row_ids: np.ndarray, table: pa.Table) -> dict[str, pa.Array]:
    """Return per row a list of its wrong predictions and a list of their shares, or null for rows not in `table`."""
    found = lines_of(table, row_ids).to_pylist()
    ranks = [name.removeprefix("label_") for name in table.column_names if name.startswith("label_")]

    def lists(kind: str) -> list[list[float] | None]:
        given = [[row[f"{kind}_{rank}"] for rank in ranks if row[f"label_{rank}"] is not None] for row in found]
        return [None if row["row_id"] is None else values for row, values in zip(found, given, strict=True)]

    return {"predicted_instead": pa.array(lists("label")), "predicted_instead_share": pa.array(lists("share"))}


def read_source_rows(raw_result: PublishedResult, raw: Examples, columns: ColumnsSpec) -> SourceRows:
    """Return the position of each row of the raw table in the source from which the table was made.

    File and line are null if the source has no files of rows. File and line are also null if a file was changed after
    the raw table was made.
    """
    made_from = raw_result.manifest["made_from"]["fields"]
    source = source_of(raw_result)
    in_files = places_in_files(source, made_from["contents"]["source"])
    places = places_of(raw.row_ids, raw_result.summary["source_rows"], in_files)
    texts = text_names(source, columns)
    named = {name: given for name, given in texts.items() if name in raw.table.column_names}
    if isinstance(source, ChoiceSource):
        # Answers have ids like "17/2".
        ids = [source_id.rpartition("/") for source_id in raw.table["source_id"].to_pylist()]
        questions, numbers = pa.array([one[0] for one in ids]), pa.array([int(one[2]) for one in ids])
        places = pa.table([*places.columns, questions, numbers], schema=ANSWER_PLACES)
    names = columns.features if isinstance(columns.features, tuple) and raw.modality == "features" else None
    scale = Scale.load(raw_result.path)
    mean, deviation = (None, None) if scale is None else (scale.mean, scale.deviation)
    answers_right = right_answers(raw, partly=isinstance(source, ChoiceSource))
    right = None if answers_right is None else right_class(raw.label_names)
    return SourceRows(places, named, names, mean, deviation, right)


def row_information(
    models: PublishedResult, full: Examples, test_sets: tuple[TestSet, ...], *, left_out: Collection[str]
) -> dict[tuple[str, str], pa.Table]:
    """Return the pointwise V-information (PVI) of test rows, by evaluator and natural test set.

    Evaluators without probabilities and evaluators in `left_out` are skipped. The prediction without input is the share
    of each label in `full`, the unfiltered train rows. Probabilities are loaded for one cell and test set at a time.
    The columns are those of `INFORMATION`, with `pvi` float64.
    """
    from aflite_assets.diagnostics.evidence.usable_information import pointwise_information

    counts = np.bincount(full.labels, minlength=len(full.label_names))
    shares = counts / max(counts.sum(), 1)
    found = {}
    for evaluator, parts in _full_parts(models).items():
        for test in test_sets if evaluator not in left_out else ():
            read = () if test.challenge else (class_probability(part, test, test.labels) for part in parts)
            by_seed = [pointwise_information(one, test.labels, shares) for one in read if one is not None]
            if by_seed:
                values = np.mean(by_seed, axis=0)
                names = [pa.array([name] * len(values), pa.string()) for name in (evaluator, test.name)]
                pvi, seeds = pa.array(values, mask=np.isnan(values)), np.full(len(values), len(by_seed), np.int64)
                columns = [*names, test.row_ids, test.labels, pvi, seeds]
                found[evaluator, test.name] = pa.table(columns, names=INFORMATION.names)
    return found


def stored_predictions(part: PublishedResult, test: TestSet, column: str) -> pa.Array | None:
    """Return one column of a cell's predictions for a test set, in row order, or None if there are no predictions."""
    own = [("test_set", "=", test.name)]
    table = pq.read_table(part.file("predictions.parquet"), columns=["row_id", column], filters=own)
    return lines_of(table, test.row_ids)[column].combine_chunks() if table.num_rows else None


def class_probability(part: PublishedResult, test: TestSet, classes: np.ndarray | int) -> np.ndarray | None:
    """Return the probability that a cell's model gives to each row's class, or to one class for all rows.

    The values are in the order of the test set's rows. Returns None if the model gives no probabilities.
    """
    column = stored_predictions(part, test, "probabilities")
    if column is None or column.null_count:
        return None
    rows = len(column)
    return np.asarray(column.flatten().to_numpy().reshape(rows, -1)[np.arange(rows), classes])


def information_tables(
    found: Mapping[tuple[str, str], pa.Table], test_sets: tuple[TestSet, ...], filtered: tuple[FilteredSet, ...]
) -> Iterator[EvidenceTable]:
    """Yield tables of the mean pointwise V-information of kept and removed test rows by class.

    One table is yielded per representation whose filter also removed test rows.
    """
    from aflite_assets.diagnostics.evidence.usable_information import mean_information

    by_name = {one.name: one for one in test_sets}
    for name in (one.representation for one in filtered):
        values = {
            (evaluator, test_set): (table["pvi"].to_numpy(), by_name[test_set].labels, by_name[test_set].kept[name])
            for (evaluator, test_set), table in found.items()  # a null is NaN
            if name in by_name[test_set].kept
        }
        if values:
            label_names = by_name[next(iter(values))[1]].label_names  # natural test sets have the dataset's classes
            table = mean_information(values, label_names)
            yield EvidenceTable(
                f"Usable information of kept and removed test rows ({name})",
                "Mean pointwise V-information (PVI) in bits, under evaluators trained on full. It measures how far "
                "seeing the input raises the probability of a row's label above the label's share of the train "
                "rows. At 0 the input carries no information for the model; below 0 it misleads the model. Removed "
                "rows have more if the same rows are easy for the evaluator and for the filter. Do not compare "
                "evaluators by it: an overconfident evaluator is penalised for its mistakes. Rows without a class "
                "cover all classes.",
                table if table.num_rows <= _MOST_ROWS else table.filter(pc.is_null(table["label_name"])),
            )


def data_maps(models: PublishedResult, raw: Examples, filtered: tuple[FilteredSet, ...]) -> tuple[DataMap, ...]:
    """Return one data map per representation and evaluator that recorded training dynamics on `full`.

    A data map also shows which rows the representation's filter kept. If no evaluator recorded training dynamics, the
    data map in the dataset's own attributes is used (`given_map`).
    """
    from aflite_assets.diagnostics.evidence.data_map import data_map

    maps = []
    for evaluator, parts in _full_parts(models).items():
        dynamics = [pq.read_table(path) for part in parts if (path := part.path / "dynamics.parquet").is_file()]
        if dynamics:
            epochs = pc.count_distinct(dynamics[0]["epoch"]).as_py()
            maps.append((evaluator, len(dynamics), epochs, data_map(dynamics)))
    given = None if maps else given_map(raw)
    maps = maps if given is None else [(GIVEN, 0, 0, given)]
    return tuple(
        DataMap(name, one.representation, seeds, epochs, _with_kept(table, raw, one), given=given is not None)
        for name, seeds, epochs, table in maps
        for one in filtered
    )


def given_map(raw: Examples) -> pa.Table | None:
    """Return the data map that the train rows' attributes `confidence`, `variability` and `correctness` contain.

    If `correctness` counts epochs, as in the files of Swayamdipta et al. 2020, the count is divided by its largest
    value. The columns are `row_id` (ascending) and the three attributes (float64); rows with a missing attribute are
    left out. Returns None if an attribute is missing, not a number, or out of range. The ranges are [0, 1] for
    `confidence`, [0, 0.5] for `variability`, and 0 or more for `correctness`.
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
    return table.set_column(3, "correctness", pa.array(correctness / max(correctness.max(), 1.0)))


def _with_kept(table: pa.Table, raw: Examples, filtered: FilteredSet) -> pa.Table:
    """Return a data map with the columns `DATA_MAP_COLUMNS`, which include whether the filter kept the row."""
    row_ids = table["row_id"].to_numpy()
    guid = lines_of(raw.table.select(["row_id", "source_id"]), row_ids)["source_id"]
    kept = lines_of(filtered.rows.select(["row_id", "kept"]), row_ids)["kept"]
    given = {name: table[name] for name in table.column_names}
    columns = given | {"guid": guid, "index": pa.array(np.arange(len(row_ids))), "kept": kept}
    return pa.table({name: columns[name] for name in DATA_MAP_COLUMNS})


def _full_parts(models: PublishedResult) -> Mapping[str, list[PublishedResult]]:
    """Return, per evaluator, the results of the finished cells trained on `full`, one result per seed."""
    parts: dict[str, list[PublishedResult]] = {}
    done = [("train_set", "=", "full"), ("status", "=", "done")]
    for row in pq.read_table(models.file("cells.parquet"), filters=done).to_pylist():
        parts.setdefault(row["evaluator"], []).append(models.part(row["name"]))
    return parts
