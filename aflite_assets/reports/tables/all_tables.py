"""Every table of a report: those that are shown, in their order, and those in long form."""

from collections.abc import Callable, Mapping

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.tables.challenge_sets import CHALLENGE_SETS, challenge_tables
from aflite_assets.reports.tables.falls import FALLS, fall_tables
from aflite_assets.reports.tables.forgetting.forgettable_rows import (
    FORGETTABLE_AGREEMENT,
    FORGETTABLES,
    FORGETTABLES_BY_CLASS,
    FORGETTING_EVENTS,
    MINORITIES,
    forgettable_tables,
)
from aflite_assets.reports.tables.forgetting.overlap_and_threshold import BY_OVERLAP, THRESHOLDS, overlap_tables
from aflite_assets.reports.tables.forgetting.two_phase import (
    FORGETTABLES_ALONE,
    TWO_PHASE,
    TWO_PHASE_DIFFERENCES,
    alone_tables,
    two_phase_tables,
)
from aflite_assets.reports.tables.in_distribution import IN_DISTRIBUTION, in_distribution_tables
from aflite_assets.reports.tables.listings import (
    PLANTED_FORM,
    PREDICTABILITY_FORM,
    SAMPLE_CURVE_FORM,
    WARMUP_CURVE_FORM,
    sample_tables,
)
from aflite_assets.reports.tables.long_form import LongForm
from aflite_assets.reports.tables.main_tables import ACCURACY, accuracy_tables
from aflite_assets.reports.tables.paired import PAIRED, paired_tables
from aflite_assets.reports.tables.published import PUBLISHED, paper_tables
from aflite_assets.reports.tables.small_sample.fine_action import FINE_ACTION, fine_action_tables
from aflite_assets.reports.tables.small_sample.rankings import RANKING_OVERLAP, RANKINGS, ranking_tables
from aflite_assets.reports.tables.table import Table
from aflite_assets.reports.tables.top_k import TOP_5, top_k_tables
from aflite_assets.reports.tables.transfer import TRANSFER, TRANSFER_DIFFERENCES, transfer_tables
from aflite_assets.reports.tables.zero_shot import ZERO_SHOT, ZERO_SHOT_DIFFERENCES, zero_shot_tables

SHOWN: Mapping[str, Callable[[BenchmarkData], tuple[Table, ...]]] = {
    "falls": fall_tables,
    "accuracy": accuracy_tables,
    "in_distribution": in_distribution_tables,
    "zero_shot": zero_shot_tables,
    "fine_action": fine_action_tables,
    "rankings": ranking_tables,
    "transfer": transfer_tables,
    "paired": paired_tables,
    "forgettables": forgettable_tables,
    "two_phase": two_phase_tables,
    "by_overlap": overlap_tables,
    "forgettables_alone": alone_tables,
    "top_5": top_k_tables,
    "published": paper_tables,
    "challenge_sets": challenge_tables,
    "sample_curve": lambda data: sample_tables(analyse(data)),
}
"""By kind, in the order of Markdown and Dagster; the page has its own."""

LONG_FORMS = (
    ACCURACY, CHALLENGE_SETS, ZERO_SHOT, ZERO_SHOT_DIFFERENCES, IN_DISTRIBUTION, TOP_5, PAIRED, PREDICTABILITY_FORM,
    WARMUP_CURVE_FORM, TRANSFER, TRANSFER_DIFFERENCES, PLANTED_FORM, PUBLISHED, FALLS, FORGETTABLES,
    FORGETTABLES_BY_CLASS, FORGETTING_EVENTS, FORGETTABLE_AGREEMENT, MINORITIES, TWO_PHASE, TWO_PHASE_DIFFERENCES,
    FORGETTABLES_ALONE, BY_OVERLAP, THRESHOLDS, FINE_ACTION,
)  # fmt: skip
"""Those of every report, in the order of `report.json`."""


def long_forms(data: BenchmarkData) -> tuple[LongForm, ...]:
    """Those of one report: with the curve that chose its sample, and with its rankings, where there are any."""
    curve = () if data.sample_curve is None else (SAMPLE_CURVE_FORM,)
    return (*LONG_FORMS, *curve, *((RANKINGS, RANKING_OVERLAP) if data.rankings else ()))


def shown_tables(data: BenchmarkData) -> dict[str, tuple[Table, ...]]:
    """The tables by their names, each name's in their order; names with nothing to show are left out.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    found: dict[str, list[Table]] = {}
    for make in SHOWN.values():
        for table in make(data):
            found.setdefault(table.name, []).append(table)
    return {name: tuple(each) for name, each in found.items()}
