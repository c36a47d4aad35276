"""Figures of planted data: what is drawn, how large, in which words; the page and the files show the same bytes."""

import base64
import io
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.filtering import CLASS_SHARES, ITERATIONS, bin_edges
from aflite_assets.analysis.inputs.cues import class_similarities
from aflite_assets.analysis.inputs.learning_curve import LearningCurve, curve_points
from aflite_assets.analysis.inputs.records import BenchmarkData, ScoreBin
from aflite_assets.reports.figures import drawing
from aflite_assets.reports.figures import filtering_figures as figures_filtering
from aflite_assets.reports.figures.all_figures import report_pictures
from aflite_assets.reports.figures.drawing import (
    BLUE,
    GREEN,
    MAX_BYTES,
    ORANGE,
    VERMILION,
    Picture,
    draw_bars,
    new_axes,
)
from aflite_assets.reports.figures.example_rows import thumbnail_uri
from aflite_assets.reports.figures.representation_figures import lowest_similarity, means_text
from aflite_assets.studies.sample.analysis.curve import SampleCurve, sample_points
from aflite_assets.studies.sample.reports.figures import sample_picture
from tests.page_details import details_of
from tests.planted_reports import rendered_page, report_document, report_inputs

HOSTILE = "</h4><script>alert(1)</script> $x_{"


def similarity_table(names: tuple[str, ...] = ("neutral", HOSTILE)) -> pa.Table:
    """Two classes with planted means; rows 0 to 7 are removed and rows 1,000 to 1,007 kept."""
    records = []
    for label, name in enumerate(names):
        for side, mean, first in (("kept", -0.25, 1_000), ("removed", 0.5, 0), ("random", 0.125, 4)):
            ids = [first + number for number in range(4)]
            matrix = np.full((4, 4), mean, np.float32)
            np.fill_diagonal(matrix, 1)
            records.append(
                {
                    "label_name": name,
                    "label": label,
                    "side": side,
                    "rows": 1_234 if side == "removed" else 56,
                    "used_rows": 1_000 if side == "removed" else 56,
                    "mean_similarity": mean,
                    "row_ids": ids,
                    "similarities": matrix.tolist(),
                }
            )
    return pa.Table.from_pylist(records)


