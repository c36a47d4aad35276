"""Verdicts that cannot tell: an encoder that learnt nothing, groups that hold their labels, too wide an interval."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.inputs.records import BenchmarkData
from tests.reports.sentences.test_verdict import WORD, alike, started, verdict_text, with_cues


def test_an_encoder_that_learnt_nothing_is_named_first(planted: BenchmarkData) -> None:
    data = started(alike(planted))
    (filtered,) = data.filtered
    assert filtered.chance is not None
    labels = filtered.rows["label"].to_numpy()
    given = np.where(np.arange(len(labels)) % 2, 0.31, 0.35).astype(np.float32)
    place = filtered.rows.column_names.index("label_probability")
    rows = filtered.rows.set_column(place, "label_probability", pa.array(given))
    chance = replace(filtered.chance, class_probability=np.full((20, 3), 1 / 3))
    text = verdict_text(replace(data, filtered=(replace(filtered, rows=rows, chance=chance),)), "roberta")
    assert text.code == "cannot_tell"
    assert text.sentence == (
        "Cannot tell: this encoder learnt nothing beyond class shares. On average over classes a row's label gets "
        "33.0 %, and with shuffled labels 33.3 %."
    )
    advice = "Use: all rows. Train the encoder longer or on more warm-up rows, or take other features."
    assert text.details[-1].text == advice


def test_groups_that_hold_their_labels_are_no_basis(planted: BenchmarkData) -> None:
    data = started(planted)
    (filtered,) = data.filtered
    assert filtered.chance is not None
    held = replace(filtered, chance=replace(filtered.chance, moved=0.4))
    text = verdict_text(with_cues(replace(data, filtered=(held,)), WORD), "roberta")
    assert text.sentence == (
        "Cannot tell: groups of similar sizes share labels, so shuffling moves too few labels to show what chance "
        "gives."
    )


def test_a_wide_interval_says_how_many_rows_would_do(planted: BenchmarkData) -> None:
    data = started(planted, bias=0.38)
    filtered = data.filtered[0]
    few = replace(filtered, rows=filtered.rows.slice(0, 100))
    text = verdict_text(replace(data, filtered=(few,)), "roberta")
    assert text.code == "cannot_tell"
    assert text.sentence.startswith(
        "Cannot tell: linear classifiers predict the label of 38.1 % of 100 rows, and of 34.0 % "
    )
    assert text.sentence.endswith(" rows in all would settle it.")


def test_groups_of_unequal_size_are_counted_beside_their_effective_number(planted: BenchmarkData) -> None:
    data = started(alike(planted))
    sizes = [150, 60, 30, 30, 20, 10]  # 300 rows, which count like 300**2 / 28,400 = 3.2 groups of equal size
    herds = [replace(one, groups=np.repeat(np.arange(6), sizes)) if one.challenge else one for one in data.test_sets]
    text = verdict_text(replace(data, test_sets=tuple(herds)), "roberta")
    assert text.code == "cannot_tell"
    assert text.sentence.endswith(
        "the comparison with random rows (linear on hans) has 3 effective test groups (6 groups of unequal size). At "
        "least 10 test groups of equal size would settle it."
    )
    even = [replace(one, groups=np.arange(300) % 6) if one.challenge else one for one in data.test_sets]
    text = verdict_text(replace(data, test_sets=tuple(even)), "roberta")
    assert text.sentence.endswith("has 6 test groups. At least 10 test groups would settle it.")
