"""Differences in sentences: what becomes of accuracies from full to filtered, and what a sample costs."""

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.falls import falls
from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.reports.sentences.comparisons import (
    adversary_sentences,
    comparison_sentence,
    fall_sentence,
    of_kind,
)
from aflite_assets.reports.sentences.summary import findings
from aflite_assets.reports.sentences.verdict import VerdictWords
from aflite_assets.reports.sentences.wording import bounds_text
from aflite_assets.studies.sample.analysis.curve import SampleCurve
from aflite_assets.studies.sample.reports.sentences import sample_cost_sentences
from tests.planted_reports import done_cell
from tests.reports.sentences.test_verdict import started


def benchmark(make_planted: Any, done_cell: Any, shares: dict[str, tuple[float, float, float]]) -> BenchmarkData:
    """One evaluator with these shares right on removed, kept and challenge rows of a large test set."""
    rows, kept = 10_000, np.arange(10_000) < 4_000
    test_set = TestSet(
        "test", False, np.arange(rows), np.arange(rows) % 3, make_planted().label_names, {"roberta": kept}
    )
    cells = tuple(
        done_cell((test_set,), share, evaluator="linear", train_set=name, seed=0, train_rows=100)
        for name, share in shares.items()
    )
    return make_planted(test_sets=(test_set,), cells=cells)


def with_matched(data: BenchmarkData) -> BenchmarkData:
    """The same with random_matched, which says what random says."""
    matched = tuple(replace(cell, train_set="random_matched") for cell in data.cells if cell.train_set == "random")
    return replace(data, cells=(*data.cells, *matched))


def test_a_fall_in_words(planted: BenchmarkData) -> None:
    fall = falls(with_matched(planted), "roberta")[0]
    bounds = [bounds_text(replace(one, low=-(one.high or 0), high=-(one.low or 0))) for one in fall[1:-1]]
    assert fall_sentence(analyse(planted).facts, fall) == (
        "linear on test: trained and tested on full it is right on 78.0 % of the rows; trained and tested on "
        f"filtered it falls by 8.0 points, to 70.0 %. Step by step, in points: \N{MINUS SIGN}18.0 ({bounds[0]}) if "
        f"only the filtered test rows are tested. Then \N{MINUS SIGN}5.0 ({bounds[1]}) with fewer train rows "
        f"(random). Then 0.0 ({bounds[2]}) with the class sizes of filtered (random_matched). Then 15.0 "
        f"({bounds[3]}) with which train rows were kept."
    )


@pytest.mark.parametrize(("bias", "weaker"), [(0.6, True), (0.8, False)])
def test_a_weaker_adversary_is_named_as_such(planted: BenchmarkData, bias: float, weaker: bool) -> None:
    analysis = analyse(with_matched(planted))
    assert not list(adversary_sentences(analysis))
    (one,) = analysis.facts.filterings
    two = tuple(replace(one, representation=name, bias=(bias, 0.4)) for name in ("glove", "roberta"))
    fallen = [replace(one, representation="glove") for one in chain.from_iterable(analysis.falls("roberta"))]
    tables = {**analysis.tables, "falls": (*fallen, *analysis.tables["falls"])}
    both = replace(analysis, facts=replace(analysis.facts, filterings=two), tables=tables)
    said = list(adversary_sentences(both))
    assert said[0] == (
        f"Linear classifiers on glove are right about {100 * bias:.1f} % of the rows, and linear about 78.0 % of test. "
        "Of the rows that glove leaves, linear gets 70.0 % right, 8.0 points fewer"
        + (": the weaker adversary left rows that are harder for it." if weaker else ".")
    )
    assert len(said) >= 2
    assert set(said) <= set(findings(both))


def test_the_papers_pair_of_a_weak_adversary_and_a_strong_model(planted: BenchmarkData) -> None:
    # "a drop of 13.7% for RoBERTa using ESIM+GloVe as feature representation" (ICML 2020, 4.2 and Table 3)
    analysis = analyse(with_matched(planted))
    start, *steps, end = analysis.falls("roberta")[0]
    printed = (
        replace(start, representation="esim_glove", evaluator="roberta_large", accuracy=0.926),
        *(replace(step, representation="esim_glove", evaluator="roberta_large") for step in steps),
        replace(end, representation="esim_glove", evaluator="roberta_large", accuracy=0.789),
    )
    (one,) = analysis.facts.filterings
    two = tuple(replace(one, representation=name, bias=(0.7, 0.4)) for name in ("esim_glove", "roberta"))
    both = replace(
        analysis, facts=replace(analysis.facts, filterings=two), tables={**analysis.tables, "falls": printed}
    )
    assert list(adversary_sentences(both)) == [
        "Linear classifiers on esim_glove are right about 70.0 % of the rows, and roberta_large about 92.6 % of test. "
        "Of the rows that esim_glove leaves, roberta_large gets 78.9 % right, 13.7 points fewer: the weaker adversary "
        "left rows that are harder for it."
    ]


