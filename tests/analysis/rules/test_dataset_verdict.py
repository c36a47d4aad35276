from dataclasses import replace
from typing import Literal

import pytest

from aflite_assets.analysis.rules.bias_excess import BiasExcess, Excess
from aflite_assets.analysis.rules.dataset_verdict import (
    Comparison,
    Skill,
    VerdictEvidence,
    dataset_verdict,
    shortfalls,
)
from aflite_assets.analysis.rules.leaning import PropertyLeaning
from aflite_assets.analysis.rules.verdicts import Shortfall, Verdict


def excess(low: float, high: float, *, rows: int = 2_000, groups: float | None = None) -> Excess:
    return Excess((low + high) / 2, low, high, 0.6, 0.5, rows, rows if groups is None else groups)


def evidence(low: float = 8.0, high: float = 11.0, *, classes: Excess | None = None) -> VerdictEvidence:
    return VerdictEvidence(BiasExcess(excess(low, high), classes or excess(low, high)), ())


def leaning(
    adjusted_p: float | None, reason: Literal["declared", "artefact"] | None = None, broken_on: str | None = None
) -> PropertyLeaning:
    """The attribute place, with this p-value of no leaning."""
    return PropertyLeaning(
        "attribute", "place", "", ("water",), ("bird",), reason, 0.4, "svm", 90, adjusted_p=adjusted_p,
        broken_on=broken_on,
    )  # fmt: skip


LEANS = leaning(0.001)
SHORTCUT = leaning(0.001, "declared")
GAIN = Comparison(
    "small", "clean", 12.0, 6.0, 18.0, Verdict("above", None, "deciding", 0.001, 4.0), 500, 500.0, 3, constructed=True
)
LOSS = replace(GAIN, test_set="hard", difference=-5.0, verdict=Verdict("below", None, "deciding", 0.001, -9.0))
OPEN = replace(GAIN, test_set="other", difference=0.5, verdict=Verdict("open", None, "deciding", 0.4, -0.5))


def test_a_wide_interval_cannot_tell_and_says_how_many_rows_would_settle_it() -> None:
    wide = VerdictEvidence(BiasExcess(excess(1, 11, rows=398), excess(1, 11)), (GAIN,))
    verdict = dataset_verdict(wide)
    assert verdict.code == "cannot_tell"
    assert verdict.shortfalls == (Shortfall("rows", 398, 1_592),)
    grouped = VerdictEvidence(BiasExcess(excess(1, 11, rows=398, groups=40.5), excess(1, 11)), ())
    assert dataset_verdict(grouped).shortfalls == (Shortfall("groups", 40, 160),)


def test_a_wide_interval_far_from_chance_is_no_obstacle() -> None:
    far = BiasExcess(excess(30, 38), excess(30, 38))
    assert dataset_verdict(VerdictEvidence(far, (GAIN,))).code == "helps_no_shortcut_named"


def test_a_result_that_does_not_say_what_chance_gives_cannot_tell() -> None:
    assert dataset_verdict(VerdictEvidence(None, (GAIN,))).code == "cannot_tell"


def test_what_is_surely_no_more_than_chance_is_nothing() -> None:
    assert dataset_verdict(evidence(-1.0, 1.9)).code == "nothing_found"
    assert dataset_verdict(evidence(-1.0, 2.1)).code != "nothing_found"


def test_what_only_class_shares_explain_is_class_balance() -> None:
    assert dataset_verdict(evidence(8, 11, classes=excess(-1, 1.5))).code == "class_balance_only"


def test_what_probabilities_show_to_be_learnt_is_not_nothing() -> None:
    unseen = BiasExcess(excess(-1, 1.5), excess(-1, 1.5))
    for learnt, code in (
        (excess(1.0, 3.0), "learnable_no_shortcut_shown"),
        (excess(1.0, 2.9), "nothing_found"),  # an estimate of under two points
        (excess(-0.1, 5.0), "nothing_found"),
    ):
        assert dataset_verdict(VerdictEvidence(replace(unseen, probabilities=learnt), ())).code == code
    by_class = BiasExcess(excess(8, 11), excess(-1, 1.5), probabilities=excess(1.0, 3.0))
    assert dataset_verdict(VerdictEvidence(by_class, ())).code == "learnable_no_shortcut_shown"


