import itertools

from aflite_assets.analysis.filtering import filter_table
from aflite_assets.analysis.inputs.records import BenchmarkData


def test_filter_table_is_in_order_of_iterations(planted: BenchmarkData) -> None:
    filtered = planted.filtered[0]
    rows = filter_table(filtered)
    assert [row.iteration for row in rows] == list(range(8))
    assert rows[0].rows_in == 1200
    assert rows[-1].cutoff is None
    assert all(a.rows_in - a.removed == b.rows_in for a, b in itertools.pairwise(rows))
