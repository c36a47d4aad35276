"""Warning about test sets of few questions."""

import math

from aflite_assets.wording import counted

FEWEST_QUESTIONS = 100
"""Number of questions in a test set from which there is no warning."""


def few_questions(questions: int) -> str:
    """Return a clause that warns about the width of accuracy intervals, or "" if the test set has enough questions."""
    if questions >= FEWEST_QUESTIONS:
        return ""
    points = 98 / math.sqrt(max(questions, 1))  # half the width of the 95 % interval of a share of 0.5
    return f"only {counted(questions, 'question')}, so the 95 % interval of an accuracy can be ±{points:.0f} points"
