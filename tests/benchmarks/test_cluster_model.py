"""The model of a cluster's traffic: its bytes are those of the records that travel, its seconds their sums."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import FilterSettings, filter_dataset
from aflite_assets.algorithm.inputs import check_inputs
from aflite_assets.algorithm.linear.engine import SetCounts
from aflite_assets.algorithm.spreading import IterationWork, PartitionScorer

ROWS, WIDTH = 20_000, 64


@pytest.fixture
def model() -> Any:
    from benchmarks import cluster_model

    return cluster_model


@dataclass
class Weighed:
    """Two scorers of this process, and the pickled bytes of what they were asked and answered."""

    scorer: PartitionScorer
    count: int = 2
    asked: list[int] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)

    def score(self, work: IterationWork, numbers: Sequence[range]) -> Iterator[SetCounts]:
        self.asked.append(len(pickle.dumps(work, 5)))
        for part in numbers:
            counted = self.scorer.score(work, part)
            self.answered.append(len(pickle.dumps(counted, 5)))
            yield counted


def test_modelled_bytes_are_those_that_travel(model: Any) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, ROWS)
    features = (rng.normal(size=(ROWS, WIDTH)) + rng.normal(size=(3, WIDTH))[labels] * 0.2).astype(np.float32)
    settings = FilterSettings(target_size=19_800, train_size=2000, slice_size=200, n_partitions=8, threshold=0.0)
    inputs = check_inputs(features, labels, groups=None, score_only=None, memory_limit=2**30)
    weighed = Weighed(PartitionScorer(inputs, settings, seed=0, memory_limit=2**30))
    filter_dataset(features, labels, settings=settings, seed=0, scorers=weighed)
    modelled = model.Filter(ROWS, width=WIDTH, partitions=8)
    for number, pool in enumerate((ROWS, 19_800)):
        moved = model.iteration_bytes(modelled, pool)
        asked, answered = weighed.asked[number], sum(weighed.answered[2 * number : 2 * number + 2])
        assert asked == pytest.approx(moved.pool + (moved.start if number else 0), abs=2000)
        assert answered == pytest.approx(2 * moved.counts + moved.classifiers, abs=2000)
        assert moved.through_driver(2) == pytest.approx(2 * asked + answered, abs=6000)


def test_predictions_by_class_are_left_out_where_the_filter_leaves_them_out(model: Any) -> None:
    few, many = (model.iteration_bytes(model.Filter(rows), rows) for rows in (5_592_405, 5_592_406))
    assert few.counts == 28 * 5_592_405
    assert many.counts == 16 * 5_592_406


def test_features_larger_than_a_nodes_memory_are_read_in_every_pass(model: Any) -> None:
    machine = model.Machine(model.GIGABIT, page_cache=4 * 1024 * 1000)
    given = {"iterations": 2, "kept": 0.5, "passes": 3}
    assert model.reads_of_features(model.Filter(1000, **given), machine) == 4 * 1024 * 1000
    assert model.reads_of_features(model.Filter(2000, **given), machine) == 4 * 1024 * (2000 + 3 * (2000 + 1500))


def test_seconds_of_a_filter(model: Any) -> None:
    machine = model.Machine(1e6, cores=2, start_up=20.0)
    costs = model.Costs(passes=4e-6, partition=1e-6, driver=1e-3, added=1e-4)
    filtering = model.Filter(1000, width=16, partitions=8, iterations=1)
    reading = 4 * 16 * 1000 / 1e6
    alone = reading + 1000 * 16 * 12e-6 / 2 + 1.0
    assert model.filter_seconds(filtering, machine, costs, 0) == pytest.approx(alone)
    moved = 3 * (8 * 1000 + 8 * 3 * 17 + 28 * 1000) + 8 * (4 * 3 * 17 + 8)
    spread = 20 + 2 * reading + 1000 * 16 * (4e-6 + 3e-6) / 2 + 1.2 + moved / 1e6
    assert model.filter_seconds(filtering, machine, costs, 3) == pytest.approx(spread)


def test_seconds_of_an_extraction(model: Any) -> None:
    machine = model.Machine(1e6, start_up=20.0)
    given = model.Extraction(4000, width=10, rate=2.0, raw_bytes=100, encoder_bytes=3e6)
    reading = 0.4 + 3.0
    assert model.extraction_seconds(given, machine, 0) == pytest.approx(2000 + reading)
    joined = (4 * 8 * 4000 + 44 * 4000 + 40 * 4000) / 1e6
    assert model.extraction_seconds(given, machine, 4) == pytest.approx(20 + 500 + reading + joined)


def test_from_where_it_pays(model: Any) -> None:
    alone, spread = (lambda rows: rows / 1000), (lambda rows: 20 + rows / 4000)
    assert model.pays_from(alone, spread) == round(10**4.5)
    assert model.pays_from(alone, spread, times=2) == 100_000
    assert model.pays_from(alone, spread, times=4) is None


def test_the_tables_are_those_of_the_page(model: Any) -> None:
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text(encoding="utf-8")
    for table in model.tables().split("\n\n"):
        assert table in page
