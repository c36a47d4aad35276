"""Kinds with a shortcut: a cue that goes with the label by accident and that models use.

Kinds in which a property only tempts do not belong here (`property_nulls.py`).
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from benchmarks.verdict_kinds.cues import (
    FORMAT,
    PLACE,
    QUALITY,
    Cue,
    answer_position,
    continuous,
    marked,
    named_word,
    record_range,
    spread,
    text_length,
    two_weak,
)
from benchmarks.verdict_kinds.drawing import (
    build_rows,
    draw_labels,
    flip,
    make_draw,
    measure_margins,
    place_centres,
    scatter,
)
from benchmarks.verdict_kinds.nulls import natural
from benchmarks.verdict_kinds.records import (
    FILTER_SHARES,
    FOUND,
    HELPS,
    LEANS,
    TEST,
    Challenge,
    Draw,
    Kind,
    Rows,
    Seen,
    filter_share,
    separate_stream,
)

FALSE = frozenset({"easy", "class_balance_only", "nothing_found"})
"""The cue is learnt, and what is learnt is not the task."""

AGREES_IN_CHALLENGE = 0.25
"""Share of challenge rows whose cue names their own class, if a challenge set is reversed."""


def shortcut(
    name: str,
    seen: Seen,
    draw: Callable[[np.random.Generator], Draw],
    why: str,
    *,
    cue: str | None,
    expected: frozenset[str] = FOUND,
    refused: frozenset[str] = FALSE | HELPS,
    shares: Sequence[float] = FILTER_SHARES,
    random_filter: bool = False,
) -> Kind:
    """Return a kind with a shortcut; by default it is expected to be found, and help must be told with its name."""
    return Kind(
        name,
        "shortcut",
        cue,
        seen,
        filter_share(name, shares),
        why,
        separate_stream(name, draw),
        expected,
        refused,
        random_filter,
    )


def unseen(name: str, draw: Callable[[np.random.Generator], Draw], why: str, *, challenge: bool = True) -> Kind:
    """Return a kind whose shortcut is no property of the rows, so that only its rate is reported."""
    expected = (HELPS if challenge else frozenset()) | {"learnable_no_shortcut_shown", "cannot_tell"}
    return shortcut(name, "unseen", draw, why, cue=None, expected=expected, refused=FALSE, shares=FILTER_SHARES[:2])


def draw_cue(
    rng: np.random.Generator,
    cue: Cue,
    *,
    apart: float = 0.6,
    challenge: str | None = None,
    agrees: float = AGREES_IN_CHALLENGE,
    hidden: bool = False,
    irrelevant: Sequence[str] = (),
    artefacts: Sequence[str] = (),
    shares: Sequence[float] = (0.5, 0.5),
) -> Draw:
    """Gaussian classes, weakly apart, and a cue.

    `challenge`: "reversed" (the cue names another class than the label on all rows but a share `agrees`), "fresh"
    (drawn as the train rows are), or None for no challenge set. `hidden`: leave out the properties of the cue.
    """
    centres = place_centres(len(shares), apart)

    def with_reversed(share: float) -> Callable[[int], Rows]:
        def rows(count: int) -> Rows:
            labels = draw_labels(rng, count, shares)
            named = flip(rng, labels, share, len(shares))
            added, properties = cue(rng, named)
            signal = scatter(rng, labels, centres)
            margins = measure_margins(signal, labels, centres)
            if hidden:
                blocks = [one.block for one in properties if one.block is not None]
                return build_rows(rng, np.column_stack([signal + added, *blocks]), labels, margins)
            return build_rows(rng, signal + added, labels, margins, properties)

        return rows

    rows = with_reversed(0.0)
    challenges = {}
    if challenge == "reversed":
        challenges = {"reversed": Challenge(with_reversed(1 - agrees)(TEST), "constructed")}
    elif challenge == "fresh":
        challenges = natural(rows)
    return make_draw(rows, challenges, irrelevant=irrelevant, artefacts=artefacts)


def _drawn(cue: Cue, **settings: object) -> Callable[[np.random.Generator], Draw]:
    return partial(draw_cue, cue=cue, **settings)  # type: ignore[arg-type]


SHORTCUTS = (
    *(
        shortcut(
            f"cue word on {share:.0%}, seen".replace("%", " %"),
            "reversed",
            _drawn(named_word(share), challenge="reversed", agrees=0.0),
            "A word names the label, and on the challenge set it names the other class, so it must be found and named.",
            cue="cue_word",
        )
        for share in (0.3, 0.5, 0.7)
    ),
    *(
        unseen(
            f"cue word on {share:.0%}, not seen".replace("%", " %"),
            _drawn(named_word(share), challenge="reversed", agrees=0.0, hidden=True),
            "The cue is no property of the rows, so a verdict can tell of a gain on the challenge set at most.",
        )
        for share in (0.5, 0.7)
    ),
    *(
        shortcut(
            f"length of the {text} text follows the class on {share:.0%}".replace("%", " %"),
            "reversed",
            _drawn(text_length(share, separable=text == "second"), challenge="reversed", agrees=0.0),
            f"The length of the {text} text goes with the class, and on the challenge set it goes with the other one.",
            cue="words",
        )
        for text in ("second", "only")
        for share in (0.4, 0.6)
    ),
    shortcut(
        "place goes with the class, declared",
        "declared",
        _drawn(PLACE, irrelevant=["place"]),
        "Nine in ten rows of both classes are at the place of their class, which the author declared irrelevant.",
        cue="place",
    ),
    shortcut(
        "place goes with the class, reversed",
        "reversed",
        _drawn(PLACE, challenge="reversed"),
        "Nine in ten rows of both classes are at the place of their class, and on the challenge set three in ten are.",
        cue="place",
    ),
    shortcut(
        "place goes with the class, not declared",
        "none",
        _drawn(PLACE, challenge="fresh"),
        "Models lean on the place, and whether it belongs to the task is the person's to say.",
        cue="place",
        expected=LEANS,
        refused=FALSE | HELPS | FOUND,
    ),
    unseen(
        "place goes with the class, no property",
        _drawn(PLACE, hidden=True),
        "Models lean on the place, which no property names, so nothing can be required of a verdict.",
        challenge=False,
    ),
    *(
        shortcut(
            f"continuous cue on {share:.0%}, declared".replace("%", " %"),
            "declared",
            _drawn(continuous(share), challenge="fresh", irrelevant=["pause"]),
            "A number goes with the class on some rows, and the author declared it irrelevant.",
            cue="pause",
        )
        for share in (0.3, 0.6)
    ),
    *(
        shortcut(
            f"continuous cue on {share:.0%}, reversed".replace("%", " %"),
            "reversed",
            _drawn(continuous(share), challenge="reversed"),
            "A number goes with the class on some rows, and on the challenge set mostly with the other class.",
            cue="pause",
        )
        for share in (0.3, 0.6)
    ),
    *(
        shortcut(
            f"mark on {share:.0%} of one class".replace("%", " %"),
            "editable",
            _drawn(marked("final_period", (0.3, share)), artefacts=["final_period"]),
            "Typography marks nearly all rows of one class and three in ten of the other, and can be edited.",
            cue="final_period",
        )
        for share in (0.95, 0.97)
    ),
    shortcut(
        "blanks on 40 % of one class and nowhere else",
        "editable",
        _drawn(marked("double_blank", (0.0, 0.4)), challenge="fresh"),
        "Blanks have no carriers outside their class, but an edited copy of the rows shows that models use them.",
        cue="double_blank",
    ),
    shortcut(
        "mark on one class of three, declared",
        "declared",
        _drawn(marked("watermark", (0.1, 0.1, 0.6)), challenge="fresh", irrelevant=["watermark"], shares=(1 / 3,) * 3),
        "A watermark goes with one class of three, and the author declared it irrelevant.",
        cue="watermark",
    ),
    shortcut(
        "mark on one class of three, reversed",
        "reversed",
        _drawn(marked("watermark", (0.1, 0.1, 0.6)), challenge="reversed", shares=(1 / 3,) * 3),
        "A watermark goes with one class of three, and on the challenge set mostly with the other two.",
        cue="watermark",
    ),
    shortcut(
        "two weak cues, declared",
        "declared",
        _drawn(two_weak, irrelevant=["smiley", "link"]),
        "Two marks go with one class each, and the author declared both irrelevant.",
        cue="smiley",
    ),
    shortcut(
        "two weak cues, reversed",
        "reversed",
        _drawn(two_weak, challenge="reversed"),
        "Two marks go with one class each, and on the challenge set mostly with the other one.",
        cue="smiley",
    ),
    shortcut(
        "cue spread over 40 features, declared",
        "declared",
        _drawn(spread, challenge="fresh", irrelevant=["camera"]),
        "The camera shifts forty columns a little, and the author declared it irrelevant.",
        cue="camera",
    ),
    shortcut(
        "cue spread over 40 features, reversed",
        "reversed",
        _drawn(spread, challenge="reversed"),
        "The camera shifts forty columns a little, and on the challenge set it goes mostly with the other class.",
        cue="camera",
    ),
    unseen(
        "cue spread over 40 features, not seen",
        _drawn(spread, challenge="reversed", hidden=True),
        "The camera is no property of the rows, so a verdict can tell of a gain on the challenge set at most.",
    ),
    shortcut(
        "record numbers of one range on half of one class",
        "editable",
        _drawn(record_range),
        "A column of the features is a record number, which gives away half of one class and can be edited.",
        cue="record_number",
    ),
    shortcut(
        "position of the answer",
        "editable",
        _drawn(answer_position, challenge="fresh", artefacts=["position"]),
        "Right answers mostly stand first, which is an artefact by nature and can be edited.",
        cue="position",
    ),
    shortcut(
        "file format goes with the class",
        "declared",
        _drawn(FORMAT, artefacts=["file_format"]),
        "The file format shows in the pictures, cannot be separated from them, and is an artefact by nature.",
        cue="file_format",
    ),
    shortcut(
        "declared place, random rows kept",
        "declared",
        _drawn(PLACE, challenge="reversed", irrelevant=["place"]),
        "Models lean on the declared place, and as the kept rows are random, filtering neither helps nor harms.",
        cue="place",
        expected=frozenset({"shortcut_found"}),
        refused=FALSE | HELPS | FOUND - {"shortcut_found"},
        random_filter=True,
    ),
    shortcut(
        "image quality, 20 and 80 % of the classes",
        "none",
        _drawn(QUALITY, challenge="fresh"),
        "Models lean on quality, and whether it belongs to the task is the person's to say.",
        cue="quality",
        expected=LEANS,
        refused=FALSE | HELPS | FOUND,
    ),
)
