"""Accuracy, before and after filtering, of a simple model that the filter never used.

The accuracy of the simple model shows whether filtering made the data harder for models that the filter did not use.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import as_rgb, open_encoded
from aflite_assets.diagnostics.data_checks.partial_input import tfidf
from aflite_assets.diagnostics.record_tables import draw_sample, table_of
from aflite_assets.errors import DataError, InvalidInputError
from aflite_assets.processors import one_blas_thread

FOLDS = 5
MOST_ROWS = 20_000
PIXELS = 16
"""Height and width of the grey images."""

NEIGHBOURS = 15

NAMES = {
    "text": "logistic regression on the TF-IDF weights of words and word pairs",
    "image": f"logistic regression on {PIXELS} x {PIXELS} grey pixels",
    "features": f"the {NEIGHBOURS} nearest neighbours by standardised features",
}
"""Descriptions of the model by kind of input."""

_MOST_TERMS = 20_000

_ACCURACIES = pa.schema(
    {
        "set": pa.string(),
        "representation": pa.string(),
        "rows": pa.int64(),
        "used_rows": pa.int64(),
        "accuracy": pa.float64(),
        "deviation": pa.float64(),
        "majority_share": pa.float64(),
    }
)


@dataclass(frozen=True)
class UnseenAdversary:
    """Cross-validated accuracies of one simple model on the train rows, the kept rows and random rows.

    `name`: a description of the model. `accuracies` has the columns `set` ("full", "random", "filtered"),
    `representation` (null for "full"), `rows`, `used_rows` (fewer if a sample was drawn), `accuracy`, `deviation` and
    `majority_share`. `accuracy` is in [0, 1], or null if there are too few rows for folds. `deviation` is the standard
    deviation of the accuracy over the five folds. `majority_share` is the largest class's share of the used rows, which
    is the accuracy without any input, or null if there are no rows.
    """

    name: str
    accuracies: pa.Table

    def of(self, name: str, representation: str | None = None) -> Mapping[str, Any]:
        """Return the row of `accuracies` for one set."""
        wanted = (name, representation)
        return next(row for row in self.accuracies.to_pylist() if (row["set"], row["representation"]) == wanted)


def unseen_adversary(
    train: Examples, kept: Mapping[str, np.ndarray], *, seed: int, most_rows: int = MOST_ROWS
) -> UnseenAdversary:
    """Cross-validate one simple model on the train rows, on the kept rows of each filter, and on random rows.

    Each filter's random set has as many rows as the filter kept. The five folds are shuffled and stratified by label;
    rows of a group are in the same fold.

    For texts, the model is multinomial logistic regression on TF-IDF weights of lower-cased words and word pairs of
    each column. The text model uses the first 2,000 characters of a text. The text model uses the 20,000 most frequent
    terms of a column, or fewer terms if there are over 50 classes. For images, the model is logistic regression on
    standardised grey pixels. For features, the model is a nearest-neighbour classifier.

    Args:
        train: the train rows of the filters' pools.
        kept: for each representation, the ids of the rows that its filter kept, all in `train`.
        seed: seed of samples, random sets and folds.
        most_rows: largest number of rows used per set; a larger set is sampled.

    Raises:
        InvalidInputError: a filtered set contains rows that are not among `train`.
        DataError: an image cannot be decoded.
    """
    sets = [
        (name, representation, positions, draw_sample(positions, most_rows, np.random.default_rng([seed, 2, number])))
        for number, (name, representation, positions) in enumerate(_sets(train, kept, seed))
    ]
    inputs_of = _inputs(train, np.unique(np.concatenate([used for *_, used in sets])))
    folds_seed = int(np.random.SeedSequence(seed).generate_state(1)[0])
    records = [
        (name, representation, len(positions), len(used), *_measured(train, used, inputs_of, folds_seed))
        for name, representation, positions, used in sets
    ]
    return UnseenAdversary(NAMES[train.modality], table_of(records, _ACCURACIES))


def _sets(train: Examples, kept: Mapping[str, np.ndarray], seed: int) -> Iterator[tuple[str, str | None, np.ndarray]]:
    """Yield the name, the representation and the row positions (in `train`) of each set of rows."""
    yield "full", None, np.arange(len(train))
    for number, (representation, row_ids) in enumerate(kept.items()):
        inside = np.isin(train.row_ids, row_ids)
        if inside.sum() != len(row_ids):
            raise InvalidInputError(
                f"the filter of representation {representation!r} kept {len(row_ids)} rows, but only {inside.sum()} "
                f"of these are among the {len(train)} train rows; give each kept train row once"
            )
        rng = np.random.default_rng([seed, 1, number])
        yield "random", representation, np.sort(rng.choice(len(train), len(row_ids), replace=False))
        yield "filtered", representation, np.flatnonzero(inside)


def _measured(
    train: Examples, rows: np.ndarray, inputs_of: Callable[[np.ndarray], Any], seed: int
) -> tuple[float | None, float | None, float | None]:
    """Return the accuracy, its standard deviation over the folds, and the largest class's share."""
    labels = train.labels[rows]
    if not len(rows):
        return None, None, None
    majority = float(np.bincount(labels).max() / len(labels))
    folds = _folds(labels, None if train.groups is None else train.groups[rows], seed)
    inputs = None if folds is None else inputs_of(rows)
    if folds is None or inputs is None:
        return None, None, majority
    right = np.empty(len(rows), bool)
    with one_blas_thread():
        for fold in np.unique(folds):
            held_out = folds == fold
            right[held_out] = _predicted(train.modality, inputs, labels, held_out) == labels[held_out]
    by_fold = [right[folds == fold].mean() for fold in np.unique(folds)]
    return float(right.mean()), float(np.std(by_fold, ddof=1)), majority


