"""The tables of accuracies: before and after filtering, on natural test sets, on challenge sets, by size, transfer."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference
from aflite_assets.analysis.facts import DatasetFacts, TestSetFacts
from aflite_assets.analysis.scores.accuracies import ACCURACIES, Accuracy
from aflite_assets.analysis.scores.annotators import ANNOTATORS, AnnotatorAgreement
from aflite_assets.analysis.train_sets import control_of, is_filtered_set
from aflite_assets.reports.class_maps import set_notes
from aflite_assets.reports.tables.cells import (
    difference_cell,
    minus,
    part_text,
    points_cell,
    rows_heading,
    score_cell,
    short,
    sizes_cell,
)
from aflite_assets.reports.tables.spec import Cells, TableSpec
from aflite_assets.reports.tables.table import Column, Heading, TableCell
from aflite_assets.text import percent
from aflite_assets.wording import counted

_TRAIN_ROWS = Column(Heading("train rows"))
_Any = Accuracy | Difference


def _is_part(facts: DatasetFacts, one: _Any) -> bool:
    """Whether it is about a test set of a filtering, or a part of it, by the likeliest class alone."""
    return one.representation is not None and one.top == 1


def _is_natural(facts: DatasetFacts, one: _Any) -> bool:
    return _is_part(facts, one) and not facts.test_set[one.test_set].challenge


def _is_plain(facts: DatasetFacts, evaluator: str) -> bool:
    return evaluator in facts.plain_evaluators


def _by_train_set(facts: DatasetFacts, one: Accuracy) -> tuple[str]:
    return (one.train_set,)


def _sizes(rows: object, where: object, **more: object) -> Cells[Accuracy]:
    """The column of train rows, beside the rows of other cells."""
    return Cells(
        ACCURACIES,
        rows=rows,  # type: ignore[arg-type]
        where=where,  # type: ignore[arg-type]
        column=lambda facts, one: _TRAIN_ROWS,
        value=lambda facts, one: sizes_cell([one]),
        merged=sizes_cell,
        order=lambda facts, one: (-1,),
        **more,  # type: ignore[arg-type]
    )


# Before and after filtering

_WITHOUT_SIZES = {"drop": Heading("drop", ("points",)), "own": Heading("own test rows")}
_THE_PAPERS = (("full", "full"), ("random", "full"), ("filtered", "filtered"))
_TESTED = ("full", "filtered", "drop", "own")


def _before_and_after(facts: DatasetFacts, one: Accuracy) -> bool:
    if not _is_natural(facts, one):
        return False
    return one.tested_on != "own" or _has_own(facts, one)


def _has_own(facts: DatasetFacts, one: Accuracy) -> bool:
    """Whether other train sets than filtered have test rows by their own law."""
    return one.representation in facts.test_set[one.test_set].own_laws


def _accuracy_column(facts: DatasetFacts, one: Accuracy) -> Column:
    heading = _WITHOUT_SIZES.get(one.tested_on) or rows_heading(one.tested_on, one.test_rows)
    return Column(heading, Heading(one.test_set))


def _place(facts: DatasetFacts, test_set: str, tested_on: str) -> tuple[int, int]:
    return list(facts.test_set).index(test_set), _TESTED.index(tested_on)


def _is_drop(facts: DatasetFacts, one: Difference) -> bool:
    return (
        one.comparison == "means"
        and one.top == 1
        and one.train_set == one.against
        and one.tested_on == "full"
        and one.against_tested_on == "filtered"
    )


def _trained(facts: DatasetFacts, one: _Any) -> tuple[str, str]:
    return one.evaluator, one.train_set


def _shaded(facts: DatasetFacts, one: Accuracy) -> bool:
    filtered = one.representation in facts.test_set[one.test_set].filtered_rows
    return filtered and (one.train_set, one.tested_on) in _THE_PAPERS


ACCURACY = TableSpec(
    "accuracy_{representation}",
    "",
    "Accuracy in per cent, filtered with representation {representation}",
    ("evaluator", "trained on"),
    (
        _sizes(_trained, _is_part),
        Cells(
            ACCURACIES,
            rows=_trained,
            where=_before_and_after,
            column=_accuracy_column,
            value=lambda facts, one: score_cell(one, shaded=_shaded(facts, one)),
            order=lambda facts, one: _place(facts, one.test_set, one.tested_on),
        ),
        Cells(
            DIFFERENCES,
            rows=_trained,
            where=_is_drop,
            column=lambda facts, one: Column(_WITHOUT_SIZES["drop"], Heading(one.test_set)),
            value=lambda facts, one: points_cell(one.difference),
            order=lambda facts, one: _place(facts, one.test_set, "drop"),
        ),
    ),
    each=("representation",),
    caption="Each place under a test set has the mean over seeds, its deviation over seeds, and Wilson's 95 % "
    "interval. "
    "The interval is for the number of test rows n, or, of rows in groups, for the rows that these are worth. Shaded: "
    "full tested on full, random on full, filtered on filtered, the papers' comparison. Drop: full minus filtered test "
    "rows, same models, in points. Own test rows: test rows chosen in the same way as the train set of that line, so "
    "that it is trained and tested on one distribution. Every line has other rows there.",
)


# Full, random and filtered side by side (ICML 2020, Tables 3 to 6; ICLR 2020 submission, Tables 1, 2 and 4)


class _Compared(NamedTuple):
    """What a column is trained on, by which filtering (None of full), and on which rows it is tested."""

    train_set: str
    representation: str | None
    tested_on: str


def _compared(facts: DatasetFacts, test_set: TestSetFacts) -> list[_Compared]:
    """Full, then per representation random on full rows, its control and filtered, where they were, on filtered rows.

    Of a challenge set full, the controls and filtered, all on the whole set.
    """
    columns = [_Compared("full", None, "all" if test_set.challenge else "full")]
    for one in facts.filterings:
        name = one.representation
        tested_on = "all" if test_set.challenge else "filtered" if name in test_set.filtered_rows else "full"
        random = () if test_set.challenge else (_Compared("random", name, "full"),)
        columns += dict.fromkeys((*random, *(_Compared(each, name, tested_on) for each in (one.control, "filtered"))))
    return columns


def _of(facts: DatasetFacts, one: Accuracy | AnnotatorAgreement) -> _Compared | None:
    """The column of a score; None of one that has none. Full stands there once, as scored with the first filtering."""
    if one.train_set == "full":
        first = facts.representations[:1]
        return _Compared("full", None, one.tested_on) if one.representation in (None, *first) else None
    return _Compared(one.train_set, one.representation, one.tested_on)


def _stands(facts: DatasetFacts, one: Accuracy) -> bool:
    if one.representation is None or not one.whole or not _is_plain(facts, one.evaluator):
        return False
    return _of(facts, one) in _compared(facts, facts.test_set[one.test_set])


def _column_order(facts: DatasetFacts, one: Accuracy | AnnotatorAgreement) -> tuple[int, int]:
    compared = _of(facts, one)
    assert compared is not None
    return _compared(facts, facts.test_set[one.test_set]).index(compared), getattr(one, "top", 1)


def _heading(one: Accuracy | AnnotatorAgreement, test_rows: int) -> Heading:
    tested_on = "full" if one.tested_on == "all" else one.tested_on
    of = () if one.train_set == "full" or one.representation is None else (one.representation,)
    return rows_heading(one.train_set, test_rows, *of, f"on {tested_on} rows")


def _side_by_side(facts: DatasetFacts, one: Accuracy) -> Column:
    return Column(_heading(one, one.test_rows), line=True)


def _is_fall(facts: DatasetFacts, one: Difference) -> bool:
    """Whether it is full on full rows against filtered on the rows that it is compared on, or the other way round."""
    if one.comparison != "means" or not one.whole or not _is_plain(facts, one.evaluator):
        return False
    if facts.test_set[one.test_set].challenge:
        return one.pair == ("filtered", "full")
    return one.pair == ("full", "filtered")


def _fall(one: Difference) -> TableCell:
    """Full minus filtered, whichever stands first."""
    minus_one = one.train_set == "filtered" and one.difference is not None
    return points_cell(-(one.difference or 0.0) if minus_one else one.difference)


_FALL = Heading("full minus filtered")


def _fall_order(facts: DatasetFacts, one: Difference | AnnotatorAgreement) -> tuple[int, int]:
    assert one.representation is not None
    return 10_000 + facts.representations.index(one.representation), getattr(one, "top", 1)


def _fall_heading(one: Difference | AnnotatorAgreement) -> Heading:
    return Heading("full minus filtered", (str(one.representation), "points"))


def _agreement_column(facts: DatasetFacts, one: AnnotatorAgreement) -> Column:
    return Column(_heading(one, one.test_rows), line=True)


def _agreement(facts: DatasetFacts, one: AnnotatorAgreement) -> TableCell:
    if one.share is None:
        return TableCell("no annotators", kind="missing")
    return TableCell(f"{percent(one.share)} ({counted(one.rows, 'row')})", value=one.share)


def _in_distribution_caption(facts: DatasetFacts, records: Sequence[object]) -> str:
    filtered = any(isinstance(one, Accuracy) and one.tested_on == "filtered" for one in records)
    how = (
        "Random on full rows shows what having fewer train rows costs. The control on filtered rows has as many train "
        "rows and, as random_matched, the class sizes of filtered, so only the choice of train rows differs. "
        "Difference: full on full minus filtered on filtered, in points, for each representation."
        if filtered
        else "The settings leave the test rows alone, so all are tested on the same rows. The control (random_matched, "
        "or random where there is no such set) has as many train rows as filtered. Difference: full minus filtered, in "
        "points, for each representation."
    )
    human = (
        " Human: mean share of a row's single annotators who gave its label. Where the label is their majority, that "
        "is "
        "more than a new annotator would reach."
        if any(isinstance(one, AnnotatorAgreement) for one in records)
        else ""
    )
    return f"Accuracy in per cent; mean, deviation over seeds, 95 % interval. {how}{human}"


IN_DISTRIBUTION = TableSpec(
    "in_distribution",
    "{test_set}",
    "{test_set}: full, random and filtered",
    ("evaluator",),
    (
        Cells(
            ACCURACIES,
            rows=lambda facts, one: (one.evaluator,),
            where=lambda facts, one: _is_natural(facts, one) and _stands(facts, one),
            column=_side_by_side,
            value=lambda facts, one: score_cell(one, shaded=not one.train_set.startswith("random")),
            order=_column_order,
        ),
        Cells(
            DIFFERENCES,
            rows=lambda facts, one: (one.evaluator,),
            where=lambda facts, one: _is_natural(facts, one) and _is_fall(facts, one),
            column=lambda facts, one: Column(_fall_heading(one), line=True),
            value=lambda facts, one: _fall(one),
            order=_fall_order,
        ),
        Cells(
            ANNOTATORS,
            rows=lambda facts, one: ("human",),
            where=lambda facts, one: bool(facts.plain_evaluators),
            column=_agreement_column,
            value=_agreement,
            order=_column_order,
            apart=True,
        ),
        Cells(
            ANNOTATORS,
            rows=lambda facts, one: ("human",),
            where=lambda facts, one: bool(facts.plain_evaluators) and one.train_set == "filtered",
            column=lambda facts, one: Column(_fall_heading(one), line=True),
            value=lambda facts, one: points_cell(one.difference),
            order=_fall_order,
            apart=True,
        ),
        Cells(
            ACCURACIES,
            rows=lambda facts, one: ("train rows",),
            where=lambda facts, one: _is_natural(facts, one) and _stands(facts, one),
            column=_side_by_side,
            value=lambda facts, one: sizes_cell([one]),
            merged=sizes_cell,
            order=_column_order,
            apart=True,
        ),
    ),
    each=("test_set",),
    caption=_in_distribution_caption,
    ruled=False,
)

TOP_5 = TableSpec(
    "top_5",
    "{test_set}",
    "{test_set}: the likeliest class, and the five likeliest",
    ("evaluator",),
    (
        Cells(
            ACCURACIES,
            rows=lambda facts, one: (one.evaluator,),
            where=lambda facts, one: facts.test_set[one.test_set].ranked and _stands(facts, one),
            column=lambda facts, one: Column(Heading(f"top-{one.top}"), _heading(one, one.test_rows)),
            value=lambda facts, one: score_cell(one),
            order=_column_order,
        ),
        Cells(
            DIFFERENCES,
            rows=lambda facts, one: (one.evaluator,),
            where=lambda facts, one: facts.test_set[one.test_set].ranked and _is_fall(facts, one),
            column=lambda facts, one: Column(Heading(f"top-{one.top}"), _fall_heading(one)),
            value=lambda facts, one: _fall(one),
            order=_fall_order,
        ),
    ),
    each=("test_set",),
    caption=lambda facts, records: (
        "Accuracy in per cent; a row counts as right in top-5 when its class is among the five that the model finds "
        "likeliest. Difference: full minus filtered, in points, for each representation."
        + (
            " Where the set has some of the dataset's classes and adds probabilities up, only its own classes are "
            "ranked."
            if facts.test_set[records[0].test_set].challenge
            else ""
        )
    ),
)


# Challenge sets


def _on_challenge_set(facts: DatasetFacts, one: _Any) -> bool:
    return _is_part(facts, one) and facts.test_set[one.test_set].challenge


def _name(one: _Any) -> tuple[str | None, str | None, str | None]:
    return one.column, one.category, one.label


def _blocks(facts: DatasetFacts, one: Accuracy) -> Iterator[tuple[object, ...]]:
    """The tables that a score stands in: one for all parts, or those of each category column where there are several.

    The first of several, without a column, has the gold labels; the whole set stands in each.
    """
    columns = list(
        dict.fromkeys(part.name[0] for part in facts.test_set[one.test_set].parts if part.name[0] is not None)
    )
    if len(columns) < 2:
        columns, block = [], None
    else:
        block = one.column
    for each in [None, *columns] if one.whole else [block]:
        yield one.representation, one.test_set, each


def _part_column(facts: DatasetFacts, one: Accuracy) -> Column:
    """With a line where another category begins."""
    if one.whole:
        return Column(rows_heading("overall", one.test_rows), line=True)
    names = [part.name for part in facts.test_set[one.test_set].parts]
    place = names.index(_name(one))
    begins = not place or names[place - 1][:2] != _name(one)[:2]
    heading = rows_heading(part_text(*_name(one)), one.test_rows)
    return Column(heading, line=one.column is not None and begins, key=_name(one))


def _block(records: Sequence[Accuracy], facts: DatasetFacts) -> str | None:
    """The category column that a table is about; None where it is about several, or none."""
    columns = {one.column for one in records if not one.whole}
    several = len({part.name[0] for part in facts.test_set[records[0].test_set].parts} - {None}) > 1
    return next(iter(columns)) if len(columns) == 1 and several else None


def _challenge_title(facts: DatasetFacts, records: Sequence[Accuracy]) -> str:
    column = _block(records, facts)
    return records[0].test_set if column is None else f"{records[0].test_set}, by {short(column)}"


CHALLENGE_SETS = TableSpec(
    "challenge_sets_{representation}",
    _challenge_title,
    _challenge_title,
    ("evaluator", "trained on"),
    (
        Cells(
            ACCURACIES,
            rows=_trained,
            where=lambda facts, one: _on_challenge_set(facts, one) and one.whole,
            column=lambda facts, one: _TRAIN_ROWS,
            value=lambda facts, one: sizes_cell([one]),
        ),
        Cells(
            ACCURACIES,
            rows=_trained,
            where=_on_challenge_set,
            column=_part_column,
            value=lambda facts, one: score_cell(one),
        ),
    ),
    each=_blocks,
    caption=lambda facts, records: (
        f"Accuracy in per cent; train sets of representation {records[0].representation}."
        + (
            " Rows with different gold labels are shown apart: a model that leans on a shortcut is right on one half "
            "and wrong on the other."
            if any(not one.whole for one in records)
            else ""
        )
    ),
    notes=lambda facts, records: (
        () if _block(records, facts) is not None else set_notes(facts.test_set[records[0].test_set], facts.label_names)
    ),
    ruled=False,
)


def _beside(facts: DatasetFacts, one: _Any) -> bool:
    """Whether a place of the zero-shot table is meant: of the whole set, or of a part that stands there."""
    if not _on_challenge_set(facts, one) or not _is_plain(facts, one.evaluator):
        return False
    return one.whole or facts.test_set[one.test_set].part[_name(one)].side_by_side


def _set_column(facts: DatasetFacts, one: _Any) -> Column:
    natural = one.tested_on == "full"
    text = "all rows" if natural else part_text(*_name(one))
    return Column(rows_heading(text, one.test_rows or 0), Heading(one.test_set), key=_name(one))


def _minus(facts: DatasetFacts, one: Difference) -> tuple[str]:
    return minus(one)


ZERO_SHOT = TableSpec(
    "zero_shot_{representation}",
    "{evaluator}",
    "{evaluator}, zero-shot; train sets of representation {representation}",
    ("trained on",),
    (
        _sizes(_by_train_set, _beside),
        Cells(
            ACCURACIES,
            rows=_by_train_set,
            where=_beside,
            column=_set_column,
            value=lambda facts, one: score_cell(one, short=True),
            order=lambda facts, one: (0,),
        ),
        Cells(
            DIFFERENCES,
            rows=_minus,
            where=lambda facts, one: one.comparison == "means" and _beside(facts, one),
            column=_set_column,
            value=lambda facts, one: points_cell(one.difference),
            apart=True,
        ),
    ),
    each=("representation", "evaluator"),
    caption="Accuracy in per cent; mean over seeds, its deviation over them, 95 % interval. Where a category has rows "
    "of "
    "several gold labels, each stands beside the whole. Last rows: differences of these means in points; their "
    "intervals and verdicts are in the tables of filtered against its control. Of a set with several category "
    "columns, the rows with any value of each; the values apart are in the set's own tables.",
)


# By size of the train set (Mishra and Sachdeva, SustaiNLP 2020, Table 2, which has neither random sets of the filtered
# ones' sizes nor more than one training of each)


def _controls(facts: DatasetFacts, representation: str, filtered: str) -> tuple[str, ...]:
    names = facts.filtering[representation].train_sets
    of_size = ("random", control_of(filtered, names)) if filtered == "filtered" else (control_of(filtered, names),)
    return tuple(dict.fromkeys(of_size))


def _by_size(facts: DatasetFacts, representation: str) -> list[str]:
    """Full and its sample, then each filtered set after its controls, the smallest first."""
    sizes = facts.filtering[representation].train_sets
    smallest = sorted(filter(is_filtered_set, sizes), key=lambda name: (not sizes[name], sizes[name]))
    shown = ["full", "sampled", *(one for name in smallest for one in (*_controls(facts, representation, name), name))]
    return [name for name in dict.fromkeys(shown) if name in sizes]


def _of_a_size(facts: DatasetFacts, one: _Any) -> bool:
    if not _is_part(facts, one) or not _is_plain(facts, one.evaluator) or one.tested_on not in ("full", "all"):
        return False
    if one.train_set not in _by_size(facts, str(one.representation)):
        return False
    return one.whole or facts.test_set[one.test_set].part[_name(one)].by_size


def _several_sizes(facts: DatasetFacts, records: Sequence[_Any]) -> bool:
    """Whether there is a sample, or a filtered set of another size than the target's, which other tables show."""
    name = str(records[0].representation)
    return bool({*_by_size(facts, name)} - {"full", *_controls(facts, name, "filtered"), "filtered"})


