"""Checks, from stored predictions, that every evaluator of `evaluator_models` was trained and learnt something."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.scores.judges import (
    ONE_ANSWER,
    OverLargestClass,
    margins_over_largest,
    one_answer_names,
    one_answers,
    over_largest_class,
)
from aflite_assets.checks import CheckOutcome
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.reports.sentences.wording import bounds_text
from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import validation_splits
from aflite_assets.stages.evaluation.margins import without_inputs
from aflite_assets.stages.shared.asked_sets import asked_sets, test_sets
from aflite_assets.stages.shared.evaluator_roles import (
    fine_tuned_evaluators,
    is_apart,
    partial_inputs,
    second_phases,
)
from aflite_assets.stages.shared.report_inputs import whole_earlier_sets
from aflite_assets.stages.stage import StageChecks, StageSettings
from aflite_assets.text import listed, percent

ASKS = {
    "all_cells_done": "Every evaluator was trained on every train set with every seed.",
    "better_than_largest_class": "The evaluator trained on `full` is more accurate than always predicting the largest "
    "class: the whole confidence interval of the difference is above zero.",
    "not_at_chance": "No evaluator trained on `full` is at chance on the challenge set. With enough rows, the "
    "confidence interval of its accuracy excludes the share of the largest class.",
    "more_than_one_answer": f"No evaluator predicts one class for at least {round(100 * ONE_ANSWER)} % of a test set "
    "while being no more accurate than always predicting that class.",
}
"""Statement that each check tests, by the name of the check; no check blocks later stages."""

_MOST_NAMED = 4
_outcome = partial(CheckOutcome, "evaluators")


def check_evaluators(
    models: PublishedResult, inputs: Mapping[str, PublishedResult], settings: DatasetSpec
) -> Iterator[CheckOutcome]:
    """Yield the outcomes of all checks of the grid; for multiple choice, accuracy is by question.

    Evaluators that see only one text of a pair, or that were fine-tuned on challenge sets, need not be better than
    always predicting the largest class. The check `all_cells_done` covers all cells. All checks except `all_cells_done`
    ignore cells that only the tables of studies show. The checks also ignore train sets that equal another
    train set.

    Raises:
        DataError: the predictions do not match the rows, or the published challenge sets do not match the settings.
    """
    everything, evaluators = load_examples(inputs["raw_dataset"].path), settings.evaluators
    rows, specs = without_inputs(everything), settings.challenge_sets
    by_row = test_sets(rows, inputs["challenge_sets"], (), specs, validation_splits(evaluators), {}, ())
    sets = asked_sets(by_row, rows.label_names, inputs["raw_dataset"], specs)
    partial = partial_inputs(evaluators) if "text_pair" in everything.table.column_names else ()
    cells, phases = sets.cells(models, ranks=False), second_phases(evaluators)
    apart = whole_earlier_sets(inputs["control_sets"])
    reported = [c for c in cells if not is_apart(c, phases) and (c.representation, c.train_set) not in apart]
    yield check_all_done(cells)
    yield from check_learning(reported, sets.asked, left_out={*partial, *fine_tuned_evaluators(evaluators)})
    yield check_answers(reported, sets.asked)


def check_all_done(cells: Sequence[Cell]) -> CheckOutcome:
    """Return the check that every cell of the grid was trained; the message explains each untrained cell."""
    name = "all_cells_done"
    undone = [cell for cell in cells if cell.status != "done"]
    named = [f"{cell.evaluator} on {cell.train_set}, seed {cell.seed}: {cell.reason or cell.status}" for cell in undone]
    return _outcome(name, ASKS[name], not undone, "; ".join(named), applies=bool(cells))


def check_learning(
    cells: Sequence[Cell], test_sets: Sequence[TestSet], *, left_out: Collection[str] = ()
) -> Iterator[CheckOutcome]:
    """Yield the checks `better_than_largest_class` per evaluator and `not_at_chance` per challenge set.

    The two checks use the evaluators trained on `full`, except the evaluators in `left_out`. The `numbers` of an
    outcome name the evaluators that cannot be judged. An evaluator cannot be judged if its test set has too few rows. A
    check that needs probabilities cannot judge an evaluator without probabilities.
    """
    judged = [cell for cell in cells if cell.evaluator not in left_out]
    trained = dict.fromkeys(cell.evaluator for cell in judged if (cell.train_set, cell.status) == ("full", "done"))
    natural = over_largest_class(judged, test_sets)
    unasked = _unasked(name for name in trained if name not in natural)
    for one in natural.values():
        yield _better_than_largest_class(one, unasked)
    elsewhere = {one.name: margins_over_largest(judged, one) for one in test_sets if one.challenge}
    unasked = _unasked(f"{name} on {one}" for one, found in elsewhere.items() for name in trained if name not in found)
    for test_set, found in elsewhere.items():
        if found:
            yield _not_at_chance(test_set, list(found.values()), natural, unasked)


def check_answers(cells: Sequence[Cell], test_sets: Sequence[TestSet]) -> CheckOutcome:
    """Return the check that no evaluator predicts the same class for nearly all rows of a natural test set."""
    name = "more_than_one_answer"
    collapsed = one_answer_names(one_answers(cells, test_sets))
    found = (
        f"these models learnt little, so conclude nothing from them: {listed(collapsed, _MOST_NAMED)}"
        if collapsed
        else ""
    )
    natural = any(not one.challenge for one in test_sets)
    applies = natural and any(cell.predictions is not None for cell in cells)
    return _outcome(name, ASKS[name], not collapsed, found, applies=applies)


def _better_than_largest_class(one: OverLargestClass, unasked: Mapping[str, str]) -> CheckOutcome:
    name = "better_than_largest_class"
    advice = (
        "" if one.beaten else ". Draw no conclusion from this evaluator: train it longer, on more seeds or more rows"
    )
    found = f"{_margin_text(one, f' of {one.test_set}')}{advice}"
    return _outcome(name, ASKS[name], one.beaten, found, subject=one.evaluator, numbers=unasked)


def _not_at_chance(
    test_set: str,
    found: Sequence[OverLargestClass],
    natural: Mapping[str, OverLargestClass],
    unasked: Mapping[str, str],
) -> CheckOutcome:
    """Return the check `not_at_chance` for one challenge set. `natural`: the margins on natural rows, by evaluator.

    An evaluator that is worse than always predicting the largest class passes, because a misleading shortcut has this
    effect; the message names the evaluator. An evaluator with too few test rows also passes. If every evaluator has too
    few test rows, the check is skipped.
    """
    name = "not_at_chance"
    at_chance = [one for one in found if one.at_chance]
    groups = {
        "at chance": at_chance,
        "worse than the largest class": [one for one in found if one.margin.high < 0],
        "better": [one for one in found if one.beaten],
    }
    for one in found:
        if one.too_few:
            groups.setdefault(f"cannot be distinguished from {one.rival} (too few {one.too_few})", []).append(one)
    margins = ". ".join(
        f"{words[0].upper()}{words[1:]}: {one.evaluator} ({_margin_text(one)})"
        for words, each in groups.items()
        for one in each
    )
    said = f"{margins}{_chance_advice(test_set, [natural.get(one.evaluator) for one in at_chance])}"
    applies = not all(one.too_few for one in found)
    return _outcome(name, ASKS[name], not at_chance, said, subject=test_set, applies=applies, numbers=unasked)


def _chance_advice(test_set: str, natural: Sequence[OverLargestClass | None]) -> str:
    """Return advice on the evaluators that are at chance on a challenge set, whose margins on natural rows are given.

    If an evaluator is better than the largest class on natural rows, its fall to chance is the finding. Only other
    evaluators show nothing.
    """
    able = [one for one in natural if one is not None and one.beaten]
    told = [
        f". On {one.test_set}, {one.evaluator} beats {one.rival} ({percent(one.accuracy)} %), so its fall to chance on "
        f"{test_set} is a finding: look at what {test_set} changes"
        for one in able
    ]
    if len(able) < len(natural):
        told.append(
            f". An evaluator that is at chance on natural rows too shows nothing here, because another train set only "
            f"changes which classes it predicts: see its accuracy on {test_set} by gold label, and draw conclusions "
            "from another evaluator or test set"
        )
    return "".join(told)


def _margin_text(one: OverLargestClass, of: str = "") -> str:
    rival = f"{one.rival} gets {percent(one.largest)} %"
    return f"{percent(one.accuracy)} %{of}; {rival}, difference {bounds_text(one.margin)}"


def _unasked(names: Iterable[str]) -> dict[str, str]:
    joined = ", ".join(names)
    return {"cannot_be_asked_of": joined} if joined else {}


_READ = ("raw_dataset", "challenge_sets", "control_sets")
EVALUATOR_CHECKS = StageChecks(ASKS, check_evaluators, _READ, StageSettings("challenge_sets evaluators"))
