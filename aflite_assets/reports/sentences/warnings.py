"""Warnings about a report's numbers: built-in effects, related models, small or missing sets, unfinished cells."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.inputs.records import units_text
from aflite_assets.analysis.scores.accuracies import TRAININGS, Training
from aflite_assets.analysis.scores.judges import ONE_ANSWER, OneAnswer, same_kind
from aflite_assets.text import count, listed
from aflite_assets.wording import counted

SMALL_TEST_SET = 300
"""Test sets with fewer rows are named in the summary: their 95 % interval is over 5 points to either side."""

_MOST_NAMED = 4


def cautions(analysis: Analysis) -> tuple[str, ...]:
    """What these numbers do not say: effects built in, single seeds, small or missing sets, unfinished cells."""
    facts, trainings = analysis.facts, analysis.of(TRAININGS)
    warnings = []
    if trainings and any(one.filtered_rows for one in facts.test_sets):
        warnings.append(
            "Filtered test rows are those that filtering left, and it removed what linear classifiers predict best. So "
            "accuracy on them is lower by construction, and no difference on them is called help or harm."
        )
    pooled = [test.name for test in facts.test_sets if test.pooled]
    if pooled:
        warnings.append(
            f"The rows of {listed(pooled)} entered the filter's pool, so they took part in choosing the train rows: "
            "differences on them are shown and support no verdict."
        )
    grouped = [test.name for test in facts.test_sets if test.groups is not None]
    if grouped:
        warnings.append(f"Rows of {listed(grouped)} belong together in groups, and their intervals count groups.")
    warnings += _related_cautions(analysis)
    warnings += [
        f"Trained on about {100 * (1 - share):.4g} % of the train rows that the tables name, and stopped by the rest: "
        f"{listed(names)}."
        for share, names in _held_back(facts).items()
    ]
    for filtering in facts.filterings:
        warnings += [f"Filter with {filtering.representation}: {warning}" for warning in filtering.warnings]
    behind = [one for one in analysis.judging.margins if not one.beaten and one.evaluator in facts.judging_evaluators]
    if behind:
        names = [f"{one.evaluator} (on {one.test_set})" for one in behind]
        warnings.append(f"Trained on full, not surely better than {behind[0].rival}: {listed(names)}.")
    collapsed = one_answer_names(analysis.judging.one_answer)
    if collapsed:
        warnings.append(
            f"These models give one class to at least {round(100 * ONE_ANSWER)} % of a test set, and are not surely "
            f"better than its largest class. They learnt little: {listed(collapsed, _MOST_NAMED)}."
        )
    warnings += _single_seed_cautions(facts, trainings)
    small = _small_test_sets(facts)
    if small:
        units = units_text(facts.test_sets)
        warnings.append(f"Under {SMALL_TEST_SET} test {units}, so wide intervals: {listed(small)}.")
    parts = _small_parts(facts)
    if parts:
        warnings.append(f"Parts of challenge sets with under {SMALL_TEST_SET} test rows: {listed(parts)}.")
    if facts.missing_sets:
        warnings.append(f"Challenge sets not available and so not tested on: {listed(list(facts.missing_sets))}.")
    unfinished = sum(one.status != "done" for one in trainings)
    if unfinished:
        warnings.append(f"{unfinished} of {len(trainings)} cells have no result; the tables say which and why.")
    return tuple(warnings)


def _related_cautions(analysis: Analysis) -> list[str]:
    """Evaluators that are what a representation was made with, then those that only share its architecture."""
    facts = analysis.facts
    evaluators = [one.name for one in facts.evaluators]
    same = same_kind(evaluators, facts.representations, facts.families)
    near = {
        name: others
        for name, found in same_kind(evaluators, facts.representations, facts.architectures).items()
        if (others := [one for one in found if one not in same.get(name, ())])
    }
    warnings = []
    if same:
        warnings.append(
            "These evaluators have the make of a model that filtered, so the rows were chosen against them: "
            f"{_as_representations(same)}. They fall more than others would. {_judge_by(analysis, same)}"
        )
    if near:
        warnings.append(
            "These evaluators are of the adversary's family, another size or copy of its architecture, so they may "
            f"fall more than others would: {_as_representations(near)}."
        )
    return warnings


def _judge_by(analysis: Analysis, related: Mapping[str, list[str]]) -> str:
    whole = [
        one.name for one in analysis.facts.evaluators if one.judging and one.whole_input and one.name not in related
    ]
    if not whole:
        return "No evaluator of another make saw whole inputs; add one to judge by."
    others = [name for name in analysis.judging.judges if name in whole]
    if not others:
        return "The others that see whole inputs learnt too little to judge by."
    return f"Judge by the others that see whole inputs: {listed(others)}."


def _as_representations(related: Mapping[str, list[str]]) -> str:
    return listed([f"{name} (as representation {listed(found)})" for name, found in related.items()])


def _held_back(facts: DatasetFacts) -> dict[float, list[str]]:
    """Evaluators by the share of their train rows that they stop by."""
    found: dict[float, list[str]] = {}
    for one in facts.evaluators:
        if one.held_back is not None:
            found.setdefault(one.held_back, []).append(one.name)
    return found


def _small_parts(facts: DatasetFacts) -> list[str]:
    """Challenge sets that are split into parts, with how many parts are small."""
    return [
        f"{one.name} ({count(small)} of {counted(len(one.parts), 'part')})"
        for one in facts.test_sets
        if (small := sum(part.rows < SMALL_TEST_SET for part in one.parts))
    ]


def one_answer_names(found: Iterable[OneAnswer]) -> list[str]:
    """Name the evaluators and train sets of which a seed gives one class to nearly all rows."""
    return [f"{one.evaluator} trained on {one.train_set}{_of(one.representation)}" for one in found]


def _of(representation: str | None) -> str:
    return "" if representation is None else f" ({representation})"


def _single_seed_cautions(facts: DatasetFacts, trainings: Iterable[Training]) -> Iterator[str]:
    """Evaluators with one seed of what verdicts compare, then those with one seed of another train set."""
    seeds = Counter((one.evaluator, one.train_set, one.representation) for one in trainings if one.status == "done")
    compared = {(name, one.representation) for one in facts.filterings for name in ("filtered", one.control)}
    alone = [key for key, number in seeds.items() if number == 1]
    unjudged = {evaluator for evaluator, *trained_on in alone if tuple(trained_on) in compared}
    if unjudged:
        yield (
            "One seed only, so how much the numbers move with the seed is unknown and there is no verdict: "
            f"{listed([one.name for one in facts.evaluators if one.name in unjudged])}."
        )
    others = [
        f"{evaluator} on {train_set}{_of(representation)}"
        for evaluator, train_set, representation in alone
        if evaluator not in unjudged
    ]
    if others:
        yield (
            "Trained with one seed only, so intervals against these count test rows alone and are too narrow: "
            f"{listed(others, _MOST_NAMED)}."
        )


def _small_test_sets(facts: DatasetFacts) -> list[str]:
    sizes = [(one.name, one.rows) for one in facts.test_sets]
    sizes += [
        (f"{one.name} filtered with {representation}", rows)
        for one in facts.test_sets
        for representation, rows in one.filtered_rows.items()
    ]
    return [f"{name} ({count(rows)})" for name, rows in sizes if rows < SMALL_TEST_SET]
