"""The stage `forgettable_sets`: train rows that models forget during training, and control sets of the same size."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.weak_models import WeakModelFacts
from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import ClusterError, DataError
from aflite_assets.results import Draft, PublishedResult, ResultKey
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import NeuralModelSpec, validation_splits
from aflite_assets.specs.recipes import recipes_of
from aflite_assets.stages.evaluation.base_trainings import weights_key
from aflite_assets.stages.evaluation.cell_training import WeightsJob, predictions_table
from aflite_assets.stages.evaluation.grid import TRAINING_CODE, GridCell, cell_fields, validation_fingerprint
from aflite_assets.stages.evaluation.margins import margins_of_training, natural_sets
from aflite_assets.stages.shared.published import ROW_SETS_FILE, RowSet, examples_of, full_rows, read_selection
from aflite_assets.stages.shared.train_sets import TrainSet
from aflite_assets.stages.shared.training_workers import (
    FAILURES,
    ClusterWorkers,
    LocalWorkers,
    log_training,
    open_workers,
)
from aflite_assets.stages.stage import Stage, StageContext, StageInputs, StageSettings
from aflite_assets.studies.forgettables.diagnostics.minorities import attribute_shares, group_means, measure_rows
from aflite_assets.studies.forgettables.specs.fine_tuning import set_name
from aflite_assets.studies.forgettables.specs.settings import ForgettablesSettings, ForgettablesSpec, MinoritiesSpec
from aflite_assets.studies.forgettables.stages.weak_model_findings import WEAK_MODEL_CHECKS

if TYPE_CHECKING:
    from aflite_assets.models.training.forgetting import Forgetting

FORGETTABLE_ROWS = "rows.parquet"
"""Table of the rows that each weak model forgot, with one line per model, seed and row; missing if none was trained."""

MINORITIES = "minorities.parquet"
"""Table of word overlap, negations and attributes, for all rows and for every forgettable set."""

_MINORITIES = pa.schema(
    [
        ("weak_model", pa.string()),
        ("name", pa.string()),
        ("seed", pa.int64()),
        ("measure", pa.string()),
        ("group", pa.string()),
        ("rows", pa.int64()),
        ("mean", pa.float64()),
        ("deviation", pa.float64()),
    ]
)

_BALANCE, _RANDOM, _AS_MANY = 11, 12, 13
"""Numbers that are combined with the seed to give independent streams of random numbers."""


@dataclass(frozen=True)
class WeakTraining:
    """A training run in which forgotten rows are counted; `evaluator` is None if a separate weak model is trained."""

    name: str
    evaluator: str | None
    settings: NeuralModelSpec
    seed: int

    @property
    def part(self) -> str:
        """Name of the training's stored result and of its nested run."""
        return f"weights:{self.evaluator}.full.{self.seed}" if self.evaluator else f"{self.name}.{self.seed}"


