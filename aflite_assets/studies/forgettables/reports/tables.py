"""The tables of forgettable rows and of models trained on forgettable rows, as in Tables 1 to 11 of the EACL 2021
paper.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.inputs.weak_models import WeakModelFacts
from aflite_assets.analysis.scores.score_tables import ACCURACIES, Accuracy
from aflite_assets.reports.tables import cells
from aflite_assets.reports.tables.table import Cells, Column, Heading, TableCell, TableSpec, declared, having
from aflite_assets.studies.forgettables.analysis import analysis as forgettables
from aflite_assets.studies.forgettables.analysis.accuracies import OVERLAP
from aflite_assets.text import count, percent


def _share_of_rows(name: str) -> cells.CellMaker:
    """Return a function that makes a cell with a number of train rows and its share of all train rows."""
    return lambda facts, one: cells.number(vars(one)[name], count, f"{percent(vars(one)[name] / max(one.rows, 1))} %")


WEAK_MODEL_TABLE = TableSpec(
    "forgettables",
    "Forgettable rows of each weak model",
    {"weak model": "{weak_model}"},
    (
        Cells(forgettables.WEAK_MODELS, "train rows", cells.field("rows")),
        Cells(forgettables.WEAK_MODELS, "forgettable", _share_of_rows("forgettable")),
        Cells(forgettables.WEAK_MODELS, "of these never learnt", _share_of_rows("never_learnt")),
        Cells(forgettables.WEAK_MODELS, "taken", _share_of_rows("taken")),
        Cells(forgettables.WEAK_MODELS, "largest class (%)", cells.field("largest_class", percent)),
        Cells(forgettables.WEAK_MODELS, "train accuracy (%)", cells.field("train_accuracy", percent)),
        Cells(forgettables.WEAK_MODEL_ACCURACIES, "accuracy on {split} (%)", cells.field("accuracy", percent)),
    ),
    caption="A row is forgettable if it was right in one epoch and wrong in the next, or never right. Taken: the "
    "rows of second phases, with every class cut to the smallest one if the settings say balance. Rows with "
    "wrong labels are forgotten too, so read some of the rows that were never learnt. Train accuracy is "
    "measured as rows are presented. Compare the test accuracies: the weak model should be weaker than the "
    "model of the second phase.",
    notes=lambda facts, records: tuple(
        f"{name} was not trained: {reason}." for name, reason in facts.untrained_weak_models.items()
    ),
)


CLASS_TABLE = TableSpec(
    "forgettables_by_class",
    "Forgettable rows by class",
    {"weak model": "{weak_model}"},
    tuple(
        Cells(
            forgettables.FORGETTABLE_CLASSES,
            Column(Heading(what), Heading("{label}")),
            _share_of_rows(what),
            order=lambda facts, one: facts.label_names.index(one.label),
        )
        for what in ("forgettable", "taken")
    ),
    caption="Shares of the class's train rows.",
)


def _events_heading(facts: DatasetFacts, one: forgettables.ForgettingEvents) -> str:
    return {"never_learnt": "never learnt", "1": "once"}.get(one.events, f"{one.events} times")


def _events_cell(facts: DatasetFacts, one: forgettables.ForgettingEvents) -> TableCell:
    return cells.number(one.share, percent, f"{count(one.rows)} rows")


EVENT_TABLE = TableSpec(
    "forgetting_events",
    "How often rows were forgotten",
    {"weak model": "{weak_model}"},
    (Cells(forgettables.EVENTS, _events_heading, _events_cell),),
    caption="Per cent of the train rows; rows that were never right are counted separately (Figure 1 of the paper).",
)


AGREEMENT_TABLE = TableSpec(
    "forgettable_agreement",
    "Whether trainings forget the same rows",
    {"first": "{first}", "second": "{second}"},
    (
        Cells(forgettables.AGREEMENT, "Jaccard", cells.field("jaccard", cells.decimal, strong=True)),
        Cells(forgettables.AGREEMENT, "of random rows", cells.field("jaccard_by_chance", cells.decimal)),
        Cells(forgettables.AGREEMENT, "rows in both", cells.field("shared")),
        Cells(forgettables.AGREEMENT, "rows of the first", cells.field("first_rows")),
        Cells(forgettables.AGREEMENT, "rows of the second", cells.field("second_rows")),
    ),
    caption="Rows in both sets divided by rows in either, of all forgettable rows, and the mean of random sets of "
    "these sizes.",
)


def _minority(facts: DatasetFacts, one: forgettables.Minority) -> TableCell:
    form = cells.decimal if one.measure == "overlap" else percent
    bounds = () if one.low is None or one.high is None else (f"[{form(one.low)}, {form(one.high)}]",)
    return cells.number(one.mean, form, *bounds)


MINORITY_TABLE = TableSpec(
    "minorities",
    "What is rarer or more frequent among forgettable rows",
    {"weak model": "{weak_model}", "rows": "{set}"},
    (Cells(forgettables.MINORITIES, Column(Heading("{group}"), Heading("{measure}")), _minority),),
    caption="Overlap: mean Jaccard index of both texts' words. Negation: per cent of rows whose second text has one "
    "of the words. Attributes: per cent of rows with the value. The brackets hold 95 % intervals. The same "
    "number of random rows shows the effect of size alone.",
)


OF_WEAK_MODELS = (WEAK_MODEL_TABLE, CLASS_TABLE, EVENT_TABLE, AGREEMENT_TABLE, MINORITY_TABLE)


def _starts(facts: DatasetFacts, one: Accuracy | forgettables.PhaseAverage) -> Iterable[dict[str, object]]:
    """Yield the starting evaluators whose tables contain a record.

    A table contains the records of a starting evaluator and of its second phases.
    """
    if one.evaluator in {phase.start for phase in facts.phases.values()}:
        yield {"start": one.evaluator}
    if one.evaluator in facts.phases:
        yield {"start": facts.phases[one.evaluator].start}


def _in_phases(facts: DatasetFacts, one: Accuracy) -> bool:
    return one.representation is None and one.train_set == "full" and one.column != OVERLAP


def _then_trained_on(facts: DatasetFacts, one: Accuracy | forgettables.PhaseAverage) -> str:
    """Describe in words the training stages that follow the first stage.

    The text names the rows of each stage and, if known, its epochs and learning rate.
    """
    if (phase := facts.phases.get(one.evaluator)) is None:
        return "nothing more"
    models = [one for name, one in facts.weak_models.items() if name in (phase.weak_model, phase.sized_by)]
    sized = phase.as_many_as is not None or phase.set_name in ("forgettable", "random")
    first = f"{count(_taken(models))} " if models and sized else ""
    said = [f"{rows}, {training}" for rows, training in zip_longest(phase.rows, phase.training, fillvalue="")]
    return first + ", then ".join(each.removesuffix(", ") for each in said)


def _taken(models: Sequence[WeakModelFacts]) -> int:
    """Return the number of rows of a weak model's set or, of two models, of a set cut to the smaller one per class."""
    if len(models) == 1:
        return models[0].taken
    labels = set.intersection(*(set(one.by_class) for one in models))
    return sum(min(one.by_class[label]["taken"] for one in models) for label in labels)


