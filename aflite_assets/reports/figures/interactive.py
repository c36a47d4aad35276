"""The interactive filtering curve as plotly.js data and layout, and the script that draws it."""

import json
from collections.abc import Sequence
from functools import cache

from aflite_assets.analysis.filtering import FilterRow
from aflite_assets.analysis.json_values import JsonValue, to_json

DRAW_SCRIPT = """
(function () {
  "use strict";
  var coarse = window.matchMedia("(pointer: coarse)").matches;
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  function draw() {
    var style = getComputedStyle(document.documentElement);
    function colour(name) { return style.getPropertyValue("--" + name).trim(); }
    document.querySelectorAll(".chart").forEach(function (box) {
      if (!box.offsetWidth) { return; } // in a folded section, which draws when it opens
      var figure = JSON.parse(document.getElementById(box.dataset.figure).textContent);
      var layout = figure.layout;
      layout.font.color = colour("ink");
      figure.data.forEach(function (trace) {
        trace.line.color = trace.marker.color = colour(trace.meta);
      });
      ["xaxis", "yaxis", "yaxis2"].forEach(function (axis) {
        layout[axis].gridcolor = colour("line");
        layout[axis].linecolor = colour("line");
      });
      layout.dragmode = coarse ? false : "zoom";
      Plotly.react(box, figure.data, layout, {responsive: true, displayModeBar: false});
    });
  }
  draw();
  dark.addEventListener("change", draw);
  document.addEventListener("toggle", function (event) {
    if (event.target.querySelector(".chart:not(.js-plotly-plot)")) { draw(); }
  }, true);
})();
"""
"""Draws every `.chart` that is seen from the JSON element its `data-figure` names, in the page's colours."""


@cache
def plotly_script() -> str:
    """plotly.js (MIT licence) as shipped inside the plotly package, in the form an HTML parser hands to scripts."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).replace("\r\n", "\n").replace("\r", "\n")


def curve_figure(rows: Sequence[FilterRow]) -> dict[str, JsonValue]:
    """Data and layout: representation bias and the largest class's share above, pool rows left below, by iteration."""
    columns = ("iteration", "representation_bias", "largest_class", "rows_in", "removed")
    iterations, bias, largest, left, removed = ([getattr(row, name) for row in rows] for name in columns)
    traces = [
        _trace("representation bias", iterations, bias, meta="series-bias", hover="%{y:.1%}"),
        _trace("largest class", iterations, largest, meta="series-chance", hover="%{y:.1%}")
        | {"line": {"width": 2, "dash": "dash"}, "mode": "lines"},
        _trace("pool rows left", iterations, left, meta="series-rows", hover="%{y:,} (%{customdata:,} go)")
        | {"yaxis": "y2", "customdata": removed, "line": {"width": 2, "shape": "hv"}},
    ]
    return {"data": to_json(traces), "layout": _layout(max(left, default=1), len(iterations))}


def script_json(value: JsonValue) -> str:
    """JSON that can stand inside a script element: nothing in it can end the element or start a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _trace(name: str, x: object, y: object, *, meta: str, hover: str) -> dict[str, object]:
    """`meta` names the page's colour, without the leading dashes, that the script gives the trace."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "cliponaxis": False,
        "name": name,
        "meta": meta,
        "x": x,
        "y": y,
        "line": {"width": 2},
        "marker": {"size": 6},
        "hovertemplate": f"{hover}<extra>{name}</extra>",
    }


_EACH_TICKED = 12
"""So many iterations have a tick each; of fewer plotly would draw ticks at fractions."""


def _layout(most_rows: int, iterations: int) -> JsonValue:
    plain = {"fixedrange": False, "zeroline": False, "automargin": True, "showline": True}
    return to_json(
        {
            "font": {"family": "system-ui, sans-serif", "size": 13},
            "height": 460,
            "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hovermode": "x unified",
            "hoverlabel": {"font": {"color": "#17212b"}, "bgcolor": "#ffffff"},
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "xaxis": plain
            | {"title": {"text": "iteration"}, "anchor": "y2", "tickformat": "d", "rangemode": "tozero"}
            | ({"tickmode": "linear", "tick0": 0, "dtick": 1} if iterations <= _EACH_TICKED else {}),
            "yaxis": plain
            | {"title": {"text": "predictable rows"}, "domain": [0.42, 1], "range": [0, 1.03], "tickformat": ".0%"},
            "yaxis2": plain
            | {
                "title": {"text": "pool rows left"},
                "domain": [0, 0.34],
                "range": [0, 1.08 * most_rows],
                "tickformat": ",d",
            },
        }
    )
