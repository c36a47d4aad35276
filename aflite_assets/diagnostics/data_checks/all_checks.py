"""All checks on a raw table, in order. Each check returns its findings and one line of advice.

The checks do not depend on Dagster.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from aflite_assets.checks import CheckOutcome
from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.decodable_images import UndecodableImages
from aflite_assets.diagnostics.data_checks import input_checks, row_checks
from aflite_assets.diagnostics.data_checks.context import CheckContext, SourceFacts


@dataclass(frozen=True)
class DataCheck:
    """A data check; `blocking` is True if a failure of the check stops later assets."""

    name: str
    description: str
    blocking: bool
    check: Callable[[CheckContext], CheckOutcome]


def _check(check: Callable[[CheckContext], CheckOutcome], *, blocking: bool = False) -> DataCheck:
    return DataCheck(check.__name__, " ".join(str(check.__doc__).split()), blocking, check)


DATA_CHECKS = (
    _check(row_checks.row_ids_unique, blocking=True),
    _check(row_checks.labels_known, blocking=True),
    _check(input_checks.features_finite, blocking=True),
    _check(input_checks.no_label_copies, blocking=True),
    _check(row_checks.all_rows_labelled),
    _check(row_checks.images_decode),
    _check(row_checks.no_repeats_across_splits),
    _check(row_checks.no_groups_across_splits),
    _check(row_checks.few_repeats_in_train),
    _check(row_checks.no_label_conflicts),
    _check(input_checks.labels_are_not_texts),
    _check(input_checks.repeated_texts_grouped),
    _check(input_checks.no_empty_texts),
    _check(input_checks.no_nul_or_huge_cells),
    _check(row_checks.classes_balanced),
    _check(row_checks.class_shares_alike),
    _check(input_checks.no_constant_features),
    _check(input_checks.no_repeated_features),
    _check(input_checks.features_on_one_scale),
    _check(row_checks.annotators_agree),
)
"""Every check on raw data. A check is named after its function, whose docstring is its description."""


def data_findings(
    raw: Examples,
    *,
    unlabelled_rows: Mapping[str, int] | None = None,
    undecodable_images: Mapping[str, UndecodableImages] | None = None,
    source: SourceFacts | None = None,
) -> tuple[CheckOutcome, ...]:
    """Run every check on a raw table.

    `unlabelled_rows` and `undecodable_images`: rows that were dropped from each split before the checks. `source`:
    facts about the source, such as the files and lines of rows. Without `source`, messages name rows by their ids.

    A check that does not apply to the dataset's kind of data passes and says so. All checks together take less than a
    minute for half a million sentence pairs.
    """
    data = CheckContext(raw, unlabelled_rows or {}, undecodable_images or {}, source or SourceFacts())
    return _results(data, DATA_CHECKS)


def blocking_findings(raw: Examples, *, source: SourceFacts) -> tuple[CheckOutcome, ...]:
    """Run only the blocking checks, which take almost no time."""
    return _results(CheckContext(raw, source=source), [data_check for data_check in DATA_CHECKS if data_check.blocking])


def _results(data: CheckContext, checks: Iterable[DataCheck]) -> tuple[CheckOutcome, ...]:
    return tuple(replace(one.check(data), name=one.name, asks=one.description, blocking=one.blocking) for one in checks)
