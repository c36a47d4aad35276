"""What a report knows of single rows: their facts, their places in the source, PVI and data maps, as Arrow columns."""

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from aflite_assets.analysis.inputs.records import DataMap, EvidenceTable, FilteredSet, TestSet
from aflite_assets.analysis.inputs.source_rows import ANSWER_PLACES, SourceRows
from aflite_assets.analysis.rows.table import INFORMATION, ROW_FACTS
from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import right_answers, right_class
from aflite_assets.data.raw_table.standardise import Scale
from aflite_assets.results import PublishedResult
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.sources import MultipleChoiceSource, SourceSpec, as_tuple
from aflite_assets.stages.shared.published import plausible_label_errors, predicted_instead
from aflite_assets.stages.shared.report_inputs import read_nearest_kept
from aflite_assets.stages.shared.source_places import places_in_files, places_of

_MOST_ROWS = 50
"""Of a table by class, which is left out beyond that; a report shows as many."""


def read_row_facts(
    parts: Mapping[str, PublishedResult], evidence: PublishedResult, raw: Examples
) -> dict[str, pa.Table]:
    """The columns `ROW_FACTS` of each filtered set's rows by representation; results of earlier versions have fewer."""
    nearest = read_nearest_kept(evidence)
    return {
        name: row_facts(
            pq.read_table(part.file("rows.parquet")),
            ((int(file.stem), pq.read_table(file)) for file in sorted((part.path / "scores").glob("*.parquet"))),
            instead=predicted_instead(part),
            nearest=nearest.get(name),
            suspects=plausible_label_errors(part, raw),
        )
        for name, part in parts.items()
    }


def row_facts(
    rows: pa.Table,
    scores: Iterable[tuple[int, pa.Table]],
    *,
    instead: pa.Table | None = None,
    nearest: pa.Table | None = None,
    suspects: pa.Table | None = None,
) -> pa.Table:
    """The columns `ROW_FACTS` from stored tables, where there are any; one iteration's scores are held at a time.

    Args:
        rows: every row of the filtering: row_id, removed_in_iteration (null: kept).
        scores: per iteration, from 0 on, its number and the rows that entered it: row_id and predictability.
        instead: row_id, then label_<rank> and share_<rank>, null where there are no more.
        nearest: row_id, nearest_kept, similarity.
        suspects: row_id, suggested_label, suggested_probability.
    """
    row_ids = rows["row_id"].to_numpy()
    columns = {
        "row_id": pa.array(row_ids),
        "predictability_by_iteration": _by_iteration(rows, scores),
        **_instead(row_ids, instead),
        "nearest_kept": _looked_up(row_ids, nearest, "nearest_kept", pa.int64()),
        "nearest_similarity": _looked_up(row_ids, nearest, "similarity", pa.float32()),
        "suggested_label": _looked_up(row_ids, suspects, "suggested_label", pa.int64()),
        "suggested_probability": _looked_up(row_ids, suspects, "suggested_probability", pa.float32()),
    }
    return pa.table([columns[field.name].cast(field.type) for field in ROW_FACTS], ROW_FACTS)


def _by_iteration(rows: pa.Table, scores: Iterable[tuple[int, pa.Table]]) -> pa.Array:
    """A list per row, as long as the iterations that it entered; null where no scores are stored."""
    row_ids = rows["row_id"].to_numpy()
    removed_in = pc.fill_null(rows["removed_in_iteration"], -1).to_numpy()
    order = np.argsort(row_ids, kind="stable")
    tables = dict(scores)
    if not tables or not len(row_ids):
        return pa.nulls(len(row_ids), pa.list_(pa.float32()))
    lengths = np.where(removed_in < 0, max(tables) + 1, removed_in + 1)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = np.full(offsets[-1], np.nan, dtype=np.float32)
    for iteration, table in tables.items():
        asked = table["row_id"].to_numpy()
        places = order[np.minimum(np.searchsorted(row_ids[order], asked), len(order) - 1)]
        known = (row_ids[places] == asked) & (lengths[places] > iteration)
        values[offsets[places[known]] + iteration] = table["predictability"].to_numpy()[known]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values, mask=np.isnan(values)))


def _instead(row_ids: np.ndarray, table: pa.Table | None) -> dict[str, pa.Array]:
    names = ("predicted_instead", "predicted_instead_share")
    kinds = (pa.list_(pa.int64()), pa.list_(pa.float32()))
    if table is None:
        return {name: pa.nulls(len(row_ids), kind) for name, kind in zip(names, kinds, strict=True)}
    found = table.take(pc.index_in(pa.array(row_ids), value_set=table["row_id"])).to_pylist()
    ranks = [rank for rank in range(1, table.num_columns) if f"label_{rank}" in table.column_names]
    labels, shares = [], []
    for row in found:
        given = [(row[f"label_{rank}"], row[f"share_{rank}"]) for rank in ranks if row[f"label_{rank}"] is not None]
        labels.append(None if row["row_id"] is None else [label for label, _ in given])
        shares.append(None if row["row_id"] is None else [share for _, share in given])
    return {name: pa.array(each, kind) for name, each, kind in zip(names, (labels, shares), kinds, strict=True)}


