"""Distances of rows to their nearest train rows, within their class and across classes, before and after filtering."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from aflite_assets.diagnostics.record_tables import check_lengths, draw_sample, ratio, table_of
from aflite_assets.errors import InvalidInputError

NEIGHBOURS = (1, 5, 10, 50)
"""Numbers of nearest rows over which distances are averaged, ascending, as in the submission's Table 3."""

MOST_ROWS = 50_000
"""Largest number of train rows and of queries; a sample is drawn from larger sets."""

MEMORY_LIMIT = 2**31
"""Bytes that the computation may use; `MOST_ROWS` rows of up to 5,368 features fit into half of it."""

ROWS_AT_ONCE = 8_192
"""Number of rows that are normalised at a time."""

_MEANS = [("within_class", pa.float64()), ("across_classes", pa.float64()), ("queries", pa.int64())]
_OVERALL = pa.schema([("when", pa.string()), ("k", pa.int64()), *_MEANS, ("train_rows", pa.int64())])
_BY_CLASS = pa.schema([("label_name", pa.string()), *_OVERALL])
_SUMS = pa.schema(
    [
        *((name, pa.string()) for name in ("label_name", "side", "when")),
        *((name, pa.int64()) for name in ("queries", "train_rows")),
        *((f"top{k}", pa.float64()) for k in NEIGHBOURS),
    ]
)


@dataclass(frozen=True)
class NeighbourDistances:
    """Mean cosine distances, in [0, 2], of queries to their k nearest train rows.

    `overall` has the columns `when`, `k`, `within_class`, `across_classes`, `queries` and `train_rows`. `when` names
    the train rows that are searched: "before" (all train rows), "random" (as many random train rows as were kept) or
    "after" (the kept train rows). `within_class` and `across_classes` are the distances to train rows of the query's
    class and of other classes. A distance is null if there are no train rows to compare with.

    `by_class` has the column `label_name` and the columns of `overall`, for the queries of one class; `train_rows`
    counts rows of this class. Classes without queries are left out.

    `held_out`: True if the queries are rows outside train, False if the queries are the train rows themselves.
    `queries` and `train_rows` are the numbers of rows used, out of `all_queries` and `all_train_rows`.
    """

    overall: pa.Table
    by_class: pa.Table
    held_out: bool
    queries: int
    all_queries: int
    train_rows: int
    all_train_rows: int

    @property
    def sampled(self) -> bool:
        """True if only a sample of the queries or of the train rows was used."""
        return (self.queries, self.train_rows) != (self.all_queries, self.all_train_rows)


