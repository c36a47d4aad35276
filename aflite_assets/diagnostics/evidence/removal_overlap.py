"""Agreement of representations on the easy train rows: overlap of removed rows, and correlation of predictabilities."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.diagnostics.record_tables import floats, ratio, table_of

_OVERLAP = pa.schema(
    {
        "first": pa.string(),
        "second": pa.string(),
        "common_rows": pa.int64(),
        "first_removed": pa.int64(),
        "second_removed": pa.int64(),
        "both_removed": pa.int64(),
        "jaccard": pa.float64(),
        "expected_jaccard": pa.float64(),
        "scored_rows": pa.int64(),
        "kendall_tau": pa.float64(),
    }
)


def removal_overlap(filtered: Mapping[str, pa.Table]) -> pa.Table:
    """Compare every pair of representations on the train rows that entered both filters.

    Phang et al. 2021 (arXiv 2111.08181) find that the kept rows depend on the adversary model of the filter.

    Args:
        filtered: the rows table of each representation's filtered set: row_id int64, split string, kept bool,
            predictability float or null.

    Returns:
        A table with one row per pair of representations; the table is empty if there are fewer than two
        representations. The columns `first` and `second` are the names of the two representations. `common_rows` is the
        number of rows that entered both filters. `first_removed`, `second_removed` and `both_removed` are the numbers
        of common rows that the first filter, the second filter and both filters removed. `jaccard`, in [0, 1], is
        `both_removed` divided by the number of common rows that at least one filter removed. `jaccard` is null if no
        row was removed. `expected_jaccard` is the Jaccard index expected for random removals (see the function
        `expected_jaccard`). `scored_rows` is the number of common rows that have a predictability in both filters.
        `kendall_tau`, in [-1, 1], is Kendall's tau-b between both filters' last known predictabilities of the scored
        rows. `kendall_tau` is null if a representation has fewer than two different predictabilities.
    """
    trains = {name: _by_row_id(rows) for name, rows in filtered.items()}
    records = [(*names, *_compared(*(trains[name] for name in names))) for names in combinations(trains, 2)]
    return table_of(records, _OVERLAP)


def expected_jaccard(rows: int, first: int, second: int) -> float | None:
    """Return the mean Jaccard index of two sets of the given sizes that are drawn at random from the same `rows` rows.

    The number i of shared rows has a hypergeometric distribution. The index of two sets with i shared rows is i /
    (first + second - i). The mean is computed exactly, as a sum over every possible i. Return None if both sets are
    empty.
    """
    from scipy.stats import hypergeom

    if not first + second:
        return None
    shared = np.arange(max(first + second - rows, 0), min(first, second) + 1)
    return float(hypergeom.pmf(shared, rows, first, second) @ (shared / (first + second - shared)))


def _by_row_id(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.equal(rows["split"], "train")).select(["row_id", "kept", "predictability"])


def _compared(first: pa.Table, second: pa.Table) -> tuple[Any, ...]:
    _, *positions = np.intersect1d(first["row_id"].to_numpy(), second["row_id"].to_numpy(), return_indices=True)
    first_common, second_common = (table.take(place) for table, place in zip((first, second), positions, strict=True))
    gone, also_gone = (~table["kept"].to_numpy().astype(bool) for table in (first_common, second_common))
    both, either = int((gone & also_gone).sum()), int((gone | also_gone).sum())
    sizes = int(gone.sum()), int(also_gone.sum())
    expected = expected_jaccard(len(gone), *sizes)
    return len(gone), *sizes, both, ratio(both, either), expected, *_order(first_common, second_common)


def _order(first: pa.Table, second: pa.Table) -> tuple[int, float | None]:
    from scipy.stats import kendalltau

    scores = [floats(table["predictability"]) for table in (first, second)]
    known = ~np.isnan(scores[0]) & ~np.isnan(scores[1])
    first_known, second_known = (each[known] for each in scores)
    if len(np.unique(first_known)) < 2 or len(np.unique(second_known)) < 2:
        return int(known.sum()), None
    return int(known.sum()), float(kendalltau(first_known, second_known, variant="b").statistic)
