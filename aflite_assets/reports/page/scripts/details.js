// The viewer of tables and pictures: sort, filter, search, save as CSV. Text of the dataset is only ever text.
(function () {
  "use strict";
  var source = document.getElementById("details-data");
  var viewer = document.getElementById("viewer");
  if (!source || !viewer || !viewer.showModal) { return; }
  function part(name) { return document.getElementById("viewer-" + name); }
  var content = part("content"), search = part("search"), status = part("status");
  var BOUND = /^(<=|>=|<|>|=)\s*(-?\d+(\.\d+)?)\s*%?$/;
  var all = null, shown = null, filters = [], sorted = {column: -1, direction: 0}, body = null;

  function element(tag, className, text) {
    var made = document.createElement(tag);
    if (className) { made.className = className; }
    if (text !== undefined) { made.textContent = text; }
    return made;
  }
  function count(number) { return number.toLocaleString("en-US"); }
  function text(cell) { return typeof cell === "string" ? cell : cell[0]; }
  function number(cell) { return typeof cell === "string" ? NaN : cell[1]; }

  // A filter is words that a cell holds, or of numbers a bound: "> 0.5", "<= 3", as they are read there.
  function test(column, asked) {
    var bound = BOUND.exec(asked.trim());
    if (bound && shown.kinds[column] === "number") {
      var limit = parseFloat(bound[2]);
      var holds = {"<": function (one) { return one < limit; }, "<=": function (one) { return one <= limit; },
        ">": function (one) { return one > limit; }, ">=": function (one) { return one >= limit; },
        "=": function (one) { return one === limit; }}[bound[1]];
      return function (row) { return holds(shownNumber(row[column])); };
    }
    var words = asked.trim().toLowerCase();
    return function (row) { return text(row[column]).toLowerCase().indexOf(words) >= 0; };
  }
  function shownNumber(cell) {
    // as it is read on the page: accuracies in per cent, not shares
    var found = text(cell).replace(/\u2212/g, "-").replace(/,(?=\d{3})/g, "").match(/-?\d+(\.\d+)?(e[-+]?\d+)?/i);
    return found ? parseFloat(found[0]) : NaN;
  }
  function example(column) {
    // the middle of what the column holds, as it is written there
    var known = shown.rows.map(function (row) { return shownNumber(row[column]); });
    known = known.filter(function (one) { return !isNaN(one); });
    known.sort(function (a, b) { return a - b; });
    return known.length ? String(known[Math.floor(known.length / 2)]) : "0";
  }
  function misread() {
    return filters.some(function (one, column) {
      return shown.kinds[column] === "number" && /^[<>=]/.test(one.value.trim()) && !BOUND.test(one.value.trim());
    });
  }
  function rows() {
    var words = search.value.trim().toLowerCase();
    var tests = [];
    filters.forEach(function (one, column) { if (one.value.trim()) { tests.push(test(column, one.value)); } });
    var found = shown.rows.filter(function (row) {
      return tests.every(function (holds) { return holds(row); }) &&
        (!words || row.some(function (cell) { return text(cell).toLowerCase().indexOf(words) >= 0; }));
    });
    return sorted.direction ? found.map(function (row, place) { return [row, place]; }).sort(order).map(first) : found;
  }
  function first(pair) { return pair[0]; }
  function order(a, b) {
    var one = a[0][sorted.column], other = b[0][sorted.column], by = 0;
    if (shown.kinds[sorted.column] === "number") {
      // rows without a number stay below, whichever way it is sorted
      var x = number(one), y = number(other);
      if (isNaN(x) !== isNaN(y)) { return isNaN(x) ? 1 : -1; }
      by = isNaN(x) ? 0 : x - y;
    } else {
      by = text(one).localeCompare(text(other), undefined, {numeric: true});
    }
    return sorted.direction * by || a[1] - b[1];
  }
  function fill() {
    var found = rows();
    body.textContent = "";
    found.forEach(function (row) {
      var line = element("tr");
      row.forEach(function (cell, column) {
        var made = element(column ? "td" : "th", shown.kinds[column], text(cell));
        if (!column) { made.scope = "row"; }
        made.dir = "auto";
        line.appendChild(made);
      });
      body.appendChild(line);
    });
    var more = shown.left_out ? " The page holds the first " + count(shown.rows.length) + " of " +
      count(shown.rows.length + shown.left_out) + "; the file has all." : "";
    var unread = misread() ? " A filter of numbers is a sign and a number, such as > 35." : "";
    status.textContent = count(found.length) + " of " + count(shown.rows.length) + " rows." + more + unread;
  }
  function sortBy(column) {
    var start = shown.kinds[column] === "text" ? 1 : -1;
    if (sorted.column !== column) {
      sorted = {column: column, direction: start};
    } else {
      sorted.direction = sorted.direction === start ? -start : sorted.direction === -start ? 0 : start;
    }
    Array.prototype.forEach.call(content.querySelectorAll("th[scope=col]"), function (head, place) {
      head.removeAttribute("aria-sort");
      if (place === column && sorted.direction) {
        head.setAttribute("aria-sort", sorted.direction > 0 ? "ascending" : "descending");
      }
    });
    fill();
  }
  function table() {
    var made = element("table", "free"), head = element("thead"), names = element("tr"), asked = element("tr");
    var caption = element("caption", "unseen", shown.title);
    filters = [];
    shown.heads.forEach(function (name, column) {
      var cell = element("th", shown.kinds[column]), button = element("button", "sort", name);
      cell.scope = "col";
      button.type = "button";
      button.addEventListener("click", function () { sortBy(column); });
      cell.appendChild(button);
      names.appendChild(cell);
      var below = element("td"), input = element("input");
      input.type = "search";
      input.placeholder = shown.kinds[column] === "number" ? "> " + example(column) : "has";
      input.setAttribute("aria-label", "Filter by " + name);
      input.addEventListener("input", fill);
      filters.push(input);
      below.appendChild(input);
      asked.appendChild(below);
    });
    head.appendChild(names);
    head.appendChild(asked);
    body = element("tbody");
    made.appendChild(caption);
    made.appendChild(head);
    made.appendChild(body);
    content.appendChild(made);
    fill();
  }
  function picture() {
    (shown.images || []).forEach(function (side) {
      content.appendChild(element("p", "side", side[0]));
      var list = element("ul", "gallery");
      side[1].forEach(function (uri, place) {
        var item = element("li"), image = element("img");
        image.src = uri;
        image.alt = side[0] + " row " + (place + 1);
        item.appendChild(image);
        list.appendChild(item);
      });
      content.appendChild(list);
    });
    var image = element("img", "picture");
    image.src = shown.picture;
    image.alt = shown.alt;
    content.appendChild(image);
    status.textContent = "";
  }
  function open(place) {
    all = all || JSON.parse(source.textContent);
    shown = all[place];
    sorted = {column: -1, direction: 0};
    search.value = "";
    content.textContent = "";
    part("title").textContent = shown.title;
    part("caption").textContent = shown.caption;
    part("tools").hidden = !shown.rows;
    if (shown.rows) { table(); } else { picture(); }
    viewer.showModal();
    content.scrollTop = 0;
  }
  function quoted(value) {
    // a cell that a spreadsheet would take for a formula begins with an apostrophe
    var safe = /^[=+@\t\r]/.test(value) || /^-[^\d]/.test(value) ? "'" + value : value;
    return /[",\n\r]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
  }
  part("save").addEventListener("click", function () {
    var lines = [shown.heads].concat(rows().map(function (row) { return row.map(text); }));
    var csv = lines.map(function (line) { return line.map(quoted).join(","); }).join("\r\n") + "\r\n";
    var link = element("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff" + csv], {type: "text/csv"}));
    link.download = shown.title.replace(/[^\w-]+/g, "_").replace(/^_+|_+$/g, "").toLowerCase() + ".csv";
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  });
  part("clear").addEventListener("click", function () {
    search.value = "";
    filters.forEach(function (one) { one.value = ""; });
    fill();
  });
  search.addEventListener("input", fill);
  part("close").addEventListener("click", function () { viewer.close(); });
  document.querySelectorAll("[data-detail]").forEach(function (name) {
    var button = element("button", "opens", name.textContent);
    button.type = "button";
    button.addEventListener("click", function () { open(Number(name.dataset.detail)); });
    name.textContent = "";
    name.appendChild(button);
  });
})();
