"""The outer loop of AFLite (`filter_dataset`) and its progress bar."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from aflite_assets.algorithm.chance import score_permuted
from aflite_assets.algorithm.inputs import Inputs, check_filter_sizes, check_inputs, check_run, fingerprint
from aflite_assets.algorithm.partitions import Partitions, draw_iteration
from aflite_assets.algorithm.records import (
    FilterArrays,
    FilterResult,
    FilterState,
    IsLearnt,
    IterationRecord,
    StopReason,
)
from aflite_assets.algorithm.scoring import mean_score, scored_mean
from aflite_assets.algorithm.selection import (
    NOTHING,
    Candidates,
    Slice,
    candidates,
    choose_slice,
    leaving_together,
    rows_cut,
    words_of,
)
from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.algorithm.tally import Tally
from aflite_assets.algorithm.vocabulary import RowWords, Vocabulary
from aflite_assets.algorithm.warnings import warnings_of
from aflite_assets.errors import InvalidInputError

if TYPE_CHECKING:  # both load torch
    from aflite_assets.algorithm.linear.engine import EngineTally, LinearEngine
    from aflite_assets.algorithm.spreading import Scorers, SpreadEngine


def filter_dataset(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    settings: FilterSettings,
    seed: int,
    groups: ArrayLike | None = None,
    score_only: ArrayLike | None = None,
    counted: ArrayLike | None = None,
    copies: ArrayLike | None = None,
    words: RowWords | None = None,
    device: str = "auto",
    memory_limit: int = 2**30,
    keep_probabilities: bool = False,
    on_iteration: Callable[[IterationRecord, FilterState], None] | None = None,
    resume: FilterState | None = None,
    scorers: "Scorers | None" = None,
    is_learnt: IsLearnt | None = None,
) -> FilterResult:
    """Remove the rows that linear classifiers predict most easily, slice by slice (Algorithm 1, ICML 2020).

    Each iteration scores the pool as `score_rows` does. Among the rows with a score of at least `threshold`, each
    iteration removes the `slice_size` rows with the highest scores. Filtering stops when `target_size` is reached, so
    the last slice may be smaller. Filtering also stops after an iteration if the rows that reach the threshold do not
    fill the slice. After the last removal, one more pass scores the kept rows and removes nothing. If several rows tie
    for the last places in the slice, the removed rows are drawn at random from the tied rows. A row that was never held
    out in an iteration has no score in that iteration and is not removed. The settings `selection`, `remove` and
    `ranking` change which rows are removed.

    Args:
        features: rows x width, finite numbers of at most 64 bits; a memory map is read in blocks. The array is never
            changed.
        labels: one integer of 0 or more per row, at least two classes among the rows that are not `score_only`.
        settings: the sizes must satisfy train_size < n, slice_size <= n and target_size <= number of `counted` rows.
            Here n is the target size. If only some rows count towards `target_size`, n is `target_size` scaled up from
            the counted rows to the whole pool.
        seed: 0 to 2**64 - 1. Partition j of iteration i depends only on (seed, i, j) and on the pool.
        groups: one integer per row; rows of a group are never split between training rows and held-out rows. Whole
            groups are drawn in random order. A group that would exceed `train_size` is skipped.
        score_only: bool per row; True rows are never trained on and do not count towards any size. The True rows are
            predicted as often as other rows and removed by the same rule (`selection.rows_cut`). With remove="groups",
            the rule uses the mean score of the row's group.
        counted: bool per row, True for rows that count towards `target_size`. By default, all rows count except
            `score_only` rows. If the pool contains test rows, `counted` can restrict the target to train rows. All
            other sizes refer to the whole pool.
        copies: one integer per row, the same integer for exact copies of a row. With remove="rows", copies are removed
            together according to their mean predictability, if all copies fit into one slice. Copies do not change how
            training sets are drawn.
        words: the words of every row, needed only for ranking="vocabulary". With ranking="vocabulary", no row may be
            `score_only`. Each iteration counts the words of its pool again. Rows that are removed together count as one
            row.
        device: "cpu", "cuda", or "auto", the first GPU that torch can use. A pool that is too large for the GPU's
            memory is streamed.
        memory_limit: bytes of main memory that a run may use. The limit does not include the memory-mapped pages of
            `features`, a hundred bytes per row, and the loaded libraries. If a float32 copy of the pool takes more than
            half of `memory_limit`, the pool is read again in every pass.
        keep_probabilities: keep the matrix of probabilities (rows x classes) of the first iteration. The classifier
            must give probabilities.
        on_iteration: a function that is called with the record and the state after each iteration, including the last
            pass. If `on_iteration` is None, a progress bar is shown.
        resume: a state that `on_iteration` received in an earlier run with the same inputs, settings and seed. The
            result is bit-identical to the result of an uninterrupted run.
        scorers: other processes that score the partitions, with bit-identical results (see `spreading.py`). Small jobs
            are scored in the calling process.
        is_learnt: a function that is called once, with the scores of the first pass. If the function returns False, the
            run ends after the first pass without removing any row.

    Raises:
        InvalidInputError: an argument is not as described above. The error is raised before any fitting, unless
            removals leave only groups that are larger than `train_size`.
    """
    check_run(seed=seed, device=device, memory_limit=memory_limit)
    given = {"groups": groups, "score_only": score_only, "counted": counted, "copies": copies, "words": words}
    inputs = check_inputs(features, labels, memory_limit=memory_limit, **given)
    run = _Run(inputs, settings, int(seed), memory_limit, keep_probabilities, is_learnt)
    check_filter_sizes(inputs, settings)
    if keep_probabilities and settings.classifier == "linear_svm":
        raise InvalidInputError(
            '`keep_probabilities` is True, but `classifier` is "linear_svm", which gives no probabilities; use '
            '"logistic" or "both", or leave `keep_probabilities` out'
        )
    state = _starting_state(run) if resume is None else _resumed(run, resume)
    return _result(run, state if state.finished else _finished(run, state, device, on_iteration, scorers))


@dataclass(frozen=True)
class _Run:
    """The inputs and settings of a run, which are the same in all iterations."""

    inputs: Inputs
    settings: FilterSettings
    seed: int
    memory_limit: int
    keep_probabilities: bool
    is_learnt: IsLearnt | None

    def hash(self) -> str:
        return fingerprint(
            self.inputs,
            self.settings,
            seed=self.seed,
            keep_probabilities=self.keep_probabilities,
            memory_limit=self.memory_limit,
        )

    def groups_of(self, rows: np.ndarray) -> np.ndarray | None:
        return None if self.inputs.groups is None else self.inputs.groups[rows]

    def candidates(self, rows: np.ndarray, tally: Tally) -> Candidates:
        """Return the rows as units of removal: the rows of a unit are removed together."""
        if self.settings.remove == "groups":
            together = self.groups_of(rows)
        else:
            together = leaving_together(self.inputs.copies, rows, most=self.settings.slice_size)
        return candidates(rows, together, tally, counted=self.inputs.counted[rows], labels=self.inputs.labels[rows])

    def vocabulary(self, among: Candidates) -> Vocabulary | None:
        """Return the words of the rows at the start of an iteration, or None if rows are not ranked by words."""
        if self.settings.ranking != "vocabulary" or self.inputs.words is None:
            return None
        return words_of(among, self.inputs.words)

    def room(self, pool: np.ndarray) -> int:
        """Return how many more counted rows may be removed before the pool reaches the target size."""
        return int(self.inputs.counted[pool].sum()) - self.settings.target_size


def _starting_state(run: _Run) -> FilterState:
    rows = len(run.inputs.labels)
    at_target = run.room(np.arange(rows)) == 0
    return FilterState(
        removed_rows=np.empty(0, dtype=np.int64),
        removed_in_iteration=np.empty(0, dtype=np.int64),
        predictability=np.full(rows, np.nan, dtype=np.float32),
        held_out_count=np.zeros(rows, dtype=np.int64),
        stop_reason=StopReason.TARGET_SIZE if at_target else None,
        finished=False,
        inputs_hash=run.hash(),
    )


def _resumed(run: _Run, state: FilterState) -> FilterState:
    expected = run.hash()
    if state.inputs_hash != expected:
        raise InvalidInputError(
            f"`resume` is the state of a run with other inputs, settings or seed (hash {state.inputs_hash[:12]} "
            f"instead of {expected[:12]}); give the inputs of the interrupted run, or start again with `resume=None`"
        )
    return state


def _finished(
    run: _Run,
    state: FilterState,
    device: str,
    on_iteration: Callable[[IterationRecord, FilterState], None] | None,
    scorers: "Scorers | None",
) -> FilterState:
    """Run iterations until the filter stops, and return the final state."""
    removable = run.room(np.arange(len(run.inputs.labels)))
    with (
        _engine(run, state.pool, device, scorers) as engine,
        _ProgressBar(removable, state.iterations) as bar,
    ):
        report = bar.advance if on_iteration is None else on_iteration
        while not state.finished:
            state = _iterate(run, engine, state, device)
            report(state.iterations[-1], state)
    return state


def _engine(run: _Run, pool: np.ndarray, device: str, scorers: "Scorers | None") -> "LinearEngine | SpreadEngine":
    from aflite_assets.algorithm.linear.engine import LinearEngine
    from aflite_assets.algorithm.spreading import SpreadEngine

    given = {"seed": run.seed, "memory_limit": run.memory_limit}
    if scorers is not None:
        spread = SpreadEngine.of(run.inputs, run.settings, scorers=scorers, **given)
        if spread is not None:
            return spread
    return LinearEngine(run.inputs, run.settings, device=device, pool=pool, **given)


def _iterate(run: _Run, engine: "LinearEngine | SpreadEngine", state: FilterState, device: str) -> FilterState:
    """Run one iteration: draw the partitions, score the rows, remove a slice and record the iteration."""
    started = perf_counter()
    pool = draw_iteration(run.inputs, run.settings, pool=state.pool, seed=run.seed, iteration=state.next_iteration)
    scored = _scored(run, engine, state, pool)
    tally = scored.tally
    among = run.candidates(pool.trainable, tally)
    vocabulary = run.vocabulary(among)
    chance_bias = _chance_bias(run, state, pool, tally, device)
    at_chance = chance_bias is not None and mean_score(tally.scores[pool.trainable]) <= chance_bias
    stopped = _stopped_by_chance(run, state, tally, at_chance=at_chance)
    removal = NOTHING if at_chance or stopped is not None else _choose(run, state, pool, among, vocabulary)
    scored_removed = rows_cut(
        run.candidates(pool.scored_only, tally),
        removal.cut,
        settings=run.settings,
        seed=run.seed,
        iteration=state.next_iteration,
    )
    seconds = perf_counter() - started
    record = _record(run, state, pool, tally, removal, scored_removed, chance_bias=chance_bias, seconds=seconds)
    if vocabulary is not None:
        record = replace(record, distinct_words=vocabulary.distinct_words, words_per_row=vocabulary.words_per_row)
    removed = np.union1d(removal.rows, scored_removed)
    advanced = _advanced(state, tally, record, removed, stopped or _stop_reason(removal, run.settings))
    labels, shares = _instead(run, state, tally)
    if vocabulary is not None:
        advanced = _with_words(advanced, among, vocabulary, removal)
    if run.settings.uses_label_probability:
        advanced = replace(advanced, last_label_probability=_last_probability(state, tally))
    return replace(advanced, instead_labels=labels, instead_shares=shares, start=scored.start)


def _scored(run: _Run, engine: "LinearEngine | SpreadEngine", state: FilterState, drawn: Partitions) -> "EngineTally":
    from aflite_assets.algorithm.spreading import SpreadEngine

    given: dict[str, Any] = {
        "pool": state.pool,
        "start": state.start,
        "keep_probabilities": run.keep_probabilities and not state.iterations,
        "unpredicted": drawn.unpredicted,
    }
    if isinstance(engine, SpreadEngine):  # whose scorers draw the partitions themselves
        given["iteration"] = state.next_iteration
    return engine.tally(drawn.subsets, **given)


_OVER_LARGEST_CLASS = 0.05
"""If a bias exceeds the largest class's share by more than this number, the bias is not compared with permuted labels,
because the bias of permuted labels is never so high.
"""


def _chance_bias(run: _Run, state: FilterState, pool: Partitions, tally: Tally, device: str) -> float | None:
    """Return the highest bias over the passes with permuted labels, or None if the bias is not needed."""
    if not run.settings.stop_at_chance or state.stop_reason is not None:
        return None
    labels = run.inputs.labels[pool.trainable]
    largest_class = np.unique(labels, return_counts=True)[1].max() / len(labels)
    if mean_score(tally.scores[pool.trainable]) > largest_class + _OVER_LARGEST_CLASS:
        return None
    return score_permuted(
        run.inputs.features,
        run.inputs.labels,
        settings=run.settings,
        seed=run.seed,
        rows=pool.trainable,
        iteration=state.next_iteration,
        groups=run.inputs.groups,
        device=device,
        memory_limit=run.memory_limit,
    ).largest


def _stopped_by_chance(run: _Run, state: FilterState, tally: Tally, *, at_chance: bool) -> StopReason | None:
    """Return a stop reason if `is_learnt` rejects the first pass or if the last two passes are at chance. Otherwise,
    return None.
    """
    if not state.iterations:
        unlearnt = run.is_learnt is not None and not run.is_learnt(tally.scores, tally.label_probability)
        return StopReason.NOTHING_LEARNT if unlearnt else None
    return StopReason.CHANCE if at_chance and state.iterations[-1].at_chance else None


def _choose(run: _Run, state: FilterState, pool: Partitions, among: Candidates, vocabulary: Vocabulary | None) -> Slice:
    return choose_slice(
        among,
        settings=run.settings,
        allowed=run.settings.slice_size,
        room=0 if state.stop_reason is not None else run.room(pool.trainable),
        seed=run.seed,
        iteration=state.next_iteration,
        vocabulary=vocabulary,
    )


def _record(
    run: _Run,
    state: FilterState,
    pool: Partitions,
    tally: Tally,
    removal: Slice,
    scored_removed: np.ndarray,
    *,
    chance_bias: float | None,
    seconds: float,
) -> IterationRecord:
    labels, classes = run.inputs.labels[pool.trainable], run.inputs.classes
    train_sizes = [len(subset) for subset in pool.subsets]
    return IterationRecord(
        iteration=state.next_iteration,
        rows_in=len(pool.trainable),
        scored_rows_in=len(pool.scored_only),
        counted_rows_in=int(run.inputs.counted[pool.trainable].sum()),
        removed=len(removal.rows),
        scored_removed=len(scored_removed),
        counted_removed=int(run.inputs.counted[removal.rows].sum()),
        cutoff=removal.cutoff,
        tied_at_cutoff=removal.tied_at_cutoff,
        representation_bias=mean_score(tally.scores[pool.trainable]),
        scored_bias=scored_mean(tally.scores[pool.scored_only]),
        rows_per_class=tuple(np.bincount(np.searchsorted(classes, labels), minlength=len(classes)).tolist()),
        never_held_out=int((tally.held_out[pool.trainable] == 0).sum()),
        smallest_train_size=min(train_sizes),
        largest_train_size=max(train_sizes),
        chance_bias=chance_bias,
        seconds=seconds,
    )


def _advanced(
    state: FilterState, tally: Tally, record: IterationRecord, removed: np.ndarray, stopped: StopReason | None
) -> FilterState:
    scored = tally.held_out > 0
    stop_reason = state.stop_reason or stopped
    first = not state.iterations
    return replace(
        state,
        removed_rows=np.append(state.removed_rows, removed),
        removed_in_iteration=np.append(
            state.removed_in_iteration, np.full(len(removed), record.iteration, dtype=np.int64)
        ),
        predictability=np.where(scored, tally.scores.astype(np.float32), state.predictability),
        held_out_count=np.where(scored, tally.held_out, state.held_out_count),
        label_probability=tally.label_probability if first else state.label_probability,
        probabilities=tally.probabilities if first else state.probabilities,
        iterations=(*state.iterations, record),
        stop_reason=stop_reason,
        finished=stop_reason is not None and not len(removed),
    )


def _with_words(state: FilterState, among: Candidates, vocabulary: Vocabulary, removal: Slice) -> FilterState:
    """Return the state with the word counts of the iteration. For kept rows, the state has the word counts from the
    start of the iteration.
    """
    rows, share = len(state.predictability), state.vocabulary_share
    own_words = np.zeros(rows, np.int64) if state.own_words is None else state.own_words.copy()
    own_words[among.rows] = vocabulary.own_words[among.units]
    if removal.own_words is not None:
        own_words[removal.rows] = removal.own_words
    if share is None:
        share = np.zeros(rows)
        share[among.rows] = vocabulary.shares[among.units]
    return replace(state, own_words=own_words, vocabulary_share=share)


def _last_probability(state: FilterState, tally: Tally) -> np.ndarray | None:
    """Return the label probabilities that rank the rows. A removed row keeps the value from its last iteration."""
    before, now = state.last_label_probability, tally.label_probability
    return now if before is None or now is None else np.where(tally.held_out > 0, now, before)


def _instead(run: _Run, state: FilterState, tally: Tally) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the wrong labels predicted for each row, and the shares of these labels. The values are from the last
    iteration in which the row had a score.
    """
    if tally.instead is None or (state.iterations and state.instead_labels is None):
        return None, None  # a run that goes on with another memory limit has it of all rows or of none
    columns = tally.instead.columns
    labels = np.where(columns < 0, -1, run.inputs.classes[columns])
    shares = (tally.instead.counts / np.maximum(tally.predictions, 1)[:, None]).astype(np.float32)
    if state.instead_labels is None or state.instead_shares is None:
        return labels, shares
    scored = (tally.held_out > 0)[:, None]
    return np.where(scored, labels, state.instead_labels), np.where(scored, shares, state.instead_shares)


