"""Planted cues in pairs and questions are found against chance; data without a cue show none."""

import re
from dataclasses import replace

import numpy as np
import pytest

from aflite_assets.scan.blind.meanings import meaning
from aflite_assets.scan.blind.records import ALL_SUBSETS, BlindRule, BlindScores
from aflite_assets.scan.blind.scoring import blind_scores
from aflite_assets.scan.cues import ScanResult
from aflite_assets.scan.properties.extraction import extract
from aflite_assets.scan.rows import ScanRows, TableColumn
from aflite_assets.scan.scan import ScanSettings, scan_rows
from aflite_assets.scan.sentences import blind_sentence, headline

WORDS = [f"w{number}" for number in range(400)]


def _questions(
    count: int, *, answers: int = 2, seed: int = 0, longer: float = 0.5, marked: float = 0.0, listed: bool = True
) -> ScanRows:
    """Questions of random words; of a share the right answer is the longest, of a share it ends in a bold word."""
    rng = np.random.default_rng(seed)
    texts, labels, questions = [], [], []
    for question in range(count):
        sizes = rng.permutation(np.arange(6, 6 + answers))
        right = int(
            sizes.argmax() if rng.random() < (longer - 1 / answers) / (1 - 1 / answers) else rng.integers(answers)
        )
        for place, size in enumerate(sizes.tolist()):
            text = " ".join(rng.choice(WORDS, size))
            texts.append(f"{text} **yes**" if place == right and rng.random() < marked else text)
            labels.append(0 if place == right else 1)
            questions.append(question)
    asked = [f"{WORDS[question % 400]} {question}" for question in questions]
    rows = len(texts)
    return ScanRows(
        labels=np.array(labels),
        label_names=("right", "wrong"),
        sets=np.zeros(rows, np.int64),
        set_names=("train",),
        order=np.arange(rows, dtype=np.float64),
        groups=np.array(questions),
        texts={"question": asked, "answer": texts},
        answers=True,
        answers_listed=listed,
    )


def _scores(rows: ScanRows) -> BlindScores:
    found = blind_scores(rows, extract(rows, fewest=30, threads=1), seed=0)
    assert found is not None
    return found


def _rule(scores: BlindScores, name: str, subset: str = ALL_SUBSETS) -> BlindRule:
    return next(one for one in scores.rules if (one.name, one.subset) == (name, subset))


def test_a_longer_right_answer_is_named_with_its_share_and_interval() -> None:
    scores = _scores(_questions(1_000, longer=0.65))
    rule = _rule(scores, "the longest answer")
    assert (scores.questions, scores.chance) == (1_000, 0.5)
    assert rule.found == pytest.approx(0.65, abs=0.05)
    assert rule.low < rule.found < rule.high
    assert rule.high - rule.low == pytest.approx(0.06, abs=0.01)
    assert rule.is_named
    assert not rule.is_artefact
    assert _rule(scores, "the shortest answer").found == pytest.approx(1 - rule.found)
    assert _rule(scores, "all surface properties together").found == pytest.approx(rule.found, abs=0.05)
    assert not scores.has_artefact


def test_markup_of_a_share_of_right_answers_is_an_artefact_that_decides_few_questions() -> None:
    result = scan_rows(_questions(800, marked=0.3), settings=ScanSettings(), seed=0)
    assert result.blind is not None
    rule = _rule(result.blind, "the most markup")
    assert rule.decided == pytest.approx(0.3, abs=0.05)
    assert rule.found == pytest.approx(0.5 + rule.decided / 2)
    assert rule.is_artefact
    assert result.verdict == "artefact"


def test_four_answers_have_a_chance_of_a_quarter() -> None:
    scores = _scores(_questions(600, answers=4, longer=0.6))
    assert scores.chance == 0.25
    rule = _rule(scores, "the longest answer")
    assert rule.found == pytest.approx(0.6, abs=0.07)
    assert rule.is_named
    assert blind_sentence(scores).startswith("Without the question ")
    assert "(chance 25 %)" in blind_sentence(scores)


def _with_overlap(rows: ScanRows) -> ScanRows:
    """The same answers; each question has the first four words of its right answer."""
    answers, labels = rows.texts["answer"], rows.labels.tolist()
    asked = dict.fromkeys(range(len(labels)), "")
    for question, text, label in zip(rows.groups.tolist(), answers, labels, strict=True):  # type: ignore[union-attr]
        if label == 0:
            asked[question] = f"what is {' '.join((text or '').split()[:4])}"
    return replace(rows, texts={"question": [asked[one] for one in rows.groups.tolist()], "answer": answers})  # type: ignore[union-attr]


