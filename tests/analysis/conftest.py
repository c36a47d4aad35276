"""Fixtures of planted benchmarks, for the tests of this folder."""

from tests.planted_comparisons import by_size, forgotten, make_ranked, many_classes, ranked, tuned
from tests.planted_reports import (
    by_hand,
    done_cell_fixture,
    feature_examples_fixture,
    hostile,
    image_examples_fixture,
    make_by_hand,
    make_planted,
    planted,
    shown_values_fixture,
    with_rows,
    with_weak_models,
)

__all__ = [
    "by_hand",
    "by_size",
    "done_cell_fixture",
    "feature_examples_fixture",
    "forgotten",
    "hostile",
    "image_examples_fixture",
    "make_by_hand",
    "make_planted",
    "make_ranked",
    "many_classes",
    "planted",
    "ranked",
    "shown_values_fixture",
    "tuned",
    "with_rows",
    "with_weak_models",
]
