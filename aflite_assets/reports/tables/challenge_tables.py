"""The tables of challenge sets: parts of each set, zero-shot accuracies, accuracies by size of the train set, and
accuracies after fine-tuning.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference
from aflite_assets.analysis.facts import DatasetFacts, TestSetFacts
from aflite_assets.analysis.scores.score_tables import ACCURACIES, Accuracy
from aflite_assets.analysis.train_sets import control_of, is_filtered_set
from aflite_assets.reports.tables import cells
from aflite_assets.reports.tables.table import Cells, Column, Heading, TableCell, TableSpec, having
from aflite_assets.scan.blind.few_questions import few_questions
from aflite_assets.text import count, listed, short

_MOST_NAMED = 8
_Any = Accuracy | Difference
_set_column = partial(cells.set_column, whole_split="all rows")
_is_transfer = having(comparison="transfer")


def set_notes(test_set: TestSetFacts, label_names: Sequence[str]) -> tuple[str, ...]:
    """Return the notes on a challenge set.

    If the labels of the challenge set and of the dataset differ, a note lists how labels are mapped.
    """
    few = few_questions(test_set.rows) if test_set.unit == "question" else ""
    notes = (*test_set.notes, f"{few[0].upper()}{few[1:]}.") if few else test_set.notes
    sources: dict[str | None, list[str]] = {}
    for label, target in (test_set.class_map or {}).items():
        sources.setdefault(target, []).append(short(label))
    if all(sources.get(label) == [short(label)] for label in label_names) or not sources:
        return notes
    nothing = f"none of this set's labels ({'left out' if test_set.adds_probabilities else 'always wrong'})"
    targets = [one for one in (*test_set.label_names, None) if one in sources]
    named = [f"{listed(sources[one], _MOST_NAMED)} as {nothing if one is None else short(one)}" for one in targets]
    if len(named) > _MOST_NAMED:
        named = [*named[: _MOST_NAMED - 1], f"{count(len(named) - _MOST_NAMED)} more likewise", named[-1]]
    how = "The predicted label is mapped (collapse: label)"
    if test_set.adds_probabilities:
        how = "Probabilities of labels that count as one are added up, and the largest sum is the prediction "
        how += "(collapse: probability)"
    return (*notes, f"{how}: {'; '.join(named)}.")


def _on_challenge_set(facts: DatasetFacts, one: _Any) -> bool:
    return cells.is_of_filtering(facts, one) and facts.test_set[one.test_set].challenge


def _columns_apart(facts: DatasetFacts, one: Accuracy) -> list[str]:
    """Return the category columns that have separate tables.

    The result is empty if there is only one category column, which needs no separate table.
    """
    names = [part.name[0] for part in facts.test_set[one.test_set].parts]
    columns = [name for name in dict.fromkeys(names) if name is not None]
    return columns if len(columns) > 1 else []


def _blocks(facts: DatasetFacts, one: Accuracy) -> Iterator[dict[str, object]]:
    """Yield the placeholder values of each table that contains a score.

    A score is in several tables if the test set has separate tables for its category columns.
    """
    columns = _columns_apart(facts, one)
    for column in (None, *columns) if one.whole else (one.column if columns else None,):
        yield {"column": column, "of": one.test_set if column is None else f"{one.test_set}, by {short(column)}"}


def _part_column(facts: DatasetFacts, one: Accuracy) -> Column:
    """Return the column for a part of a test set.

    If the part of the test set begins a new category, its column has a line on the left.
    """
    if one.whole:
        return Column(cells.rows_heading("overall", one.test_rows), line=True)
    name, names = cells.part_name(one), [part.name for part in facts.test_set[one.test_set].parts]
    place = names.index(name)
    begins = not place or names[place - 1][:2] != name[:2]
    heading = cells.rows_heading(cells.part_text(*name), one.test_rows)
    return Column(heading, line=one.column is not None and begins, key=name)


def _notes(facts: DatasetFacts, records: Sequence[Accuracy]) -> tuple[str, ...]:
    """Return the notes on the test set for its first table, and no notes for its other tables."""
    is_further = {one.column for one in records} & {*_columns_apart(facts, records[0])}
    return () if is_further else set_notes(facts.test_set[records[0].test_set], facts.label_names)


CHALLENGE_SETS = TableSpec(
    "challenge_sets_{representation}",
    "{of}; train sets of representation {representation}",
    {"evaluator": "{evaluator}", "trained on": "{train_set}"},
    (Cells(ACCURACIES, "train rows", cells.sizes), Cells(ACCURACIES, _part_column, cells.score)),
    of="{of}",
    each=_blocks,
    where=_on_challenge_set,
    caption="Rows with different gold labels are shown separately, because a model that leans on a shortcut is right "
    "on one label and wrong on the other.",
    notes=_notes,
)


ZERO_SHOT = TableSpec(
    "zero_shot_{representation}",
    "{evaluator}, zero-shot; train sets of representation {representation}",
    {"trained on": "{train_set}"},
    (
        Cells(ACCURACIES, "train rows", cells.sizes),
        Cells(ACCURACIES, _set_column, cells.short_score),
        Cells(DIFFERENCES, _set_column, cells.points, having(comparison="means"), apart=cells.MINUS),
    ),
    of="{evaluator}",
    where=lambda facts, one: (
        (_on_challenge_set(facts, one) and one.evaluator in facts.plain_evaluators)
        and (one.whole or facts.test_set[one.test_set].part[cells.part_name(one)].side_by_side)
    ),
    caption="If a category has rows of several gold labels, the table has the category and each label. The last "
    "lines are differences of these means in points; their intervals and verdicts are in the tables of "
    "filtered against its control. For a set with several category columns, rows with any value of a column "
    "are counted together; the set's own tables have each value.",
)


def _controls(facts: DatasetFacts, one: _Any, filtered: str) -> tuple[str, ...]:
    control = control_of(filtered, facts.filtering[str(one.representation)].train_sets)
    return ("random", control) if filtered == "filtered" else (control,)


def _by_size(facts: DatasetFacts, one: _Any) -> list[str]:
    """Return the names of the train sets, sorted for the table.

    The order is `full`, `sampled`, and then filtered sets by size, each after its controls.
    """
    sizes = facts.filtering[str(one.representation)].train_sets
    smallest = sorted(filter(is_filtered_set, sizes), key=lambda name: (not sizes[name], sizes[name]))
    shown = ["full", "sampled", *(each for name in smallest for each in (*_controls(facts, one, name), name))]
    return [name for name in dict.fromkeys(shown) if name in sizes]


def _against_control(facts: DatasetFacts, one: Difference) -> bool:
    filtered = one.comparison == "control" and is_filtered_set(one.train_set)
    return filtered and one.against == _controls(facts, one, one.train_set)[-1]


# Mishra and Sachdeva, SustaiNLP 2020, Table 2, which has neither random sets of the filtered ones' sizes nor more than
# one training of each
FINE_ACTION = TableSpec(
    "fine_action_{representation}",
    "{evaluator} by size of the train set, representation {representation}",
    {"trained on": "{train_set}"},
    (
        Cells(ACCURACIES, "train rows", cells.sizes),
        Cells(ACCURACIES, _set_column, cells.short_score),
        Cells(DIFFERENCES, _set_column, cells.judged, _against_control, apart=cells.MINUS),
    ),
    of="{evaluator}",
    where=lambda facts, one: (
        (cells.is_of_filtering(facts, one) and one.train_set in _by_size(facts, one))
        and cells.is_whole_or_category(facts, one)
    ),
    row_order=lambda facts, one: _by_size(facts, one).index(one.train_set),
    # a sample, or a filtered set of another size than the target's, which other tables show
    when=lambda facts, records: bool(
        {*_by_size(facts, records[0])} - {"full", *_controls(facts, records[0], "filtered"), "filtered"}
    ),
    caption="Natural test sets have all their rows; challenge sets are shown whole and by category. Compare a "
    "filtered set with the random rows of its size, since full and sampled have more rows. The last lines "
    "are filtered minus random in points, with the interval over test groups and trainings and the verdict, "
    "both from the table of filtered against its control.",
)


def _tuned(facts: DatasetFacts, one: _Any) -> list[tuple[str, str]]:
    """Return fine-tuned evaluators for a score on a test set, each with "fine-tuned" or "zero-shot".

    A score from before fine-tuning on the test set is called "zero-shot".
    """
    tuned = [(name, each.start) for name, each in facts.fine_tuned.items() if one.test_set in each.sets]
    trained = [(name, tested) for name, start in tuned for tested in (name, start) if tested == one.evaluator]
    return [(name, "fine-tuned" if name == tested else "zero-shot") for name, tested in trained]


def _tuned_columns(facts: DatasetFacts, one: _Any) -> list[Column]:
    rows, found = facts.test_set[one.test_set].rows, _tuned(facts, one)
    after = {name: f"{name}, after {', then '.join(facts.fine_tuned[name].sets)}" for name, _ in found}
    return [Column(Heading(training), cells.rows_heading(one.test_set, rows, after[name])) for name, training in found]


def _tuned_order(facts: DatasetFacts, one: _Any) -> tuple[int, int, str]:
    name, training = _tuned(facts, one)[0]
    return list(facts.fine_tuned).index(name), facts.fine_tuned[name].sets.index(one.test_set), training


def _tuned_score(facts: DatasetFacts, one: Accuracy) -> TableCell:
    papers = one.evaluator in facts.fine_tuned and one.train_set in ("full", "random", "filtered")
    return cells.score(facts, one, shaded=papers)


# ICML 2020, Table 2
TRANSFER = TableSpec(
    "transfer_{representation}",
    "{start}, fine-tuned on challenge sets; train sets of representation {representation}",
    {"trained on": "{train_set}"},
    (
        Cells(ACCURACIES, "train rows", cells.sizes, merged=True),
        Cells(ACCURACIES, _tuned_columns, _tuned_score, order=_tuned_order),
        Cells(DIFFERENCES, _tuned_columns, cells.difference, _is_transfer, order=_tuned_order, apart=cells.MINUS),
    ),
    of="{start}, fine-tuned",
    each=lambda facts, one: [{"start": facts.fine_tuned[name].start} for name, _ in _tuned(facts, one)[:1]],
    where=lambda facts, one: cells.is_of_filtering(facts, one) and one.whole,
    caption="Models were trained on the train set, then on the challenge set's own train rows, and tested on its "
    "test rows. Zero-shot: accuracy on the same test rows before fine-tuning. Differences are in points on "
    "the same test rows, with their interval over test groups and trainings; the verdicts are in the tables "
    "of filtered against its control. Full has more train rows than filtered; the random sets have the same "
    "number.",
)