def test_an_encoder_that_learnt_nothing_beyond_class_shares_cannot_tell() -> None:
    unlearnt = BiasExcess(excess(8, 11), excess(1, 3), probabilities=excess(-0.5, 0.4))
    verdict = dataset_verdict(VerdictEvidence(unlearnt, (GAIN,)))
    assert (verdict.code, verdict.shortfalls) == ("cannot_tell", ())
    assert dataset_verdict(replace(verdict.evidence, leanings=(SHORTCUT,))).code == "shortcut_found_helps"


def test_groups_that_hold_the_labels_in_place_cannot_tell() -> None:
    held = replace(evidence(), bias=BiasExcess(excess(8, 11), excess(8, 11), labels_moved=False))
    assert dataset_verdict(held).code == "cannot_tell"


@pytest.mark.parametrize(
    ("comparisons", "code"),
    [((GAIN,), "shortcut_found_helps"), ((OPEN, GAIN), "shortcut_found_helps"), ((LOSS,), "shortcut_found_harms"),
     ((GAIN, LOSS), "shortcut_found_mixed"), ((OPEN,), "shortcut_found"), ((), "shortcut_found")],
)  # fmt: skip
def test_all_deciding_comparisons_say_whether_filtering_helps(comparisons: tuple[Comparison, ...], code: str) -> None:
    assert dataset_verdict(replace(evidence(), leanings=(SHORTCUT,), comparisons=comparisons)).code == code


def test_a_set_is_unsettled_if_a_loss_of_over_a_point_is_not_excluded() -> None:
    wide = replace(OPEN, verdict=replace(OPEN.verdict, simultaneous_low=-1.1))
    assert (OPEN.is_unsettled, wide.is_unsettled) == (False, True)
    assert not replace(GAIN, verdict=replace(GAIN.verdict, simultaneous_low=-1.1)).is_unsettled


@pytest.mark.parametrize(
    ("one", "code"),
    [
        (SHORTCUT, "shortcut_found"),
        (leaning(0.05, "artefact"), "shortcut_found"),
        (leaning(0.001, broken_on="hard"), "shortcut_found"),
        (LEANS, "leans_on"),
        (leaning(0.051, "declared"), "learnable_no_shortcut_shown"),
        (leaning(None, "declared", broken_on="hard"), "learnable_no_shortcut_shown"),
    ],
)
def test_a_shortcut_is_a_leaning_on_what_is_no_part_of_the_task(one: PropertyLeaning, code: str) -> None:
    assert dataset_verdict(replace(evidence(), leanings=(one,))).code == code
    assert dataset_verdict(replace(evidence(-1.0, 1.9), leanings=(one,))).code == code.replace(
        "learnable_no_shortcut_shown", "nothing_found"
    )


def test_the_shortcut_goes_before_what_models_merely_lean_on() -> None:
    assert replace(evidence(), leanings=(SHORTCUT, LEANS)).leaning == SHORTCUT
    assert replace(evidence(), leanings=(leaning(0.9),)).leaning is None


def test_an_artefact_that_tells_the_label_goes_before_what_is_not_known_of_models() -> None:
    """No line says that nothing was found, that a task is easy or that no shortcut is shown, above an artefact."""
    skilled = Skill("svm", 0.5, 0.2, 0.0, True)
    for one in (evidence(), evidence(-1.0, 1.9), replace(evidence(), skill=skilled), VerdictEvidence(None, ())):
        assert dataset_verdict(replace(one, artefacts=("no full stop",))).code == "artefact_tells"
        assert dataset_verdict(one).code != "artefact_tells"
    with_artefact = replace(evidence(), artefacts=("no full stop",))
    assert dataset_verdict(replace(with_artefact, leanings=(SHORTCUT,))).code == "shortcut_found"
    assert dataset_verdict(replace(with_artefact, leanings=(LEANS,))).code == "leans_on"
    assert dataset_verdict(replace(with_artefact, leanings=(leaning(0.9, "artefact"),))).code == "artefact_tells"


def test_a_word_of_a_single_text_may_be_the_task() -> None:
    topic = replace(LEANS, kind="topic word", word="film")
    assert dataset_verdict(replace(evidence(), leanings=(topic,))).code == "learnable_no_shortcut_shown"
    easy = Skill("svm", 0.5, 0.2, 0.0, True)
    assert dataset_verdict(replace(evidence(), leanings=(topic,), skill=easy)).code == "learnable_no_shortcut_shown"
    assert dataset_verdict(replace(evidence(), leanings=(topic, LEANS))).evidence.leaning == LEANS
    misleading = replace(topic, broken_on="hard")
    assert dataset_verdict(replace(evidence(), leanings=(misleading,))).code == "shortcut_found"


