"""Plan of the changes that remove cues from a source: changes to texts, columns, images and rows.

This module does not write files.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa

from aflite_assets.errors import DataError
from aflite_assets.fixing.folders import MetadataFolder
from aflite_assets.fixing.images import ImageChanges, plan_images
from aflite_assets.fixing.rebalancing import rebalanced_rows
from aflite_assets.fixing.texts import TextChange, text_change
from aflite_assets.fixing.weighting import WEIGHT_COLUMN, balancing_weights, effective_rows
from aflite_assets.scan.columns import columns_of
from aflite_assets.scan.cues import Cue, CueProperty, ScanResult
from aflite_assets.scan.cut_off import cut_off, ends, is_end, scanned_texts
from aflite_assets.scan.remedies import Remedy, Way, is_editable, remedies_of
from aflite_assets.scan.rows import ScanRows
from aflite_assets.specs.sources import FeatureSource, ImageFolderSource, TableSource
from aflite_assets.wording import counted, quoted, quoted_list

_TEXT_KINDS = ("typography", "blanks")
_LONGEST, _SHORT = 80, 30
_MOST_CLASSES = 8
ID = "id"
"""Name of the row ids in a scan."""


@dataclass(frozen=True, eq=False)
class Origin:
    """Origin of the scanned rows.

    `names`: the source's name of each text and column of the scan; `ID` is included if the ids are a column. `needed`:
    columns of the source that cannot be left out, with the role of each column. `source_rows`: number of rows of each
    split of the source. `inputs`: input columns of the source; at least one input must stay. `row_ids`: position of
    each scanned row in the source, counted over all splits, int64; -1 for rows of challenge sets. `unread`: the reason
    why most rows may not have been read, or "" if all rows were read. `answers`: the answer columns of the source, if
    rows are answers to questions. `right`: the column that states the right answer, if this column may repeat the
    answer's text.
    """

    source: TableSource | ImageFolderSource | FeatureSource | MetadataFolder
    names: Mapping[str, str]
    needed: Mapping[str, str]
    source_rows: Mapping[str, int]
    row_ids: np.ndarray
    inputs: frozenset[str] = frozenset()
    unread: str = ""
    answers: tuple[str, ...] = ()
    right: str | None = None


@dataclass(frozen=True, eq=False)
class Changes:
    """Planned changes of a source.

    `texts` and `dropped` use the source's column names. `rows`: for each split, the positions of the kept rows in the
    new order, int64; None for all rows. `is_shuffled`: whether the rows are shuffled. `phrases`: one sentence per
    change. `weights`: the weights of the rows of each split, float64, or None.
    """

    texts: Mapping[str, TextChange]
    dropped: tuple[str, ...]
    images: ImageChanges
    rows: Mapping[str, np.ndarray] | None
    is_shuffled: bool
    phrases: tuple[str, ...]
    weights: Mapping[str, np.ndarray] | None = None


def plan_changes(
    result: ScanResult,
    rows: ScanRows,
    origin: Origin,
    cues: Sequence[Cue],
    *,
    by: Way | None,
    seed: int,
) -> Changes:
    """Return the changes of the source that remove the given cues.

    Args:
        result: the scan of `rows`.
        rows: the scanned rows.
        origin: the origin of the rows.
        cues: the cues to remove; all cues of a column get the remedy of the column's first cue in this list.
        by: the remedy, or `weights` to weight rows instead of removing rows; None for the default remedy of each cue.
        seed: seed for the random choice of kept rows and for their order.

    Raises:
        DataError: the remedy does not apply to a cue, a column is needed, or no subset of the rows is left.
    """
    if origin.answers:
        for cue in cues:
            _require_editable(cue, by)
        return _answers_alike(result, rows, origin, cues, by=by)
    if by == "weights":
        return _weighting(result, rows, origin, [cue.number for cue in cues])
    chosen = _remedies(cues, by)
    normalised = _with_followers(result, [cue for cue in cues if chosen[cue.number] == "normalise"])
    texts = _texts(normalised, result, rows, origin, by=by)
    images, image_phrases = _images(normalised, result, rows, origin)
    dropped = _dropped([cue for cue in cues if chosen[cue.number] == "drop"], origin)
    is_shuffled = "shuffle" in chosen.values()
    balanced = [cue.number for cue in cues if chosen[cue.number] == "rebalance"]
    kept, row_phrases = _rows(result, rows, origin, balanced, shuffle=is_shuffled, seed=seed)
    text_phrases = [f"{_shown(name)}: {'; '.join(change.phrases)}." for name, change in texts.items()]
    drop_phrases = [f"The column {_shown(name)} is left out." for name in dropped]
    phrases = (*text_phrases, *drop_phrases, *image_phrases, *row_phrases)
    return Changes(texts, dropped, images, kept, is_shuffled, phrases)


def _require_editable(cue: Cue, by: Way | None) -> None:
    """Raise an error if the remedy is not rewriting, because single answers to a question cannot be removed or
    weighted.
    """
    if not is_editable(cue) or by not in (None, "normalise"):
        raise DataError(
            f"cue {cue.number + 1} ({cue.name}) is a property of answers to questions, and in answers `aflite fix` can "
            "only normalise typography and blanks; rewrite the answers yourself, or run `aflite scan FILE "
            "--filter-file NEW.yaml` to filter out whole questions"
        )


def _answers_alike(
    result: ScanResult, rows: ScanRows, origin: Origin, cues: Sequence[Cue], *, by: Way | None
) -> Changes:
    """Return the same change for all answer columns and for the column that repeats the text of the right answer."""
    (change,) = _texts(_with_followers(result, cues), result, rows, origin, by=by).values()
    texts: dict[str, TextChange] = dict.fromkeys(origin.answers, change)
    if origin.right is not None and origin.right not in texts:
        answers = frozenset(text for text in [*rows.texts.values()][1] if text)
        texts[origin.right] = replace(change, changes=(lambda text: change(text) if text in answers else text,))
    phrase = f"Answers in {quoted_list(origin.answers, most=6, length=_SHORT)}: {'; '.join(change.phrases)}."
    return Changes(texts, (), ImageChanges(), None, False, (phrase,))


def weights_of_scan(weights: Mapping[str, np.ndarray], origin: Origin) -> np.ndarray:
    """Return the weight of each scanned row, float64; the weight is 0 for rows of challenge sets.

    `weights`: the weights of the rows of each split (`Changes.weights`).
    """
    known = np.append(np.concatenate([weights[split] for split in origin.source_rows]), 0.0)
    return np.asarray(known[origin.row_ids])


def _shown(name: str) -> str:
    return quoted(name, _LONGEST)


def _remedy(cue: Cue, by: Remedy | None) -> Remedy:
    possible = remedies_of(cue)
    if by is not None and by not in possible:
        raise DataError(
            f"cue {cue.number + 1} ({cue.name}) cannot be fixed by `--by {by}`; leave `--by` out, or use "
            f"{' or '.join(f'`--by {one}`' for one in possible)}"
        )
    return possible[0] if by is None else by


def _remedies(cues: Sequence[Cue], by: Remedy | None) -> dict[int, Remedy]:
    """Return the remedy for each cue, by cue number. All cues of one column have the same remedy."""
    chosen: dict[int, Remedy] = {}
    of_columns: dict[tuple[str, ...], Remedy] = {}
    for cue in cues:
        columns = columns_of(cue)
        chosen[cue.number] = of_columns[columns] if columns in of_columns else _remedy(cue, by)
        if columns:
            of_columns[columns] = chosen[cue.number]
    return chosen


def _with_followers(result: ScanResult, cues: Sequence[Cue]) -> list[Cue]:
    """Return the given cues, and artefacts that these cues explain and that rewriting removes by default.

    Without a fix, explained artefacts could become new cues of the copy.
    """
    numbers = {cue.number for cue in cues}
    followers = [cue for cue in result.artefacts if cue.explained_by in numbers and cue.number not in numbers]
    return [*cues, *(cue for cue in followers if remedies_of(cue)[0] == "normalise")]


def _of_text(one: CueProperty) -> bool:
    return one.kind in _TEXT_KINDS


def _properties(cue: Cue) -> list[CueProperty]:
    return [*cue.properties, *cue.same_properties]


def _texts(
    cues: Sequence[Cue], result: ScanResult, rows: ScanRows, origin: Origin, *, by: Way | None
) -> dict[str, TextChange]:
    names: dict[str, list[str]] = {}
    for one in chain.from_iterable(map(_properties, cues)):
        if _of_text(one):
            names.setdefault(one.source, []).append(one.name.removesuffix(f" ({one.source})"))
    labels = np.where(rows.scanned, rows.labels, -1)
    changes = {}
    for source, properties in names.items():
        if source not in origin.names:
            raise DataError(
                f"the text {source!r} is not a single column of the source, so `aflite fix` cannot normalise the text; "
                "change the text in the source, or use `--by rebalance`"
            )
        cut = cut_off(scanned_texts(rows, source)) if any(map(is_end, properties)) else []
        if cut and by is None:
            raise DataError(_cut_off_text(cut, source, of_answers=bool(origin.answers)))
        change = text_change(properties, rows.texts[source], labels, classes=len(result.classes))
        warning = f"WARNING: {_cut_off_shown(cut, source)}; each of these has a full stop now"
        changes[origin.names[source]] = replace(change, phrases=(*change.phrases, warning)) if cut else change
    return changes


def _cut_off_text(cut: Sequence[str], source: str, *, of_answers: bool) -> str:
    subset = "" if of_answers else ", keep a subset of the rows with `--by rebalance`"
    return (
        f"{_cut_off_shown(cut, source)}. A full stop would hide that their ends are missing; repair the export and "
        f"scan again{subset}, or, if the texts are whole, end all of them with one full stop with `--by normalise`"
    )


def _cut_off_shown(cut: Sequence[str], source: str) -> str:
    return (
        f"{counted(len(cut), 'text')} of {_shown(source)} may be cut off, because they end in the middle of a sentence "
        f"({', '.join(ends(cut))})"
    )


def _images(cues: Sequence[Cue], result: ScanResult, rows: ScanRows, origin: Origin) -> tuple[ImageChanges, list[str]]:
    names = [one.name for cue in cues for one in _properties(cue) if _is_of_image(one, rows)]
    if not names or rows.images is None:
        return ImageChanges(), []
    if isinstance(origin.source, TableSource):
        raise DataError(
            "the images are stored inside a table, or named by a table, and `aflite fix` cannot change images of "
            "tables; export the images to a folder with a metadata.csv and fix that folder, or use `--by rebalance`"
        )
    _require_all_scanned(result, rows)
    scanned = np.flatnonzero(rows.scanned)
    carriers = np.asarray(result.carriers[scanned][:, [cue.number for cue in cues]].any(axis=1))
    changes = plan_images(names, rows.images.take(pa.array(scanned)), carriers)
    return changes, changes.phrases()


def _is_of_image(one: CueProperty, rows: ScanRows) -> bool:
    return one.kind in ("file format", "image", "identifier") and one.source not in rows.columns


def _dropped(cues: Sequence[Cue], origin: Origin) -> tuple[str, ...]:
    """Return the columns to drop: the columns of the cues, and columns with a property of nearly the same rows and the
    same remedy.
    """
    dropped: dict[str, None] = {}
    for cue in cues:
        for one in cue.properties:
            dropped[_column(one, origin, must=True)] = None
        for one in cue.same_properties:
            alike = one.kind in ("identifier", "missing values", "column")
            name = _column(one, origin, must=False) if alike else ""
            if name and name not in origin.needed:
                dropped[name] = None
    if dropped and origin.inputs and origin.inputs <= dropped.keys():
        raise DataError("dropping these columns would leave no input column for models; use `--by rebalance`")
    return tuple(dropped)


def _column(one: CueProperty, origin: Origin, *, must: bool) -> str:
    """Return the source's column for a property. If the property has no column of its own, raise an error if `must` is
    True, and return "" if `must` is False.
    """
    name = origin.names.get(one.source or ID)
    if name is None:
        if not must:
            return ""
        raise DataError(
            f"the property {one.name!r} does not come from a single column, so no column can be dropped; use `--by "
            "rebalance`"
        )
    if name in origin.needed and must:
        raise DataError(
            f"the column {name!r} cannot be dropped, because the column is {origin.needed[name]}; use `--by rebalance`"
        )
    return name


def _require_all_scanned(result: ScanResult, rows: ScanRows) -> None:
    if len(result.carriers) < len(rows):
        raise DataError(
            f"only a random sample of {counted(len(result.carriers))} out of {len(rows):,} was scanned, so it is not "
            "known which of the other rows have the cue; choose another `--by`, or fix a file with fewer rows"
        )


def _rows(
    result: ScanResult, rows: ScanRows, origin: Origin, cues: Sequence[int], *, shuffle: bool, seed: int
) -> tuple[dict[str, np.ndarray] | None, list[str]]:
    """Return the kept rows of each split of the source, and sentences that describe the subset."""
    if not cues and not shuffle:
        return None, []
    if cues:
        _require_known(result, rows, origin)
    kept, phrases = {}, []
    for part in _splits(rows, origin):
        rng = np.random.default_rng([seed, 3, part.number])
        positions = np.arange(part.count)
        if cues:
            carriers, labels = result.carriers[part.own][:, cues], rows.labels[part.own]
            with _naming(part.name):
                chosen = part.own[rebalanced_rows(carriers, labels, rng)]
            positions = np.sort(origin.row_ids[chosen] - part.start)
            phrases.append(part.prefix + _rows_phrase(len(positions), len(part.own), part.count))
            phrases.append(part.prefix + _classes_phrase(labels, rows.labels[chosen], rows.label_names))
        kept[part.name] = rng.permutation(positions) if shuffle else positions
    if shuffle:
        phrases.append("The rows have a random order; row numbers are new.")
    return kept, phrases


def _require_known(result: ScanResult, rows: ScanRows, origin: Origin) -> None:
    """Raise an error if rows are to be selected or weighted but the scan did not read all rows."""
    _require_all_scanned(result, rows)
    if origin.unread:
        raise DataError(f"{origin.unread}, so it is not known which of those rows have the cue; choose another `--by`")


@dataclass(frozen=True, eq=False)
class _Split:
    """A split of the source.

    `own`: the positions of the split's labelled rows in the scan. `start`: the row id of the split's first row.
    """

    number: int
    name: str
    start: int
    count: int
    own: np.ndarray
    prefix: str


def _splits(rows: ScanRows, origin: Origin) -> Iterator[_Split]:
    start = 0
    for number, (split, count) in enumerate(origin.source_rows.items()):
        inside = (origin.row_ids >= start) & (origin.row_ids < start + count)
        own = np.flatnonzero(inside & (rows.labels >= 0))
        yield _Split(number, split, start, count, own, "" if len(origin.source_rows) == 1 else f"{_shown(split)}: ")
        start += count


@contextmanager
def _naming(split: str) -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise DataError(f"{split}: {error}") from error


def _weighting(result: ScanResult, rows: ScanRows, origin: Origin, cues: Sequence[int]) -> Changes:
    """Return weights for all rows. In the weighted rows, the cues do not help to predict the label."""
    _require_known(result, rows, origin)
    if isinstance(origin.source, ImageFolderSource):
        raise DataError(
            "a folder of images without a metadata file has no column for weights; add a metadata.csv with "
            "`file_name` and the label, or use `--by rebalance`"
        )
    weights, phrases = {}, []
    for part in _splits(rows, origin):
        with _naming(part.name):
            found = balancing_weights(result.carriers[part.own][:, cues], rows.labels[part.own])
        weights[part.name] = np.zeros(part.count)
        weights[part.name][origin.row_ids[part.own] - part.start] = found
        phrases += [part.prefix + phrase for phrase in _weight_phrases(found, part.count)]
    return Changes({}, (), ImageChanges(), None, False, tuple(phrases), weights)


def _weight_phrases(weights: np.ndarray, count: int) -> list[str]:
    weighing = weights[weights > 0]
    phrases = [
        f"All rows are kept, and {WEIGHT_COLUMN} has a weight for each, from {weighing.min():.2g} to "
        f"{weighing.max():.2g}, with which the cue tells nothing.",
        f"With these weights {counted(len(weights))} tell as much as {effective_rows(weights):,.0f} of equal weight.",
    ]
    if len(weighing) < len(weights):
        lost = counted(len(weights) - len(weighing))
        phrases.append(f"{lost} weigh 0, because no row of some class has the cue as they do.")
    if len(weights) < count:
        phrases.append(
            f"{counted(count - len(weights))} that the scan does not read, such as unlabelled ones, weigh 0."
        )
    return phrases


def _rows_phrase(kept: int, scanned: int, count: int) -> str:
    unread = f" ({counted(count - scanned)} that the scan does not read, such as unlabelled ones, go too)"
    return (
        f"{kept:,} of {counted(scanned)} are kept, {100 * kept / max(scanned, 1):.0f} %, in which the cue tells "
        f"nothing{unread if count > scanned else ''}."
    )


def _classes_phrase(before: np.ndarray, after: np.ndarray, names: Sequence[str]) -> str:
    """Return a phrase that gives the number of kept rows per class, because removing rows changes the shares of the
    classes.
    """
    sizes = [(name, int((before == number).sum()), int((after == number).sum())) for number, name in enumerate(names)]
    shown = [f"{quoted(name, _SHORT)} {kept:,} of {own:,}" for name, own, kept in sizes[:_MOST_CLASSES]]
    more = f" and {len(sizes) - _MOST_CLASSES} more classes" if len(sizes) > _MOST_CLASSES else ""
    return f"Kept of each class: {', '.join(shown)}{more}."
