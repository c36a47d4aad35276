"""The engine's threads, and torch's kept out of them: whatever was set before and is done meanwhile elsewhere."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from aflite_assets.algorithm import FilterSettings, filter_dataset, score_rows
from aflite_assets.algorithm.linear.engine import linear_engine
from aflite_assets.algorithm.linear.threads import Threads, one_torch_thread

SETTINGS = FilterSettings(target_size=100, train_size=60, slice_size=20, n_partitions=8, threshold=0.0)

# torch, two threads, is imported where {} says; then a small job and a larger one, and what they left behind.
SCRIPT = """
import os, time
{}
import numpy as np
def started():  # a thread that was joined may be there for a moment more
    deadline = time.monotonic() + 5
    while (count := len(os.listdir("/proc/self/task")) - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    return count
torch.set_num_threads(2)
rng = np.random.default_rng(0)
before = len(os.listdir("/proc/self/task"))
for rows in (600, 3000):
    labels = rng.integers(0, 3, rows)
    features = rng.normal(size=(rows, 200)) + rng.normal(size=(3, 200))[labels] * 0.1
    settings = FilterSettings(target_size=rows - 1, train_size=rows // 2, slice_size=1, n_partitions=16)
    score_rows(features.astype(np.float32), labels, settings=settings, seed=0)
print(torch.get_num_threads(), started())
torch.randn(2000, 300) @ torch.randn(300, 300)
print(len(os.listdir("/proc/self/task")) - before)
"""
IMPORTS = ["import torch", "from aflite_assets.algorithm import FilterSettings, score_rows"]


@pytest.fixture
def torch_threads() -> Iterator[Callable[[int], None]]:
    """Sets their number, for the test alone."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def two(torch_threads: Callable[[int], None]) -> None:
    """torch has two threads."""
    torch_threads(2)


def in_a_new_thread() -> int:
    with ThreadPoolExecutor(1) as other:
        return other.submit(torch.get_num_threads).result()


def rows_of(rows: int = 200, width: int = 6, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rows)
    labels = rng.integers(0, classes, rows)
    features = rng.normal(size=(rows, width)) + rng.normal(size=(classes, width))[labels] * 0.5
    return features.astype(np.float32), labels


@pytest.mark.usefixtures("two")
def test_torch_works_alone_within_and_as_before_afterwards() -> None:
    with one_torch_thread():
        assert torch.get_num_threads() == 1
        with one_torch_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    assert in_a_new_thread() == 2


@pytest.mark.usefixtures("two")
def test_an_error_gives_the_threads_back() -> None:
    with pytest.raises(KeyError, match="gone"), one_torch_thread(), one_torch_thread():
        raise KeyError("gone")
    assert torch.get_num_threads() == 2
    assert in_a_new_thread() == 2


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("first_to_leave", [0, 1])
def test_two_threads_within_at_a_time(first_to_leave: int) -> None:
    """In both orders of leaving, with one thread that torch knows already and one that it does not."""
    with ThreadPoolExecutor(1) as known, ThreadPoolExecutor(1) as new:
        holders, limits = (known, new), (one_torch_thread(), one_torch_thread())
        assert known.submit(torch.get_num_threads).result() == 2
        known.submit(torch.set_num_threads, 3).result()
        torch.set_num_threads(2)
        for holder, limit in zip(holders, limits, strict=True):
            holder.submit(limit.__enter__).result()
        assert [holder.submit(torch.get_num_threads).result() for holder in holders] == [1, 1]
        assert torch.get_num_threads() == 2
        assert in_a_new_thread() == 2
        for index in (first_to_leave, 1 - first_to_leave):
            holders[index].submit(limits[index].__exit__, None, None, None).result()
            inside = [1, 1] if index == first_to_leave else [3, 2]
            inside[index] = (3, 2)[index]
            assert [holder.submit(torch.get_num_threads).result() for holder in holders] == inside
            assert in_a_new_thread() == 2
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two")
def test_threads_that_enter_and_leave_all_the_time_lose_no_number() -> None:
    def enter_often(_: int) -> set[int]:
        seen = set()
        for _ in range(50):
            with one_torch_thread():
                seen.add(torch.get_num_threads())
            seen.add(-torch.get_num_threads())
        return seen

    with ThreadPoolExecutor(4) as holders:
        assert list(holders.map(enter_often, range(8))) == [{1, -2}] * 8
    assert in_a_new_thread() == torch.get_num_threads() == 2


def test_without_openmp_nothing_is_set(monkeypatch: pytest.MonkeyPatch, two: None) -> None:
    monkeypatch.setattr(torch.backends.openmp, "is_available", lambda: False)
    monkeypatch.setattr(torch, "set_num_threads", None)
    with one_torch_thread():
        assert torch.get_num_threads() == 2
    monkeypatch.undo()


@pytest.mark.usefixtures("two")
def test_torch_works_alone_in_the_engines_threads() -> None:
    threads = Threads.started(3)
    with threads.executor:
        asked = [threads.executor.submit(torch.get_num_threads) for _ in range(6)]
        assert [answer.result() for answer in asked] == [1] * 6
    assert torch.get_num_threads() == 2
    assert in_a_new_thread() == 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows", [1, 5, 8, 9, 300])
def test_a_shared_product_is_the_product_and_the_same_bits_in_any_number_of_threads(
    rows: int, dtype: torch.dtype
) -> None:
    generator = torch.Generator().manual_seed(rows)
    left, right = (torch.randn(shape, generator=generator, dtype=dtype) for shape in ((rows, 70), (70, 33)))
    products = []
    for count in (1, 2, 5):
        threads = Threads.started(count)
        with threads.executor:
            products.append((threads.product(left, right), threads.product(left.T.contiguous().T, right)))
    expected = left.double() @ right.double()
    for pair in products:
        for product, first in zip(pair, products[0], strict=True):
            assert product.dtype == dtype
            assert torch.equal(product, first)
            torch.testing.assert_close(
                product.double(), expected, rtol=0, atol=1e-4 if dtype == torch.float32 else 1e-12
            )


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("precision", ["in_float32", "in_float64"])
def test_the_engine_works_with_one_torch_thread_and_gives_it_back_between_iterations(
    precision: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    request.getfixturevalue(precision)
    inside, between, fit, prepare = [], [], linear_engine.fit, linear_engine.prepare

    def spied(wrapped: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **options: Any) -> Any:
            inside.append(torch.get_num_threads())
            return wrapped(*given, **options)

        return call

    monkeypatch.setattr(linear_engine, "fit", spied(fit))
    monkeypatch.setattr(linear_engine, "prepare", spied(prepare))
    features, labels = rows_of()
    result = filter_dataset(
        features,
        labels,
        settings=SETTINGS,
        seed=1,
        device="cpu",
        on_iteration=lambda record, state: between.append((torch.get_num_threads(), in_a_new_thread())),
    )
    assert len(inside) == 1 + len(result.iterations)
    assert set(inside) == {1}
    assert between == [(2, 2)] * len(result.iterations)
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("step", ["prepare", "fit"])
def test_an_error_in_the_engine_gives_the_threads_back(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any, **options: Any) -> Any:
        raise MemoryError(f"{step} in {torch.get_num_threads()} thread")

    monkeypatch.setattr(linear_engine, step, broken)
    features, labels = rows_of()
    with pytest.raises(MemoryError, match=f"^{step} in 1 thread$"):
        score_rows(features, labels, settings=SETTINGS, seed=1, device="cpu")
    assert torch.get_num_threads() == 2
    assert in_a_new_thread() == 2


@pytest.mark.parametrize(
    ("precision", "rows", "width", "classes"),
    [
        ("in_float64", 300, 200, 3),
        pytest.param("in_float32", 2500, 200, 3, id="rotated into the sample's basis"),
        pytest.param("in_float32", 3000, 40, 2, id="in the features' columns"),
        pytest.param("in_float32", 3000, 40, 25, id="own rows"),
    ],
)
def test_the_same_bits_in_any_number_of_torch_threads(
    precision: str,
    rows: int,
    width: int,
    classes: int,
    request: pytest.FixtureRequest,
    torch_threads: Callable[[int], None],
) -> None:
    request.getfixturevalue(precision)
    features, labels = rows_of(rows, width, classes)
    settings = FilterSettings(target_size=rows - 1, train_size=rows // 3, slice_size=1, n_partitions=16)
    scored = []
    for count in (1, 2, 3):
        torch_threads(count)
        scored.append(score_rows(features, labels, settings=settings, seed=1, device="cpu"))
    for other in scored[1:]:
        np.testing.assert_array_equal(other.predictability, scored[0].predictability)
        np.testing.assert_array_equal(other.label_probability, scored[0].label_probability)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="lists the process's threads as Linux does")
@pytest.mark.parametrize("imports", [IMPORTS, IMPORTS[::-1]], ids=["torch first", "torch last"])
def test_no_thread_of_torchs_is_started_whatever_is_imported_first(imports: list[str]) -> None:
    """torch starts OpenMP's threads with the first operation that it shares, and never ends them."""
    # As in a program that does not ask for waiting without spinning.
    left_out = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY")
    environment = {key: value for key, value in os.environ.items() if key not in left_out}
    environment["OPENBLAS_NUM_THREADS"] = "1"  # scipy's library would start one of its own, which does no harm
    script = SCRIPT.format("\n".join(imports))
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["2 0", "1"]