def planted_bins(iterations: int = 8) -> tuple[ScoreBin, ...]:
    edges = bin_edges().tolist()
    return tuple(
        ScoreBin("roberta", iteration, edges[place], edges[place + 1], rows, rows // 2 if place >= 18 else 0)
        for iteration in range(iterations)
        for place in range(20)
        for rows in [1 + 20 * iteration + place]
    )


@pytest.fixture(scope="module")
def pictured(make_planted: Callable[..., BenchmarkData], image_examples: Callable[..., Any]) -> BenchmarkData:
    """Images with everything that can be drawn of them."""
    return make_planted(
        examples=image_examples(1400),
        similarities={"roberta": class_similarities("roberta", similarity_table())},
        score_bins=planted_bins(),
    )


def drawn_of(data: BenchmarkData) -> dict[str, Picture]:
    return report_pictures(analyse(data), report_inputs(data))


@pytest.fixture(scope="module")
def pictures(pictured: BenchmarkData) -> dict[str, Picture]:
    return drawn_of(pictured)


@pytest.fixture(scope="module")
def page(pictured: BenchmarkData, pictures: dict[str, Picture]) -> str:
    return rendered_page(pictured, pictures=pictures)


def pixels(png: bytes) -> np.ndarray:
    assert png.startswith(b"\x89PNG")
    assert len(png) < MAX_BYTES
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def has_colour(drawn: np.ndarray, colour: str) -> bool:
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return bool(np.any(np.abs(drawn.astype(int) - wanted).sum(axis=2) < 12))


def test_every_picture_has_its_size_and_words(pictures: dict[str, Picture]) -> None:
    sizes = {name: pixels(picture.png).shape[:2] for name, picture in pictures.items()}
    assert sizes == {
        "overview.roberta": (267, 1122),
        "falls.roberta": (302, 407),
        "filtering_curves": (671, 1034),
        "curve.roberta": (484, 616),
        "predictability.roberta": (385, 616),
        "scores.roberta": (533, 1111),
        "examples.roberta": (212, 504),
        "similarity.roberta.0": (341, 946),
        "similarity.roberta.1": (341, 946),
    }
    assert all(picture.alt for picture in pictures.values())
    assert pictures["similarity.roberta.0"].alt == (
        "Cosine similarity of kept, removed and random rows of class neutral, representation roberta; mean kept "
        "\N{MINUS SIGN}0.250 (56 rows), removed 0.500 (1,000 of 1,234 rows), random 0.125 (56 rows)"
    )


def test_the_page_shows_the_pictures_that_it_is_given(pictures: dict[str, Picture], page: str) -> None:
    shown = dict(re.findall(r'<img class="picture[^"]*" src="data:image/png;base64,([^"]+)" alt="([^"]+)">', page))
    attached = [one for one in details_of(page) if "picture" in one]
    shown |= {one["picture"].removeprefix("data:image/png;base64,"): one["alt"] for one in attached}
    for name, picture in pictures.items():
        if not name.startswith("examples"):
            assert unescape(shown[base64.b64encode(picture.png).decode()]) == picture.alt, name


def test_captions_have_the_numbers(page: str) -> None:
    captions = {one["title"]: one["caption"] for one in details_of(page)}
    assert captions["How alike rows of class “neutral” are (roberta)"].startswith(
        "Mean cosine similarity: kept \N{MINUS SIGN}0.250 (56 rows), removed 0.500 (1,000 of 1,234 rows), random 0.125"
    )
    assert "two standard deviations of guessing right with that share on so many" in captions["Curves of filtering"]


def test_images_of_a_class_stand_above_their_map(page: str, image_examples: Callable[..., Any]) -> None:
    shown = next(one for one in details_of(page) if "class “neutral”" in one["title"])["images"]
    assert [(side, len(uris)) for side, uris in shown] == [("kept", 4), ("removed", 4)]
    examples = image_examples(1400)
    for (_, uris), first in zip(shown, (1000, 0), strict=True):
        assert uris == [thumbnail_uri(examples.image_bytes(first + number)) for number in range(4)]


def test_names_of_classes_cannot_leave_their_place(page: str) -> None:
    assert "<script>alert" not in page
    name = "&lt;/h4&gt;&lt;script&gt;alert(1)&lt;/script&gt; $x_{"
    assert f'dir="auto">How alike rows of class “{name}” are (roberta)</th>' in page
    assert f"How alike rows of class “{HOSTILE}” are (roberta)" in [one["title"] for one in details_of(page)]


def test_json_has_what_is_drawn(pictured: BenchmarkData) -> None:
    written: Any = report_document(pictured)
    scores = [row for row in written["tables"]["predictability_by_iteration"] if row["iteration"] == 1]
    assert [row["low"] for row in scores] == pytest.approx(np.arange(20) / 20)
    assert [row["rows"] for row in scores] == list(range(21, 41))
    assert [row["removed"] for row in scores[-2:]] == [19, 20]
    first = next(row for row in written["tables"]["similarities"] if row["side"] == "removed")
    assert (first["label_name"], first["mean"], first["used_rows"]) == ("neutral", 0.5, 1000)


def test_nothing_counted_is_left_out(planted: BenchmarkData) -> None:
    found = {"overview.roberta", "falls.roberta", "filtering_curves", "curve.roberta", "predictability.roberta"}
    found |= {"lengths.roberta"}  # rows of text
    assert set(drawn_of(planted)) == found
    written: Any = report_document(planted)
    assert written["tables"]["predictability_by_iteration"] == []
    assert written["tables"]["similarities"] == []


def test_colour_scale_holds_all_blocks() -> None:
    classes = class_similarities("roberta", similarity_table())
    assert [one[0].label_name for one in classes] == ["neutral", HOSTILE]
    assert lowest_similarity(classes) == pytest.approx(-0.3)
    assert lowest_similarity(()) == 0
    same = replace(classes[0][1], similarities=np.ones((2, 2), np.float32))
    assert lowest_similarity([(same,)]) == 0.9
    assert means_text(classes[0]).startswith("kept \N{MINUS SIGN}0.250 (56 rows)")


@pytest.mark.parametrize("many", [0, 1, 2, 7])
def test_curves_of_any_number_of_representations(planted: BenchmarkData, many: int) -> None:
    known = analyse(planted)
    names = [f"r{number}" for number in range(many)]
    facts = replace(
        known.facts,
        filterings=tuple(replace(known.facts.filterings[0], representation=name) for name in names),
        label_names=(*planted.label_names, "$a_{"),
    )
    tables: dict[str, tuple[object, ...]] = {
        ITERATIONS.name: tuple(replace(row, representation=name) for name in names for row in known.of(ITERATIONS)),
        CLASS_SHARES.name: tuple(replace(row, representation=name) for name in names for row in known.of(CLASS_SHARES)),
    }
    drawn = pixels(figures_filtering.filtering_curves(replace(known, facts=facts, tables=tables)).png)
    assert has_colour(drawn, BLUE) == (many > 0)
    assert has_colour(drawn, GREEN) == (many > 0)  # the third class, and the third representation


@pytest.mark.parametrize("iterations", [0, 1, 3, 40])
def test_scores_of_any_number_of_iterations(iterations: int) -> None:
    bins = planted_bins(iterations)
    drawn = pixels(figures_filtering.scores_by_iteration(bins, {"threshold": 0.75}).png)
    for colour in (BLUE, ORANGE, VERMILION):
        assert has_colour(drawn, colour) == (iterations > 0)


def test_bars_are_one_collection_from_low_to_high_over_their_bottom() -> None:
    _, axes = new_axes()
    before = axes.axis()
    low, high, height, bottom = (np.array(each) for each in ([0.0, 0.5], [0.5, 1.0], [2.0, 3.0], [1.0, 4.0]))
    draw_bars(axes, low, high, height, bottom=bottom, facecolors=BLUE, label="kept")
    (bars,) = axes.collections
    extents = [list(path.get_extents().extents) for path in bars.get_paths()]
    assert extents == [[0.0, 1.0, 0.5, 3.0], [0.5, 4.0, 1.0, 7.0]]
    assert axes.get_legend_handles_labels()[1] == ["kept"]
    assert axes.axis() == before


@pytest.mark.parametrize(("iterations", "chosen"), [(0, []), (3, [0, 1, 2]), (15, [0, 2, 4, 6, 8, 10, 12, 14])])
def test_iterations_drawn_are_even_with_both_ends(
    monkeypatch: pytest.MonkeyPatch, iterations: int, chosen: list[int]
) -> None:
    titles: list[str] = []
    monkeypatch.setattr(drawing, "picture", lambda figure, *_, **__: titles.extend(a.get_title() for a in figure.axes))
    figures_filtering.scores_by_iteration(planted_bins(iterations), {"threshold": 0.75})
    assert [title.split(":")[0] for title in titles if title] == [f"iteration {one}" for one in chosen]


def test_the_picture_of_the_warm_up_draws_every_curve() -> None:
    curves = [LearningCurve("a", (40, 80, 160), (200, 420, 425), 500, 170)]
    curves += [LearningCurve("$b_{", (40, 80, 160), (170, 180, 310), 500, 170)]
    picture = figures_filtering.warmup_picture(curve_points(curves))
    assert picture.alt.endswith("with the elbow chosen, representations a and $b_{")
    drawn = pixels(picture.png)
    assert has_colour(drawn, BLUE)
    assert has_colour(drawn, ORANGE)


def test_the_picture_of_a_sample_draws_its_curve() -> None:
    points = sample_points(SampleCurve((5_000, 10_000, 15_000), ((3_677,), (7_745,), (7_700,)), 10_000, 3_333, "flat"))
    picture = sample_picture(points)
    assert picture.alt.endswith("with the 10,000 chosen")
    assert has_colour(pixels(picture.png), BLUE)
