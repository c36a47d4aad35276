"""Recognition of a cue in the scan of other data, in which the cue may have another range or another name."""

from collections.abc import Sequence

from aflite_assets.scan.cues import Cue


def same_cue(cue: Cue, others: Sequence[Cue], *, any_class: bool) -> Cue | None:
    """Return the cue of another scan that is the same cue, or None.

    Two cues of one class are the same if they have the same properties, or a property that nearly the same rows have.
    Ranges are ignored. `any_class`: whether the classes may differ. If there are two classes, a range and its negation
    count as the same cue.
    """
    matches = [other for other in others if (any_class or other.label == cue.label) and _shares_properties(cue, other)]
    return max(matches, key=lambda other: (other.label == cue.label, other.balanced), default=None)


def _shares_properties(cue: Cue, other: Cue) -> bool:
    if not cue.properties or not other.properties:
        return cue.name == other.name
    own = [set(cue.properties), *({one} for one in cue.same_properties)]
    return any(properties in own for properties in (set(other.properties), *({one} for one in other.same_properties)))
