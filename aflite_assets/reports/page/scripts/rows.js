// The browser of rows: filters, a list, and why each row was kept or removed. Text of the dataset is only ever text.
(function () {
  "use strict";
  var source = document.getElementById("rows-data");
  var form = document.getElementById("rows-form");
  if (!source || !form) { return; }
  form.hidden = false;
  var AT_ONCE = 25;
  var SVG = "http://www.w3.org/2000/svg";
  var list = document.getElementById("rows-list");
  var status = document.getElementById("rows-status");
  var more = document.getElementById("rows-more");
  var data = null, found = [], shown = 0, filtering = 0, texts = [];

  function element(tag, className, text) {
    var made = document.createElement(tag);
    if (className) { made.className = className; }
    if (text !== undefined) { made.textContent = text; }
    return made;
  }
  function named(label) { return label in data.labels ? data.labels[label] : String(label); }
  function percent(share) { return (100 * share).toFixed(1) + " %"; }
  function count(number) { return number.toLocaleString("en-US"); }
  function plain(row) {
    var parts = (row.texts || []).map(function (pieces) {
      return spaced(pieces.map(function (piece) { return typeof piece === "string" ? piece : piece[1]; }).join(""));
    });
    (row.attributes || []).forEach(function (pair) { parts.push(pair[0] + " " + pair[1]); });
    if (row.vector) { parts.push(row.vector); }
    return parts.join("\n").toLowerCase();
  }
  function spaced(text) { return text.replace(/\s+/g, " "); }
  function unquoted(text) {
    // "a phrase" asks for the phrase: what stands between quotation marks, of whatever kind
    var inside = /^["'“”„‟«»‘’]+(.*?)["'“”„‟«»‘’]+$/.exec(text);
    return inside && inside[1].trim() ? inside[1].trim() : text;
  }
  function placed(place, asked) {
    // "line 9" is line 9 alone, and no other that begins with it; "9" is a line, and no other number
    var whole = place.toLowerCase(), at = -1;
    if (/^\d+$/.test(asked)) { asked = "line " + asked; }
    while ((at = whole.indexOf(asked, at + 1)) >= 0) {
      var before = whole.charAt(at - 1), after = whole.charAt(at + asked.length);
      if (!/\d$/.test(asked) || /^[ (/]?$/.test(before) && !/\d/.test(after)) { return true; }
    }
    return false;
  }
  function inFile(place) { return place.replace(/ \([^()]*\)$/, ""); }
  function field(name) { return form.elements.namedItem(name); }
  function chosen(name) { return field(name) ? field(name).value : ""; }

  function side(fact) { return fact.outside ? "outside" : fact.kept ? "kept" : "removed"; }

  function learntAs(row, asked) {
    // "0 never": a training and how it learnt the row, of which "forgettable" is forgotten or never learnt
    var parts = asked.split(" "), one = row.learnt && row.learnt[Number(parts[0])];
    return Boolean(one) && (parts[1] === how(one) || parts[1] === "forgettable" && how(one) !== "learnt");
  }
  function how(one) { return one[1] === 0 ? "never" : one[0] > 0 ? "forgotten" : "learnt"; }
  var LEARNT = {never: "never learnt", learnt: "learnt, never forgotten"};
  function howText(one) { return LEARNT[how(one)] || "forgotten " + several(one[0], "time"); }

  function compare(one, other) {
    // undefined comes last, whichever way; the sort is stable, so that equal rows stay as they were drawn
    var by = SORTED[chosen("order")];
    if (!by) { return 0; }
    var first = by(one), second = by(other);
    if (first === undefined || second === undefined) { return (first === undefined) - (second === undefined); }
    return first - second;
  }
  var SORTED = {
    suspected: function (fact) { return fact.suggested === undefined ? undefined : fact.probabilities[0] || 0; },
    easy: function (fact) { return fact.score === undefined ? undefined : -fact.score; },
    hard: function (fact) { return fact.score; },
    learnt: function (fact) {
      // how often it was right in the training that is chosen, else in all
      var asked = chosen("learnt"), learnt = data.rows[fact.row].learnt || [];
      var known = (asked ? [learnt[Number(asked.split(" ")[0])]] : learnt).filter(Boolean);
      return known.length ? known.reduce(function (sum, one) { return sum + one[1] / one[2]; }, 0) / known.length : undefined;
    },
    source: function (fact) { return data.rows[fact.row].id; }
  };

  function matches(fact) {
    var row = data.rows[fact.row];
    if (chosen("side") && chosen("side") !== side(fact)) { return false; }
    if (chosen("label") && row.label !== Number(chosen("label"))) { return false; }
    if (chosen("split") && row.split !== field("split").selectedOptions[0].textContent) { return false; }
    if (chosen("iteration") && fact.removed !== Number(chosen("iteration"))) { return false; }
    if (chosen("suspected") && fact.suggested === undefined) { return false; }
    if (chosen("learnt") && !learntAs(row, chosen("learnt"))) { return false; }
    if (chosen("cue") && (row.cues || []).indexOf(Number(chosen("cue"))) < 0) { return false; }
    var asked = unquoted(spaced(chosen("search")).trim().toLowerCase());
    if (!asked) { return true; }
    if (asked === String(row.id) || asked === "row " + row.id) { return true; }
    if (row.place && placed(row.place, asked)) { return true; }
    if (texts[fact.row] === undefined) { texts[fact.row] = plain(row); }
    return texts[fact.row].indexOf(asked) >= 0;
  }

  function image(row) {
    if (row.image && row.image.indexOf("data:image/jpeg;base64,") === 0) {
      var picture = element("img", "thumb");
      picture.src = row.image;
      picture.alt = "row " + row.id + ", labelled " + named(row.label);
      return picture;
    }
    return row.problem ? element("span", "broken", row.problem) : null;
  }

  function said(piece) {
    var word = data.words[piece[0]];
    return word && word.said[String(filtering)] ? word : null;
  }

  function text(row, most) {
    // the row's own texts, with the words highlighted that are cues of removed rows
    var box = element("div", "texts"), left = most;
    (row.texts || []).forEach(function (pieces, place) {
      if (left <= 0) { return; }
      var line = element("p");
      line.dir = "auto";
      if (most === Infinity && data.columns.length > 1) { line.appendChild(element("small", "column", data.columns[place])); }
      pieces.forEach(function (piece) {
        if (left <= 0) { return; }
        var words = typeof piece === "string" ? piece : piece[1];
        var fits = words.slice(0, left);
        left -= words.length;
        if (typeof piece !== "string" && said(piece)) {
          line.appendChild(element("mark", "", fits));
        } else {
          line.appendChild(document.createTextNode(fits));
        }
      });
      if (left < 0) { line.appendChild(document.createTextNode("…")); }
      box.appendChild(line);
    });
    if (row.vector && !(row.values && most === Infinity)) { box.appendChild(element("code", "", row.vector)); }
    var picture = image(row);
    if (picture) { box.appendChild(picture); }
    return box;
  }

  function sparkline(fact, one) {
    // predictability by iteration, from 0 at the foot to 1 at the top, with the threshold dashed
    var width = 220, height = 56, last = Math.max(fact.passes - 1, 1);
    var svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "-4 -4 " + (width + 8) + " " + (height + 8));
    svg.setAttribute("class", "spark");
    svg.setAttribute("role", "img");
    function draw(kind, attributes) {
      var made = document.createElementNS(SVG, kind);
      Object.keys(attributes).forEach(function (name) { made.setAttribute(name, String(attributes[name])); });
      svg.appendChild(made);
    }
    function up(score) { return height * (1 - score); }
    draw("rect", {x: 0, y: 0, width: width, height: height, "class": "frame"});
    if (one.threshold !== null) {
      draw("line", {x1: 0, x2: width, y1: up(one.threshold), y2: up(one.threshold), "class": "threshold"});
    }
    var points = [], words = [];
    fact.scores.forEach(function (score, place) {
      if (score === null) { return; }
      var iteration = Math.min(place * one.step, fact.passes - 1);
      points.push([width * iteration / last, up(score)]);
      words.push("iteration " + iteration + ": " + score);
    });
    draw("polyline", {points: points.map(function (point) { return point.join(","); }).join(" "), "class": "line"});
    points.forEach(function (point) { draw("circle", {cx: point[0], cy: point[1], r: 2.5}); });
    svg.setAttribute("aria-label", "predictability by iteration; " + (words.join("; ") || "none"));
    return svg;
  }

  function reason(fact, one) {
    var lines = [];
    var score = fact.score === undefined ? null : fact.score;
    if (fact.outside) {
      return "Never in the pool: the filter left the split " + data.rows[fact.row].split +
        " alone, so it neither kept nor removed this row.";
    }
    if (fact.removed === undefined) {
      lines.push("Kept by the filter.");
      if (score === null) {
        lines.push("It was never held out, so it has no predictability.");
      } else {
        lines.push("When it was last held out, classifiers gave its label " + percent(score) + " of the time.");
        if (one.threshold !== null && score >= one.threshold) {
          lines.push("That is at or over the threshold of " + one.threshold + ": the filter stopped before it went.");
        }
      }
      return lines.join(" ");
    }
    lines.push("Removed in iteration " + fact.removed + ".");
    if (score === null) { lines.push("It was never held out."); }
    else {
      lines.push("Held out from training, classifiers gave its label " + percent(score) + " of the time.");
      var cutoff = one.cutoffs[fact.removed];
      if (cutoff !== null && cutoff !== undefined && score >= cutoff) {
        lines.push("The cut-off of that iteration was " + cutoff.toFixed(3) + ".");
      }
    }
    if (one.groups) { lines.push("Rows of one group go together."); }
    return lines.join(" ");
  }

  function entry(pairs, name, content) {
    var value = element("dd");
    pairs.appendChild(element("dt", "", name));
    if (typeof content === "string") { value.dir = "auto"; value.textContent = content; } else { value.appendChild(content); }
    pairs.appendChild(value);
  }

  function wordCues(row, one) {
    var seen = {}, names = [];
    (row.texts || []).forEach(function (pieces) {
      pieces.forEach(function (piece) {
        if (typeof piece === "string" || seen[piece[0]]) { return; }
        seen[piece[0]] = true;
        var word = said(piece), fact = word && word.said[String(filtering)];
        if (!fact) { return; }
        names.push("“" + word.word + "” of " + word.column + ": " + percent(fact.shares[0]) + " of the removed rows have it and a class that it goes with" +
          (fact.label === null ? "" : " (most often " + fact.label + ")") + ", and of as many random ones " +
          percent(fact.shares[1]) + ".");
      });
    });
    return names;
  }

  function question(fact) {
    // every answer of the row's question: whether it is right, and how often it was taken for right
    var rows = element("ul", "plain answers");
    data.questions[fact.question].forEach(function (answer, place) {
      var line = element("li", answer.right ? "right" : ""), words = element("span", "", answer.text), said = [];
      words.dir = "auto";
      line.appendChild(element("b", "", answer.right ? "✓ right" : "✗ wrong"));
      line.appendChild(words);
      if (answer.id === data.rows[fact.row].id) { said.push("this row"); }
      if (fact.picked[place] !== null) { said.push("taken for right " + percent(fact.picked[place]) + " of the time"); }
      (answer.by || []).forEach(function (by) { said.push("picked by " + by); });
      if (said.length) { line.appendChild(element("small", "", said.join("; "))); }
      rows.appendChild(line);
    });
    return rows;
  }

  function values(row) {
    var box = element("div", "values");
    row.values.forEach(function (pair) {
      var one = element("span");
      one.appendChild(element("small", "", pair[0]));
      one.appendChild(document.createTextNode(pair[1]));
      box.appendChild(one);
    });
    return box;
  }

  function suspicion(fact, row) {
    var own = fact.probabilities[0], other = fact.probabilities[1], text = "It may be " + named(fact.suggested) + ": ";
    if (own === null || other === null) { return text + "models that never saw the row prefer it."; }
    return text + "models that never saw the row give that " + percent(other) + ", and its own label " +
      named(row.label) + " " + percent(own) + ".";
  }

  function lengths(row) {
    return row.lengths.map(function (pair, place) {
      var name = data.columns.length > 1 ? data.columns[place] + ": " : "";
      return name + (pair ? several(pair[0], "word") + ", " + several(pair[1], "character") : "no text");
    }).join("; ");
  }
  function learning(row) {
    // how each training of a weak model learnt the row, and which of its sets have it
    var lines = element("ul", "plain");
    row.learnt.forEach(function (one, place) {
      if (!one) { return; }
      var training = data.trainings[place], sets = one[3].map(function (number) { return training.sets[number]; });
      lines.appendChild(element("li", "", training.name + ": " + howText(one) + ", right in " + one[1] + " of " +
        several(one[2], "epoch") + (sets.length ? "; in its sets " + sets.join(", ") : "")));
    });
    return lines;
  }
  function listed(texts) {
    var lines = element("ul", "plain");
    texts.forEach(function (line) {
      var item = element("li", "", line);
      item.dir = "auto";
      lines.appendChild(item);
    });
    return lines;
  }
  function several(number, noun) { return count(number) + " " + noun + (number === 1 ? "" : "s"); }

  function detail(fact, one) {
    var row = data.rows[fact.row], box = element("div", "row-detail");
    box.appendChild(element("p", "reason", reason(fact, one)));
    box.appendChild(text(row, Infinity));
    var pairs = element("dl", "row-facts");
    entry(pairs, "Row", "row id " + row.id + ", split " + row.split);
    if (row.place) { entry(pairs, "In your files", row.place); }
    if (row.values) { entry(pairs, "Values, as in the source", values(row)); }
    if (fact.question !== undefined) { entry(pairs, "The whole question", question(fact)); }
    entry(pairs, "Label", named(row.label));
    (row.attributes || []).forEach(function (pair) { entry(pairs, "Your column " + pair[0], pair[1]); });
    if (row.lengths) { entry(pairs, row.lengths.length > 1 ? "Lengths" : "Length", lengths(row)); }
    if (!fact.outside && fact.scores && fact.scores.length) { entry(pairs, "Predictability by iteration", sparkline(fact, one)); }
    if (fact.instead) {
      entry(pairs, "Given instead", fact.instead.length ? fact.instead.map(function (pair) {
        return named(pair[0]) + " (" + percent(pair[1]) + ")";
      }).join(", ") : "no other class");
    }
    if (fact.suggested !== undefined) { entry(pairs, "Label suspected", suspicion(fact, row)); }
    if (row.learnt) { entry(pairs, "How weak models learnt it", learning(row)); }
    if (row.cues) { entry(pairs, "Cues that it carries", listed(row.cues.map(function (place) { return data.cues[place]; }))); }
    if (fact.nearest) {
      var other = data.rows[fact.nearest[0]], near = element("div");
      near.appendChild(element("p", "legend", "row " + other.id + (other.place ? " (" + inFile(other.place) + ")" : "") + ", labelled " + named(other.label) +
        ", cosine similarity " + fact.nearest[1].toFixed(2)));
      near.appendChild(text(other, Infinity));
      entry(pairs, "Nearest kept row of another class", near);
    }
    var words = wordCues(row, one);
    if (words.length) { entry(pairs, "Words that are cues of removed rows", listed(words)); }
    if (row.annotators && row.annotators.length) {
      entry(pairs, "Annotators’ labels", row.annotators.map(named).join(", "));
    }
    if (row.models) {
      var models = element("ul", "plain");
      row.models.forEach(function (line) { models.appendChild(element("li", "", line)); });
      entry(pairs, "Evaluators trained on full", models);
    }
    box.appendChild(pairs);
    return box;
  }

  function item(fact, one) {
    var row = data.rows[fact.row], line = element("li"), fold = element("details", "row"), head = element("summary");
    var facts = element("span", "meta");
    var label = element("b", "", named(row.label));
    label.dir = "auto";
    facts.appendChild(label);
    var went = side(fact) === "removed";
    facts.appendChild(element("span", went ? "tag removed" : "tag",
      went ? "removed in iteration " + fact.removed : fact.outside ? "not filtered" : "kept"));
    if (!fact.outside) {
      facts.appendChild(element("span", "", fact.score === undefined ? "never held out" :
        "predictability " + fact.score.toFixed(2)));
    }
    if (fact.suggested !== undefined) {
      facts.appendChild(element("span", "tag suspected", "label may be " + named(fact.suggested)));
    }
    (row.learnt || []).forEach(function (one, place) {
      if (one && data.trainings[place].sets && how(one) !== "learnt") {
        facts.appendChild(element("span", "tag forgettable", data.trainings[place].name + ": " + howText(one)));
      }
    });
    facts.appendChild(element("span", "", row.split + " row " + row.id));
    if (row.place) { facts.appendChild(element("span", "", inFile(row.place))); }
    if (row.lengths) {
      var words = row.lengths.map(function (pair) { return pair ? count(pair[0]) : "no"; });
      facts.appendChild(element("span", "", words.join(" + ") + (words.join() === "1" ? " word" : " words")));
    }
    (row.attributes || []).slice(0, 3).forEach(function (pair) {
      var own = element("span", "", brief(pair[0]) + " " + brief(pair[1]));
      own.dir = "auto";
      facts.appendChild(own);
    });
    head.appendChild(text(row, 160));
    head.appendChild(facts);
    fold.appendChild(head);
    fold.addEventListener("toggle", function () {
      if (fold.open && fold.children.length < 2) { fold.appendChild(detail(fact, one)); }
    });
    line.appendChild(fold);
    return line;
  }

  function brief(text) { return text.length > 40 ? text.slice(0, 39) + "…" : text; }

  function showMore() {
    var one = data.filterings[filtering];
    found.slice(shown, shown + AT_ONCE).forEach(function (fact) { list.appendChild(item(fact, one)); });
    shown = Math.min(shown + AT_ONCE, found.length);
    more.hidden = shown >= found.length;
    more.textContent = "Show " + Math.min(AT_ONCE, found.length - shown) + " more";
  }

  function search() {
    if (!data) { data = JSON.parse(source.textContent); }
    filtering = Number(chosen("filtering") || 0);
    var rows = data.filterings[filtering] ? data.filterings[filtering].rows : [];
    found = rows.filter(matches).sort(compare);
    list.textContent = "";
    shown = 0;
    status.textContent = count(found.length) + " of " + count(rows.length) + " rows on this page match.";
    showMore();
  }

  var waiting = 0;
  form.addEventListener("input", function (event) {
    if (event.target.name === "suspected") {
      // suspects are read the surest first, unless another order was asked for
      var order = field("order"), own = event.target.value ? ["", "suspected"] : ["suspected", ""];
      if (order.value === own[0]) { order.value = own[1]; }
    }
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  });
  form.addEventListener("submit", function (event) { event.preventDefault(); search(); });
  form.addEventListener("reset", function () { setTimeout(search, 0); });
  more.addEventListener("click", showMore);
  function ofCue() {
    // "#rows-cue-3" shows all rows that carry a cue, whatever was chosen before
    var place = document.getElementById(location.hash.slice(1));
    if (!place || place.dataset.cue === undefined || !field("cue")) { return; }
    form.reset();
    field("cue").value = place.dataset.cue;
  }
  window.addEventListener("hashchange", ofCue);
  document.addEventListener("click", function (event) {
    var link = event.target.closest && event.target.closest("a[href^='#rows-cue-']");
    if (link && link.getAttribute("href") === location.hash) { ofCue(); }
  });
  ofCue();
  var fold = form.closest("details");
  function first() { if (!data && (!fold || fold.open)) { search(); } }
  if (fold) { fold.addEventListener("toggle", first); }
  first();
})();
