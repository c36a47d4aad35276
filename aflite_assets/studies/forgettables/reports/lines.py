"""Sentences about forgettable rows and about second phases on them."""

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.reports.sentences.comparisons import of_kind
from aflite_assets.text import count


def forgotten_line(analysis: Analysis) -> str:
    """Return a line on how many rows each weak model forgets."""
    models = analysis.facts.weak_models.items()
    forgotten = [f"{name} forgets {count(one.forgettable)} of {count(one.rows)} rows" for name, one in models]
    return f"{'; '.join(forgotten) or 'No weak model was trained'}."


def second_phase_line(analysis: Analysis) -> str | None:
    """Return a line that compares second phases on forgettable rows with second phases on random rows, or None if
    nothing was compared.
    """
    judged = [one for one in of_kind(analysis, "second phase") if one.whole and one.side is not None]
    if not judged:
        return None
    found = [one for one in judged if one.found]
    if not found:
        return (
            "No difference was found between second phases on forgettable rows and on the same number of random rows."
        )
    challenge = analysis.facts.challenge_sets
    named = min(found, key=lambda one: (not one.deciding, one.test_set not in challenge, -abs(one.difference or 0.0)))
    others = f"; {len(found)} of {len(judged)} comparisons found a difference" if len(judged) > 1 else ""
    points = f"{abs(named.difference or 0.0):.1f} points {named.side}"
    return f"“{named.evaluator}” is {points} “{named.against_evaluator}” on “{named.test_set}”{others}."
