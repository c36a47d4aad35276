"""Outcome of a check: one record for checks of data, warm-up, filter and models. Assets and the report show the same
outcomes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from aflite_assets.text import one_line
from aflite_assets.wording import truncate

Outcome = Literal["passed", "failed", "skipped"]
Numbers = Mapping[str, int | float | str]

NOT_APPLICABLE = "not applicable"
"""The beginning of `found` if a check does not apply."""

_LONGEST = 600


@dataclass(frozen=True)
class CheckOutcome:
    """The outcome of one check.

    `about`: data, warm-up, filter, weak models or evaluators. `subject`: the encoder, evaluator, test set or
    representation that is checked; empty if there is none. `asks`: the statement that holds if the check passes.
    `found`: a sentence; `what_to_do`: advice if the check failed. `found` and `what_to_do` may be empty, and contain
    text of the dataset. `applies`: False if there was nothing to check; such a check is skipped, and `passed` is
    meaningless. `blocking`: whether a failed check prevents further results from being computed. `numbers`: JSON values
    behind the outcome, by name.
    """

    about: str
    name: str
    asks: str
    passed: bool
    found: str = ""
    what_to_do: str = ""
    subject: str = ""
    applies: bool = True
    blocking: bool = False
    numbers: Numbers = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome:
        """The outcome in one word."""
        if not self.applies:
            return "skipped"
        return "passed" if self.passed else "failed"

    @property
    def title(self) -> str:
        """The name of the check with its subject, such as "better_than_largest_class (bert)"."""
        return f"{self.name} ({self.subject})" if self.subject else self.name

    @property
    def said(self) -> str:
        """Return the finding and, if the check failed, the advice."""
        if self.outcome != "failed" or not self.what_to_do:
            return self.found
        return f"{self.found.removesuffix('.')}. To do: {self.what_to_do}" if self.found else self.what_to_do

    @property
    def line(self) -> str:
        """The check on one line, for a log."""
        said = truncate(one_line(self.said), _LONGEST)
        outcome = "FAILED" if self.outcome == "failed" else self.outcome
        return f"check {outcome}: {self.about}, {self.title}{': ' if said else ''}{said}"


def failed_lines(checks: Sequence[CheckOutcome]) -> list[str]:
    """Return one line per failed check, a single line if all passed, and no line if nothing was checked.

    Checks that do not apply do not count as passed.
    """
    failed = [check.line for check in checks if check.outcome == "failed"]
    if failed or not checks:
        return failed
    skipped = sum(not check.applies for check in checks)
    left_out = f"; {skipped} skipped, as they do not apply" if skipped else ""
    return [f"all checks passed ({len(checks) - skipped}{left_out})"]
