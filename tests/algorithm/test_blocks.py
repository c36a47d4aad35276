import numpy as np
import pytest

from aflite_assets.algorithm.blocks import prediction_row_bytes, row_blocks


@pytest.mark.parametrize(("limit", "lengths"), [(1, [1] * 5), (20, [2, 2, 1]), (39, [3, 2]), (1000, [5])])
def test_blocks_cover_the_rows_within_the_limit(limit: int, lengths: list[int]) -> None:
    blocks = list(row_blocks(5, row_bytes=10, memory_limit=limit))
    assert [block.stop - block.start for block in blocks] == lengths
    assert np.concatenate([np.arange(5)[block] for block in blocks]).tolist() == [0, 1, 2, 3, 4]


def test_row_bytes_count_features_twice_and_classes_thrice() -> None:
    assert prediction_row_bytes(10, 4) == 8 * (20 + 12)
