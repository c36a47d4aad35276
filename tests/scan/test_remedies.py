"""Every kind of property has a remedy, and advice is a command that a shell reads."""

from dataclasses import replace

import pytest

from aflite_assets.scan.cues import Cue, CueProperty, ScanFacts
from aflite_assets.scan.remedies import REMEDIES, REMEDIES_BY_KIND, advice, candidate_advice, remedies_of


def cue(*properties: CueProperty) -> Cue:
    """A cue of these properties; its numbers do not matter."""
    return Cue(
        2, "a name", "kind", "artefact", "yes", 60, 0.6, 0.1, 0.8, 0.5, 0.7, 0.6, 0.8, 0.001, properties=properties
    )


@pytest.mark.parametrize(
    ("kind", "name", "source", "remedies"),
    [
        ("typography", "markup (text)", "text", ("normalise", "rebalance")),
        ("identifier", "record", "record", ("drop", "rebalance")),
        ("identifier", "id", "", ("drop", "rebalance")),
        ("identifier", "number in the file name", "", ("normalise", "rebalance")),
        ("missing values", "age is missing", "age", ("drop", "rebalance")),
        ("missing values", "number of missing values", "", ("rebalance",)),
        ("attribute", "site = 'a'", "site", ("rebalance", "drop")),
        ("column", "age", "age", ("drop", "rebalance")),
        ("file format", "JPEG quality = 95", "", ("normalise", "rebalance")),
        ("file format", "cannot be decoded", "", ("rebalance",)),
        ("file format", "dark patch of one colour in the top left corner", "", ("normalise", "rebalance")),
        ("image", "green of the top left corner", "", ("rebalance", "normalise")),
        ("image", "border of one colour", "", ("normalise", "rebalance")),
        ("image", "brightness", "", ("rebalance",)),
        ("order", "row number in the file (from 1)", "", ("shuffle", "rebalance")),
        ("words", "the word 'a' (text)", "text", ("rebalance",)),
        ("a kind of later", "name", "", ("rebalance",)),
    ],
)
def test_remedies_follow_the_kind_and_the_default_is_first(
    kind: str, name: str, source: str, remedies: tuple[str, ...]
) -> None:
    assert remedies_of(cue(CueProperty(kind, name, source))) == remedies


def test_every_remedy_of_the_table_is_known_and_ends_in_rebalance() -> None:
    for remedies in REMEDIES_BY_KIND.values():
        assert set(remedies) <= set(REMEDIES)
        assert "rebalance" in remedies


def test_a_column_is_dropped_also_if_it_may_be_the_task() -> None:
    """A person who asks for it has judged that it is not."""
    candidate = replace(cue(CueProperty("column", "officer", "officer")), reason=None)
    assert remedies_of(candidate) == ("drop", "rebalance")


def test_two_properties_are_mended_alike_or_rebalanced() -> None:
    dash, blank = CueProperty("typography", "two hyphens (text)", "text"), CueProperty("blanks", "tab (text)", "text")
    assert remedies_of(cue(dash, blank)) == ("normalise", "rebalance")
    assert remedies_of(cue(dash, CueProperty("words", "the word 'a' (text)", "text"))) == ("rebalance",)


def test_advice_is_one_line_with_the_number_that_is_printed() -> None:
    one = cue(CueProperty("typography", "markup (text)", "text"))
    assert advice(ScanFacts((one,), None, (), 0, 0, 0, ()), one, "aflite fix 'my file.csv'") == (
        "mend it: aflite fix 'my file.csv' --cue 3 --to NEW_FOLDER (makes it the same in all rows; --by rebalance "
        "keeps a subset of the rows)"
    )


def test_an_abbreviation_and_its_long_form_are_better_written_alike_than_rebalanced() -> None:
    def word(said: str, label: str, source: str = "text") -> Cue:
        one = cue(CueProperty("words", f"the word '{said}' ({source})", source))
        return replace(one, name=one.properties[0].name, reason=None, label=label)

    facts = ScanFacts((), None, (), 0, 0, 0, ())
    pair = [word("approx", "a"), word("approximately", "b")]
    assert candidate_advice(facts, pair, "aflite fix f.csv").split("\n") == [
        "If one of them is no part of the task: aflite fix f.csv --cue N --to NEW_FOLDER",
        "If “approx” and “approximately” are one word in two spellings, write it alike in all rows instead: that keeps "
        "the rows, and rebalancing drops some.",
    ]
    others = (
        [word("approx", "a"), word("approximately", "a")],  # both words stand for one class
        [word("approx", "a"), word("approximately", "b", "reply")],
        [word("walk", "a"), word("walking", "b")],
        [word("so", "a"), word("sorrow", "b")],
    )
    for words in others:
        assert "\n" not in candidate_advice(facts, words, "aflite fix f.csv")
