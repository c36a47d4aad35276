// Draws every `.chart` that is seen as SVG, from the JSON element that its `data-figure` names. Colours are the page's.
// Pointer, finger and arrow keys read values; the buttons of the legend hide and show a series. A part is seen larger by
// dragging over it with a mouse, by a button, or by the keys + and -.
(function () {
  "use strict";
  var LEFT = 52, RIGHT = 12, TOP = 20, GAP = 26, BELOW = 42, UNIT = 62;
  var FEWEST_TO_ZOOM = 5, SHORTEST_DRAG = 20;

  function svg(name, attributes, parent, text) {
    var made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.keys(attributes).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    if (text !== undefined) { made.textContent = text; }
    if (parent) { parent.appendChild(made); }
    return made;
  }
  function html(name, kind, parent, text) {
    var made = document.createElement(name);
    made.className = kind;
    if (text !== undefined) { made.textContent = text; }
    parent.appendChild(made);
    return made;
  }
  function step(most, wished) {
    // 1, 2 or 5 times a power of ten, so that about as many ticks as wished fit
    var raw = Math.max(most, 1e-9) / wished, power = Math.pow(10, Math.floor(Math.log10(raw)));
    return power * [1, 2, 5, 10].find(function (one) { return one * power >= raw - 1e-12; });
  }

  function Chart(box) {
    var figure = JSON.parse(document.getElementById(box.dataset.figure).textContent);
    var hidden = {}, at = -1, last = 0, end = figure.places.length - 1, from = 0, to = end;
    var legend = html("div", "chart-legend", box), place = html("div", "chart-plot", box);
    var tip = html("div", "chart-tip", box);
    tip.hidden = true;
    tip.setAttribute("aria-live", "polite");
    place.tabIndex = 0;
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", box.dataset.title + " Arrow keys read single values, plus and minus zoom.");
    figure.panels.forEach(function (panel) {
      panel.series.forEach(function (one) {
        var button = html("button", "", legend);
        button.type = "button";
        button.setAttribute("aria-pressed", "true");
        html("span", "key " + one.colour + " " + one.line, button);
        button.appendChild(document.createTextNode(one.name));
        button.addEventListener("click", function () {
          hidden[one.name] = !hidden[one.name];
          button.setAttribute("aria-pressed", String(!hidden[one.name]));
          draw();
        });
      });
    });
    var width = 0, cursor = null, band = null, dragged = null, marks = [];
    if (end >= FEWEST_TO_ZOOM) {
      [["Zoom in", narrow], ["Show all", whole]].forEach(function (one) {
        var button = html("button", "zoom", legend, one[0]);
        button.type = "button";
        button.addEventListener("click", one[1]);
      });
    }
    function zoom(first, after) {
      from = Math.max(0, Math.min(first, end - 1));
      to = Math.min(end, Math.max(after, from + 1));
      leave();
      draw();
    }
    function narrow() {
      var reach = Math.max(1, Math.floor((to - from) / 4)), middle = at < 0 ? Math.floor((from + to) / 2) : at;
      zoom(middle - reach, middle + reach);
    }
    function whole() { zoom(0, end); }
    function x(number) {
      var first = figure.places[from], span = Math.max(figure.places[to] - first, 1);
      return LEFT + (width - LEFT - RIGHT) * (number - first) / span;
    }
    function draw() {
      width = place.clientWidth;
      if (!width || !figure.places.length) { return; }
      last = width;
      place.textContent = "";
      marks = [];
      var inner = figure.panels.reduce(function (sum, one) { return sum + one.height * UNIT; }, 0);
      var height = TOP + inner + GAP * (figure.panels.length - 1) + BELOW, over = TOP;
      var root = svg("svg", {width: width, height: height, viewBox: "0 0 " + width + " " + height}, place);
      svg("title", {}, root, box.dataset.title);
      figure.panels.forEach(function (panel) {
        drawPanel(root, panel, over, panel.height * UNIT);
        over += panel.height * UNIT + GAP;
      });
      var places = figure.places, each = Math.max(1, step(to - from + 1, Math.max(2, (width - LEFT) / 45)));
      for (var number = places[from]; number <= places[to]; number += each) {
        svg("text", {x: x(number), y: height - BELOW + 16, "class": "tick middle"}, root, number);
      }
      svg("text", {x: (LEFT + width) / 2, y: height - 6, "class": "tick middle"}, root, figure.axis);
      cursor = svg("line", {"class": "cursor", y1: TOP, y2: height - BELOW, visibility: "hidden"}, root);
      band = svg("rect", {"class": "band", y: TOP, height: height - BELOW - TOP, visibility: "hidden"}, root);
    }
    function drawPanel(root, panel, over, height) {
      var top = panel.top * 1.04, each = step(panel.top, 4);
      function y(value) { return over + height * (1 - value / top); }
      for (var value = 0; value <= top; value += each) {
        svg("line", {x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), "class": "grid"}, root);
        svg("text", {x: LEFT - 6, y: y(value) + 4, "class": "tick end"}, root, value.toLocaleString("en"));
      }
      svg("text", {x: LEFT, y: over - 2, "class": "tick"}, root, panel.title);
      panel.series.forEach(function (one) {
        if (hidden[one.name]) { return; }
        var path = "";
        one.values.forEach(function (value, number) {
          if (number < from || number > to) { return; }
          var px = x(figure.places[number]), py = y(value);
          path += path ? (one.line === "steps" ? "H" + px + "V" + py : "L" + px + " " + py) : "M" + px + " " + py;
        });
        svg("path", {d: path, "class": "curve " + one.colour + " " + one.line}, root);
        if (one.line === "dashed") { return; }
        one.values.forEach(function (value, number) {
          if (number < from || number > to) { return; }
          var dot = {cx: x(figure.places[number]), cy: y(value), r: 3, "class": "dot " + one.colour};
          marks.push([number, svg("circle", dot, root)]);
        });
      });
    }
    function read(number) {
      at = Math.min(Math.max(number, from), to);
      var px = x(figure.places[at]);
      cursor.setAttribute("x1", px);
      cursor.setAttribute("x2", px);
      cursor.setAttribute("visibility", "visible");
      marks.forEach(function (mark) { mark[1].setAttribute("r", mark[0] === at ? 5 : 3); });
      tip.textContent = figure.axis + " " + figure.places[at];
      figure.panels.forEach(function (panel) {
        panel.series.forEach(function (one) {
          if (!hidden[one.name]) { html("span", "", tip, one.name + " " + one.texts[at]); }
        });
      });
      tip.hidden = false;
      tip.style.left = Math.max(0, Math.min(px + 10, width - tip.offsetWidth)) + "px";
      tip.style.top = place.offsetTop + TOP + "px";
    }
    function leave() {
      at = -1;
      tip.hidden = true;
      if (cursor) { cursor.setAttribute("visibility", "hidden"); }
      marks.forEach(function (mark) { mark[1].setAttribute("r", 3); });
    }
    function within(event) { return event.clientX - place.getBoundingClientRect().left; }
    function closest(px) {
      var best = from;
      for (var number = from; number <= to; number += 1) {
        if (Math.abs(x(figure.places[number]) - px) < Math.abs(x(figure.places[best]) - px)) { best = number; }
      }
      return best;
    }
    function nearest(event) {
      if (!cursor) { return; }
      var px = within(event);
      read(closest(px));
      if (dragged !== null) {
        band.setAttribute("x", Math.min(px, dragged));
        band.setAttribute("width", Math.abs(px - dragged));
        band.setAttribute("visibility", "visible");
      }
    }
    place.addEventListener("pointermove", nearest);
    place.addEventListener("pointerdown", function (event) {
      if (event.pointerType === "mouse" && end >= FEWEST_TO_ZOOM) { dragged = within(event); }
      nearest(event);
    });
    place.addEventListener("pointerup", function (event) {
      var first = dragged, px = within(event);
      dragged = null;
      if (band) { band.setAttribute("visibility", "hidden"); }
      if (first !== null && Math.abs(px - first) > SHORTEST_DRAG) {
        zoom(closest(Math.min(px, first)), closest(Math.max(px, first)));
      }
    });
    place.addEventListener("pointerleave", function () {
      dragged = null;
      if (band) { band.setAttribute("visibility", "hidden"); }
      leave();
    });
    place.addEventListener("blur", leave);
    place.addEventListener("keydown", function (event) {
      var moves = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: from, End: to};
      if (event.key === "Escape") { leave(); }
      if (end >= FEWEST_TO_ZOOM && event.key === "+") { narrow(); }
      if (event.key === "-") { whole(); }
      if (!cursor || !(event.key in moves)) { return; }
      event.preventDefault();
      read(moves[event.key]);
    });
    this.fit = function () { if (place.clientWidth !== last) { leave(); draw(); } };
  }

  var charts = Array.prototype.map.call(document.querySelectorAll(".chart"), function (box) { return new Chart(box); });
  function fit() { charts.forEach(function (one) { one.fit(); }); }
  fit();
  window.addEventListener("resize", fit);
  document.addEventListener("toggle", fit, true);
})();
