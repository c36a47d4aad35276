"""No sentence of the page that we wrote is too long to read; pages of kept results are tested in `compatibility`."""

from typing import Any

from aflite_assets.analysis.inputs.learning_curve import LearningCurve
from aflite_assets.analysis.inputs.records import BenchmarkData
from tests.page_sentences import long_sentences
from tests.planted_reports import rendered_page

CURVES = (LearningCurve("roberta", (40, 80, 160), (30, 80, 82), 100, 34),)


def test_a_long_sentence_is_found_and_the_datasets_is_not() -> None:
    long = "word " * 31
    assert long_sentences(f"<p>Short. {long}</p><p dir='auto'>{long}</p><ul class='cards'><li>{long}</li></ul>") == [
        long.strip()
    ]
    assert long_sentences(f"<p>{'word ' * 30}1 2 3 4. <b>End.</b></p>") == []


def test_no_sentence_of_the_page_is_over_thirty_words(with_rows: BenchmarkData) -> None:
    assert long_sentences(rendered_page(with_rows)) == []


def test_nor_of_one_with_warmup_scatter_and_images(
    make_planted: Any, feature_examples: Any, image_examples: Any
) -> None:
    features = make_planted(examples=feature_examples(1400, 3), warmup_curves=CURVES, settings_done=("Done.",))
    assert long_sentences(rendered_page(features, scatter_features=(0, 2))) == []
    assert long_sentences(rendered_page(make_planted(examples=image_examples(1400)))) == []
