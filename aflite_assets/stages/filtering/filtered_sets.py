"""The stage `filtered_sets`: runs AFLite for each representation.

Each iteration writes a checkpoint, from which a stopped run resumes.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.algorithm import ChanceScores, FilterResult, FilterState, IsLearnt, IterationRecord
from aflite_assets.analysis.filtering import IterationRow
from aflite_assets.array_files import ArrayFileError, read_arrays
from aflite_assets.checks import CheckOutcome
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.data.words import DistinctWords
from aflite_assets.diagnostics.evidence.kept_like_train import kept_shares, unlike_train
from aflite_assets.diagnostics.evidence.label_noise import quarantined_ids
from aflite_assets.diagnostics.evidence.removal_overlap import expected_jaccard
from aflite_assets.errors import InvalidInputError, StoreError
from aflite_assets.results import Draft, PublishedResult, ResultKey
from aflite_assets.results.files import link_or_copy, write_json
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.filter import FilterSpec, compared_name
from aflite_assets.stages.filtering.filter_inputs import FilterInputs, before_quarantine, copy_codes
from aflite_assets.stages.filtering.last_log_line import stop_line
from aflite_assets.stages.filtering.row_words import DatasetWords
from aflite_assets.stages.shared.published import (
    FILTER_RUNS,
    LABEL_ERRORS,
    PREDICTED_INSTEAD,
    WORDS_RECORDED,
    read_rows,
    report_iterations,
)
from aflite_assets.stages.shared.report_inputs import filtered_set
from aflite_assets.stages.stage import Progress, Stage, StageChecks, StageContext, StageInputs, StageSettings
from aflite_assets.tracking import TrackedRun


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Run the filter for each representation; if a result is reused, report its iterations again."""
    warmup = inputs.warmup_split.summary["rows"]
    by_words = settings.filter.rank == "vocabulary"
    all_words = DatasetWords.of(load_examples(inputs.raw_dataset.path)) if by_words else None
    summary: dict[str, object] = {}
    rankings = (settings.filter.rank, *settings.filter.compare)
    for rank, (representation, embedded) in product(rankings, inputs.embeddings.parts.items()):
        own = rank == settings.filter.rank
        name = representation if own else compared_name(representation, rank)
        spec = settings.filter.of_representation(representation).ranked_by(rank)
        fields = {"filter": spec.model_dump(mode="json"), "seed": settings.seed, "warmup_rows": warmup}
        if settings.filter_seeds > 1:
            fields["filter_seeds"] = settings.filter_seeds
        row_ids = read_rows(embedded)["row_id"].to_numpy()
        copies = copy_codes(inputs.raw_dataset, row_ids) if spec.keeps_copies_together else None
        if copies is not None:
            fields["copies"] = hashlib.sha256(copies.tobytes()).hexdigest()
        words = None if all_words is None or rank != "vocabulary" else all_words.of_rows(row_ids)
        if words is not None:
            fields["words"] = hashlib.sha256(words.offsets.tobytes() + words.numbers.tobytes()).hexdigest()
        part = draft.part(
            name,
            ResultKey(draft.key.code_version, fields, {"embeddings": embedded.data_version}),
            partial(
                _filter, name, embedded, settings, spec, copies=copies, words=words, warmup=warmup, context=context
            ),
        )
        if part.cached:
            report_iterations(name, part.result, context.progress)
            _track_found(name, part.result, context.tracker)
        summary[name] = part.result.summary if own else {**part.result.summary, "representation": representation}
    return summary


