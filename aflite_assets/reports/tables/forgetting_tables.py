"""The tables of rows that weak models forget, and of what training on them changes (EACL 2021, Tables 1 to 11)."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.forgettables import (
    AGREEMENT,
    EVENTS,
    FORGETTABLE_CLASSES,
    MINORITIES,
    PHASE_AVERAGES,
    WEAK_MODEL_ACCURACIES,
    WEAK_MODELS,
    ForgettableClass,
    Minority,
    PhaseAverage,
    WeakModel,
)
from aflite_assets.analysis.inputs.forgettables import Agreement
from aflite_assets.analysis.scores.accuracies import ACCURACIES, OVERLAP, Accuracy
from aflite_assets.reports.tables.cells import (
    count_cell,
    difference_cell,
    part_name,
    part_text,
    rows_heading,
    score_cell,
    sizes_cell,
)
from aflite_assets.reports.tables.spec import Cells, TableSpec
from aflite_assets.reports.tables.table import NOTHING, Column, Heading, TableCell
from aflite_assets.text import DASH, count, percent


def _share_cell(number: int, rows: int) -> TableCell:
    return TableCell(count(number), (f"{percent(number / max(rows, 1))} %",), number)


def _size(heading: str, name: str) -> Cells[WeakModel]:
    def value(facts: DatasetFacts, one: WeakModel) -> TableCell:
        number = getattr(one, name)
        if isinstance(number, float):
            return TableCell(percent(number), value=number)
        return count_cell(number) if name == "rows" else _share_cell(number, one.rows)

    return Cells(
        WEAK_MODELS,
        rows=lambda facts, one: (one.weak_model,),
        column=lambda facts, one: Column(Heading(heading)),
        value=value,
    )


WEAK_MODEL_TABLE = TableSpec(
    "forgettables",
    "",
    "Forgettable rows of each weak model",
    ("weak model",),
    (
        _size("train rows", "rows"),
        _size("forgettable", "forgettable"),
        _size("of these never learnt", "never_learnt"),
        _size("taken", "taken"),
        _size("largest class (%)", "largest_class"),
        _size("train accuracy (%)", "train_accuracy"),
        Cells(
            WEAK_MODEL_ACCURACIES,
            rows=lambda facts, one: (one.weak_model,),
            column=lambda facts, one: Column(Heading(f"accuracy on {one.split} (%)")),
            value=lambda facts, one: TableCell(percent(one.accuracy), value=one.accuracy),
        ),
    ),
    caption="A row is forgettable where it was right in one epoch and wrong in the next, or never right. Taken: those "
    "that second phases train on, every class cut to the smallest one where the settings say balance. Wrong labels are "
    "forgotten, too: read some of the rows that were never learnt. Train accuracy is as presented. Compare test "
    "accuracy with that of the model that goes on: the weak one should be weaker.",
    notes=lambda facts, records: tuple(
        f"{name} was not trained: {reason}." for name, reason in facts.untrained_weak_models.items()
    ),
    ruled=False,
)


def _of_class(what: str) -> Cells[ForgettableClass]:
    return Cells(
        FORGETTABLE_CLASSES,
        rows=lambda facts, one: (one.weak_model,),
        column=lambda facts, one: Column(Heading(what), Heading(one.label), line=what == "forgettable"),
        value=lambda facts, one: _share_cell(getattr(one, what), one.rows),
        order=lambda facts, one: (facts.label_names.index(one.label), what),
    )


CLASS_TABLE = TableSpec(
    "forgettables_by_class",
    "",
    "Forgettable rows by class",
    ("weak model",),
    (_of_class("forgettable"), _of_class("taken")),
    caption="Shares are of the class's train rows.",
    ruled=False,
)

EVENT_TABLE = TableSpec(
    "forgetting_events",
    "",
    "How often rows were forgotten",
    ("weak model",),
    (
        Cells(
            EVENTS,
            rows=lambda facts, one: (one.weak_model,),
            column=lambda facts, one: Column(
                Heading({"never_learnt": "never learnt", "1": "once"}.get(one.events, f"{one.events} times"))
            ),
            value=lambda facts, one: TableCell(percent(one.share), (f"{one.rows:,} rows",), one.share),
        ),
    ),
    caption="Per cent of the train rows; rows that were never right are counted apart (Figure 1 of the paper).",
    ruled=False,
)


def _agreement(heading: str, name: str) -> Cells[Agreement]:
    def value(facts: DatasetFacts, one: Agreement) -> TableCell:
        number = getattr(one, name)
        if isinstance(number, int):
            return count_cell(number)
        return TableCell(DASH if number is None else f"{number:.3f}", value=number, strong=name == "jaccard")

    return Cells(
        AGREEMENT,
        rows=lambda facts, one: (one.first, one.second),
        column=lambda facts, one: Column(Heading(heading)),
        value=value,
    )


AGREEMENT_TABLE = TableSpec(
    "forgettable_agreement",
    "",
    "Whether trainings forget the same rows",
    ("first", "second"),
    (
        _agreement("Jaccard", "jaccard"),
        _agreement("of random rows", "jaccard_by_chance"),
        _agreement("rows in both", "shared"),
        _agreement("rows of the first", "first_rows"),
        _agreement("rows of the second", "second_rows"),
    ),
    caption="Rows in both over rows in either, of all forgettable rows. Beside it the mean of random sets of these "
    "sizes.",
    ruled=False,
)


def _minority(facts: DatasetFacts, one: Minority) -> TableCell:
    def shown(value: float) -> str:
        return f"{value:.3f}" if one.measure == "overlap" else percent(value)

    if one.mean is None:
        return NOTHING
    bounds = () if one.low is None or one.high is None else (f"[{shown(one.low)}, {shown(one.high)}]",)
    return TableCell(shown(one.mean), bounds, one.mean)


MINORITY_TABLE = TableSpec(
    "minorities",
    "",
    "What is rarer or more frequent among forgettable rows",
    ("weak model", "rows"),
    (
        Cells(
            MINORITIES,
            rows=lambda facts, one: (one.weak_model, one.set),
            column=lambda facts, one: Column(Heading(one.group), Heading(one.measure)),
            value=_minority,
        ),
    ),
    caption="Overlap: mean Jaccard index of both texts' words. Negation: per cent of rows whose second text has one of "
    "the words. Attributes: per cent of rows with the value. In brackets 95 % intervals. As many random rows show what "
    "size alone does.",
)


# Second phases, and training on forgettable rows alone

_Any = Accuracy | Difference


def _starts(facts: DatasetFacts, evaluator: str) -> Iterator[tuple[str]]:
    """The evaluator that phases start from, of itself or of one of its phases."""
    starts = dict.fromkeys(phase.start for phase in facts.phases.values())
    if evaluator in starts:
        yield (evaluator,)
    if evaluator in facts.phases:
        yield (facts.phases[evaluator].start,)


def _in_phases(facts: DatasetFacts, one: _Any) -> bool:
    return one.representation is None and one.train_set == "full" and any(_starts(facts, one.evaluator))


def _phase_rows(facts: DatasetFacts, one: Accuracy | PhaseAverage) -> tuple[str, str]:
    """The evaluator, and the later stages with their rows, where these are known, epochs and rates."""
    phase = facts.phases.get(one.evaluator)
    if phase is None:
        return one.evaluator, "nothing more"
    taken = facts.taken_rows.get(phase.weak_model)
    first = f"{count(taken)} " if taken is not None and phase.set_name in ("forgettable", "random") else ""
    said = [f"{rows}, {training}" for rows, training in zip_longest(phase.rows, phase.training, fillvalue="")]
    return one.evaluator, first + ", then ".join(each.removesuffix(", ") for each in said)


def _phase_order(facts: DatasetFacts, one: Accuracy | PhaseAverage) -> tuple[int, int]:
    names = list(facts.phases)
    return (1, names.index(one.evaluator)) if one.evaluator in names else (0, 0)


def _set_column(facts: DatasetFacts, one: _Any) -> Column:
    name = part_name(one)
    return Column(rows_heading(part_text(*name), one.test_rows or 0), Heading(one.test_set), key=name)


def _average(facts: DatasetFacts, one: PhaseAverage) -> TableCell:
    deviation = () if one.seeds_deviation is None else (f"±{percent(one.seeds_deviation)}",)
    return TableCell(percent(one.accuracy), deviation, one.accuracy)


def _start_of(facts: DatasetFacts, records: Sequence[Accuracy]) -> str:
    return next(_starts(facts, records[0].evaluator))[0]


def _phase_of(facts: DatasetFacts, one: Accuracy | PhaseAverage) -> Iterator[tuple[str]]:
    return _starts(facts, one.evaluator)


TWO_PHASE = TableSpec(
    "two_phase",
    _start_of,
    lambda facts, records: f"{_start_of(facts, records)}, then a second phase",
    ("evaluator", "then trained on"),
    (
        Cells(
            ACCURACIES,
            rows=_phase_rows,
            where=lambda facts, one: _in_phases(facts, one) and one.whole,
            column=lambda facts, one: Column(Heading("train rows of full")),
            value=lambda facts, one: sizes_cell([one]),
            row_order=_phase_order,
        ),
        Cells(
            PHASE_AVERAGES,
            rows=_phase_rows,
            column=lambda facts, one: Column(Heading("average")),
            value=_average,
            row_order=_phase_order,
        ),
        Cells(
            ACCURACIES,
            rows=_phase_rows,
            where=lambda facts, one: _in_phases(facts, one) and one.column != OVERLAP,
            column=_set_column,
            value=lambda facts, one: score_cell(one, short=True),
            row_order=_phase_order,
        ),
    ),
    each=_phase_of,
    caption="Accuracy in per cent after all phases; mean over seeds, its deviation, 95 % interval. Every phase starts "
    "from the same model, trained on full. Average: of the mean over the dataset's own splits and the mean over "
    "challenge sets, as in the paper.",
)


def _phase_start(facts: DatasetFacts, one: Difference) -> Iterator[tuple[str]]:
    yield (facts.phases[one.evaluator].start,)


TWO_PHASE_DIFFERENCES = TableSpec(
    "two_phase_differences",
    lambda facts, records: facts.phases[records[0].evaluator].start,
    lambda facts, records: f"{facts.phases[records[0].evaluator].start}: what the second phase changes",
    ("evaluator", "minus"),
    (
        Cells(
            DIFFERENCES,
            rows=lambda facts, one: (one.evaluator, str(one.against_evaluator)),
            where=lambda facts, one: one.comparison == "second phase",
            column=_set_column,
            value=lambda facts, one: difference_cell(one, test_rows=one.test_rows, judged=one.why != "not the control"),
        ),
    ),
    each=_phase_start,
    caption="Points on the same test rows; in brackets 95 % intervals over test groups and trainings, paired by seed. "
    "Verdicts are on differences to a second phase on as many random rows: what any second phase does is no merit of "
    "forgettable rows.",
)


BY_OVERLAP = TableSpec(
    "by_overlap",
    lambda facts, records: f"{_start_of(facts, records)}, {records[0].test_set}",
    lambda facts, records: f"{_start_of(facts, records)} on {records[0].test_set}, by overlap of the texts",
    ("evaluator",),
    (
        Cells(
            ACCURACIES,
            rows=lambda facts, one: (one.evaluator,),
            where=lambda facts, one: _in_phases(facts, one) and one.column == OVERLAP,
            column=lambda facts, one: Column(rows_heading(str(one.category), one.test_rows), Heading(str(one.label))),
            value=lambda facts, one: score_cell(one, short=True),
            row_order=_phase_order,
        ),
    ),
    each=lambda facts, one: [(*start, one.test_set) for start in _starts(facts, one.evaluator)],
    caption="Accuracy in per cent; mean over seeds, its deviation, 95 % interval. High: the texts share more words "
    "than the mean of the test set (Jaccard); low: the other rows.",
)


def _alone_order(facts: DatasetFacts, one: Accuracy) -> tuple[bool, str, bool]:
    """Random rows after those that they stand beside, full last."""
    name = one.train_set
    return name == "full", name.removeprefix("random_"), name.startswith("random_")


def _is_alone(facts: DatasetFacts, one: Accuracy) -> bool:
    return one.representation is None and one.whole and one.evaluator in facts.trained_alone


ALONE = TableSpec(
    "forgettables_alone",
    "{evaluator}",
    "{evaluator}, trained on forgettable rows alone",
    ("trained on",),
    (
        Cells(
            ACCURACIES,
            rows=lambda facts, one: (one.train_set,),
            where=_is_alone,
            column=lambda facts, one: Column(Heading("train rows")),
            value=lambda facts, one: sizes_cell([one]),
            row_order=_alone_order,
        ),
        Cells(
            ACCURACIES,
            rows=lambda facts, one: (one.train_set,),
            where=_is_alone,
            column=_set_column,
            value=lambda facts, one: score_cell(one, short=True),
            row_order=_alone_order,
        ),
    ),
    each=("evaluator",),
    caption="Accuracy in per cent; mean over seeds, its deviation, 95 % interval. The random rows are as many.",
)
