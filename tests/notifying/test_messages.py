"""What alerts say, and that text of a dataset cannot say anything else in them."""

import pytest

from aflite_assets.notifying.messages import LONGEST_REASON, Alert, chat_text, log_line, one_line

LINK = "http://127.0.0.1:3000/runs/1"


def alert(reason: str, **changes: str) -> Alert:
    values = {"dataset": "digits", "stage": "filtered_sets", "link": LINK, **changes}
    return Alert("failed", reason=reason, **values)


def test_a_message_names_dataset_stage_reason_and_link() -> None:
    assert log_line(alert("no rows")) == f"digits, filtered_sets failed: no rows ({LINK})"
    assert chat_text([alert("no rows")]) == f"*digits*, filtered_sets failed: `no rows` <{LINK}|open>"


def test_alerts_of_one_message_stand_on_lines_of_their_own() -> None:
    lines = chat_text([alert("one\ntwo"), alert("three")]).split("\n")
    assert [line.split("`")[1] for line in lines] == ["one two", "three"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<!channel> look", "&lt;!channel&gt; look"),
        ("<https://evil.example|click>", "&lt;https:\u200b//evil.example|click&gt;"),
        ("R&D", "R&amp;D"),
        ("@all @here", "@\u200ball @\u200bhere"),
        ("a` *bold* `b", "a' *bold* 'b"),
        ("first\r\nsecond\u2028third\tend", "first second third end"),
        ("\x1b[31mred \u202eslanted\x00", "\ufffd[31mred \ufffdslanted\ufffd"),
    ],
)
def test_hostile_text_stays_text(text: str, shown: str) -> None:
    assert chat_text([alert(text)]).split("`")[1] == shown


def test_hostile_names_and_links_stay_what_they_are() -> None:
    shown = chat_text([alert("r", dataset="<!here>", link="http://x/|<!here>")])
    assert "<!here>" not in shown
    assert shown.endswith("<http://x/%7C&lt;!here&gt;|open>")


def test_long_text_is_cut() -> None:
    assert one_line("x" * 5000) == "x" * (LONGEST_REASON - 1) + "…"
    assert one_line("x" * LONGEST_REASON) == "x" * LONGEST_REASON