def _filter(
    name: str,
    embedded: PublishedResult,
    settings: DatasetSpec,
    spec: FilterSpec,
    part: Draft,
    *,
    copies: np.ndarray | None,
    words: DistinctWords | None,
    warmup: int,
    context: StageContext,
) -> dict[str, object]:
    inputs_of = partial(FilterInputs.of, embedded, spec, warmup=warmup, copies=copies, words=words)
    given, progress = inputs_of(), context.progress
    suspects = before_quarantine(name, given, spec, part.scratch, seed=settings.seed, context=context)
    if suspects is not None:
        given = inputs_of(left_out=quarantined_ids(suspects))
    checkpoint = Checkpoint(part.scratch)
    (part.path / "scores").mkdir()
    resume = _resumed(name, checkpoint, progress)
    with context.tracker.child(name) as run:
        run.log_parameters(given.settings.as_dict())
        if resume is not None:  # the process may have been killed after the checkpoint, before the metrics
            run.log_metrics(_metrics(resume.iterations[-1]), step=resume.iterations[-1].iteration)

        def on_iteration(record: IterationRecord, state: FilterState) -> None:
            checkpoint.save(record, state, given.row_ids)
            progress.on_iteration(IterationRow.of(name, _published(record)))
            progress.log(_line(name, record))
            run.log_metrics(_metrics(record), step=record.iteration)

        chance = given.chance(settings.seed, device=context.device)
        is_learnt = given.learnt_test(chance) if spec.asks_whether_learnt else None
        result = given.run(
            settings.seed,
            device=context.device,
            resume=resume,
            is_learnt=is_learnt,
            on_iteration=on_iteration,
            keep_probabilities=suspects is None and given.suspects_labels,
            cluster=context.cluster,
            log=progress.log,
        )
        if result.probabilities is not None:
            suspects = given.suspects(result.probabilities, frozenset())
        progress.log(stop_line(name, result, given, chance=float(chance.bias.mean())))
        checkpoint.publish_scores(part.path / "scores")
        run.log_metrics({"chance_bias": float(chance.bias.mean())})
        if suspects is not None:
            pq.write_table(suspects, part.path / LABEL_ERRORS)
        warnings = _write(result, chance, given, part.path)
        summary = _summary(result, given, warnings) | {"chance_bias": float(chance.bias.mean())}
        if suspects is not None:
            summary["suspected_label_errors"] = suspects.num_rows
            summary["quarantined"] = len(quarantined_ids(suspects))
        if settings.filter_seeds > 1:
            seeds = range(settings.seed + 1, settings.seed + settings.filter_seeds)
            again = partial(_run_again, name, given, is_learnt, part.scratch, context=context)
            further = [again(seed) for seed in seeds]
            summary |= _several_runs([given.kept(result), *further], given, part.path, run)
    return summary


def _resumed(name: str, checkpoint: "Checkpoint", progress: Progress) -> FilterState | None:
    """Return the state in the checkpoint and report its iterations; return None if there is no checkpoint."""
    state = checkpoint.load()
    if state is not None:
        progress.log(f"filtering {name} resumes at iteration {state.next_iteration}")
        for record in state.iterations:
            progress.on_iteration(IterationRow.of(name, _published(record)))
    return state


def _several_runs(kept: list[np.ndarray], given: FilterInputs, folder: Path, tracked: TrackedRun) -> dict[str, object]:
    """Publish the rows that each run of the filter kept, and return the runs' similarity for the summary.

    The similarity is the Jaccard index of the kept train rows: the mean and the smallest value over all pairs of runs,
    and the value expected by chance. `kept`: for each run, a bool for each row that entered the filter.
    """
    runs = np.concatenate([np.full(int(rows.sum()), number) for number, rows in enumerate(kept)])
    columns = {"filter_run": runs}
    for name, values in (("split", given.split), ("row_id", given.row_ids)):
        columns[name] = np.concatenate([values[rows] for rows in kept])
    pq.write_table(pa.table(columns), folder / FILTER_RUNS)
    in_train = [rows[given.split == "train"] for rows in kept]
    sizes = [int(rows.sum()) for rows in in_train]
    alike = [float((first & second).sum() / (first | second).sum()) for first, second in combinations(in_train, 2)]
    chance = [expected_jaccard(len(in_train[0]), *pair) or 0.0 for pair in combinations(sizes, 2)]
    jaccard = {"mean": float(np.mean(alike)), "least": min(alike), "by_chance": float(np.mean(chance))}
    tracked.log_metrics({"kept_jaccard_mean": jaccard["mean"]})
    return {"filter_runs": len(kept), "kept_train_rows": sizes, "kept_jaccard": jaccard}


def _run_again(
    name: str, given: FilterInputs, is_learnt: IsLearnt | None, scratch: Path, seed: int, *, context: StageContext
) -> np.ndarray:
    """Run the filter with another seed; return a bool per row that entered the filter: True if the run kept the row.

    A stopped run resumes at its last checkpoint.
    """
    folder = scratch / f"seed-{seed}"
    folder.mkdir(exist_ok=True)
    checkpoint = Checkpoint(folder)
    result = given.run(
        seed,
        device=context.device,
        resume=checkpoint.load(),
        is_learnt=is_learnt,
        on_iteration=lambda record, state: checkpoint.save(record, state, given.row_ids),
        cluster=context.cluster,
        log=context.progress.log,
    )
    kept = given.kept(result)
    context.progress.log(f"filtering {name} with seed {seed}: kept {kept[given.split == 'train'].sum()} train rows")
    return kept


