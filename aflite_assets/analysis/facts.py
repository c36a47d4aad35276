"""What a report states of a dataset that is no row of a tidy table: names, settings, notes; as JSON and back."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import BenchmarkData, Collapse, FilteredSet, FineTuned, TestSet, Unit
from aflite_assets.analysis.scores.groups import control
from aflite_assets.specs.sample import StopRule


@dataclass(frozen=True)
class TestSetFacts:
    """One test set: `rows` are its rows or questions (`unit`), as `inputs.records.TestSet` says.

    `filtered_rows`: of these, the rows that each filter kept, by representation; only of splits that it did not leave
    alone. `groups`: how many groups the rows form, None where every row is its own. `class_map`: the set's class that
    each class of the dataset counts as, None for none; None for the whole where both have the same classes.
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


@dataclass(frozen=True)
class FilteringFacts:
    """One filtering: its settings, why it stopped, its warnings, and `control`, what filtered is judged against.

    `train_rows` entered it and `kept_rows` of them stayed. `kept_jaccard`: of several `runs`, how alike they are (mean,
    least, by_chance, in [0, 1]).
    """

    representation: str
    settings: Mapping[str, object]
    stop_reason: str
    warnings: tuple[str, ...]
    control: str
    train_rows: int
    kept_rows: int
    runs: int
    kept_jaccard: Mapping[str, float] | None


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
class DatasetFacts:
    """What a report says of a dataset, its test sets, filterings and evaluators; fields as in `BenchmarkData`.

    `sample_rows`: of the sample that was filtered, and `sample_stop` the rule that chose it; None where all train rows
    were.
    """

    name: str
    title: str
    description: str
    label_names: tuple[str, ...]
    split_rows: Mapping[str, int]
    warmup_rows: int
    sample_rows: int | None
    sample_stop: StopRule | None
    notes: tuple[str, ...]
    settings_done: tuple[str, ...]
    test_sets: tuple[TestSetFacts, ...]
    missing_sets: Mapping[str, str]
    filterings: tuple[FilteringFacts, ...]
    evaluators: tuple[EvaluatorFacts, ...]
    fine_tuned: Mapping[str, FineTuned]
    families: Mapping[str, str]
    architectures: Mapping[str, str]
    smallest_effect: float
    published: str | None
    provenance: Mapping[str, str]

    @property
    def representations(self) -> tuple[str, ...]:
        """Names of the representations filtered with, in their order."""
        return tuple(one.representation for one in self.filterings)

    @property
    def plain_evaluators(self) -> tuple[str, ...]:
        """Names of the evaluators that were trained on a train set and nothing else."""
        return tuple(one.name for one in self.evaluators if one.plain)

    def test_set(self, name: str) -> TestSetFacts:
        """The test set of this name.

        Raises:
            KeyError: there is none.
        """
        return {one.name: one for one in self.test_sets}[name]


def dataset_facts(data: BenchmarkData) -> DatasetFacts:
    """The facts of the records that a report is made of."""
    return DatasetFacts(
        name=data.name,
        title=data.title,
        description=data.description,
        label_names=data.label_names,
        split_rows=data.split_rows,
        warmup_rows=data.warmup_rows,
        sample_rows=None if data.sample_curve is None else data.sample_curve.chosen,
        sample_stop=None if data.sample_curve is None else data.sample_curve.stop,
        notes=data.notes,
        settings_done=data.settings_done,
        test_sets=tuple(_test_set(one, data.label_names) for one in data.test_sets),
        missing_sets=data.missing_sets,
        filterings=tuple(_filtering(data, one) for one in data.filtered),
        evaluators=tuple(_evaluator(data, name) for name in data.evaluators),
        fine_tuned=data.fine_tuned,
        families=data.families,
        architectures=data.architectures,
        smallest_effect=data.smallest_effect,
        published=data.published,
        provenance=data.provenance,
    )


def _test_set(one: TestSet, label_names: tuple[str, ...]) -> TestSetFacts:
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
    )


def _filtering(data: BenchmarkData, one: FilteredSet) -> FilteringFacts:
    train = one.rows.filter(pc.equal(one.rows["split"], "train"))
    return FilteringFacts(
        representation=one.representation,
        settings=one.settings,
        stop_reason=one.stop_reason,
        warnings=one.warnings,
        control=control(data, one.representation),
        train_rows=train.num_rows,
        kept_rows=int(pc.sum(train["kept"]).as_py() or 0),
        runs=one.runs,
        kept_jaccard=one.kept_jaccard,
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
