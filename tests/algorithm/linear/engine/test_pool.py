from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aflite_assets.algorithm.linear.engine.pool import PoolFeatures, Standardization, aligned, convert

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
KINDS = ["float16", "float32", "float64", "int8", "int32", "int64", "uint64"]


@pytest.fixture
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def matrix(kind: str, rows: int = 700, width: int = 21) -> np.ndarray:
    values = np.random.default_rng(5).normal(size=(rows, width)) * 8.0 + 20.0
    return values.astype(kind)


def gathered(pool: PoolFeatures) -> np.ndarray:
    """All blocks together, copied, since a streamed block is overwritten."""
    blocks = [(block.first, block.stop, block.features.copy()) for block in pool.blocks()]
    edges = [edge for first, stop, _ in blocks for edge in (first, stop)]
    assert edges[0] == 0
    assert edges[-1] == len(pool.rows)
    assert edges[1:-1:2] == edges[2::2]
    return np.concatenate([features for _, _, features in blocks])


def converted(
    features: np.ndarray, rows: np.ndarray, standardization: Standardization, dtype: np.dtype = FLOAT32
) -> np.ndarray:
    target = aligned(len(rows), standardization.width, dtype)
    convert(features, rows, standardization, target)
    return target


def in_float64(features: np.ndarray, standardization: Standardization) -> np.ndarray:
    return (features.astype(np.float64) - standardization.origin) / standardization.scale


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_standardization_is_by_the_means_and_the_root_mean_square(dtype: np.dtype) -> None:
    standardization = Standardization.of(np.array([[1, 10], [3, 30]], dtype=np.int16), dtype)
    assert standardization.origin.tolist() == [2.0, 20.0]
    assert standardization.scale == pytest.approx(np.sqrt((1 + 1 + 100 + 100) / 4))
    assert standardization.width == (16 if dtype == FLOAT32 else 8)


@pytest.mark.parametrize(("width", "padded"), [(1, 16), (16, 16), (17, 32), (384, 384), (385, 400)])
def test_width_is_padded_to_whole_cache_lines(width: int, padded: int) -> None:
    assert Standardization.of(np.zeros((3, width)), FLOAT32).width == padded
    assert Standardization.of(np.zeros((3, width)), FLOAT64).width == -(-width // 8) * 8


def test_standardization_of_rows_without_spread() -> None:
    standardization = Standardization.of(np.full((4, 3), 7.0), FLOAT32)
    assert standardization.scale == 1.0
    assert standardization.origin.tolist() == [7.0, 7.0, 7.0]


def test_standardization_keeps_a_small_spread_beside_a_large_offset_in_half_precision() -> None:
    standardization = Standardization.of(np.tile(np.array([[1000.0], [1002.0]], dtype=np.float16), (4000, 1)), FLOAT32)
    assert standardization.origin.tolist() == [1001.0]
    assert standardization.scale == 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_rows_are_centred_scaled_and_padded(kind: str, dtype: np.dtype, threads: Executor) -> None:
    features = matrix(kind)
    standardization = Standardization.of(features, dtype)
    pool = PoolFeatures(features, np.arange(700), standardization, dtype, memory_limit=2**30, threads=threads)
    actual = gathered(pool)
    assert pool.resident
    assert actual.dtype == dtype
    assert actual.shape == (700, standardization.width)
    assert not actual[:, 21:].any()
    precision = 1e-14 if dtype == FLOAT64 and kind not in ("float16", "float32") else 1e-6
    np.testing.assert_allclose(actual[:, :21], in_float64(features, standardization), atol=precision)
    assert actual[:, :21].std() == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [np.arange(700), np.arange(100, 650), np.flatnonzero(np.arange(700) % 3)])