def _track_found(name: str, part: PublishedResult, tracker: TrackedRun) -> None:
    """Copy the curves of a reused result to the tracked run of the new result."""
    with tracker.child(name, tags={"aflite.found": "true"}) as run:
        for row in pq.read_table(part.file("iterations.parquet")).to_pylist():
            metrics = {field: float(row[field]) for field in _TRACKED if row.get(field) is not None}
            run.log_metrics(metrics, step=row["iteration"])


class Checkpoint:
    """The filter's state and the scores of its finished iterations, in the scratch folder of an unfinished result."""

    def __init__(self, folder: Path) -> None:
        self._state = folder / "state.npz"
        self._scores = folder / "scores"
        self._scores.mkdir(exist_ok=True)

    def save(self, record: IterationRecord, state: FilterState, row_ids: np.ndarray) -> None:
        """Write an iteration's scores before the state, so that the iteration is repeated if the process is killed in
        between.
        """
        entered = np.ones(len(row_ids), bool)
        entered[state.removed_rows[state.removed_in_iteration < record.iteration]] = False
        scored = entered & ~np.isnan(state.predictability)
        table = pa.table({"row_id": row_ids[scored], "predictability": state.predictability[scored]})
        pq.write_table(table, self._scores / f"{record.iteration:03d}.parquet")
        aside = self._state.with_suffix(".tmp")
        with aside.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **state.to_arrays())
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(self._state)

    def load(self) -> FilterState | None:
        """Return the state after the last finished iteration, or None if no iteration has finished.

        Raises:
            StoreError: the file is damaged.
        """
        if not self._state.is_file():
            return None
        try:
            return FilterState.from_arrays(read_arrays(self._state))
        except (ArrayFileError, InvalidInputError, TypeError, IndexError) as error:
            raise StoreError(
                f"{self._state} is not a saved state of a filter ({error}); delete this file to start the filter "
                "from the beginning"
            ) from error

    def publish_scores(self, folder: Path) -> None:
        """Add the scores of all iterations to the result.

        There is one file per iteration, with the last known score of every row that entered the iteration.
        """
        for path in sorted(self._scores.iterdir()):
            link_or_copy(path, folder / path.name)


def _line(name: str, record: IterationRecord) -> str:
    return (
        f"filtering {name}, iteration {record.iteration:03d}: {record.rows_in} rows "
        f"({record.counted_rows_in} of train), representation bias {record.representation_bias:.3f}, "
        f"removed {record.removed}"
    )


_TRACKED = (
    "rows_in",
    "train_rows_in",
    "removed",
    "train_removed",
    "scored_rows_in",
    "scored_removed",
    "representation_bias",
    "rows_never_held_out",
    "cutoff",
    *WORDS_RECORDED,
)


def _metrics(record: IterationRecord) -> dict[str, float]:
    values = _published(record)
    return {field: float(value) for field in _TRACKED if isinstance(value := values.get(field), int | float)}


def _published(record: IterationRecord) -> dict[str, object]:
    """Return the fields of an iteration's record under the names used in tables and metrics."""
    named = {
        "train_rows_in": record.counted_rows_in,
        "train_removed": record.counted_removed,
        "rows_never_held_out": record.never_held_out,
        "rows_per_class": list(record.rows_per_class),
    }
    # Durations are left out, because the same run must give the same data version.
    own = {"counted_rows_in", "counted_removed", "never_held_out", "seconds"}
    own |= set() if record.distinct_words is not None else set(WORDS_RECORDED)
    return {name: value for name, value in asdict(record).items() if name not in own} | named


