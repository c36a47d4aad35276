"""Every table that a report shows, in the order of the report."""

from collections.abc import Callable, Mapping

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.reports.tables import challenge_tables, cue_tables, difference_tables
from aflite_assets.reports.tables.accuracy_tables import ACCURACY, BY_ATTRIBUTE, BY_CLASS, IN_DISTRIBUTION, TOP_5
from aflite_assets.reports.tables.listings import settings_table
from aflite_assets.reports.tables.published import paper_table, published_tables
from aflite_assets.reports.tables.table import Table, by_name, declared
from aflite_assets.studies import parts


def _missing_sets(analysis: Analysis) -> tuple[Table, ...]:
    missing = analysis.facts.missing_sets
    return (settings_table("Challenge sets that are not available", missing, "missing_sets"),) if missing else ()


SHOWN: Mapping[str, Callable[[Analysis], tuple[Table, ...]]] = {
    "cues": cue_tables.cue_tables,
    "leanings": declared(difference_tables.LEANING_TABLE),
    "challenge_falls": declared(difference_tables.CHALLENGE_FALL_TABLE),
    "edits": declared(difference_tables.EDIT_TABLE),
    "by_attribute": declared(BY_ATTRIBUTE),
    "falls": declared(difference_tables.FALL_TABLE),
    "accuracy": declared(ACCURACY),
    "in_distribution": declared(IN_DISTRIBUTION),
    "zero_shot": declared(challenge_tables.ZERO_SHOT),
    "by_class": declared(BY_CLASS),
    "fine_action": declared(challenge_tables.FINE_ACTION),
    "rankings": declared(difference_tables.RANKINGS, difference_tables.RANKING_OVERLAPS),
    "transfer": declared(challenge_tables.TRANSFER),
    "paired": declared(difference_tables.PAIRED, difference_tables.PAIRED_PARTS),
    **{name: make for tables in parts("reports.tables", dict) for name, make in tables.items()},
    "top_5": declared(TOP_5),
    "published": lambda analysis: tuple(map(paper_table, published_tables(analysis.facts.published))),
    "challenge_sets": declared(challenge_tables.CHALLENGE_SETS),
    "missing_sets": _missing_sets,
}
"""The tables by kind, in the order of Markdown and Dagster; the page has its own order."""


def shown_tables(analysis: Analysis) -> dict[str, tuple[Table, ...]]:
    """Return all tables of the report by name."""
    return by_name(make(analysis) for make in SHOWN.values())
