"""Which rows weak models forget: sizes, classes, events, agreement and minorities (EACL 2021, Tables 1 to 3)."""

import math
from collections.abc import Mapping
from typing import Any

from aflite_assets.analysis.inputs.forgettables import Forgettables, WeakModelFacts
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.intervals import upper_quantile, wilson_interval
from aflite_assets.reports.tables.cells import NOTHING, count_cell
from aflite_assets.reports.tables.long_form import LongForm
from aflite_assets.reports.tables.table import Column, Heading, Row, Table, TableCell, pivot
from aflite_assets.text import DASH, percent

_SIZE_COLUMNS = ("rows", "forgettable", "taken", "never_learnt", "largest_class")


def forgettable_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """Sizes, classes, events, agreement and minorities; none without weak models."""
    forgettables = data.forgettables
    if forgettables is None or not forgettables.models:
        return ()
    tables = (
        _sizes(forgettables),
        _classes(forgettables, data.label_names),
        _events(forgettables),
        _agreement(forgettables),
        _minorities(forgettables),
    )
    return tuple(table for table in tables if table.rows)


def _sizes(forgettables: Forgettables) -> Table:
    splits = list(dict.fromkeys(split for facts in forgettables.models.values() for split in facts.accuracy))

    def cell(item: tuple[str, WeakModelFacts], key: str) -> TableCell:
        name, facts = item
        record = {
            "weak_model": name,
            **{
                field: getattr(facts, field)
                for field in ("rows", "forgettable", "taken", "never_learnt", "largest_class")
            },
        }
        if key.startswith("test:"):
            value = facts.accuracy.get(key.removeprefix("test:"))
            return NOTHING if value is None else TableCell(percent(value), value=value)
        if key in ("train_accuracy", "largest_class"):
            return TableCell(percent(getattr(facts, key)), value=getattr(facts, key))
        if key == "rows":
            return TableCell(count_cell(facts.rows).text, value=facts.rows, form="forgettables", record=record)
        number = getattr(facts, key)
        return TableCell(count_cell(number).text, (f"{percent(number / max(facts.rows, 1))} %",), number)

    keys = ("rows", "forgettable", "never_learnt", "taken", "largest_class", "train_accuracy")
    headings = (
        "train rows",
        "forgettable",
        "of these never learnt",
        "taken",
        "largest class (%)",
        "train accuracy (%)",
    )
    return Table(
        "forgettables",
        "",
        "Forgettable rows of each weak model",
        ("weak model",),
        tuple(Column(Heading(each)) for each in headings)
        + tuple(Column(Heading(f"accuracy on {split} (%)")) for split in splits),
        pivot(
            forgettables.models.items(),
            lambda item: (item[0],),
            (*keys, *(f"test:{split}" for split in splits)),
            cell,
        ),
        _SIZES,
        tuple(f"{name} was not trained: {reason}." for name, reason in forgettables.failed.items()),
    )


_SIZES = (
    "A row is forgettable where it was right in one epoch and wrong in the next, or never right. Taken: those that "
    "second phases train on, every class cut to the smallest one where the settings say balance. Wrong labels are "
    "forgotten, too: read some of the rows that were never learnt. Train accuracy is as presented. Compare test "
    "accuracy with that of the model that goes on: the weak one should be weaker."
)


def _classes(forgettables: Forgettables, label_names: tuple[str, ...]) -> Table:
    def cell(item: tuple[str, WeakModelFacts], key: tuple[str, str]) -> TableCell:
        facts = item[1].by_class.get(key[0])
        if facts is None:
            return NOTHING
        record = {"weak_model": item[0], "label": key[0], **facts}
        number, form = facts[key[1]], "forgettables_by_class" if key[1] == "forgettable" else None
        return TableCell(
            count_cell(number).text, (f"{percent(number / max(facts['rows'], 1))} %",), number, form=form, record=record
        )

    return Table(
        "forgettables_by_class",
        "",
        "Forgettable rows by class",
        ("weak model",),
        tuple(
            Column(Heading(what), Heading(name), line=what == "forgettable")
            for name in label_names
            for what in ("forgettable", "taken")
        ),
        pivot(
            forgettables.models.items(),
            lambda item: (item[0],),
            [(name, what) for name in label_names for what in ("forgettable", "taken")],
            cell,
        ),
        "Shares are of the class's train rows.",
    )


def _events(forgettables: Forgettables) -> Table:
    names = list(dict.fromkeys(name for facts in forgettables.models.values() for name in facts.events))
    names = [*(name for name in names if name != "never_learnt"), "never_learnt"]

    def cell(item: tuple[str, WeakModelFacts], name: str) -> TableCell:
        rows = item[1].events.get(name, 0)
        share = rows / max(item[1].rows, 1)
        record = {"weak_model": item[0], "events": name, "rows": rows, "share": share}
        return TableCell(percent(share), (f"{rows:,} rows",), share, form="forgetting_events", record=record)

    return Table(
        "forgetting_events",
        "",
        "How often rows were forgotten",
        ("weak model",),
        tuple(Column(Heading(_times(name))) for name in names),
        pivot(forgettables.models.items(), lambda item: (item[0],), names, cell),
        "Per cent of the train rows; rows that were never right are counted apart (Figure 1 of the paper).",
    )