def run(spec: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Train weak models on `full`, count the rows that they forget, and draw sets; a failed model has no sets.

    If the dataset's YAML file has no `forgettables`, nothing is trained and no file is written.
    """
    settings = ForgettablesSettings.of(spec)
    if not settings.forgettables:
        return {"nothing_asked": True}
    raw = load_examples(inputs.raw_dataset.path)
    selection = read_selection(inputs.selection)
    full = full_rows(
        raw, inputs.warmup_split, include_warmup=settings.full_includes_warmup, selection=selection
    ).in_split("train")
    with open_workers(context.cluster, context.device, log=context.progress.log) as workers:
        trainings = _Trainings(settings, inputs, draft, context, raw, full, workers)
        trainings.train()
    rows: list[pa.Table] = []
    sets: list[RowSet] = []
    firsts: dict[str, CountedRows] = {}
    failed: dict[str, str] = {}
    summary: dict[str, object] = {}
    for name, entry in settings.forgettables.items():
        try:
            counted = trainings.counted(name, entry)
        except FAILURES as error:
            failed[name] = f"{type(error).__name__}: {error}"
            context.progress.log(f"forgettable rows of {name} failed: {failed[name]}")
            continue
        first = firsts[name] = counted[0]
        rows += [each.table() for each in counted]
        sets += _sets(first, entry, full, seed=settings.seed, seeds=settings.seeds)
        summary[name] = asdict(_facts(first, full, trainings.margins(first.training)))
        context.progress.log(
            f"{name}: {len(first.taken)} of {len(full)} rows selected ({int(first.forgetting.forgettable.sum())} are "
            f"forgettable, {int(first.forgetting.never_learnt.sum())} of them were never learnt)"
        )
    sets += _cut_sets(settings, firsts, full)
    if rows:
        pq.write_table(pa.concat_tables(rows), draft.path / FORGETTABLE_ROWS)
        pq.write_table(pa.concat_tables(map(_set_table, sets)), draft.path / ROW_SETS_FILE)
        pq.write_table(minorities_table(full, sets, settings.minorities), draft.path / MINORITIES)
    return {"models": summary, "failed": failed, "incomplete": bool(failed)}


@dataclass(frozen=True)
class CountedRows:
    """Counts of how often a model forgot each row during one training run.

    Arrays (rows,) have one entry per row of the training. `row_ids`, `labels`: int64. `last`, `mean`, `deviation`: the
    probability of each row's label in the last epoch, and its mean and standard deviation over the epochs (float32).
    `taken`: ids of the selected forgettable rows, int64, ascending. `metrics`: metrics of the training run.
    """

    training: WeakTraining
    row_ids: np.ndarray
    labels: np.ndarray
    forgetting: "Forgetting"
    last: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    taken: np.ndarray
    epochs: int
    metrics: Mapping[str, float]

    def table(self) -> pa.Table:
        """Return a table with one line per row, and columns for the weak model's name and seed."""
        counts, rows = self.forgetting, len(self.row_ids)
        return pa.table(
            {
                "weak_model": [self.training.name] * rows,
                "seed": np.full(rows, self.training.seed, np.int64),
                "row_id": self.row_ids,
                "label": self.labels,
                "presentations": np.full(rows, self.epochs, np.int64),
                "right": counts.right,
                "forgetting_events": counts.events,
                "never_learnt": counts.never_learnt,
                "first_learnt": pa.array(counts.first_learnt, mask=counts.first_learnt < 0),
                "last_label_probability": self.last,
                "mean_label_probability": self.mean,
                "label_probability_deviation": self.deviation,
                "forgettable": counts.forgettable,
                "taken": np.isin(self.row_ids, self.taken),
            }
        )


@dataclass(frozen=True)
class _Trainings:
    """Training runs of weak models, and counts of the rows that the models forget; stored results are reused."""

    settings: ForgettablesSettings
    inputs: StageInputs
    draft: Draft
    context: StageContext
    raw: Examples
    full: Examples
    workers: LocalWorkers | ClusterWorkers
    failures: dict[str, Exception] = field(default_factory=dict)

    def train(self) -> None:
        """Train the models that have no stored result; `counted` later raises the errors of failed trainings."""
        listed = [training for name, entry in self.settings.forgettables.items() for training in self._all(name, entry)]
        once = {training.part: training for training in listed}  # several entries may name one evaluator
        self.workers.map(self._train, once.values())

    def _all(self, name: str, entry: ForgettablesSpec) -> list[WeakTraining]:
        model = entry.settings(self.settings.evaluators)
        seeds = entry.training_seeds(seed=self.settings.seed, seeds=self.settings.seeds)
        return [WeakTraining(name, entry.evaluator, model, seed) for seed in seeds]

    def _train(self, training: WeakTraining) -> None:
        key = self._key(training)
        if self.draft.add_published_part(training.part, key) is not None:
            return
        self.context.progress.log(f"training {training.part}")
        try:
            self.draft.part(training.part, key, lambda draft: self._tracked(training, draft))
        except ClusterError:  # the cluster failed, so the other trainings would fail too
            raise
        except FAILURES as error:
            self.failures[training.part] = error

    def counted(self, name: str, entry: ForgettablesSpec) -> list[CountedRows]:
        """Return the counts of a model's training runs, one per seed; sets are drawn from the first training run."""
        return [self._counted(training, entry.balance) for training in self._all(name, entry)]

    def _counted(self, training: WeakTraining, balance: bool) -> CountedRows:
        if training.part in self.failures:
            raise self.failures[training.part]
        part = self.draft.parts[training.part]
        return count_rows(training, part, self.full, balance=balance, seed=self.settings.seed)

    def margins(self, training: WeakTraining) -> dict[str, dict[str, float]]:
        """Return a training run's margin over always predicting the largest class, by split; return {} for evaluators.

        In this stage, training runs of evaluators store no predictions, so they have no margins.
        """
        if training.evaluator is not None:
            return {}
        predictions = pq.read_table(self.draft.parts[training.part].file("predictions.parquet"))
        asked = set(predictions["test_set"].unique().to_pylist())
        splits = set(self.raw.table["split"].unique().to_pylist())
        return margins_of_training(training.name, predictions, natural_sets(self.raw, left_out=splits - asked))

    def _key(self, training: WeakTraining) -> ResultKey:
        """Return the key of the training's result; for an evaluator, the key is the same as in `evaluator_models`."""
        cell = GridCell(training.evaluator or training.name, TrainSet("full", None, self.full.row_ids), training.seed)
        fields = cell_fields(training.settings, cell, validation_fingerprint(training.settings, self.raw))
        raw_version = self.inputs.raw_dataset.data_version
        if training.evaluator is not None:
            return weights_key(fields, raw_version)
        return ResultKey(TRAINING_CODE, {**fields, "kept": "dynamics"}, {"raw_dataset": raw_version})

    def _tracked(self, training: WeakTraining, part: Draft) -> Mapping[str, float]:
        with self.context.tracker.child(training.part) as run:
            run.log_parameters({"model": training.settings.model_dump(mode="json"), "seed": training.seed})
            job = (WeightsJob if training.evaluator else WeakJob)(
                settings=training.settings,
                train_rows=self.full.row_ids,
                seed=training.seed,
                device=self.context.device,
                raw=self.inputs.raw_dataset,
                target=part.path,
                scratch=part.scratch,
            )
            metrics = self.workers.train(job, self.context.progress.log)
            log_training(run, metrics, part.scratch)
        return metrics


@dataclass(frozen=True, kw_only=True)
class WeakJob(WeightsJob):
    """A weak model's training that stores its dynamics and its predictions for all splits, but not its weights."""

    def run(self, log: Callable[[str], None]) -> dict[str, float]:
        """Write `dynamics.parquet` and `predictions.parquet` to `target`, and return metrics and accuracies.

        Raises:
            AfliteError: any error of the model.
        """
        from aflite_assets.models.evaluators import evaluate

        raw = examples_of(self.raw)
        stopping = validation_splits({"weak": self.settings})
        splits = [split for split in dict.fromkeys(raw.table["split"].to_pylist()) if split != "train"]
        tests = {split: raw.in_split(split) for split in splits if split not in stopping}
        done = evaluate(
            self.settings,
            raw.select(self.train_rows),
            tests,
            seed=self.seed,
            device=self.device,
            scratch=self.scratch,
            log=log,
            validation=next((raw.in_split(split) for split in stopping), None),
        )
        pq.write_table(done.dynamics, self.target / "dynamics.parquet")
        pq.write_table(predictions_table(done.predictions, tests), self.target / "predictions.parquet")
        accuracies = {
            f"accuracy.{name}": float((done.predictions[name].predicted == test.labels).mean())
            for name, test in tests.items()
            if len(test)
        }
        return {**done.metrics, **accuracies}


def count_rows(
    training: WeakTraining, part: PublishedResult, full: Examples, *, balance: bool, seed: int
) -> CountedRows:
    """Count how often the model of a published training forgot each row; rows held back for early stopping are not
    included.
    """
    from aflite_assets.models.training.forgetting import epochs_by_rows, forgetting

    dynamics = pq.read_table(part.file("dynamics.parquet"))
    epochs = int(dynamics["epoch"][-1].as_py()) + 1
    row_ids = epochs_by_rows(dynamics["row_id"], epochs)[0]
    probabilities = epochs_by_rows(dynamics["label_probability"], epochs)
    counts = forgetting(epochs_by_rows(dynamics["correct"], epochs))
    labels = full.labels[np.searchsorted(full.row_ids, row_ids)]
    return CountedRows(
        training,
        row_ids,
        labels,
        counts,
        probabilities[-1],
        probabilities.mean(axis=0),
        probabilities.std(axis=0),
        _taken(row_ids[counts.forgettable], labels[counts.forgettable], np.unique(full.labels), balance, seed),
        epochs,
        part.summary,
    )


def _taken(row_ids: np.ndarray, labels: np.ndarray, classes: np.ndarray, balance: bool, seed: int) -> np.ndarray:
    """Return all row ids; with `balance`, draw from each class as many rows as the smallest class has."""
    if not balance:
        return np.sort(row_ids)
    smallest = min(int((labels == label).sum()) for label in classes)
    return _drawn(row_ids, labels, dict.fromkeys(classes.tolist(), smallest), [seed, _BALANCE])


def _drawn(row_ids: np.ndarray, labels: np.ndarray, sizes: Mapping[int, int], seed: Sequence[int]) -> np.ndarray:
    """Draw `sizes[label]` random rows of each class; return their ids in ascending order."""
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(row_ids[labels == label], size, replace=False) for label, size in sizes.items()]
    return np.sort(np.concatenate(drawn))


