"""The verdict in words, from planted benchmarks with planted starting scores."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.algorithm import ChanceScores
from aflite_assets.reports.inputs.cues import Cue
from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.sentences.verdict import verdict_json, verdict_text, verdict_texts
from aflite_assets.reports.tables.verdict_evidence import starting_excess, strongest_verdict

WORD = Cue("word", "text_pair", "not", "contradiction", 0.9, 500, 400, 0.5, 0.3, 1e-9, 1e-8, True)
HINT = replace(WORD, name="text", counts=False)


def started(data: BenchmarkData, *, bias: float = 0.75, chance: float = 0.34, copies: int = 4) -> BenchmarkData:
    """With scores of the first iteration of mean `bias`, and passes over permuted labels of mean `chance`."""
    filtered = data.filtered[0]
    rows = filtered.rows
    share = np.clip(bias + 0.2 * np.sin(np.arange(len(rows))), 0, 1).astype(np.float32)
    share += np.float32(bias) - share.mean()
    scores = pa.table({"row_id": rows["row_id"], "predictability": share})
    passes = ChanceScores(chance + np.linspace(-0.01, 0.01, 20), np.full((20, 3), chance), len(rows) * copies)
    return replace(data, filtered=(replace(filtered, first_scores=scores, chance=passes), *data.filtered[1:]))


def with_cues(data: BenchmarkData, *cues: Cue) -> BenchmarkData:
    return replace(data, cues={"roberta": cues})


def test_nothing_found_is_said_in_one_line(planted: BenchmarkData) -> None:
    text = verdict_text(started(planted, bias=0.33), "roberta")
    assert text.code == "nothing_found"
    assert text.sentence == (
        "Nothing found: linear classifiers predict 33.0 % of the rows, and with shuffled labels 34.0 %. They learn "
        "nothing from these features, neither a shortcut nor the task."
    )
    assert (
        text.details[-1].text
        == "Use: nothing speaks for fewer rows. If models should learn from this, check its labels and features first."
    )


def test_a_planted_word_is_named_with_what_it_does_and_what_it_gains(planted: BenchmarkData) -> None:
    text = verdict_text(with_cues(started(planted), WORD), "roberta")
    assert text.code == "shortcut_found_helps"
    assert text.sentence == (
        "Shortcut found, and filtering helps: the word “not” of text_pair, with contradiction in 90.0 % of its 500 "
        "rows, marks 50.0 % of the removed rows and 30.0 % of as many random ones; “linear” "
        "is 11.0 points above random on “hans”."
    )
    removed, costs, gains, use = (detail.text for detail in text.details)
    assert removed == "Removed: 798 of 1,200 train rows (66.5 %); they are marked by the word “not” of text_pair."
    assert costs.startswith(
        "Against all rows: trained on filtered instead of full, “linear” is 2.0 points below (95 % ["
    )
    assert gains.startswith(
        "Against as many random rows: trained on filtered instead of random, “linear” is 11.0 points above (95 % ["
    )
    assert ". Instead of all rows it is 9.0 points above (95 % [" in gains
    assert use == "Use: filtered for training where the shortcut is absent or misleads, all rows where it holds."


def test_where_all_rows_are_better_still_they_are_recommended(planted: BenchmarkData, done_cell: Any) -> None:
    sets = planted.test_sets
    better = [
        done_cell(sets, (0.9, 0.6, 0.9), evaluator="linear", train_set="full", seed=seed, train_rows=1_200)
        for seed in range(3)
    ]
    cells = [cell for cell in planted.cells if (cell.evaluator, cell.train_set) != ("linear", "full")]
    text = verdict_text(with_cues(started(replace(planted, cells=(*cells, *better))), WORD), "roberta")
    assert text.details[-1].text.startswith("Use: all rows for training, since they are better still on hans")


def test_hints_are_no_shortcut_but_are_named(planted: BenchmarkData) -> None:
    easy = replace(planted, test_sets=tuple(test for test in planted.test_sets if not test.challenge))
    text = verdict_text(with_cues(started(easy), HINT), "roberta")
    assert text.code == "learnable_no_shortcut_shown"
    assert text.sentence.endswith("The task may simply be easy.")
    pure = verdict_text(with_cues(started(easy), replace(HINT, class_share=0.99)), "roberta")
    assert pure.sentence.endswith(
        "But look at the word “not” of text, with contradiction in 99.0 % of its 500 rows: if it should not matter, it "
        "is a shortcut."
    )
    assert "they are marked by the word “not” of text, which may be the task itself" in text.details[0].text


def test_help_that_cannot_be_judged_is_said(planted: BenchmarkData) -> None:
    pooled = tuple(replace(test, pooled=True) for test in planted.test_sets if not test.challenge)
    text = verdict_text(with_cues(started(replace(planted, test_sets=pooled)), WORD), "roberta")
    assert text.code == "shortcut_found"
    assert text.sentence.endswith("whether filtering helps cannot be judged, as all test rows took part in the filter.")
    assert "hold rows out of the filter (evaluation_rows: kept)" in text.details[-1].text


def test_one_seed_without_a_shortcut_cannot_tell(planted: BenchmarkData) -> None:
    one = replace(planted, cells=tuple(cell for cell in planted.cells if cell.seed == planted.cells[0].seed))
    text = verdict_text(started(one), "roberta")
    assert text.code == "cannot_tell"
    assert text.sentence == (
        "Cannot tell: the rows are predictable, no shortcut is shown, and the primary comparison (linear on hans) has "
        "1 seed. At least 2 seeds would settle it."
    )


def test_a_wide_interval_says_how_many_rows_would_do(planted: BenchmarkData) -> None:
    data = started(planted, bias=0.38)
    filtered = data.filtered[0]
    few = replace(filtered, rows=filtered.rows.slice(0, 100))
    text = verdict_text(replace(data, filtered=(few,)), "roberta")
    assert text.code == "cannot_tell"
    assert text.sentence.startswith("Cannot tell: of 100 rows linear classifiers predict ")
    assert text.sentence.endswith(" rows would settle it.")


def test_results_without_chance_say_so(planted: BenchmarkData) -> None:
    assert starting_excess(planted.filtered[0]) is None
    assert "materialise filtered_sets again" in verdict_text(planted, "roberta").sentence


def test_the_json_has_code_sentence_and_evidence(planted: BenchmarkData) -> None:
    written: Any = verdict_json(with_cues(started(planted), WORD))
    assert (written["code"], written["representation"]) == ("shortcut_found_helps", "roberta")
    assert written["evidence"]["bias"]["rows"]["difference"] == pytest.approx(41.0, abs=0.01)
    assert written["evidence"]["cues"][0]["value"] == "not"
    assert written["evidence"]["primary"]["difference"] == pytest.approx(11.0)
    assert written["sentence"] == verdict_text(with_cues(started(planted), WORD), "roberta").sentence
    assert verdict_json(replace(planted, filtered=(), cells=())) is None


def test_the_strongest_verdict_stands_first(planted: BenchmarkData) -> None:
    easy = started(planted, bias=0.33)
    both = replace(easy, filtered=(*easy.filtered, replace(started(planted).filtered[0], representation="other")))
    marked = replace(both, cues={"other": (WORD,)})
    assert strongest_verdict(marked) == "other"
    assert [text.representation for text in verdict_texts(marked)] == ["other", "roberta"]


def test_hostile_words_are_one_short_line(planted: BenchmarkData) -> None:
    hostile = replace(WORD, value="<script>\u202e\n" + "x" * 200, label_name="<b>\n")
    sentence = verdict_text(with_cues(started(planted), hostile), "roberta").sentence
    assert "\n" not in sentence
    assert "\u202e" not in sentence
    assert len(sentence) < 300
