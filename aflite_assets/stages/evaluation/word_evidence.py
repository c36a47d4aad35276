"""The table of `bias_evidence` on how filtering changes the association of single words with a class.

The caption explains which conclusions are valid. The words themselves are listed in the cue scan of every report.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import EvidenceTable, FilteredSet
from aflite_assets.data.examples import Examples

if TYPE_CHECKING:
    from aflite_assets.diagnostics.evidence.word_artifacts import AmongDraws, WordArtifacts

DRAWS = 99
"""Number of random sets with which the kept set is compared.

A kept set that was drawn at random would have the lowest value of all 100 sets in at most 1 % of cases.
"""

_WORDS_PER_CLASS = 10
"""Number of words per class, those with the highest z, for which the mean z is compared."""


def word_tables(filtered: FilteredSet, raw: Examples, *, seed: int) -> Iterator[EvidenceTable]:
    """Yield a table of how many words are associated with a class, among all train rows, random rows and kept rows.

    No table is yielded if rows have no texts, if no word is frequent enough, or if there is only one class.
    """
    if raw.modality != "text":
        return
    from aflite_assets.diagnostics.evidence.word_artifacts import word_artifacts

    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    artifacts = word_artifacts(
        raw.select(train["row_id"].to_numpy()),
        train.filter(train["kept"])["row_id"].to_numpy(),
        seed=seed,
        draws=DRAWS,
        top=_WORDS_PER_CLASS,
    )
    if artifacts is None:
        return
    groups = (
        " Rows are removed in whole groups but drawn one by one, so the random sets differ less than they should; "
        "draw conclusions with care."
        if filtered.settings.get("remove") == "groups"
        else ""
    )
    yield EvidenceTable(
        f"Words over the line ({filtered.representation})",
        f"How many words exceed z = {artifacts.line:.1f} for a class, which by chance none does (Gardner et al. 2021); "
        "the last row adds the classes. Words that tell a class by themselves are among the cues of the scan. "
        f"{_over_line(artifacts)} {_mean_z(artifacts)}{groups}",
        _counts(artifacts),
    )


def _counts(artifacts: "WordArtifacts") -> pa.Table:
    """Return the table `over_line`; name the row of totals `all classes`, and add a column with the limit of z."""
    table = artifacts.over_line.drop_columns(["label"])
    names = pc.fill_null(table["label_name"], "all classes")
    line = pa.array([artifacts.line] * table.num_rows, pa.float64())
    return table.set_column(0, "label_name", names).append_column("line", line)


def _mean_z(artifacts: "WordArtifacts") -> str:
    means = artifacts.mean_z
    if means is None:
        return "No word exceeds it among all train rows, so nothing can be concluded about filtering."
    numbers = (
        f"z falls with the number of rows. Of the {_WORDS_PER_CLASS} words of each class with the highest z, those "
        f"over the line have a mean of {means.full:.1f} among all train rows. "
        f"Among random rows it is {means.mean:.1f} ({min(means.random):.1f} to {max(means.random):.1f}), and among the "
        f"kept ones {means.kept:.1f}, "
    )
    if means.kept_is_lowest:
        return (
            f"{numbers}lower than in any random set, which by chance happens at most one time in {DRAWS + 1}. "
            "Filtering weakened the tie of these words to the class more than fewer rows explain. This does not "
            "show whether a word is an artefact or belongs to the task, nor that nothing else predicts the class."
        )
    if means.kept_is_highest:
        return (
            f"{numbers}higher than in any random set: among the rows that filtering kept these words are tied to "
            "the class more closely than among as many random rows."
        )
    return f"{numbers}within the range of the random sets. Nothing can be concluded about filtering."


def _over_line(artifacts: "WordArtifacts") -> str:
    counts = artifacts.words_over_line
    numbers = (
        f"Of all train rows it is {counts.full:,}. Of {DRAWS} random sets with as many rows of each class as were kept "
        f"it is {_range(counts)}. Of the kept rows it is {counts.kept:,}"
    )
    if counts.kept_is_lowest:
        return (
            f"{numbers}: fewer than in any random set, so filtering affected the words beyond reducing the number "
            "of rows. Words under the line may still be tied to a class: fewer rows show less."
        )
    if counts.kept_is_highest:
        return f"{numbers}: more than in any random set, so more words are tied to a class among the kept rows."
    none = (
        " Sets of this size show no word over the line, whichever rows they contain." if not max(counts.random) else ""
    )
    return f"{numbers}: within the range of the random sets, so nothing can be concluded from this count.{none}"


def _range(counts: "AmongDraws") -> str:
    least, most = min(counts.random), max(counts.random)
    shown = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{shown} (mean {counts.mean:,.1f})"
