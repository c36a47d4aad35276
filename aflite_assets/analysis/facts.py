"""Facts about a dataset that are not in a tidy table: names, settings and notes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np

from aflite_assets.analysis.filtering import FilterOutcome, filter_outcome, filter_table
from aflite_assets.analysis.inputs.records import BenchmarkData, Collapse, DatasetRecord, FilteredSet, TestSet, Unit
from aflite_assets.analysis.inputs.weak_models import SecondPhase, WeakModelFacts
from aflite_assets.analysis.scores.accuracy import ranked_sets
from aflite_assets.analysis.scores.questions import question_counts, questions_of
from aflite_assets.analysis.scores.score_tables import train_rows
from aflite_assets.analysis.scores.subsets import PartName, category_parts, subsets_of, zero_shot_subsets
from aflite_assets.analysis.tidy import record_of
from aflite_assets.studies import functions


@dataclass(frozen=True)
class PartFacts:
    """A part of a challenge set.

    `side_by_side`: whether the part is shown in tables of all challenge sets. `by_size`: whether the part is shown in
    tables by train set size.
    """

    name: PartName
    rows: int
    side_by_side: bool
    by_size: bool


@dataclass(frozen=True)
class TestSetFacts:
    """Facts about one `TestSet`. `rows` and `groups` are counts; the classes of `class_map` are given by name.

    `filtered_rows`: number of rows that the filter kept, by representation. `ranked`: whether top-5 accuracies are
    known. `own_laws`: representations with a second filtered version of the test rows, made by the rule of a train set
    other than `filtered`. `largest_class`: the share of the most frequent class among the rows, in [0, 1]; None without
    rows, or if `chance` is known.
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
    largest_class: float | None = None

    @cached_property
    def part(self) -> Mapping[PartName, PartFacts]:
        """The parts by name."""
        return {one.name: one for one in self.parts}