def _against_control(facts: DatasetFacts, one: Difference) -> bool:
    if one.comparison != "control" or not is_filtered_set(one.train_set) or not _of_a_size(facts, one):
        return False
    return one.against == control_of(one.train_set, facts.filtering[str(one.representation)].train_sets)


def _size_order(facts: DatasetFacts, one: Accuracy) -> int:
    return _by_size(facts, str(one.representation)).index(one.train_set)


FINE_ACTION = TableSpec(
    "fine_action_{representation}",
    "{evaluator}",
    "{evaluator} by size of the train set, representation {representation}",
    ("trained on",),
    (
        _sizes(_by_train_set, _of_a_size, row_order=_size_order),
        Cells(
            ACCURACIES,
            rows=_by_train_set,
            where=_of_a_size,
            column=_set_column,
            value=lambda facts, one: score_cell(one, short=True),
            order=lambda facts, one: (0,),
            row_order=_size_order,
        ),
        Cells(
            DIFFERENCES,
            rows=_minus,
            where=_against_control,
            column=_set_column,
            value=lambda facts, one: difference_cell(one, test_rows=one.test_rows, judged=True),
            row_order=_size_order,
            apart=True,
        ),
    ),
    each=("representation", "evaluator"),
    when=_several_sizes,
    caption="Accuracy in per cent; mean over seeds, its deviation over them, 95 % interval. Natural test sets with all "
    "their rows, challenge sets whole and by category. Judge a filtered set by the random rows of its size: full and "
    "sampled have more rows. Last rows: filtered minus these in points, with the interval over test groups and "
    "trainings, and the verdict, both from the table of filtered against its control.",
)


