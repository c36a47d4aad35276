"""The outcome of a check of data, warm-up, filter or models, as shown by Dagster's assets and by the report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from aflite_assets.text import one_line
from aflite_assets.wording import truncate

Outcome = Literal["passed", "failed", "skipped"]
Numbers = Mapping[str, int | float | str]

NOT_APPLICABLE = "not applicable"
"""Text with which `found` begins if a check does not apply."""

_LONGEST = 600


@dataclass(frozen=True)
class CheckOutcome:
    """The outcome of one check, such as a check of the data or of the filter.

    `about`: `data`, `warm-up`, `filter`, `weak models` or `evaluators`.
    `asks`: the statement that is true if the check passes.
    `found`: a sentence on the finding, which may contain text of the dataset, or an empty string.
    `what_to_do`: advice if the check failed, which may contain text of the dataset, or an empty string.
    `subject`: the encoder, evaluator, test set or representation that is checked, or an empty string.
    `applies`: False if there was nothing to check. A check with nothing to check is skipped, and its `passed` has no
    meaning.
    `blocking`: whether a failed check prevents the computation of later results.
    `numbers`: the numbers on which the outcome is based, as JSON values by name.
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
        """The outcome in one word: `passed`, `failed` or `skipped`."""
        if not self.applies:
            return "skipped"
        return "passed" if self.passed else "failed"

    @property
    def title(self) -> str:
        """Name of the check with its subject, such as "better_than_largest_class (bert)"."""
        return f"{self.name} ({self.subject})" if self.subject else self.name

    @property
    def said(self) -> str:
        """Finding of the check, followed by the advice if the check failed."""
        if self.outcome != "failed" or not self.what_to_do:
            return self.found
        return f"{self.found.removesuffix('.')}. To do: {self.what_to_do}" if self.found else self.what_to_do

    @property
    def line(self) -> str:
        """One line about the check, for a log."""
        said = truncate(one_line(self.said), _LONGEST)
        outcome = "FAILED" if self.outcome == "failed" else self.outcome
        return f"check {outcome}: {self.about}, {self.title}{': ' if said else ''}{said}"


def failed_lines(checks: Sequence[CheckOutcome]) -> list[str]:
    """Return one log line per failed check, or a single line if no check failed.

    The list is empty if there were no checks. The number of passed checks does not include skipped checks.
    """
    failed = [check.line for check in checks if check.outcome == "failed"]
    if failed or not checks:
        return failed
    skipped = sum(not check.applies for check in checks)
    left_out = f"; {skipped} skipped, as they do not apply" if skipped else ""
    return [f"all checks passed ({len(checks) - skipped}{left_out})"]
