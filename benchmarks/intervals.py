"""How often the report's intervals call a null effect an effect, and their power: `python -m benchmarks.intervals`.

Parameter grid: 2, 3 and 5 trainings on each side; test rows in groups of 1 and 3 (the rows of a group are answered
alike), or of 2 to 27 rows; 30, 200 and 3,000 rows; the deviations of trainings in points on the two sides of
`TRAININGS`. Half of the groups are answered right with chance 0.8, half with 0.3; on each side every group is 0.1
easier or harder, which stays from training to training; every training adds its own shift to all rows, and draws its
answers anew unless it is "fixed" (the same answers at every seed, as of a linear model on a fixed train set). The null
effect is true everywhere.

Power is at an effect that an interval with the true variance and the true degrees of freedom (Satterthwaite's formula
at the true components) finds in 80 %: the estimate is shifted by it. It is divided by that of the oracle with our
degrees of freedom in each simulation, and by that of the oracle with the true ones. A few minutes on one core.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from scipy.special import stdtrit

from aflite_assets.analysis.intervals import crossed_spread, effective_groups, effective_rows, side, wilson_interval

SEEDS, ROWS = (2, 3, 5), (30, 200, 3000)
GROUPINGS = ("1", "3", "2 to 27")
EASY, HARD, ROW_EFFECT = 0.8, 0.3, 0.1
MOST_ANSWERS = 4_000_000
"""Answers held in memory at once, per side."""


@dataclass(frozen=True)
class Training:
    """How one side's trainings differ: `deviation` of all rows together, in points; `fixed`: not at all."""

    deviation: float
    fixed: bool = False

    @property
    def text(self) -> str:
        """As in the tables."""
        return "fixed" if self.fixed else f"{self.deviation:g}"


FIXED = Training(0, fixed=True)
TRAININGS = (
    *((Training(one), Training(other)) for one, other in ((0, 0), (1, 1), (4, 4), (1, 0), (3.1, 0.7), (4, 0))),
    *((one, FIXED) for one in (Training(1), Training(4), FIXED)),
)


@dataclass(frozen=True)
class Outcome:
    """One cell of the grid: shares of simulations in [0, 1], and power over that of the two oracles."""

    false_verdicts: float
    power: float
    over_same_degrees: float
    over_true_degrees: float


