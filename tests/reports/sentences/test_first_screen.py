"""The sentences of a report's first screen, and the tone that a person sees first."""

from dataclasses import replace
from typing import Any, get_args

import pytest

from aflite_assets.analysis.analysis import Analysis, analyse
from aflite_assets.analysis.comparisons.falls import CHALLENGE_FALLS, ChallengeFall
from aflite_assets.analysis.comparisons.versions import MovedCue, VersionComparison
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rules.bias_excess import BiasExcess, Excess
from aflite_assets.analysis.rules.dataset_verdict import Code
from aflite_assets.analysis.rules.leaning import PropertyLeaning
from aflite_assets.checks import CheckOutcome
from aflite_assets.reports.page.markdown import first_screen_markdown
from aflite_assets.reports.sentences.finding import BADGES, Badge, Tone
from aflite_assets.reports.sentences.first_screen import SIGNS, _limits, first_screen
from aflite_assets.reports.sentences.verdict import VerdictWords, verdict_json
from aflite_assets.reports.sentences.versions import outcome_line
from aflite_assets.scan.blind.records import ALL_SUBSETS, BlindRule, BlindScores
from aflite_assets.scan.cues import ClassSize, Cue, CueProperty, Elsewhere, ScanFacts, State

PLACE = PropertyLeaning(
    "attribute", "place", "", ("water",), ("bird",), None, 0.4, "bert", 90, 50.0, 40.0, 60.0, 2.0, adjusted_p=0.001
)


def cue(number: int, name: str, source: str, *, kind: str = "attribute") -> Cue:
    """An artefact that names entailment."""
    numbers = (60, 0.6, 0.1, 0.8, 0.5, 0.75, 0.7, 0.8, 0.001)
    return Cue(number, name, kind, "declared", "entailment", *numbers, properties=(CueProperty(kind, name, source),))


def judged(analysis: Analysis, code: Code, *, leaning: PropertyLeaning | None = None, cues: Any = ()) -> Analysis:
    """The analysis with another verdict and scan."""
    first, *others = analysis.verdicts
    evidence = replace(
        first.verdict.evidence,
        leanings=() if leaning is None else (leaning,),
        artefacts=tuple(one.name for one in cues),
    )
    verdict = replace(first.verdict, code=code, evidence=evidence)
    scan = ScanFacts(tuple(cues), None, (ClassSize("entailment", 400, 0.6),), 1200, 1200, 40, ())
    return replace(analysis, verdicts=(replace(first, verdict=verdict), *others), scan=scan)


def without_falls(analysis: Analysis) -> Analysis:
    """The analysis as if models kept their accuracy on every challenge set."""
    return replace(analysis, tables={**analysis.tables, CHALLENGE_FALLS.name: ()})


@pytest.fixture(scope="module")
def analysis(planted: BenchmarkData) -> Analysis:
    return analyse(planted)


def test_every_code_has_a_tone_and_a_badge_and_each_tone_a_sign_of_its_own() -> None:
    assert set(BADGES) == set(get_args(Code))
    assert {badge for _, badge in BADGES.values()} == set(get_args(Badge))
    assert {tone for tone, _ in BADGES.values()} == set(SIGNS) == set(get_args(Tone))
    assert len(set(SIGNS.values())) == 4


