"""Inputs of one representation's filter: exact copies, and rows that are quarantined before its first iteration."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.algorithm import ChanceScores, FilterResult, FilterSettings, FilterState, IsLearnt, IterationRecord
from aflite_assets.analysis.rules.bias_excess import bias_excess
from aflite_assets.cluster import Cluster
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.data.words import DistinctWords
from aflite_assets.diagnostics.data_checks.repeats import input_codes
from aflite_assets.diagnostics.evidence.label_noise import quarantined_ids, suspected_rows
from aflite_assets.errors import DataError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import PublishedResult
from aflite_assets.specs.filter import FilterSpec
from aflite_assets.stages.filtering.spread_scoring import MEMORY_LIMIT, ScoredRows, cluster_scorers
from aflite_assets.stages.shared.published import LABEL_ERRORS, open_features, read_rows
from aflite_assets.stages.shared.sizes import filter_settings, in_pool, only_scored
from aflite_assets.stages.stage import StageContext

_MOST_PROBABILITIES = 2**23
"""Largest number of first-iteration probabilities (rows x classes) kept to find label errors; they need 64 MiB."""


@dataclass(frozen=True)
class FilterInputs:
    """Inputs of every run of one representation's filter, except the seed.

    Arrays have one entry per row that enters the filter. `entering`: the positions, among the embedded `rows`, of the
    rows that enter the filter. `policies`: the treatment of each split other than train. `copies`: a number per row,
    equal for exact copies; None if there are no copies. `words`: the words of each row; None if rows are not ranked by
    words. `whole_groups`: True if a partition's training part contains each group completely or not at all.
    """

    rows: pa.Table
    entering: np.ndarray
    features: np.ndarray
    split: np.ndarray
    score_only: np.ndarray
    settings: FilterSettings
    policies: Mapping[str, str]
    copies: np.ndarray | None = None
    words: DistinctWords | None = None
    whole_groups: bool = True

    @classmethod
    def of(
        cls,
        embedded: PublishedResult,
        spec: FilterSpec,
        *,
        warmup: int,
        copies: np.ndarray | None = None,
        words: DistinctWords | None = None,
        left_out: np.ndarray | None = None,
    ) -> "FilterInputs":
        """Collect the inputs from the embedded rows, without the row ids in `left_out`.

        `warmup`: the number of rows used to train the encoders. `copies`: a number per embedded row, equal for exact
        copies. `words`: the words of each embedded row.
        """
        rows, features = read_rows(embedded), open_features(embedded)
        if copies is not None:
            rows = rows.append_column("copy", pa.array(copies))
        if left_out is not None and len(left_out):
            staying = ~np.isin(rows["row_id"].to_numpy(), left_out)
            rows, features = rows.filter(pa.array(staying)), features[staying]
            words = None if words is None else words.of_rows(np.flatnonzero(staying))
        splits = rows["split"].to_numpy(zero_copy_only=False)
        pool, scored = in_pool(spec, splits), only_scored(spec, splits)
        entering = np.flatnonzero(pool | scored)
        train_rows = int((splits == "train").sum())
        return cls(
            rows,
            entering,
            features if len(entering) == len(splits) else features[entering],
            splits[entering],
            scored[entering],
            filter_settings(spec, int(pool.sum()), warmup, train_rows=train_rows),
            {split: spec.evaluation_rows_of(split) for split in dict.fromkeys(splits) if split != "train"},
            None if copies is None else rows["copy"].to_numpy()[entering],
            None if words is None else words.of_rows(entering),
            spec.groups == "whole",
        )

    def kept(self, result: FilterResult) -> np.ndarray:
        """Return a bool for each row that entered the filter: True if the run kept the row."""
        kept = np.zeros(len(self.entering), dtype=bool)
        kept[result.kept_rows] = True
        return kept

    @property
    def row_ids(self) -> np.ndarray:
        """Ids (int64) of the rows that enter the filter."""
        row_ids: np.ndarray = self.rows["row_id"].to_numpy()[self.entering]
        return row_ids

    @property
    def labels(self) -> np.ndarray:
        """Labels (int64) of the rows that enter the filter."""
        labels: np.ndarray = self.rows["label"].to_numpy()[self.entering]
        return labels

    @property
    def groups(self) -> np.ndarray | None:
        """Groups (int64) of the rows that enter the filter, or None if there are no groups."""
        has_groups = self.whole_groups and "group" in self.rows.column_names
        return self.rows["group"].to_numpy()[self.entering] if has_groups else None

    @property
    def suspects_labels(self) -> bool:
        """Return True if the first iteration's probabilities exist and are few enough to keep in memory."""
        few = len(self.entering) * len(np.unique(self.labels)) <= _MOST_PROBABILITIES
        return few and self.settings.classifier != "linear_svm"

    def suspects(self, probabilities: np.ndarray, quarantine: frozenset[str]) -> pa.Table:
        """Return the rows whose labels are suspected errors according to the first iteration's class probabilities."""
        classes = np.unique(self.labels)
        return suspected_rows(self.row_ids, self.split, self.labels, probabilities, classes, quarantine=quarantine)

    def first_probabilities(self, seed: int, *, device: DeviceSettings) -> np.ndarray:
        """Return the mean held-out class probabilities of the first iteration, float32 (rows, classes)."""
        from aflite_assets.algorithm import score_rows  # loads torch and numba

        scores = score_rows(
            self.features, self.labels, **self._given(seed), device=device.device, keep_probabilities=True
        )
        assert scores.probabilities is not None
        return scores.probabilities

    def run(
        self,
        seed: int,
        *,
        device: DeviceSettings,
        resume: FilterState | None,
        on_iteration: Callable[[IterationRecord, FilterState], None],
        is_learnt: IsLearnt | None = None,
        keep_probabilities: bool = False,
        cluster: Cluster,
        log: Callable[[str], None],
    ) -> FilterResult:
        """Run the filter once."""
        from aflite_assets.algorithm import RowWords, filter_dataset  # loads torch and numba

        with cluster_scorers(cluster, partial(self._shared, seed), device=device, log=log) as scorers:
            return filter_dataset(
                self.features,
                self.labels,
                **self._given(seed),
                device=device.device,
                counted=self.split == "train",
                copies=self.copies,
                words=None if self.words is None else RowWords(self.words.offsets, self.words.numbers),
                keep_probabilities=keep_probabilities,
                on_iteration=on_iteration,
                resume=resume,
                memory_limit=MEMORY_LIMIT,
                scorers=scorers,
                is_learnt=is_learnt,
            )

    def _shared(self, seed: int, cluster: Cluster) -> ScoredRows:
        """Return the data that the workers of a cluster receive."""
        return ScoredRows.of(cluster, self.features, self.labels, **self._given(seed))

    def _given(self, seed: int) -> dict[str, Any]:
        """Return the arguments, besides features and labels, that are passed both to the scoring and to the filter."""
        score_only = self.score_only if self.score_only.any() else None
        return {"settings": self.settings, "seed": seed, "groups": self.groups, "score_only": score_only}

    def learnt_test(self, chance: ChanceScores) -> IsLearnt:
        """Return a function that tests whether the first iteration's classifiers learnt more than the class shares.

        The test is `rules.bias_excess`, which the report's verdict also uses. The test uses only rows on which
        classifiers are trained. If permuting labels by group leaves nearly all labels unchanged, no test is possible,
        and the function returns True.
        """
        pool, groups = ~self.score_only, self.groups

        def is_learnt(predictability: np.ndarray, label_probability: np.ndarray | None) -> bool:
            excess = bias_excess(
                predictability[pool],
                self.labels[pool],
                chance,
                None if groups is None else groups[pool],
                label_probability=None if label_probability is None else label_probability[pool],
            )
            return excess.is_learnt or not excess.labels_moved

        return is_learnt

    def chance(self, seed: int, *, device: DeviceSettings) -> ChanceScores:
        """Permute the labels of the filtered rows, score the rows, and return the scores."""
        from aflite_assets.algorithm import score_permuted  # loads torch and numba

        return score_permuted(
            self.features,
            self.labels,
            settings=self.settings,
            seed=seed,
            rows=np.flatnonzero(~self.score_only),
            groups=self.groups,
            device=device.device,
        )


