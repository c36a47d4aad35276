"""Pictures small enough to show without a click."""

import base64
import json
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from aflite_assets.assets.display.inline import LONGEST, linked_figures, small_lines
from aflite_assets.results import PublishedResult, ResultStore


def drawn(text: str) -> tuple[str, list[list[tuple[float, float]]]]:
    """What a picture says, and its lines as points."""
    picture, said = text.split("\n\n")
    svg = base64.b64decode(picture.partition("base64,")[2].removesuffix(")"))
    lines = []
    for path in ElementTree.fromstring(svg):
        numbers = [float(one) for one in path.attrib["d"].removeprefix("M").split()]
        lines.append(list(zip(numbers[::2], numbers[1::2], strict=True)))
    return said, lines


def test_lines_run_from_the_first_to_the_last_value() -> None:
    said, lines = drawn(str(small_lines({"bias": [1.0, 0.5, 0.0], "rows": [1.0, 1.0, 0.25]}).value))
    assert said == "blue: bias 1.00 to 0.00; grey: rows 1.00 to 0.25"
    assert lines == [[(0, 2), (160, 30), (320, 58)], [(0, 2), (160, 2), (320, 44)]]


@pytest.mark.parametrize("iterations", [1, 2, 24, 25, 1000])
def test_it_shows_at_once_however_many_values_there_are(iterations: int) -> None:
    falling = [1 - step / 1000 for step in range(iterations)]
    text = str(small_lines({"representation bias": falling, "train rows left": falling}).value)
    assert len(text) <= LONGEST
    said, lines = drawn(text)
    assert said.endswith(f"1.00 to {falling[-1]:.2f}")
    assert all(len(line) == min(iterations, 24) for line in lines)
    assert [line[0] for line in lines] == [(0, 2)] * 2
    assert [line[-1][0] for line in lines] == [0 if iterations == 1 else 320] * 2


def test_numbers_that_are_none_leave_a_gap() -> None:
    said, lines = drawn(str(small_lines({"bias": [math.nan, 0.5, math.nan, 0.0], "rows": [math.nan] * 4}).value))
    assert said == "blue: bias 0.50 to 0.00"
    assert lines == [[(107, 30), (320, 58)]]


def test_figures_are_linked_where_they_are_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ResultStore(tmp_path / "results")
    folder = store.root / "benchmark_report" / "digits" / "0a1b"
    (folder / "figures").mkdir(parents=True)
    alts = {"curves.a": "curves [of] <a>", "other": "not wanted", "long": "x" * 1000}
    (folder / "figures.json").write_text(json.dumps(alts))
    result = PublishedResult("benchmark_report", "digits", "0a1b", folder)
    assert linked_figures(result, store, ["curves_a", "long"]) == {}
    monkeypatch.setenv("AFLITE_RESULTS_URL", "http://127.0.0.1:3333/")
    linked = linked_figures(result, store, ["curves_a", "long"])
    assert set(linked) == {"curves_a"}
    text = str(linked["curves_a"].value)
    assert text.endswith("](http://127.0.0.1:3333/benchmark_report/digits/0a1b/figures/curves.a.png)")
    assert r"\[of\]" in text
    assert "<a>" not in text
