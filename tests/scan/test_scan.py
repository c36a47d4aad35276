"""The scan's record: other sets, declared columns, too few rows, samples, examples of a dataset."""

import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.standardise import Scale
from aflite_assets.errors import InvalidInputError
from aflite_assets.scan.cues import (
    CUE_ROWS,
    SURFACE_CUES,
    ClassSize,
    Cue,
    CueProperty,
    ScanFacts,
    cue_rows,
    surface_cues,
)
from aflite_assets.scan.rows import ScanRows, TableColumn, rows_of_examples
from aflite_assets.scan.scan import ScanSettings, scan_examples, scan_rows
from aflite_assets.scan.sentences import (
    cue_sentence,
    elsewhere_sentences,
    headline,
    purity_sentence,
    reach_sentence,
)
from benchmarks.detection_kinds import build_rows, draw_labels, draw_texts

SETTINGS = ScanSettings()


def _sites(rng: np.random.Generator, count: int = 1_200, classes: int = 2) -> ScanRows:
    """Rows whose site is north in 60 % of class b and 20 % of the others."""
    labels = draw_labels(rng, count, [1 / classes] * classes)
    north = rng.random(count) < np.where(labels == 1, 0.6, 0.2)
    columns = {
        "site": TableColumn("attribute", np.where(north, "north", "south").tolist()),
        "x": TableColumn("column", rng.normal(size=count)),
    }
    return build_rows(labels, classes, columns=columns)


def _table(rng: np.random.Generator, split: str, count: int, start: int, shares: tuple[float, float]) -> pa.Table:
    labels = rng.integers(0, 2, count)
    has = rng.random(count) < np.array(shares)[labels]
    texts = [f"{text[:-1]}…" if own else text for text, own in zip(draw_texts(rng, count), has, strict=True)]
    return pa.table(
        {
            "row_id": np.arange(start, start + count),
            "source_id": [f"{start + row:016x}" for row in range(count)],
            "split": [split] * count,
            "label": labels.astype(np.int64),
            "text": texts,
        }
    )


@pytest.fixture(scope="module")
def dataset() -> Examples:
    """Train rows in which an ellipsis goes with class yes, test rows in which it goes with neither."""
    rng = np.random.default_rng(0)
    train = _table(rng, "train", 1_500, 0, (0.05, 0.5))
    return Examples(pa.concat_tables([train, _table(rng, "test", 800, 1_500, (0.3, 0.3))]), ("no", "yes"))


def test_a_dataset_is_scanned_on_train_and_compared_elsewhere(dataset: Examples) -> None:
    rng = np.random.default_rng(1)
    against = Examples(_table(rng, "test", 800, 0, (0.5, 0.05)), ("no", "yes"))
    unknown = Examples(_table(rng, "test", 800, 0, (0.5, 0.05)), ("other", "none"))
    result = scan_examples(dataset, settings=SETTINGS, seed=0, others={"reversed": against, "unknown": unknown})
    cue = result.cues[0]
    assert (result.rows, result.units) == (1_500, 1_500)
    assert (cue.name, cue.label, cue.kind) == ("ellipsis sign (…) (text)", "yes", "typography")
    states = {one.name: one.state for one in cue.elsewhere}
    assert states == {"test": "gone", "reversed": "reversed", "unknown": "cannot tell"}
    sentences = elsewhere_sentences(cue)
    assert len(sentences) == 2
    assert sentences[1].startswith("it is reversed on “reversed”: 2")


def test_a_declared_column_is_an_artefact() -> None:
    rows = _sites(np.random.default_rng(0))
    open_result = scan_rows(rows, settings=SETTINGS, seed=0)
    assert [(cue.name, cue.reason) for cue in open_result.cues] == [("site = 'north'", None)]
    result = scan_rows(rows, settings=ScanSettings(irrelevant=("site",)), seed=0)
    assert [(cue.name, cue.reason) for cue in result.artefacts] == [("site = 'north'", "declared")]
    assert result.candidates == ()
    first = re.sub(r"\d+", "N", headline(open_result))
    assert first == (
        "Found N candidate that tells the label and is yours to judge (“site = 'north'” for class “b”, N %); in "
        "balanced accuracy, where chance is N %. No artefact was found among the N single properties that the scan "
        "knows; one of another kind, or one of less than N %, can still be there."
    )
    assert headline(result).startswith("Found 1 artefact that tells the label (“site = 'north'” for class “b”, 7")


