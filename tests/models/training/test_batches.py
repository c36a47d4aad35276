import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.models.classifiers import new_classifier
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.training import batches
from aflite_assets.models.training.batches import (
    EpochSampler,
    TrainBatches,
    epoch_order,
    loader_workers,
    reading_threads,
    train_batches,
)
from aflite_assets.specs.models.settings import ImageModelSpec, TextModelSpec

CPU = torch.device("cpu")
IMAGES = ImageModelSpec(
    kind="timm_image", architecture="test_resnet", image_size=8, epochs=1, batch_size=4, augmentation="flip_crop"
)


@given(
    lengths=st.lists(st.integers(1, 60), min_size=1, max_size=300),
    batch_size=st.integers(1, 9),
    seed=st.integers(0, 2**40),
    epoch=st.integers(0, 50),
)
def test_an_epoch_has_every_row_once(lengths: list[int], batch_size: int, seed: int, epoch: int) -> None:
    order = epoch_order(len(lengths), batch_size=batch_size, lengths=np.array(lengths), seed=seed, epoch=epoch)
    assert order.dtype == np.int64
    assert sorted(order) == list(range(len(lengths)))


def _batches(order: np.ndarray, lengths: np.ndarray, batch_size: int) -> list[np.ndarray]:
    return [lengths[order[start : start + batch_size]] for start in range(0, len(order), batch_size)]


def _padding(parts: Sequence[np.ndarray]) -> int:
    return sum(int((part.max() - part).sum()) for part in parts)


def test_batches_hold_rows_of_like_length() -> None:
    lengths = np.random.default_rng(0).integers(4, 120, 5003)
    order = epoch_order(5003, batch_size=10, lengths=lengths, seed=1, epoch=0)
    found = _batches(order, lengths, 10)
    plain = _batches(np.random.default_rng(0).permutation(5003), lengths, 10)
    # 500 rows of 116 lengths are sorted at a time: 10 of them span two or three lengths.
    assert _padding(found) < _padding(plain) / 20
    assert max(int(part.max() - part.min()) for part in found[:-1]) <= 12
    assert found[0].max() == lengths.max()
    assert len(found[-1]) == 3
    # Parts of a batch are of like length too, and the batches come in no order of lengths.
    assert _padding(_batches(order, lengths, 5)) < _padding(found)
    means = np.array([part.mean() for part in found])
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) < 0.2


def test_the_order_is_of_the_seed_and_the_epoch() -> None:
    lengths = np.random.default_rng(0).integers(4, 120, 200)

    def order(seed: int, epoch: int) -> list[int]:
        return epoch_order(200, batch_size=10, lengths=lengths, seed=seed, epoch=epoch).tolist()

    assert order(3, 0) == order(3, 0)
    assert order(3, 0) != order(3, 1)
    assert order(3, 0) != order(4, 0)
    assert order(3, 0)[:10] != order(3, 1)[:10]


@pytest.mark.parametrize("lengths", [None, np.ones(50, np.int64)])
def test_rows_of_one_length_are_only_shuffled(lengths: np.ndarray | None) -> None:
    order = epoch_order(50, batch_size=5, lengths=lengths, seed=0, epoch=2)
    np.testing.assert_array_equal(order, epoch_order(50, batch_size=7, lengths=None, seed=0, epoch=2))
    assert order.tolist() != list(range(50))


def test_few_rows_are_not_tied_to_the_batches_of_their_length() -> None:
    lengths = np.arange(20)
    mates = {
        frozenset(epoch_order(20, batch_size=10, lengths=lengths, seed=0, epoch=epoch)[:10].tolist())
        for epoch in range(20)
    }
    assert len(mates) == 20


def _image_batches(examples: Examples, *, seed: int = 0) -> TrainBatches:
    with isolated_random_state(0):
        return train_batches(new_classifier(IMAGES, examples, lambda _: None), examples, seed=seed, device=CPU)


def _pixels(made: TrainBatches, epoch: int, *, workers: int = 0) -> dict[int, torch.Tensor]:
    loader = replace(made, workers=workers)
    sampler = EpochSampler(loader, 4, epoch)
    return {
        int(position): pixels
        for batch in loader.loader(sampler, micro_batch_size=4)
        for position, pixels in zip(batch["positions"], batch["pixel_values"], strict=True)
    }


