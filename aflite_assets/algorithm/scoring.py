"""One iteration of AFLite without removal (`score_rows`)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aflite_assets.algorithm.inputs import Inputs, check_inputs, check_partitions, check_run, check_train_size
from aflite_assets.algorithm.partitions import draw_iteration, follows_training
from aflite_assets.algorithm.records import Scores
from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.algorithm.tally import ClassifierFit, Tally, tally_partitions


def score_rows(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    settings: FilterSettings,
    seed: int,
    groups: ArrayLike | None = None,
    score_only: ArrayLike | None = None,
    partitions: Sequence[ArrayLike] | None = None,
    fit: ClassifierFit | None = None,
    device: str = "auto",
    memory_limit: int = 2**30,
    keep_probabilities: bool = False,
) -> Scores:
    """Score every row with classifiers that were not trained on the row. The scores equal those of the first iteration
    of Algorithm 1 (ICML 2020).

    Args:
        features: rows x width, finite numbers of at most 64 bits; a memory map is read in blocks. The array is never
            changed.
        labels: one integer of 0 or more per row, at least two classes among the rows to train on.
        settings: only the fields `train_size`, `n_partitions`, `classifier` and `inverse_regularization` are used.
        seed: from 0 to 2**64 - 1. The partitions are the same as in the first iteration of `filter_dataset`.
        groups: one integer per row; rows of a group are never split between training rows and held-out rows.
        score_only: bool per row; True rows are never trained on. Each True row is predicted by a random subset of the
            classifiers. On average, a True row gets as many predictions as a train row. If `partitions` is given, each
            True row is predicted by all classifiers. A classifier that was trained on rows of a group never predicts
            the other rows of the group.
        partitions: one array of training row numbers per partition, which replaces the random draw. If `partitions` is
            given, `train_size` and `n_partitions` are not used.
        fit: a function that replaces the classifiers: `fit(features, labels, classes)` returns a function `predict`.
            `predict(features)` returns the predicted classes or `Predictions`. `fit` and `predict` receive features as
            float64.
        device: "cpu", "cuda", or "auto", the first GPU that torch can use. A pool that is too large for the GPU's
            memory is streamed.
        memory_limit: bytes of main memory that a run may use. The limit does not include the memory-mapped pages of
            `features`, a hundred bytes per row, and the loaded libraries. If a float32 copy of the pool takes more than
            half of `memory_limit`, the pool is read again in every pass.
        keep_probabilities: keep the matrix of probabilities (rows x classes) if the classifier gives probabilities.

    Raises:
        InvalidInputError: an argument is not as described above. The error is raised before any fitting. Only an error
            in the results of `fit` is raised later.
    """
    check_run(seed=seed, device=device, memory_limit=memory_limit)
    inputs = check_inputs(features, labels, groups=groups, score_only=score_only, memory_limit=memory_limit)
    pool = np.arange(len(inputs.labels))
    if partitions is None:
        check_train_size(inputs, settings)
        drawn = draw_iteration(inputs, settings, pool=pool, seed=seed)
        subsets, unpredicted = drawn.subsets, drawn.unpredicted
    else:
        subsets = check_partitions(partitions, inputs)
        unpredicted = follows_training(inputs, np.flatnonzero(inputs.score_only), subsets)
    given: dict[str, Any] = {"pool": pool, "unpredicted": unpredicted, "keep_probabilities": keep_probabilities}
    if fit is not None:
        return _scores(inputs, tally_partitions(inputs, subsets, fits=(fit,), memory_limit=memory_limit, **given))
    from aflite_assets.algorithm.linear.engine import LinearEngine  # loads torch, which a given `fit` does without

    with LinearEngine(inputs, settings, seed=seed, device=device, memory_limit=memory_limit, pool=pool) as engine:
        return _scores(inputs, engine.tally(subsets, **given).tally)


def score_permutations(
    features: ArrayLike,
    permuted: Sequence[np.ndarray],
    *,
    settings: FilterSettings,
    seeds: Sequence[int],
    groups: ArrayLike | None,
    device: str,
    memory_limit: int,
) -> list[Scores]:
    """Return the scores of `score_rows` for each label vector in `permuted` with its seed. In small jobs, the
    classifiers of several label vectors are fitted together.

    The label vectors must be permutations of each other. The other arguments are as in `score_rows`.
    """
    from aflite_assets.algorithm.linear.engine import LinearEngine, is_exact  # loads torch

    given: dict[str, Any] = {"settings": settings, "device": device, "memory_limit": memory_limit}
    inputs = check_inputs(features, permuted[0], groups=groups, score_only=None, memory_limit=memory_limit)
    if not is_exact(inputs, settings, device):
        pairs = zip(permuted, seeds, strict=True)
        return [score_rows(features, labels, seed=seed, groups=groups, **given) for labels, seed in pairs]
    check_train_size(inputs, settings)
    pool = np.arange(len(inputs.labels))
    subsets = [draw_iteration(inputs, settings, pool=pool, seed=seed).subsets for seed in seeds]
    with LinearEngine(inputs, seed=seeds[0], pool=pool, **given) as engine:
        tallies = engine.tally_permuted(permuted, subsets, pool=pool)
    return [_scores(inputs, tally) for tally in tallies]


def _scores(inputs: Inputs, tally: Tally) -> Scores:
    return Scores(
        predictability=tally.scores.astype(np.float32),
        held_out_count=tally.held_out,
        label_probability=tally.label_probability,
        representation_bias=mean_score(tally.scores[~inputs.score_only]),
        scored_bias=scored_mean(tally.scores[inputs.score_only]),
        probabilities=tally.probabilities,
    )


def mean_score(scores: np.ndarray) -> float:
    """Return the mean score of the rows that have a score. At least one row must have a score."""
    return float(np.nanmean(scores))


def scored_mean(scores: np.ndarray) -> float | None:
    """Return the mean score of the `score_only` rows, or None if no `score_only` row has a score."""
    return None if np.isnan(scores).all() else mean_score(scores)