def test_where_models_fall_the_cue_that_tells_nothing_there_comes_first(analysis: Analysis) -> None:
    fall = ChallengeFall("svm", "test", "clean", 0.9, 0.8, 10.0, 6.0, 14.0, 0.001)
    fallen = replace(analysis, tables={**analysis.tables, CHALLENGE_FALLS.name: (fall,)})
    states: dict[str, State] = {"is": "holds", "customer": "gone"}
    cues = [
        replace(
            cue(number, name, "text", kind="word"),
            reason=None,
            elsewhere=(Elsewhere("clean", 90, state, 0.5, 0.4, 0.6),),
        )
        for number, (name, state) in enumerate(states.items())
    ]
    screen = first_screen(judged(fallen, "learnable_no_shortcut_shown", cues=cues), from_files=True)
    assert [one.name for one in screen.cues] == ["customer"]
    assert (
        "Models fall on “clean”, and the cue is unrelated to the label there; harder rows can also cause a fall. You "
        "decide whether it belongs to the task." in screen.finding
    )
    assert screen.to_do.endswith("run again. Otherwise look first at what “clean” changes.")
    turned = (cues[0], replace(cues[1], elsewhere=(replace(cues[1].elsewhere[0], state="reversed"),)))
    screen = first_screen(judged(fallen, "learnable_no_shortcut_shown", cues=turned), from_files=True)
    assert "Models fall on “clean”, and the cue comes with other labels there;" in screen.finding
    screen = first_screen(judged(fallen, "learnable_no_shortcut_shown", cues=cues[:1]), from_files=True)
    assert (
        "“svm” falls on “clean” by 10.0 points [6.0, 14.0]; the cue holds there too, so look for another reason, such "
        "as harder rows." in screen.finding
    )
    unknown = replace(cues[0], elsewhere=(replace(cues[0].elsewhere[0], state="cannot tell"),))
    screen = first_screen(judged(fallen, "learnable_no_shortcut_shown", cues=[unknown]), from_files=True)
    assert "Models fall" not in screen.finding
    calm = first_screen(judged(without_falls(analysis), "learnable_no_shortcut_shown", cues=cues), from_files=True)
    assert ([one.name for one in calm.cues], "Models fall" in calm.finding) == (["is"], False)


def test_a_column_is_asked_for_when_it_was_known(analysis: Analysis) -> None:
    days = replace(cue(0, "days at least 2", "days", kind="column"), reason=None)
    screen = first_screen(judged(without_falls(analysis), "easy", cues=(days,)), from_files=True)
    assert screen.to_do == (
        "Was “days” known before the label was? If not, drop the column. A column that was known may be a real signal: "
        "drop it only if it is no part of the task. Otherwise keep the dataset as it is."
    )
    assert screen.command == (
        "aflite fix toy_nli.yaml --cue 1 --to NEW_FOLDER   # only if it is no real signal: leaves out the column, in a "
        "copy"
    )


def test_several_columns_are_asked_for_in_one_question(analysis: Analysis) -> None:
    names = ("days", "age", "hue", "site")
    cues = [replace(cue(place, f"{name} = 2", name, kind="column"), reason=None) for place, name in enumerate(names)]
    screen = first_screen(judged(without_falls(analysis), "easy", cues=tuple(cues)), from_files=True)
    assert screen.to_do.startswith(
        "Were “days”, “age”, “hue” and 1 other known before the label was? Drop each column that was not. A column"
    )
    assert screen.to_do.count("known before") == 1


def test_the_advice_on_a_column_is_also_in_the_json(analysis: Analysis) -> None:
    days = replace(cue(0, "days at least 2", "days", kind="column"), reason=None)
    json: Any = verdict_json(judged(without_falls(analysis), "easy", cues=(days,)))
    assert json["details"][-1].endswith(
        " Was “days” known before the label was? If not, drop the column. A column that was known may be a real "
        "signal: drop it only if it is no part of the task."
    )
    artefact: Any = verdict_json(judged(analysis, "artefact_tells", cues=(replace(days, reason="artefact"),)))
    assert "known before" not in artefact["details"][-1]


FALL = ChallengeFall("svm", "test", "clean", 0.79, 0.74, 5.1, -1.0, 11.2, 0.1)


@pytest.mark.parametrize(
    ("falls", "said"),
    [
        (
            (replace(FALL, test_set="other", fall=1.0), FALL),
            ", and does not fall significantly on challenge sets (most on “clean”: 5.1 points, 95 % "
            "[\N{MINUS SIGN}1.0, 11.2])",
        ),
        (
            (replace(FALL, fall=3.0, low=1.0, high=5.0),),
            ", and falls by less than 5 points on challenge sets (most on “clean”: 3.0 points, 95 % [1.0, 5.0])",
        ),
        ((replace(FALL, fall=-2.0), replace(FALL, evaluator="other")), " and does not fall on challenge sets"),
    ],
)
def test_an_easy_task_names_the_largest_fall(falls: tuple[ChallengeFall, ...], said: str, analysis: Analysis) -> None:
    fallen = replace(analysis, tables={**analysis.tables, CHALLENGE_FALLS.name: falls})
    assert VerdictWords(fallen, fallen.verdicts[0]).kept_elsewhere("svm") == said


