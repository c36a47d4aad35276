"""The table of what models lean on: who was trained, what shows it, and what it costs where."""

from dataclasses import replace

import numpy as np

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.leanings import LEANINGS
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.tables.difference_tables import LEANING_TABLE
from tests.planted_leanings import leaning_inputs


def _last_cells(data: BenchmarkData) -> list[tuple[str, ...]]:
    (table,) = LEANING_TABLE.tables(analyse(data))
    evaluator = [column.plain for column in table.columns].index("evaluator")
    return [(row.cells[evaluator].text, row.cells[-1].text, *row.cells[-1].small) for row in table.rows]


def test_a_leaning_has_its_evaluator_and_the_reason_that_makes_it_a_shortcut(planted: BenchmarkData) -> None:
    open_ = leaning_inputs(planted, reason=None)
    place = replace(open_, of=replace(open_.of, name="place"))
    data = replace(planted, leanings=(leaning_inputs(planted), place))
    assert _last_cells(data) == [("linear", "leans: shortcut", "declared irrelevant"), ("linear", "leans")]


def test_a_leaning_shown_on_a_constructed_set_says_what_it_costs_there(planted: BenchmarkData) -> None:
    natural = next(one for one in planted.test_sets if not one.challenge)
    clean = replace(next(one for one in planted.test_sets if one.challenge), collected="constructed")
    clean = replace(clean, label_names=natural.label_names, class_map=None)
    pointed = {natural.name: natural.labels, clean.name: np.full(len(clean.labels), -1)}
    one = replace(leaning_inputs(planted), pointed=pointed)
    data = replace(planted, test_sets=(natural, clean), leanings=(one,))
    (found,) = analyse(data).of(LEANINGS)
    assert found.fall is not None
    where = "where it misleads, on" if found.fall_of == "contradicting rows" else "on"
    costs = f"\N{MINUS SIGN}{found.fall:.1f} points {where} hans"
    assert _last_cells(data) == [(found.evaluator, "leans: shortcut", "declared irrelevant", costs)]
