"""The overview and the waterfall: what they are of, wide and narrow."""

import io
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.figures import drawing
from aflite_assets.reports.figures.drawing import MAX_BYTES, Picture
from aflite_assets.reports.figures.model_figures import headline_pictures


def size(png: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(png)).size


def test_wide_stands_side_by_side_and_narrow_fits_a_phone(planted: BenchmarkData) -> None:
    wide, narrow = headline_pictures(analyse(planted), narrow=False), headline_pictures(analyse(planted), narrow=True)
    assert list(wide) == list(narrow) == ["overview.roberta", "falls.roberta"]
    assert size(wide["overview.roberta"].png)[0] > 1000
    for picture in narrow.values():
        assert size(picture.png)[0] <= 410
    assert size(narrow["overview.roberta"].png)[1] > 2 * size(wide["overview.roberta"].png)[1]
    assert all(len(one.png) < MAX_BYTES for one in (*wide.values(), *narrow.values()))
    assert narrow["overview.roberta"].alt == wide["overview.roberta"].alt
    assert wide["overview.roberta"].alt == (
        "Accuracy with its 95 % interval of linear and forest, trained on full, random and filtered, on test, "
        "validation and hans, representation roberta"
    )


@pytest.mark.parametrize("narrow", [False, True])
def test_panels_of_the_overview_have_one_scale(make_planted: Any, monkeypatch: Any, narrow: bool) -> None:
    drawn: list[Any] = []
    draw = drawing.picture

    def kept(figure: Any, alt: str, **options: Any) -> Picture:
        drawn.append(figure)
        return draw(figure, alt, **options)

    monkeypatch.setattr(drawing, "picture", kept)
    headline_pictures(analyse(make_planted()), narrow=narrow)
    panels = [panel for panel in drawn[0].axes if panel.get_visible()]
    assert len(panels) == 3
    limits = {panel.get_xlim() for panel in panels}
    assert len(limits) == 1
    low, high = limits.pop()
    assert high - low > 20
    # each panel has its numbers, and the lowest of every column what they are
    assert all(panel.xaxis.get_tick_params()["labelbottom"] for panel in panels)
    assert [panel.get_xlabel() for panel in panels] == (["", "", "accuracy (%)"] if narrow else ["accuracy (%)"] * 3)


def test_a_fall_is_told_in_words_that_add_up(planted: BenchmarkData) -> None:
    # 0.6 x 90 + 0.4 x 60 = 78 % on all rows, 60 % of the filtered ones; random 55 % and filtered 70 % of these
    natural = replace(planted, test_sets=tuple(one for one in planted.test_sets if not one.challenge))
    assert headline_pictures(analyse(natural), narrow=False)["falls.roberta"].alt == (
        "linear on test: from 78.0 % to 70.0 % by test rows \N{MINUS SIGN}18.0, fewer train rows \N{MINUS SIGN}5.0 and "
        "which train rows 15.0 points"
    )


def test_steps_are_drawn_on_the_challenge_set(planted: BenchmarkData) -> None:
    assert headline_pictures(analyse(planted), narrow=False)["falls.roberta"].alt == (
        "linear on hans: from 55.0 % to 64.0 % by fewer train rows \N{MINUS SIGN}2.0 and which train rows 11.0 points"
    )


def test_nothing_trained_has_no_such_figure(make_planted: Any) -> None:
    assert headline_pictures(analyse(make_planted(cells=())), narrow=False) == {}
