"""How predictions of a challenge set count as its own classes, in words; what must be read beside its numbers."""

from collections.abc import Sequence

from aflite_assets.analysis.facts import TestSetFacts
from aflite_assets.text import count, listed, one_line
from aflite_assets.wording import truncate

_MOST_NAMED = 8
_BY_LABEL = "The predicted label is mapped (collapse: label)"
_BY_PROBABILITY = (
    "Probabilities of labels that count as one are added up, and the largest sum is the prediction "
    "(collapse: probability)"
)


def set_notes(test_set: TestSetFacts, label_names: Sequence[str]) -> tuple[str, ...]:
    """Return what to read beside a challenge set's numbers; `label_names` are the dataset's."""
    sources: dict[str | None, list[str]] = {}
    for label, target in (test_set.class_map or {}).items():
        sources.setdefault(target, []).append(label)
    nothing = sources.pop(None, [])
    same = [target for target, labels in sources.items() if labels == [target]]
    if test_set.class_map is None or len(same) == len(label_names):
        return test_set.notes
    counted_only = same if len(same) > _MOST_NAMED else []
    parts = [f"{count(len(same))} labels count as those of the same name"] if counted_only else []
    for target in test_set.label_names:
        if target in sources and target not in counted_only:
            parts.append(_counts_as(sources[target], _short(target)))
    if nothing:
        fate = "left out" if test_set.adds_probabilities else "always wrong"
        verb = "is" if len(nothing) == 1 else "are"
        parts.append(_counts_as(nothing, f"none of this set's labels and {verb} {fate}"))
    how = _BY_PROBABILITY if test_set.adds_probabilities else _BY_LABEL
    return (*test_set.notes, f"{how}: {'; '.join(parts)}.")


def _counts_as(labels: Sequence[str], what: str) -> str:
    shown = listed([_short(label) for label in labels], _MOST_NAMED)
    return f"{shown} {'counts' if len(labels) == 1 else 'count'} as {what}"


def _short(label: str) -> str:
    return truncate(one_line(label), 60)
