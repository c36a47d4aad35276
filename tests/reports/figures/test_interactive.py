import json
from dataclasses import replace

import pyarrow as pa
import pytest

from aflite_assets.analysis.filtering import filter_table
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.figures.filtering_figures import curve_figure, plotly_script, script_json


def test_plotly_knows_every_property_of_the_figure(planted: BenchmarkData) -> None:
    import plotly.graph_objects as go

    figure = go.Figure(curve_figure(filter_table(planted.filtered[0])))
    assert [trace.name for trace in figure.data] == [
        "representation bias",
        "largest class",
        "pool rows left",
    ]
    assert figure.data[0].y[0] == 0.82
    assert list(figure.data[2].y) == [1200 - 114 * i for i in range(8)]


@pytest.mark.parametrize(("iterations", "each"), [(2, True), (12, True), (13, False)])
def test_few_iterations_have_a_tick_each(planted: BenchmarkData, iterations: int, each: bool) -> None:
    one = planted.filtered[0]
    first = one.iterations.slice(0, 1).to_pylist()[0]
    rows = pa.Table.from_pylist([first | {"iteration": n} for n in range(iterations)], schema=one.iterations.schema)
    axis = json.loads(script_json(curve_figure(filter_table(replace(one, iterations=rows)))))["layout"]["xaxis"]
    assert (axis.get("dtick"), axis.get("tick0")) == ((1, 0) if each else (None, None))


def test_no_iteration_is_an_empty_figure() -> None:
    figure = curve_figure(())
    assert json.loads(script_json(figure))["data"][0]["x"] == []


def test_script_json_cannot_end_its_element() -> None:
    text = script_json({"a": "</script><!--<script>&]]>\u2028\x00"})
    assert not set("<>&\u2028\x00") & set(text)
    assert json.loads(text) == {"a": "</script><!--<script>&]]>\u2028\x00"}


def test_plotly_itself_cannot_end_its_element() -> None:
    script = plotly_script()
    assert len(script) > 1_000_000
    assert not any(end in script.lower() for end in ("</script", "<!--", "<script", "\r", "\x00"))
