"""What a report states of a dataset that is no row of a tidy table: names, settings, notes; as JSON and back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow.compute as pc

from aflite_assets.analysis.filtering import FilterOutcome, filter_outcome, filter_table
from aflite_assets.analysis.inputs.forgettables import LearntRows, SecondPhase, WeakModelFacts
from aflite_assets.analysis.inputs.records import (
    BenchmarkData,
    Cell,
    Collapse,
    FilteredSet,
    FineTuned,
    RankingPair,
    TestSet,
    Unit,
)
from aflite_assets.analysis.scores.groups import cell_groups, control, train_rows
from aflite_assets.analysis.scores.questions import question_counts, questions_of
from aflite_assets.analysis.scores.score_table import ranked_sets
from aflite_assets.analysis.scores.subsets import category_parts, subsets_of, zero_shot_subsets
from aflite_assets.specs.sample import StopRule

PartName = tuple[str | None, str | None, str | None]
"""The category column, category and gold label of a part of a challenge set; None for any."""


@dataclass(frozen=True)
class PartFacts:
    """A part of a challenge set: its name, its `rows`, and which tables show it beside the whole set.

    `side_by_side`: the one that has all challenge sets; `by_size`: the one by size of the train set.
    """

    name: PartName
    rows: int
    side_by_side: bool
    by_size: bool


@dataclass(frozen=True)
class TestSetFacts:
    """One test set: `rows` are its rows or questions (`unit`), as `inputs.records.TestSet` says.

    `filtered_rows`: of these, the rows that each filter kept, by representation; only of splits that it did not leave
    alone. `parts`: those of a challenge set. `ranked`: whether top-5 accuracies are known. `own_laws`: the
    representations that have other train sets than filtered with test rows of their own. `groups`: how many groups the
    rows form, None where every row is its own. `class_map`: the set's class that each class of the dataset counts
    as, None for none; None for the whole where both have the same classes.
    """

    __test__ = False  # no test class

    name: str
    challenge: bool
    rows: int
    unit: Unit
    chance: float | None
    pooled: bool
    groups: int | None
    label_names: tuple[str, ...]
    class_map: Mapping[str, str | None] | None
    collapse: Collapse
    adds_probabilities: bool
    category_columns: tuple[str, ...]
    filtered_rows: Mapping[str, int]
    notes: tuple[str, ...]
    parts: tuple[PartFacts, ...]
    ranked: bool
    own_laws: tuple[str, ...]

    @cached_property
    def part(self) -> Mapping[PartName, PartFacts]:
        """The parts by their names."""
        return {one.name: one for one in self.parts}


@dataclass(frozen=True)
class FilteringFacts(FilterOutcome):
    """One filtering: its outcome, settings and warnings, and `control`, the train set that filtered is judged against.

    `train_questions`: of how many questions the train rows are answers, or None if they are no answers. `train_sets`:
    those that its tables show, in their order, each with the distinct numbers of rows that evaluators were trained on.
    `cutoffs`: the cut-off score of each iteration, None if nothing was removed by one. `splits` of all its rows,
    `rows_left_alone` of splits that did not take part, and rows with a `suspected_labels`.
    """

    settings: Mapping[str, object]
    warnings: tuple[str, ...]
    control: str
    train_questions: int | None
    cutoffs: tuple[float | None, ...]
    splits: tuple[str, ...]
    rows_left_alone: int
    suspected_labels: int
    train_sets: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class EvaluatorFacts:
    """One evaluator: whether it was trained on a train set alone (`plain`), and whether filters are judged by it.

    `whole_input`: False where it sees a part of the input. `held_back`: the share of its train rows that it stops by,
    in (0, 1), None without. `meaning`: of one that went on with challenge sets what it is, in words.
    """

    name: str
    plain: bool
    whole_input: bool
    judging: bool
    held_back: float | None
    meaning: str | None


@dataclass(frozen=True)
class WeakTrainingFacts:
    """One training of a weak model: its name in tables and on the page, and the `sets` of rows drawn from it.

    `sets` is None for trainings of other seeds, whose rows are not used.
    """

    name: str
    weak_model: str
    seed: int
    sets: tuple[str, ...] | None


@dataclass(frozen=True)
class RankingFacts:
    """A filtering and `against`, which filtered the same representation by another ranking; `rankings` names both.

    `differing`: the train sets of which the two kept different numbers of rows.
    """

    against: str
    rankings: tuple[str, str]
    differing: tuple[str, ...]


@dataclass(frozen=True)
class DatasetFacts:
    """What a report says of a dataset, its test sets, filterings and evaluators; fields as in `BenchmarkData`.

    `text_columns`: by the raw table's name (text, text_pair) the source's. `right_label`: the class of right answers,
    None if rows are no answers of questions. `sample_rows`: of the sample that was filtered, and `sample_stop` the rule
    that chose it; None where all train rows were. `split_questions`: of how many questions the rows of each split are
    answers; empty if rows are no answers. `evidence_tables`: how many tables of evidence there are.
    `phases`: evaluators that go on with
    rows of weak models; by weak model `untrained_weak_models` why it was not trained, and `taken_rows` how many of its
    forgettable rows phases train on; `trained_alone`: evaluators that were trained on such rows alone. `rankings`: by
    representation the filterings that are compared with another of it.
    """

    name: str
    title: str
    description: str
    label_names: tuple[str, ...]
    text_columns: Mapping[str, str]
    right_label: str | None
    split_rows: Mapping[str, int]
    split_questions: Mapping[str, int]
    weak_models: Mapping[str, WeakModelFacts]
    evidence_tables: int
    warmup_rows: int
    sample_rows: int | None
    sample_stop: StopRule | None
    notes: tuple[str, ...]
    settings_done: tuple[str, ...]
    test_sets: tuple[TestSetFacts, ...]
    missing_sets: Mapping[str, str]
    filterings: tuple[FilteringFacts, ...]
    evaluators: tuple[EvaluatorFacts, ...]
    weak_trainings: tuple[WeakTrainingFacts, ...]
    fine_tuned: Mapping[str, FineTuned]
    families: Mapping[str, str]
    architectures: Mapping[str, str]
    smallest_effect: float
    published: str | None
    provenance: Mapping[str, str]
    phases: Mapping[str, SecondPhase]
    untrained_weak_models: Mapping[str, str]
    taken_rows: Mapping[str, int]
    trained_alone: tuple[str, ...]
    rankings: Mapping[str, RankingFacts]

    @property
    def representations(self) -> tuple[str, ...]:
        """Names of the representations filtered with, in their order."""
        return tuple(one.representation for one in self.filterings)

    @property
    def plain_evaluators(self) -> tuple[str, ...]:
        """Names of the evaluators that were trained on a train set and nothing else."""
        return tuple(one.name for one in self.evaluators if one.plain)

    @property
    def judging_evaluators(self) -> tuple[str, ...]:
        """Names of the evaluators that filters may be judged by, if they learn something."""
        return tuple(one.name for one in self.evaluators if one.judging)

    @property
    def challenge_sets(self) -> tuple[str, ...]:
        """Names of the challenge sets, in their order."""
        return tuple(one.name for one in self.test_sets if one.challenge)

    @property
    def natural_sets(self) -> tuple[str, ...]:
        """Names of the test sets that are splits of the dataset, in their order."""
        return tuple(one.name for one in self.test_sets if not one.challenge)

    @cached_property
    def test_set(self) -> Mapping[str, TestSetFacts]:
        """The test sets by their names."""
        return {one.name: one for one in self.test_sets}

    @cached_property
    def filtering(self) -> Mapping[str, FilteringFacts]:
        """The filterings by their representations."""
        return {one.representation: one for one in self.filterings}


def dataset_facts(data: BenchmarkData) -> DatasetFacts:
    """The facts of the records that a report is made of."""
    ranked, forgettables = ranked_sets(data), data.forgettables
    return DatasetFacts(
        name=data.name,
        title=data.title,
        description=data.description,
        label_names=data.label_names,
        text_columns={
            name: data.source.named(name) for name in ("text", "text_pair") if name in data.examples.table.column_names
        },
        right_label=None if data.source.right is None else data.label_names[data.source.right],
        split_rows=data.split_rows,
        split_questions=question_counts(data),
        weak_models={} if data.forgettables is None else data.forgettables.models,
        evidence_tables=len(data.evidence),
        warmup_rows=data.warmup_rows,
        sample_rows=None if data.sample_curve is None else data.sample_curve.chosen,
        sample_stop=None if data.sample_curve is None else data.sample_curve.stop,
        notes=data.notes,
        settings_done=data.settings_done,
        test_sets=tuple(set_facts(one, data.label_names, ranked=one.name in ranked) for one in data.test_sets),
        missing_sets=data.missing_sets,
        filterings=tuple(_filtering(data, one) for one in data.filtered),
        evaluators=tuple(_evaluator(data, name) for name in data.evaluators),
        weak_trainings=() if data.forgettables is None else _weak_trainings(data.forgettables.learnt),
        fine_tuned=data.fine_tuned,
        families=data.families,
        architectures=data.architectures,
        smallest_effect=data.smallest_effect,
        published=data.published,
        provenance=data.provenance,
        phases={} if forgettables is None else forgettables.phases,
        untrained_weak_models={} if forgettables is None else forgettables.failed,
        taken_rows={} if forgettables is None else {name: one.taken for name, one in forgettables.models.items()},
        trained_alone=()
        if forgettables is None
        else tuple(dict.fromkeys(cell.evaluator for cell in forgettables.cells if cell.train_set != "full")),
        rankings={one.representation: _ranking(one) for one in data.rankings},
    )


def _ranking(pair: RankingPair) -> RankingFacts:
    differing = tuple(one.train_set for one in pair.overlaps if one.first_rows != one.second_rows)
    return RankingFacts(pair.against, pair.rankings, differing)


def set_facts(one: TestSet, label_names: tuple[str, ...], *, ranked: bool) -> TestSetFacts:
    """The facts of a test set; `label_names` are the dataset's, `ranked` says whether top-5 accuracies are known."""
    targets = None if one.class_map is None else one.class_map.tolist()
    return TestSetFacts(
        name=one.name,
        challenge=one.challenge,
        rows=len(one.row_ids),
        unit=one.unit,
        chance=one.chance,
        pooled=one.pooled,
        groups=None if one.groups is None else len(np.unique(one.groups)),
        label_names=one.label_names,
        class_map=None
        if targets is None
        else {
            name: None if target < 0 else one.label_names[target]
            for name, target in zip(label_names, targets, strict=True)
        },
        collapse=one.collapse,
        adds_probabilities=one.adds_probabilities,
        category_columns=tuple(one.categories),
        filtered_rows={name: int(kept.sum()) for name, kept in one.kept.items()},
        notes=one.notes,
        parts=tuple(_parts(one)) if one.challenge else (),
        ranked=ranked,
        own_laws=tuple(dict.fromkeys(name for name, train_set in one.own_kept if train_set != "filtered")),
    )