def test_a_gain_without_a_leaning_names_no_shortcut() -> None:
    found = dataset_verdict(replace(evidence(), comparisons=(GAIN,)))
    assert (found.code, found.evidence.gains, found.shortcut) == ("helps_no_shortcut_named", (GAIN,), False)
    assert dataset_verdict(replace(evidence(), comparisons=(GAIN, LOSS))).code == "learnable_no_shortcut_shown"
    undeclared = replace(GAIN, constructed=False)
    assert dataset_verdict(replace(evidence(), comparisons=(undeclared,))).code == "learnable_no_shortcut_shown"


def test_a_gain_is_proof_only_where_the_set_is_constructed_or_breaks_the_tie_of_a_shortcut() -> None:
    """Of a worse model on rows that a model got wrong a gain shows nothing, whatever models lean on."""
    undeclared = replace(GAIN, constructed=False)
    shown = replace(evidence(), comparisons=(undeclared,), leanings=(SHORTCUT,))
    assert (dataset_verdict(shown).code, shown.effect, shown.proven_gains) == ("shortcut_found", None, ())
    for broken in (leaning(0.001, "declared", broken_on="clean"), replace(SHORTCUT, fallen_on="clean")):
        assert dataset_verdict(replace(shown, leanings=(broken,))).code == "shortcut_found_helps"
    elsewhere = leaning(0.001, "declared", broken_on="other")
    assert dataset_verdict(replace(shown, leanings=(elsewhere,))).code == "shortcut_found"
    both = replace(shown, comparisons=(undeclared, LOSS))
    assert dataset_verdict(both).code == "shortcut_found_harms"
    assert dataset_verdict(replace(both, comparisons=(undeclared, GAIN, LOSS))).code == "shortcut_found_mixed"


@pytest.mark.parametrize(
    ("skill", "code"),
    [
        (Skill("svm", 0.5, 0.2, 0.39, True), "easy"),
        (Skill("svm", 0.5, 0.19, 0.0, True), "learnable_no_shortcut_shown"),
        (Skill("svm", 0.5, 0.2, 0.4, True), "learnable_no_shortcut_shown"),
        (Skill("svm", 0.5, 0.2, 0.0, False), "learnable_no_shortcut_shown"),
        (Skill("svm", 0.5, 0.2, 0.0, None), "learnable_no_shortcut_shown"),
    ],
)
def test_easy_is_what_is_learnt_elsewhere_too_and_not_by_one_property(skill: Skill, code: str) -> None:
    assert dataset_verdict(replace(evidence(), skill=skill)).code == code


def test_without_a_shortcut_one_seed_cannot_tell() -> None:
    one_seed = replace(GAIN, verdict=Verdict(None, "one seed", "deciding"), seeds=1)
    verdict = dataset_verdict(replace(evidence(), comparisons=(one_seed,)))
    assert (verdict.code, verdict.shortfalls) == ("cannot_tell", (Shortfall("seeds", 1, 2),))
    assert dataset_verdict(replace(evidence(), comparisons=(one_seed,), leanings=(SHORTCUT,))).code == "shortcut_found"
    assert dataset_verdict(replace(evidence(), comparisons=(OPEN, one_seed))).code == "learnable_no_shortcut_shown"


def test_what_a_comparison_lacks() -> None:
    few = replace(GAIN, verdict=Verdict(None, "few rows", "deciding"), test_rows=12, groups=12.0)
    assert shortfalls(few) == (Shortfall("test rows", 12, 20),)
    lumped = replace(GAIN, verdict=Verdict(None, "few groups", "deciding"), groups=4.7)
    assert shortfalls(lumped) == (Shortfall("test groups", 4, 10),)
    assert shortfalls(replace(lumped, all_groups=6)) == (Shortfall("test groups", 4, 10, unequal=6),)
    assert shortfalls(replace(lumped, groups=6.0, all_groups=6)) == (Shortfall("test groups", 6, 10),)
    assert shortfalls(GAIN) == ()
    assert shortfalls(replace(GAIN, difference=None, verdict=Verdict(None, "not run"))) == ()
