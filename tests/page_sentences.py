"""The sentences of a report's page that are ours: text of the dataset and scripts are left out."""

import re
from html.parser import HTMLParser

MOST_WORDS = 30

_BLOCKS = {
    "aside", "button", "caption", "dd", "details", "div", "dt", "figcaption", "h1", "h2", "h3", "h4", "label", "li",
    "option", "p", "section", "small", "span", "strong", "summary", "td", "th",
}  # fmt: skip
_VOID = {"br", "hr", "img", "input", "link", "meta", "source"}
_THEIRS = {"cards", "gallery", "rows"}


class _Blocks(HTMLParser):
    """The text of each block by itself; what is marked as the dataset's is left out."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self._text: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self.feed(page)
        self.close()
        self._end_block()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in _BLOCKS:
            self._end_block()
        if tag not in _VOID:
            theirs = given.get("dir") == "auto" or given.get("class") in _THEIRS
            self._open.append((tag, theirs or tag in ("script", "style", "title")))

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()
        if tag in _BLOCKS:
            self._end_block()

    def handle_data(self, data: str) -> None:
        if not any(hidden for _, hidden in self._open):
            self._text.append(data)

    def _end_block(self) -> None:
        self.blocks.append(" ".join("".join(self._text).split()))
        self._text = []


def long_sentences(page: str) -> list[str]:
    """Sentences of more than `MOST_WORDS` words; numbers are none."""
    sentences = [one for block in _Blocks(page).blocks for one in re.split(r"(?<=[.?!])\s+", block)]
    return [one for one in dict.fromkeys(sentences) if len(re.findall(r"\S*[^\W\d_]\S*", one)) > MOST_WORDS]
