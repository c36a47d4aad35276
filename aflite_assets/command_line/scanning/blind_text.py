"""Rules and models that find the right answer without the question: a table for a terminal, and the same as JSON."""

from dataclasses import asdict

from aflite_assets.command_line.terminal import table, truncate_escaped
from aflite_assets.scan.blind.records import ALL_SUBSETS, BlindRule, BlindScores
from aflite_assets.scan.sentences import percent

MOST_RULES = 12
"""Rules of all questions that are printed, and of their parts."""

_TITLE = "Without the question, right answers found by picking (ties of equals count half)"
_PART = 24


def nature(rule: BlindRule) -> str:
    """Return in a word what a rule is about."""
    if rule.is_model:
        return "model"
    return "candidate" if rule.reason is None else "artefact"


def blind_lines(scores: BlindScores | None) -> list[str]:
    """Return the rules that surely find more than chance, first in all questions and then in their parts."""
    if scores is None:
        return []
    whole = [one for one in scores.sure if one.subset == ALL_SUBSETS]
    parts = [one for one in scores.sure if one.subset != ALL_SUBSETS]
    if not whole and not parts:
        return [f"{_TITLE}: no rule and no model finds surely more than chance, {percent(scores.chance)}.", ""]
    shown = [*whole[:MOST_RULES], *parts[:MOST_RULES]]
    head = ("rule or model", "part", "questions", "found", "chance", "decides", "nature")
    printed = [f"{_TITLE}:", *table([head, *map(_row, shown)], numbers=(2, 4, 5))]
    more = len(whole) + len(parts) - len(shown)
    return [*printed, *([f"  and {more} more, in --json and --html"] if more else []), ""]


def _row(rule: BlindRule) -> tuple[str, ...]:
    return (
        rule.name,
        "all" if rule.subset == ALL_SUBSETS else truncate_escaped(rule.subset, _PART),
        f"{rule.questions:,}",
        f"{percent(rule.found)} [{100 * rule.low:.0f}, {100 * rule.high:.0f}]",
        percent(rule.chance),
        percent(rule.decided),
        nature(rule),
    )


def blind_record(scores: BlindScores) -> dict[str, object]:
    """Return all rules in all parts as values for JSON; the subset of all questions is an empty text."""
    rules = [{**asdict(one), "nature": nature(one), "named": one.is_named} for one in scores.rules]
    return {"questions": scores.questions, "chance": scores.chance, "rules": rules}
