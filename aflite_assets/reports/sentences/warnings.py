"""Warnings about a report's numbers: built-in effects, related models, small or missing sets, unfinished cells."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet, units_text
from aflite_assets.analysis.scores.groups import control
from aflite_assets.analysis.scores.judges import ONE_ANSWER, judges, one_answer_cells, over_largest_class, same_kind
from aflite_assets.analysis.scores.main_table import TestColumns, main_table
from aflite_assets.analysis.scores.subsets import subsets_of
from aflite_assets.text import count, listed
from aflite_assets.wording import counted

SMALL_TEST_SET = 300
"""Test sets with fewer rows are named in the summary: their 95 % interval is over 5 points to either side."""

_MOST_NAMED = 4


@cached_per_record
def cautions(data: BenchmarkData) -> tuple[str, ...]:
    """What these numbers do not say: effects built in, single seeds, small or missing sets, unfinished cells."""
    warnings = []
    if any(test.filtered is not None for name in data.representations for test in _natural_columns(data, name)):
        warnings.append(
            "Filtered test rows are those that filtering left, and it removed what linear classifiers predict best. So "
            "accuracy on them is lower by construction, and no difference on them is called help or harm."
        )
    pooled = [test.name for test in data.test_sets if test.pooled]
    if pooled:
        warnings.append(
            f"The rows of {listed(pooled)} entered the filter's pool, so they took part in choosing the train rows: "
            "differences on them are shown and support no verdict."
        )
    grouped = [test.name for test in data.test_sets if test.groups is not None]
    if grouped:
        warnings.append(f"Rows of {listed(grouped)} belong together in groups, and their intervals count groups.")
    warnings += _related_cautions(data)
    warnings += [
        f"Trained on about {100 * (1 - share):.4g} % of the train rows that the tables name, and stopped by the rest: "
        f"{listed(names)}."
        for share, names in _held_back(data).items()
    ]
    for filtered in data.filtered:
        warnings += [f"Filter with {filtered.representation}: {warning}" for warning in filtered.warnings]
    behind = [one for one in over_largest_class(data.cells, data.test_sets).values() if not one.beaten]
    behind = [one for one in behind if one.evaluator in data.judging_evaluators]
    if behind:
        names = [f"{one.evaluator} (on {one.test_set})" for one in behind]
        warnings.append(f"Trained on full, not surely better than {behind[0].rival}: {listed(names)}.")
    collapsed = one_answer_names(data.cells, data.test_sets)
    if collapsed:
        warnings.append(
            f"These models give one class to at least {round(100 * ONE_ANSWER)} % of a test set, and are not surely "
            f"better than its largest class. They learnt little: {listed(collapsed, _MOST_NAMED)}."
        )
    warnings += _single_seed_cautions(data)
    small = _small_test_sets(data)
    if small:
        warnings.append(
            f"Under {SMALL_TEST_SET} test {units_text(data.test_sets)}, so wide intervals: {listed(small)}."
        )
    parts = _small_parts(data)
    if parts:
        warnings.append(f"Parts of challenge sets with under {SMALL_TEST_SET} test rows: {listed(parts)}.")
    if data.missing_sets:
        warnings.append(f"Challenge sets not available and so not tested on: {listed(list(data.missing_sets))}.")
    unfinished = sum(cell.status != "done" for cell in data.cells)
    if unfinished:
        warnings.append(f"{unfinished} of {len(data.cells)} cells have no result; the tables say which and why.")
    return tuple(warnings)


def _natural_columns(data: BenchmarkData, representation: str) -> tuple[TestColumns, ...]:
    rows = main_table(data, representation)
    return rows[0].tests if rows else ()


def _related_cautions(data: BenchmarkData) -> list[str]:
    """Evaluators that are what a representation was made with, then those that only share its architecture."""
    same = same_kind(data, data.families)
    near = {
        name: others
        for name, found in same_kind(data, data.architectures).items()
        if (others := [one for one in found if one not in same.get(name, ())])
    }
    warnings = []
    if same:
        warnings.append(
            "These evaluators have the make of a model that filtered, so the rows were chosen against them: "
            f"{_as_representations(same)}. They fall more than others would. {_judge_by(data, same)}"
        )
    if near:
        warnings.append(
            "These evaluators are of the adversary's family, another size or copy of its architecture, so they may "
            f"fall more than others would: {_as_representations(near)}."
        )
    return warnings


def _judge_by(data: BenchmarkData, related: Mapping[str, list[str]]) -> str:
    whole = [name for name in data.judging_evaluators if name not in related and name not in data.partial_inputs]
    if not whole:
        return "No evaluator of another make saw whole inputs; add one to judge by."
    others = [name for name in judges(data) if name in whole]
    if not others:
        return "The others that see whole inputs learnt too little to judge by."
    return f"Judge by the others that see whole inputs: {listed(others)}."


def _as_representations(related: Mapping[str, list[str]]) -> str:
    return listed([f"{name} (as representation {listed(found)})" for name, found in related.items()])


def _held_back(data: BenchmarkData) -> dict[float, list[str]]:
    """Evaluators by the share of their train rows that they stop by."""
    found: dict[float, list[str]] = {}
    for name in data.evaluators:
        if name in data.held_back:
            found.setdefault(data.held_back[name], []).append(name)
    return found


def _small_parts(data: BenchmarkData) -> list[str]:
    """Challenge sets that are split into parts, with how many parts are small."""
    found = []
    for test_set in data.test_sets:
        sizes = [int(part.mask.sum()) for part in subsets_of(test_set)] if test_set.challenge else []
        small = [rows for rows in sizes if rows < SMALL_TEST_SET]
        if small:
            found.append(f"{test_set.name} ({count(len(small))} of {counted(len(sizes), 'part')})")
    return found


def one_answer_names(trained: Sequence[Cell], test_sets: Sequence[TestSet]) -> list[str]:
    """Evaluators and train sets with a seed that answers a natural test set with one class (`one_answer_cells`)."""
    return list(
        dict.fromkeys(
            " ".join([cell.evaluator, "trained on", cell.train_set, *_of(cell.representation)])
            for cell in one_answer_cells(trained, test_sets)
        )
    )


def _of(representation: str | None) -> list[str]:
    return [] if representation is None else [f"({representation})"]


def _single_seed_cautions(data: BenchmarkData) -> Iterator[str]:
    """Evaluators with one seed of what verdicts compare, then those with one seed of another train set."""
    seeds = Counter(
        (cell.evaluator, cell.train_set, cell.representation) for cell in data.cells if cell.status == "done"
    )
    compared = {(name, one) for one in data.representations for name in ("filtered", control(data, one))}
    alone = [key for key, number in seeds.items() if number == 1]
    unjudged = {evaluator for evaluator, *trained_on in alone if tuple(trained_on) in compared}
    if unjudged:
        yield (
            "One seed only, so how much the numbers move with the seed is unknown and there is no verdict: "
            f"{listed([name for name in data.evaluators if name in unjudged])}."
        )
    others = [
        " ".join([evaluator, "on", train_set, *_of(representation)])
        for evaluator, train_set, representation in alone
        if evaluator not in unjudged
    ]
    if others:
        yield (
            "Trained with one seed only, so intervals against these count test rows alone and are too narrow: "
            f"{listed(others, _MOST_NAMED)}."
        )


def _small_test_sets(data: BenchmarkData) -> list[str]:
    sizes = [(test_set.name, len(test_set.row_ids)) for test_set in data.test_sets]
    for test_set in data.test_sets:
        for representation, kept in test_set.kept.items():
            sizes.append((f"{test_set.name} filtered with {representation}", int(kept.sum())))
    return [f"{name} ({count(rows)})" for name, rows in sizes if rows < SMALL_TEST_SET]
