"""What was checked on the way to a report, and the outcome; the checks themselves are made elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

from aflite_assets.reports.text import one_line
from aflite_assets.wording import truncate

_LONGEST = 600


@dataclass(frozen=True)
class CheckOutcome:
    """One check: what it is about (data, warm-up, filter, evaluators, ...), what it asks, and what it found.

    `said`: what was found or is to be done; empty where there is nothing to say. It may hold text of the dataset.
    """

    about: str
    name: str
    asks: str
    passed: bool
    said: str = ""

    @property
    def line(self) -> str:
        """The check on one line, for a log."""
        said = truncate(one_line(self.said), _LONGEST)
        return f"check {'passed' if self.passed else 'FAILED'}: {self.about}, {self.name}{': ' if said else ''}{said}"


def failed_lines(checks: Sequence[CheckOutcome]) -> list[str]:
    """A line per check that did not pass; one that says so where all did; none where nothing was checked."""
    failed = [check.line for check in checks if not check.passed]
    if failed or not checks:
        return failed
    return [f"all checks passed ({len(checks)})"]