def test_resident_and_streamed_rows_are_equal(kind: str, rows: np.ndarray, threads: Executor) -> None:
    features = matrix(kind)
    standardization = Standardization.of(features[::2], FLOAT32)
    resident = PoolFeatures(features, rows, standardization, FLOAT32, memory_limit=2**30, threads=threads)
    expected = gathered(resident)
    assert resident.resident
    for limit in (1, 4 * 128 * 13, 2 * 128 * len(rows) - 1, 2**30):
        streamed = PoolFeatures(
            features, rows, standardization, FLOAT32, memory_limit=limit, threads=threads, hold=False
        )
        assert not streamed.resident
        np.testing.assert_array_equal(gathered(streamed), expected)
        np.testing.assert_array_equal(gathered(streamed), expected)


def test_a_pool_is_resident_up_to_half_of_the_memory(threads: Executor) -> None:
    features, standardization = matrix("float32"), Standardization.of(matrix("float32"), FLOAT32)
    size = 700 * 32 * 4
    for limit, held, blocks in ((2 * size, True, 1), (2 * size - 1, False, 3)):
        pool = PoolFeatures(features, np.arange(700), standardization, FLOAT32, memory_limit=limit, threads=threads)
        assert pool.resident is held
        assert len(pool.slices) == blocks
    assert all(block.stop - block.start <= size // 2 // (32 * 4) for block in pool.slices)


def test_a_block_holds_one_row_at_least(threads: Executor) -> None:
    features = matrix("float32", rows=9)
    standardization = Standardization.of(features, FLOAT32)
    pool = PoolFeatures(features, np.arange(9), standardization, FLOAT32, memory_limit=1, threads=threads)
    assert [len(block.features) for block in pool.blocks()] == [1] * 9


def test_a_small_signal_beside_a_large_offset_keeps_its_precision(threads: Executor) -> None:
    signal = np.random.default_rng(1).normal(size=(500, 16)) * 1e-3
    features = signal + 1e6
    standardization = Standardization.of(features, FLOAT32)
    actual = gathered(
        PoolFeatures(features, np.arange(500), standardization, FLOAT32, memory_limit=2**30, threads=threads)
    )
    kept = features - 1e6  # exact; what adding 1e6 left of the signal, about 1e-10
    spread = np.sqrt(np.mean((kept - kept.mean(axis=0)) ** 2))
    assert standardization.scale == pytest.approx(spread, rel=1e-9)
    # The origin itself, a mean of numbers near 1e6, is rounded by 1e-9; all rows move by it together.
    np.testing.assert_allclose(actual - actual[0], (kept - kept[0]) / spread, atol=1e-6)
    np.testing.assert_allclose(actual.mean(axis=0), 0.0, atol=1e-5)


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
@pytest.mark.parametrize("width", [1, 16, 21, 100])
def test_every_row_starts_at_a_cache_line(dtype: np.dtype, width: int, threads: Executor) -> None:
    features = matrix("float64", rows=50, width=width)
    standardization = Standardization.of(features, dtype)
    for hold in (True, False):
        pool = PoolFeatures(
            features, np.arange(50), standardization, dtype, memory_limit=2**14, threads=threads, hold=hold
        )
        for block in pool.blocks():
            assert {row.ctypes.data % 64 for row in block.features} == {0}
            assert block.features.flags.c_contiguous


def test_aligned_is_zeros_of_the_shape_asked_for() -> None:
    for rows in range(1, 30):
        array = aligned(rows, 48, FLOAT32)
        assert array.shape == (rows, 48)
        assert array.ctypes.data % 64 == 0
        assert not array.any()


def test_slots_are_positions_among_the_rows(threads: Executor) -> None:
    features, rows = matrix("float32"), np.array([3, 7, 8, 100, 101, 699])
    standardization = Standardization.of(features, FLOAT32)
    pool = PoolFeatures(features, rows, standardization, FLOAT32, memory_limit=2**30, threads=threads)
    assert pool.slots_of(np.array([7, 100, 699])).tolist() == [1, 3, 5]
    np.testing.assert_array_equal(gathered(pool), converted(features, rows, standardization))


def test_a_streamed_pool_goes_on_with_fewer_rows_and_a_resident_one_stays(threads: Executor) -> None:
    features, standardization = matrix("float32"), Standardization.of(matrix("float32"), FLOAT32)
    left = np.flatnonzero(np.random.default_rng(0).random(700) < 0.4)
    kept = left[::2]
    resident = PoolFeatures(features, np.arange(700), standardization, FLOAT32, memory_limit=2**30, threads=threads)
    streamed = PoolFeatures(features, np.arange(700), standardization, FLOAT32, memory_limit=20_000, threads=threads)
    assert [resident.resident, streamed.resident] == [True, False]
    for rows in (left, kept):
        for pool in (resident, streamed):
            pool.keep(rows)
            actual = gathered(pool)[pool.slots_of(rows)]
            np.testing.assert_array_equal(actual, converted(features, rows, standardization))
        assert streamed.rows.tolist() == rows.tolist()
        assert len(gathered(streamed)) == len(rows)
        assert len(gathered(resident)) == 700


@pytest.mark.parametrize("rows", [[0], [5, 6, 7], [699], [0, 2, 699], list(range(1, 700, 2))])
def test_convert_writes_any_rows_of_the_matrix(rows: list[int]) -> None:
    features = matrix("float64")
    standardization = Standardization.of(features, FLOAT64)
    actual = converted(features, np.array(rows), standardization, FLOAT64)
    np.testing.assert_allclose(actual[:, :21], in_float64(features[rows], standardization), atol=1e-14)
    assert not actual[:, 21:].any()


def test_a_resident_pool_is_rotated_where_asked_for(threads: Executor) -> None:
    features = matrix("float32")
    plain = Standardization.of(features, FLOAT32)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(32, 32)))[0].astype(np.float32)
    standardization, rows = replace(plain, rotation=rotation), np.arange(0, 700, 2)
    pool = PoolFeatures(features, rows, standardization, FLOAT32, memory_limit=2**30, threads=threads)
    np.testing.assert_allclose(gathered(pool), converted(features, rows, plain) @ rotation, atol=1e-5)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_a_memory_map_gives_the_same_rows_and_is_not_changed(kind: str, tmp_path: Path, threads: Executor) -> None:
    features = matrix(kind)
    np.save(tmp_path / "features.npy", features)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    standardization, rows = Standardization.of(features, FLOAT32), np.arange(0, 700, 3)
    assert standardization.scale == Standardization.of(mapped, FLOAT32).scale
    expected = gathered(PoolFeatures(features, rows, standardization, FLOAT32, memory_limit=2**30, threads=threads))
    for limit in (2**30, 5000):
        actual = gathered(PoolFeatures(mapped, rows, standardization, FLOAT32, memory_limit=limit, threads=threads))
        np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(np.load(tmp_path / "features.npy"), features)


def test_other_memory_orders_give_the_same_rows(threads: Executor) -> None:
    features = matrix("float32")
    standardization, rows = Standardization.of(features, FLOAT32), np.arange(0, 700, 3)
    expected = gathered(PoolFeatures(features, rows, standardization, FLOAT32, memory_limit=2**30, threads=threads))
    for other in (np.asfortranarray(features), features.astype(">f4"), np.repeat(features, 2, axis=1)[:, ::2]):
        actual = gathered(PoolFeatures(other, rows, standardization, FLOAT32, memory_limit=2**30, threads=threads))
        np.testing.assert_array_equal(actual, expected)


def test_large_whole_numbers_keep_their_differences(threads: Executor) -> None:
    features = np.random.default_rng(1).integers(-50, 50, size=(500, 16)) + 2**40
    standardization = Standardization.of(features, FLOAT32)
    actual = gathered(
        PoolFeatures(features, np.arange(500), standardization, FLOAT32, memory_limit=2**30, threads=threads)
    )
    np.testing.assert_allclose(actual, in_float64(features, standardization), atol=1e-6)
