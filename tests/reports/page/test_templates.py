"""Plain words in the page's own text: no sentence over 30 words."""

import re
from html import unescape
from importlib.resources import files

import pytest

FOLDER = files("aflite_assets.reports.page") / "templates"
TEMPLATES = sorted(one.name for one in FOLDER.iterdir() if one.name.endswith(".j2"))
MOST_WORDS = 30


def sentences(template: str) -> list[str]:
    """Of every block of text; what is filled in counts as one word, what is chosen as nothing."""
    text = (FOLDER / template).read_text(encoding="utf-8")
    text = re.sub(r"\{%.*?%\}", "", re.sub(r"\{\{.*?\}\}", " it ", text, flags=re.S), flags=re.S)
    blocks = re.findall(r"<(p|li|figcaption|dd|caption)\b[^>]*>(.*?)</\1>", text, flags=re.S)
    words = (" ".join(unescape(re.sub(r"<[^>]+>", "", block)).split()) for _, block in blocks)
    return [one for block in words for one in re.split(r"(?<=[.!?])\s+(?=[A-Z])", block)]


@pytest.mark.parametrize("template", TEMPLATES)
def test_no_sentence_is_long(template: str) -> None:
    long = [one for one in sentences(template) if len(one.split()) > MOST_WORDS]
    assert long == []


def test_sentences_are_found() -> None:
    assert len(sentences("report.html.j2")) > 20
    assert "Accuracies in tables are in per cent." in sentences("report.html.j2")
