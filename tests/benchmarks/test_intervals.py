"""The benchmark of intervals: what it plants is what it says, and its table says what was simulated."""

from typing import Any

import numpy as np
import pytest


@pytest.fixture
def benchmark() -> Any:
    from benchmarks import intervals

    return intervals


@pytest.mark.parametrize(("grouping", "groups", "largest"), [("1", 100, 1), ("3", 34, 3), ("2 to 27", 18, 27)])
def test_groups_have_all_rows(benchmark: Any, grouping: str, groups: int, largest: int) -> None:
    sizes = benchmark.group_sizes(100, grouping)
    assert (sizes.sum(), len(sizes), sizes.max()) == (100, groups, largest)


@pytest.mark.parametrize("grouping", ["1", "3", "2 to 27"])
def test_the_planted_variance_is_that_of_the_differences(benchmark: Any, grouping: str) -> None:
    sizes = benchmark.group_sizes(200, grouping)
    for trainings in benchmark.TRAININGS:
        rng = np.random.default_rng(0)
        ((differences, _, _),) = benchmark._drawn(3, sizes, trainings, 4000, rng)
        variance, degrees = benchmark._truth(3, sizes, trainings)
        # the deviation of a variance from 4,000 draws is 2 % of it
        assert differences.var() == pytest.approx(variance, rel=0.1), trainings
        assert abs(differences.mean()) < 4 * np.sqrt(variance / 4000)
        assert 2 <= degrees < 250


@pytest.mark.parametrize(
    ("seeds", "grouping", "rows", "deviations"),
    [(2, "1", 3000, (4, 0)), (3, "1", 3000, (3.1, 0.7)), (3, "3", 200, (1, 1)), (5, "3", 30, (0, 0))],
)
def test_null_effects_are_rarely_called_effects(
    benchmark: Any, seeds: int, grouping: str, rows: int, deviations: tuple[float, float]
) -> None:
    pair = tuple(benchmark.Training(one) for one in deviations)
    found = benchmark.outcome(seeds, grouping, rows, pair, 1500)
    # 7 % at most, and two deviations of a share of 1,500 draws
    assert found.false_verdicts <= 0.07 + 2 * np.sqrt(0.07 * 0.93 / 1500)
    assert found.over_same_degrees >= 0.75


@pytest.mark.parametrize("accuracy", [0.6, 0.95])
def test_wilsons_interval_holds_the_accuracy_at_the_effective_rows(benchmark: Any, accuracy: float) -> None:
    by_rows, effective = benchmark._held(benchmark.group_sizes(600, "3"), accuracy, 600, np.random.default_rng(0))
    assert by_rows < 0.85
    assert effective > 0.93


def test_the_table_says_what_was_simulated(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    lines = benchmark.main(["--simulations", "50", "--rows", "30", "--seeds", "2"])
    assert capsys.readouterr().out.startswith("\n".join(lines))
    assert "| seeds | groups of | rows | 0, 0 | 1, 1 | 4, 4 |" in lines[1]
    assert [line.split("|")[2].strip() for line in lines if line.startswith("| 2 |")] == ["1", "3"] * 3
    assert any(line.startswith("\n18 cells of 50 simulations: at most ") for line in lines)


def test_intervals_over_rows_alone_call_too_much_an_effect(benchmark: Any) -> None:
    uneven = (benchmark.Training(3.1), benchmark.Training(0.7))
    assert benchmark.rows_alone(benchmark.group_sizes(3000, "1"), uneven, 300) > 0.4
    fixed = (benchmark.FIXED, benchmark.FIXED)
    assert benchmark.rows_alone(benchmark.group_sizes(200, "3"), fixed, 300) > 0.2
    assert benchmark.rows_alone(benchmark.group_sizes(200, "1"), fixed, 300) < 0.08