@pytest.mark.parametrize(
    ("filtered", "change"),
    [((0.5, 0.6, 0), "falls by 30.0 points"), ((1.0, 1.0, 0), "rises by 10.0 points"),
     ((0.5, 0.9, 0), "does not change")],
)  # fmt: skip
def test_falls_and_rises(make_planted: Any, done_cell: Any, filtered: Any, change: str) -> None:
    shares = {"full": (0.9, 0.9, 0.0), "random": (0.8, 0.8, 0.0), "filtered": filtered}
    data = benchmark(make_planted, done_cell, shares)
    sentence = fall_sentence(analyse(data).facts, falls(data, "roberta")[0])
    assert f"trained and tested on filtered it {change}, to" in sentence
    assert ". Then \N{MINUS SIGN}10.0 (95 % of test rows alone" in sentence


def test_without_random_the_cause_stays_open(make_planted: Any, done_cell: Any) -> None:
    data = benchmark(make_planted, done_cell, {"full": (0.9, 0.9, 0), "filtered": (0.5, 0.6, 0)})
    assert fall_sentence(analyse(data).facts, falls(data, "roberta")[0]).endswith(
        "Without a result for random the causes cannot be separated."
    )


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
    return replace(planted, cells=cells, studies={"train_sample": CURVE})


def test_all_rows_are_said_to_be_better_where_they_surely_are(sampled: BenchmarkData) -> None:
    found = {one.test_set: one for one in of_kind(analyse(sampled), "sample")}
    assert found["hans"].difference == pytest.approx(20.0)
    assert found["hans"].side == "above"
    (said,) = sample_cost_sentences(analyse(sampled))
    assert said.startswith("linear, trained on all train rows instead of the sample, is better on ")
    assert "hans (20.0 [" in said
    assert said in findings(analyse(sampled))


def test_where_none_is_shown_that_is_said(sampled: BenchmarkData) -> None:
    alike = tuple(
        replace(cell, predictions=full.predictions) if cell.train_set == "sampled" else cell
        for cell in sampled.cells
        for full in sampled.cells
        if (full.train_set, full.seed) == ("full", cell.seed)
    )
    (said,) = sample_cost_sentences(analyse(replace(sampled, cells=alike)))
    assert said.startswith("linear, trained on all train rows instead of the sample, is not shown to differ on ")
    assert "better" not in said


def test_where_the_sample_is_better_that_is_said_too(sampled: BenchmarkData) -> None:
    other = {"full": "sampled", "sampled": "full"}
    answers = {(cell.train_set, cell.seed): cell.predictions for cell in sampled.cells}
    cells = tuple(
        replace(cell, predictions=answers[other.get(cell.train_set, cell.train_set), cell.seed])
        for cell in sampled.cells
    )
    (said,) = sample_cost_sentences(analyse(replace(sampled, cells=cells)))
    assert said.startswith("linear, trained on all train rows instead of the sample, is worse on ")
    assert "hans (\N{MINUS SIGN}20.0 [" in said


def test_nothing_is_said_without_a_sample(sampled: BenchmarkData) -> None:
    assert list(sample_cost_sentences(analyse(replace(sampled, studies={})))) == []


def test_a_filter_of_the_evaluators_make_is_named_though_another_filter_can_be_judged(planted: BenchmarkData) -> None:
    (own,) = started(planted).filtered
    linear = [one for one in planted.cells if one.evaluator == "linear"]
    cells = (*linear, *(replace(one, representation="other") for one in linear if one.representation is not None))
    families = {"evaluators.linear": "k", "representations.roberta": "k", "representations.other": "z"}
    both = (own, replace(own, representation="other"))
    analysis = analyse(replace(planted, filtered=both, cells=cells, families=families))
    assert analysis.undecided is None
    make = "every evaluator that could judge is of the same kind as the model that filtered; add one of another kind."
    assert f"roberta helps: none, because {make}" in comparison_sentence(analysis, "roberta")
    words = next(VerdictWords(analysis, one) for one in analysis.verdicts if one.representation == "roberta")
    assert words.helps() == f"Whether filtering helps cannot be judged: {make[:-1]}"
