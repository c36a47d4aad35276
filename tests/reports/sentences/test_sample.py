"""What is said of all train rows against the sample, from planted accuracies of `linear` on its test sets."""

from dataclasses import replace

import pytest

from aflite_assets.analysis.comparisons.samples import sample_costs
from aflite_assets.analysis.inputs.learning_curve import SampleCurve
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.page.html import render_report
from aflite_assets.reports.sentences.sample import sample_cost_sentences
from tests.planted_reports import done_cell

SHARES = {"full": (0.9, 0.8, 0.9), "sampled": (0.8, 0.75, 0.7), "random": (0.7, 0.6, 0.6), "filtered": (0.7, 0.6, 0.6)}
ROWS = {"full": 1_200, "sampled": 600, "random": 400, "filtered": 400}
CURVE = SampleCurve((300, 600, 900, 1_200), ((40,), (70,), (71,), (70,)), 100, 40, "flat")


@pytest.fixture
def sampled(planted: BenchmarkData) -> BenchmarkData:
    cells = tuple(
        done_cell(planted.test_sets, share, evaluator="linear", train_set=name, seed=seed, train_rows=ROWS[name])
        for name, share in SHARES.items()
        for seed in range(3)
    )
    return replace(planted, cells=cells, sample_curve=CURVE)


def test_all_rows_are_said_to_be_better_where_they_surely_are(sampled: BenchmarkData) -> None:
    found = {one.test_set: one for one in sample_costs(sampled)}
    assert found["hans"].interval.difference == pytest.approx(20.0)
    assert found["hans"].verdict.side == "above"
    (said,) = sample_cost_sentences(sampled)
    assert said.startswith("linear, trained on all train rows instead of the sample, is better on ")
    assert "hans (20.0 [" in said
    assert said in render_report(sampled).replace("&#39;", "'")


def test_where_none_is_shown_that_is_said(sampled: BenchmarkData) -> None:
    alike = tuple(
        replace(cell, predictions=full.predictions) if cell.train_set == "sampled" else cell
        for cell in sampled.cells
        for full in sampled.cells
        if (full.train_set, full.seed) == ("full", cell.seed)
    )
    (said,) = sample_cost_sentences(replace(sampled, cells=alike))
    assert said.startswith("linear, trained on all train rows instead of the sample, is not shown to differ on ")
    assert "better" not in said


def test_where_the_sample_is_better_that_is_said_too(sampled: BenchmarkData) -> None:
    other = {"full": "sampled", "sampled": "full"}
    answers = {(cell.train_set, cell.seed): cell.predictions for cell in sampled.cells}
    cells = tuple(
        replace(cell, predictions=answers[other.get(cell.train_set, cell.train_set), cell.seed])
        for cell in sampled.cells
    )
    (said,) = sample_cost_sentences(replace(sampled, cells=cells))
    assert said.startswith("linear, trained on all train rows instead of the sample, is worse on ")
    assert "hans (\N{MINUS SIGN}20.0 [" in said


def test_nothing_is_said_without_a_sample(sampled: BenchmarkData) -> None:
    assert sample_cost_sentences(replace(sampled, sample_curve=None)) == ()
