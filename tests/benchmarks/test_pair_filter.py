"""The table of what the filter leaves of pairs: numbers of pairs in which the longer answer is right in most."""

import numpy as np
import pytest

import benchmarks.pair_filter
from benchmarks.pair_filter import Pairs, chosen_on, table


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    """100 pairs of random words; the answer of 12 words is right in 80 %, that of 6 in the others."""
    rng = np.random.default_rng(0)
    lines = ["Question,Best Answer,Best Incorrect Answer"]
    for number in range(100):
        short, long = (" ".join(f"w{word}" for word in rng.integers(0, 3_000, size)) for size in (6, 12))
        best, worst = (long, short) if rng.random() < 0.8 else (short, long)
        lines.append(f"question {number},{best},{worst}")
    path = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    path.write_text("\n".join(lines))
    return Pairs.of_file(path)


def test_kept_pairs_that_took_no_part_have_less_of_the_cue(pairs: Pairs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks.pair_filter, "DRAWS", 20)
    rows = list(table(pairs, target=0.55, threshold=0.5, repeats=1))
    shares = rows[0]["kept"]
    assert isinstance(shares, dict)
    assert shares["train"] == pytest.approx(0.55, abs=0.03)
    assert 0.2 < shares["held_out"] < 0.6
    found = {(row["fitted_on"], row["tested_on"], row["family"]): row for row in rows[1:]}
    assert len(found) == 10
    full, kept = found["all", "all", "surface"], found["kept", "kept", "surface"]
    assert isinstance(full["found"], list)
    assert isinstance(kept["found"], list)
    estimate, low, high = full["found"]
    assert estimate == pytest.approx(0.8, abs=0.1)
    assert low < estimate < high
    assert kept["found"][0] < estimate - 0.1


def test_the_pairs_of_one_run_are_scored_on_themselves(pairs: Pairs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks.pair_filter, "DRAWS", 20)
    row = chosen_on(pairs, target=0.55, threshold=0.5, repeats=1)
    assert row["pairs_kept"] == pytest.approx(55, abs=2)
    assert isinstance(row["auc"], list)
    assert row["auc"][0] < 0.68