def random_rows(taken: np.ndarray, entry: ForgettablesSpec, full: Examples, seed: Sequence[int]) -> np.ndarray:
    """Draw `len(taken)` random rows of `full`; if `entry` requests it, draw the class sizes of `taken`."""
    if not (entry.balance and entry.random_rows == "by_class"):
        return np.sort(np.random.default_rng(seed).choice(full.row_ids, len(taken), replace=False))
    sizes = Counter(full.labels[np.isin(full.row_ids, taken)].tolist())
    return _drawn(full.row_ids, full.labels, sizes, seed) if sizes else taken


def _sets(
    counted: CountedRows, entry: ForgettablesSpec, full: Examples, *, seed: int, seeds: Sequence[int]
) -> list[RowSet]:
    """Return one weak model's sets: forgettable rows, random rows per seed, never learnt rows, highest-loss rows."""
    name, sizes = counted.training.name, Counter(full.labels[np.isin(full.row_ids, counted.taken)].tolist())
    sets = [RowSet(name, "forgettable", None, counted.taken)]
    for each in seeds:
        sets.append(RowSet(name, "random", each, random_rows(counted.taken, entry, full, [seed, _RANDOM, each])))
    classes, never = np.unique(full.labels), counted.forgetting.never_learnt
    never_learnt = _taken(counted.row_ids[never], counted.labels[never], classes, entry.balance, seed)
    sets.append(RowSet(name, "never_learnt", None, never_learnt))
    sets.append(RowSet(name, "highest_loss", None, _highest_loss(counted, sizes, balance=entry.balance)))
    for share in entry.highest_loss:
        places = np.argsort(counted.last, kind="stable")[: round(share * len(counted.last))]
        highest = _taken(counted.row_ids[places], counted.labels[places], classes, entry.balance, seed)
        sets.append(RowSet(name, set_name("highest_loss", share), None, highest))
    return sets


