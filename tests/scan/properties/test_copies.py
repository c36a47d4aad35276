"""Near copies and groups become the units that no cut divides."""

import numpy as np

from aflite_assets.scan.properties.copies import copy_codes, units_of
from aflite_assets.scan.properties.tokens import tokens_of
from aflite_assets.scan.rows import TableColumn
from benchmarks.detection_kinds import build_rows, draw_texts


def _codes(texts: list[str]) -> list[int]:
    return copy_codes(build_rows(np.zeros(len(texts), np.int64), texts={"t": texts}), [tokens_of(texts)], None).tolist()


def test_a_text_with_one_word_changed_is_a_near_copy_and_another_is_not() -> None:
    texts = draw_texts(np.random.default_rng(0), 400, longest=60)
    long = next(text for text in texts if len(text.split()) > 50)
    changed = " ".join(["other", *long.split()[1:]])
    codes = _codes([*texts, changed, long.upper()])
    assert codes[400] == codes[texts.index(long)] == codes[401]
    assert len(set(codes)) == 400


def test_short_texts_are_no_copies_though_they_are_equal() -> None:
    assert (
        len(set(_codes(["very good indeed", "very good indeed", "so it is a b c d", "so it is a b c d", "x", "y"])))
        == 5
    )


def test_a_template_that_links_everything_leaves_only_equal_texts() -> None:
    texts = [
        f"this is the record of the patient who came in at {place} o clock on that day in may" for place in range(50)
    ]
    codes = _codes([*texts, texts[3]])
    assert len(set(codes)) == 50
    assert codes[3] == codes[50]


def test_equal_table_rows_are_copies_if_they_have_three_columns() -> None:
    columns = {name: TableColumn("column", ["0", *map(str, range(60))]) for name in "xyz"}
    rows = build_rows(np.zeros(61, np.int64), columns=columns)
    assert copy_codes(rows, [], None).tolist() == [0, *range(60)]
    narrow = build_rows(np.zeros(61, np.int64), columns={"x": columns["x"]})
    assert copy_codes(narrow, [], None).tolist() == list(range(61))


def test_rows_with_one_time_and_size_are_near_copies_though_their_measurements_differ() -> None:
    rng = np.random.default_rng(0)
    origin = np.concatenate([np.repeat(np.arange(100), 4), np.arange(100, 700)])
    columns = {
        "time": TableColumn("attribute", (100_000 + rng.permutation(700)[origin]).astype(np.float64)),
        "size": TableColumn("attribute", rng.normal(size=700)[origin]),
        "measured": TableColumn("column", np.round(rng.normal(size=1_000), 2)),
        "noise": TableColumn("column", rng.normal(size=1_000)),
        "site": TableColumn("attribute", [f"site {place % 5}" for place in range(1_000)]),
    }
    rows = build_rows(np.zeros(1_000, np.int64), columns=columns)
    assert len(set(zip(copy_codes(rows, [], None).tolist(), origin.tolist(), strict=True))) == 700
    assert len(set(copy_codes(rows, [], None).tolist())) == 700
    unlike = build_rows(np.zeros(1_000, np.int64), columns={**columns, "size": columns["noise"]})
    assert len(set(copy_codes(unlike, [], None).tolist())) >= 990  # a few are equal by chance


def test_rows_of_a_few_columns_with_a_few_values_are_equal_by_chance_and_no_copies() -> None:
    rng = np.random.default_rng(0)
    columns = {name: TableColumn("column", rng.choice(["a", "b", "c"], 300).tolist()) for name in "xyz"}
    rows = build_rows(np.zeros(300, np.int64), columns=columns)
    assert len(set(copy_codes(rows, [], None).tolist())) == 300


def test_groups_and_copies_link_rows_through_others() -> None:
    units = units_of(np.array([0, 0, 1, 2, 3]), np.array([0, 1, 1, 2, 3]))
    assert units[0] == units[1] == units[2]
    assert len(set(units.tolist())) == 3
    assert units_of(None, np.array([5, 5, 9])).tolist() == [0, 0, 1]


def test_missing_values_are_equal_and_other_values_are_not() -> None:
    others = np.arange(40.0)
    columns = {
        "x": TableColumn("column", np.array([np.nan, np.nan, np.nan, 1.0, *others])),
        "y": TableColumn("attribute", [None, None, "None", None, *map(str, others)]),
        "z": TableColumn("column", np.array([2.0, 2.0, 2.0, 2.0, *others])),
    }
    codes = copy_codes(build_rows(np.zeros(44, np.int64), columns=columns), [], None).tolist()
    assert codes[:4] == [0, 0, 1, 2]
    assert len(set(codes)) == 43
