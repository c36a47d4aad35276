"""The interactive filtering curve as plotly.js data and layout, for `page/scripts/charts.js`, which draws it."""

import json
from collections.abc import Sequence
from functools import cache

from aflite_assets.analysis.filtering import FilterRow
from aflite_assets.analysis.json_values import JsonValue, to_json

_EACH_TICKED = 12
"""So many iterations have a tick each; of fewer plotly would draw ticks at fractions."""

_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


@cache
def plotly_script() -> str:
    """plotly.js (MIT licence) as shipped inside the plotly package, in the form an HTML parser hands to scripts."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).replace("\r\n", "\n").replace("\r", "\n")


def curve_figure(rows: Sequence[FilterRow]) -> dict[str, JsonValue]:
    """Return data and layout: bias and the largest class's share above, pool rows left below, by iteration."""
    dashed, steps = {"width": 2, "dash": "dash"}, {"width": 2, "shape": "hv"}
    removed = [row.removed for row in rows]
    hover = "%{y:,} (%{customdata:,} go)"
    traces = [
        _trace("representation bias", rows, "representation_bias", "series-bias"),
        _trace("largest class", rows, "largest_class", "series-chance", line=dashed, mode="lines"),
        _trace("pool rows left", rows, "rows_in", "series-rows", hover, yaxis="y2", customdata=removed, line=steps),
    ]
    ticks = {"tickmode": "linear", "tick0": 0, "dtick": 1} if len(rows) <= _EACH_TICKED else {}
    top = 1.08 * max((row.rows_in for row in rows), default=1)
    layout = {
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "height": 460,
        "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "x unified",
        "hoverlabel": {"font": {"color": "#17212b"}, "bgcolor": "#ffffff"},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "xaxis": _axis("iteration", anchor="y2", tickformat="d", rangemode="tozero") | ticks,
        "yaxis": _axis("predictable rows", domain=[0.42, 1], range=[0, 1.03], tickformat=".0%"),
        "yaxis2": _axis("pool rows left", domain=[0, 0.34], range=[0, top], tickformat=",d"),
    }
    return {"data": to_json(traces), "layout": to_json(layout)}


def script_json(value: JsonValue) -> str:
    """Return JSON that can stand inside a script element: nothing in it can end the element or start a comment."""
    return _ENCODER.encode(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _trace(
    name: str, rows: Sequence[FilterRow], column: str, meta: str, hover: str = "%{y:.1%}", **more: object
) -> dict[str, object]:
    """Return a trace; `meta` names the page's colour, without the leading dashes, that the script gives it."""
    iterations, values = ([getattr(row, one) for row in rows] for one in ("iteration", column))
    trace = {"type": "scatter", "mode": "lines+markers", "cliponaxis": False, "name": name, "meta": meta}
    style = {"line": {"width": 2}, "marker": {"size": 6}, "hovertemplate": f"{hover}<extra>{name}</extra>"}
    return {**trace, "x": iterations, "y": values, **style, **more}


def _axis(title: str, **more: object) -> dict[str, object]:
    plain = {"fixedrange": False, "zeroline": False, "automargin": True, "showline": True}
    return {**plain, "title": {"text": title}, **more}
