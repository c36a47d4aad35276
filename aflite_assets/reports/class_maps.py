"""How predictions of a challenge set count as its own classes, in words; what must be read beside its numbers."""

from collections.abc import Sequence

from aflite_assets.analysis.facts import TestSetFacts
from aflite_assets.text import count, listed, one_line
from aflite_assets.wording import truncate

_MOST_NAMED = 8
_COLLAPSES = {
    "label": "The predicted label is mapped (collapse: label)",
    "probability": "Probabilities of labels that count as one are added up, and the largest sum is the prediction "
    "(collapse: probability)",
}


def set_notes(test_set: TestSetFacts, label_names: Sequence[str]) -> tuple[str, ...]:
    """What to read beside a challenge set's numbers; `label_names` are the dataset's."""
    mapping = _mapping_text(test_set, label_names)
    return (*test_set.notes, *([mapping] if mapping else []))


def _mapping_text(test_set: TestSetFacts, label_names: Sequence[str]) -> str | None:
    """How predictions were mapped; None where each label counts as the one of its name."""
    if test_set.class_map is None:
        return None
    sources: dict[str | None, list[str]] = {}
    for label, target in test_set.class_map.items():
        sources.setdefault(target, []).append(label)
    nothing = sources.pop(None, [])
    same = [target for target, labels in sources.items() if labels == [target]]
    if len(same) == len(label_names):
        return None
    added = test_set.adds_probabilities
    many = len(same) > _MOST_NAMED
    parts = [f"{count(len(same))} labels count as those of the same name"] if many else []
    parts += [
        _counts_as(sources[target], _short(target))
        for target in test_set.label_names
        if target in sources and not (many and target in same)
    ]
    if nothing:
        fate = f"{'is' if len(nothing) == 1 else 'are'} {'left out' if added else 'always wrong'}"
        parts.append(_counts_as(nothing, f"none of this set's labels and {fate}"))
    return f"{_COLLAPSES['probability' if added else 'label']}: {'; '.join(parts)}."


def _counts_as(labels: Sequence[str], what: str) -> str:
    shown = listed([_short(label) for label in labels], _MOST_NAMED)
    return f"{shown} {'counts' if len(labels) == 1 else 'count'} as {what}"


def _short(label: str) -> str:
    return truncate(one_line(label), 60)