def copy_codes(raw: PublishedResult, row_ids: np.ndarray) -> np.ndarray | None:
    """Return a number (int64) per row id; rows with identical input and label have the same number.

    Inputs are compared byte for byte. The input of an image is its encoded bytes or the hash of its file. Return None
    if no row is a copy of another.
    """
    examples = load_examples(raw.path)
    contents = pa.array(input_codes(examples) * len(examples.label_names) + examples.labels)
    everything = contents.dictionary_encode().indices.to_numpy().astype(np.int64)  # in order of appearance
    order = np.argsort(examples.row_ids)
    codes = everything[order[np.searchsorted(examples.row_ids, row_ids, sorter=order)]]
    return codes if len(np.unique(codes)) < len(codes) else None


def before_quarantine(
    name: str, given: FilterInputs, spec: FilterSpec, scratch: Path, *, seed: int, context: StageContext
) -> pa.Table | None:
    """Return all rows with suspected label errors if `spec` requests a quarantine.

    A separate pass scores the rows. The table of suspected rows is saved, so a resumed run uses the same rows. Without
    a quarantine, return None, because the filter's first iteration gives the same probabilities.

    Raises:
        DataError: there are too many rows and classes to keep all class probabilities in memory.
    """
    splits = spec.quarantined_splits
    if not splits:
        return None
    if not given.suspects_labels:
        raise DataError(
            "`filter.suspected_label_errors` is `quarantine`, but "
            f"{len(given.entering):,} rows times {len(np.unique(given.labels)):,} classes give more than "
            f"{_MOST_PROBABILITIES:,} probabilities; set `limit` to fewer rows, or leave out `suspected_label_errors`"
        )
    kept = scratch / LABEL_ERRORS
    if not kept.is_file():
        suspects = given.suspects(given.first_probabilities(seed, device=context.device), splits)
        aside = kept.with_suffix(".tmp")
        pq.write_table(suspects, aside)
        aside.replace(kept)
    suspects = pq.read_table(kept)
    context.progress.log(
        f"filtering {name}: {len(quarantined_ids(suspects))} of {suspects.num_rows} rows with suspected label errors "
        "are quarantined"
    )
    return suspects
