// Draws every `.chart` that is seen from the JSON element its `data-figure` names, in the page's colours.
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
