import numpy as np
import pytest

from benchmarks.detection import bounds, count_hits, has_artefact, is_named, scanned
from benchmarks.detection_kinds import ELSEWHERE, PLANTED, draw_carriers, draw_texts, null_groups


def test_bounds_are_exact() -> None:
    assert bounds(0, 100) == pytest.approx((0.0, 0.0362), abs=1e-4)
    assert bounds(40, 40) == pytest.approx((0.9119, 1.0), abs=1e-4)


def test_carriers_have_the_strength() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 20_000)
    has = draw_carriers(rng, labels, 0.3)
    assert has[labels == 1].mean() == pytest.approx(0.3, abs=0.02)
    assert has[labels == 0].mean() == pytest.approx(ELSEWHERE, abs=0.01)


def test_draws_depend_on_the_generator_alone() -> None:
    assert draw_texts(np.random.default_rng(3), 5) == draw_texts(np.random.default_rng(3), 5)
    assert draw_texts(np.random.default_rng(3), 5) != draw_texts(np.random.default_rng(4), 5)


def test_authors_of_one_class_write_more() -> None:
    rows = null_groups(np.random.default_rng(0)).rows
    assert rows.groups is not None
    sizes = {label: np.bincount(rows.groups[rows.labels == label]) for label in (0, 1)}
    means = {label: own[own > 0].mean() for label, own in sizes.items()}
    assert means[1] > 2 * means[0]


def test_a_planted_draw_is_counted_as_named_and_its_labels_shuffled_are_not() -> None:
    drawn = PLANTED["id range"](np.random.default_rng(0), 0.6)
    result = scanned(drawn, 0)
    assert drawn.carriers is not None
    assert is_named(result, drawn.carriers)
    assert has_artefact(result)
    assert not is_named(result, ~drawn.carriers)
    hits, seconds = count_hits(lambda rng: drawn, lambda result, drawn: has_artefact(result), seed=0, draws=2)
    assert hits == 2
    assert seconds > 0
