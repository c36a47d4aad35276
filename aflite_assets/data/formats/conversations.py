"""Parsing of answers in preference data, which are texts, lists of messages, or transcripts."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aflite_assets.data.formats.answers import plain_text
from aflite_assets.specs.sources import Layout

_TURN = re.compile(r"(?:\A\s*|\n\n)(Human|Assistant):")
_FIRST_TURN = re.compile(r"\s*Human:")

Value = str | list["Message"]
"""One answer: a text, or a conversation."""


@dataclass(frozen=True)
class Message:
    """One message of a conversation: `role`, such as user or Assistant, and `content`."""

    role: str
    content: str


class UnreadableError(ValueError):
    """Error for a value that is neither a text nor a conversation."""


def answers_in(value: object, *, in_list: bool = False) -> list[Value]:
    """Return all answers in a cell, which may be empty or contain one answer or a list of answers.

    `in_list`: True if `value` is an element of a list.

    Raises:
        UnreadableError: a conversation is empty, a message lacks its role or content, or lists are nested twice.
    """
    value = _decoded(value)
    if value is None or value == "":
        return []
    if not isinstance(value, list):
        return [plain_text(value)]
    if not value:
        raise UnreadableError("a conversation is empty")
    if all(isinstance(one, Mapping) for one in value):
        return [_conversation(value)]
    if in_list:
        raise UnreadableError("a list of answers contains a list whose entries are not messages")
    return [answer for one in value for answer in answers_in(one, in_list=True)]


def texts_in_json(value: object) -> list[str] | None:
    """Return the texts of a list that is written as JSON, such as '["a", "b"]'; return None for all other values."""
    if not isinstance(value, str) or not value.startswith('["') or not value.endswith('"]'):
        return None
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return read if all(isinstance(one, str) for one in read) else None


def _decoded(value: object) -> object:
    """Return a list of messages that is written as JSON, as in a CSV file; return other values unchanged."""
    if not isinstance(value, str) or not (value == "[]" or (value.startswith("[") and '"role"' in value)):
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):  # a text that only looks like JSON
        return value
    return read if isinstance(read, list) else value


def _conversation(messages: Sequence[Mapping[str, object]]) -> list[Message]:
    found = []
    for number, message in enumerate(messages, 1):
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str) or not isinstance(content, str):
            raise UnreadableError(f"the role or content of message {number} of {len(messages)} is not a text")
        found.append(Message(role, content))
    return found


def layout_of(answer: Value) -> Layout:
    """Return the layout of an answer: a list of messages, a transcript or a plain text."""
    if isinstance(answer, list):
        return "messages"
    is_transcript = _FIRST_TURN.match(answer) is not None and "\n\nAssistant:" in answer
    return "transcripts" if is_transcript else "texts"


def turns_of(transcript: str) -> list[Message]:
    """Return the turns of a transcript, without the space after the colon of "Human:" or "Assistant:"."""
    parts = _TURN.split(transcript)
    return [Message(role, text.removeprefix(" ")) for role, text in zip(parts[1::2], parts[2::2], strict=True)]


def common_beginning(conversations: Sequence[Sequence[Message]]) -> int:
    """Return the number of messages at the beginning that are equal in all conversations.

    The last message of each conversation is not counted.
    """
    most = min(map(len, conversations)) - 1
    first = conversations[0]
    alike = (all(one[place] == first[place] for one in conversations) for place in range(most))
    return next((place for place, same in enumerate(alike) if not same), most)


def as_text(messages: Sequence[Message]) -> str:
    """Join messages to one text; the text of a single message is its content without the role."""
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"{one.role}: {one.content}" for one in messages)