def _cut_sets(settings: ForgettablesSettings, counted: Mapping[str, CountedRows], full: Examples) -> list[RowSet]:
    """Reduce sets that recipes request to the size of another weak model's set, per seed (EACL 2021, footnote 2)."""
    chosen = {rows for recipe in recipes_of(settings.evaluators).values() for rows in recipe.drawn}
    sets = []
    for one in sorted(chosen, key=lambda rows: (rows.weak_model, rows.set_name)):
        if one.as_many_as is not None and {one.weak_model, one.as_many_as} <= counted.keys():
            own, other = (counted[name].taken for name in (one.weak_model, one.as_many_as))
            for seed in settings.seeds:
                drawn = cut_rows(own, other, full, [settings.seed, _AS_MANY, seed])
                sets.append(RowSet(one.weak_model, one.set_name, seed, drawn))
    return sets


def cut_rows(taken: np.ndarray, sizes_of: np.ndarray, full: Examples, seed: Sequence[int]) -> np.ndarray:
    """Draw a sample of `taken` with at most the class sizes of `sizes_of`; return ids (int64, ascending)."""
    own, other = (full.labels[np.isin(full.row_ids, ids)] for ids in (taken, sizes_of))
    sizes = {label: min(rows, Counter(other.tolist())[label]) for label, rows in Counter(own.tolist()).items()}
    return _drawn(taken, own, sizes, seed) if sizes else taken