def compared(old: str, *cues: MovedCue) -> VersionComparison:
    return VersionComparison(old, "toy_nli_fixed", (), 0, (), (), (), cues)


def test_the_first_screen_begins_with_what_became_of_the_repaired_cue(analysis: Analysis) -> None:
    left = replace(cue(0, "place = 'water'", "place"), reason=None, balanced=0.612)
    mended = judged(without_falls(analysis), "easy", cues=(left,))
    moved = compared("toy_nli of 2026", MovedCue("closing", "entailment", False, 0.98, None))
    screen = first_screen(mended, from_files=True, versions=(compared("toy_nli_fixed of 2026"), moved))
    assert screen.change == (
        "Since toy_nli of 2026, the cue “closing” no longer predicts the label: 98.0 % balanced accuracy then, not "
        "found now (a scan of these rows finds cues from 60 % on). The strongest cue is now “place = 'water'” for "
        "“entailment”, 61.2 %."
    )
    assert first_screen_markdown(screen, None).startswith("**What changed:** Since toy\\_nli of 2026, the cue ")
    assert first_screen(mended, from_files=True, versions=(compared("toy_nli of 2026"),)).change == ""


def test_a_repair_after_which_models_still_fall_says_both_in_the_first_sentence(analysis: Analysis) -> None:
    falls = (replace(FALL, fall=12.3, low=8.0, high=16.6), replace(FALL, evaluator="other", fall=9.0, low=4.0))
    data = replace(analysis, tables={**analysis.tables, CHALLENGE_FALLS.name: falls})
    moved = compared("toy_nli of 2026", MovedCue("closing", "entailment", False, 0.98, None))
    change = first_screen(judged(data, "easy"), from_files=True, versions=(moved,)).change
    assert change.startswith(
        "Since toy_nli of 2026, the cue “closing” no longer predicts the label: 98.0 % balanced accuracy then, not "
        "found now (a scan of these rows finds cues from 60 % on), but models still fall on a challenge set: “svm” by "
        "12.3 points [8.0, 16.6] on “clean”. "
    )


def test_a_weaker_cue_has_both_numbers_and_others_are_counted(analysis: Analysis) -> None:
    weaker = MovedCue("ends with '!'", "entailment", True, 0.9, 0.6)
    others = MovedCue("site", "entailment", False, 0.7, None), MovedCue("new", "entailment", False, None, 0.8)
    scan = replace(judged(analysis, "easy").scan or ScanFacts((), None, (), 0, 0, 0, ()), cues=())
    assert outcome_line(compared("old", weaker, *others), scan) == (
        "Since old, the cue “ends with '!'” predicts the label less: 90.0 → 60.0 % balanced accuracy. 1 more cue is "
        "gone or weaker. No cue is left."
    )
    assert outcome_line(compared("old", others[1]), scan) == ""


def test_a_shortcut_has_its_price_and_the_command_that_mends_it(analysis: Analysis) -> None:
    cues = (cue(3, "place = 'water'", "place"), cue(5, "place = 'land'", "place"), cue(6, "other", "other"))
    declared = replace(PLACE, reason="declared")
    screen = first_screen(judged(analysis, "shortcut_found", leaning=declared, cues=cues), from_files=True)
    assert (screen.tone, screen.badge) == ("found", "Shortcut found")
    assert screen.finding == (
        "“bert” leans on the attribute place, declared irrelevant: rows of other classes that carry it get the cue's "
        "class 50.0 points too often, but 2.0 after training on rows in which the two are independent."
    )
    assert screen.sure == "The 95 % interval of the 50.0 points is 40.0 to 60.0."
    assert screen.to_do == (
        "Rebalance the rows, or collect others, so that the attribute place is as frequent in every class. Models do "
        "not read an attribute, so leaving it out changes nothing. "
        "Until then, `filtered` (402 of 1,200 train rows) is for applications whose rows look like “hans”: "
        "“linear” is right on 64.0 instead of 55.0 %, at the price of 76.0 instead of 78.0 % on “test”."
    )
    assert screen.carriers == (
        "“place = 'water'”: 60.0 % of “entailment”, 10.0 % of the other rows. 1 more cue of that source: see "
        "Cues below."
    )
    assert (
        screen.command
        == "aflite fix toy_nli.yaml --cue 4 --cue 6 --to NEW_FOLDER   # keeps a subset of the rows, in a copy"
    )
    assert [one.number for one in screen.cues] == [3, 5]
    assert screen.evaluator == "bert"