def _phase_order(facts: DatasetFacts, one: Accuracy | forgettables.PhaseAverage) -> int:
    return ["", *facts.phases].index(one.evaluator if one.evaluator in facts.phases else "")


def _average(facts: DatasetFacts, one: forgettables.PhaseAverage) -> TableCell:
    deviation = () if one.seeds_deviation is None else (f"±{percent(one.seeds_deviation)}",)
    return cells.number(one.accuracy, percent, *deviation)


TWO_PHASE = TableSpec(
    "two_phase",
    "{start}, then a second phase",
    {"evaluator": "{evaluator}", "then trained on": _then_trained_on},
    (
        Cells(ACCURACIES, "train rows of full", cells.sizes, _in_phases),
        Cells(forgettables.PHASE_AVERAGES, "average", _average),
        Cells(ACCURACIES, cells.set_column, cells.short_score, _in_phases),
    ),
    of="{start}",
    each=_starts,
    row_order=_phase_order,
    caption="Accuracy after all phases. Every phase starts from the same model, trained on full. Average: the "
    "average of two means, over the dataset's own splits and over challenge sets, as in the paper.",
)


def _phase_difference(facts: DatasetFacts, one: Difference) -> TableCell:
    return cells.difference(facts, one, judged=one.why != "not the control")


TWO_PHASE_DIFFERENCES = TableSpec(
    "two_phase_differences",
    "{start}: what the second phase changes",
    {"evaluator": "{evaluator}", "minus": "{against_evaluator}"},
    (Cells(DIFFERENCES, cells.set_column, _phase_difference),),
    of="{start}",
    each=lambda facts, one: [{"start": facts.phases[one.evaluator].start}],
    where=having(comparison="second phase"),
    caption="Differences in points on the same test rows; the brackets hold 95 % intervals over test groups and "
    "trainings, paired by seed. Verdicts compare with a second phase on as many random rows, because the "
    "effect of any second phase is no merit of forgettable rows.",
)


BY_OVERLAP = TableSpec(
    "by_overlap",
    "{start} on {test_set}, by overlap of the texts",
    {"evaluator": "{evaluator}"},
    (Cells(ACCURACIES, Column(Heading("{category}", ("n = {test_rows:,}",)), Heading("{label}")), cells.short_score),),
    of="{start}, {test_set}",
    each=_starts,
    where=having(representation=None, train_set="full", column=OVERLAP),
    row_order=_phase_order,
    caption="High: the texts share more words than the mean of the test set (Jaccard); low: the other rows.",
)


def _alone_order(facts: DatasetFacts, one: Accuracy) -> tuple[bool, str, bool]:
    """Return the sort key of a train set.

    The key sorts random rows after the rows that they are compared with, and `full` at the end.
    """
    name = one.train_set
    return name == "full", name.removeprefix("random_"), name.startswith("random_")


ALONE = TableSpec(
    "forgettables_alone",
    "{evaluator}, trained on forgettable rows alone",
    {"trained on": "{train_set}"},
    (Cells(ACCURACIES, "train rows", cells.sizes), Cells(ACCURACIES, cells.set_column, cells.short_score)),
    of="{evaluator}",
    where=lambda facts, one: one.representation is None and one.whole and one.evaluator in facts.trained_alone,
    row_order=_alone_order,
    caption="There are as many random rows.",
)


PART = {
    "forgettables": declared(*OF_WEAK_MODELS),
    "two_phase": declared(TWO_PHASE, TWO_PHASE_DIFFERENCES),
    "by_overlap": declared(BY_OVERLAP),
    "forgettables_alone": declared(ALONE),
}