def test_a_cue_for_one_of_many_classes_counts_against_the_rest() -> None:
    result = scan_rows(_sites(np.random.default_rng(0), 4_000, classes=8), settings=SETTINGS, seed=0)
    cue = result.cues[0]
    assert (cue.name, cue.label) == ("site = 'north'", "b")
    assert cue.base_rate == pytest.approx(1 / 8, abs=0.02)
    assert cue.precision == pytest.approx(0.6 / (0.6 + 7 * 0.2), abs=0.05)
    assert cue.balanced == pytest.approx(0.7, abs=0.03)
    assert " of the rows of “b” carry it, against 20 % of the others; " in cue_sentence(cue, "")


def test_the_same_seed_gives_the_same_result_and_rows_in_another_order_the_same_cue() -> None:
    rows = _sites(np.random.default_rng(0))
    first, again = (scan_rows(rows, settings=SETTINGS, seed=4) for _ in range(2))
    assert first.cues == again.cues
    assert first.surface == again.surface
    turned = rows.taken(np.random.default_rng(1).permutation(len(rows)))
    other = scan_rows(turned, settings=SETTINGS, seed=4)
    assert [cue.name for cue in other.cues] == [cue.name for cue in first.cues]


def test_too_few_rows_cannot_tell() -> None:
    rows = _sites(np.random.default_rng(0), 100)
    result = scan_rows(rows, settings=SETTINGS, seed=0)
    assert not result.can_tell
    assert (result.cues, result.surface) == ((), None)
    assert headline(result).startswith("Cannot tell: of 100 rows no class has enough rows")
    assert result.notes == (
        "Not tested, with fewer than 60 rows, or rows of fewer than 30 groups, in the class or outside of it: a, b.",
    )
    assert reach_sentence(result) == ""


def test_few_groups_cannot_tell_however_many_rows_they_have() -> None:
    rows = replace(_sites(np.random.default_rng(0), 2_000), groups=np.arange(2_000) % 25)
    assert not scan_rows(rows, settings=SETTINGS, seed=0).can_tell


