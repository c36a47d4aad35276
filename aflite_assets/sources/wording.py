"""Phrases that this package's error messages share."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """`; did you mean 'label'?` for the known name nearest to `name`, or nothing when none is near."""
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