def test_the_property_that_was_tested_is_named_before_a_cue_with_nearly_the_same_rows(analysis: Analysis) -> None:
    length = CueProperty("length", "words of claim", "claim")
    negation = replace(cue(0, "negation (claim)", "claim"), same_properties=(length,))
    tested = replace(PLACE, kind="length", name="number of words of claim")
    said = first_screen(judged(analysis, "leans_on", leaning=tested, cues=(negation,)), from_files=True).finding
    assert said.startswith(
        "“bert” leans on the number of words of claim (the cue “negation (claim)” has nearly the same rows): rows of "
    )
    itself = replace(negation, properties=(length,), same_properties=())
    said = first_screen(judged(analysis, "leans_on", leaning=tested, cues=(itself,)), from_files=True).finding
    assert said.startswith("“bert” leans on the cue “negation (claim)”: rows of ")


def test_a_shortcut_of_rows_from_no_file_has_no_command_that_could_not_run(analysis: Analysis) -> None:
    found = judged(analysis, "shortcut_found", leaning=replace(PLACE, reason="declared"), cues=(cue(3, "x", "place"),))
    assert "aflite fix" not in first_screen(found, from_files=False).command


def test_what_models_lean_on_is_a_persons_to_judge(analysis: Analysis) -> None:
    screen = first_screen(judged(analysis, "leans_on", leaning=PLACE), from_files=True)
    assert (screen.tone, screen.badge) == ("judge", "Yours to judge")
    assert screen.finding.endswith("You decide whether that is a shortcut.")
    assert screen.to_do == "If it is no part of the task, add `irrelevant: [place]` to the file and run again."
    assert screen.command == "aflite refresh toy_nli"


def test_an_artefact_is_named_with_its_accuracy(analysis: Analysis) -> None:
    found = judged(analysis, "artefact_tells", cues=(cue(0, "no full stop (text)", "text", kind="typography"),))
    screen = first_screen(found, from_files=True)
    assert screen.badge == "Artefact found"
    assert screen.finding == (
        "The cue “no full stop (text)” tells “entailment” from all other rows by itself: 75.0 % balanced accuracy, "
        "where chance is 50 %. It is no part of the task."
    )
    assert screen.sure == (
        "95 % interval 70.0 to 80.0 %, on held-out rows. It was not tested whether models lean on it, because at most "
        "three properties are tested."
    )
    assert (
        screen.command == "aflite fix toy_nli.yaml --cue 1 --to NEW_FOLDER   # makes it the same in all rows, in a copy"
    )


def test_an_artefact_in_a_column_that_models_do_not_read_matters_only_if_their_inputs_tell_it(
    analysis: Analysis,
) -> None:
    described = replace(analysis, facts=replace(analysis.facts, attributes=("site",)))
    found = judged(described, "artefact_tells", cues=(cue(0, "site = 'north'", "site"),))
    screen = first_screen(found, from_files=True)
    assert screen.finding == (
        "The cue “site = 'north'” tells “entailment” from all other rows by itself: 75.0 % balanced accuracy, where "
        "chance is 50 %. It is no part of the task. Models do not read this column, so it matters only if what they "
        "read gives it away too."
    )
    assert screen.to_do == (
        "If what models read may give it away too, rebalance the rows, or collect others, so that it is as frequent "
        "in every class. Leaving the column out changes nothing."
    )
    json: Any = verdict_json(found)
    assert "Models do not read this column, so it matters only if" in json["sentence"]
    first = found.verdicts[0]
    without = replace(first.verdict, evidence=replace(first.verdict.evidence, comparisons=()))
    uses = VerdictWords(found, replace(first, verdict=without)).use_rows()
    assert uses.startswith("all rows. If what models read may give it away too, rebalance the rows, or collect others")
    read = judged(analysis, "artefact_tells", cues=(cue(0, "site = 'north'", "site", kind="column"),))
    assert "Models do not read" not in first_screen(read, from_files=True).finding
    assert first_screen(read, from_files=True).to_do == (
        "Take it out of the data and run again. Until then a high accuracy does not show that the task was learnt."
    )


