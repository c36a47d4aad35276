from dataclasses import replace

import pytest

from aflite_assets.analysis.inputs.cues import Cue
from aflite_assets.analysis.rules.bias_excess import BiasExcess, Excess
from aflite_assets.analysis.rules.dataset_verdict import (
    Comparison,
    VerdictEvidence,
    dataset_verdict,
    shortfalls,
)
from aflite_assets.analysis.rules.verdicts import Shortfall, Verdict


def excess(low: float, high: float, *, rows: int = 2_000, groups: float | None = None) -> Excess:
    return Excess((low + high) / 2, low, high, 0.6, 0.5, rows, rows if groups is None else groups)


def evidence(low: float = 8.0, high: float = 11.0, *, classes: Excess | None = None) -> VerdictEvidence:
    return VerdictEvidence(BiasExcess(excess(low, high), classes or excess(low, high)), (), ())


CUE = Cue("word", "text_pair", "not", "contradiction", 0.9, 100, 80, 0.4, 0.2, 1e-9, 1e-8, True)
GAIN = Comparison(
    "small", "clean", 12.0, 6.0, 18.0, Verdict("above", None, "deciding", 0.001, 4.0), 500, 500.0, 3, (20.0, 0.001)
)
LOSS = replace(GAIN, test_set="hard", difference=-5.0, verdict=Verdict("below", None, "deciding", 0.001, -9.0))
OPEN = replace(GAIN, test_set="other", difference=0.5, verdict=Verdict("open", None, "deciding", 0.4, -0.5))


def test_a_wide_interval_cannot_tell_and_says_how_many_rows_would_settle_it() -> None:
    wide = VerdictEvidence(BiasExcess(excess(1, 11, rows=398), excess(1, 11)), (CUE,), (GAIN,))
    verdict = dataset_verdict(wide)
    assert verdict.code == "cannot_tell"
    assert verdict.shortfalls == (Shortfall("rows", 398, 1_592),)
    grouped = VerdictEvidence(BiasExcess(excess(1, 11, rows=398, groups=40.5), excess(1, 11)), (), ())
    assert dataset_verdict(grouped).shortfalls == (Shortfall("groups", 40, 160),)


def test_a_wide_interval_far_from_chance_is_no_obstacle() -> None:
    far = BiasExcess(excess(30, 38), excess(30, 38))
    assert dataset_verdict(VerdictEvidence(far, (CUE,), ())).code == "shortcut_found"


def test_a_result_that_does_not_say_what_chance_gives_cannot_tell() -> None:
    assert dataset_verdict(VerdictEvidence(None, (CUE,), ())).code == "cannot_tell"


def test_what_is_surely_no_more_than_chance_is_nothing() -> None:
    assert dataset_verdict(replace(evidence(-1.0, 1.9), cues=(CUE,))).code == "nothing_found"
    assert dataset_verdict(evidence(-1.0, 2.1)).code != "nothing_found"


def test_what_only_class_shares_explain_is_class_balance() -> None:
    assert dataset_verdict(evidence(8, 11, classes=excess(-1, 1.5))).code == "class_balance_only"


def test_groups_that_hold_the_labels_in_place_cannot_tell() -> None:
    held = replace(evidence(), bias=BiasExcess(excess(8, 11), excess(8, 11), labels_moved=False), cues=(CUE,))
    assert dataset_verdict(held).code == "cannot_tell"


@pytest.mark.parametrize(
    ("comparisons", "code"),
    [((GAIN,), "shortcut_found_helps"), ((OPEN, GAIN), "shortcut_found_helps"), ((LOSS,), "shortcut_found_harms"),
     ((GAIN, LOSS), "shortcut_found_mixed"), ((OPEN,), "shortcut_found"), ((), "shortcut_found")],
)  # fmt: skip
def test_all_deciding_comparisons_say_whether_filtering_helps(comparisons: tuple[Comparison, ...], code: str) -> None:
    assert dataset_verdict(replace(evidence(), cues=(CUE,), comparisons=comparisons)).code == code


def test_a_set_is_unsettled_if_a_loss_of_over_a_point_is_not_excluded() -> None:
    wide = replace(OPEN, verdict=replace(OPEN.verdict, simultaneous_low=-1.1))
    assert (OPEN.is_unsettled, wide.is_unsettled) == (False, True)
    assert not replace(GAIN, verdict=replace(GAIN.verdict, simultaneous_low=-1.1)).is_unsettled


def test_a_gain_on_a_challenge_set_beyond_that_on_natural_rows_is_a_shortcut() -> None:
    found = dataset_verdict(replace(evidence(), comparisons=(GAIN,)))
    assert (found.code, found.evidence.gains, found.shortcut) == ("shortcut_found_helps", (GAIN,), True)


@pytest.mark.parametrize(
    "change",
    [{"beyond_natural": None}, {"beyond_natural": (20.0, 0.2)}, {"beyond_natural": (-3.0, 0.001)},
     {"verdict": Verdict("open", None, "deciding", 0.3)}],
)  # fmt: skip
def test_a_gain_that_natural_rows_have_too_is_no_shortcut(change: dict[str, object]) -> None:
    other = replace(GAIN, **change)  # type: ignore[arg-type]
    verdict = dataset_verdict(replace(evidence(), comparisons=(other,)))
    assert (verdict.code, verdict.shortcut) == ("learnable_no_shortcut_shown", False)


def test_without_a_shortcut_one_seed_cannot_tell() -> None:
    one_seed = replace(GAIN, verdict=Verdict(None, "one seed", "deciding"), seeds=1)
    verdict = dataset_verdict(replace(evidence(), comparisons=(one_seed,)))
    assert (verdict.code, verdict.shortfalls) == ("cannot_tell", (Shortfall("seeds", 1, 2),))
    assert dataset_verdict(replace(evidence(), comparisons=(one_seed,), cues=(CUE,))).code == "shortcut_found"
    assert dataset_verdict(replace(evidence(), comparisons=(OPEN, one_seed))).code == "learnable_no_shortcut_shown"


def test_what_a_comparison_lacks() -> None:
    few = replace(GAIN, verdict=Verdict(None, "few rows", "deciding"), test_rows=12, groups=12.0)
    assert shortfalls(few) == (Shortfall("test rows", 12, 20),)
    lumped = replace(GAIN, verdict=Verdict(None, "few groups", "deciding"), groups=4.7)
    assert shortfalls(lumped) == (Shortfall("test groups", 4, 10),)
    assert shortfalls(GAIN) == ()
    assert shortfalls(replace(GAIN, difference=None, verdict=Verdict(None, "not run"))) == ()
