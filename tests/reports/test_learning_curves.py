"""What is said of the sizes that learning curves chose, and of curves that cannot be trusted."""

from aflite_assets.analysis.inputs.learning_curve import LearningCurve, curve_points
from aflite_assets.reports.learning_curves import choice_text, curve_cautions
from aflite_assets.studies.sample.analysis.curve import SampleCurve, sample_points
from aflite_assets.studies.sample.reports.sentences import sample_cautions, sample_text
from aflite_assets.studies.sample.specs.settings import StopRule

SIZES = (40, 80, 160, 320, 640)
PRINTED = (3_677, 7_745, 8_169, 8_469, 8_096)
"""Of 10,000 rows at 5,000 to 25,000 train rows: Mishra and Sachdeva 2020, Table 1."""


def _curve(name: str, *right: int, held_back: int = 500, largest_class: int = 170) -> LearningCurve:
    return LearningCurve(name, SIZES[: len(right)], right, held_back, largest_class)


def _grown(stop: StopRule, *right: int, held_back: int = 10_000, repeats: int = 1) -> SampleCurve:
    """Samples of 5,000, 10,000, ... rows."""
    rows = tuple(5_000 * number for number in range(1, len(right) + 1))
    return SampleCurve(rows, tuple((each,) * repeats for each in right), held_back, held_back // 3, stop)


def _cautions(curve: LearningCurve) -> list[str]:
    return list(curve_cautions(curve_points([curve])))


def test_the_choice_counts_all_rows_spent() -> None:
    curves = [_curve("early", 440, 442, 443, 441, 440), _curve("late", 200, 220, 240, 430, 432)]
    assert choice_text(curve_points(curves)) == (
        "By their learning curves, the encoders need a sample of 320 rows. With the 500 held-back rows that the curves "
        "are measured on, 820 train rows are spent on warm-up."
    )


def test_a_curve_that_flattens_needs_no_caution() -> None:
    assert _cautions(_curve("a", 200, 420, 425, 428, 430)) == []
    assert _cautions(_curve("a", 430, 431, 432, 433, 434)) == []


def test_a_rise_to_the_end_is_named() -> None:
    (caution,) = _cautions(_curve("a", 200, 260, 320, 380, 440))
    assert caution == (
        "a: accuracy still rises at 640 rows, the largest sample, so its encoder may learn more from more rows; to "
        "use more, set warmup.size to a number"
    )


def test_an_encoder_that_learnt_nothing_is_named() -> None:
    (caution,) = _cautions(_curve("a", 160, 172, 168, 170, 181))
    assert caution.startswith(
        "a: no sample gave its encoder a higher accuracy than predicting only the most frequent class (34.0 %)"
    )


def test_the_sentence_says_why_the_sample_is_enough() -> None:
    told = (
        "This was measured on 10,000 held-back train rows, so accuracies are known to about ±0.7 points. These rows "
        "are drawn like the train rows, so if a shortcut gives labels away, the sample may be smaller than the task "
        "needs."
    )
    assert sample_text(sample_points(_grown("flat", *PRINTED)), "flat") == (
        f"A sample of 20,000 train rows is filtered: no larger one that was tried is better by more than noise. {told}"
    )
    assert sample_text(sample_points(_grown("falls", *PRINTED)), "falls") == (
        f"A sample of 20,000 train rows is filtered: the next larger one is not better. {told}"
    )
    largest = sample_text(sample_points(_grown("flat", 1, 9000)), "flat")
    assert "it is the largest that could be tried, and the accuracy still rises" in largest


def test_samples_that_say_nothing_are_named() -> None:
    (still,) = sample_cautions(sample_points(_grown("falls", 5_000, 6_000)))
    assert still == (
        "accuracy still rises at 10,000 rows, the largest sample, so a larger one may teach more; raise sample.most "
        "(trainings made so far are reused)"
    )
    (guessing,) = sample_cautions(sample_points(_grown("flat", 3_300, 3_320, 3_310)))
    assert guessing.startswith(
        "no sample gave the model a higher accuracy than predicting only the most frequent class (33.3 %)"
    )
    (flat,) = sample_cautions(sample_points(_grown("flat", 6_000, 6_010, 6_005)))
    assert flat.startswith(
        "no larger sample is better by more than noise than 5,000 rows, the smallest sample: with 10,000 held-back "
        "rows, accuracies are known to about ±1.0 points."
    )
