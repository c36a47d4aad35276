"""All numbers of one report: facts, tidy tables, evidence, verdicts; computed here once, read by everything that shows.

What computes a table stands in the module of its subject, with its `TidyTable` and the dataclass of its rows.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, TypeVar

from aflite_assets.analysis import filtering, forgettables
from aflite_assets.analysis.comparisons.challenge_falls import CHALLENGE_FALLS, challenge_falls
from aflite_assets.analysis.comparisons.differences import DIFFERENCES
from aflite_assets.analysis.comparisons.falls import FALLS, Fall, fall_terms
from aflite_assets.analysis.comparisons.filtering_verdict import FilteringVerdict, filtering_verdicts
from aflite_assets.analysis.comparisons.leanings import LEANINGS, property_leanings
from aflite_assets.analysis.comparisons.paired import Lack, deciding_lack, differences
from aflite_assets.analysis.facts import DatasetFacts, dataset_facts
from aflite_assets.analysis.inputs.cues import CUES, PLANTED, SIMILARITIES, FilteringCue, MeanSimilarity
from aflite_assets.analysis.inputs.learning_curve import SAMPLE_CURVE, WARMUP_CURVE, curve_points, sample_points
from aflite_assets.analysis.inputs.records import RANKING_OVERLAP, BenchmarkData, Training
from aflite_assets.analysis.rows import measured
from aflite_assets.analysis.scores import accuracies
from aflite_assets.analysis.scores.judges import Judging, judging
from aflite_assets.analysis.tidy import TidyTable, record_of
from aflite_assets.checks import CheckOutcome

_Record = TypeVar("_Record")

TABLES: tuple[tuple[TidyTable[object], Callable[[BenchmarkData], Iterable[object]]], ...] = (
    (accuracies.TRAININGS, lambda data: (record_of(Training, cell) for cell in data.cells)),
    (accuracies.SCORES, accuracies.seed_scores),
    (accuracies.ACCURACIES, lambda data: accuracies.score_table(data).values()),
    (DIFFERENCES, differences),
    (FALLS, fall_terms),
    (measured.DATA_MAPS, measured.data_map_means),
    (measured.ANSWER_PICKS, measured.answer_picks),
    (measured.ANNOTATORS, measured.annotator_agreement),
    (RANKING_OVERLAP, lambda data: (row for pair in data.rankings.values() for row in pair.overlaps)),
    (forgettables.WEAK_MODELS, forgettables.weak_models),
    (forgettables.WEAK_MODEL_ACCURACIES, forgettables.weak_model_accuracies),
    (forgettables.FORGETTABLE_CLASSES, forgettables.forgettable_classes),
    (forgettables.EVENTS, forgettables.forgetting_events),
    (forgettables.AGREEMENT, lambda data: data.forgettables.agreement if data.forgettables.models else ()),
    (forgettables.MINORITIES, forgettables.minorities),
    (forgettables.THRESHOLDS, lambda data: data.forgettables.thresholds),
    (forgettables.PHASE_AVERAGES, forgettables.phase_averages),
    (filtering.ITERATIONS, lambda data: chain.from_iterable(map(filtering.filter_table, data.filtered))),
    (
        filtering.CLASS_SHARES,
        lambda data: (row for one in data.filtered for row in filtering.class_shares(one, len(data.label_names))),
    ),
    (filtering.PREDICTABILITY, lambda data: chain.from_iterable(map(filtering.predictability_counts, data.filtered))),
    (filtering.PREDICTABILITY_BY_ITERATION, lambda data: data.score_bins),
    (measured.LENGTHS, measured.lengths),
    (
        SIMILARITIES,
        lambda data: (record_of(MeanSimilarity, s) for each in data.similarities.values() for s in chain(*each)),
    ),
    (WARMUP_CURVE, lambda data: curve_points(data.warmup_curves)),
    (SAMPLE_CURVE, lambda data: sample_points(data.sample_curve)),
    (PLANTED, lambda data: data.planted),
    (LEANINGS, property_leanings),
    (CHALLENGE_FALLS, challenge_falls),
    (CUES, lambda data: (FilteringCue(**vars(c), representation=r) for r, each in data.cues.items() for c in each)),
)
"""Every tidy table, in the order in which they are published, and the function that makes its records."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """The numbers of one report.

    `undecided`: why no comparison can decide whether filtering helps; None if one can.
    `tables`: the records of each tidy table by its name. `verdicts`: one per filtering, the one that says most first.
    """

    facts: DatasetFacts
    tables: Mapping[str, tuple[object, ...]]
    verdicts: tuple[FilteringVerdict, ...]
    judging: Judging
    undecided: Lack | None
    checks: tuple[CheckOutcome, ...]

    def of(self, table: TidyTable[_Record], representation: str | None = None) -> tuple[_Record, ...]:
        """The records of a table, in its order, or those of one filtering; none where nothing was computed."""
        records: tuple[Any, ...] = self.tables.get(table.name, ())
        return records if representation is None else tuple(r for r in records if r.representation == representation)

    def falls(self, representation: str) -> tuple[Fall, ...]:
        """The falls of one filtering, by evaluator, each with its terms in their order."""
        by_evaluator = groupby(self.of(FALLS, representation), attrgetter("evaluator"))
        return tuple(tuple(terms) for _, terms in by_evaluator)


def analyse(data: BenchmarkData) -> Analysis:
    """Compute everything that a report states, from predictions, sets and evidence.

    Raises DataError if predictions do not fit their test sets.
    """
    return Analysis(
        facts=dataset_facts(data),
        tables={table.name: tuple(make(data)) for table, make in TABLES},
        verdicts=filtering_verdicts(data),
        judging=judging(data),
        undecided=deciding_lack(data),
        checks=data.checks,
    )
