import json

from aflite_assets.reports.figures.interactive import curve_figure, plotly_script, script_json
from aflite_assets.reports.inputs.records import BenchmarkData, FilteredSet


def test_plotly_knows_every_property_of_the_figure(planted: BenchmarkData) -> None:
    import plotly.graph_objects as go

    figure = go.Figure(curve_figure(planted.filtered[0]))
    assert [trace.name for trace in figure.data] == [
        "representation bias",
        "most frequent class, share of rows",
        "pool rows left",
    ]
    assert figure.data[0].y[0] == 0.82
    assert list(figure.data[2].y) == [1200 - 114 * i for i in range(8)]


def test_no_iteration_is_an_empty_figure(planted: BenchmarkData) -> None:
    f = planted.filtered[0]
    figure = curve_figure(FilteredSet("r", f.iterations.slice(0, 0), "x", (), f.rows, {}))
    assert json.loads(script_json(figure))["data"][0]["x"] == []


def test_script_json_cannot_end_its_element() -> None:
    text = script_json({"a": "</script><!--<script>&]]>\u2028\x00"})
    assert not set("<>&\u2028\x00") & set(text)
    assert json.loads(text) == {"a": "</script><!--<script>&]]>\u2028\x00"}


def test_plotly_itself_cannot_end_its_element() -> None:
    script = plotly_script()
    assert len(script) > 1_000_000
    assert not any(end in script.lower() for end in ("</script", "<!--", "<script", "\r", "\x00"))