def main(arguments: Sequence[str] | None = None) -> list[str]:
    """Simulate the grid and print its tables; returns their lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=4000, help="per cell")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    given = parser.parse_args(arguments)
    started = perf_counter()
    cells = {
        (seeds, grouping, rows): [outcome(seeds, grouping, rows, pair, given.simulations) for pair in TRAININGS]
        for seeds in given.seeds
        for grouping in GROUPINGS
        for rows in given.rows
        if len(group_sizes(rows, grouping)) >= 10
    }
    lines = []
    for title, value in (
        ("False verdicts, %", "false_verdicts"),
        ("Power, % of the oracle with the same degrees of freedom", "over_same_degrees"),
        ("Power, % of the oracle with the true degrees of freedom", "over_true_degrees"),
    ):
        lines += [f"\n{title}\n", *_table(cells, value)]
    found = [one for each in cells.values() for one in each]
    lines.append(
        f"\n{len(found)} cells of {given.simulations:,} simulations: at most "
        f"{100 * max(one.false_verdicts for one in found):.1f} % false verdicts, power at least "
        f"{100 * min(one.over_same_degrees for one in found):.0f} % of the oracle's with the same degrees of freedom, "
        f"{100 * min(one.over_true_degrees for one in found):.0f} % of the oracle's with the true ones\n"
    )
    lines += list(_rows_alone(given.rows, given.simulations))
    lines += list(_coverage(given.rows, given.simulations))
    print("\n".join(lines))
    print(f"\n{perf_counter() - started:.0f} s")
    return lines


def outcome(seeds: int, grouping: str, rows: int, trainings: tuple[Training, Training], simulations: int) -> Outcome:
    """One cell: the same null effect drawn `simulations` times."""
    sizes = group_sizes(rows, grouping)
    rng = np.random.default_rng([seeds, GROUPINGS.index(grouping), rows, TRAININGS.index(trainings)])
    differences, variances, degrees = (
        np.concatenate(each) for each in zip(*_drawn(seeds, sizes, trainings, simulations, rng), strict=True)
    )
    true_variance, true_degrees = _truth(seeds, sizes, trainings)
    quantiles = stdtrit(degrees, 0.975)
    effect = np.sqrt(true_variance) * (stdtrit(true_degrees, 0.975) + stdtrit(true_degrees, 0.8))
    shifted = np.abs(differences + effect)
    power = float((shifted > quantiles * np.sqrt(variances)).mean())
    same = float((shifted > quantiles * np.sqrt(true_variance)).mean())
    true = float((shifted > stdtrit(true_degrees, 0.975) * np.sqrt(true_variance)).mean())
    false = float((np.abs(differences) > quantiles * np.sqrt(variances)).mean())
    return Outcome(false, power, power / same, power / true)


def group_sizes(rows: int, grouping: str) -> np.ndarray:
    """Rows in each test group; the last may be smaller."""
    repeated = {"1": [1], "3": [3], "2 to 27": [2, 2, 3, 3, 4, 4, 6, 9, 12, 27]}[grouping]
    sizes = np.resize(repeated, rows)
    ends = np.minimum(np.cumsum(sizes), rows)
    counted = np.diff(ends, prepend=0)
    return counted[counted > 0]


def _drawn(
    seeds: int, sizes: np.ndarray, trainings: tuple[Training, Training], simulations: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Differences, their variances and degrees of freedom, as many simulations at a time as memory holds."""
    at_once = max(1, min(simulations, MOST_ANSWERS // (seeds * len(sizes))))
    for start in range(0, simulations, at_once):
        count = min(at_once, simulations - start)
        chances = rng.choice([EASY, HARD], (count, 1, len(sizes)))
        first, second = (side(_answers(chances, seeds, one, rng) * sizes, sizes) for one in trainings)
        spread = crossed_spread(first, second, effective_groups(sizes) - 1)
        gap = first.accuracies.mean(axis=-1) - second.accuracies.mean(axis=-1)
        yield gap, spread.variance, spread.degrees_of_freedom


def _answers(chances: np.ndarray, seeds: int, training: Training, rng: np.random.Generator) -> np.ndarray:
    """Return simulations x trainings x groups: 1 where the group's rows are answered right."""
    count, _, groups = chances.shape
    easier = ROW_EFFECT * rng.choice([-1, 1], (count, 1, groups))
    if training.fixed:
        return np.repeat(rng.random((count, 1, groups)) < chances + easier, seeds, axis=1)
    shifts = training.deviation / 100 * rng.standard_normal((count, seeds, 1))
    return rng.random((count, seeds, groups), dtype=np.float32) < chances + easier + shifts


def _truth(seeds: int, sizes: np.ndarray, trainings: tuple[Training, Training]) -> tuple[float, float]:
    """Variance of the difference, and Satterthwaite's degrees of freedom, from what was planted."""
    one_row = 1 / effective_groups(sizes)
    mean = (EASY + HARD) / 2
    between, groups = [], 0.0
    for training in trainings:
        shifts = 0.0 if training.fixed else (training.deviation / 100) ** 2
        noise = mean - (EASY**2 + HARD**2) / 2 - ROW_EFFECT**2 - shifts
        drawn = 1 if training.fixed else seeds
        groups += (ROW_EFFECT**2 + noise / drawn) * one_row
        between.append(0.0 if training.fixed else (shifts + noise * one_row) / seeds)
    total = groups + sum(0.0 if t.fixed else (t.deviation / 100) ** 2 / seeds for t in trainings)
    parts = sum(one**2 / (seeds - 1) for one in between) + groups**2 / (effective_groups(sizes) - 1)
    return total, total**2 / parts


def _table(cells: dict[tuple[int, str, int], list[Outcome]], value: str) -> Iterator[str]:
    heads = [f"{one.text}, {other.text}" for one, other in TRAININGS]
    yield "| seeds | groups of | rows | " + " | ".join(heads) + " |"
    yield "|--:|--:|--:|" + "--:|" * len(heads)
    for (seeds, grouping, rows), found in cells.items():
        numbers = [100 * getattr(one, value) for one in found]
        shown = [f"{one:.1f}" if value == "false_verdicts" else f"{one:.0f}" for one in numbers]
        yield f"| {seeds} | {grouping} | {rows:,} | " + " | ".join(shown) + " |"


def _rows_alone(rows: Sequence[int], simulations: int) -> Iterator[str]:
    """For comparison: false verdicts of intervals over test rows alone, three seeds."""
    yield "False verdicts of a normal interval over test rows alone, three seeds, %\n"
    yield "| rows | trainings fixed, groups of 1 | deviations 3.1 and 0.7, groups of 1 | trainings fixed, groups of 3 |"
    yield "|--:|--:|--:|--:|"
    uneven = (Training(3.1), Training(0.7))
    for count in rows:
        shares = [
            rows_alone(group_sizes(count, grouping), pair, max(200, simulations // 4))
            for pair, grouping in (((FIXED, FIXED), "1"), (uneven, "1"), ((FIXED, FIXED), "3"))
        ]
        yield f"| {count:,} | " + " | ".join(f"{100 * one:.0f}" for one in shares) + " |"
    yield ""


def rows_alone(sizes: np.ndarray, trainings: tuple[Training, Training], simulations: int) -> float:
    """Share of null effects that the mean of the rows' differences and 1.96 standard errors call an effect."""
    rng = np.random.default_rng([len(sizes), TRAININGS.index(trainings)])
    found = 0
    for _ in range(simulations):
        chances = rng.choice([EASY, HARD], (1, 1, len(sizes)))
        first, second = (_answers(chances, 3, one, rng).mean(axis=(0, 1)) for one in trainings)
        rows = np.repeat(first - second, sizes)
        found += abs(rows.mean()) > 1.96 * rows.std(ddof=1) / np.sqrt(len(rows))
    return found / simulations


def _coverage(rows: Sequence[int], simulations: int) -> Iterator[str]:
    """How often Wilson's interval of one accuracy holds it, by independent and by effective rows."""
    yield "Wilson's intervals that hold the accuracy, %: by rows, and by effective rows\n"
    yield "| groups of | rows | accuracy 60 % | accuracy 95 % |"
    yield "|--:|--:|--:|--:|"
    for grouping in GROUPINGS:
        for count in rows:
            sizes = group_sizes(count, grouping)
            if len(sizes) < 10:
                continue
            rng = np.random.default_rng([GROUPINGS.index(grouping), count])
            held = [_held(sizes, accuracy, max(200, simulations // 4), rng) for accuracy in (0.6, 0.95)]
            shown = [f"{100 * by_rows:.1f}, {100 * effective:.1f}" for by_rows, effective in held]
            yield f"| {grouping} | {count:,} | " + " | ".join(shown) + " |"


def _held(sizes: np.ndarray, accuracy: float, simulations: int, rng: np.random.Generator) -> tuple[float, float]:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    held = np.zeros(2)
    for _ in range(simulations):
        right = np.repeat(rng.random(len(sizes)) < accuracy, sizes).astype(np.float64)
        mean = float(right.mean())
        worth, degrees = effective_rows(right, groups)
        for place, interval in enumerate((wilson_interval(mean, len(right)), wilson_interval(mean, worth, degrees))):
            held[place] += interval.low <= accuracy <= interval.high
    by_rows, effective = (held / simulations).tolist()
    return by_rows, effective


if __name__ == "__main__":
    main()
