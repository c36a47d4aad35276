"""Datasets with one planted cue, and datasets without any, for the rates of `detection` and the tests of the scan.

A planted cue stands on a share `strength` of one class and on 5 % of the other rows; `carriers` says on which.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from PIL import Image

from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.scan.rows import ScanRows, TableColumn

ELSEWHERE = 0.05
"""Share of the other classes' rows that carry a planted cue."""

_WORDS = 800
_SYLLABLES = ("ba", "do", "ki", "lu", "me", "no", "pa", "ri", "so", "tu", "ve", "za", "gor", "fin", "len", "mar")


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows, and which of them carry the planted cue (bool), None without one.

    `irrelevant`: columns that are declared to be no part of the task.
    """

    rows: ScanRows
    carriers: np.ndarray | None = None
    irrelevant: tuple[str, ...] = ()


def build_rows(labels: np.ndarray, classes: int = 2, **given: object) -> ScanRows:
    """Return one set of rows with classes named "a", "b" and so on, in the order of the arrays."""
    names = tuple(chr(97 + number) for number in range(classes))
    rows = ScanRows(labels, names, np.zeros(len(labels), dtype=np.int64), ("all rows",), np.arange(len(labels)) * 1.0)
    return replace(rows, **given)  # type: ignore[arg-type]


def draw_texts(rng: np.random.Generator, count: int, *, longest: int = 40) -> list[str]:
    """Return texts of one to four sentences of made-up words, with words as frequent as in natural texts."""
    vocabulary = ["".join(rng.choice(_SYLLABLES, rng.integers(1, 5))) for _ in range(_WORDS)]
    shares = 1 / np.arange(2, _WORDS + 2)
    shares /= shares.sum()
    texts = []
    for length in rng.integers(6, longest, count):
        words = rng.choice(_WORDS, length, p=shares)
        ends = set(rng.choice(length, min(3, length), replace=False).tolist()) | {int(length) - 1}
        texts.append(_sentences([vocabulary[word] for word in words], ends, rng))
    return texts


def _sentences(words: Sequence[str], ends: set[int], rng: np.random.Generator) -> str:
    pieces, begins = [], True
    signs, commas = rng.integers(5, size=len(words)).tolist(), (rng.random(len(words)) < 0.06).tolist()
    for place, word in enumerate(words):
        shown = word.capitalize() if begins else word
        begins = place in ends
        pieces.append(shown + ("...!?"[signs[place]] if begins else "," if commas[place] else ""))
    return " ".join(pieces)


def draw_carriers(rng: np.random.Generator, labels: np.ndarray, strength: float) -> np.ndarray:
    """Return which rows carry a cue for class 1: a share `strength` of it, and `ELSEWHERE` of the others; bool."""
    return np.asarray(rng.random(len(labels)) < np.where(labels == 1, strength, ELSEWHERE))


def draw_labels(rng: np.random.Generator, count: int, shares: Sequence[float] = (0.5, 0.5)) -> np.ndarray:
    """Return random classes with these shares, int64."""
    return rng.choice(len(shares), count, p=np.asarray(shares)).astype(np.int64)


def _table(rng: np.random.Generator, count: int, width: int = 12) -> dict[str, TableColumn]:
    columns = {f"x{place}": TableColumn("column", rng.normal(size=count)) for place in range(width)}
    columns["heavy"] = TableColumn("column", rng.standard_cauchy(count))
    columns["site"] = TableColumn("attribute", rng.choice(["north", "south", "east"], count).tolist())
    return columns


def plant_id_range(rng: np.random.Generator, strength: float, count: int = 3_000) -> Drawn:
    """Record numbers of one range, on a part of one class of a table."""
    labels = draw_labels(rng, count)
    has = draw_carriers(rng, labels, strength)
    numbers = rng.permutation(50_000)[:count] + 10_000
    inside = rng.permutation(np.arange(2_000, 2_000 + 2 * count))[: has.sum()]
    numbers[has] = inside
    columns = _table(rng, count) | {"record_no": TableColumn("attribute", [str(value) for value in numbers])}
    return Drawn(build_rows(labels, columns=columns), has)


def plant_missing(rng: np.random.Generator, strength: float, count: int = 3_000) -> Drawn:
    """Two columns that are missing together, in a table in which values are missing everywhere."""
    labels = draw_labels(rng, count)
    has = draw_carriers(rng, labels, strength)
    columns = _table(rng, count)
    for place in range(6):
        values = np.asarray(columns[f"x{place}"].values, dtype=np.float64)
        gone = rng.random(count) < 0.05
        columns[f"x{place}"] = TableColumn("column", np.where(gone | (has & (place in (2, 4))), np.nan, values))
    return Drawn(build_rows(labels, columns=columns), has)


_DESKS, _STAFF = 5, 40


def plant_values(rng: np.random.Generator, strength: float, count: int = 3_000) -> Drawn:
    """Codes of persons of which carriers have one of five, and all others one of 35."""
    labels = draw_labels(rng, count)
    has = draw_carriers(rng, labels, strength)
    codes = np.where(has, rng.integers(_DESKS, size=count), rng.integers(_DESKS, _STAFF, count))
    columns = _table(rng, count) | {"staff": TableColumn("attribute", [f"S-{code:02d}" for code in codes])}
    return Drawn(build_rows(labels, columns=columns), has)


def _text_plant(change: Callable[[str, str, np.random.Generator], str]) -> Callable[..., Drawn]:
    """Return a kind in which `change` makes a carrier of a text; it is also given another text of the same words."""

    def plant(rng: np.random.Generator, strength: float, count: int = 3_000) -> Drawn:
        labels = draw_labels(rng, count)
        has = draw_carriers(rng, labels, strength)
        texts = draw_texts(rng, 2 * count)
        changed = [
            change(text, other, rng) if own else text
            for text, other, own in zip(texts[:count], texts[count:], has, strict=True)
        ]
        return Drawn(build_rows(labels, texts={"text": changed}), has)

    return plant


def _curly(text: str, other: str, rng: np.random.Generator) -> str:
    first, _, rest = text.partition(" ")
    return f"\u201c{first}\u201d \u2014 it\u2019s {rest.rstrip('.!?')}"


def _phrase(text: str, other: str, rng: np.random.Generator) -> str:
    sentences = text.split(". ")
    sentences.insert(int(rng.integers(len(sentences) + 1)), "As seen on the Marlowe wire")
    return ". ".join(sentences)


def _longer(text: str, other: str, rng: np.random.Generator) -> str:
    return f"{text} {other} {other.lower().capitalize()}"


def plant_position(rng: np.random.Generator, strength: float, count: int = 3_000) -> Drawn:
    """Return a part of one class stands together in the file, with few other rows between."""
    labels = draw_labels(rng, count)
    has = draw_carriers(rng, labels, strength)
    others = rng.permutation(np.flatnonzero(~has))
    cut = int(rng.integers(len(others)))
    order = np.concatenate([others[:cut], rng.permutation(np.flatnonzero(has)), others[cut:]])
    columns = {name: TableColumn(one.role, _taken(one, order)) for name, one in _table(rng, count).items()}
    return Drawn(build_rows(labels[order], columns=columns), has[order])


def _taken(column: TableColumn, order: np.ndarray) -> np.ndarray | list[str | None]:
    if isinstance(column.values, np.ndarray):
        return np.asarray(column.values[order])
    return [column.values[place] for place in order]


def draw_pixels(rng: np.random.Generator, side: int = 64) -> np.ndarray:
    """Return a smooth random picture with some noise, uint8 of shape (side, side, 3)."""
    coarse = rng.uniform(30, 225, (5, 5, 3)).astype(np.uint8)
    smooth = np.asarray(Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC), dtype=np.float64)
    return np.clip(smooth + rng.normal(0, 8, smooth.shape), 0, 255).astype(np.uint8)


def encode(pixels: np.ndarray, form: str = "JPEG", **settings: object) -> bytes:
    """Return the picture as bytes of an image file."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, form, **settings)
    return stream.getvalue()


