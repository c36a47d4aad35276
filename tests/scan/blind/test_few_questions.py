"""The clause on test sets of few questions."""

from aflite_assets.scan.blind.few_questions import few_questions


def test_under_a_hundred_questions_the_width_of_intervals_is_named() -> None:
    assert few_questions(100) == ""
    assert few_questions(32) == "only 32 questions, so the 95 % interval of an accuracy can be ±17 points"
    assert few_questions(1).startswith("only 1 question, ")
