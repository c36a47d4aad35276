"""A small result with one part, as tests of the doctor publish it, and the kinds of the problems that it finds."""

from collections.abc import Mapping
from typing import Any

from aflite_assets.results import Draft, PublishedResult, ResultKey, ResultStore


def write(draft: Draft) -> Mapping[str, Any]:
    (draft.path / "rows.txt").write_text("0123456789")
    return {}


def with_part(draft: Draft) -> Mapping[str, Any]:
    draft.part("given", ResultKey("1", {"part": 1}, {}), write)
    return write(draft)


def publish(store: ResultStore, number: int = 0) -> PublishedResult:
    return store.get_or_create("filtered_sets", "digits", ResultKey("1", {"n": number}, {}), with_part).result


def kinds(problems: Any) -> list[tuple[str, bool]]:
    return [(one.kind, one.mended) for one in problems]
