"""What is said of words where filtering took cues, where it chose at random, and where nothing can be said."""

import re

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.data.synthetic.template_nli import LABELS, template_nli
from aflite_assets.specs.sources import TemplateNliSource
from aflite_assets.stages.evaluation.word_evidence import word_tables
from tests.filtered_rows import filtered

CUES = {"indeed", "incidentally", "actually", "not"}


@pytest.fixture(scope="module")
def raw() -> Examples:
    """1,500 sentence pairs, 60 % with a planted cue, and 100 test rows."""
    source = TemplateNliSource(format="template_nli", splits={"train": 1500, "test": 100}, planted_share=0.6, seed=0)
    tables = [
        table.append_column("split", pa.array([split] * table.num_rows))
        for split, table in template_nli(source).items()
    ]
    table = pa.concat_tables(tables)
    labels = pa.array([LABELS.index(name) for name in table["label"].to_pylist()], pa.int64())
    table = table.set_column(table.column_names.index("label"), "label", labels)
    return Examples(table.append_column("row_id", pa.array(range(table.num_rows), pa.int64())), LABELS)


def kept_at_random(raw: Examples, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(len(raw)) < 0.4


def without_cues(raw: Examples) -> np.ndarray:
    """Rows without a cue, and one in forty of the others."""
    cued = np.array(raw.table["cue"].to_pylist()) != "none"
    return np.asarray(~cued | (np.arange(len(raw)) % 40 == 0))


def test_words_of_planted_cues_are_fewer_than_in_any_random_set(raw: Examples) -> None:
    (over_line,) = word_tables(filtered(raw, without_cues(raw)), raw, seed=0)
    assert over_line.title == "Words over the line (net)"
    *classes, together = over_line.table.to_pylist()
    assert [row["label_name"] for row in classes] == list(LABELS)
    assert together["label_name"] == "all classes"
    assert (together["words_full"], together["random_least"]) == (len(CUES), len(CUES))
    assert together["words_kept"] == sum(row["words_kept"] for row in classes) < 4
    assert set(over_line.table["line"].to_pylist()) == {together["line"]}
    assert (
        "Of all train rows it is 4. Of 99 random sets with as many rows of each class as were kept it is 4 "
        in over_line.caption
    )
    assert f"Of the kept rows it is {together['words_kept']}: fewer than in any random set" in over_line.caption


def _mean_z(caption: str) -> tuple[float, ...]:
    """The mean z among all train rows, among random ones, the least and the most of these, and among the kept ones."""
    found = re.search(
        r"a mean of ([\d.]+) among all train rows\. Among random rows it is ([\d.]+) \(([\d.]+) to ([\d.]+)\), and "
        r"among the kept ones ([\d.]+), ",
        caption,
    )
    assert found is not None
    return tuple(map(float, found.groups()))


def test_the_mean_z_of_planted_cues_drops_beyond_random(raw: Examples) -> None:
    (over_line,) = word_tables(filtered(raw, without_cues(raw)), raw, seed=0)
    full, random, least, _, kept = _mean_z(over_line.caption)
    assert full - random > 4  # fewer rows alone do this
    assert least - kept > 4
    assert "lower than in any random set, which by chance happens at most one time in 100" in over_line.caption


def test_rows_kept_at_random_show_nothing(raw: Examples) -> None:
    (over_line,) = word_tables(filtered(raw, kept_at_random(raw, 0)), raw, seed=0)
    full, random, least, most, kept = _mean_z(over_line.caption)
    assert full - random > 4
    assert least <= kept <= most
    assert "within the range of the random sets. Nothing can be concluded about filtering." in over_line.caption
    assert "within the range of the random sets, so nothing can be concluded from this count." in over_line.caption
    assert "lower than in any" not in over_line.caption
    assert "fewer than in any" not in over_line.caption


def test_cues_that_were_kept_are_said_to_be(raw: Examples) -> None:
    cued = np.array(raw.table["cue"].to_pylist()) == "hypothesis_word"
    (over_line,) = word_tables(filtered(raw, cued | kept_at_random(raw, 1)), raw, seed=0)
    _, _, _, most, kept = _mean_z(over_line.caption)
    assert kept > most
    assert "higher than in any random set: among the rows that filtering kept these words are tied" in over_line.caption


def test_without_a_word_over_the_line_nothing_is_concluded(raw: Examples) -> None:
    plain = Examples(raw.table.filter(pa.compute.equal(raw.table["cue"], "none")), LABELS)
    (over_line,) = word_tables(filtered(plain, kept_at_random(plain, 2)), plain, seed=0)
    assert "No word exceeds it among all train rows, so nothing can be concluded" in over_line.caption
    assert over_line.table["words_full"].to_pylist() == [0] * 4
    assert "Sets of this size show no word over the line, whichever rows they contain." in over_line.caption


def test_draws_come_from_the_seed(raw: Examples) -> None:
    one = filtered(raw, without_cues(raw))
    first, again, other = (next(word_tables(one, raw, seed=seed)) for seed in (0, 0, 1))
    assert (first.table, first.caption) == (again.table, again.caption)
    assert first.table["words_kept"].equals(other.table["words_kept"])
    assert _mean_z(first.caption)[1:4] != _mean_z(other.caption)[1:4]


def test_rows_that_left_in_groups_are_compared_with_care(raw: Examples) -> None:
    (over_line,) = word_tables(filtered(raw, without_cues(raw), remove="groups"), raw, seed=0)
    assert over_line.caption.endswith("differ less than they should; draw conclusions with care.")


def test_rows_without_texts_or_words_have_no_tables(raw: Examples) -> None:
    features = raw.table.drop_columns(["text", "text_pair"]).append_column("features", pa.array([[0.0]] * len(raw)))
    one = filtered(raw, kept_at_random(raw, 0))
    assert list(word_tables(one, Examples(features, LABELS), seed=0)) == []
    rare = Examples(raw.table.slice(0, 10), LABELS)
    assert list(word_tables(filtered(rare, np.ones(10, bool)), rare, seed=0)) == []