@pytest.mark.parametrize("code", ["easy", "learnable_no_shortcut_shown", "class_balance_only", "nothing_found"])
def test_no_shortcut_shown_never_stands_above_a_cue_that_tells_a_class(analysis: Analysis, code: Code) -> None:
    candidate = replace(cue(2, "the word 'not' (text)", "text", kind="words"), reason=None)
    screen = first_screen(judged(analysis, code, cues=(candidate,)), from_files=True)
    assert (screen.tone, screen.badge) == ("judge", "Yours to judge")
    assert screen.finding.startswith("The cue “the word 'not' (text)” tells “entailment” from all other rows by itself")
    assert screen.finding.endswith("You decide whether it belongs to the task.")
    assert screen.to_do.endswith("remove it in a copy and run again. Otherwise look first at what “hans” changes.")
    assert screen.command == "aflite fix toy_nli.yaml --cue 3 --to NEW_FOLDER   # keeps a subset of the rows, in a copy"
    without = first_screen(judged(analysis, code), from_files=True)
    assert (without.tone, without.badge, without.command) == ("none", "No shortcut shown", "")


def test_an_artefact_beside_a_verdict_without_shortcut_is_said_to_be_no_part_of_the_task(analysis: Analysis) -> None:
    order = cue(2, "row number in the file is 0 modulo 2", "", kind="order")
    screen = first_screen(judged(analysis, "learnable_no_shortcut_shown", cues=(order,)), from_files=True)
    assert screen.finding.endswith("where chance is 50 %. It is no part of the task.")
    assert screen.sure.endswith("Models cannot see it in a single row.")
    assert screen.to_do.endswith("Remove it in a copy and run again.")


def test_a_candidate_is_named_with_the_reason_why_leaning_on_it_was_not_tested(analysis: Analysis) -> None:
    """Where the certainty is about something else, the reason stands in the finding."""
    candidate = replace(cue(2, "the word 'not' (text)", "text", kind="words"), reason=None)
    reason = (
        "It was not tested whether models lean on it, because at most three properties are tested, and declared ones "
        "come first. To have it tested, add an attribute that states which rows have the cue, and declare it "
        "irrelevant."
    )
    judge = first_screen(judged(analysis, "easy", cues=(candidate,)), from_files=True)
    assert (judge.sure.endswith(reason), reason in judge.finding) == (True, False)
    unknown = first_screen(judged(analysis, "cannot_tell", cues=(candidate,)), from_files=True)
    assert unknown.sure == ""
    assert unknown.finding.endswith(f"where chance is 50 %. {reason} You decide whether it belongs to the task.")


def test_a_cue_of_one_class_alone_is_asked_about_before_it_is_kept(analysis: Analysis) -> None:
    mixed = replace(cue(2, "long (text)", "text", kind="length"), reason=None, tested_rows=300, tested_precision=0.8)
    pure = replace(mixed, tested_precision=1.0)
    asked, plain = (first_screen(judged(analysis, "easy", cues=(one,)), from_files=True).to_do for one in (pure, mixed))
    assert asked == (
        "Find out first how its rows and their labels were made: 100.0 % of its tested rows are “entailment”. " + plain
    )
    assert plain.startswith("If it is no part of the task, remove it")


def test_without_a_cue_it_says_how_much_was_tested_and_what_can_be_missed(analysis: Analysis) -> None:
    screen = first_screen(judged(analysis, "learnable_no_shortcut_shown"), from_files=True)
    assert screen.finding.startswith("None of 40 properties tested gives a class away by itself. From the whole input,")
    assert screen.sure == (
        "With 1,200 rows, a cue of less than 60 % balanced accuracy can be missed. A cue that is not among the "
        "tested properties is not detected at all."
    )


def test_the_own_test_rows_are_those_of_the_summary_whatever_the_order_of_the_splits(planted: BenchmarkData) -> None:
    test, validation, *others = planted.test_sets
    turned = analyse(replace(planted, test_sets=(validation, test, *others)))
    assert turned.facts.natural_sets == ("validation", "test")
    finding = first_screen(judged(turned, "learnable_no_shortcut_shown"), from_files=True).finding
    assert "From the whole input, “linear” is right on 78.0 % of “test” (chance 33.4 %)." in finding
    declared = replace(PLACE, reason="declared")
    shown = first_screen(judged(turned, "shortcut_found", leaning=declared), from_files=True)
    assert "at the price of 76.0 instead of 78.0 % on “test”" in shown.to_do