def test_few_groups_of_unequal_size_are_said_to_show_only_strong_cues() -> None:
    rng = np.random.default_rng(0)
    herds = np.repeat(np.arange(80), 4 + np.arange(80) // 4)
    rows = build_rows(herds % 2, 2, columns={"x": TableColumn("column", rng.normal(size=len(herds)))})
    result = scan_rows(replace(rows, groups=herds), settings=SETTINGS, seed=0)
    assert result.few_groups
    assert all(one.detectable is not None and one.detectable > 0.75 for one in result.classes)
    assert re.sub(r"\d+(?= %)", "N", reach_sentence(result)) == (
        "With 1,080 rows in 80 groups, an artefact of less than N % and a candidate of less than N % balanced accuracy "
        "can be missed. Rows of a group are alike, so with so few groups only stronger cues can be found. A cue that "
        "is not among the tested properties is not detected at all."
    )
    assert headline(result).startswith("Nothing found: none of the ")
    assert " a cue of another kind, or with so few groups one of less than " in headline(result)


def test_cues_of_any_strength_can_be_missed_in_some_classes_or_in_all() -> None:
    facts = ScanFacts((), None, (ClassSize("a", 90, 1.0, 0.7), ClassSize("b", 90, 0.8, 0.7)), 180, 20, 9, ())
    facts = replace(facts, few_groups=True)
    assert reach_sentence(facts).startswith(
        "With 180 rows in 20 groups, an artefact of less than 70 % and a candidate of less than 80 % balanced accuracy "
        "(in some classes of any strength) can be missed. Rows of a group"
    )
    none = replace(facts, classes=(ClassSize("a", 90, 1.0, 1.0), ClassSize("b", 90, 1.0, 1.0)))
    assert reach_sentence(none).startswith("With 180 rows in 20 groups, a cue of any strength can be missed. ")
    assert "a cue of another kind, or with so few groups one of any strength, can still be there" in headline(none)
    assert ClassSize("a", 90, 0.6).reach_of_artefacts == 0.6  # a result of an earlier version


def test_no_row_is_refused() -> None:
    rows = build_rows(np.zeros(0, dtype=np.int64))
    with pytest.raises(
        InvalidInputError, match="the scan received no row with a label; give at least one set with labels"
    ):
        scan_rows(rows, settings=SETTINGS, seed=0)


def test_a_large_set_is_sampled() -> None:
    rows = _sites(np.random.default_rng(0), 3_000)
    result = scan_rows(rows, settings=ScanSettings(most_rows=1_000), seed=0)
    assert result.rows == 1_000
    assert result.notes == ("Of 3,000 rows a random sample of 1,000 was scanned.",)
    assert result.cues[0].name == "site = 'north'"


def test_a_file_sorted_by_label_is_said_and_its_order_is_no_cue() -> None:
    rows = _sites(np.random.default_rng(0))
    ordered = rows.taken(np.argsort(rows.labels, kind="stable"))
    result = scan_rows(replace(ordered, order=np.arange(len(rows)) * 1.0), settings=SETTINGS, seed=0)
    assert result.notes == ("The file is sorted by label, so the order of the rows was not tested.",)
    assert [cue.name for cue in result.cues] == ["site = 'north'"]


def test_a_class_that_was_oversampled_by_copies_is_named() -> None:
    rng = np.random.default_rng(0)
    rows = build_rows(draw_labels(rng, 900), texts={"text": draw_texts(rng, 900)})
    copied = rng.choice(np.flatnonzero(rows.labels == 1), 200, replace=False)
    whole = rows.taken(rng.permutation(np.append(np.arange(900), copied)))
    result = scan_rows(replace(whole, order=np.arange(len(whole)) * 1.0), settings=SETTINGS, seed=0)
    cue = result.cues[0]
    assert (cue.name, cue.label, cue.rows) == ("has a near copy among the rows", "b", 400)
    assert cue.share_of_rest == 0.0


def test_the_tables_have_a_row_per_cue_and_per_carrier() -> None:
    rows = _sites(np.random.default_rng(0))
    result = scan_rows(rows, settings=SETTINGS, seed=0)
    table = surface_cues(result.cues)
    assert table.schema == SURFACE_CUES
    assert table.to_pylist()[0]["name"] == "site = 'north'"
    carried = cue_rows(result)
    assert carried.schema == CUE_ROWS
    north = [row for row, value in enumerate(rows.columns["site"].values) if value == "north"]
    assert set(carried["set"].to_pylist()) == {"all rows"}
    assert carried["row_id"].to_pylist() == north
    json.dumps(table.to_pylist())


def test_features_are_scanned_by_name() -> None:
    rng = np.random.default_rng(0)
    labels = draw_labels(rng, 1_000)
    features = rng.normal(size=(1_000, 3)).astype(np.float32)
    features[:, 1] += 1.5 * labels
    table = pa.table(
        {
            "row_id": np.arange(1_000),
            "source_id": [f"{row:016x}" for row in range(1_000)],
            "split": ["train"] * 1_000,
            "label": labels,
            "features": pa.array(features.tolist(), pa.list_(pa.float32())),
        }
    )
    examples = Examples(table, ("no", "yes"))
    rows = rows_of_examples(examples, feature_names=("age", "dose", "weight"))
    assert list(rows.columns) == ["age", "dose", "weight"]
    assert rows.ids is None
    result = scan_examples(examples, settings=SETTINGS, seed=0, feature_names=("age", "dose", "weight"))
    assert {cue.name.split(" at ")[0] for cue in result.cues} == {"dose"}
    assert result.artefacts == ()


@pytest.mark.parametrize(("others", "name"), [(0.15, "x is missing"), (0.60, "x is given")])
def test_a_property_of_half_of_the_rows_is_named_and_of_most_its_lack(others: float, name: str) -> None:
    rng = np.random.default_rng(3)
    labels = draw_labels(rng, 1_200)
    values = np.where(rng.random(1_200) < np.where(labels == 1, 0.95, others), np.nan, rng.normal(size=1_200))
    result = scan_rows(build_rows(labels, columns={"x": TableColumn("column", values)}), settings=SETTINGS, seed=0)
    assert (np.isnan(values).mean() > 0.5, result.cues[0].name) == (True, name)


@pytest.mark.parametrize("standardised", [False, True])
def test_features_are_scanned_as_the_source_writes_them(standardised: bool) -> None:
    """Float32 keeps six digits, and a standardised column is brought back to its units."""
    rng = np.random.default_rng(0)
    labels = draw_labels(rng, 2_000)
    inches = rng.random(2_000) < np.where(labels == 1, 0.6, 0.05)
    lengths = np.where(inches, np.rint(rng.integers(4, 40, 2_000) * 25.4), rng.integers(100, 1_000, 2_000))
    matrix = np.column_stack([lengths, np.round(rng.normal(0.5, 0.1, 2_000), 2)])
    table = pa.table(
        {
            "row_id": np.arange(2_000),
            "source_id": [f"{row:016x}" for row in range(2_000)],
            "split": ["train"] * 2_000,
            "label": labels,
            "features": pa.array(matrix.astype(np.float32).tolist(), pa.list_(pa.float32())),
        }
    )
    examples = Examples(table, ("no", "yes"))
    scale = Scale.of(examples) if standardised else None
    scanned = examples if scale is None else scale.applied(examples)
    rows = rows_of_examples(scanned, feature_names=("length", "weight"), scale=scale)
    for place, one in enumerate(rows.columns.values()):
        assert np.array_equal(np.asarray(one.values), matrix[:, place])
    result = scan_examples(scanned, settings=SETTINGS, seed=0, feature_names=("length", "weight"), scale=scale)
    assert result.cues[0].name == "length is a whole number of inches (25.4 mm)"
    assert result.cues[0].label == "yes"


def test_texts_of_a_pair_have_the_names_of_the_source() -> None:
    rng = np.random.default_rng(2)
    table = _table(rng, "train", 1_500, 0, (0.05, 0.5))
    pairs = Examples(table.append_column("text_pair", pa.array(draw_texts(rng, 1_500))), ("no", "yes"))
    names = {"text": "premise", "text_pair": "hypothesis"}
    result = scan_examples(pairs, settings=SETTINGS, seed=0, text_names=names)
    assert result.artefacts[0].name == "ellipsis sign (…) (premise)"
    assert result.artefacts[0].properties[0].source == "premise"
    assert list(rows_of_examples(pairs, text_names=names).texts) == ["premise", "hypothesis"]
    alike = {"text": "answer", "text_pair": "answer"}
    assert list(rows_of_examples(pairs, text_names=alike).texts) == ["text", "text_pair"]


def _lengths(rng: np.random.Generator, values: np.ndarray, labels: np.ndarray) -> ScanRows:
    columns = {"length": TableColumn("column", values), "x": TableColumn("column", rng.normal(size=len(labels)))}
    return build_rows(labels, 2, columns=columns)


def test_a_unit_that_was_converted_is_an_artefact() -> None:
    rng = np.random.default_rng(3)
    labels, values = draw_labels(rng, 2_000, [0.5, 0.5]), np.round(rng.normal(600, 150, 2_000))
    converted = (labels == 1) & (rng.random(2_000) < 0.5)
    values[converted] = np.round(np.round(values[converted] / 25.4) * 25.4)
    result = scan_rows(_lengths(rng, values, labels), settings=SETTINGS, seed=0)
    assert (result.verdict, result.artefacts[0].kind) == ("artefact", "conversion")
    assert result.artefacts[0].name == "length is a whole number of inches (25.4 mm)"
    assert headline(result).startswith("Found 1 artefact that tells the label (“length is a whole number of inches")


def test_a_usual_size_that_is_a_whole_number_of_another_unit_is_none() -> None:
    rng = np.random.default_rng(4)
    labels = draw_labels(rng, 2_000, [0.5, 0.5])
    values = np.round(np.where(labels == 1, rng.normal(609.6, 2, 2_000), rng.normal(600, 150, 2_000)))
    result = scan_rows(_lengths(rng, values, labels), settings=SETTINGS, seed=0)
    assert {cue.kind for cue in result.cues} >= {"column", "conversion"}
    assert (result.verdict, result.artefacts) == ("candidates", ())


def _candidate(kind: str, precision: float, base: float) -> Cue:
    properties = (CueProperty(kind, "the name", "source"),)
    return Cue(
        0, "the name", kind, None, "late", 600, 0.7, 0.01, precision, base, 0.8, 0.75, 0.85, 0.001,
        properties=properties, tested_rows=300, tested_precision=precision,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "precision", "base", "remark"),
    [
        ("column", 0.94, 0.17, "nearly every carrier is of one class (94 % of the tested ones)"),
        ("words", 0.97, 0.5, "nearly every carrier is of one class (97 % of the tested ones): were labels made from "
         "this word?"),
        ("length", 0.97, 0.5, "nearly every carrier is of one class (97 % of the tested ones): how did these rows "
         "come about?"),
        ("words", 0.94, 0.5, ""),
        ("column", 0.89, 0.17, ""),
        ("column", 0.97, 0.95, ""),  # which nearly every row is
    ],
)  # fmt: skip
def test_a_candidate_whose_carriers_are_of_one_class_gets_a_remark(
    kind: str, precision: float, base: float, remark: str
) -> None:
    cue = _candidate(kind, precision, base)
    assert purity_sentence(cue) == remark
    assert purity_sentence(replace(cue, reason="declared")) == ""
    end = f"{remark[:1].upper()}{remark[1:]}".rstrip("?")
    assert cue_sentence(cue, remark).rstrip("?.").endswith(end or "of all rows")


