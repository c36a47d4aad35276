"""What a check found: in one word, in a table's cell, and on one line, as a log ends with them."""

from aflite_assets.checks import CheckOutcome, failed_lines

GOOD = CheckOutcome("data", "labels_known", "Every label is known.", True)
BAD = CheckOutcome("filter", "no_cautions", "None.", False, "Class 1\nmade up \x1b[31m5 %.", subject="a")
NOTHING = CheckOutcome("data", "images_decode", "Images.", True, "not applicable: images only", applies=False)


def test_failed_checks_say_what_was_found_on_one_line() -> None:
    assert failed_lines([GOOD, BAD]) == [
        "check FAILED: filter, no_cautions (a): Class 1 made up \N{SYMBOL FOR ESCAPE}[31m5 %."
    ]


def test_that_all_passed_is_said_and_nothing_of_nothing() -> None:
    assert failed_lines([GOOD]) == ["all checks passed (1)"]
    assert failed_lines([]) == []
    assert GOOD.line == "check passed: data, labels_known"


def test_what_does_not_apply_is_skipped_and_not_counted_as_passed() -> None:
    assert NOTHING.outcome == "skipped"
    assert NOTHING.line == "check skipped: data, images_decode: not applicable: images only"
    assert failed_lines([GOOD, NOTHING, GOOD]) == ["all checks passed (2; 1 skipped, as they do not apply)"]
    assert failed_lines([NOTHING, BAD]) == [BAD.line]


def test_what_is_to_be_done_is_said_of_failed_checks_alone() -> None:
    outcomes = [
        CheckOutcome("data", "named", "Asked.", passed, found, "get it", applies=applies)
        for passed, found, applies in (
            (False, "3 rows", True), (False, "One.", True), (False, "", True), (True, "0 rows", True),
            (False, "-", False),
        )
    ]  # fmt: skip
    said = ["3 rows. To do: get it", "One. To do: get it", "get it", "0 rows", "-"]
    assert [one.said for one in outcomes] == said
    assert outcomes[0].line == "check FAILED: data, named: 3 rows. To do: get it"


def test_the_title_names_what_the_check_is_about() -> None:
    assert (GOOD.title, BAD.title) == ("labels_known", "no_cautions (a)")
