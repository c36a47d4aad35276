"""The dataset file that `aflite scan --filter-file` writes for a data file of preferences or questions."""

from pathlib import Path

from aflite_assets.command_line.scanning.inputs import ScanInput
from aflite_assets.errors import DataError
from aflite_assets.fixing.spec_file import question_content, write_spec
from aflite_assets.results.store import NAME
from aflite_assets.scan.blind.records import WORD_MODELS, BlindScores
from aflite_assets.scan.blind.selection import measures_of_rules
from aflite_assets.scan.cues import ScanResult


def write_filter_file(path: Path, read: ScanInput, result: ScanResult, *, title: str) -> None:
    """Write a dataset file that filters the scanned answers by the properties that reveal right answers.

    Raises:
        DataError: the dataset file exists already, its name is not valid, or FILE contains no preferences or questions.
    """
    if read.bare is None or read.bare.source is None:
        raise DataError(
            "`--filter-file` works only for a table of preferences or questions without a dataset file; leave the "
            "option out, or add `representations` and `filter` to the existing dataset file"
        )
    if path.suffix not in (".yaml", ".yml") or not NAME.fullmatch(path.stem):
        raise DataError(
            f"`--filter-file` is {str(path)!r}, which is not a valid name for a dataset file; use lower-case letters, "
            "digits and underscores, and the ending .yaml"
        )
    if path.exists():
        raise DataError(
            f"`--filter-file` is {str(path)!r}, which already exists and is not overwritten; name another file"
        )
    scores = result.blind
    content = question_content(
        title,
        read.bare.source.model_dump(mode="json", exclude_unset=True),
        place=path.absolute().parent,
        by_words=scores is not None and any(one.kind in WORD_MODELS for one in scores.named),
        answers_alone=scores is not None and scores.overlap is not None,  # which may be the task
        balanced_by=_measures(scores),
        guessed=max(one.rows for one in result.classes) / result.rows,
    )
    comments = ["Written by aflite scan --filter-file. What each setting does: docs/preferences.md, section Filter."]
    try:
        write_spec(path, content, comments)
    except OSError as error:
        raise DataError(
            f"`--filter-file` is {str(path)!r}, which cannot be written ({error.strerror}); name another file"
        ) from error


def _measures(scores: BlindScores | None) -> tuple[str, ...]:
    """Return the measures (such as the length of answers) that the reported rules use, the strongest first.

    If no rule is reported, the only measure is the length.
    """
    named = () if scores is None else measures_of_rules([one.name for one in scores.named_overall])
    return named or ("length",)
