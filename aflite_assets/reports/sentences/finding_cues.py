"""The scan's cues that a finding is about, and the question on a cue's column."""

from collections.abc import Sequence

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.falls import CHALLENGE_FALLS, fallen_sets
from aflite_assets.analysis.comparisons.filtering_verdict import FilteringVerdict
from aflite_assets.reports.sentences.leaning import is_about
from aflite_assets.scan.columns import columns_of
from aflite_assets.scan.cues import Cue, Elsewhere
from aflite_assets.scan.sentences import questions_from
from aflite_assets.text import percent, short

_LONGEST = 40


def cues_of(analysis: Analysis, one: FilteringVerdict) -> tuple[Cue, ...]:
    """Return the scan's cues that the finding is about, in the scan's order.

    If the finding is not about any cue, the result is the scan's first candidate or, if there is no candidate, the
    first artefact. Candidates are preferred to artefacts that models cannot see in a row.
    """
    if analysis.scan is None:
        return ()
    evidence, by_itself = one.verdict.evidence, [cue for cue in analysis.scan.cues if cue.explained_by is None]
    if evidence.leaning is not None:
        return tuple(cue for cue in by_itself if is_about(cue, evidence.leaning))
    if one.verdict.code == "artefact_tells":
        return tuple(cue for cue in by_itself if cue.name == evidence.artefacts[0])
    fallen = fallen_sets(analysis.of(CHALLENGE_FALLS))
    return tuple(sorted(by_itself, key=lambda cue: (cue.is_artefact, not changed_in(cue, fallen)))[:1])


def column_advice(analysis: Analysis, one: FilteringVerdict) -> str:
    """Return the question on columns, that of the finding's first cue first, and advice on when to drop a column.
    Return "" if the finding is about leaning, or if the first cue is not about a column.
    """
    cues = () if one.verdict.evidence.leaning is not None else cues_of(analysis, one)
    question = questions_from(analysis.scan, cues[0]) if cues and analysis.scan is not None else ""
    known = "A column that was known may be a real signal: drop it only if it is no part of the task."
    return f"{question} {known}" if question else ""


UNREAD = "Models do not read this column, so it matters only if what they read gives it away too."
REBALANCE = (
    "If what models read may give it away too, rebalance the rows, or collect others, so that it is as frequent in "
    "every class."
)


def is_unread(analysis: Analysis, cue: Cue) -> bool:
    """Return True if the cue is about attributes alone, which describe rows and which no model reads."""
    columns = columns_of(cue)
    return bool(columns) and set(columns) <= set(analysis.facts.attributes)


def changed_in(cue: Cue, names: Sequence[str]) -> list[Elsewhere]:
    """Return the named sets in which the cue is unrelated to the label, or comes with other labels."""
    return [one for one in cue.elsewhere if one.name in names and one.state in ("gone", "reversed")]


def cue_text(one: Cue) -> str:
    """Return a cue of the scan with its class and balanced accuracy, such as "“no full stop” for “a”, 71.2 %"."""
    return f"“{short(one.name, 4 * _LONGEST)}” for “{short(one.label, _LONGEST)}”, {percent(one.balanced)} %"