def _write(result: FilterResult, chance: ChanceScores, given: FilterInputs, folder: Path) -> list[str]:
    """Publish the outcome of every embedded row, the iterations, the chance scores, and how the filter ended.

    Chance scores are scores with permuted labels. Return the warnings.
    """
    rows, entering, policies = given.rows, given.entering, given.policies

    def everywhere(values: np.ndarray | None, missing: float) -> np.ndarray:
        """Return an array of all embedded rows from an array of the rows that entered the filter."""
        found = np.full(rows.num_rows, missing, np.float32 if values is None else values.dtype)
        if values is not None:
            found[entering] = values
        return found

    def known(values: np.ndarray | None) -> pa.Array:
        scores = everywhere(values, np.nan).astype(np.float32)
        return pa.array(scores, mask=np.isnan(scores))

    removed_in = np.full(rows.num_rows, -1, np.int64)
    removed_in[entering[result.removed_rows]] = result.removed_in_iteration
    columns = [column for column in ("row_id", "split", "label", "group", "copy") if column in rows.column_names]
    table = rows.select(columns).replace_schema_metadata(None)
    added = {
        "kept": pa.array(removed_in < 0),
        "removed_in_iteration": pa.array(removed_in, mask=removed_in < 0),
        "predictability": known(result.predictability),
        "held_out_count": pa.array(everywhere(result.held_out_count, 0).astype(np.int64)),
        "label_probability": known(result.label_probability),
    }
    outside = ~np.isin(np.arange(rows.num_rows), entering)
    for name, values in (("own_words", result.own_words), ("vocabulary_share", result.vocabulary_share)):
        added |= {} if values is None else {name: pa.array(everywhere(values, 0), mask=outside)}
    if result.last_label_probability is not None:
        added["last_label_probability"] = known(result.last_label_probability)
    for name, column in added.items():
        table = table.append_column(name, column)
    pq.write_table(table, folder / "rows.parquet")
    if result.instead_labels is not None and result.instead_shares is not None:
        pq.write_table(_instead(result.instead_labels, result.instead_shares, given), folder / PREDICTED_INSTEAD)
    records = pa.Table.from_pylist([_published(record) for record in result.iterations])
    pq.write_table(records, folder / "iterations.parquet")
    filtered_splits = tuple(split for split, policy in policies.items() if policy != "kept")
    shares = kept_shares(table, splits=filtered_splits)
    warnings = [*result.warnings, *unlike_train(shares)]
    write_json(
        folder / "filter.json",
        {
            "stop_reason": result.stop_reason.name,
            "warnings": warnings,
            "settings": {**result.settings.as_dict(), "evaluation_rows": dict(policies)},
            "seed": result.seed,
            "chance": {name: _plain(each) for name, each in vars(chance).items()},
        },
    )
    return warnings


def _plain(values: object) -> object:
    """Convert a value for JSON: arrays become lists, and NaN in an array becomes None."""
    if not isinstance(values, np.ndarray):
        return values
    plain = values.astype(object)
    plain[np.isnan(values)] = None
    return plain.tolist()


def _instead(labels: np.ndarray, shares: np.ndarray, given: FilterInputs) -> pa.Table:
    """Return a table of the wrong labels that were predicted most often for each row that entered the filter.

    For each rank, the table has a column of labels and a column of shares; a share is the label's share of the row's
    held-out predictions. Missing labels are null.
    """
    columns: dict[str, pa.Array | np.ndarray] = {"row_id": given.row_ids}
    for rank in range(labels.shape[1]):
        nothing = labels[:, rank] < 0
        columns[f"label_{rank + 1}"] = pa.array(labels[:, rank], pa.int64(), mask=nothing)
        columns[f"share_{rank + 1}"] = pa.array(shares[:, rank], pa.float32(), mask=nothing)
    return pa.table(columns)


def _summary(result: FilterResult, given: FilterInputs, warnings: list[str]) -> dict[str, object]:
    rows, entering = given.rows, given.entering
    kept = np.ones(rows.num_rows, bool)
    kept[entering[result.removed_rows]] = False
    splits = rows["split"].to_numpy(zero_copy_only=False)
    names = list(dict.fromkeys(splits))
    return {
        "rows": {split: int((splits == split).sum()) for split in names},
        "kept": {split: int(kept[splits == split].sum()) for split in names},
        "iterations": len(result.iterations),
        "stop_reason": result.stop_reason.name,
        "bias_before": float(result.iterations[0].representation_bias),
        "bias_after": float(result.iterations[-1].representation_bias),
        "warnings": warnings,
        "seconds": round(sum(record.seconds for record in result.iterations), 2),
    }


NO_CAUTIONS = {"no_cautions": "The filter reported no warnings."}


def check_filters(result: PublishedResult, inputs: Mapping[str, PublishedResult], *_: object) -> Iterator[CheckOutcome]:
    """Yield one outcome per filter: whether the filter ended without warnings about its result."""
    label_names = inputs["raw_dataset"].summary["label_names"]
    for (name, asks), (subject, part) in product(NO_CAUTIONS.items(), result.parts.items()):
        cautions = " ".join(filtered_set(subject, part, label_names).warnings)
        yield CheckOutcome("filter", name, asks, not cautions, cautions, subject=subject)


FILTER_CHECKS = StageChecks(NO_CAUTIONS, check_filters, ("raw_dataset",))
_SETTINGS = StageSettings("filter filter_seeds seed")
_INPUTS = "raw_dataset warmup_split embeddings"
FILTERED_SETS = Stage("filtered_sets", "13", _SETTINGS, _INPUTS, run, checks=FILTER_CHECKS)
