"""The verdict in words, from planted benchmarks with planted starting scores."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.algorithm import ChanceScores
from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.filtering_verdict import starting_excess
from aflite_assets.analysis.inputs.cues import RemovedCue
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.inputs.source_rows import NO_SOURCE, SourceRows
from aflite_assets.analysis.scores.questions import question_counts, questions_of
from aflite_assets.data.examples import Examples
from aflite_assets.reports.sentences.summary import findings
from aflite_assets.reports.sentences.verdict import VerdictText, verdict_json, verdict_texts
from tests.planted_leanings import leaning_inputs
from tests.planted_reports import ACCURACIES, done_cell, hans

WORD = RemovedCue("word", "text_pair", "not", "contradiction", 0.9, 500, 400, 0.5, 0.3, 1e-9, 1e-8)


def verdict_text(data: BenchmarkData, representation: str) -> VerdictText:
    return next(one for one in verdict_texts(analyse(data)) if one.representation == representation)


def started(data: BenchmarkData, *, bias: float = 0.75, chance: float = 0.34, copies: int = 4) -> BenchmarkData:
    """With scores of the first iteration of mean `bias`, and passes over permuted labels of mean `chance`."""
    filtered = data.filtered[0]
    rows = filtered.rows
    share = np.clip(bias + 0.2 * np.sin(np.arange(len(rows))), 0, 1).astype(np.float32)
    share += np.float32(bias) - share.mean()
    scores = pa.table({"row_id": rows["row_id"], "predictability": share})
    passes = ChanceScores(chance + np.linspace(-0.01, 0.01, 20), np.full((20, 3), chance), len(rows) * copies)
    return replace(data, filtered=(replace(filtered, first_scores=scores, chance=passes), *data.filtered[1:]))


def with_cues(data: BenchmarkData, *cues: RemovedCue) -> BenchmarkData:
    return replace(data, cues={"roberta": cues})


def with_shortcut(data: BenchmarkData, *cues: RemovedCue) -> BenchmarkData:
    """With these cues of removed rows, and a declared attribute that models lean on."""
    return replace(with_cues(data, *cues), leanings=(leaning_inputs(data),))


def beginning(text: VerdictText, word: str) -> str:
    """The detail that begins with this word."""
    (found,) = (one.text for one in text.details if one.text.startswith(word))
    return found


LEANS = (
    "models lean on the attribute mark, declared irrelevant: “linear” follows it to wrong classes 50.0 points more "
    "often, and 0.0 after training on rows in which it goes with no class"
)
MEND = (
    "Use: first rebalance the rows, or collect others, so that the attribute mark is as frequent in every class. "
    "Models do not read an attribute, so leaving it out changes nothing. Then "
)


def test_nothing_found_is_said_in_one_line(planted: BenchmarkData) -> None:
    text = verdict_text(started(alike(planted), bias=0.33), "roberta")
    assert text.code == "nothing_found"
    assert text.sentence == (
        "Nothing found: linear classifiers predict the label of 33.0 % of the rows, and of 34.0 % if labels "
        "are shuffled. They learn nothing from these features, neither a shortcut nor the task."
    )
    assert (
        text.details[-1].text
        == "Use: there is no reason to use fewer rows than all. If models should learn from this, check its labels "
        "and features first."
    )


NUMBERED = replace(WORD, rows=40, removed_rows=38, share_removed=0.05, share_expected=0.02)


def barely(planted: BenchmarkData) -> BenchmarkData:
    """A bias of 35.5 %, surely over that of shuffled labels, 34 %, and surely less than 2 points over it."""
    (filtered,) = planted.filtered
    rows = filtered.rows
    share = np.where(np.arange(len(rows)) % 2, 0.325, 0.385).astype(np.float32)
    scores = pa.table({"row_id": rows["row_id"], "predictability": share})
    passes = ChanceScores(0.34 + np.linspace(-0.0005, 0.0005, 20), np.full((20, 3), 0.34), len(rows))
    return replace(planted, filtered=(replace(filtered, first_scores=scores, chance=passes),))


def alike(planted: BenchmarkData) -> BenchmarkData:
    """Without a gain: filtered has the predictions of random."""
    cells = [cell for cell in planted.cells if cell.evaluator == "linear" and cell.train_set != "filtered"]
    filtered = [replace(cell, train_set="filtered") for cell in cells if cell.train_set == "random"]
    return replace(planted, cells=(*cells, *filtered))


def test_a_bias_just_over_shuffled_labels_is_not_nothing_learnt(planted: BenchmarkData) -> None:
    text = verdict_text(barely(alike(planted)), "roberta")
    assert text.code == "nothing_found"
    assert text.sentence == (
        "Nothing found: linear classifiers predict the label of 35.5 % of the rows, and of 34.0 % if labels "
        "are shuffled. That is less "
        "than 2 points more."
    )
    assert text.details[-1].text.startswith("Use: there is no reason to use fewer rows than all.")


def test_where_nothing_is_found_what_is_shown_all_the_same_is_said(planted: BenchmarkData) -> None:
    gain = "“linear” gains 11.0 points on “hans”"
    more = {"less than 2 points more": barely(planted), "no significant difference": started(planted, bias=0.33)}
    for much, data in more.items():
        gained = verdict_text(with_cues(data, NUMBERED), "roberta")
        assert gained.code == "nothing_found"
        assert gained.sentence.endswith(f"That is {much}. `filtered` is nevertheless better than its control: {gain}.")
        assert gained.details[-1].text == f"Use: all rows. Against as many random rows, {gain}."
    assert verdict_text(with_shortcut(barely(alike(planted))), "roberta").code == "shortcut_found"


def test_a_cue_of_removed_rows_changes_no_verdict(planted: BenchmarkData) -> None:
    def by_class(data: BenchmarkData) -> BenchmarkData:
        (filtered,) = started(data).filtered
        assert filtered.chance is not None
        passes = replace(filtered.chance, class_bias=np.full((20, 3), 0.76))
        return replace(data, filtered=(replace(filtered, chance=passes),))

    plain = verdict_text(by_class(alike(planted)), "roberta")
    assert plain.code == "class_balance_only"
    assert plain.sentence.endswith(
        "but within a class no more than with shuffled labels. The class explains what was removed."
    )
    assert plain.details[-1].text.endswith("Filtering does no more.")
    assert verdict_text(by_class(with_cues(alike(planted), NUMBERED)), "roberta").sentence == plain.sentence


def test_a_planted_word_is_named_with_what_it_does_and_what_it_gains(planted: BenchmarkData) -> None:
    text = verdict_text(with_shortcut(started(planted), WORD), "roberta")
    assert text.code == "shortcut_found_helps"
    assert text.sentence == (
        f"Shortcut found, and filtering helps: {LEANS}. Trained on filtered instead of random, “linear” gains 11.0 "
        "points on “hans”."
    )
    beside, removed, costs, gains, use = (detail.text for detail in text.details)
    assert beside.startswith(
        "Independent of the filter: as means over the classes, “linear” is right on 78.0 % of “test”, but on 55.0 % "
        "of “hans” ("
    )
    assert removed == (
        "Removed: 798 of 1,200 train rows (66.5 %). Removed more often than random rows of their classes: the word "
        "“not” of text_pair (500 rows, 20.0 % kept). This alone shows no shortcut."
    )
    assert costs.startswith(
        "Against all rows: trained on filtered instead of full, “linear” is 2.0 points below (95 % ["
    )
    assert gains.startswith(
        "Against as many random rows: trained on filtered instead of random, “linear” is 11.0 points above (95 % ["
    )
    assert ". Instead of all rows: 9.0 points above (95 % [" in gains
    assert use == (
        f"{MEND}filtered to train for rows like those of “hans”, all rows if the shortcut holds where you apply it."
    )


def test_what_it_costs_says_that_the_test_rows_were_filtered_too(planted: BenchmarkData) -> None:
    for pooled in (False, True):
        sets = tuple(replace(one, pooled=pooled and not one.challenge) for one in planted.test_sets)
        text = verdict_text(with_shortcut(started(replace(planted, test_sets=sets)), WORD), "roberta")
        cost, gain = beginning(text, "Against all"), beginning(text, "Against as many")
        assert cost.endswith("on “test” (these test rows were filtered too)." if pooled else "]) on “test”.")
        assert "pool" not in gain


def test_a_planted_length_is_named_with_its_numbers(planted: BenchmarkData) -> None:
    length = replace(
        WORD, kind="length", name="number of words of text", value="13 or more", class_shares=(0.02, 0.08, 0.9)
    )
    text = verdict_text(with_shortcut(started(planted), length), "roberta")
    assert text.code == "shortcut_found_helps"
    assert beginning(text, "Removed").endswith(
        "Removed more often than random rows of their classes: the number of words of text (13 or more; 500 rows, 90.0 "
        "% contradiction, 20.0 % kept). This alone shows no shortcut."
    )


def test_a_word_is_named_beside_the_text_and_the_length_that_it_tells(planted: BenchmarkData) -> None:
    alone = replace(WORD, kind="partial input", name="answer", value="", label_name=None, class_share=None)
    length = replace(WORD, kind="length", name="number of words of answer", value="13 or more")
    attribute = replace(WORD, kind="attribute", name="mark", value="x")
    text = verdict_text(with_shortcut(started(planted), alone, length, attribute, WORD), "roberta")
    assert (
        "rows whose label answer alone predicts (500 rows, 20.0 % kept), the number of words of answer (13 or more; "
        "500 rows, 20.0 % kept) and "
        "the word “not” of text_pair (500 rows, 20.0 % kept). This alone shows no shortcut. 1 more cue is in the table."
    ) in beginning(text, "Removed")


def test_rows_that_are_answers_are_counted_with_their_questions(planted: BenchmarkData) -> None:
    table = planted.examples.table
    table = table.append_column("group", pa.array(planted.examples.row_ids // 4))
    asked = replace(
        planted, examples=Examples(table, planted.label_names), source=SourceRows(NO_SOURCE.places, right=0)
    )
    assert question_counts(asked) == {"train": 350}
    assert question_counts(planted) == {}
    (filtered,) = asked.filtered
    train = filtered.rows["row_id"].to_numpy()
    assert (questions_of(asked, train[:6]), questions_of(planted, train)) == (2, None)
    removed = beginning(verdict_text(with_shortcut(started(asked), WORD), "roberta"), "Removed")
    assert removed.startswith("Removed: 798 of 1,200 train rows, answers of 300 questions (66.5 %). Removed")
    assert findings(analyse(asked))[0].startswith(
        "Filtering with representation roberta kept 402 of 1,200 train rows, answers of 300 questions (33.5 %) and"
    )


def test_of_many_lengths_one_is_named(planted: BenchmarkData) -> None:
    words = replace(WORD, kind="length", name="number of words of text_pair", value="13 or more")
    longest = replace(words, name="length of text_pair", value="longest of its question")
    text = verdict_text(with_shortcut(started(planted), words, WORD, longest), "roberta")
    assert beginning(text, "Removed").endswith(
        "Removed more often than random rows of their classes: the length of text_pair (longest of its question; 500 "
        "rows, 20.0 % kept) and the word “not” of text_pair (500 rows, 20.0 % kept). This alone shows no shortcut."
    )


def test_where_filtered_is_better_on_another_challenge_set_both_are_named(
    planted: BenchmarkData, done_cell: Any
) -> None:
    misleads = replace(next(one for one in planted.test_sets if one.challenge), name="misleads")
    shares = {"full": (0.9, 0.3), "random": (0.6, 0.3), "filtered": (0.8, 0.6)}
    cells = []
    for train_set, (on_hans, on_other) in shares.items():
        for seed in range(3):
            made = {"evaluator": "linear", "train_set": train_set, "seed": seed, "train_rows": 400}
            cell = done_cell(planted.test_sets, (0.8, 0.6, on_hans), **made)
            other = done_cell((misleads,), (0.0, 0.0, on_other), **made)
            cells.append(replace(cell, predictions=pa.concat_tables([cell.predictions, other.predictions])))
    both = replace(planted, cells=tuple(cells), test_sets=(*planted.test_sets, misleads))
    text = verdict_text(with_shortcut(started(replace(both, primary=("linear", "hans"))), WORD), "roberta")
    assert text.details[-1].text == (
        f"{MEND}filtered if the shortcut is misleading in your application, as on “misleads” (30.0 points above all "
        "rows). Use all rows elsewhere: on “hans” they are better still."
    )


def test_where_all_rows_are_better_still_they_are_recommended(planted: BenchmarkData, done_cell: Any) -> None:
    sets = planted.test_sets
    better = [
        done_cell(sets, (0.9, 0.6, 0.9), evaluator="linear", train_set="full", seed=seed, train_rows=1_200)
        for seed in range(3)
    ]
    cells = [cell for cell in planted.cells if (cell.evaluator, cell.train_set) != ("linear", "full")]
    text = verdict_text(with_shortcut(started(replace(planted, cells=(*cells, *better))), WORD), "roberta")
    assert text.details[-1].text.startswith(f"{MEND}all rows for training, since they are better still on “hans”. ")


def test_hints_are_no_shortcut_but_are_named(planted: BenchmarkData) -> None:
    easy = replace(planted, test_sets=tuple(test for test in planted.test_sets if not test.challenge))
    text = verdict_text(with_cues(started(easy), WORD), "roberta")
    assert text.code == "learnable_no_shortcut_shown"
    assert text.sentence.endswith(
        "Yours to judge: the word “not” of text_pair, with contradiction in 90.0 % of its 500 rows."
    )
    rarer = verdict_text(with_cues(started(easy), replace(WORD, class_share=0.85)), "roberta")
    assert rarer.sentence.endswith("No property was tested that could explain it.")
    pure = verdict_text(with_cues(started(easy), replace(WORD, class_share=0.99)), "roberta")
    assert pure.sentence.endswith(
        "Yours to judge: the word “not” of text_pair, with contradiction in 99.0 % of its 500 rows."
    )
    assert (
        "Removed more often than random rows of their classes: the word “not” of text_pair (500 rows, 20.0 % kept)."
        in beginning(text, "Removed")
    )


def test_words_that_always_stand_together_are_named_together(planted: BenchmarkData) -> None:
    easy = replace(planted, test_sets=tuple(test for test in planted.test_sets if not test.challenge))
    pure = replace(WORD, class_share=0.99)
    together = replace(pure, alike=("ever",)), replace(pure, value="ever", same_rows_as=pure.value)
    cues = (*together, replace(pure, value="rare", rows=40))
    text = verdict_text(with_cues(started(easy), *cues), "roberta")
    assert text.sentence.endswith(
        "Yours to judge: the word “not” (and “ever” in the same rows) of text_pair, with contradiction in 99.0 % of "
        "its 500 rows."
    )
    assert "the word “rare” of text_pair (40 rows" in beginning(text, "Removed")
    assert "“ever” of text_pair" not in beginning(text, "Removed")


def test_a_cue_is_counted_in_challenge_sets(planted: BenchmarkData) -> None:
    cue = replace(WORD, elsewhere=(("hans", 0.0), ("stress", 0.125)))
    text = verdict_text(with_shortcut(started(planted), cue), "roberta")
    assert "% kept; in no row of “hans”, in 12.5 % of “stress”)" in beginning(text, "Removed")


def test_help_that_cannot_be_judged_is_said(planted: BenchmarkData) -> None:
    pooled = tuple(replace(test, pooled=True) for test in planted.test_sets if not test.challenge)
    text = verdict_text(with_shortcut(started(replace(planted, test_sets=pooled)), WORD), "roberta")
    assert text.code == "shortcut_found"
    lack = "there is no challenge set; add one in which a shortcut is absent or misleads."
    assert text.sentence.endswith(f"Whether filtering helps cannot be judged: {lack}")
    assert text.details[-1].text.count(f"Whether other rows are better cannot be judged: {lack}") == 1


def test_gains_and_losses_are_both_named(planted: BenchmarkData) -> None:
    (*natural, first) = planted.test_sets
    second, third = (replace(first, name=name) for name in ("harder", "third"))
    shares = {"full": (0.5, 0.6, 0.5), "random": (0.5, 0.6, 0.5), "filtered": (0.7, 0.4, 0.5)}
    cells = []
    for name, on_sets in shares.items():
        for seed in range(3):
            made: dict[str, Any] = {"evaluator": "linear", "train_set": name, "seed": seed, "train_rows": 400}
            parts = [done_cell((*natural, first), (0.8, 0.6, on_sets[0]), **made)] + [
                done_cell((one,), (0.0, 0.0, share), **made)
                for one, share in zip((second, third), on_sets[1:], strict=True)
            ]
            tables = [one.predictions for one in parts if one.predictions is not None]
            cells.append(replace(parts[0], predictions=pa.concat_tables(tables)))
    data = replace(planted, test_sets=(*natural, first, second, third), cells=tuple(cells))
    text = verdict_text(with_shortcut(started(data), WORD), "roberta")
    assert text.code == "shortcut_found_mixed"
    assert text.sentence.startswith(
        "Shortcut found, and filtering helps on one set and harms on another: models lean on"
    )
    assert text.sentence.endswith(
        "Trained on filtered instead of random, “linear” gains 20.0 points on “hans”, but “linear” loses 20.0 points "
        "on “harder”; it is undecided on “third”."
    )
    assert text.details[-1].text == (
        f"{MEND}all rows for training, unless rows like those of “hans” are what matters to you."
    )


def other_evaluator(planted: BenchmarkData, *, learnt: bool) -> BenchmarkData:
    """`small`, which stands first and may have learnt nothing, and `linear` behind it."""
    linear = [cell for cell in planted.cells if cell.evaluator == "linear"]
    small = [replace(cell, evaluator="small") for cell in linear]
    if not learnt:
        small = [replace(cell, predictions=one_class(cell.predictions)) for cell in small]
    return replace(planted, cells=(*small, *linear))


def one_class(predictions: pa.Table | None) -> pa.Table:
    assert predictions is not None
    return predictions.set_column(2, "predicted", pa.array(np.zeros(predictions.num_rows, np.int64)))


def test_the_verdict_rests_on_a_model_that_learnt_something(planted: BenchmarkData) -> None:
    both = verdict_text(with_shortcut(started(other_evaluator(planted, learnt=True)), WORD), "roberta").sentence
    assert both.endswith("Trained on filtered instead of random, “small” gains 11.0 points on “hans”.")  # once per set
    torn = with_shortcut(started(other_evaluator(planted, learnt=False)), WORD)
    text = verdict_text(torn, "roberta")
    assert text.code == "shortcut_found_helps"
    assert text.sentence.endswith("Trained on filtered instead of random, “linear” gains 11.0 points on “hans”.")
    assert all("small" not in detail.text for detail in text.details)


def test_where_nobody_learnt_anything_help_cannot_be_judged(planted: BenchmarkData) -> None:
    torn = other_evaluator(planted, learnt=False)
    alone = replace(torn, cells=tuple(cell for cell in torn.cells if cell.evaluator == "small"))
    text = verdict_text(with_shortcut(started(alone), WORD), "roberta")
    assert text.code == "shortcut_found"
    assert text.sentence.endswith(
        ". Whether filtering helps cannot be judged: no evaluator learnt enough to judge by, as the checks report."
    )
    assert (
        beginning(text, "Against all rows")
        == "Against all rows: no evaluator learnt enough to compare, as the checks report."
    )
    assert "no evaluator learnt enough to judge by, as the checks report." in text.details[-1].text


def test_a_model_of_the_filters_own_make_decides_nothing(planted: BenchmarkData) -> None:
    families = {"representations.roberta": "net", "evaluators.small": "net", "evaluators.linear": "linear"}
    both = replace(other_evaluator(planted, learnt=True), families=families)
    sentence = verdict_text(with_shortcut(started(both), WORD), "roberta").sentence
    assert sentence.endswith("Trained on filtered instead of random, “linear” gains 11.0 points on “hans”.")
    alone = replace(both, cells=tuple(cell for cell in both.cells if cell.evaluator == "small"))
    assert verdict_text(with_shortcut(started(alone), WORD), "roberta").sentence.endswith(
        "Whether filtering helps cannot be judged: every evaluator that could judge is of the same kind as the model "
        "that filtered; add one of another kind."
    )


def test_intervals_that_say_nothing_are_left_to_the_tables(planted: BenchmarkData, done_cell: Any) -> None:
    sets = planted.test_sets
    shares = {"full": (0.9, 0.9), "random": (0.55, 0.85), "filtered": (0.8, 0.55)}
    cells = tuple(
        done_cell(sets, (share,) * 3, evaluator="linear", train_set=name, seed=seed, train_rows=400)
        for name, pair in shares.items()
        for seed, share in enumerate(pair)
    )
    trained = with_shortcut(started(replace(planted, cells=cells)), WORD)
    text = verdict_text(trained, "roberta")
    costs, gains = beginning(text, "Against all"), beginning(text, "Against as many")
    assert re.fullmatch(
        "Against all rows: on “test”, “linear” is not shown to differ \\(with 2 seeds, the interval includes zero "
        "and is [0-9]{2,3}\\.[0-9] points wide; about [0-9]+ would make it 20 points wide\\)\\.",
        costs,
    )
    assert gains.startswith(
        "Against as many random rows: on “hans”, “linear” is not shown to differ (with 2 seeds, the interval includes"
    )
    assert gains.count("would make it 20 points wide") == 2
    assert [one.verdict.side for one in analyse(trained).verdicts[0].verdict.evidence.comparisons] == ["open"]
    assert not any("95 %" in detail.text for detail in text.details)


def test_one_seed_without_a_shortcut_cannot_tell(planted: BenchmarkData) -> None:
    one = replace(planted, cells=tuple(cell for cell in planted.cells if cell.seed == planted.cells[0].seed))
    text = verdict_text(started(one), "roberta")
    assert text.code == "cannot_tell"
    assert text.sentence == (
        "Cannot tell: the rows are predictable, no shortcut is shown, and the comparison with random rows (linear on "
        "hans) has 1 seed. At least 2 seeds would settle it."
    )


def test_all_that_is_lacking_is_named(planted: BenchmarkData) -> None:
    sets = (*planted.test_sets[:2], hans(12))
    cells = tuple(
        done_cell(sets, (0.8, 0.6, 0.5), evaluator="linear", train_set=name, seed=0, train_rows=400)
        for name in ("full", "random", "filtered")
    )
    text = verdict_text(started(replace(planted, test_sets=sets, cells=cells)), "roberta")
    assert text.sentence.endswith(
        "(linear on hans) has 1 seed and 12 test rows. At least 2 seeds and 20 test rows would settle it."
    )


def test_results_without_chance_say_so(planted: BenchmarkData) -> None:
    assert starting_excess(planted.filtered[0]) is None
    assert "materialise filtered_sets again" in verdict_text(planted, "roberta").sentence


def test_the_json_has_code_sentence_and_evidence(planted: BenchmarkData) -> None:
    written: Any = verdict_json(analyse(with_shortcut(started(planted), WORD)))
    assert (written["code"], written["representation"]) == ("shortcut_found_helps", "roberta")
    assert written["evidence"]["bias"]["rows"]["difference"] == pytest.approx(41.0, abs=0.01)
    assert written["evidence"]["leanings"][0]["name"] == "mark"
    assert written["evidence"]["leanings"][0]["pull"] == pytest.approx(50.0, abs=0.1)
    assert written["evidence"]["comparisons"][0]["difference"] == pytest.approx(11.0)
    assert written["sentence"] == verdict_text(with_shortcut(started(planted), WORD), "roberta").sentence
    assert verdict_json(analyse(replace(planted, filtered=(), cells=()))) is None


def test_the_strongest_verdict_stands_first(planted: BenchmarkData) -> None:
    easy = started(planted, bias=0.33)
    both = replace(easy, filtered=(*easy.filtered, replace(started(planted).filtered[0], representation="other")))
    with_word = replace(both, cues={"other": (WORD,)})
    assert [text.representation for text in verdict_texts(analyse(with_word))] == ["other", "roberta"]


def test_hostile_words_are_one_short_line(planted: BenchmarkData) -> None:
    hostile = replace(WORD, value="<script>\u202e\n" + "x" * 200, label_name="<b>\n")
    sentence = verdict_text(with_shortcut(started(planted), hostile), "roberta").sentence
    assert "\n" not in sentence
    assert "\u202e" not in sentence
    assert len(sentence) < 300


def test_no_difference_at_chance_is_said_to_mean_little(planted: BenchmarkData) -> None:
    def with_hans(full: float, rows: int = 300) -> BenchmarkData:
        sets = (*planted.test_sets[:2], hans(rows))
        cells = tuple(
            done_cell(
                sets,
                (*ACCURACIES[cell.train_set][:2], full if cell.train_set == "full" else 0.5),
                evaluator="linear",
                train_set=cell.train_set,
                seed=cell.seed,
                train_rows=cell.train_rows,
            )
            for cell in planted.cells
            if cell.evaluator == "linear"
        )
        return replace(planted, test_sets=sets, cells=cells)

    at_chance = verdict_text(with_shortcut(started(with_hans(0.5)), WORD), "roberta").details[-2].text
    assert at_chance.endswith(
        " After training on all rows, it is at chance there (50.0 %), but right on 78.0 % of “test”; "
        "filtering is not shown to mend that fall."
    )
    wide = verdict_text(with_shortcut(started(with_hans(0.66, rows=24)), WORD), "roberta").details[-2].text
    assert re.search(
        " After training on all rows, its accuracy there is not distinguishable from the largest class \\([0-9.]+ %; "
        "too few rows\\)\\.$",
        wide,
    )
    learnt = verdict_text(with_shortcut(started(with_hans(0.8)), WORD), "roberta").details[-2].text
    assert "at chance" not in learnt
