"""The tables and figures of forgettable rows and second phases, from planted cells."""

from dataclasses import replace

import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.differences import DIFFERENCES
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.inputs.weak_models import SecondPhase
from aflite_assets.reports.tables.all_tables import declared
from aflite_assets.studies.forgettables.analysis.records import Forgettables
from aflite_assets.studies.forgettables.reports.figures import forgettable_pictures
from aflite_assets.studies.forgettables.reports.tables import (
    AGREEMENT_TABLE,
    ALONE,
    BY_OVERLAP,
    CLASS_TABLE,
    EVENT_TABLE,
    MINORITY_TABLE,
    TWO_PHASE,
    TWO_PHASE_DIFFERENCES,
    WEAK_MODEL_TABLE,
)
from tests.planted_comparisons import SHARES
from tests.undrawn import undrawn_page

OF_WEAK_MODELS = (WEAK_MODEL_TABLE, CLASS_TABLE, EVENT_TABLE, AGREEMENT_TABLE, MINORITY_TABLE)


def test_without_weak_models_there_is_nothing(planted: BenchmarkData) -> None:
    specs = (*OF_WEAK_MODELS, TWO_PHASE, TWO_PHASE_DIFFERENCES, ALONE, BY_OVERLAP)
    assert declared(*specs)(analyse(planted)) == ()
    assert forgettable_pictures(analyse(planted)) == {}


def test_weak_models_stand_with_their_sizes(forgotten: BenchmarkData) -> None:
    sizes, classes, events, agreement, minorities = declared(*OF_WEAK_MODELS)(analyse(forgotten))
    assert sizes.notes == ("lstm was not trained: ModelError: it diverged.",)
    assert [cell.text for cell in sizes.rows[0].cells] == ["1,000", "200", "40", "150", "50.0", "90.0", "80.0"]
    assert [column.plain for column in sizes.columns][-1] == "accuracy on test (%)"
    assert [column.plain for column in classes.columns] == ["entailment, forgettable", "entailment, taken"]
    assert [cell.plain for cell in classes.rows[0].cells] == ["120, 24.0 %", "75, 15.0 %"]
    assert [column.plain for column in events.columns] == ["0 times", "once", "2 times", "never learnt"]
    assert [cell.plain for cell in events.rows[0].cells] == [
        "80.0, 800 rows", "15.0, 150 rows", "1.0, 10 rows", "4.0, 40 rows",
    ]  # fmt: skip
    assert agreement.rows[0].headings == ("bow, seed 0", "bow, seed 1")
    assert [cell.text for cell in agreement.rows[0].cells] == ["0.310", "0.100", "90", "200", "180"]
    assert [(row.headings, [cell.plain for cell in row.cells]) for row in minorities.rows][2] == (
        ("bow", "forgettable"), ["0.250, [0.210, 0.290]", "\N{EN DASH}"],
    )  # fmt: skip
    assert [column.plain for column in minorities.columns] == ["overlap, positive", "cue = x, all rows"]


def test_accuracies_stand_beside_the_start(forgotten: BenchmarkData) -> None:
    accuracies, differences = declared(TWO_PHASE, TWO_PHASE_DIFFERENCES)(analyse(forgotten))
    assert (accuracies.name, accuracies.of, differences.name) == ("two_phase", "net", "two_phase_differences")
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
    place = [column.plain for column in differences.columns].index("hans, all (n = 300)")
    start, gain = (row.cells[place] for row in differences.rows[:2])
    assert (start.value, gain.value) == (pytest.approx(20), pytest.approx(18))
    assert (start.shaded, gain.shaded, len(start.small), gain.small[-1]) == (False, True, 1, "above")


def test_a_set_cut_to_another_models_has_the_smaller_number_of_each_class(forgotten: BenchmarkData) -> None:
    own = Forgettables.of(forgotten)
    counts = {"rows": 500, "forgettable": 100}
    models = {
        name: replace(
            own.models["bow"],
            taken=12,
            by_class={"entailment": {**counts, "taken": first}, "neutral": {**counts, "taken": 12 - first}},
        )
        for name, first in (("bow", 10), ("strong", 2))
    }
    rows = ("forgettable rows of bow, as many as of strong",)
    phases = {
        **own.phases,
        "net_bow": SecondPhase("net", rows, "bow", "forgettable_as_many_as_strong", as_many_as="strong"),
    }
    studied = replace(own, models=models, phases=phases)
    (table,) = TWO_PHASE.tables(analyse(replace(forgotten, studies={"forgettable_sets": studied})))
    assert table.rows[1].headings == ("net_bow", "4 forgettable rows of bow, as many as of strong")


def test_rows_alone_stand_beside_as_many_random_ones(forgotten: BenchmarkData) -> None:
    (table,) = ALONE.tables(analyse(forgotten))
    assert [row.headings[0] for row in table.rows] == ["forgettable_bow", "random_forgettable_bow", "full"]
    assert [row.cells[0].text for row in table.rows] == ["150", "150", "1,200"]


def test_overlap_stands_by_class(forgotten: BenchmarkData) -> None:
    (table,) = BY_OVERLAP.tables(analyse(forgotten))
    assert (table.of, table.title) == ("net, test", "net on test, by overlap of the texts")
    assert [row.headings[0] for row in table.rows] == list(SHARES)
    assert [column.plain for column in table.columns] == [
        "entailment, all (n = 334)", "entailment, high (n = 167)", "entailment, low (n = 167)",
        "others, all (n = 666)", "others, high (n = 333)", "others, low (n = 333)",
    ]  # fmt: skip


def test_a_model_that_only_starts_has_a_table_and_no_differences(forgotten: BenchmarkData) -> None:
    forgettables = Forgettables.of(forgotten)
    cells = tuple(cell for cell in forgettables.cells if cell.evaluator == "net")
    data = replace(forgotten, studies={"forgettable_sets": replace(forgettables, cells=cells, thresholds=())})
    analysis = analyse(data)
    assert {one.difference for one in analysis.of(DIFFERENCES) if one.comparison == "second phase"} == {None}
    (table,) = TWO_PHASE_DIFFERENCES.tables(analysis)
    assert {cell.text for row in table.rows for cell in row.cells} == {"not run"}
    assert [row.headings[0] for row in TWO_PHASE.tables(analysis)[0].rows] == ["net"]


def test_the_page_shows_tables_and_figures(forgotten: BenchmarkData) -> None:
    pictures = forgettable_pictures(analyse(forgotten))
    assert set(pictures) == {
        "forgetting_events",
        "second_phases",
        "categories.net.hans",
        "loss_ranked.net",
        "thresholds.net.hans",
    }
    page = undrawn_page(forgotten)
    for words in ("Rows that weak models forget", "bow forgets 200 of 1,000 rows", "Training on forgettable rows"):
        assert words in page