def _agreement(forgettables: Forgettables) -> Table:
    rows = tuple(
        Row(
            (each.first, each.second),
            (
                TableCell(
                    _share(each.jaccard),
                    value=each.jaccard,
                    strong=True,
                    form="forgettable_agreement",
                    record=vars(each),
                ),
                TableCell(_share(each.jaccard_by_chance), value=each.jaccard_by_chance),
                count_cell(each.shared),
                count_cell(each.first_rows),
                count_cell(each.second_rows),
            ),
        )
        for each in forgettables.agreement
    )
    headings = ("Jaccard", "of random rows", "rows in both", "rows of the first", "rows of the second")
    return Table(
        "forgettable_agreement",
        "",
        "Whether trainings forget the same rows",
        ("first", "second"),
        tuple(map(Column, map(Heading, headings))),
        rows,
        "Rows in both over rows in either, of all forgettable rows. Beside it the mean of random sets of these sizes.",
    )


def _share(value: float | None) -> str:
    return DASH if value is None else f"{value:.3f}"


def _minorities(forgettables: Forgettables) -> Table:
    lines = _minority_lines(forgettables)
    measures = list(dict.fromkeys((line["measure"], line["group"]) for line in lines))
    sets = list(dict.fromkeys((line["weak_model"], line["set"]) for line in lines))
    by_place = {(line["weak_model"], line["set"], line["measure"], line["group"]): line for line in lines}

    def cell(name: tuple[str, str], key: tuple[str, str]) -> TableCell:
        line = by_place.get((*name, *key))
        if line is None or math.isnan(line["mean"]):
            return NOTHING
        shown = (lambda value: f"{value:.3f}") if key[0] == "overlap" else percent
        bounds = () if line["low"] is None else (f"[{shown(line['low'])}, {shown(line['high'])}]",)
        return TableCell(shown(line["mean"]), bounds, line["mean"], form="minorities", record=line)

    return Table(
        "minorities",
        "",
        "What is rarer or more frequent among forgettable rows",
        ("weak model", "rows"),
        tuple(
            Column(Heading(group), Heading(measure), line=place == 0 or measures[place - 1][0] != measure)
            for place, (measure, group) in enumerate(measures)
        ),
        pivot(sets, lambda name: name, measures, cell),
        _MINORITIES,
    )


_MINORITIES = (
    "Overlap: mean Jaccard index of both texts' words. Negation: per cent of rows whose second text has one of the "
    "words. Attributes: per cent of rows with the value. In brackets 95 % intervals. As many random rows show what "
    "size alone does."
)


def _minority_lines(forgettables: Forgettables) -> list[dict[str, Any]]:
    """Of all rows once, and of every set with its interval; of random rows the draw of the first seed."""
    found: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    for line in forgettables.minorities.to_pylist():
        if line["name"] not in (None, "random", "forgettable", "never_learnt"):
            continue
        model, name = line["weak_model"] or "", (line["name"] or "all").replace("_", " ")
        key = (model, name, line["measure"], line["group"])
        low, high = _interval(line)
        found.setdefault(key, {**line, "weak_model": model, "set": name, "low": low, "high": high})
    order = {"all": 0, "random": 1, "forgettable": 2, "never learnt": 3}
    models = ["", *forgettables.models]
    return sorted(found.values(), key=lambda line: (models.index(line["weak_model"]), order[line["set"]]))


def _interval(line: Mapping[str, Any]) -> tuple[float, float] | tuple[None, None]:
    """Wilson's for shares, the t interval for mean overlaps; none of a single row."""
    rows, mean = line["rows"], line["mean"]
    if rows < 2:
        return None, None
    if line["measure"] != "overlap":
        interval = wilson_interval(min(mean, 1.0), rows)
        return interval.low, interval.high
    half = upper_quantile(rows - 1) * line["deviation"] / math.sqrt(rows)
    return max(mean - half, 0.0), min(mean + half, 1.0)


FORGETTABLES = LongForm(
    "forgettables",
    ("weak_model", "rows", "forgettable", "taken", "never_learnt", "largest_class"),
    forgettable_tables,
)
FORGETTABLES_BY_CLASS = LongForm(
    "forgettables_by_class", ("weak_model", "label", "rows", "forgettable", "taken"), forgettable_tables
)
FORGETTING_EVENTS = LongForm("forgetting_events", ("weak_model", "events", "rows", "share"), forgettable_tables)
FORGETTABLE_AGREEMENT = LongForm(
    "forgettable_agreement",
    ("first", "second", "first_rows", "second_rows", "shared", "jaccard", "jaccard_by_chance"),
    forgettable_tables,
)
MINORITIES = LongForm(
    "minorities", ("weak_model", "set", "measure", "group", "rows", "mean", "low", "high"), forgettable_tables
)


def _times(name: str) -> str:
    return {"never_learnt": "never learnt", "1": "once"}.get(name, f"{name} times")
