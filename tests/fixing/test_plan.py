"""What is done with a source follows from the cues; what cannot be done is refused with a way out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.errors import DataError
from aflite_assets.fixing.plan import Changes, Origin, plan_changes
from aflite_assets.scan.cues import ClassSize, Cue, CueProperty, ScanResult
from aflite_assets.scan.rows import ScanRows, TableColumn
from aflite_assets.specs.sources import TableSource

MARKS = np.arange(40) % 4 == 0
LABELS = np.where(MARKS, np.arange(40) % 8 == 0, np.arange(40) % 2).astype(np.int64)


def _cue(number: int, *properties: CueProperty, by: int | None = None, same: tuple[CueProperty, ...] = ()) -> Cue:
    numbers = (10, 0.6, 0.1, 0.8, 0.5, 0.7, 0.6, 0.8, 0.001)
    return Cue(
        number, properties[0].name, properties[0].kind, "artefact", "b", *numbers,
        explained_by=by, properties=properties, same_properties=same,
    )  # fmt: skip


def _plan(*cues: Cue, chosen: int = 1, by: str | None = None, origin: Origin | None = None, **rows: object) -> Changes:
    carriers = np.repeat(MARKS[:, None], len(cues), axis=1)
    sizes = (ClassSize("a", 20, 0.6), ClassSize("b", 20, 0.6))
    sets = np.full(40, "all rows", dtype=object)
    result = ScanResult(cues, None, sizes, 40, 40, 10, (), carriers, sets, np.arange(40), np.arange(40))
    texts = {"review": ["It\u2019s so\u2026" if mark else "It's so." for mark in MARKS]}
    columns = {name: TableColumn("attribute", ["x"] * 40) for name in ("record", "age", "site")}
    whole = ScanRows(
        LABELS, ("a", "b"), np.zeros(40, dtype=np.int64), ("all rows",), np.arange(40.0), texts=texts, columns=columns
    )
    whole = replace(whole, **rows)  # type: ignore[arg-type]
    return plan_changes(result, whole, origin or _origin(), cues[:chosen], by=by, seed=0)  # type: ignore[arg-type]


def _origin(**changes: object) -> Origin:
    source = TableSource.model_validate({"format": "csv", "splits": {"train": "a.csv"}})
    names = {"review": "The review", "record": "record", "age": "age", "site": "site"}
    origin = Origin(source, names, {"site": "the group"}, {"train": 40}, np.arange(40))
    return replace(origin, **changes)  # type: ignore[arg-type]


def _text(name: str, kind: str = "typography") -> CueProperty:
    return CueProperty(kind, f"{name} (review)", "review")


RECORD = CueProperty("identifier", "record", "record")
AGE = CueProperty("missing values", "age is missing", "age")
SITE = CueProperty("identifier", "site", "site")
WORD = CueProperty("words", "the word 'so' (review)", "review")


def test_texts_are_normalised_by_the_cue_its_synonyms_and_the_artefacts_that_go_with_it() -> None:
    stop, ellipsis = _text("ends without a full stop"), _text("ellipsis sign (\u2026)")
    apostrophe, tab = _text("curly apostrophe"), _text("tab", "blanks")
    changes = _plan(_cue(0, stop, same=(ellipsis, WORD)), _cue(1, apostrophe, by=0), _cue(2, tab))
    assert list(changes.texts) == ["The review"]
    change = changes.texts["The review"]
    assert change("It\u2019s\tso\u2026") == "It's\tso."  # both classes have apostrophes, so they are only unified
    assert changes.rows is None
    assert changes.phrases == (f"'The review': {'; '.join(change.phrases)}.",)


def test_texts_that_may_be_cut_off_get_a_full_stop_only_on_request() -> None:
    whole, cut = "The bridge is old. It was built in 1790.", "The bridge is old. It was built \x1b by the sa"
    texts = {"review": [cut if mark else whole for mark in MARKS]}
    cue = _cue(0, _text("ends with a letter or digit"))
    message = (
        r"10 texts of 'review' may be cut off, because they end in the middle of a sentence \(\u201cThe bridge is old.*"
        r"by the sa\u201d\)\. A full stop would hide .*; repair the export and scan again, keep a subset of the rows "
        r"with `--by rebalance`, or, .* `--by normalise`"
    )
    with pytest.raises(DataError, match=message):
        _plan(cue, texts=texts)
    changes = _plan(cue, by="normalise", texts=texts)
    assert changes.texts["The review"](cut).endswith(" by the sa.")
    assert "WARNING: 10 texts of 'review' may be cut off" in changes.phrases[0]
    assert changes.phrases[0].count("by the sa\u201d") == 3
    other = _plan(_cue(0, _text("curly apostrophe")), texts=texts)  # nothing is done to the ends of texts
    assert "cut off" not in other.phrases[0]


def test_columns_with_nearly_the_same_rows_go_too_unless_they_are_needed() -> None:
    changes = _plan(_cue(0, RECORD, same=(AGE, SITE, WORD)))
    assert changes.dropped == ("record", "age")
    assert changes.phrases == ("The column 'record' is left out.", "The column 'age' is left out.")


def test_rows_are_balanced_and_shuffled_together() -> None:
    order = CueProperty("order", "row number in the file (from 1)", "")
    changes = _plan(_cue(0, WORD), _cue(1, order), chosen=2)
    assert changes.rows is not None
    kept = changes.rows["train"]
    assert changes.is_shuffled
    assert len(set(kept.tolist())) == len(kept) < 40
    assert kept.tolist() != sorted(kept.tolist())
    assert LABELS[kept][MARKS[kept]].mean() == pytest.approx(LABELS[kept][~MARKS[kept]].mean(), abs=0.06)
    assert changes.phrases[0].startswith(f"{len(kept)} of 40 rows are kept, ")


def test_rows_that_the_scan_does_not_read_are_counted() -> None:
    labels = LABELS.copy()
    labels[:3] = -1
    changes = _plan(_cue(0, WORD), labels=labels)
    assert changes.rows is not None
    assert changes.rows["train"].min() >= 3
    assert "of 37 rows are kept" in changes.phrases[0]
    assert "(3 rows that the scan does not read, such as unlabelled ones, go too)" in changes.phrases[0]


@pytest.mark.parametrize(
    ("cue", "by", "message"),
    [
        (_cue(0, WORD), "drop", r"cue 1 \(the word 'so' \(review\)\) cannot be fixed by `--by drop`; leave `--by`"),
        (_cue(0, SITE), None, "the column 'site' cannot be dropped, because the column is the group; use"),
        (_cue(0, CueProperty("identifier", "id", "")), None, "'id' does not come from a single column"),
        (_cue(0, CueProperty("typography", "tab (text)", "text")), None, "'text' is not a single column of the source"),
    ],
)
def test_what_cannot_be_done_is_refused(cue: Cue, by: str | None, message: str) -> None:
    with pytest.raises(DataError, match=message):
        _plan(cue, by=by)


def test_the_last_input_is_not_dropped() -> None:
    with pytest.raises(DataError, match="dropping these columns would leave no input column for models"):
        _plan(_cue(0, RECORD), origin=_origin(inputs=frozenset({"record"})))


def test_rows_of_a_sample_or_of_a_part_are_not_chosen() -> None:
    with pytest.raises(
        DataError, match="the first rows were read, so it is not known which of those rows have the cue"
    ):
        _plan(_cue(0, WORD), origin=_origin(unread="the first rows were read"))
    result_of_half = pytest.raises(
        DataError, match="a random sample of 40 rows out of 80 was scanned, so it is not known"
    )
    twice = {"review": ["It is so."] * 80}
    with result_of_half:
        _plan(_cue(0, WORD), labels=np.append(LABELS, LABELS), sets=np.zeros(80, dtype=np.int64), texts=twice)


def test_images_inside_of_a_table_are_refused() -> None:
    images = pa.chunked_array([pa.array([{"bytes": b"x", "path": None, "sha256": None}] * 40)])
    with pytest.raises(
        DataError, match=r"images are stored inside a table, .* export the images to a folder with a metadata.csv"
    ):
        _plan(_cue(0, CueProperty("file format", "format = PNG", "")), images=images, columns={})


def test_splits_keep_their_own_rows() -> None:
    origin = _origin(source_rows={"train": 24, "test": 16})
    changes = _plan(_cue(0, WORD), origin=origin)
    assert changes.rows is not None
    assert [int(rows.max()) < size for rows, size in zip(changes.rows.values(), (24, 16), strict=True)] == [True, True]
    assert changes.phrases[0].startswith("'train': ")
    only_a = np.where(np.arange(40) < 24, LABELS, 0)
    changes = _plan(_cue(0, WORD), origin=origin, labels=only_a)
    assert changes.rows is not None
    assert len(changes.rows["test"]) == 16  # one class, in which a cue tells nothing
    assert Path("a.csv").exists() is False