def _stop_reason(removal: Slice, settings: FilterSettings) -> StopReason | None:
    if removal.reaches_target:
        return StopReason.TARGET_SIZE
    ends = removal.runs_out and (settings.early_stop or not len(removal.rows))
    return StopReason.THRESHOLD if ends else None


def _result(run: _Run, state: FilterState) -> FilterResult:
    if state.stop_reason is None:
        raise InvalidInputError(
            "`resume` is the state of a finished run, but has no stop reason; give a state that "
            "`FilterState.to_arrays` wrote"
        )
    return FilterResult(
        **{field.name: getattr(state, field.name) for field in fields(FilterArrays)},
        kept_rows=state.pool,
        classes=run.inputs.classes,
        iterations=state.iterations,
        stop_reason=state.stop_reason,
        warnings=warnings_of(state.iterations, run.settings, classes=run.inputs.classes),
        settings=run.settings,
        seed=run.seed,
    )


class _ProgressBar:
    """A progress bar on a terminal: removed rows out of `removable` rows. Only rows that count towards the target are
    shown.

    If standard error is not a terminal, no progress bar is shown.
    """

    def __init__(self, removable: int, records: Iterable[IterationRecord]) -> None:
        """Start the progress bar. `records` are the iterations that a resumed run has already completed."""
        from tqdm import tqdm

        self._bar = tqdm(total=removable, unit=" rows", desc="AFLite", disable=None, delay=1.0)
        self._bar.update(sum(record.counted_removed for record in records))

    def __enter__(self) -> "_ProgressBar":
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def advance(self, record: IterationRecord, state: FilterState) -> None:
        """Add the removed rows of one iteration to the bar. The arguments are the iteration's record and the state
        after the iteration.
        """
        self._bar.set_postfix(iteration=record.iteration, bias=f"{record.representation_bias:.3f}")
        self._bar.update(record.counted_removed)