def test_a_property_that_is_named_by_its_lack_has_the_precision_of_the_rows_without_it() -> None:
    rng = np.random.default_rng(0)
    labels = draw_labels(rng, 1_200)
    has = (labels == 0) | (rng.random(1_200) < 0.4)
    drawn = draw_texts(rng, 1_200)
    texts = [text.replace(" ", " seen ", 1) if own else text for text, own in zip(drawn, has.tolist(), strict=True)]
    result = scan_rows(build_rows(labels, 2, texts={"text": texts}), settings=SETTINGS, seed=0)
    cue = next(cue for cue in result.cues if "seen" in cue.name)
    assert cue.name == "without the word 'seen' (text)"
    assert (cue.label, cue.precision, cue.tested_precision) == ("b", 1.0, 1.0)
    assert cue.tested_rows == pytest.approx(cue.rows / 2, rel=0.15)


def test_the_order_of_two_parts_of_a_text_is_found_by_their_lengths() -> None:
    rng = np.random.default_rng(0)
    labels = draw_labels(rng, 1_500)
    words = np.array([f"word{number}" for number in range(400)])
    long, short = (
        [" ".join([*rng.choice(words, count), "end."]) for count in rng.integers(*ends, 1_500)]
        for ends in ((9, 16), (3, 7))
    )
    turned = (rng.random(1_500) < 0.5) & (labels == 1)
    texts = [
        f"{second} {first}" if own else f"{first} {second}"
        for first, second, own in zip(long, short, turned, strict=True)
    ]
    result = scan_rows(build_rows(labels, 2, texts={"review": texts}), settings=SETTINGS, seed=0)
    assert result.verdict == "candidates"
    assert (result.carriers[:, 0] == turned).all()
    assert "sentence of review" in result.cues[0].name
    assert result.notes[-1].startswith("Texts of 'review' have several sentences. Of their order only the lengths of ")
    pair = build_rows(labels, 2, texts={"review": texts, "other": texts[::-1]})
    assert not any("several sentences" in note for note in scan_rows(pair, settings=SETTINGS, seed=0).notes)


def test_where_nothing_is_found_the_kinds_of_properties_are_named() -> None:
    rng = np.random.default_rng(1)
    columns = {
        "x": TableColumn("column", rng.normal(size=400)),
        "day": TableColumn("column", ["2026-01-02"] * 200 + ["2026-01-03"] * 200),
    }
    result = scan_rows(build_rows(draw_labels(rng, 400), 2, columns=columns), settings=SETTINGS, seed=0)
    assert result.kinds == ("column", "date", "order")
    assert headline(result) == (
        f"Nothing found: none of the {result.properties} single properties that the scan knows tells a class by "
        f"itself; a cue of another kind, or one of less than {100 * result.reach:.0f} %, can still be there. "
        "Tested: columns, dates and the order of the file."
    )
    assert result.reach == pytest.approx(0.645, abs=0.01)
    assert not result.few_groups
    assert reach_sentence(result) == (
        f"With 400 rows, a cue of less than {100 * result.reach:.0f} % balanced accuracy can be missed. A cue that is "
        "not among the tested properties is not detected at all."
    )
