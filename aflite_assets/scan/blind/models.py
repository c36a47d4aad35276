"""Two small models that never see the question: surface properties of the answers, and their words."""

from collections.abc import Sequence

import numpy as np

from aflite_assets.diagnostics.data_checks.partial_input import held_out_probabilities
from aflite_assets.scan.blind.answers import BlindAnswers
from aflite_assets.scan.blind.measures import Measure
from aflite_assets.scan.properties.records import Properties

FOLDS = 5
_PENALTY = 0.02
"""Weight of the ridge penalty, as a share of the number of rows."""

SURFACE_KINDS = frozenset({"typography", "blanks", "signs", "word group", "length"})
"""Kinds of properties of an answer that are surface: no words and no beginnings or ends."""

_FEWEST = 20
"""Answers that a property needs."""


def surface_features(answers: BlindAnswers, measures: Sequence[Measure], properties: Properties) -> np.ndarray:
    """Return the surface properties of the answers, float64 of shape (answers, properties).

    Numbers are ranks among all answers, so that no outlier counts for much.
    """
    from scipy.stats import rankdata

    rows = answers.positions
    flags = [
        number
        for number, info in enumerate(properties.flags.infos)
        if info.source == answers.name and info.kind in SURFACE_KINDS
    ]
    present = properties.flags.present[:, flags].tocsr()[rows].toarray().astype(np.float64)
    often = np.minimum(present.sum(axis=0), len(rows) - present.sum(axis=0)) >= _FEWEST
    numbers = [
        one.codes[rows].astype(np.float64)
        for one in properties.numbers
        if one.info.source == answers.name and one.info.kind in SURFACE_KINDS
    ]
    columns = [*numbers, *(one.values for one in measures if one.kind != "position")]
    ranked = [rankdata(column) / len(column) for column in columns if len(np.unique(column)) > 1]
    return np.column_stack([present[:, often], *ranked]) if ranked or often.any() else np.zeros((len(rows), 0))


def surface_scores(features: np.ndarray, answers: BlindAnswers, *, rng: np.random.Generator) -> np.ndarray | None:
    """Return a score of each answer by a ridge classifier on `features`, with whole units held out.

    Returns None if there are fewer than five units, or no property that varies.
    """
    _, units = np.unique(answers.units, return_inverse=True)
    if not features.shape[1] or units.max() + 1 < FOLDS:
        return None
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folds = rng.permutation(np.arange(int(units.max()) + 1) % FOLDS)[units]
    target = np.where(answers.right, 1.0, -1.0)
    scores = np.zeros(len(target))
    for fold in range(FOLDS):
        held_out = folds == fold
        model = make_pipeline(StandardScaler(), Ridge(alpha=_PENALTY * int((~held_out).sum())))
        scores[held_out] = model.fit(features[~held_out], target[~held_out]).predict(features[held_out])
    return scores


def word_scores(
    texts: Sequence[str], answers: BlindAnswers, *, draws: Sequence[np.random.Generator]
) -> list[np.ndarray]:
    """Return how likely each answer is to be right by its words, with whole units held out, for each draw of folds.

    Returns an empty list if there are fewer than five units, or no words.
    """
    _, units = np.unique(answers.units, return_inverse=True)
    return [] if units.max() + 1 < FOLDS else held_out_probabilities(texts, answers.right, units, draws=draws)
