"""Second phases from planted cells: differences to their start and to random rows, and what pairs share."""

from dataclasses import replace

import numpy as np
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.inputs.weak_models import SecondPhase
from aflite_assets.analysis.intervals import CrossedInterval, crossed_interval
from aflite_assets.analysis.scores.accuracy import finished_rows
from aflite_assets.studies.forgettables.analysis.records import Forgettables
from tests.planted_comparisons import PHASES


def paired_interval(first: list[np.ndarray], second: list[np.ndarray]) -> CrossedInterval:
    """The interval of the differences of trainings in pairs."""
    return crossed_interval([one.astype(float) - other for one, other in zip(first, second, strict=True)], None)


def phases(data: BenchmarkData) -> list[Difference]:
    return [one for one in analyse(data).of(DIFFERENCES) if one.comparison == "second phase"]


def test_the_control_is_the_phase_on_random_rows_of_the_same_model(forgotten: BenchmarkData) -> None:
    forgettables = Forgettables.of(forgotten)
    assert [forgettables.control_of(name) for name in PHASES] == ["net_random", None, "net_random", "net_random"]
    assert forgettables.starts == ("net",)


def test_a_phase_on_cut_rows_is_compared_with_the_phase_on_as_many_of_the_other_model(forgotten: BenchmarkData) -> None:
    """EACL 2021, footnote 2: F(BoW) cut to the size of F(BERT) against F(BERT)."""
    given = Forgettables.of(forgotten)
    named = {
        "net_random": SecondPhase("net", ("random rows of own",), "own", "random"),
        "net_loss_5": SecondPhase("net", ("forgettable rows of own",), "own", "forgettable"),
        "net_bow": SecondPhase("net", ("cut rows",), "bow", "forgettable_as_many_as_own", as_many_as="own"),
    }
    changed = replace(given, phases=named)
    assert changed.control_of("net_bow") == changed.control_of("net_loss_5") == "net_random"
    assert [changed.rival_of(name) for name in named] == [None, None, "net_loss_5"]
    found = {
        (one.evaluator, one.against_evaluator): one
        for one in phases(replace(forgotten, studies={"forgettable_sets": changed}))
        if one.whole and one.test_set == "hans"
    }
    gap = found["net_bow", "net_loss_5"]
    assert gap.difference == pytest.approx(10)
    assert (gap.side, gap.why) == (None, "not the control")
    assert ("net_loss_5", "net_bow") not in found


def test_differences_to_random_rows_are_judged_and_those_to_the_start_are_not(forgotten: BenchmarkData) -> None:
    found = {(one.evaluator, one.against_evaluator, one.test_set): one for one in phases(forgotten) if one.whole}
    gain = found["net_bow", "net_random", "hans"]
    assert gain.difference == pytest.approx(18)
    assert (gain.side, gain.deciding, gain.train_set, gain.against) == ("above", True, "full", "full")
    assert gain.adjusted_p == gain.p_value is not None
    assert not any(one.deciding for one in found.values() if one is not gain)
    start = found["net_bow", "net", "hans"]
    assert start.difference == pytest.approx(20)
    assert (start.side, start.why) == (None, "not the control")
    assert ("net_random", "net", "hans") in found
    assert ("net_random", "net_random", "hans") not in found
    assert {one.representation for one in found.values()} == {None}


def test_trainings_are_paired_by_seed(forgotten: BenchmarkData) -> None:
    forgettables, hans = Forgettables.of(forgotten), forgotten.test_sets[-1]
    first, second = (finished_rows(forgettables.cells_of(name), hans) for name in ("net_bow", "net_random"))
    assert len(first) == len(second) == 3
    interval = paired_interval(first, second)
    gain = next(one for one in phases(forgotten) if one.whole and (one.test_set, one.deciding) == ("hans", True))
    assert (gain.evaluator, gain.against_evaluator) == ("net_bow", "net_random")
    assert (gain.difference, gain.low, gain.high) == (interval.difference, interval.low, interval.high)
    assert (gain.p_value, gain.degrees_of_freedom) == (interval.p_value, interval.degrees_of_freedom)
    assert gain.counts_training
    left = {"net_bow": (0, 1), "net_random": (1, 2)}
    cells = tuple(one for one in forgettables.cells if one.seed in left.get(one.evaluator, (0, 1, 2)))
    pair = phases(replace(forgotten, studies={"forgettable_sets": replace(forgettables, cells=cells)}))
    assert not next(one for one in pair if one.whole and one.deciding).counts_training  # one seed in common


def test_without_second_phases_there_is_no_difference(planted: BenchmarkData) -> None:
    assert phases(planted) == []


def test_pairs_share_what_their_seeds_have_in_common() -> None:
    rng = np.random.default_rng(0)
    before = [rng.random(600) < share for share in (0.5, 0.6, 0.7, 0.8)]
    after = [rows | (rng.random(600) < 0.1) for rows in before]
    paired, apart = paired_interval(after, before), crossed_interval(after, before)
    assert paired.difference == pytest.approx(apart.difference)
    assert paired.high - paired.low < (apart.high - apart.low) / 4
    assert paired.low > 0 > apart.low


def test_paired_intervals_keep_their_promise() -> None:
    """Seeds that move both sides alike, and a true gain of 5 points: covered in 95 % of the draws."""
    rng, draws, rows = np.random.default_rng(1), 400, 300
    covered = 0
    for _ in range(draws):
        easiness = rng.random(rows)
        before, after = [], []
        for shift in rng.normal(0, 0.1, 4):
            level = np.clip(easiness + shift, 0, 0.95)
            before.append(rng.random(rows) < level)
            after.append(rng.random(rows) < level + 0.05)
        interval = paired_interval(after, before)
        covered += interval.low <= 5 <= interval.high
    assert 0.92 <= covered / draws <= 1
