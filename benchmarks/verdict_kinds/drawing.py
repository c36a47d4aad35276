"""Parts that kinds share: labels, Gaussian classes, properties with columns, distractors, and sets chosen by a model.

Kinds themselves do not belong here. All randomness comes from the generator that is passed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from benchmarks.verdict_kinds.records import TEST, TRAIN, Challenge, Draw, Property, Rows

WIDTH = 12
"""Feature columns of the task itself."""

ALWAYS_IRRELEVANT = ("hour",)
"""A distractor that the author of each dataset declares irrelevant."""

ALWAYS_ARTEFACTS = ("double_blank", "record_number")
"""Distractors of each dataset that are artefacts by nature."""

CANDIDATES, MOST_BATCHES = 4_000, 4
"""Rows per batch, and batches, from which the rows of an adversarial challenge set are chosen."""


@dataclass(frozen=True, eq=False)
class Named:
    """A property before its rows are assembled. `block`: (rows,) or (rows, n) feature columns of its own, or None."""

    name: str
    values: np.ndarray
    block: np.ndarray | None = None


def draw_labels(rng: np.random.Generator, rows: int, shares: Sequence[float] = (0.5, 0.5)) -> np.ndarray:
    """Draw labels with the given class shares, int64."""
    return rng.choice(len(shares), rows, p=shares).astype(np.int64)


def place_centres(classes: int, apart: float | Sequence[float], *, first: int = 0) -> np.ndarray:
    """Return centres, (classes, WIDTH): class k lies at `apart` (or the k-th value of it) on column `first` + k."""
    centres = np.zeros((classes, WIDTH))
    centres[np.arange(classes), first + np.arange(classes)] = apart
    return centres


def scatter(
    rng: np.random.Generator, labels: np.ndarray, centres: np.ndarray, groups: np.ndarray | None = None
) -> np.ndarray:
    """Draw rows around their class centres with unit noise; groups share half of its variance."""
    noise = rng.normal(size=(len(labels), centres.shape[1]))
    if groups is not None:
        noise = 0.7 * noise + 0.7 * rng.normal(size=(int(groups.max()) + 1, centres.shape[1]))[groups]
    return np.asarray(centres[labels] + noise)


def flip(rng: np.random.Generator, labels: np.ndarray, share: float, classes: int = 2) -> np.ndarray:
    """Return labels of which about `share` were replaced by another class."""
    wrong = rng.random(len(labels)) < share
    return np.where(wrong, (labels + rng.integers(1, classes, len(labels))) % classes, labels)


def words_of(present: np.ndarray, yes: str = "yes", no: str = "no") -> np.ndarray:
    """Return a bool array as an object array of two strings."""
    return np.where(present, yes, no).astype(object)


def mark(name: str, present: np.ndarray, size: float | None = None) -> Named:
    """Return a two-valued property, with a column that is `size` on carriers and 0 elsewhere unless `size` is None."""
    return Named(name, words_of(present), None if size is None else size * present)


def name_record_numbers(numbers: np.ndarray) -> Named:
    """Return record numbers from 10,000 to 99,999 as a property with a column of about unit variance."""
    return Named("record_number", numbers.astype(np.float64), (numbers - 50_000) / 25_000)


def measure_margins(signal: np.ndarray, labels: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return how much nearer each row is to the centre of its own class than to the nearest other one, (rows,)."""
    # Squared distances without the square of the row, which is equal for all centres.
    distances = (centres**2).sum(axis=1) - 2 * signal[:, : centres.shape[1]] @ centres.T
    own = distances[np.arange(len(labels)), labels]
    distances[np.arange(len(labels)), labels] = np.inf
    return np.asarray(distances.min(axis=1) - own)


def build_rows(
    rng: np.random.Generator,
    signal: np.ndarray,
    labels: np.ndarray,
    margins: np.ndarray,
    named: Sequence[Named] = (),
    groups: np.ndarray | None = None,
) -> Rows:
    """Assemble rows: the columns of the task, the columns of properties, and at least ten distractors.

    `margins`: (rows,), lower on harder rows; the distractor `hard_to_read` goes with them within each class.
    """
    taken = {one.name for one in named}
    extra = [one for one in _draw_distractors(rng, labels, margins, groups) if one.name not in taken]
    blocks, properties, width = [signal], [], signal.shape[1]
    for one in (*named, *extra):
        columns: tuple[int, ...] = ()
        if one.block is not None:
            block = one.block.reshape(len(labels), -1)
            columns = tuple(range(width, width + block.shape[1]))
            width += block.shape[1]
            blocks.append(block)
        properties.append(Property(one.name, one.values, columns))
    features = np.column_stack(blocks).astype(np.float32)
    return Rows(features, labels.astype(np.int64), tuple(properties), groups)


