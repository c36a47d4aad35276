"""Terms of the glossary in text of our own, each with its definition under the pointer and the keyboard's focus."""

import re
from functools import cache

from markupsafe import Markup, escape

from aflite_assets.reports.sentences.wording import GLOSSARY
from aflite_assets.text import printable

_TAG = re.compile(r"(<[^>]*>)")


def term_id(term: str) -> str:
    """Return the id of a term's entry in the glossary of the page."""
    return "term-" + re.sub(r"[^a-z]+", "-", term.lower())


def with_definitions(text: str) -> Markup:
    """Return the text, safe to show and escaped unless it is markup, where each term links to its definition once.

    A term that is part of a longer one ("representation bias") is no term by itself there; what stands inside a link or
    code is left alone.
    """
    pieces = _TAG.split(str(text if isinstance(text, Markup) else escape(printable(text))))
    terms, pattern = _terms()
    seen: set[str] = set()
    opened = 0

    def linked(found: re.Match[str]) -> str:
        term = terms[found["term"].lower()]
        if term in seen:
            return found[0]
        seen.add(term)
        return f'<a class="term" href="#{term_id(term)}" title="{escape(GLOSSARY[term])}"><dfn>{found[0]}</dfn></a>'

    for place, piece in enumerate(pieces):
        if place % 2 and piece.strip("</>").split(" ")[0] in ("a", "code", "button"):
            opened += -1 if piece.startswith("</") else 1
        elif place % 2 == 0 and not opened:
            pieces[place] = pattern.sub(linked, piece)
    return Markup("".join(pieces))


@cache
def _terms() -> tuple[dict[str, str], re.Pattern[str]]:
    """Return terms by their escaped small letters, and the pattern of them: whole words, singular or with a plain s."""
    terms = {str(escape(term)).lower(): term for term in GLOSSARY}
    longest_first = "|".join(re.escape(term) for term in sorted(terms, key=len, reverse=True))
    return terms, re.compile(rf"(?<![\w&#-])(?P<term>{longest_first})s?(?![\w_-])", re.IGNORECASE)
