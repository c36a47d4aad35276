// Folding, sorting, definitions and the table of contents. Without it the page is whole and everything is open.
(function () {
  "use strict";
  var root = document.documentElement;
  root.classList.add("scripted");

  // Sections are open without scripts and on paper; here they fold, all but those that begin with a picture.
  var folds = Array.prototype.slice.call(document.querySelectorAll("details.section"));
  folds.forEach(function (fold) { fold.open = fold.classList.contains("unfolded"); });
  document.querySelectorAll("details.inner").forEach(function (fold) { fold.open = false; });

  function reveal(id) {
    var target = id && document.getElementById(id);
    if (!target) { return; }
    for (var one = target; one; one = one.parentElement) {
      if (one.tagName === "DETAILS") { one.open = true; }
    }
    var inside = target.querySelector("details.section");
    if (inside) { inside.open = true; }
    target.scrollIntoView();
    whereAmI();
  }
  function fromAddress() {
    var id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch (error) { return; }
    reveal(id);
  }
  window.addEventListener("hashchange", fromAddress);
  document.addEventListener("click", function (event) {
    var link = event.target.closest && event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) { fromAddress(); }
  });

  document.querySelectorAll("[data-fold]").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var all = folds.concat(Array.prototype.slice.call(document.querySelectorAll("details.inner")));
      all.forEach(function (fold) { fold.open = button.dataset.fold === "open"; });
    });
  });
  var before = [];
  window.addEventListener("beforeprint", function () {
    before = Array.prototype.filter.call(document.querySelectorAll("details"), function (one) { return !one.open; });
    before.forEach(function (one) { one.open = true; });
  });
  window.addEventListener("afterprint", function () {
    before.forEach(function (one) { one.open = false; });
  });

  // The table of contents says where the reader is.
  var entries = Array.prototype.slice.call(document.querySelectorAll("nav.toc a"));
  var places = entries.map(function (entry) {
    return document.getElementById(entry.getAttribute("href").slice(1));
  });
  var strip = document.querySelector("nav.toc ol");
  function whereAmI() {
    var current = 0;
    places.forEach(function (place, number) {
      if (place && place.getBoundingClientRect().top < 140) { current = number; }
    });
    // the last sections cannot come to the top: there the one that was asked for counts
    if (root.clientHeight + window.scrollY >= root.scrollHeight - 2) {
      places.forEach(function (place, number) {
        if (place && "#" + place.id === location.hash && place.getBoundingClientRect().top >= 0) { current = number; }
      });
    }
    entries.forEach(function (entry, number) {
      if (number !== current) {
        entry.removeAttribute("aria-current");
      } else if (entry.getAttribute("aria-current") === null) {
        entry.setAttribute("aria-current", "true");
        var item = entry.parentElement;
        if (strip.scrollWidth > strip.clientWidth) { strip.scrollLeft = item.offsetLeft - strip.clientWidth / 3; }
      }
    });
  }
  var asked = false;
  window.addEventListener("scroll", function () {
    if (asked) { return; }
    asked = true;
    requestAnimationFrame(function () { asked = false; whereAmI(); });
  }, {passive: true});

  // A click on a heading sorts each block of rows by its column: down, up, and as it was.
  function number(text) {
    var found = text.replace(/\u2212/g, "-").replace(/,/g, "").match(/-?\d+(\.\d+)?(e[-+]?\d+)?/i);
    return found ? parseFloat(found[0]) : NaN;
  }
  function value(row, column, kind) {
    var cell = row.cells[column];
    if (!cell) { return null; }
    if (kind === "text") { return cell.textContent.trim(); }
    if (cell.dataset.value !== undefined) { return parseFloat(cell.dataset.value); }
    return number(cell.textContent);
  }
  function sort(table, head, column, direction) {
    var kind = head.dataset.sort;
    Array.prototype.forEach.call(table.tBodies, function (body) {
      var rows = Array.prototype.slice.call(body.rows).filter(function (row) { return row.dataset.place; });
      rows.sort(function (a, b) {
        var first = value(a, column, kind), second = value(b, column, kind);
        var order = 0;
        if (direction && kind === "text") {
          order = String(first).localeCompare(String(second), undefined, {numeric: true});
        } else if (direction) {
          // rows without a number stay below, whichever way it is sorted
          if (isNaN(first) !== isNaN(second)) { return isNaN(first) ? 1 : -1; }
          order = isNaN(first) ? 0 : first - second;
        }
        return direction * order || a.dataset.place - b.dataset.place;
      });
      rows.forEach(function (row) { body.appendChild(row); });
    });
    table.querySelectorAll("th[aria-sort]").forEach(function (other) { other.removeAttribute("aria-sort"); });
    if (direction) { head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending"); }
  }
  function columnsOf(table) {
    // where each heading of the last line of heads stands, those that span lines included
    var taken = [], found = [];
    Array.prototype.forEach.call(table.tHead.rows, function (row, line) {
      var place = 0;
      taken[line] = taken[line] || [];
      Array.prototype.forEach.call(row.cells, function (cell) {
        while (taken[line][place]) { place += 1; }
        for (var down = 0; down < cell.rowSpan; down += 1) {
          taken[line + down] = taken[line + down] || [];
          for (var across = 0; across < cell.colSpan; across += 1) { taken[line + down][place + across] = true; }
        }
        if (cell.dataset.sort) { found.push([cell, place]); }
        place += cell.colSpan;
      });
    });
    return found;
  }
  document.querySelectorAll("table").forEach(function (table) {
    if (!table.tHead) { return; }
    Array.prototype.forEach.call(table.tBodies, function (body) {
      Array.prototype.forEach.call(body.rows, function (row, place) {
        if (!row.querySelector("th[scope=rowgroup]")) { row.dataset.place = String(place + 1); }
      });
    });
    if (table.querySelectorAll("tr[data-place]").length < 2) { return; }
    columnsOf(table).forEach(function (found) {
      var head = found[0], column = found[1];
      var button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      while (head.firstChild) { button.appendChild(head.firstChild); }
      head.appendChild(button);
      button.addEventListener("click", function () {
        var now = head.getAttribute("aria-sort");
        var first = head.dataset.sort === "text" ? 1 : -1;
        var direction = now === null ? first : now === (first > 0 ? "ascending" : "descending") ? -first : 0;
        sort(table, head, column, direction);
      });
    });
  });

  // Tables that are wider than the page say that they scroll.
  function hints() {
    document.querySelectorAll(".scroll").forEach(function (box) {
      box.classList.toggle("overflows", box.scrollWidth > box.clientWidth + 1);
    });
  }
  if (window.ResizeObserver) {
    var watch = new ResizeObserver(hints);
    document.querySelectorAll(".scroll").forEach(function (box) { watch.observe(box); });
  }
  window.addEventListener("resize", hints);

  // A term shows its definition under the pointer and under the keyboard's focus; Escape hides it.
  var tip = document.createElement("div");
  tip.id = "definition";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.appendChild(tip);
  var owner = null;
  document.querySelectorAll("a.term").forEach(function (term) {
    term.dataset.definition = term.title;
    term.removeAttribute("title");
  });
  function show(term) {
    owner = term;
    tip.textContent = term.dataset.definition;
    tip.hidden = false;
    term.setAttribute("aria-describedby", tip.id);
    var box = term.getBoundingClientRect(), width = tip.offsetWidth, height = tip.offsetHeight;
    var left = Math.min(Math.max(8, box.left), root.clientWidth - width - 8);
    var top = box.bottom + height + 12 > root.clientHeight ? box.top - height - 6 : box.bottom + 6;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = Math.max(8, top) + "px";
  }
  function hide() {
    if (owner) { owner.removeAttribute("aria-describedby"); }
    owner = null;
    tip.hidden = true;
  }
  function termOf(event) { return event.target.closest && event.target.closest("a.term"); }
  ["pointerover", "focusin"].forEach(function (kind) {
    document.addEventListener(kind, function (event) {
      var term = termOf(event);
      if (term) { show(term); } else if (owner && kind === "pointerover" && document.activeElement !== owner) { hide(); }
    });
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", function (event) { if (event.key === "Escape") { hide(); } });
  window.addEventListener("scroll", hide, {passive: true});

  hints();
  whereAmI();
  if (location.hash) { fromAddress(); }
})();
