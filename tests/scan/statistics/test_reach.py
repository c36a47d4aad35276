"""The strength from which on cues are found: for rows alone, for groups of any size, and by the tests themselves."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csc_array

from aflite_assets.scan.statistics.cuts import draw_cut
from aflite_assets.scan.statistics.effects import measure_effects
from aflite_assets.scan.statistics.reach import NOT_FOUND, Bounds, measure_reach, spread_of
from aflite_assets.scan.statistics.testing import over_cuts, permutation_p_values, score_p_values

BOUNDS = Bounds(balanced=0.55, carriers=30, artefact_p=0.005 / 20, candidate_p=0.025 / 20 / 5.5)
ALONE = Bounds(balanced=0.55, carriers=30, artefact_p=0.005, candidate_p=0.025)
Test = Callable[..., float]


def _herds(herds: int, spread: float, rows: float, seed: int = 0) -> np.ndarray:
    """Return the herd of each row; `spread`: standard deviation of the logarithm of a herd's size."""
    drawn = np.random.default_rng(seed).normal(size=herds)
    return np.repeat(
        np.arange(herds), np.maximum(1, np.rint(rows * np.exp(spread * drawn - spread**2 / 2))).astype(int)
    )


def test_rows_alone_count_as_they_are() -> None:
    labels = np.arange(1_200) % 2 == 0
    spread = spread_of(labels, np.arange(1_200))
    assert (spread.inside, spread.outside, spread.base) == (600, 600, 0.5)
    found = measure_reach(labels, np.arange(1_200), BOUNDS)
    assert found.detectable == found.detectable_artefact == pytest.approx(0.605, abs=0.005)
    more = measure_reach(np.arange(60_000) % 2 == 0, np.arange(60_000), BOUNDS)
    assert more.detectable == pytest.approx(0.56, abs=0.005)
    rare = measure_reach(np.arange(3_000) % 20 == 0, np.arange(3_000), BOUNDS)
    assert rare.detectable == pytest.approx(0.63, abs=0.01)


def test_rows_of_a_group_with_one_class_count_as_the_effective_number_of_groups() -> None:
    units = _herds(300, 0.8, 8)
    labels = units % 2 == 0
    sizes = np.bincount(units).astype(float)
    spread = spread_of(labels, units)
    assert spread.shared == 1
    assert spread.inside == pytest.approx(sizes[::2].sum() ** 2 / (sizes[::2] ** 2).sum())
    found, of_rows = measure_reach(labels, units, BOUNDS), measure_reach(labels, np.arange(len(units)), BOUNDS)
    assert found.detectable_artefact > of_rows.detectable_artefact + 0.08
    assert found.detectable > found.detectable_artefact


def test_groups_whose_rows_are_unalike_count_as_rows_in_the_interval() -> None:
    units = _herds(300, 0.8, 8)
    labels = np.random.default_rng(1).random(len(units)) < 0.5
    spread = spread_of(labels, units)
    assert spread.shared < 0.05
    assert spread.inside == pytest.approx(labels.sum(), rel=0.35)


def test_few_unequal_groups_show_no_candidate_of_any_strength() -> None:
    units = _herds(37, 1.0, 30)
    mixed = np.random.default_rng(1).random(len(units)) < 0.5
    found = measure_reach(mixed, units, BOUNDS)
    assert found.detectable == NOT_FOUND
    assert 0.6 < found.detectable_artefact < 0.7
    assert measure_reach(units % 2 == 0, units, BOUNDS).detectable_artefact == NOT_FOUND


def test_too_few_carriers_are_not_found() -> None:
    labels = np.arange(100) % 2 == 0
    assert measure_reach(labels, np.arange(100), Bounds(0.55, 30, 0.05, 0.05)).detectable == NOT_FOUND


def _score(present: np.ndarray, labels: np.ndarray, units: np.ndarray, rng: np.random.Generator) -> float:
    return float(score_p_values(csc_array(present[:, None]), np.array([1]), labels, units)[0])


def _permuted(present: np.ndarray, labels: np.ndarray, units: np.ndarray, rng: np.random.Generator) -> float:
    return float(permutation_p_values(present[:, None].astype(np.float32), np.array([1]), labels, units, rng)[0])


def _is_found(units: np.ndarray, strength: float, test: Test, p_value: float, rng: np.random.Generator) -> bool:
    """Draw labels and a cue that are constant in every group, and return whether the scan's conditions hold."""
    of_units = rng.permutation(int(units.max()) + 1) % 2
    carried = rng.random(len(of_units)) < np.where(of_units == 1, strength, 1 - strength)
    labels, present = of_units[units], carried[units].astype(float)
    p_values, lows = [], []
    for _ in range(5):
        rows = draw_cut(np.arange(len(units)), labels, units, rng).tested_on
        effects = measure_effects(csc_array(present[rows, None]), labels[rows] == 1, units[rows])
        lows.append(float(effects.low[0]))
        p_values.append(test(present[rows], labels[rows], units[rows], rng))
    return bool(np.median(lows) >= ALONE.balanced and over_cuts(p_values, 5) / 2 <= p_value)


@pytest.mark.parametrize(
    ("herds", "spread", "rows", "draws"), [(200, 0.8, 6, 40), (90, 0.5, 6, 40), (600, 0, 1, 40), (60, 0.2, 10, 40)]
)
def test_candidates_of_the_stated_strength_are_found_in_four_of_five_draws(
    herds: int, spread: float, rows: float, draws: int
) -> None:
    units = _herds(herds, spread, rows)
    stated = measure_reach(units % 2 == 0, units, ALONE).detectable
    rng = np.random.default_rng(0)
    found = sum(_is_found(units, stated, _score, ALONE.candidate_p, rng) for _ in range(draws))
    weaker = sum(_is_found(units, stated - 0.08, _score, ALONE.candidate_p, rng) for _ in range(draws))
    assert found >= 0.8 * draws
    assert weaker <= 0.7 * draws


@pytest.mark.parametrize(("herds", "spread", "rows"), [(200, 0.8, 4), (90, 0.5, 4)])
def test_artefacts_of_the_stated_strength_are_found_in_four_of_five_draws(
    herds: int, spread: float, rows: float
) -> None:
    units = _herds(herds, spread, rows)
    stated = measure_reach(units % 2 == 0, units, ALONE).detectable_artefact
    rng = np.random.default_rng(1)
    assert sum(_is_found(units, stated, _permuted, ALONE.artefact_p, rng) for _ in range(20)) >= 16
