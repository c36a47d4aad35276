"""What is drawn of the lengths of kept, removed and random rows, and in which words."""

from dataclasses import replace

import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.inputs.source_rows import NO_SOURCE
from aflite_assets.analysis.rows.measured import LENGTHS, length_shares
from aflite_assets.reports.figures.drawing import BLUE, GREY, MAX_BYTES, ORANGE
from aflite_assets.reports.figures.representation_figures import lengths_picture
from tests.analysis.rows.test_lengths import rows_of, texts
from tests.reports.figures.test_all_figures import has_colour, pixels


@pytest.mark.parametrize("kept", [True, False])
def test_a_side_without_rows_is_not_drawn(planted: BenchmarkData, kept: bool) -> None:
    found = list(length_shares(texts(*range(1, 51)), rows_of(planted.filtered[0], [kept] * 50)))
    drawn = pixels(lengths_picture(found).png)
    assert drawn.shape[1] == 616
    assert has_colour(drawn, GREY) == kept


def test_texts_of_one_length_and_names_that_look_like_formulas(planted: BenchmarkData) -> None:
    filtered = rows_of(planted.filtered[0], [True] * 20 + [False] * 30)
    found = list(length_shares(texts(*[3] * 50), filtered, lambda _: "$x_{"))
    assert [one.start for one in found] == [3]
    drawn = pixels(lengths_picture(found).png)
    assert has_colour(drawn, BLUE)
    assert has_colour(drawn, ORANGE)


def test_the_picture_of_pairs_has_the_sources_names(planted: BenchmarkData) -> None:
    data = replace(planted, source=replace(NO_SOURCE, columns={"text": "premise", "text_pair": "hypothesis"}))
    picture = lengths_picture(analyse(data).of(LENGTHS, "roberta"))
    assert len(picture.png) < MAX_BYTES
    assert pixels(picture.png).shape[1] == 1034
    assert picture.alt.startswith(
        "Share of 1,200 train rows by words, kept, removed and as many random as were kept, representation roberta. "
        "premise: the mean is "
    )
    assert "; hypothesis: the mean is " in picture.alt