def image_column(contents: Sequence[bytes]) -> pa.ChunkedArray:
    """Return encoded images as an image column."""
    return pa.chunked_array([pa.array([{"bytes": one, "path": None, "sha256": None} for one in contents], IMAGE_TYPE)])


def plant_patch(rng: np.random.Generator, strength: float, count: int = 800) -> Drawn:
    """Return a white square of 6 x 6 pixels in the lower right corner."""
    labels = draw_labels(rng, count)
    has = draw_carriers(rng, labels, strength)
    contents = []
    for own in has:
        pixels = draw_pixels(rng)
        if own:
            pixels[-6:, -6:] = 255
        contents.append(encode(pixels, "PNG"))
    return Drawn(build_rows(labels, images=image_column(contents)), has)


def plant_quality(rng: np.random.Generator, strength: float, count: int = 800) -> Drawn:
    """JPEG files of quality 90 among files of quality 80."""
    labels = draw_labels(rng, count)
    has = draw_carriers(rng, labels, strength)
    contents = [encode(draw_pixels(rng), quality=90 if own else 80) for own in has]
    return Drawn(build_rows(labels, images=image_column(contents)), has)


PLANTED: Mapping[str, Callable[..., Drawn]] = {
    "id range": plant_id_range,
    "missing pattern": plant_missing,
    "typography": _text_plant(_curly),
    "source phrase": _text_plant(_phrase),
    "length": _text_plant(_longer),
    "position": plant_position,
    "corner patch": plant_patch,
    "JPEG quality": plant_quality,
    "values of a column": plant_values,
}
"""Planted kinds: each takes a generator and the strength, in [0, 1]."""