@dataclass(frozen=True)
class FilteringFacts(FilterOutcome):
    """Facts about one filtering: outcome, settings, warnings, and the train set `control` that `filtered` is compared
    with.

    `train_questions`: the number of questions that the train rows answer, or None. `train_sets`: the train sets that
    the tables show, each with the distinct numbers of rows that evaluators were trained on. `cutoffs`: for each
    iteration, the lowest score of a removed row, or None if no row was removed. `rows_left_alone`: number of rows in
    splits that were not filtered. `suspected_labels`: number of rows with a label that may be wrong.
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
class WeakTrainingFacts:
    """One training run of a weak model: its name on the report page, and the row sets that were drawn from the run.

    `sets`: the names of the row sets, or None if the sets are not used.
    """

    name: str
    weak_model: str
    seed: int
    sets: tuple[str, ...] | None


@dataclass(frozen=True, kw_only=True)
class DatasetFacts(DatasetRecord):
    """Facts that a report states about a dataset, its test sets, its filterings and its evaluators.

    `text_columns`: the source's column name for each text column of the raw table (`text`, `text_pair`). `attributes`:
    the columns that describe rows and that no model reads. `right_label`: the class of correct answers, or None if rows
    are not answers. `split_questions`: the number of questions by split, empty if rows are not answers. The other
    fields with a default are given by studies. `sample_rows`: number of train rows that were selected; `sample_stop`:
    the rule that chose this number; None if all train rows were filtered. `phases`: evaluators that continue training
    with rows of weak models. `untrained_weak_models`: for each weak model that was not trained, the reason.
    `trained_alone`: evaluators that were trained on drawn rows alone.
    """

    evaluators: tuple[str, ...]
    plain_evaluators: tuple[str, ...]
    judging_evaluators: tuple[str, ...]
    text_columns: Mapping[str, str]
    right_label: str | None
    split_questions: Mapping[str, int]
    weak_models: Mapping[str, WeakModelFacts] = field(default_factory=dict)
    evidence_tables: int
    sample_rows: int | None = None
    sample_stop: str | None = None
    test_sets: tuple[TestSetFacts, ...]
    filterings: tuple[FilteringFacts, ...]
    weak_trainings: tuple[WeakTrainingFacts, ...] = ()
    phases: Mapping[str, SecondPhase] = field(default_factory=dict)
    untrained_weak_models: Mapping[str, str] = field(default_factory=dict)
    trained_alone: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()

    @property
    def representations(self) -> tuple[str, ...]:
        """Names of the representations that the filter used, in order."""
        return tuple(one.representation for one in self.filterings)

    @property
    def challenge_sets(self) -> tuple[str, ...]:
        """Names of the challenge sets, in order."""
        return tuple(one.name for one in self.test_sets if one.challenge)

    @property
    def natural_sets(self) -> tuple[str, ...]:
        """Names of the test sets that are splits of the dataset, in order."""
        return tuple(one.name for one in self.test_sets if not one.challenge)

    @cached_property
    def test_set(self) -> Mapping[str, TestSetFacts]:
        """The test sets by name."""
        return {one.name: one for one in self.test_sets}

    @cached_property
    def filtering(self) -> Mapping[str, FilteringFacts]:
        """The filterings by representation."""
        return {one.representation: one for one in self.filterings}


def dataset_facts(data: BenchmarkData) -> DatasetFacts:
    """Return the facts about a dataset, taken from the inputs of its report."""
    source = data.source
    ranked = ranked_sets(data)
    texts = [name for name in ("text", "text_pair") if name in _columns(data)]
    described = [name.removeprefix("attribute.") for name in _columns(data) if name.startswith("attribute.")]
    read = {*map(source.named, texts), *(source.features or ())}
    of_studies = (make(data).items() for make in functions("analysis.facts"))
    return record_of(
        DatasetFacts,
        data,
        text_columns={name: source.named(name) for name in texts},
        right_label=None if source.right is None else data.label_names[source.right],
        split_questions=question_counts(data),
        evidence_tables=len(data.evidence),
        test_sets=tuple(set_facts(one, data.label_names, ranked=one.name in ranked) for one in data.test_sets),
        filterings=tuple(_filtering(data, one) for one in data.filtered),
        attributes=tuple(name for name in described if name not in read),
        **dict(chain.from_iterable(of_studies)),
    )


def _columns(data: BenchmarkData) -> list[str]:
    return list(data.examples.table.column_names)


def set_facts(one: TestSet, label_names: tuple[str, ...], *, ranked: bool) -> TestSetFacts:
    """Return the facts about a test set.

    `label_names`: the dataset's classes. `ranked`: whether top-5 accuracies are known.
    """
    asks_class = one.chance is None and len(one.labels) > 0
    mapped = [one.label_names[to] if to >= 0 else None for to in ([] if one.class_map is None else one.class_map)]
    return record_of(
        TestSetFacts,
        one,
        rows=len(one.row_ids),
        groups=None if one.groups is None else len(np.unique(one.groups)),
        class_map=None if one.class_map is None else dict(zip(label_names, mapped, strict=True)),
        category_columns=tuple(one.categories),
        filtered_rows={name: int(kept.sum()) for name, kept in one.kept.items()},
        parts=_parts(one) if one.challenge else (),
        ranked=ranked,
        largest_class=float(np.bincount(one.labels).max() / len(one.labels)) if asks_class else None,
        own_laws=tuple(dict.fromkeys(name for name, train_set in one.own_kept if train_set != "filtered")),
    )


def _parts(one: TestSet) -> tuple[PartFacts, ...]:
    side_by_side = {part.name for part in zero_shot_subsets(one)}
    by_size = {part.name for part in category_parts(one)}
    return tuple(
        PartFacts(part.name, int(part.mask.sum()), part.name in side_by_side, part.name in by_size)
        for part in subsets_of(one)
    )


def _filtering(data: BenchmarkData, one: FilteredSet) -> FilteringFacts:
    facts = data.row_facts.get(one.representation)
    sizes: dict[str, set[int]] = {}
    for _, train_set, cells in data.cell_groups(one.representation):
        sizes.setdefault(train_set, set()).update(train_rows(cells))
    return record_of(
        FilteringFacts,
        one,
        filter_outcome(one),
        control=data.control(one.representation),
        train_questions=questions_of(data, one.train["row_id"].to_numpy()),
        cutoffs=tuple(row.cutoff for row in filter_table(one)),
        splits=tuple(one.rows["split"].unique().to_pylist()),
        rows_left_alone=int((~one.entered).sum()),
        suspected_labels=0 if facts is None else len(facts) - facts["suggested_label"].null_count,
        train_sets={name: tuple(sorted(rows)) for name, rows in sizes.items()},
    )
