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
    return VerdictEvidence(BiasExcess(excess(low, high), classes or excess(low, high)), (), (), None)


CUE = Cue("word", "text_pair", "not", "contradiction", 0.9, 100, 80, 0.4, 0.2, 1e-9, 1e-8, True)
PRIMARY = Comparison(
    "small", "clean", True, 12.0, Verdict("above", None, "primary", 0.001), 500, 500.0, 3, (20.0, 0.001)
)


def test_a_wide_interval_cannot_tell_and_says_how_many_rows_would_settle_it() -> None:
    wide = VerdictEvidence(BiasExcess(excess(1, 11, rows=398), excess(1, 11)), (CUE,), (PRIMARY,), PRIMARY)
    verdict = dataset_verdict(wide)
    assert verdict.code == "cannot_tell"
    assert verdict.shortfalls == (Shortfall("rows", 398, 1_592),)
    grouped = VerdictEvidence(BiasExcess(excess(1, 11, rows=398, groups=40.5), excess(1, 11)), (), (), None)
    assert dataset_verdict(grouped).shortfalls == (Shortfall("groups", 40, 160),)


def test_a_wide_interval_far_from_chance_is_no_obstacle() -> None:
    far = BiasExcess(excess(30, 38), excess(30, 38))
    assert dataset_verdict(VerdictEvidence(far, (CUE,), (), None)).code == "shortcut_found"


def test_a_result_that_does_not_say_what_chance_gives_cannot_tell() -> None:
    assert dataset_verdict(VerdictEvidence(None, (CUE,), (), None)).code == "cannot_tell"


def test_what_is_surely_no_more_than_chance_is_nothing() -> None:
    assert dataset_verdict(replace(evidence(-1.0, 1.9), cues=(CUE,))).code == "nothing_found"
    assert dataset_verdict(evidence(-1.0, 2.1)).code != "nothing_found"


def test_what_only_class_shares_explain_is_class_balance() -> None:
    assert dataset_verdict(evidence(8, 11, classes=excess(-1, 1.5))).code == "class_balance_only"


@pytest.mark.parametrize(
    ("side", "code"),
    [("above", "shortcut_found_helps"), ("below", "shortcut_found_harms"), ("open", "shortcut_found"),
     (None, "shortcut_found")],
)  # fmt: skip
def test_a_mark_is_a_shortcut_and_the_primary_comparison_says_help_or_harm(side: str | None, code: str) -> None:
    primary = replace(PRIMARY, verdict=Verdict(side, None, "primary"), beyond_natural=None)  # type: ignore[arg-type]
    assert dataset_verdict(replace(evidence(), cues=(CUE,), primary=primary)).code == code
    assert dataset_verdict(replace(evidence(), cues=(CUE,))).code == "shortcut_found"


def test_rows_with_the_same_shortcut_show_no_harm() -> None:
    below = Verdict("below", None, "primary")
    primary = replace(PRIMARY, challenge=False, verdict=below, beyond_natural=None)
    assert dataset_verdict(replace(evidence(), cues=(CUE,), primary=primary)).code == "shortcut_found"
    assert (primary.shares_the_cost, replace(primary, challenge=True).shares_the_cost) == (True, False)


def test_a_gain_on_a_challenge_set_beyond_that_on_test_rows_is_a_shortcut() -> None:
    found = dataset_verdict(replace(evidence(), comparisons=(PRIMARY,), primary=PRIMARY))
    assert (found.code, found.gains, found.shortcut) == ("shortcut_found_helps", (PRIMARY,), True)


@pytest.mark.parametrize(
    "change",
    [{"beyond_natural": None}, {"beyond_natural": (20.0, 0.2)}, {"beyond_natural": (-3.0, 0.001)}, {"challenge": False},
     {"verdict": Verdict("open", None, "primary", 0.3)}, {"may_judge": False}],
)  # fmt: skip
def test_a_gain_that_test_rows_have_too_is_none(change: dict[str, object]) -> None:
    other = replace(PRIMARY, **change)  # type: ignore[arg-type]
    verdict = dataset_verdict(replace(evidence(), comparisons=(other,), primary=other))
    assert (verdict.code, verdict.shortcut) == ("learnable_no_shortcut_shown", False)


def test_without_a_shortcut_one_seed_cannot_tell() -> None:
    one_seed = replace(PRIMARY, verdict=Verdict(None, "one seed", "primary"), seeds=1)
    verdict = dataset_verdict(replace(evidence(), comparisons=(one_seed,), primary=one_seed))
    assert (verdict.code, verdict.shortfalls) == ("cannot_tell", (Shortfall("seeds", 1, 2),))
    assert dataset_verdict(replace(evidence(), primary=one_seed, cues=(CUE,))).code == "shortcut_found"


def test_what_a_comparison_lacks() -> None:
    few = replace(PRIMARY, verdict=Verdict(None, "few rows", "primary"), test_rows=12, groups=12.0)
    assert shortfalls(few) == (Shortfall("test rows", 12, 20),)
    lumped = replace(PRIMARY, verdict=Verdict(None, "few groups", "primary"), groups=4.7)
    assert shortfalls(lumped) == (Shortfall("test groups", 4, 10),)
    assert shortfalls(PRIMARY) == ()
    assert shortfalls(replace(PRIMARY, difference=None, verdict=Verdict(None, "not run"))) == ()
