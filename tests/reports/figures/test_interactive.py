import json
from typing import Any

from aflite_assets.analysis.filtering import filter_table
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.figures.filtering_figures import curve_figure, curve_says, script_json


def test_the_figure_has_every_iteration_in_numbers_and_words(planted: BenchmarkData) -> None:
    figure: Any = curve_figure(filter_table(planted.filtered[0]))
    shares, counts = figure["panels"]
    assert [one["name"] for one in shares["series"]] == ["representation bias", "largest class"]
    assert shares["series"][0]["values"][0] == 82
    assert shares["series"][0]["texts"][0] == "82.0 %"
    assert counts["series"][0]["values"] == [1200 - 114 * i for i in range(8)]
    assert counts["series"][0]["texts"][:1] == ["1,200 (114 go)"]
    assert figure["places"] == list(range(8))
    assert counts["top"] == 1200


def test_the_result_of_the_curve_is_said_in_words(planted: BenchmarkData) -> None:
    said = curve_says(filter_table(planted.filtered[0]))
    assert said.startswith("In 8 iterations representation bias goes from 82.0 to ")
    assert "and the pool from 1,200 to 402 rows. " in said
    assert curve_says(()) == ""


def test_no_iteration_is_an_empty_figure() -> None:
    figure: Any = curve_figure(())
    assert figure["places"] == []
    assert [one["values"] for panel in figure["panels"] for one in panel["series"]] == [[], [], []]


def test_script_json_cannot_end_its_element() -> None:
    text = script_json({"a": "</script><!--<script>&]]>\u2028\x00"})
    assert not set("<>&\u2028\x00") & set(text)
    assert json.loads(text) == {"a": "</script><!--<script>&]]>\u2028\x00"}