# Transfer (ICML 2020, Table 2): after fine-tuning on challenge sets' own train rows


class _Tuned(NamedTuple):
    """A column: the challenge set, the evaluator fine-tuned on it, and whether it or what it started from is asked."""

    start: str
    evaluator: str
    test_set: str
    training: Literal["fine_tuned", "zero_shot"]

    @property
    def predicting(self) -> str:
        return self.evaluator if self.training == "fine_tuned" else self.start


def _tuned(facts: DatasetFacts, one: _Any) -> list[_Tuned]:
    """The columns that a score stands in, one for each evaluator that was fine-tuned on the set from what is asked."""
    return [
        _Tuned(tuned.start, name, test_set, training)
        for name, tuned in facts.fine_tuned.items()
        for test_set in tuned.sets
        if test_set == one.test_set
        for training in _TRAININGS
        if one.evaluator == (name if training == "fine_tuned" else tuned.start)
    ]


_TRAININGS: tuple[Literal["fine_tuned", "zero_shot"], ...] = ("fine_tuned", "zero_shot")


def _tuned_columns(facts: DatasetFacts, one: _Any) -> list[Column]:
    """Under what was done before."""
    columns = []
    for tuned in _tuned(facts, one):
        after = f"{tuned.evaluator}, after {', then '.join(facts.fine_tuned[tuned.evaluator].sets)}"
        group = rows_heading(tuned.test_set, facts.test_set[tuned.test_set].rows, after)
        columns.append(Column(Heading(tuned.training.replace("_", "-")), group))
    return columns


