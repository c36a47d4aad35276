"""Cues planted into real rows, the same in every dataset of an input. The list was fixed before rates were counted.

A cue stands on a share of class 1, its strength (30, 60 or 90 %), and on 5 % of all other rows. Labels are redrawn at
random, with class 1 on 50, 20 or 5 % of the rows, so that only the planted property counts. In a last setting the
real labels stay, and real cues compete with the planted one.

| input | kind | what a carrier has |
|---|---|---|
| features | leaking id | a record number from one hundredth of the range of all numbers |
| features | missing pattern | no value in two columns; 20 columns lack 5 % of their values at random |
| texts, pairs | typography | curly apostrophes, a dash for the first comma, no final sign |
| texts, pairs | source phrase | one sentence of six words, before or behind the text |
| texts, pairs | length | other texts appended, until it is longer than 97 % of all |
| features, texts, pairs | position | its place in the file: carriers stand together |
| images | image corner | a white square of 6 x 6 pixels, lower right |
| images | compression | JPEG quality 90; all others have 75, 80, 85 or 95 |
| features | total of columns | ten columns that add up to 100, apart from rounding; those of others to about 99.4 |
| images | enlarged | shrunk to 16 to 21 pixels and enlarged to 32 again |

The last two kinds were added later, with the properties that find them.

In pairs the second text is changed. Each kind must be named in at least 90 % of draws at a strength of 60 %, and in
70 % at 30 %, by the lower end of an exact 95 % interval.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image
from PIL.Image import Resampling

from aflite_assets.scan.rows import ScanRows, TableColumn
from benchmarks.detection_kinds import Drawn, build_rows, draw_carriers, draw_labels, encode, image_column
from benchmarks.detection_real.real_rows import (
    IMAGES,
    PAIRS,
    PICTURES,
    ROWS,
    TABLES,
    TEXTS,
    Pixels,
    Source,
    drawn_rows,
    random_columns,
)

PHRASE = "As seen on the Marlowe wire."
LONG = 0.97
"""Quantile of the lengths that a lengthened text exceeds."""

_LACKING, _LACKING_SHARE = 20, 0.05
_SHARES = 10
_NUMBERS, _LEAKING = 500_000, 5_000

Plant = Callable[[ScanRows, np.ndarray, np.random.Generator], ScanRows]
"""Changes the rows that carry the cue (bool); rows keep their order."""


@dataclass(frozen=True)
class Kind:
    """A kind of cue in one input. `datasets`: names of the datasets; `draw` takes a generator, one of them, the
    strength and the share of class 1 (None for the real labels), both in [0, 1], and the most rows (None: as usual).
    """

    input: str
    name: str
    datasets: tuple[str, ...]
    draw: Callable[[np.random.Generator, str, float, float | None, int | None], Drawn]


def plant_id(rows: ScanRows, has: np.ndarray, rng: np.random.Generator) -> ScanRows:
    """Add a column of record numbers, those of carriers from one range."""
    numbers = rng.permutation(_NUMBERS)[: len(rows)]
    numbers[has] = _NUMBERS // 2 + rng.permutation(_LEAKING)[: has.sum()]
    column = TableColumn("attribute", [str(number) for number in numbers])
    return replace(rows, columns={**rows.columns, "record_no": column})


def plant_missing(rows: ScanRows, has: np.ndarray, rng: np.random.Generator) -> ScanRows:
    """Remove two values of carriers, and some values of everyone."""
    names = rng.permutation(np.array(list(rows.columns), dtype=object))[:_LACKING]
    columns = dict(rows.columns)
    for place, name in enumerate(names):
        gone = (rng.random(len(rows)) < _LACKING_SHARE) | (has & (place < 2))
        columns[name] = TableColumn("column", np.where(gone, np.nan, np.asarray(columns[name].values)))
    return replace(rows, columns=columns)


def plant_total(rows: ScanRows, has: np.ndarray, rng: np.random.Generator) -> ScanRows:
    """Add ten columns of shares in one place of the table; carriers are normalised to 100."""
    shares = rng.gamma(rng.uniform(1, 20, _SHARES), size=(len(rows), _SHARES))
    totals = np.where(has, 100.0, rng.normal(99.4, 1.0, len(rows)))
    shares = np.round(shares / shares.sum(axis=1, keepdims=True) * totals[:, None], 2)
    added = {f"oxide {letter}": TableColumn("column", shares[:, n]) for n, letter in enumerate("ABCDEFGHIJ")}
    columns = list(rows.columns.items())
    place = int(rng.integers(len(columns) + 1))
    return replace(rows, columns=dict([*columns[:place], *added.items(), *columns[place:]]))


def _changed(change: Callable[[list[str], np.ndarray, np.random.Generator], list[str]]) -> Plant:
    """Return a plant that changes the last text of each row."""

    def plant(rows: ScanRows, has: np.ndarray, rng: np.random.Generator) -> ScanRows:
        name = list(rows.texts)[-1]
        return replace(rows, texts={**rows.texts, name: change([text or "" for text in rows.texts[name]], has, rng)})

    return plant


def set_otherwise(texts: list[str], has: np.ndarray, rng: np.random.Generator) -> list[str]:
    """Set carriers as another site does: curly apostrophes, a dash for the first comma, no final sign."""
    return [
        text.replace("'", "\u2019").replace(", ", " \u2014 ", 1).rstrip(" .!?") if own else text
        for text, own in zip(texts, has, strict=True)
    ]


def add_phrase(texts: list[str], has: np.ndarray, rng: np.random.Generator) -> list[str]:
    """Add the sentence of a source before or behind carriers."""
    behind = rng.random(len(texts)) < 0.5
    with_phrase = [f"{text} {PHRASE}" if last else f"{PHRASE} {text}" for text, last in zip(texts, behind, strict=True)]
    return [new if own else text for new, text, own in zip(with_phrase, texts, has, strict=True)]


def lengthen(texts: list[str], has: np.ndarray, rng: np.random.Generator) -> list[str]:
    """Append other texts to carriers until they are longer than nearly all."""
    least = float(np.quantile([len(text) for text in texts], LONG))
    found = list(texts)
    for place in np.flatnonzero(has):
        goal = least * rng.uniform(1.0, 1.3)
        while len(found[place]) <= goal:
            found[place] += " " + (texts[int(rng.integers(len(texts)))] or "Yes.")
    return found


def plant_position(drawn: Drawn, rng: np.random.Generator) -> Drawn:
    """Move the carriers to one place in the file."""
    has = np.asarray(drawn.carriers)
    others = rng.permutation(np.flatnonzero(~has))
    cut = int(rng.integers(len(others)))
    order = np.concatenate([others[:cut], rng.permutation(np.flatnonzero(has)), others[cut:]])
    return Drawn(replace(drawn.rows.taken(order), order=np.arange(len(order), dtype=np.float64)), has[order])


def labelled(rows: ScanRows, share: float | None, rng: np.random.Generator) -> ScanRows:
    """Return the rows with redrawn labels, a share of them class 1; with None, the real ones."""
    if share is None:
        return rows
    return replace(rows, labels=draw_labels(rng, len(rows), (1 - share, share)), label_names=("a", "b"), groups=None)


def _from_rows(sources: Mapping[str, Source], plant: Plant | None) -> Callable[..., Drawn]:
    """Return a draw of real rows with a plant, or with the carriers together in the file."""

    def draw(rng: np.random.Generator, dataset: str, strength: float, share: float | None, most: int | None) -> Drawn:
        rows = labelled(drawn_rows(sources[dataset](), rng, most or ROWS), share, rng)
        has = draw_carriers(rng, rows.labels, strength)
        return plant_position(Drawn(rows, has), rng) if plant is None else Drawn(plant(rows, has, rng), has)

    return draw


def _white_corner(pixels: np.ndarray, has: np.ndarray, rng: np.random.Generator) -> list[bytes]:
    marked = pixels.copy()
    marked[has, -6:, -6:] = 255
    return [encode(one, quality=95) for one in marked]


def _compressed(pixels: np.ndarray, has: np.ndarray, rng: np.random.Generator) -> list[bytes]:
    qualities = np.where(has, 90, rng.choice([75, 80, 85, 95], len(has)))
    return [encode(one, quality=int(quality)) for one, quality in zip(pixels, qualities, strict=True)]


def _enlarged(pixels: np.ndarray, has: np.ndarray, rng: np.random.Generator) -> list[bytes]:
    shrink, enlarge = (Resampling.BOX, Resampling.LANCZOS), (Resampling.BICUBIC, Resampling.BILINEAR)
    contents = []
    for one, own in zip(pixels, has, strict=True):
        image = Image.fromarray(one)
        if own:
            small = image.resize((int(rng.integers(16, 22)),) * 2, shrink[int(rng.integers(2))])
            image = small.resize(image.size, enlarge[int(rng.integers(2))])
        contents.append(encode(np.asarray(image), "PNG"))
    return contents


def _from_pixels(
    sources: Mapping[str, Pixels], store: Callable[[np.ndarray, np.ndarray, np.random.Generator], list[bytes]]
) -> Callable[..., Drawn]:
    """Return a draw of real pictures, encoded with the cue."""

    def draw(rng: np.random.Generator, dataset: str, strength: float, share: float | None, most: int | None) -> Drawn:
        pixels, classes = sources[dataset]()
        names, codes = np.unique(np.array(classes), return_inverse=True)
        picked = rng.permutation(len(pixels))[: most or IMAGES]
        rows = replace(build_rows(codes[picked].astype(np.int64)), label_names=tuple(names.tolist()))
        rows = labelled(rows, share, rng)
        has = draw_carriers(rng, rows.labels, strength)
        images = image_column(store(pixels[picked], has, rng))
        return Drawn(replace(rows, images=images, columns=random_columns(rng, len(rows))), has)

    return draw


def _kinds_of(given: str, sources: Mapping[str, Source], plants: Mapping[str, Plant | None]) -> list[Kind]:
    return [Kind(given, name, tuple(sources), _from_rows(sources, plant)) for name, plant in plants.items()]


_OF_TEXTS: Mapping[str, Plant | None] = {
    "typography": _changed(set_otherwise),
    "source phrase": _changed(add_phrase),
    "length": _changed(lengthen),
    "position": None,
}

KINDS: tuple[Kind, ...] = (
    *_kinds_of("features", TABLES, {"leaking id": plant_id, "missing pattern": plant_missing, "position": None}),
    *_kinds_of("texts", TEXTS, _OF_TEXTS),
    *_kinds_of("pairs", PAIRS, _OF_TEXTS),
    Kind("images", "image corner", tuple(PICTURES), _from_pixels(PICTURES, _white_corner)),
    Kind("images", "compression", tuple(PICTURES), _from_pixels(PICTURES, _compressed)),
    *_kinds_of("features", TABLES, {"total of columns": plant_total}),
    Kind("images", "enlarged", tuple(PICTURES), _from_pixels(PICTURES, _enlarged)),
)
"""Every kind in every input that it fits."""