def _draw_distractors(
    rng: np.random.Generator, labels: np.ndarray, margins: np.ndarray, groups: np.ndarray | None
) -> list[Named]:
    rows = len(labels)
    units, code = (rows, np.arange(rows)) if groups is None else (int(groups.max()) + 1, groups)
    author = 1 / np.arange(1, 41)
    brightness, record = rng.normal(size=rows), rng.integers(10_000, 100_000, rows)
    return [
        *(
            mark(f"word_{number}", rng.random(rows) < share)
            for number, share in enumerate((0.02, 0.05, 0.1, 0.2, 0.4), 1)
        ),
        # One source and one author per group: chance alone ties such properties to labels of grouped rows.
        Named("source", np.array(["press", "forum", "wiki", "mail"], object)[rng.integers(0, 4, units)[code]]),
        Named(
            "author",
            np.array([f"author {n}" for n in range(40)], object)[rng.choice(40, units, p=author / author.sum())[code]],
        ),
        Named("hour", rng.uniform(0, 24, rows)),
        Named("file_size", rng.lognormal(3, 0.6, rows)),
        Named("brightness", brightness, brightness),
        mark("double_blank", rng.random(rows) < 0.15, 1.0),
        name_record_numbers(record),
        mark("hard_to_read", rng.random(rows) < np.where(_below_class_median(margins, labels), 0.7, 0.3)),
    ]


def _below_class_median(margins: np.ndarray, labels: np.ndarray) -> np.ndarray:
    below = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        own = labels == label
        below[own] = margins[own] < np.median(margins[own])
    return below


def make_draw(
    rows: Callable[[int], Rows],
    challenges: Mapping[str, Challenge] | None = None,
    *,
    irrelevant: Sequence[str] = (),
    artefacts: Sequence[str] = (),
) -> Draw:
    """Draw train and test by `rows`, and add the declarations that every dataset has."""
    return Draw(
        rows(TRAIN),
        rows(TEST),
        challenges or {},
        (*ALWAYS_IRRELEVANT, *irrelevant),
        tuple(dict.fromkeys((*ALWAYS_ARTEFACTS, *artefacts))),
    )


def copy_rows(rng: np.random.Generator, originals: Rows, times: int, *, declared: bool, jitter: float = 0.05) -> Rows:
    """Return each row `times` times in random order, with equal properties and with features that differ by `jitter`.

    `declared`: whether `groups` names the copies of one row.
    """
    order = rng.permutation(np.repeat(np.arange(len(originals)), times))
    copies = originals.take(order)
    noise = rng.normal(scale=jitter, size=copies.features.shape).astype(np.float32)
    return replace(copies, features=copies.features + noise, groups=order if declared else None)


def collect_failures(rows: Callable[[int], Rows], model: LogisticRegression | DecisionTreeClassifier) -> Rows:
    """Draw candidate rows by `rows` and return at most `TEST` of them that the fitted `model` gets wrong."""
    failures: list[Rows] = []
    while sum(map(len, failures)) < TEST and len(failures) < MOST_BATCHES:
        candidates = rows(CANDIDATES)
        failures.append(candidates.take(model.predict(candidates.features) != candidates.labels))
    return join_rows(failures).take(np.arange(min(TEST, sum(map(len, failures)))))


def join_rows(parts: Sequence[Rows]) -> Rows:
    """Concatenate rows without groups that have the same properties."""
    properties = tuple(
        Property(one.name, np.concatenate([part.properties[number].values for part in parts]), one.columns)
        for number, one in enumerate(parts[0].properties)
    )
    return Rows(
        np.concatenate([part.features for part in parts]), np.concatenate([part.labels for part in parts]), properties
    )


def fit_linear(rows: Rows) -> LogisticRegression:
    """Train logistic regression on rows."""
    return LogisticRegression(max_iter=300).fit(rows.features, rows.labels)


def fit_tree(rows: Rows) -> DecisionTreeClassifier:
    """Train a shallow decision tree on rows: a model of another make than the linear ones."""
    return DecisionTreeClassifier(max_depth=6, min_samples_leaf=10, random_state=0).fit(rows.features, rows.labels)
