from aflite_assets.analysis.filtering import largest_class_by_iteration
from aflite_assets.analysis.inputs.records import BenchmarkData


def test_the_largest_class_is_that_of_the_rows_left(planted: BenchmarkData) -> None:
    filtered = planted.filtered[0]
    rows = filtered.rows.to_pylist()
    for iteration, share in enumerate(largest_class_by_iteration(filtered)):
        left = [row["label"] for row in rows if row["kept"] or row["removed_in_iteration"] >= iteration]
        assert share == max(left.count(c) for c in range(3)) / len(left)
