"""Random rows beside forgettable ones: by class, or of any class as the paper has them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.specs.forgettables import ForgettablesSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.evaluation.forgettable_sets import random_rows

BAG = {"kind": "siamese_bag"}


@pytest.mark.parametrize(("rows", "alike"), [("by_class", 20), ("any_class", 0)])
def test_classes_of_the_random_rows(rows: Any, alike: int) -> None:
    labels = np.repeat([0, 1], [900, 100])
    full = Examples(pa.table({"row_id": np.arange(1000), "label": labels}), ("a", "b"))
    taken = np.concatenate([np.arange(40), np.arange(900, 940)])
    entry = ForgettablesSpec.model_validate({"model": BAG, "random_rows": rows})
    draws = [random_rows(taken, entry, full, [0, seed]) for seed in range(20)]
    assert {len(set(draw.tolist())) for draw in draws} == {80}
    of_class = [int((labels[draw] == 1).sum()) for draw in draws]
    assert sum(number == 40 for number in of_class) == alike
    assert rows == "by_class" or abs(np.mean(of_class) - 8) < 2


def test_nothing_taken_draws_nothing() -> None:
    full = Examples(pa.table({"row_id": np.arange(10), "label": np.arange(10) % 2}), ("a", "b"))
    entry = ForgettablesSpec.model_validate({"model": BAG})
    assert random_rows(np.empty(0, np.int64), entry, full, [0]).tolist() == []


def test_the_papers_preset_draws_them_of_any_class() -> None:
    content = {
        "name": "pairs",
        "source": {"format": "csv", "splits": {"train": "train.csv", "test": "test.csv"}},
        "columns": {"text": "a", "text_pair": "b"},
        "representations": {"net": {"kind": "small_transformer"}},
        "evaluators": {"linear": {"kind": "linear"}},
        "forgettables": {"bow": {"model": BAG}, "own": {"model": BAG, "random_rows": "by_class"}},
    }
    ours, paper = (parse_spec(content | {"filter": settings}).forgettables for settings in ({}, {"preset": "paper"}))
    assert [one.random_rows for one in ours.values()] == ["by_class", "by_class"]
    assert [one.random_rows for one in paper.values()] == ["any_class", "by_class"]
    assert "random_rows" not in ours["bow"].model_dump()
