"""All numbers of one report: facts, tidy tables, evidence, verdicts; computed here once, read by everything that shows.

What computes a table stands in the module of its subject, with its `TidyTable` and the dataclass of its rows.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.comparisons.differences import DIFFERENCES, differences
from aflite_assets.analysis.comparisons.falls import FALLS, fall_terms
from aflite_assets.analysis.comparisons.rankings import RANKING_OVERLAP, ranking_overlaps
from aflite_assets.analysis.facts import DatasetFacts, dataset_facts
from aflite_assets.analysis.forgettables import (
    AGREEMENT,
    EVENTS,
    FORGETTABLE_CLASSES,
    MINORITIES,
    PHASE_AVERAGES,
    THRESHOLDS,
    WEAK_MODEL_ACCURACIES,
    WEAK_MODELS,
    agreement,
    forgettable_classes,
    forgetting_events,
    minorities,
    phase_averages,
    thresholds,
    weak_model_accuracies,
    weak_models,
)
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.accuracies import ACCURACIES, SCORES, accuracies, seed_scores
from aflite_assets.analysis.scores.annotators import ANNOTATORS, annotator_agreement
from aflite_assets.analysis.tidy import TidyTable

_Record = TypeVar("_Record")

TABLES: tuple[tuple[TidyTable[object], Callable[[BenchmarkData], Iterable[object]]], ...] = (
    (SCORES, seed_scores),
    (ACCURACIES, accuracies),
    (DIFFERENCES, differences),
    (FALLS, fall_terms),
    (ANNOTATORS, annotator_agreement),
    (RANKING_OVERLAP, ranking_overlaps),
    (WEAK_MODELS, weak_models),
    (WEAK_MODEL_ACCURACIES, weak_model_accuracies),
    (FORGETTABLE_CLASSES, forgettable_classes),
    (EVENTS, forgetting_events),
    (AGREEMENT, agreement),
    (MINORITIES, minorities),
    (THRESHOLDS, thresholds),
    (PHASE_AVERAGES, phase_averages),
)
"""Every tidy table, in the order in which they are published, and what makes its records."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """The numbers of one report.

    `tables`: the records of each tidy table by its name.
    """

    facts: DatasetFacts
    tables: Mapping[str, tuple[object, ...]]

    def of(self, table: TidyTable[_Record]) -> tuple[_Record, ...]:
        """The records of a table, in its order; none where nothing was computed."""
        return self.tables.get(table.name, ())  # type: ignore[return-value]  # a table's records are of its type


@cached_per_record
def analyse(data: BenchmarkData) -> Analysis:
    """Everything that a report states, from predictions, sets and evidence.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    return Analysis(dataset_facts(data), {table.name: tuple(make(data)) for table, make in TABLES})