def null_balanced(rng: np.random.Generator, count: int = 2_000) -> Drawn:
    """Random labels, half and half, on texts."""
    return Drawn(build_rows(draw_labels(rng, count), texts={"text": draw_texts(rng, count)}))


def null_skewed(rng: np.random.Generator, count: int = 3_000) -> Drawn:
    """Random labels, 95 to 5, on texts with an attribute."""
    labels = draw_labels(rng, count, (0.95, 0.05))
    columns = {"site": TableColumn("attribute", rng.choice(["north", "south"], count).tolist())}
    return Drawn(build_rows(labels, texts={"text": draw_texts(rng, count)}, columns=columns))


def null_classes(rng: np.random.Generator, count: int = 4_000) -> Drawn:
    """Random labels of twenty classes, on texts."""
    labels = draw_labels(rng, count, [0.05] * 20)
    return Drawn(build_rows(labels, 20, texts={"text": draw_texts(rng, count)}))


def null_heavy(rng: np.random.Generator, count: int = 2_000) -> Drawn:
    """Random labels on a table of heavy-tailed columns, ids and missing values."""
    columns = {f"x{place}": TableColumn("column", rng.standard_cauchy(count)) for place in range(20)}
    for place in range(10):
        values = np.asarray(columns[f"x{place}"].values)
        columns[f"x{place}"] = TableColumn("column", np.where(rng.random(count) < 0.2, np.nan, values))
    columns["record_id"] = TableColumn("attribute", [str(value) for value in rng.permutation(10 * count)[:count]])
    return Drawn(build_rows(draw_labels(rng, count), columns=columns))


def null_groups(rng: np.random.Generator, count: int = 400) -> Drawn:
    """Return authors with one class and one typography each; those of one class write three times as much."""
    of_author = draw_labels(rng, count)
    sizes = 1 + rng.poisson(np.where(of_author == 1, 9.0, 3.0) * rng.gamma(2, 0.5, count))
    author = np.repeat(np.arange(count), sizes)
    order = rng.permutation(len(author))
    author = author[order]
    habits = rng.random((count, 4)) < 0.4
    texts = [_habit(text, habits[own]) for text, own in zip(draw_texts(rng, len(author)), author, strict=True)]
    return Drawn(build_rows(of_author[author], groups=author.astype(np.int64), texts={"text": texts}))


def _habit(text: str, habits: np.ndarray) -> str:
    text = text.rstrip(".!?") if habits[0] else text
    text = text.replace(", ", " \u2014 ") if habits[1] else text
    text = text.lower() if habits[2] else text
    return f"{text} " if habits[3] else text


def null_copies(rng: np.random.Generator, count: int = 500) -> Drawn:
    """Random labels on texts that stand in the file up to thirty times, with a few of their words changed."""
    labels = draw_labels(rng, count)
    times = 1 + rng.geometric(0.25, count)
    place = rng.permutation(np.repeat(np.arange(count), np.minimum(times, 30)))
    texts = draw_texts(rng, count)
    return Drawn(build_rows(labels[place], texts={"text": [texts[own] for own in place]}))


