"""`filter_dataset` against the same loop on the reference classifiers: scikit-learn at its optimum, in float64."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import FilterResult, FilterSettings, FilterState, filter_dataset
from aflite_assets.algorithm.inputs import Inputs
from aflite_assets.algorithm.linear.engine import EngineTally
from aflite_assets.algorithm.reference import reference_fits
from aflite_assets.algorithm.tally import tally_partitions


class ReferenceEngine:
    """Stands in for the linear engine: the reference classifiers, one after the other."""

    def __init__(
        self, inputs: Inputs, settings: FilterSettings, *, seed: int, device: str, memory_limit: int, pool: np.ndarray
    ) -> None:
        self._inputs, self._memory_limit = inputs, memory_limit
        self._fits = reference_fits(settings)

    def __enter__(self) -> "ReferenceEngine":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def tally(
        self,
        subsets: Sequence[np.ndarray],
        *,
        pool: np.ndarray,
        start: np.ndarray | None = None,
        keep_probabilities: bool = False,
        unpredicted: Sequence[np.ndarray] | None = None,
    ) -> EngineTally:
        tally = tally_partitions(
            self._inputs,
            subsets,
            pool=pool,
            fits=self._fits,
            memory_limit=self._memory_limit,
            keep_probabilities=keep_probabilities,
            unpredicted=unpredicted,
        )
        return EngineTally(tally, start=np.zeros((1, 1, 1)), evaluations=np.zeros((1, len(subsets)), dtype=np.int64))


@dataclass(frozen=True)
class Problem:
    """`shares`: of each class among the rows. 60 % of the rows lie around their class's centre, the rest anywhere."""

    rows: int
    width: int
    shares: tuple[float, ...]
    settings: dict[str, Any]
    group_size: int | None = None
    scored_share: float = 0.0
    arrays: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.rows)
        labels = rng.choice(len(self.shares), self.rows, p=self.shares)
        centres = 1.5 * rng.normal(size=(len(self.shares), self.width)) / self.width**0.25
        easy = rng.random(self.rows) < 0.6
        features = rng.normal(size=(self.rows, self.width)) + easy[:, None] * centres[labels]
        groups = None if self.group_size is None else rng.permutation(self.rows) // self.group_size
        score_only = rng.random(self.rows) < self.scored_share if self.scored_share else None
        given = {"features": features.astype(np.float32), "labels": labels, "groups": groups, "score_only": score_only}
        object.__setattr__(self, "arrays", given)

    def run(self, **more: Any) -> FilterResult:
        return filter_dataset(settings=FilterSettings(**self.settings), seed=self.rows, **self.arrays, **more)

    def reference_run(self, monkeypatch: pytest.MonkeyPatch) -> FilterResult:
        with monkeypatch.context() as patch:
            patch.setattr("aflite_assets.algorithm.linear.engine.LinearEngine", ReferenceEngine)
            return self.run()


def sizes(target_size: int, train_size: int, slice_size: int, n_partitions: int, **more: Any) -> dict[str, Any]:
    names = ("target_size", "train_size", "slice_size", "n_partitions")
    return dict(zip(names, (target_size, train_size, slice_size, n_partitions), strict=True)) | more


PROBLEMS = {
    "two_classes_logistic": Problem(300, 5, (0.5, 0.5), sizes(120, 60, 30, 16, threshold=0.6)),
    "three_classes_linear_svm": Problem(900, 20, (0.4, 0.3, 0.3), sizes(400, 150, 100, 8, classifier="linear_svm")),
    # Some training sets lack the rarest class.
    "five_classes_logistic": Problem(
        2000, 60, (0.3, 0.3, 0.2, 0.195, 0.005), sizes(900, 200, 250, 8, inverse_regularization=0.1)
    ),
    "groups_both": Problem(
        1200, 30, (0.6, 0.4), sizes(600, 200, 150, 8, classifier="both", remove="groups"), group_size=3
    ),
    "score_only_gumbel": Problem(
        800, 10, (0.3, 0.3, 0.4), sizes(300, 100, 60, 16, selection="gumbel", threshold=0.5), scored_share=0.25
    ),
    "score_only_groups": Problem(900, 10, (0.5, 0.5), sizes(350, 120, 80, 12), group_size=3, scored_share=0.25),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_rows_kept_are_those_of_the_reference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PROBLEMS[name]
    expected, result = problem.reference_run(monkeypatch), problem.run()
    assert sum(record.removed > 0 for record in expected.iterations) >= 3
    np.testing.assert_array_equal(result.kept_rows, expected.kept_rows)
    np.testing.assert_array_equal(result.removed_rows, expected.removed_rows)
    np.testing.assert_array_equal(result.removed_in_iteration, expected.removed_in_iteration)
    np.testing.assert_array_equal(result.predictability, expected.predictability)
    assert [record.cutoff for record in result.iterations] == [record.cutoff for record in expected.iterations]
    assert result.stop_reason is expected.stop_reason
    assert (result.label_probability is None) == (expected.label_probability is None)
    if result.label_probability is not None and expected.label_probability is not None:
        np.testing.assert_allclose(result.label_probability, expected.label_probability, atol=1e-6)
    assert result.instead_labels is not None
    np.testing.assert_array_equal(result.instead_labels, expected.instead_labels)
    np.testing.assert_array_equal(result.instead_shares, expected.instead_shares)


def test_the_compiled_float32_path_keeps_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(3000, 40, (0.5, 0.3, 0.2), sizes(1800, 300, 300, 8))
    expected = problem.reference_run(monkeypatch)
    monkeypatch.setattr("aflite_assets.algorithm.linear.engine.preparation._is_small", lambda inputs, settings: False)
    result = problem.run()
    assert [record.removed for record in expected.iterations] == [300, 300, 300, 300, 0]
    kept, wanted = set(result.kept_rows.tolist()), set(expected.kept_rows.tolist())
    assert len(kept & wanted) / len(kept | wanted) >= 0.999


def test_the_compiled_float32_path_leaves_the_same_scored_rows_out(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(3600, 40, (0.5, 0.3, 0.2), sizes(1800, 300, 300, 8), group_size=2, scored_share=0.2)
    states: list[list[FilterState]] = []
    for compiled in (False, True):
        states.append([])
        with monkeypatch.context() as patch:
            patch.setattr(
                "aflite_assets.algorithm.linear.engine.preparation._is_small",
                lambda inputs, settings, small=not compiled: small,
            )
            problem.run(on_iteration=lambda record, state: states[-1].append(state))
    exact, quick = (state[0] for state in states)
    np.testing.assert_array_equal(quick.held_out_count, exact.held_out_count)
    assert len(set(exact.held_out_count[problem.arrays["score_only"]])) > 3
    assert np.mean(quick.predictability == exact.predictability) >= 0.999