def test_augmentation_is_of_the_seed_and_the_epoch(png_images: Callable[..., Examples]) -> None:
    examples = png_images(12)
    made = _image_batches(examples)
    first, second = _pixels(made, 0), _pixels(made, 1)
    # Whatever was drawn in between.
    again = _pixels(made, 0)
    other = _pixels(_image_batches(examples, seed=1), 0)
    assert set(first) == set(range(12))
    assert all(torch.equal(first[row], again[row]) for row in first)
    assert not all(torch.equal(first[row], second[row]) for row in first)
    assert not all(torch.equal(first[row], other[row]) for row in first)


def test_worker_processes_build_the_same_batches(png_images: Callable[..., Examples]) -> None:
    made = _image_batches(png_images(12))
    here, there = _pixels(made, 3), _pixels(made, 3, workers=2)
    assert list(here) == list(there)
    assert all(torch.equal(here[row], there[row]) for row in here)


def test_pickled_rows_build_the_same_batches(png_images: Callable[..., Examples]) -> None:
    made = _image_batches(png_images(5))
    keys = [(2, 4), (2, 0)]
    copied = pickle.loads(pickle.dumps(made)).__getitems__(keys)
    assert torch.equal(made.__getitems__(keys)["pixel_values"], copied["pixel_values"])
    assert copied["labels"].tolist() == [0, 0]
    assert copied["positions"].tolist() == [4, 0]


@pytest.mark.parametrize("bucketing", [True, False])
def test_texts_are_bucketed_if_so_set(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], bucketing: bool
) -> None:
    settings, examples = text_settings.model_copy(update={"length_bucketing": bucketing}), keyword_pairs(9)
    with isolated_random_state(0):
        made = train_batches(new_classifier(settings, examples, lambda _: None), examples, seed=0, device=CPU)
    if bucketing:
        assert made.lengths is not None
        words = [len(f"{a} {b}".split()) for a, b in zip(examples.texts(), examples.texts("text_pair"), strict=True)]
        np.testing.assert_array_equal(made.lengths, np.array(words) + 3)
    else:
        assert made.lengths is None
    assert (made.workers, made.pinned) == (0, False)


def test_worker_processes_are_for_images_beside_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = torch.device("cuda")
    monkeypatch.setenv("AFLITE_THREADS", "16")
    monkeypatch.setattr(batches.shutil, "disk_usage", lambda _: SimpleNamespace(free=64 * 2**30))
    assert loader_workers(images=True, device=gpu) == 15
    assert loader_workers(images=False, device=gpu) == 0
    assert loader_workers(images=True, device=CPU) == 0
    with monkeypatch.context() as daemon:
        daemon.setattr(batches, "current_process", lambda: SimpleNamespace(daemon=True))
        assert loader_workers(images=True, device=gpu) == 0
    monkeypatch.setenv("AFLITE_THREADS", "1")
    assert loader_workers(images=True, device=gpu) == 0
    monkeypatch.setenv("AFLITE_THREADS", "96")
    assert loader_workers(images=True, device=gpu) == 16


@pytest.mark.parametrize(("free", "workers"), [(2**26, 0), (2**30 - 1, 0), (2**30, 4), (2**31, 8), (2**35, 15)])
def test_worker_processes_have_shared_memory(monkeypatch: pytest.MonkeyPatch, free: int, workers: int) -> None:
    monkeypatch.setenv("AFLITE_THREADS", "16")
    monkeypatch.setattr(batches.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    monkeypatch.setattr(batches.Path, "is_dir", lambda _: True)
    assert loader_workers(images=True, device=torch.device("cuda")) == workers
    monkeypatch.setattr(batches.Path, "is_dir", lambda _: False)
    assert loader_workers(images=True, device=torch.device("cuda")) == 15


@pytest.mark.parametrize(("cores", "threads"), [(1, 0), (4, 3), (96, 8)])
def test_threads_read_images_beside_a_gpu(monkeypatch: pytest.MonkeyPatch, cores: int, threads: int) -> None:
    monkeypatch.setenv("AFLITE_THREADS", str(cores))
    assert reading_threads(images=True, device=torch.device("cuda")) == threads
    assert reading_threads(images=False, device=torch.device("cuda")) == 0
    assert reading_threads(images=True, device=CPU) == 0