def _highest_loss(counted: CountedRows, sizes: Mapping[int, int], *, balance: bool) -> np.ndarray:
    """Return, in ascending order, the ids of rows whose label had the lowest probability in the last epoch.

    There are as many ids as in `counted.taken`. If `balance` is True, the class sizes are also those of
    `counted.taken`.
    """
    order = np.argsort(counted.last, kind="stable")
    if not balance:
        return np.sort(counted.row_ids[order[: len(counted.taken)]])
    places = [order[counted.labels[order] == label][:size] for label, size in sizes.items()]
    return np.sort(counted.row_ids[np.concatenate([np.empty(0, np.int64), *places])])


def _set_table(made: RowSet) -> pa.Table:
    rows = len(made.row_ids)
    return pa.table(
        {
            "weak_model": pa.array([made.weak_model] * rows, pa.string()),
            "name": pa.array([made.name] * rows, pa.string()),
            "seed": pa.array([made.seed] * rows, pa.int64()),
            "row_id": made.row_ids.astype(np.int64),
        }
    )


def minorities_table(full: Examples, sets: Sequence[RowSet], settings: MinoritiesSpec | None) -> pa.Table:
    """Return, for all rows of `full` and for each set, means that show whether the rows include many minority examples.

    In the lines for all rows, `weak_model` and `name` are null. Word overlap and negations are included only if
    `settings` name the classes to compare.

    Raises:
        DataError: `settings` name a class that the dataset does not have.
    """
    if settings is not None:
        measures = measure_rows(full, negation=settings.words)
        positive, negative = (_class_number(full, settings, field) for field in ("positive", "negative"))
    lines = []
    for each in (None, *sets):
        chosen = np.ones(len(full), dtype=bool) if each is None else np.isin(full.row_ids, each.row_ids)
        means = attribute_shares(full, chosen)
        if settings is not None:
            means = [*group_means(measures, full.labels, chosen, positive=positive, negative=negative), *means]
        key = {} if each is None else {"weak_model": each.weak_model, "name": each.name, "seed": each.seed}
        lines += [{**key, **asdict(mean)} for mean in means]
    return pa.Table.from_pylist(lines, schema=_MINORITIES)


def _class_number(full: Examples, settings: MinoritiesSpec, field: str) -> int:
    named = str(getattr(settings, field))
    if named not in full.label_names:
        raise DataError(
            f"`minorities.{field}` is {named!r}, which is not a class of the dataset; name one of "
            f"{list(full.label_names)}"
        )
    return full.label_names.index(named)


def _facts(counted: CountedRows, full: Examples, margins: Mapping[str, Mapping[str, float]]) -> WeakModelFacts:
    counts, taken = counted.forgetting, np.isin(counted.row_ids, counted.taken)
    by_class = {
        name: {
            "rows": int(inside.sum()),
            "forgettable": int(counts.forgettable[inside].sum()),
            "taken": int(taken[inside].sum()),
        }
        for label, name in enumerate(full.label_names)
        if (inside := counted.labels == label).any()
    }
    tested = {name.removeprefix("accuracy."): value for name, value in counted.metrics.items() if "accuracy." in name}
    return WeakModelFacts(
        rows=len(counted.row_ids),
        forgettable=int(counts.forgettable.sum()),
        taken=len(counted.taken),
        never_learnt=int(counts.never_learnt.sum()),
        events=counts.histogram(),
        by_class=by_class,
        largest_class=max(Counter(counted.labels.tolist()).values()) / len(counted.labels),
        train_accuracy=counted.metrics["train_accuracy"],
        accuracy=tested,
        margins=margins,
    )


_SETTINGS = StageSettings(
    "forgettables minorities evaluators seed seeds full_includes_warmup",
    is_disabled=lambda spec: not ForgettablesSettings.of(spec).forgettables,
)
_INPUTS = "raw_dataset selection warmup_split"
FORGETTABLE_SETS = Stage("forgettable_sets", "1", _SETTINGS, _INPUTS, run, checks=WEAK_MODEL_CHECKS)
