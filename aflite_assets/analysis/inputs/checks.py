"""What was checked on the way to a report, and the outcome; the checks themselves are made elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aflite_assets.text import one_line
from aflite_assets.wording import truncate

Outcome = Literal["passed", "failed", "skipped"]

_LONGEST = 600


@dataclass(frozen=True)
class CheckOutcome:
    """One check: what it is about (data, warm-up, filter, evaluators, ...), what it asks, and what it found.

    `said`: what was found or is to be done; empty where there is nothing to say. It may hold text of the dataset.
    `applies`: False where there was nothing to look at: such a check is skipped, and `passed` says nothing.
    """

    about: str
    name: str
    asks: str
    passed: bool
    said: str = ""
    applies: bool = True

    @property
    def outcome(self) -> Outcome:
        """What is said of the check in a table."""
        if not self.applies:
            return "skipped"
        return "passed" if self.passed else "failed"

    @property
    def line(self) -> str:
        """The check on one line, for a log."""
        said = truncate(one_line(self.said), _LONGEST)
        outcome = "FAILED" if self.outcome == "failed" else self.outcome
        return f"check {outcome}: {self.about}, {self.name}{': ' if said else ''}{said}"


def failed_lines(checks: Sequence[CheckOutcome]) -> list[str]:
    """A line per check that did not pass; one that says so where all did; none where nothing was checked.

    Checks that did not apply are not counted among those that passed.
    """
    failed = [check.line for check in checks if check.outcome == "failed"]
    if failed or not checks:
        return failed
    skipped = sum(not check.applies for check in checks)
    left_out = f"; {skipped} skipped, as they do not apply" if skipped else ""
    return [f"all checks passed ({len(checks) - skipped}{left_out})"]