def _tuned_order(facts: DatasetFacts, one: _Any) -> tuple[int, int, int]:
    tuned = _tuned(facts, one)[0]
    sets = facts.fine_tuned[tuned.evaluator].sets
    return list(facts.fine_tuned).index(tuned.evaluator), sets.index(one.test_set), _TRAININGS.index(tuned.training)


def _is_tuned(facts: DatasetFacts, one: _Any) -> bool:
    return _is_part(facts, one) and one.whole and bool(_tuned(facts, one))


def _starts(facts: DatasetFacts, one: _Any) -> Iterator[tuple[object, ...]]:
    for start in dict.fromkeys(tuned.start for tuned in _tuned(facts, one)):
        yield one.representation, start


def _start(facts: DatasetFacts, records: Sequence[_Any]) -> str:
    return _tuned(facts, records[0])[0].start


TRANSFER = TableSpec(
    "transfer_{representation}",
    lambda facts, records: f"{_start(facts, records)}, fine-tuned",
    lambda facts, records: (
        f"{_start(facts, records)}, fine-tuned on challenge sets; train sets of representation "
        f"{records[0].representation}"
    ),
    ("trained on",),
    (
        _sizes(_by_train_set, _is_tuned),
        Cells(
            ACCURACIES,
            rows=_by_train_set,
            where=_is_tuned,
            column=_tuned_columns,
            value=lambda facts, one: score_cell(
                one, shaded=one.evaluator in facts.fine_tuned and one.train_set in ("full", "random", "filtered")
            ),
            order=_tuned_order,
        ),
        Cells(
            DIFFERENCES,
            rows=_minus,
            where=lambda facts, one: one.comparison == "transfer" and _is_tuned(facts, one),
            column=_tuned_columns,
            value=lambda facts, one: difference_cell(one),
            order=_tuned_order,
            apart=True,
        ),
    ),
    each=_starts,
    caption="Trained on the train set, then on the challenge set's own train rows, then tested on its test rows, none "
    "of "
    "which it was trained on. Zero-shot: the same rows, asked before fine-tuning. Accuracy in per cent; mean, "
    "deviation over seeds, 95 % interval. Differences in points on the same test rows; in brackets their 95 % "
    "interval, over test groups and trainings; the verdicts are in the tables of filtered against its control. "
    "Full has more train rows than filtered, the random sets as many.",
)