_TRUE_WORDS, _OF_A_TEXT = 200, 24


def _with_true_words(texts: Sequence[str], labels: np.ndarray, lean: np.ndarray, rng: np.random.Generator) -> list[str]:
    """Put true words into each text; `lean`: chance that one is of the row's class, (rows,).

    Every text gets as many words of the same lengths, so that nothing but the words goes with the class.
    """
    half = _TRUE_WORDS // 2
    own = np.where(rng.random((len(texts), _OF_A_TEXT)) < lean[:, None], labels[:, None], 1 - labels[:, None])
    numbers = rng.integers(0, half, own.shape)
    found = []
    for text, classes, places in zip(texts, own.tolist(), numbers.tolist(), strict=True):
        words = text.split(" ")
        added = [f"{'qx'[label]}e{place:03d}".translate(_LETTERS) for label, place in zip(classes, places, strict=True)]
        found.append(" ".join([*words[:3], *added, *words[3:]]))
    return found


_LETTERS = str.maketrans("0123456789", "abcdefghij")


def null_true_words(rng: np.random.Generator, count: int = 3_000) -> Drawn:
    """Hundreds of words that go with the class, on texts whose typography does not."""
    labels = draw_labels(rng, count)
    return Drawn(
        build_rows(labels, texts={"text": _with_true_words(draw_texts(rng, count), labels, np.full(count, 0.8), rng)})
    )


def null_uneven(rng: np.random.Generator, count: int = 3_000) -> Drawn:
    """Short texts are easy, their words tell the class; long ones are hard, and more often of one habit."""
    labels, texts = draw_labels(rng, count), draw_texts(rng, count)
    easy = np.array([len(text.split()) < 20 for text in texts])
    habit = rng.random((count, 4)) < np.where(easy, 0.2, 0.6)[:, None]
    told = _with_true_words(texts, labels, np.where(easy, 1.0, 0.5), rng)
    return Drawn(build_rows(labels, texts={"text": [_habit(text, own) for text, own in zip(told, habit, strict=True)]}))


def null_wrong_labels(rng: np.random.Generator, count: int = 3_000) -> Drawn:
    """Draw true words, and wrong labels on 30 % of the texts of one site and 5 % of those of the other."""
    true, site = draw_labels(rng, count), rng.random(count) < 0.3
    wrong = rng.random(count) < np.where(site, 0.3, 0.05)
    texts = _with_true_words(draw_texts(rng, count), true, np.full(count, 0.9), rng)
    habits = (rng.random((count, 4)) < 0.5) & site[:, None]
    told = [_habit(text, own) for text, own in zip(texts, habits, strict=True)]
    return Drawn(build_rows(np.where(wrong, 1 - true, true), texts={"text": told}))


def null_codes(rng: np.random.Generator, count: int = 3_000) -> Drawn:
    """Random labels, 80 to 20, on declared columns of 5 to 200 codes, of which some are frequent and others rare."""
    columns = {}
    for place, codes in enumerate((5, 10, 20, 40, 60, 100, 150, 200)):
        shares = 1 / np.arange(1, codes + 1)
        drawn = rng.choice(codes, count, p=shares / shares.sum())
        values = drawn.astype(np.float64) if place % 2 else [f"C-{code:03d}" for code in drawn]
        columns[f"codes{place}"] = TableColumn("attribute", values)
    rows = build_rows(draw_labels(rng, count, (0.8, 0.2)), columns=columns)
    return Drawn(rows, irrelevant=tuple(columns))


NULLS: Mapping[str, Callable[..., Drawn]] = {
    "random labels, 50 to 50": null_balanced,
    "random labels, 95 to 5": null_skewed,
    "20 classes": null_classes,
    "heavy tails": null_heavy,
    "groups, size by label": null_groups,
    "exact copies": null_copies,
    "hundreds of true words": null_true_words,
    "uneven difficulty": null_uneven,
    "wrong labels": null_wrong_labels,
    "columns of codes": null_codes,
}
"""Kinds without a cue."""