def _looked_up(row_ids: np.ndarray, table: pa.Table | None, column: str, kind: pa.DataType) -> pa.Array:
    if table is None:
        return pa.nulls(len(row_ids), kind)
    return _taken(table, column, row_ids).combine_chunks().cast(kind)


def _taken(table: pa.Table, column: str, row_ids: np.ndarray) -> pa.ChunkedArray:
    """The column's values at these row ids, null for rows that the table lacks."""
    return table[column].take(pc.index_in(pa.array(row_ids), value_set=table["row_id"]))


def read_source_rows(raw_result: PublishedResult, raw: Examples, columns: ColumnsSpec) -> SourceRows:
    """The places of the raw table's rows, by the source that it was made from.

    Files and lines are looked up in the files as they are now, where their content is still the one that the raw table
    was made from; otherwise, and for sources that are no files of rows, they are null.
    """
    made_from = raw_result.manifest["made_from"]["fields"]
    source: SourceSpec = TypeAdapter(SourceSpec).validate_python(made_from["source"])
    scale = Scale.load(raw_result.path)
    features = columns.features if isinstance(columns.features, tuple) else None
    asked = right_answers(raw, partly=isinstance(source, MultipleChoiceSource)) is not None
    in_files = places_in_files(source, made_from["contents"]["source"])
    places = places_of(raw.row_ids, raw_result.summary["source_rows"], in_files)
    return SourceRows(
        _with_answers(places, raw) if isinstance(source, MultipleChoiceSource) else places,
        _column_names(source, columns, raw),
        features if raw.modality == "features" else None,
        None if scale is None else scale.mean,
        None if scale is None else scale.deviation,
        right_class(raw.label_names) if asked else None,
    )


def _with_answers(places: pa.Table, raw: Examples) -> pa.Table:
    """The places with the columns `ANSWER_PLACES`, by the ids that answers of multiple choice have: "17/2"."""
    parts = [source_id.rpartition("/") for source_id in raw.table["source_id"].to_pylist()]
    questions, numbers = pa.array([one[0] for one in parts]), pa.array([int(one[2]) for one in parts])
    return pa.table([*places.columns, questions, numbers], schema=ANSWER_PLACES)


def _column_names(source: SourceSpec, columns: ColumnsSpec, raw: Examples) -> dict[str, str]:
    """The source's names of the raw table's texts; of answers in several columns "answer"."""
    if isinstance(source, MultipleChoiceSource):
        answers = as_tuple(source.answers)
        return {
            "text": " + ".join(as_tuple(source.question)),
            "text_pair": answers[0] if len(answers) == 1 else "answer",
        }
    named = {"text": columns.text, "text_pair": columns.text_pair}
    return {name: given for name, given in named.items() if given is not None and name in raw.table.column_names}


def row_information(
    models: PublishedResult, full: Examples, test_sets: tuple[TestSet, ...], *, left_out: Collection[str]
) -> pa.Table | None:
    """PVI of the natural test sets' rows under every evaluator that gives probabilities and is not among `left_out`.

    `full`: the train rows of the train set full, whose label shares are the model without input. Probabilities are read
    for one cell and test set at a time. The columns are `INFORMATION`, with `pvi` float64; None without any.
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
                rows = len(values)
                names = [pa.array([name] * rows, pa.string()) for name in (evaluator, test.name)]
                pvi, seeds = pa.array(values, mask=np.isnan(values)), np.full(rows, len(probabilities), np.int64)
                found.append(pa.table([*names, test.row_ids, test.labels, pvi, seeds], names=INFORMATION.names))
    return pa.concat_tables(found) if found else None


def information_tables(
    found: pa.Table | None, test_sets: tuple[TestSet, ...], filtered: tuple[FilteredSet, ...]
) -> Iterator[EvidenceTable]:
    """Mean PVI by class of kept and of removed test rows, per representation whose filter test rows took part in."""
    from aflite_assets.diagnostics.evidence.usable_information import mean_information

    by_name = {one.name: one for one in test_sets}
    measured = {} if found is None else _by_evaluator(found)
    for one in filtered:
        name = one.representation
        values = {
            (evaluator, test_set): (values, by_name[test_set].labels, by_name[test_set].kept[name])
            for (evaluator, test_set), values in measured.items()
            if name in by_name[test_set].kept
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


def _by_evaluator(information: pa.Table) -> dict[tuple[str, str], np.ndarray]:
    """PVI by evaluator and test set, float64 in the set's order; NaN where it is null."""
    keys = information.select(["evaluator", "test_set"])
    return {
        (key["evaluator"], key["test_set"]): information.filter(
            pc.and_(pc.equal(keys["evaluator"], key["evaluator"]), pc.equal(keys["test_set"], key["test_set"]))
        )["pvi"].to_numpy(zero_copy_only=False)
        for key in keys.group_by(keys.column_names, use_threads=False).aggregate([]).to_pylist()
    }


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
            "guid": _taken(raw.table, "source_id", row_ids),
            "index": np.arange(len(row_ids)),
            **{name: table[name] for name in (*_COORDINATES, "row_id")},
            "kept": _taken(filtered.rows, "kept", row_ids),
        }
    )


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
    rows = pc.index_in(pa.array(test.row_ids), value_set=table["row_id"]).to_numpy()
    probability: np.ndarray = matrix[rows, test.labels]
    return probability