def test_overlap_with_the_question_is_reported_apart_and_is_no_rule_of_the_answers_alone() -> None:
    rows = _with_overlap(_questions(300, answers=4, longer=0.25))
    result = scan_rows(rows, settings=ScanSettings(), seed=0)
    scores = result.blind
    assert scores is not None
    assert scores.named == ()
    assert scores.overlap is not None
    assert (scores.overlap.name, scores.overlap.is_artefact) == ("the most words of the question", False)
    assert not _rule(scores, "all surface properties together").is_named
    assert (result.verdict, result.tells_without_question) == ("candidates", False)
    told = headline(result)
    assert told.startswith("Without the question no rule or model is shown to find 5 points more right answers than")
    assert f"Overlap with the question: {100 * scores.overlap.found:.0f} % by picking the most words of the" in told
    assert "It may belong to the task, for example if the right passage is to be found." in told
    assert "No artefact and no candidate found among " in told
    assert " single properties of single answers that the scan knows, except " in told
    assert re.search(r"A cue of another kind, or one of less than \d+ %, can still be there\.$", told)
    assert "Nothing found" not in told


def test_a_cue_of_the_answers_stands_beside_overlap() -> None:
    rows = _with_overlap(_questions(300, answers=4, longer=0.6))
    scores = _scores(rows)
    assert scores.named_overall[0].name in ("the longest answer", "all surface properties together")
    assert all(not one.reads_question for one in (*scores.named, *scores.sure))
    told = blind_sentence(scores)
    assert told.index("picking the longest answer") < told.index("Overlap with the question: ")


@pytest.mark.parametrize("seed", range(5))
def test_without_a_cue_no_rule_is_named(seed: int) -> None:
    scores = _scores(_questions(400, seed=seed, answers=3, longer=1 / 3))
    assert scores.named == ()
    assert blind_sentence(scores) == (
        "Without the question no rule or model is shown to find 5 points more right answers than chance; chance 33 "
        "%, 400 questions."
    )


def _with_openings(rows: ScanRows, share: float) -> ScanRows:
    """Pairs whose answers are two sentences; of a share only right ones begin with a request, and wrong ones do not."""
    rng, begun = np.random.default_rng(9), []
    for text, label in zip(rows.texts["answer"], rows.labels.tolist(), strict=True):
        asks = (label == 0) == (rng.random() < share)
        opening = "Picture it like this" if asks else "People often say this"
        begun.append(f"{opening}: {rng.choice(WORDS)}. {text}.")
    return replace(rows, texts={**rows.texts, "answer": begun})


def test_a_cue_in_the_first_words_is_found_by_the_beginning_alone_with_its_words() -> None:
    scores = _scores(_with_openings(_questions(400), 0.8))
    beginning = _rule(scores, "the first three words of the answers")
    assert beginning.is_named
    assert beginning.is_model
    assert beginning.found == pytest.approx(0.8, abs=0.06)  # a tie counts half: 0.64 + 0.32 / 2
    assert _rule(scores, "the words of the first sentences").is_named
    first, second = scores.terms[:2]
    assert {first.tells_right, second.tells_right} == {True, False}
    for one in (first, second):
        opening = "picture it like" if one.tells_right else "people often say"
        assert one.term in opening
        own, other = (one.right, one.wrong) if one.tells_right else (one.wrong, one.right)
        assert (own, other) == (pytest.approx(320, abs=30), pytest.approx(80, abs=30))


def test_answers_of_one_sentence_have_no_model_of_the_first_one() -> None:
    names = {one.name for one in _scores(_questions(60)).rules}
    assert "the words of the first sentences" not in names
    assert "the first three words of the answers" in names


def test_examples_are_questions_that_the_strongest_rule_answers() -> None:
    scores = _scores(_questions(300, longer=0.9))
    assert scores.shown is not None
    assert scores.shown.name == "the longest answer"
    assert len(scores.examples) == 5
    assert all(len(one.right) > len(one.wrong) for one in scores.examples)
    assert len({one.question for one in scores.examples}) == 5
    nothing = _scores(_questions(300))
    assert (nothing.shown, nothing.examples, nothing.terms) == (None, (), ())


