"""All numbers of one report: facts, tidy tables, evidence, verdicts; computed here once, read by everything that shows.

What computes a table stands in the module of its subject, with its `TidyTable` and the dataclass of its rows.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.comparisons.differences import DIFFERENCES, differences
from aflite_assets.analysis.comparisons.falls import FALLS, Headline, fall_terms, headlines
from aflite_assets.analysis.comparisons.filtering_verdict import FilteringVerdict, filtering_verdicts
from aflite_assets.analysis.comparisons.primary import PrimaryComparison, primary_comparison
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
from aflite_assets.analysis.inputs.cues import Cue
from aflite_assets.analysis.inputs.planted import PLANTED
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rows.measured import ANSWER_PICKS, DATA_MAPS, answer_picks, data_map_means
from aflite_assets.analysis.scores.accuracies import ACCURACIES, SCORES, accuracies, seed_scores
from aflite_assets.analysis.scores.annotators import ANNOTATORS, annotator_agreement
from aflite_assets.analysis.scores.judges import Judging, judging
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.analysis.trainings import TRAININGS, trainings
from aflite_assets.checks import CheckOutcome

_Record = TypeVar("_Record")

TABLES: tuple[tuple[TidyTable[object], Callable[[BenchmarkData], Iterable[object]]], ...] = (
    (TRAININGS, trainings),
    (SCORES, seed_scores),
    (ACCURACIES, accuracies),
    (DIFFERENCES, differences),
    (FALLS, fall_terms),
    (DATA_MAPS, data_map_means),
    (ANSWER_PICKS, answer_picks),
    (PLANTED, lambda data: data.planted),
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

    `tables`: the records of each tidy table by its name. `verdicts`: one per filtering, the one that says most first.
    `headlines`: per filtering and evaluator what becomes of its accuracy from full to filtered. `cues`: by
    representation, what marks the rows that filtering removed.
    """

    facts: DatasetFacts
    tables: Mapping[str, tuple[object, ...]]
    cues: Mapping[str, tuple[Cue, ...]]
    verdicts: tuple[FilteringVerdict, ...]
    judging: Judging
    primary: PrimaryComparison
    headlines: tuple[Headline, ...]
    checks: tuple[CheckOutcome, ...]

    def of(self, table: TidyTable[_Record]) -> tuple[_Record, ...]:
        """The records of a table, in its order; none where nothing was computed."""
        return self.tables.get(table.name, ())  # type: ignore[return-value]  # a table's records are of its type


@cached_per_record
def analyse(data: BenchmarkData) -> Analysis:
    """Everything that a report states, from predictions, sets and evidence.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    return Analysis(
        facts=dataset_facts(data),
        tables={table.name: tuple(make(data)) for table, make in TABLES},
        verdicts=filtering_verdicts(data),
        judging=judging(data),
        primary=primary_comparison(data),
        headlines=tuple(one for name in data.representations for one in headlines(data, name)),
        checks=data.checks,
        cues=data.cues,
    )