def _parts(one: TestSet) -> Iterator[PartFacts]:
    beside, by_size = (
        {(part.column, part.category, part.label) for part in each}
        for each in (zero_shot_subsets(one), category_parts(one))
    )
    for part in subsets_of(one):
        name = (part.column, part.category, part.label)
        yield PartFacts(name, int(part.mask.sum()), name in beside, name in by_size)


def _filtering(data: BenchmarkData, one: FilteredSet) -> FilteringFacts:
    train = one.rows.filter(pc.equal(one.rows["split"], "train"))
    facts = data.row_facts.get(one.representation)
    trained: dict[str, list[Cell]] = {}
    for _, train_set, cells in cell_groups(data, one.representation):
        trained.setdefault(train_set, []).extend(cells)
    return FilteringFacts(
        **vars(filter_outcome(one)),
        settings=one.settings,
        warnings=one.warnings,
        control=control(data, one.representation),
        train_questions=questions_of(data, train["row_id"].to_numpy()),
        cutoffs=tuple(row.cutoff for row in filter_table(one)),
        splits=tuple(one.rows["split"].unique().to_pylist()),
        rows_left_alone=int((~one.entered).sum()),
        suspected_labels=0 if facts is None else len(facts) - facts["suggested_label"].null_count,
        train_sets={name: train_rows(cells) for name, cells in trained.items()},
    )


def _evaluator(data: BenchmarkData, name: str) -> EvaluatorFacts:
    tuned = data.fine_tuned.get(name)
    return EvaluatorFacts(
        name=name,
        plain=tuned is None,
        whole_input=name not in data.partial_inputs,
        judging=name in data.judging_evaluators,
        held_back=data.held_back.get(name),
        meaning=None if tuned is None else tuned.meaning,
    )


def _weak_trainings(learnt: tuple[LearntRows, ...]) -> tuple[WeakTrainingFacts, ...]:
    """The trainings, called by their weak model, with the seed if it has several."""
    models = [one.weak_model for one in learnt]
    return tuple(
        WeakTrainingFacts(
            name=one.weak_model if models.count(one.weak_model) == 1 else f"{one.weak_model}, seed {one.seed}",
            weak_model=one.weak_model,
            seed=one.seed,
            sets=None if one.sets is None else tuple(one.sets),
        )
        for one in learnt
    )