def test_every_rule_and_model_has_a_meaning_of_its_own() -> None:
    rules = _scores(_with_openings(_questions(60, answers=4, longer=0.25), 0.5)).rules
    assert len({meaning(one) for one in rules}) == len({one.name for one in rules}) == 24


def test_a_rule_of_one_part_is_named_there_alone() -> None:
    first, second = _questions(500, seed=1, longer=0.9), _questions(1_500, seed=2)
    parts = ["<b>chat"] * len(first) + ["math"] * len(second)
    groups = np.concatenate([first.groups, second.groups + 10_000])  # type: ignore[operator]
    texts = {name: [*first.texts[name], *second.texts[name]] for name in first.texts}
    labels, sets = np.concatenate([first.labels, second.labels]), np.zeros(len(parts), np.int64)
    rows = replace(
        first, labels=labels, sets=sets, order=np.arange(len(parts), dtype=float), groups=groups, texts=texts
    )
    scores = _scores(replace(rows, subset="part", columns={"part": TableColumn("attribute", parts)}))
    assert _rule(scores, "the longest answer", "<b>chat").is_named
    assert _rule(scores, "the longest answer", "<b>chat").questions == 500
    assert not _rule(scores, "the longest answer", "math").is_sure
    assert {one.subset for one in scores.rules} == {ALL_SUBSETS, "<b>chat", "math"}
    found = _rule(scores, "the longest answer", "<b>chat").found
    assert blind_sentence(scores).endswith(
        f"In the part “<b>chat” {100 * found:.0f} % are found (chance 50 %) by picking the longest answer."
    )


def test_a_rule_of_a_part_stands_in_the_headline_beside_rules_of_all_questions() -> None:
    first = BlindRule(ALL_SUBSETS, "the shortest answer", "length", None, 900, 0.7, 0.67, 0.73, 0.5, 1.0, 0.0)
    longest = replace(first, subset="chat", name="the longest answer", questions=300, found=0.8, low=0.75, high=0.85)
    alone = (
        "Without the question 70 % of the right answers are found (chance 50 %) by picking the shortest answer; 1 rule "
        "in all, 900 questions."
    )
    part = " In the part “chat” 80 % are found (chance 50 %) by picking the longest answer."
    assert blind_sentence(BlindScores(900, 0.5, (first,))) == alone
    assert blind_sentence(BlindScores(900, 0.5, (longest, first))) == alone + part
    again = replace(first, subset="math", found=0.72)
    assert blind_sentence(BlindScores(900, 0.5, (first, again))) == alone  # as in all questions
    stronger = replace(again, found=0.76, low=0.7)
    assert blind_sentence(BlindScores(900, 0.5, (longest, stronger, first))) == (
        f"{alone}{part[:-1]}; 1 more part has such a rule."
    )


def test_rules_of_position_are_left_out_where_the_source_lists_no_order() -> None:
    names = {one.name for one in _scores(_questions(60, listed=False)).rules}
    assert "the first answer" not in names
    assert "the first answer" in {one.name for one in _scores(_questions(60)).rules}


def test_questions_of_one_group_widen_the_interval() -> None:
    rows = _questions(400, longer=0.8)
    assert rows.groups is not None
    grouped = _rule(_scores(replace(rows, groups=rows.groups // 10, questions=rows.groups)), "the longest answer")
    alone = _rule(_scores(rows), "the longest answer")
    assert grouped.found == alone.found
    assert grouped.high - grouped.low >= alone.high - alone.low


def test_few_questions_and_rows_that_are_no_answers_have_no_scores() -> None:
    few = _questions(29)
    assert blind_scores(few, extract(few, fewest=30, threads=1), seed=0) is None
    many = _questions(290)
    assert many.groups is not None
    of_few = replace(many, groups=many.groups // 10, questions=many.groups)
    assert blind_scores(of_few, extract(of_few, fewest=30, threads=1), seed=0) is None
    plain = replace(_questions(60), answers=False)
    assert blind_scores(plain, extract(plain, fewest=30, threads=1), seed=0) is None


def test_forty_pairs_are_enough_for_rules_though_not_for_classes() -> None:
    result: ScanResult = scan_rows(_questions(40, longer=1.0), settings=ScanSettings(), seed=0)
    assert not result.tests_classes
    assert result.can_tell
    assert result.verdict == "candidates"
    assert headline(result).startswith("Without the question 100 % of the right answers are found (chance 50 %) by ")
    assert headline(result).endswith(" in all, 40 questions.")
