"""Sentences on rows that are harder because of an attribute: when they are said, and with which numbers."""

from dataclasses import replace

from aflite_assets.analysis.analysis import Analysis, analyse
from aflite_assets.analysis.comparisons.leanings import LEANINGS
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.sentences.attributes import attributes_line, harder_sentences
from aflite_assets.reports.sentences.first_screen import first_screen
from tests.planted_attributes import wood_benchmark
from tests.planted_leanings import leaning_inputs


def _analysis(planted: BenchmarkData, plain: float = 0.5) -> Analysis:
    return analyse(wood_benchmark(planted, oak={"test": 0.5, "plain": plain}))


def test_rows_that_are_harder_in_both_sets_are_named_with_their_shares(planted: BenchmarkData) -> None:
    analysis = _analysis(planted)
    (said,) = harder_sentences(analysis)
    assert said.startswith(
        "Rows with wood = “oak” are harder everywhere. Compared with other rows of their classes, “linear” is right on "
        "them less often, by 40.0 points ["
    )
    assert "] on “test” and 40.0 points [" in said
    assert said.endswith(
        "] on “plain”. They are 75.0 % of “plain”, against 25.0 % of “test”. “linear” is right on 50.0 % of them "
        "there, and on 50.0 % of them here, so the fall there may come from harder rows."
    )
    (limit,) = [one for one in first_screen(analysis, from_files=True).limits if one.section == "attributes"]
    assert limit.text == said
    assert attributes_line(analysis) == said


def test_rows_that_are_harder_still_on_the_challenge_set_do_not_explain_the_whole_fall(planted: BenchmarkData) -> None:
    (said,) = harder_sentences(_analysis(planted, plain=0.3))
    assert said.endswith(
        "“linear” is right on 30.0 % of them there, and on 50.0 % of them here, so harder rows do not explain the "
        "whole fall."
    )


def test_a_split_before_the_test_split_hides_no_harder_rows(planted: BenchmarkData) -> None:
    """As in a file whose splits are train, validation and test."""
    data = wood_benchmark(planted, oak={"test": 0.5, "plain": 0.5})
    validation = next(one for one in planted.test_sets if one.name == "validation")
    analysis = analyse(replace(data, test_sets=(validation, *data.test_sets)))
    assert analysis.facts.natural_sets == ("validation", "test")
    assert harder_sentences(analysis) == harder_sentences(_analysis(planted))
    assert attributes_line(analysis).startswith("Rows with wood = “oak” are harder everywhere.")


def test_rows_that_are_harder_on_the_challenge_set_alone_are_not_named(planted: BenchmarkData) -> None:
    analysis = analyse(wood_benchmark(planted, oak={"test": 0.9, "plain": 0.5}))
    assert harder_sentences(analysis) == []
    assert attributes_line(analysis) == "1 attribute; rows of no value are shown to be harder everywhere."
    assert all(one.section != "attributes" for one in first_screen(analysis, from_files=True).limits)


def test_an_attribute_that_models_lean_on_is_not_called_a_matter_of_hard_rows(planted: BenchmarkData) -> None:
    data = wood_benchmark(planted)
    one = leaning_inputs(data)
    analysis = analyse(replace(data, leanings=(replace(one, of=replace(one.of, name="wood")),)))
    assert [leaning.leans for leaning in analysis.of(LEANINGS)] == [True]
    assert harder_sentences(analysis) == []
