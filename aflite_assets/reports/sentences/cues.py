"""Marks of the removed rows in words, with their numbers, and what was removed of rows planted with a shortcut."""

from collections.abc import Sequence

from aflite_assets.analysis.inputs.cues import Cue
from aflite_assets.analysis.inputs.planted import PlantedRemoval
from aflite_assets.text import count, listed, one_line, percent
from aflite_assets.wording import counted, truncate

_MOST = 0.5
"""A class with this share of the rows with a mark is that of most of them."""
_MOST_CLASSES = 3
_MOST_ALIKE = 4
_MOST_SETS = 3


def cue_name(cue: Cue) -> str:
    """A mark in words: "the word “not” of text_pair", "mark = right", "text_pair alone".

    Of lengths "the number of words of text (13 or more)".
    """
    value = truncate(one_line(cue.value), 40)
    if cue.kind == "word":
        return f"the word “{value}”{_alike_text(cue.alike)} of {cue.name}"
    if cue.kind == "attribute":
        return f"{truncate(one_line(cue.name), 40)} = {value}"
    return f"the {cue.name} ({value})" if cue.kind == "length" else f"{cue.name} alone"


def _alike_text(words: Sequence[str]) -> str:
    """(and “b”, “c” and 2 more in the same rows); nothing without any."""
    if not words:
        return ""
    named = listed([f"“{truncate(one_line(word), 40)}”" for word in words], _MOST_ALIKE)
    return f" (and {named} in the same rows)"


def cues_caption(cues: Sequence[Cue]) -> str:
    """What was tested and what was found."""
    shown = [cue for cue in cues if cue.shown]
    first = f" Most telling: {cue_text(shown[0])}." if shown else ""
    return (
        f"{len(cues):,} marks were tested, {len(shown):,} are shown (Holm, 5 %).{first} rows have the mark, classes "
        "says of which classes they are, and share_kept how many of them stayed. share_removed is of the removed train "
        "rows, share_expected of as many random rows of each class; of a length both count rows of its class alone. "
        "Where counts is false the mark is a hint: a single text's word or length, or a feature, may be the task."
    )


def class_text(cue: Cue) -> str:
    """How often a mark stands with its class: "with spam in 100.0 % of its 284 rows"."""
    name = truncate(one_line(cue.label_name or ""), 40)
    return f"with {name} in {percent(cue.class_share or 0.0)} % of its {count(cue.rows)} rows"


def classes_text(cue: Cue, label_names: Sequence[str]) -> str:
    """Of which classes the rows with a mark are, the largest shares first: "spam 91.0 %, ham 9.0 %"."""
    order = sorted(range(len(cue.class_shares)), key=lambda label: -cue.class_shares[label])
    parts = [
        f"{truncate(one_line(label_names[label]), 40)} {percent(cue.class_shares[label])} %"
        for label in order[:_MOST_CLASSES]
    ]
    rest = f" and {count(len(order) - _MOST_CLASSES)} more" if len(order) > _MOST_CLASSES else ""
    return ", ".join(parts) + rest


def cue_numbers(cue: Cue, label_names: Sequence[str]) -> str:
    """Rows with a mark, the class of most of them, how many stayed: "284 rows, 100.0 % spam, 3.2 % kept".

    Where no class has half of them none is named, and none for a text that is right alone, whatever the class.
    """
    largest = max(range(len(cue.class_shares)), key=lambda label: cue.class_shares[label], default=0)
    share = cue.class_shares[largest] if cue.class_shares else 0.0
    named = share >= _MOST and cue.kind != "partial input"
    of_class = f", {percent(share)} % {truncate(one_line(label_names[largest]), 40)}" if named else ""
    return f"{counted(cue.rows, 'row')}{of_class}, {percent(cue.share_kept)} % kept{_elsewhere_text(cue.elsewhere)}"


def _elsewhere_text(shares: Sequence[tuple[str, float]]) -> str:
    """ "; in no row of “clean”, in 3.0 % of “hans”"; nothing where nothing was counted."""
    parts = [
        f"in {f'{percent(share)} %' if share else 'no row'} of “{truncate(one_line(name), 40)}”"
        for name, share in shares[:_MOST_SETS]
    ]
    return f"; {', '.join(parts)}" if parts else ""


def marked_text(cue: Cue, label_names: Sequence[str]) -> str:
    """A mark and its numbers in brackets: "the word “not” of text_pair (284 rows, ...)"."""
    numbers = cue_numbers(cue, label_names)
    return f"{cue_name(cue).removesuffix(')')}; {numbers})" if cue.kind == "length" else f"{cue_name(cue)} ({numbers})"


def cue_text(cue: Cue) -> str:
    """One mark with its numbers, in one sentence or two, without the last full stop."""
    removed, expected = percent(cue.share_removed), percent(cue.share_expected)
    verb = "is right for" if cue.kind in ("partial input", "column") else "marks"
    shares = f"{verb} {removed} % of the removed rows and {expected} % of as many random ones"
    if cue.label_name is None or cue.class_share is None:
        return f"{cue_name(cue)} {shares}"
    if cue.kind == "length":
        shares = f"Of the removed rows {removed} % are of that length and class, of as many random ones {expected} %"
        return f"{cue_name(cue)}, {class_text(cue)}. {shares}"
    return f"{cue_name(cue)}, {class_text(cue)}. It {shares}"


def planted_sentence(removal: PlantedRemoval) -> str:
    """Precision and recall in words, each beside what as many rows drawn at random would have."""
    planted = f"{_short(removal.attribute)} {listed([_short(value) for value in removal.values])}"
    where = f"Of the {count(removal.rows)} train rows that entered filtering with {removal.representation}"
    if removal.recall is None or removal.recall_by_chance is None:
        return f"{where} none was planted with a shortcut ({planted}), so nothing says how well it was found."
    text = f"{where} {count(removal.planted_rows)} were planted with a shortcut ({planted})."
    if removal.precision is None or removal.precision_by_chance is None:
        return f"{text} None of them was removed, nor was any other."
    return (
        f"{text} It removed {count(removal.removed_rows)}: {percent(removal.precision)} % of these were planted "
        f"(precision; by chance {percent(removal.precision_by_chance)} %), and {percent(removal.recall)} % of all "
        f"planted ones were among them (recall; by chance {percent(removal.recall_by_chance)} %)."
    )


def _short(text: str) -> str:
    return truncate(one_line(text), 60)