def _folds(labels: np.ndarray, groups: np.ndarray | None, seed: int) -> np.ndarray | None:
    """Return the fold of every row.

    Return None if the largest class has fewer rows than there are folds, or if there are fewer groups than folds.
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    if np.bincount(labels).max() < FOLDS or (groups is not None and len(np.unique(groups)) < FOLDS):
        return None
    cut = (StratifiedKFold if groups is None else StratifiedGroupKFold)(FOLDS, shuffle=True, random_state=seed)
    folds = np.empty(len(labels), np.int64)
    with warnings.catch_warnings():
        # scikit-learn warns about classes with fewer rows than folds, but rare classes are allowed here.
        warnings.filterwarnings("ignore", "The least populated class")
        for fold, (_, held_out) in enumerate(cut.split(np.zeros(len(labels)), labels, groups)):
            folds[held_out] = fold
    return folds if len(np.unique(folds)) > 1 else None


def _predicted(modality: str, inputs: Any, labels: np.ndarray, held_out: np.ndarray) -> np.ndarray:
    known = labels[~held_out]
    if (known == known[0]).all():
        return np.full(held_out.sum(), known[0])
    predicted: np.ndarray = _new_model(modality, len(known)).fit(inputs[~held_out], known).predict(inputs[held_out])
    return predicted


def _new_model(modality: str, rows: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if modality == "text":
        return LogisticRegression(max_iter=1_000)
    if modality == "image":
        # Without strong regularisation, the model would overfit the standardised pixels of so few rows.
        return make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1_000))
    return make_pipeline(StandardScaler(), KNeighborsClassifier(min(NEIGHBOURS, rows)))


def _inputs(train: Examples, used: np.ndarray) -> Callable[[np.ndarray], Any]:
    """Return a function that maps row positions in `used` to the model's inputs; return None if the texts have no
    words.
    """
    if train.modality == "features":
        features = train.features
        return lambda rows: features[rows].astype(np.float64)
    if train.modality == "text":
        columns = [name for name in ("text", "text_pair") if name in train.table.column_names]
        return lambda rows: _weights(train, rows, columns)
    pixels = _grey_pixels(train, used)
    return lambda rows: pixels[np.searchsorted(used, rows)]


def _weights(train: Examples, rows: np.ndarray, columns: list[str]) -> Any:
    """Return a sparse matrix of TF-IDF weights (rows x terms), computed from the texts without labels."""
    from scipy import sparse

    texts = [train.table[column].take(rows).to_pylist() for column in columns]
    found = [tfidf(column, len(train.label_names), most_terms=_MOST_TERMS) for column in texts]
    matrices = [weights for weights, _ in filter(None, found)]
    return sparse.hstack(matrices, format="csr") if matrices else None


def _grey_pixels(train: Examples, rows: np.ndarray) -> np.ndarray:
    """Return each image's mean brightness over a grid, rows x 256 float64 in [0, 1]."""
    from PIL import Image

    pixels = np.empty((len(rows), PIXELS * PIXELS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about unusual but readable files
        for place, row in enumerate(rows.tolist()):
            content = train.image_bytes(row)
            try:
                image = as_rgb(open_encoded(content)).convert("L")
            except MemoryError:
                raise
            except Exception as error:  # Pillow raises errors of many types for invalid bytes
                raise DataError(
                    f"the image of row {train.row_ids[row]} cannot be decoded ({error}); repair or remove it in the "
                    "source and materialise `raw_dataset` again"
                ) from error
            pixels[place] = np.asarray(image.resize((PIXELS, PIXELS), Image.Resampling.BOX)).reshape(-1)
    return pixels / 255
