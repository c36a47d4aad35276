"""Terms of the glossary in text of our own, each with its definition under the pointer and the keyboard's focus."""

import re
from functools import cache

from markupsafe import Markup, escape

from aflite_assets.reports.sentences.wording import GLOSSARY
from aflite_assets.text import printable

_TAG = re.compile(r"(<[^>]*>)")


def term_id(term: str) -> str:
    """The id of a term's entry in the glossary of the page."""
    return "term-" + re.sub(r"[^a-z]+", "-", term.lower())


def with_definitions(text: str) -> Markup:
    """The text, safe to show and escaped unless it is markup, where each term links to its definition once.

    A term that is part of a longer one ("representation bias") is no term by itself there; what stands inside a link or
    code is left alone.
    """
    shown = text if isinstance(text, Markup) else escape(printable(text))
    pieces = _TAG.split(str(shown))
    seen: set[str] = set()
    closed_by: list[str] = []
    for place, piece in enumerate(pieces):
        if place % 2:
            name = piece.strip("</>").split(" ")[0]
            if name in ("a", "code", "button"):
                closed_by = closed_by[:-1] if piece.startswith("</") else [*closed_by, name]
        elif not closed_by:
            pieces[place] = _pattern().sub(lambda found: _link(found, seen), piece)
    return Markup("".join(pieces))


def _link(found: re.Match[str], seen: set[str]) -> str:
    term = _terms()[found["term"].lower()]
    if term in seen:
        return found[0]
    seen.add(term)
    return f'<a class="term" href="#{term_id(term)}" title="{escape(GLOSSARY[term])}"><dfn>{found[0]}</dfn></a>'


@cache
def _terms() -> dict[str, str]:
    return {str(escape(term)).lower(): term for term in GLOSSARY}


@cache
def _pattern() -> re.Pattern[str]:
    """Longest first; whole words alone, in the singular or with a plain s."""
    terms = "|".join(re.escape(term) for term in sorted(_terms(), key=len, reverse=True))
    return re.compile(rf"(?<![\w&#-])(?P<term>{terms})s?(?![\w_-])", re.IGNORECASE)