def test_a_cue_says_how_it_goes_with_its_class_in_each_test_set(analysis: Analysis) -> None:
    states: tuple[State, ...] = ("holds", "reversed", "gone", "cannot tell")
    names = ("test", "hans", "stress", "other")
    elsewhere = tuple(Elsewhere(name, 90, state, 0.7, 0.6, 0.8) for name, state in zip(names, states, strict=True))
    found = judged(analysis, "artefact_tells", cues=(replace(cue(0, "x", "text"), elsewhere=elsewhere),))
    assert first_screen(found, from_files=True).set_notes == {
        "test": "the cue is there as in the train rows",
        "hans": "the cue comes with other labels there",
        "stress": "the cue is unrelated to the label there",
    }


def test_limits_name_failed_checks_and_few_seeds(make_planted: Any, planted: BenchmarkData) -> None:
    checks = (
        CheckOutcome("filter", "no_cautions", "It has none.", False, "Two classes moved."),
        CheckOutcome("data", "no_artefact_tells", "None does.", False, "Found one."),
        CheckOutcome("data", "labels_known", "They are.", True),
    )
    one_seed = tuple(cell for cell in planted.cells if cell.seed == 0)
    screen = first_screen(analyse(make_planted(checks=checks, cells=one_seed)), from_files=False)
    texts = [one.text for one in screen.limits]
    assert texts[0] == "On the filtered rows: Two classes moved."
    assert not any("Found one" in text for text in texts)
    assert (
        f"“{screen.evaluator}” was trained with one seed only, so the variation between trainings is unknown." in texts
    )
    beside = [one.text for one in _limits(analyse(make_planted(checks=checks)), screen.evaluator, (), touched=False)]
    assert beside[-1] == "On the filtered rows: Two classes moved. The finding does not depend on it."
    many = (*checks, *(CheckOutcome("data", f"check_{n}", "It is.", False, f"Number {n}.") for n in range(4)))
    counted = first_screen(analyse(make_planted(checks=many)), from_files=False).limits[-1].text
    assert counted == "3 more checks failed, besides those that are about the finding."
    told = first_screen(analyse(make_planted(checks=checks[1:])), from_files=False)
    assert told.limits[-1].text.endswith("per train set.")
    whole = first_screen(analyse(make_planted(checks=checks[2:])), from_files=False)
    assert whole.limits[-1].text.startswith("Accuracies are means over 3 trainings of “")
    assert whole.limits[-1].text.endswith("per train set; every check that applies passed.")


def test_an_evaluator_without_a_finished_training_is_not_said_to_have_one_seed(make_planted: Any) -> None:
    cells = tuple(replace(cell, status="failed", predictions=None) for cell in make_planted().cells)
    texts = [one.text for one in first_screen(analyse(make_planted(cells=cells)), from_files=False).limits]
    assert not any("one seed only" in text for text in texts)
    assert "12 trainings of 12 have no result." in texts


def test_a_check_of_a_challenge_set_is_not_told_of_an_evaluator(make_planted: Any) -> None:
    checks = (
        CheckOutcome("evaluators", "not_at_chance", "It is not.", False, "At chance: linear.", subject="hans"),
        CheckOutcome("evaluators", "better_than_largest_class", "It is.", False, "49.5 % of test.", subject="linear"),
    )
    screen = first_screen(analyse(make_planted(checks=checks)), from_files=False)
    assert [one.text for one in screen.limits][:2] == [
        "On the challenge set “hans”: At chance: linear.", "On the evaluator “linear”: 49.5 % of test.",
    ]  # fmt: skip


def test_questions_are_counted_beside_their_answers(make_planted: Any) -> None:
    analysis = analyse(make_planted())
    asked = replace(analysis, facts=replace(analysis.facts, split_questions={"train": 350}))
    assert "(1,400 answers to 350 train questions)" in first_screen(asked, from_files=False).about


