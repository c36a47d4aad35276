"""Planted benchmarks of more than filtered with its control: sizes, rankings, fine-tuning, second phases."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.records import (
    BenchmarkData,
    Cell,
    FineTuned,
    RankingOverlap,
    RankingPair,
    TestSet,
)
from aflite_assets.analysis.inputs.weak_models import SecondPhase, WeakModelFacts
from aflite_assets.analysis.scores.accuracy import correct_rows, score
from aflite_assets.studies.forgettables.analysis.records import Agreement, Forgettables, threshold_curve
from tests.planted_reports import done_cell, hand_written_benchmark, planted_benchmark, text_examples

# Parts of a challenge set

PARTS: dict[tuple[str | None, str | None, str | None], tuple[int, float]] = {
    (None, None, "yes"): (4, 50),
    (None, None, "no"): (4, 75),
    ("kind", "x", None): (4, 62.5),
    ("kind", "x", "yes"): (2, 25),
    ("kind", "x", "no"): (2, 100),
    ("kind", "y", None): (4, 62.5),
    ("kind", "y", "yes"): (2, 75),
    ("kind", "y", "no"): (2, 50),
    ("rule", None, None): (3, 200 / 3),
    ("rule", None, "yes"): (2, 50),
    ("rule", None, "no"): (1, 100),
}
"""Of `odd` by `p`, trained on filtered and on random of `a`: rows of each part and the difference in points."""


def cell_accuracy(cell: Cell, test_set: TestSet, mask: np.ndarray | None = None) -> float | None:
    """Share of right predictions in [0, 1] over the rows of the mask; None if there is no score or no row."""
    rows = np.ones(len(test_set.row_ids), dtype=bool) if mask is None else mask
    return score([correct_rows(cell, test_set)], rows, None).accuracy


def other_cell(train_set: str, right: str, seed: int = 0) -> Cell:
    """Evaluator `p` on a train set of representation `a`; a bit per row of `odd`."""
    predicted = [row % 2 if bit == "1" else 1 - row % 2 for row, bit in enumerate(right)]
    said = {"test_set": ["odd"] * 8, "row_id": [*range(8)], "predicted": predicted}
    return Cell("p", train_set, "a", seed, 30, "done", None, pa.table(said))


# Train sets by size

SIZES = {"60": 60, "45": 45}
"""Earlier sizes of representation `a`, by name."""


@pytest.fixture(scope="session")
def by_size(by_hand: BenchmarkData) -> BenchmarkData:
    """Evaluator `p` on two earlier sizes of `a`; the larger ones are right as random and as filtered are."""
    cells = [cell for cell in by_hand.cells if cell.evaluator == "p" and cell.representation == "a"]
    more = [
        replace(cell, train_set=f"{cell.train_set}_{name}", train_rows=rows) for name, rows in SIZES.items()
        for cell in cells
    ]  # fmt: skip
    return hand_written_benchmark(cells=(*by_hand.cells, *more))


# Two rankings of one representation

OTHER = "roberta_by_predictability"
OVERLAP = RankingOverlap("roberta", OTHER, "filtered", 1200, 400, 400, 200, 1 / 3, 0.2002)
PAIR = RankingPair("roberta", OTHER, ("vocabulary", "predictability"), (OVERLAP,))
Shares = tuple[float, float, float]
KEPT_BY: Mapping[str, Shares] = {"roberta": (0.80, 0.70, 0.70), OTHER: (0.80, 0.70, 0.55)}
"""Shares right of removed and kept test rows and of challenge rows: 15 points more on `hans` alone, by vocabulary."""


def ranked_cells(
    test_sets: tuple[TestSet, ...], shares: Mapping[str, Shares], *, train_set: str = "filtered", seeds: int = 3
) -> tuple[Cell, ...]:
    """`linear` on what either ranking kept, the two with right rows of their own."""
    return tuple(
        replace(
            done_cell(test_sets, right, evaluator="linear", train_set=train_set, seed=100 * place + seed, train_rows=9),
            representation=name,
            seed=seed,
        )
        for place, (name, right) in enumerate(shares.items())
        for seed in range(seeds)
    )


@pytest.fixture(scope="session")
def make_ranked(planted: BenchmarkData) -> Callable[..., BenchmarkData]:
    def make(shares: Mapping[str, Shares] = KEPT_BY, *, seeds: int = 3, **changes: Any) -> BenchmarkData:
        given: dict[str, Any] = {
            "filtered": (*planted.filtered, replace(planted.filtered[0], representation=OTHER)),
            "cells": ranked_cells(planted.test_sets, shares, seeds=seeds),
            "rankings": {"roberta": PAIR},
        }
        return planted_benchmark(**(given | changes))

    return make


@pytest.fixture(scope="session")
def ranked(make_ranked: Callable[..., BenchmarkData]) -> BenchmarkData:
    return make_ranked()


# Fine-tuning on a challenge set

TUNED: dict[tuple[str, str | None], list[str]] = {
    ("full", None): ["11110000", "11111100"],
    ("random", "a"): ["11000000", "11110000"],
    ("filtered", "a"): ["11111110", "11111111"],
    ("random", "b"): ["00000000", "00000000"],
}
"""Which rows of `odd` are right after fine-tuning `p` on it, a seed after the other; `b` has no filtered result."""


def _tuned_cell(train_set: str, representation: str | None, seed: int, right: str) -> Cell:
    said = {
        "test_set": ["test"] * 6 + ["odd"] * 8,
        "row_id": [*range(10, 16), *range(8)],
        "predicted": [row % 2 for row in range(6)]
        + [row % 2 if bit == "1" else 1 - row % 2 for row, bit in enumerate(right)],
    }
    return Cell("p_odd", train_set, representation, seed, 90, "done", None, pa.table(said))


@pytest.fixture(scope="session")
def tuned(by_hand: BenchmarkData) -> BenchmarkData:
    """The hand-written benchmark with `p_odd`, which is `p` fine-tuned on `odd` and on a set that is missing."""
    cells = [_tuned_cell(*key, seed, right) for key, seeds in TUNED.items() for seed, right in enumerate(seeds)]
    return hand_written_benchmark(
        cells=(*by_hand.cells, *cells, Cell("p_odd", "filtered", "b", 0, 30, "failed", "diverged")),
        fine_tuned={"p_odd": FineTuned("p", ("odd", "gone"))},
        missing_sets={"gone": "no file"},
    )


# Thirteen classes, of which the five likeliest are looked at

MANY_NAMES = tuple(f"c{number:02d}" for number in range(13))
ROWS = 4
FALLING = np.arange(13, 0, -1) / 91
"""Probabilities that fall from class 0 to class 12."""


def natural_of_many() -> TestSet:
    """Rows of class 0, 4, 5 and 12, of which `a` kept the first two."""
    labels, kept = np.array([0, 4, 5, 12]), np.array([True, True, False, False])
    return TestSet("test", False, np.array([3, 2, 1, 0]), labels, MANY_NAMES, {"a": kept})


def masked() -> TestSet:
    """Classes 1, 3, 5, 7, ... and 0 of the dataset, as classes 0, 1, 2, 3, ... of the set: 11 of 13."""
    own = ("c01", "c03", "c05", "c07", "c08", "c09", "c10", "c11", "c12", "c02", "c04")
    class_map = np.full(13, -1)
    for number, name in enumerate(own):
        class_map[MANY_NAMES.index(name)] = number
    labels = np.array([0, 3, 4, 5])
    return TestSet("mask", True, np.arange(4), labels, own, {}, class_map=class_map, collapse="probability")


def probable_cell(train_set: str, seed: int, probabilities: np.ndarray | None, *, predicted: int = 0) -> Cell:
    """The same probabilities for each row of both sets."""
    rows = None if probabilities is None else [probabilities.tolist()] * (2 * ROWS)
    said = pa.table(
        {
            "test_set": ["test"] * ROWS + ["mask"] * ROWS,
            "row_id": [*range(ROWS)] * 2,
            "predicted": [predicted] * (2 * ROWS),
            "probabilities": pa.array(rows or [None] * (2 * ROWS), pa.list_(pa.float32())),
        }
    )
    return Cell("net", train_set, None if train_set == "full" else "a", seed, 9, "done", None, said)


@pytest.fixture(scope="session")
def many_classes(by_hand: BenchmarkData) -> BenchmarkData:
    """Full says the classes in order with one seed and in reverse with the other; filtered gives no probabilities."""
    cells = (
        probable_cell("full", 0, FALLING),
        probable_cell("full", 1, FALLING[::-1], predicted=12),
        probable_cell("random", 0, np.full(13, 1 / 13)),
        probable_cell("filtered", 0, None),
    )
    return hand_written_benchmark(
        label_names=MANY_NAMES,
        test_sets=(natural_of_many(), masked()),
        cells=cells,
        filtered=by_hand.filtered[:1],
        examples=text_examples(112, MANY_NAMES),  # train rows are 100 to 111
    )


# Forgettable rows and second phases

FACTS = WeakModelFacts(
    rows=1_000,
    forgettable=200,
    taken=150,
    never_learnt=40,
    events={"0": 800, "1": 150, "2": 10, "never_learnt": 40},
    by_class={"entailment": {"rows": 500, "forgettable": 120, "taken": 75}},
    largest_class=0.5,
    train_accuracy=0.9,
    accuracy={"test": 0.8},
)
PHASES = {
    "net_bow": SecondPhase("net", ("forgettable rows of bow",), "bow", "forgettable", ("3 epochs at rate 1e-05",)),
    "net_random": SecondPhase("net", ("random rows of bow",), "bow", "random"),
    "net_loss_5": SecondPhase("net", ("highest_loss_5 rows of bow",), "bow", "highest_loss_5"),
    "net_loss_0_5": SecondPhase("net", ("highest_loss_0_5 rows of bow",), "bow", "highest_loss_0_5"),
}
SHARES = {
    "net": (0.9, 0.6, 0.4),
    "net_bow": (0.8, 0.5, 0.6),
    "net_random": (0.9, 0.6, 0.42),
    "net_loss_5": (0.7, 0.5, 0.5),
    "net_loss_0_5": (0.7, 0.5, 0.45),
}


def _line(
    model: str | None, name: str | None, seed: int | None, measure: str, group: str, mean: float
) -> dict[str, Any]:
    deviation = 0.2 if measure == "overlap" else 0.0
    return {
        "weak_model": model, "name": name, "seed": seed, "measure": measure, "group": group, "rows": 100, "mean": mean,
        "deviation": deviation,
    }  # fmt: skip


LINES = [
    _line(None, None, None, "overlap", "positive", 0.33),
    _line("bow", "forgettable", None, "overlap", "positive", 0.25),
    _line("bow", "random", 0, "overlap", "positive", 0.32),
    _line("bow", "random", 1, "overlap", "positive", 0.34),
    _line("bow", "highest_loss", None, "overlap", "positive", 0.5),
    _line("bow", "never_learnt", None, "cue = x", "all rows", 0.0),
]


@pytest.fixture(scope="session")
def forgotten(planted: BenchmarkData) -> BenchmarkData:
    """The planted benchmark with one weak model and four second phases, three seeds each."""
    sets = planted.test_sets
    cells = [
        done_cell(sets, shares, evaluator=name, train_set=train_set, seed=seed, train_rows=rows)
        for name, shares in SHARES.items()
        for seed in range(3)
        for train_set, rows in (("full", 1_200), *([("random", 150)] if name == "net" else []))
    ]
    alone = [cell for cell in cells if cell.train_rows == 150]
    cells = [cell for cell in cells if cell.train_rows != 150] + [
        replace(cell, train_set=train_set, representation=None)
        for train_set in ("forgettable_bow", "random_forgettable_bow")
        for cell in alone
    ]
    steps = np.linspace(0, 1, 101)
    forgettables = Forgettables(
        models={"bow": FACTS},
        failed={"lstm": "ModelError: it diverged"},
        agreement=(Agreement("bow, seed 0", "bow, seed 1", 200, 180, 90, 90 / 290, 0.1),),
        minorities=pa.Table.from_pylist(LINES),
        phases=PHASES,
        cells=tuple(cells),
        overlap={"test": np.linspace(0, 1, 1_000)},
        positive=0,
        thresholds=tuple(threshold_curve("net", "hans", "entailment", steps, 1 - steps / 2, 3)),
    )
    return replace(planted, studies={"forgettable_sets": forgettables})
