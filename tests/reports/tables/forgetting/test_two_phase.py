"""Tables and figures of forgettable rows and second phases, from planted cells."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from aflite_assets.reports.tables.forgetting.forgettable_rows import MINORITIES, forgettable_tables
from aflite_assets.reports.tables.forgetting.overlap_and_threshold import BY_OVERLAP, THRESHOLDS, overlap_tables
from aflite_assets.reports.tables.forgetting.two_phase import (
    TWO_PHASE,
    TWO_PHASE_DIFFERENCES,
    alone_tables,
    two_phase_tables,
)

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.second_phase import phase_differences
from aflite_assets.analysis.inputs.forgettables import (
    Agreement,
    Forgettables,
    SecondPhase,
    ThresholdCurve,
    WeakModelFacts,
)
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell
from aflite_assets.analysis.intervals import crossed_interval, paired_interval
from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.figures.forgettable_figures import forgettable_pictures
from aflite_assets.reports.sentences.comparisons import second_phase_line
from tests.undrawn import undrawn_page

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


@pytest.fixture
def forgotten(planted: BenchmarkData, done_cell: Callable[..., Cell]) -> BenchmarkData:
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
    overlap = {"test": np.linspace(0, 1, 1_000)}
    curve = ThresholdCurve("net", "hans", "entailment", np.linspace(0, 1, 101), 1 - np.linspace(0, 1, 101) / 2, 3)
    forgettables = Forgettables(
        {"bow": FACTS},
        {"lstm": "ModelError: it diverged"},
        (Agreement("bow, seed 0", "bow, seed 1", 200, 180, 90, 90 / 290, 0.1),),
        pa.Table.from_pylist(LINES),
        PHASES,
        tuple(cells),
        overlap,
        0,
        (curve,),
    )
    return replace(planted, forgettables=forgettables)


def test_without_weak_models_there_is_nothing(planted: BenchmarkData) -> None:
    for make in (forgettable_tables, two_phase_tables, alone_tables, overlap_tables):
        assert make(planted) == ()
    assert (second_phase_line(analyse(planted)), forgettable_pictures(analyse(planted), None)) == (None, {})
    assert THRESHOLDS.records(planted) == []


def test_the_control_is_the_phase_on_random_rows_of_the_same_model(forgotten: BenchmarkData) -> None:
    forgettables = forgotten.forgettables
    assert forgettables is not None
    assert [forgettables.control_of(name) for name in PHASES] == ["net_random", None, "net_random", "net_random"]
    assert forgettables.starts == ("net",)


def test_differences_to_random_rows_are_judged_and_those_to_the_start_are_not(forgotten: BenchmarkData) -> None:
    found = {
        (one.evaluator, one.against, one.test_set): one
        for one in phase_differences(forgotten)
        if one.part.column is one.part.label is None
    }
    gain = found["net_bow", "net_random", "hans"]
    assert gain.interval is not None
    assert gain.interval.difference == pytest.approx(18)
    assert (gain.verdict.side, gain.verdict.primary, gain.interval.trainings) == ("above", True, (3, 3))
    assert gain.verdict.adjusted_p == gain.interval.p_value
    assert not any(one.verdict.primary for one in found.values() if one is not gain)
    start = found["net_bow", "net", "hans"]
    assert start.interval is not None
    assert start.interval.difference == pytest.approx(20)
    assert (start.verdict.side, start.verdict.why) == (None, "not the control")
    assert ("net_random", "net", "hans") in found
    assert ("net_random", "net_random", "hans") not in found
    line = second_phase_line(analyse(forgotten))
    assert line is not None
    assert line.startswith("“net_bow” is 18.0 points above “net_random” on “hans”;")


def test_where_nothing_was_found_the_line_says_so(forgotten: BenchmarkData) -> None:
    forgettables = forgotten.forgettables
    assert forgettables is not None
    same = tuple(
        replace(cell, evaluator=name)
        for cell in forgettables.cells
        if cell.evaluator == "net" and cell.train_set == "full"
        for name in ("net", "net_bow", "net_random")
    )
    phases = {name: PHASES[name] for name in ("net_bow", "net_random")}
    nothing = replace(forgotten, forgettables=replace(forgettables, cells=same, phases=phases))
    assert second_phase_line(analyse(nothing)) == (
        "No difference was found between second phases on forgettable rows and on as many random ones."
    )


def test_accuracies_stand_beside_the_start(forgotten: BenchmarkData) -> None:
    accuracies, differences = two_phase_tables(forgotten)
    assert [row.headings for row in accuracies.rows] == [
        ("net", "nothing more"),
        ("net_bow", "150 forgettable rows of bow, 3 epochs at rate 1e-05"),
        ("net_random", "150 random rows of bow"),
        ("net_loss_5", "highest_loss_5 rows of bow"),
        ("net_loss_0_5", "highest_loss_0_5 rows of bow"),
    ]
    assert [column.heading.text for column in accuracies.columns[:3]] == ["train rows of full", "average", "all"]
    average = accuracies.rows[1].cells[1]
    in_distribution = 0.8 * 0.6 + 0.5 * 0.4
    assert average.value == pytest.approx((in_distribution + 0.6) / 2, abs=1e-3)
    assert [row.headings for row in differences.rows][:2] == [("net_bow", "net"), ("net_bow", "net_random")]
    records = TWO_PHASE.records(forgotten)
    assert {record["then_on"] for record in records} == {None, *(phase.rows[0] for phase in PHASES.values())}
    (gain,) = (
        record
        for record in TWO_PHASE_DIFFERENCES.records(forgotten)
        if (record["evaluator"], record["against"], record["test_set"], record["column"], record["label"])
        == ("net_bow", "net_random", "hans", None, None)
    )
    assert (gain["difference"], gain["verdict"]) == (pytest.approx(18), "above")


def test_rows_alone_stand_beside_as_many_random_ones(forgotten: BenchmarkData) -> None:
    (table,) = alone_tables(forgotten)
    assert [row.headings[0] for row in table.rows] == ["forgettable_bow", "random_forgettable_bow", "full"]
    assert [row.cells[0].text for row in table.rows] == ["150", "150", "1,200"]


def test_minorities_have_intervals_and_one_draw_of_random_rows(forgotten: BenchmarkData) -> None:
    lines = [line for line in MINORITIES.records(forgotten) if line["measure"] == "overlap"]
    assert [(line["weak_model"], line["set"], line["mean"]) for line in lines] == [
        ("", "all", 0.33), ("bow", "random", 0.32), ("bow", "forgettable", 0.25),
    ]  # fmt: skip
    assert (lines[2]["low"], lines[2]["high"]) == (pytest.approx(0.2103, abs=1e-4), pytest.approx(0.2897, abs=1e-4))
    sizes, *_ = forgettable_tables(forgotten)
    assert sizes.notes == ("lstm was not trained: ModelError: it diverged.",)
    assert [cell.text for cell in sizes.rows[0].cells] == ["1,000", "200", "40", "150", "50.0", "90.0", "80.0"]


def test_overlap_parts_the_rows_of_each_class_at_the_mean(forgotten: BenchmarkData) -> None:
    rows = {(r["evaluator"], r["class"], r["overlap"]): r for r in BY_OVERLAP.records(forgotten)}
    labels = forgotten.test_sets[0].labels
    assert rows["net", "entailment", "all"]["test_rows"] == int((labels == 0).sum())
    high = int(((labels == 0) & (np.arange(1_000) >= 500)).sum())
    assert rows["net", "entailment", "high"]["test_rows"] == high
    assert rows["net", "others", "high"]["test_rows"] == 500 - high
    assert {name for name, *_ in rows} == set(SHARES)


def test_the_best_threshold_is_the_one_nearest_to_a_half() -> None:
    thresholds = np.linspace(0, 1, 101)
    flat = ThresholdCurve("net", "hans", "yes", thresholds, np.where(thresholds > 0.2, 0.75, 0.5), 2)
    assert (flat.best, flat.best_accuracy, flat.at(0.1)) == (0.5, 0.75, 0.5)


def test_the_page_shows_tables_and_figures(forgotten: BenchmarkData) -> None:
    pictures = forgettable_pictures(analyse(forgotten), forgotten.forgettables)
    assert set(pictures) == {"forgetting_events", "loss_ranked.net", "thresholds.net.hans"}
    page = undrawn_page(forgotten)
    for words in ("Rows that weak models forget", "bow forgets 200 of 1,000 rows", "Training on forgettable rows"):
        assert words in page


def test_pairs_share_what_their_seeds_have_in_common() -> None:
    rng = np.random.default_rng(0)
    before = [rng.random(600) < share for share in (0.5, 0.6, 0.7, 0.8)]
    after = [rows | (rng.random(600) < 0.1) for rows in before]
    paired, apart = paired_interval(after, before), crossed_interval(after, before)
    assert paired.difference == pytest.approx(apart.difference)
    assert paired.high - paired.low < (apart.high - apart.low) / 4
    assert paired.low > 0 > apart.low
    with pytest.raises(InvalidInputError, match="pairs need as many trainings on both sides, got 4 and 3"):
        paired_interval(after, before[:3])


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