def test_a_finding_begins_with_the_answers_found_without_the_question(analysis: Analysis) -> None:
    rule = BlindRule(ALL_SUBSETS, "the longest answer", "length", None, 400, 0.72, 0.68, 0.76, 0.5, 1.0, 0.0)
    judged_as = judged(analysis, "artefact_tells", cues=(cue(0, "no full stop (text)", "text", kind="typography"),))
    assert judged_as.scan is not None
    blind = BlindScores(400, 0.5, (rule,))
    facts = replace(judged_as.facts, split_questions={"train": 400})
    scan = replace(judged_as.scan, blind=blind)
    asked = replace(judged_as, scan=scan, facts=facts)
    screen = first_screen(asked, from_files=True)
    assert screen.finding.startswith(
        "Without the question 72 % of the right answers are found (chance 50 %) by picking the longest answer; "
        "1 rule in all, 400 questions. The cue "
    )
    assert "aflite fix" not in screen.command
    assert screen.sure.startswith("The cue's 95 % interval ")  # not that of the 72 %
    unsure = replace(asked, scan=replace(scan, blind=BlindScores(400, 0.5, (replace(rule, p_value=0.5),))))
    assert first_screen(unsure, from_files=True).finding.startswith("The cue ")


def test_questions_that_are_not_needed_are_yours_to_judge_and_not_only_to_train_on(analysis: Analysis) -> None:
    plain = judged(analysis, "easy")
    assert plain.scan is not None
    facts = replace(plain.facts, split_questions={"train": 400}, partial_inputs=("answers_only",))
    rule = BlindRule(ALL_SUBSETS, "the most typical answer", "words", None, 400, 0.5, 0.46, 0.54, 0.25, 1.0, 0.0)
    asked = replace(plain, facts=facts)
    needed = first_screen(asked, from_files=True)
    assert needed.badge == "No shortcut shown"
    for one, said in ((plain, "all rows for training"), (asked, "all questions, if you train on them")):
        assert VerdictWords(one, one.verdicts[0]).all_rows() == said
    told = replace(plain, facts=facts, scan=replace(plain.scan, blind=BlindScores(400, 0.25, (rule,))))
    screen = first_screen(told, from_files=True)
    assert (screen.badge, screen.tone) == ("Yours to judge", "judge")
    assert screen.to_do.startswith("If the questions test models, report the share found without the question")
    assert screen.command == f"aflite scan {plain.facts.name}.yaml"
    assert any("scored by itself by “answers_only”" in one.text for one in screen.limits)
    assert not any("answers_only" in one.text for one in needed.limits)


def test_without_a_filtering_there_is_no_finding(make_planted: Any) -> None:
    screen = first_screen(analyse(make_planted(cells=(), filtered=())), from_files=False)
    assert (screen.tone, screen.finding) == ("unknown", "No filtering was run, so there is no finding.")
    assert screen.about == (
        "Can models solve toy_nli (1,400 train rows, 3 classes) by a shortcut, that is, by a cue that gives the "
        "label away without solving the task?"
    )


SUSPECTS = (
    "1,234 rows may have a wrong label, or may only be hard: models that had not seen the row predict another class. "
    "Check the surest rows first."
)


@pytest.mark.parametrize(("suspected", "said"), [(9, []), (1_234, [SUSPECTS])])
def test_suspected_label_errors_are_a_limit_from_ten_on(suspected: int, said: list[str], analysis: Analysis) -> None:
    first, *others = analysis.facts.filterings
    facts = replace(analysis.facts, filterings=(replace(first, suspected_labels=suspected), *others))
    screen = first_screen(replace(analysis, facts=facts), from_files=True)
    assert [one.text for one in screen.limits if one.section == "rows"] == said


def test_models_that_learnt_nothing_suspect_no_label(analysis: Analysis) -> None:
    first, *others = analysis.facts.filterings
    facts = replace(analysis.facts, filterings=(replace(first, suspected_labels=1_234), *others))
    verdicts = []
    for one in analysis.verdicts:
        chance = Excess(0.1, -0.5, 0.7, 0.5, 0.5, 400, 400.0)
        evidence = replace(one.verdict.evidence, bias=BiasExcess(chance, chance, True, chance))
        verdicts.append(replace(one, verdict=replace(one.verdict, evidence=evidence)))
    screen = first_screen(replace(analysis, facts=facts, verdicts=tuple(verdicts)), from_files=True)
    assert not [one.text for one in screen.limits if one.section == "rows"]