def neighbour_distances(
    features: np.ndarray,
    labels: np.ndarray,
    *,
    in_train: np.ndarray,
    kept: np.ndarray,
    label_names: Sequence[str],
    seed: int,
    asked: np.ndarray | None = None,
    most_rows: int = MOST_ROWS,
    memory_limit: int = MEMORY_LIMIT,
) -> NeighbourDistances:
    """Compute the mean cosine distance of rows to their nearest train rows before and after filtering.

    The method follows Table 3 of the ICLR 2020 submission of AFLite. Held-out rows (the queries) are compared with
    their 1, 5, 10 and 50 nearest train rows, within their class and across classes. The submission does not define its
    distance. In this function, the distance is one minus the cosine, averaged over the k neighbours and then over the
    queries.

    The same queries are used before and after filtering, whether the filter kept them or not. `features` are usually
    the filter's features. The submission uses the features of a BERT trained on SNLI, which the setting
    `distance_encoder` of the pipeline can reproduce. The submission's numbers are not averages; `similarity_sums`
    explains what they may be. The set "random", which is not in the submission, shows how much the distances grow if
    train rows are removed at random.

    If a query's class has fewer than k train rows, the mean is over all train rows of the class. With more than
    `most_rows` train rows or queries, a sample of `most_rows` rows is drawn with `seed`. If train rows are sampled, the
    set "after" contains only the kept rows in the sample. A row of zeros has distance 1 from every row.

    Args:
        features: rows x width float32, finite; a memory map is read in blocks.
        labels: class numbers, int64, one per row.
        in_train: bool per row, True for the train rows of the filter's pool. Rows outside train are the queries. If
            there are no rows outside train, every train row is a query and is compared with the other train rows.
        kept: bool per row, True if filtering kept the row; used for train rows only.
        label_names: the classes' names.
        seed: seed of the samples and of the random set.
        asked: bool per row, True for rows outside train that are queries; by default, all rows outside train are
            queries.
        most_rows: largest number of train rows and of queries. The number is reduced if the rows do not fit into half
            of `memory_limit`.
        memory_limit: bytes for the whole computation, apart from the pages of `features`.

    Raises:
        InvalidInputError: the arguments have different lengths, there is no train row, or a feature is not finite.
    """
    check_lengths(features=features, labels=labels, in_train=in_train, kept=kept)
    if not in_train.any():
        raise InvalidInputError(f"`in_train` is False for all {len(labels)} rows; give at least one train row")
    rng = np.random.default_rng(seed)
    most = min(most_rows, max(memory_limit // (8 * features.shape[1]), 1))
    all_train, held_out = np.flatnonzero(in_train), not in_train.all()
    train = draw_sample(all_train, most, rng)
    others = np.flatnonzero(~in_train if asked is None else ~in_train & asked) if held_out else all_train
    queries = draw_sample(others, most, rng) if held_out else train
    sets = _train_sets(kept[train], rng)
    sums = _summed(features, labels, queries, train, sets, classes=len(label_names), memory_limit=memory_limit)
    return NeighbourDistances(
        *_tables(sums, sets, labels[train], label_names),
        held_out,
        len(queries),
        len(others),
        len(train),
        len(all_train),
    )


def similarity_sums(before: NeighbourDistances, after: NeighbourDistances) -> pa.Table:
    """Return sums of cosine similarities to the k nearest train rows, in the layout of the submission's Table 3.

    The columns are `label_name`, `side` ("within" or "vs others"), `when`, `queries`, `train_rows`, `top1`, `top5`,
    `top10` and `top50`. The columns `top1` to `top50` contain the sum of similarities to a query's k nearest rows,
    averaged over queries. If there are fewer than k train rows to compare with, the sum is over all train rows to
    compare with. Table rows with `when` "before" are computed from `before`. Table rows with `when` "after" are
    computed from `after`, which may have other queries.

    The submission calls its numbers distances, but they are nearly proportional to k: 0.29 for 1, 1.32 for 5 and 9.5
    for 50 neighbours. Sums of distances would grow faster than k, because further neighbours are more distant. Sums of
    similarities grow like the submission's numbers, although the nearest row usually has a similarity above 0.29.

    The nearest row in a part of the train set cannot be nearer than the nearest row in the whole set. In the
    submission, however, the similarity to the first neighbour rises after filtering. The similarity can rise only if
    the submission uses other queries after filtering, namely the filtered rows.
    """
    records = []
    for when, distances in (("before", before), ("after", after)):
        rows = [row for row in distances.by_class.to_pylist() if row["when"] == when]
        total = next(row["train_rows"] for row in distances.overall.to_pylist() if row["when"] == when)
        for label in dict.fromkeys(row["label_name"] for row in rows):
            own = [row for row in rows if row["label_name"] == label]
            inside, queries = own[0]["train_rows"], own[0]["queries"]
            for side, column, there in (
                ("within", "within_class", inside),
                ("vs others", "across_classes", total - inside),
            ):
                sums = [_similarity_sum(row[column], min(row["k"], there)) for row in own]
                records.append((label, side, when, queries, there, *sums))
    records.sort(key=lambda record: record[1] != "within")
    return table_of(records, _SUMS)


def _similarity_sum(mean_distance: float | None, neighbours: int) -> float | None:
    return None if mean_distance is None else neighbours * (1 - mean_distance)


class _Sums(NamedTuple):
    """Sums of the queries' mean distances (sets x sides x classes x k), numbers of summed queries (sets x sides x
    classes), and numbers of all queries (classes). The sides are the query's class and all other classes.
    """

    totals: np.ndarray
    counted: np.ndarray
    queries: np.ndarray


def _summed(
    features: np.ndarray,
    labels: np.ndarray,
    queries: np.ndarray,
    train: np.ndarray,
    sets: Mapping[str, np.ndarray],
    *,
    classes: int,
    memory_limit: int,
) -> _Sums:
    counted = np.zeros((len(sets), 2, classes), np.int64)
    sums = _Sums(np.zeros((*counted.shape, len(NEIGHBOURS))), counted, np.zeros(classes, np.int64))
    for rows, distances in _blocks(features, queries[np.argsort(labels[queries], kind="stable")], train, memory_limit):
        for label in np.unique(labels[rows]).tolist():
            some, own = distances[labels[rows] == label], labels[train] == label
            sums.queries[label] += len(some)
            for number, inside in enumerate(sets.values()):
                for side, chosen in enumerate((own & inside, ~own & inside)):
                    if chosen.any():
                        means = mean_nearest(some[:, chosen])
                        known = ~np.isnan(means[:, 0])
                        sums.totals[number, side, label] += means[known].sum(axis=0)
                        counted[number, side, label] += known.sum()
    return sums


def mean_nearest(distances: np.ndarray) -> np.ndarray:
    """Return, for each query, the means of its 1, 5, 10 and 50 smallest distances, queries x 4 float64.

    `distances`: queries x rows float32 with at least one row. Infinite values count as missing. If a row has fewer than
    k values, the mean is over all values of the row. If a row has no values, the mean is NaN.
    """
    most = min(NEIGHBOURS[-1], distances.shape[1])
    nearest = np.sort(np.partition(distances, most - 1, axis=1)[:, :most], axis=1)
    there = np.isfinite(nearest)
    sums = np.cumsum(np.where(there, nearest, 0), axis=1, dtype=np.float64)
    counts = np.cumsum(there, axis=1)
    last = np.minimum(NEIGHBOURS, most) - 1
    with np.errstate(invalid="ignore"):
        return sums[:, last] / counts[:, last]


def _train_sets(kept: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the sampled train rows (bool per row) that belong to each of the sets "before", "random" and "after"."""
    sets = {"before": np.ones(len(kept), bool), "random": np.zeros(len(kept), bool), "after": kept}
    sets["random"][rng.choice(len(kept), int(kept.sum()), replace=False)] = True
    return sets


def _blocks(
    features: np.ndarray, queries: np.ndarray, train: np.ndarray, memory_limit: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield blocks of queries, and the distances of these queries to all train rows (float32).

    The distance of a row to itself is infinite.
    """
    reference = unit_rows(features, train)
    # 16 bytes per distance: the distances themselves, those of one class, those to one set of rows, and those sorted.
    size = max(memory_limit // 2 // (16 * len(train)), 1)
    for start in range(0, len(queries), size):
        rows = queries[start : start + size]
        distances = unit_rows(features, rows) @ reference.T
        np.subtract(1, distances, out=distances)
        np.clip(distances, 0, 2, out=distances)
        place = np.minimum(np.searchsorted(train, rows), len(train) - 1)
        itself = np.flatnonzero(train[place] == rows)
        distances[itself, place[itself]] = np.inf
        yield rows, distances


def unit_rows(features: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Scale rows to length 1, float32; rows of zeros stay zero."""
    units = np.empty((len(positions), features.shape[1]), np.float32)
    for start in range(0, len(positions), ROWS_AT_ONCE):
        units[start : start + ROWS_AT_ONCE] = unit_vectors(features, positions[start : start + ROWS_AT_ONCE])
    return units


def unit_vectors(features: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Scale rows to length 1, float64; rows of zeros stay zero.

    Raises:
        InvalidInputError: a feature is not finite.
    """
    rows = features[positions].astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        row = int(positions[np.argmax(~np.isfinite(lengths[:, 0]))])
        raise InvalidInputError(f"a feature of row {row} is NaN or infinite; give finite features")
    return np.divide(rows, lengths, out=rows, where=lengths > 0)


def _tables(
    sums: _Sums, sets: Mapping[str, np.ndarray], labels: np.ndarray, label_names: Sequence[str]
) -> tuple[pa.Table, pa.Table]:
    """Return the tables `overall` and `by_class` of `NeighbourDistances`."""
    named, totals, counted = [*enumerate(sets.items())], sums.totals, sums.counted
    overall = [
        record
        for number, (when, inside) in named
        for record in _records(when, totals[number].sum(1), counted[number].sum(1), sums.queries.sum(), inside.sum())
    ]
    by_class = [
        (label_names[label], *record)
        for label in np.flatnonzero(sums.queries).tolist()
        for number, (when, inside) in named
        for record in _records(
            when,
            totals[number, :, label],
            counted[number, :, label],
            sums.queries[label],
            (inside & (labels == label)).sum(),
        )
    ]
    return table_of(overall, _OVERALL), table_of(by_class, _BY_CLASS)


def _records(when: str, totals: np.ndarray, counted: np.ndarray, queries: int, rows: int) -> Iterator[tuple[Any, ...]]:
    for column, k in enumerate(NEIGHBOURS):
        means = [ratio(total, count) for total, count in zip(totals[:, column], counted, strict=True)]
        yield when, k, *means, int(queries), int(rows)
