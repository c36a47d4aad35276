"""Sentences on drops on challenge sets, and on what was edited in copies of natural rows."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.edited_copies import EDITS, SetEdit
from aflite_assets.analysis.comparisons.falls import CHALLENGE_FALLS, ChallengeFall
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.sentences.falls import alike_text, edits_text, falls_text
from aflite_assets.reports.sentences.first_screen import first_screen
from aflite_assets.reports.sentences.verdict import VerdictWords
from aflite_assets.reports.tables.all_tables import shown_tables
from tests.analysis.comparisons.test_edited_copies import paired
from tests.planted_cues import STOP, scanned
from tests.reports.sentences.test_first_screen import PLACE, judged

FALL = ChallengeFall(
    "svm", "test", "clean", 0.9, 0.8, 10.0, 6.0, 14.0, 0.001,
    copies_of="test", originals=0.9, paired_fall=10.0, paired_low=7.0, paired_high=13.0,
)  # fmt: skip
EDITED = (
    SetEdit("clean", "test", 100, "word", "claim", "not", 0.62, 0.62, 0.0),
    SetEdit("clean", "test", 100, "sign", "", "!", 0.4, 0.08, 0.32),
    SetEdit("clean", "test", 100, "capital letters", "claim", "", 0.03, 0.0, 0.0),
    SetEdit("clean", "test", 100, "word", "claim", "is", 0.02, 0.0, 0.02),
)
NAMED = (
    "the word “not” of “claim” (added in 62.0 % of the pairs), the sign “!” (taken out in 32.0 %, added in 8.0 % of "
    "the pairs) and capital letters of “claim” (changed in 3.0 % of the pairs)"
)
RIGHT = (
    "as means over the classes, “svm” is right on 90.0 % of “test”, but on 80.0 % of “clean” (\N{MINUS SIGN}10.0 "
    "points, 95 % [\N{MINUS SIGN}14.0, \N{MINUS SIGN}6.0])"
)


def test_sure_and_large_falls_of_the_evaluator_that_falls_furthest_are_named() -> None:
    fall = ChallengeFall("svm", "test", "clean", 0.9, 0.8, 10.0, 6.0, 14.0, 0.001)
    # another evaluator with an accuracy of its own, which must not be read as svm's
    other = replace(fall, evaluator="net", natural=0.7, test_set="swapped", challenge=0.61, fall=9.0)
    second = replace(fall, test_set="hard", challenge=0.84, fall=6.0, low=2.0, high=10.0)
    small, unsure = replace(fall, test_set="other", fall=4.9), replace(fall, test_set="third", low=-0.1)
    assert falls_text([other, fall, second, small, unsure]) == (
        "as means over the classes, “svm” is right on 90.0 % of “test”, but on 80.0 % of “clean” "
        "(\N{MINUS SIGN}10.0 points, 95 % [\N{MINUS SIGN}14.0, \N{MINUS SIGN}6.0]) and 84.0 % of “hard” "
        "(\N{MINUS SIGN}6.0 points, 95 % "
        "[\N{MINUS SIGN}10.0, \N{MINUS SIGN}2.0]): another source, harder rows, other labels or a shortcut"
    )
    assert falls_text([small, unsure]) == ""


def test_sets_that_cannot_be_told_apart_are_named_once() -> None:
    clean = ChallengeFall("svm", "test", "clean", 0.9, 0.8, 10.0, 6.0, 14.0, 0.001, ("swapped",))
    swapped = replace(clean, test_set="swapped", alike=("clean",))
    assert alike_text([clean, swapped]) == (
        "“svm” is right on the same rows of “clean” and “swapped”, so it cannot tell them apart"
    )
    assert alike_text([replace(clean, alike=())]) == ""


def test_a_fall_on_edited_copies_is_laid_to_the_edits_and_not_to_harder_rows() -> None:
    assert falls_text([FALL], EDITED) == (
        f"{RIGHT}. The rows of “clean” are copies of rows of “test” with edits, so harder rows cannot explain the "
        f"fall; what was edited does: {NAMED}"
    )
    assert falls_text([FALL]).endswith("what was edited does")
    some = replace(FALL, originals=0.88, paired_fall=8.0)
    assert (
        "with edits, and “svm” is right on 88.0 % of their originals, so harder rows cannot explain the fall"
        in falls_text([some], EDITED)
    )


def test_originals_that_are_as_hard_leave_the_edits_unproven() -> None:
    hard = replace(FALL, originals=0.81, paired_fall=1.0, paired_low=-2.0, paired_high=4.0)
    assert falls_text([hard], EDITED[:1]) == (
        f"{RIGHT}. The rows of “clean” are copies of rows of “test” with edits, but “svm” is right on 81.0 % of their "
        "originals, so the edits are not shown to cause the fall: the word “not” of “claim” (added in 62.0 % of the "
        "pairs)"
    )


def test_other_sets_keep_their_reasons_beside_edited_copies() -> None:
    other = ChallengeFall("svm", "test", "hard", 0.9, 0.84, 6.0, 2.0, 10.0, 0.01)
    text = falls_text([FALL, other], EDITED)
    assert ": on “hard”, another source, harder rows, other labels or a shortcut. The rows of “clean” are" in text


@pytest.mark.parametrize(("more", "less", "said"), [
    (0.98, 0.01, "the column “age” (higher in 98.0 %, lower in 1.0 % of the pairs)"),
    (0.0, 0.5, "the column “age” (lower in 50.0 % of the pairs)"),
])  # fmt: skip
def test_columns_are_higher_or_lower(more: float, less: float, said: str) -> None:
    edit = SetEdit("clean", "test", 100, "column", "", "age", more + less, more, less)
    assert edits_text([edit, replace(edit, test_set="other")], "clean") == said
    assert edits_text([edit], "test") == ""
    assert edits_text([replace(edit, name="column 3")], "clean").startswith("column 3 (")


def test_the_advice_and_the_first_screen_name_what_was_edited(planted: BenchmarkData) -> None:
    analysis = analyse(paired(planted))
    assert [one.named and one.edited for one in analysis.of(CHALLENGE_FALLS)] == [True, True]
    assert [one.name for one in analysis.of(EDITS)] == ["not", "!"]
    (table,) = shown_tables(analysis)["edits"]
    assert table.title == "What was edited in clean, whose rows are copies of rows of test"
    assert [(row.headings, [cell.text for cell in row.cells]) for row in table.rows] == [
        (("the word “not”",), ["6.2", "6.2", "0.0"]),
        (("the sign “!”",), ["4.0", "0.8", "3.2"]),
    ]
    words = VerdictWords(analysis, analysis.verdicts[0])
    assert words.edited().startswith(" (the word “not” (added in 6.2 % of the pairs) and the sign “!” (taken out in")
    gone = [replace(one, name="clean") for one in STOP.elsewhere[:1]]
    screen = first_screen(
        replace(analysis, scan=scanned(replace(STOP, reason=None, elsewhere=tuple(gone)))), from_files=True
    )
    assert (
        "Models fall on “clean”, and the cue is unrelated to the label there; its rows are edited copies of rows of "
        "“test”, so harder rows cannot explain the fall." in screen.finding
    )
    held = [replace(gone[0], state="holds")]
    screen = first_screen(
        replace(analysis, scan=scanned(replace(STOP, reason=None, elsewhere=tuple(held)))), from_files=True
    )
    assert "the cue holds there too, so look at what was edited there (the word “not” (added in" in screen.finding


def test_a_fall_that_only_means_over_classes_show_is_told_by_these_means(planted: BenchmarkData) -> None:
    """A model that is right on nearly all rows of the larger class, and on few of the other one."""
    natural, challenge = planted.test_sets[0], planted.test_sets[-1]
    labels = (np.arange(300) >= 270).astype(np.int64)
    uneven = replace(challenge, labels=labels, categories={})
    cells = []
    for cell in planted.cells:
        if cell.evaluator == "linear" and cell.predictions is not None:
            right = (np.arange(300) + cell.seed) % 30 > 0
            predicted = np.where(right, 0, 1)
            own = pa.table({"test_set": ["hans"] * 300, "row_id": challenge.row_ids, "predicted": predicted})
            known = cell.predictions.filter(pc.equal(cell.predictions["test_set"], "test"))
            cells.append(replace(cell, predictions=pa.concat_tables([known, own])))
    analysis = analyse(replace(planted, test_sets=(natural, uneven), cells=tuple(cells)))
    leaning = replace(PLACE, evaluator="linear", reason="declared", broken_on="hans")
    found = first_screen(judged(analysis, "shortcut_found", leaning=leaning), from_files=True)
    assert found.finding.endswith(
        "it is right on a mean over classes of 78.0 % of “test”, but on 50.0 % of “hans”, where the cue no longer goes "
        "with the class."
    )
    assert found.sure.startswith("The fall, as a mean over classes, is 28.0 points (")
