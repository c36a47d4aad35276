"""Kinds with a shortcut: a cue that goes with the label by accident and that models use.

Kinds in which a property only tempts do not belong here (`property_nulls.py`).
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from benchmarks.verdict_kinds.drawing import (
    WIDTH,
    Named,
    build_rows,
    draw_labels,
    flip,
    make_draw,
    mark,
    measure_margins,
    place_centres,
    scatter,
    words_of,
)
from benchmarks.verdict_kinds.nulls import natural
from benchmarks.verdict_kinds.records import (
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
)

Show = tuple[np.ndarray, Sequence[Named]]
"""What a cue adds to the columns of the task, (rows, WIDTH), and its properties."""

Cue = Callable[[np.random.Generator, np.ndarray], Show]
"""From labels, (rows,), or from the labels that the cue names, to what it shows."""

FALSE = frozenset({"easy", "class_balance_only", "nothing_found"})
"""The cue is learnt, and what is learnt is not the task."""

AGREES_IN_CHALLENGE = 0.25
"""Share of challenge rows whose cue names their own class, if a challenge set is reversed."""

CLASS_COUNT = 2


def shortcut(
    name: str,
    seen: Seen,
    draw: Callable[[np.random.Generator], Draw],
    why: str,
    *,
    cue: str | None,
    expected: frozenset[str] = FOUND,
    refused: frozenset[str] = FALSE | HELPS,
    random_filter: bool = False,
) -> Kind:
    """Return a kind with a shortcut; by default it is expected to be found, and help must be told with its name."""
    return Kind(name, "shortcut", cue, seen, filter_share(name), why, draw, expected, refused, random_filter)


def unseen(name: str, draw: Callable[[np.random.Generator], Draw], why: str) -> Kind:
    """Return a kind whose shortcut is no property of the rows, so that only its rate is reported."""
    expected = HELPS | {"learnable_no_shortcut_shown", "cannot_tell"}
    return shortcut(name, "unseen", draw, why, cue=None, expected=expected, refused=FALSE)


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


def named_word(share: float, *, right: float = 0.94) -> Cue:
    """Return a cue word on `share` of the rows that names the label of `right` of them, in one column per class."""

    def cue(rng: np.random.Generator, labels: np.ndarray) -> Show:
        present = rng.random(len(labels)) < share
        named = flip(rng, labels, 1 - right)
        block = 4.0 * np.column_stack([present & (named == one) for one in range(CLASS_COUNT)])
        values = np.where(present, np.where(named == 1, "names 1", "names 0"), "absent").astype(object)
        return np.zeros((len(labels), WIDTH)), [Named("cue_word", values, block)]

    return cue


def text_length(share: float, *, separable: bool) -> Cue:
    """Return a length of 5 to 29 words; on `share` of the rows it is at least 18 in one class and less in the other."""

    def cue(rng: np.random.Generator, labels: np.ndarray) -> Show:
        words = rng.integers(5, 30, len(labels))
        told = rng.random(len(labels)) < share
        long, short = rng.integers(18, 30, len(labels)), rng.integers(5, 18, len(labels))
        words = np.where(told, np.where(labels == 1, long, short), words).astype(np.float64)
        return _numeric("words", words, (words - 17) / 4, separable=separable)

    return cue


def continuous(share: float) -> Cue:
    """Return a number that is standard normal, and moved by 2 up or down by class on `share` of the rows."""

    def cue(rng: np.random.Generator, labels: np.ndarray) -> Show:
        told = rng.random(len(labels)) < share
        values = rng.normal(size=len(labels)) + told * np.where(labels == 1, 2.0, -2.0)
        return _numeric("pause", values, values, separable=True)

    return cue


def _numeric(name: str, values: np.ndarray, column: np.ndarray, *, separable: bool) -> Show:
    # What cannot be separated from the input is spread over three columns of the task.
    added = np.zeros((len(values), WIDTH))
    if not separable:
        added[:, 6:9] = 0.7 * column[:, None]
    return added, [Named(name, values, column if separable else None)]


def background(name: str, agrees: float, values: tuple[str, str], *, size: float = 1.0, columns: int = 4) -> Cue:
    """Return a two-valued property that goes with both classes alike and shows in columns of the task.

    `agrees`: share of the rows of each class that have the value of their class. `values`: one per class.
    """

    def cue(rng: np.random.Generator, labels: np.ndarray) -> Show:
        second = flip(rng, labels, 1 - agrees) == 1
        added = np.zeros((len(labels), WIDTH))
        added[:, WIDTH - columns :] = size * np.where(second, 1.0, -1.0)[:, None]
        return added, [Named(name, words_of(second, values[1], values[0]))]

    return cue


def marked(name: str, shares: Sequence[float], *, size: float = 2.0) -> Cue:
    """Return a mark on the given share of each class, in a column of its own."""

    def cue(rng: np.random.Generator, labels: np.ndarray) -> Show:
        present = rng.random(len(labels)) < np.array(shares)[labels]
        return np.zeros((len(labels), WIDTH)), [mark(name, present, size)]

    return cue


def two_weak(rng: np.random.Generator, labels: np.ndarray) -> Show:
    """Return two marks, one per class, on 35 % of their class and 10 % of the other."""
    shows = [marked(name, shares)(rng, labels) for name, shares in (("smiley", (0.1, 0.35)), ("link", (0.35, 0.1)))]
    return shows[0][0], [one for _, named in shows for one in named]


def spread(rng: np.random.Generator, labels: np.ndarray) -> Show:
    """Return a camera that goes with 85 % of each class and shifts 40 columns a little."""
    second = flip(rng, labels, 0.15) == 1
    block = rng.normal(size=(len(labels), 40)) + 0.25 * np.where(second, 1.0, -1.0)[:, None]
    return np.zeros((len(labels), WIDTH)), [Named("camera", words_of(second, "second", "first"), block)]


def record_range(rng: np.random.Generator, labels: np.ndarray) -> Show:
    """Return record numbers, of which half of the rows of one class have the highest ones."""
    high = (labels == 1) & (rng.random(len(labels)) < 0.5)
    record = np.where(high, rng.integers(90_000, 100_000, len(labels)), rng.integers(10_000, 90_000, len(labels)))
    column = (record - 50_000) / 25_000
    return np.zeros((len(labels), WIDTH)), [Named("record_number", record.astype(np.float64), column)]


def answer_position(rng: np.random.Generator, labels: np.ndarray) -> Show:
    """Return the position of an answer, 0 to 3, which is 0 for 60 % of the right answers and 20 % of the wrong ones."""
    first = rng.random(len(labels)) < np.array([0.2, 0.6])[labels]
    position = np.where(first, 0, rng.integers(1, 4, len(labels)))
    block = 1.5 * (position[:, None] == np.arange(4))
    return np.zeros((len(labels), WIDTH)), [Named("position", position.astype(np.float64), block)]


def _drawn(cue: Cue, **settings: object) -> Callable[[np.random.Generator], Draw]:
    return partial(draw_cue, cue=cue, **settings)  # type: ignore[arg-type]


PLACE = background("place", 0.9, ("land", "water"))
FORMAT = background("file_format", 0.85, ("jpeg", "png"), size=0.7)
QUALITY = background("quality", 0.8, ("low", "high"))

SHORTCUTS = (
    *(
        shortcut(
            f"cue on {share:.0%}, seen".replace("%", " %"),
            "reversed",
            _drawn(named_word(share), challenge="reversed", agrees=0.0),
            "A word names the label, and on the challenge set it names the other class, so it must be found and named.",
            cue="cue_word",
        )
        for share in (0.3, 0.5, 0.7)
    ),
    *(
        unseen(
            f"cue on {share:.0%}, not seen".replace("%", " %"),
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
        "Nine in ten rows of both classes are at the place of their class, and on the challenge set a third are.",
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
            _drawn(marked("final_period", (0.3, share))),
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
        _drawn(answer_position, challenge="fresh"),
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
        "place goes with the class, declared, random rows kept",
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
