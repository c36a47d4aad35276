"""Input records of an analysis: trainings, test and filtered sets, and all that one report shows; no statistics."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.algorithm import ChanceScores
from aflite_assets.analysis.inputs.cues import ClassBlocks, Cue, PlantedRemoval
from aflite_assets.analysis.inputs.forgettables import Agreement, LearntRows, SecondPhase, Threshold, WeakModelFacts
from aflite_assets.analysis.inputs.learning_curve import LearningCurve, SampleCurve
from aflite_assets.analysis.inputs.source_rows import NO_SOURCE, SourceRows
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.analysis.train_sets import control_of, in_order
from aflite_assets.checks import CheckOutcome
from aflite_assets.data.examples import Examples
from aflite_assets.scan.cues import ScanFacts
from aflite_assets.specs.dataset import Collected

Collapse = Literal["label", "probability"]
Unit = Literal["row", "question"]

DATA_MAP_COLUMNS = ("guid", "index", "confidence", "variability", "correctness", "row_id", "kept")
"""The first five as in the tables that Swayamdipta et al. 2020 write."""


@dataclass(frozen=True)
class Training:
    """One evaluator trained on one train set with one seed; `reason`: why it is not done, if that is known.

    `representation` names the filtering that the train set belongs to; None for `full` and forgettable rows.
    """

    evaluator: str
    train_set: str
    representation: str | None
    seed: int
    train_rows: int
    status: Literal["done", "failed", "not run"]
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class Cell(Training):
    """A training and what it predicted; two cells of the same training are equal.

    `predictions` (of a done cell) has `test_set` string, `row_id` int64 and `predicted` int64, a class number of the
    dataset; for test sets with `adds_probabilities` and top-k accuracy also `probabilities`, list<float32> over the
    dataset's classes, null if the evaluator gives none, or `gold_rank` in their place (`accuracy.with_ranks`). Of
    questions it has a row each (`questions.question_predictions`).
    """

    predictions: pa.Table | None = None

    @cached_property
    def correct(self) -> dict[object, Any]:
        """Results of `accuracy.correct_rows` so far, by test set."""
        return {}


@dataclass(frozen=True)
class FineTuned:
    """An evaluator trained as `start` is and then on rows of the challenge sets `sets` in turn."""

    start: str
    sets: tuple[str, ...]

    @property
    def meaning(self) -> str:
        """The evaluator in words."""
        return f"{self.start}, trained on the train set first and then fine-tuned on {', then '.join(self.sets)}"


@dataclass(frozen=True, eq=False)
class TestSet:
    """Rows that evaluators are tested on: a split of the dataset (natural) or a challenge set.

    `row_ids`, `labels`: int64, one per row; labels number the set's own `label_names`.
    `kept[representation]`: bool mask of the rows of a natural set that survived filtering; `own_kept[representation,
    train set]`: of those left by the rule that made another train set (a single pass, an earlier size).
    `categories[column]`: a text per row (None or empty for none) that splits a challenge set.
    `class_map[c]`: int64, the set's class for the dataset's class `c`, -1 for none; None if both have the same classes.
    `collapse`: what is mapped. "label": the predicted class, which is wrong if it counts as none. "probability": the
    probabilities, added up over the classes that count as one; the largest sum is the prediction.
    `notes`: caveats to read beside the numbers. `groups`: int64, one per row; rows of the same number belong together
    (one premise, one template); None if every row is its own group. `pooled`: whether the rows entered the filter's
    pool with the train rows, so that a difference on them is no evidence of help or harm.
    `unit`: what is right or wrong and what intervals count. A question of multiple choice is given as the row of its
    right answer (`questions.question_set`), and `chance` in [0, 1] is then the mean accuracy of guessing, else None.
    `collected`: how a challenge set's rows came about, as the dataset's file declares; None if it does not.
    `questions`: int64, one per row, if rows are answers of questions and a group holds several questions; else None.
    """

    __test__ = False  # the name starts with "Test", which pytest would collect

    name: str
    challenge: bool
    row_ids: np.ndarray
    labels: np.ndarray
    label_names: tuple[str, ...]
    kept: Mapping[str, np.ndarray]
    categories: Mapping[str, np.ndarray] = field(default_factory=dict)
    class_map: np.ndarray | None = None
    collapse: Collapse = "label"
    notes: tuple[str, ...] = ()
    groups: np.ndarray | None = None
    pooled: bool = False
    own_kept: Mapping[tuple[str, str], np.ndarray] = field(default_factory=dict)
    unit: Unit = "row"
    chance: float | None = None
    collected: Collected | None = None
    questions: np.ndarray | None = None

    @property
    def question_codes(self) -> np.ndarray | None:
        """Number of the question that each row answers, int64: that of its group if `questions` is None."""
        return self.groups if self.questions is None else self.questions

    @property
    def adds_probabilities(self) -> bool:
        """Whether predictions come from probabilities because classes of the dataset are merged or count as none."""
        if self.class_map is None or self.collapse == "label":
            return False
        return bool((self.class_map < 0).any()) or len(np.unique(self.class_map)) < len(self.class_map)


@dataclass(frozen=True, eq=False)
class FilteredSet:
    """The outcome of filtering with one representation.

    `iterations`: iteration int64; rows_in the pool, of which train_rows_in; scored_rows_in; removed, train_removed,
    scored_removed; cutoff (nullable); representation_bias in [0, 1]; rows_never_held_out.
    `rows`, every row of the pool and of the scored splits: row_id, split, label, kept, removed_in_iteration (nullable),
    predictability and label_probability (in [0, 1], nullable). `runs`: how often the filter ran, each with its own
    draws; `kept_jaccard`: how similar the train rows are that several runs kept (mean and least over pairs, by_chance,
    in [0, 1]). `chance`: scores with permuted labels; `first_scores`: row_id and predictability in the first iteration.
    """

    representation: str
    iterations: pa.Table
    stop_reason: str
    warnings: tuple[str, ...]
    rows: pa.Table
    settings: Mapping[str, object]
    runs: int = 1
    kept_jaccard: Mapping[str, float] | None = None
    chance: ChanceScores | None = None
    first_scores: pa.Table | None = None

    @property
    def train(self) -> pa.Table:
        """The `rows` of train."""
        return self.rows.filter(pc.field("split") == "train")

    def policy(self, split: str) -> str:
        """Return what the filter did with the rows of a split other than train: pooled, scored or kept."""
        policies = self.settings.get("evaluation_rows")
        return policies.get(split, "kept") if isinstance(policies, Mapping) else "kept"

    @property
    def filtered_splits(self) -> tuple[str, ...]:
        """The splits other than train whose rows were pooled or scored."""
        splits = self.rows["split"].unique().to_pylist()
        return tuple(split for split in splits if split != "train" and self.policy(split) != "kept")

    @property
    def entered(self) -> np.ndarray:
        """Mask of the `rows` of train and of `filtered_splits`, bool."""
        return self._in_train_or(self.filtered_splits)

    @property
    def pool(self) -> np.ndarray:
        """Mask of the `rows` that were filtered as train rows are: those, and rows of pooled splits; bool."""
        return self._in_train_or([split for split in self.filtered_splits if self.policy(split) == "pooled"])

    def _in_train_or(self, splits: Sequence[str]) -> np.ndarray:
        return np.isin(self.rows["split"].to_numpy(zero_copy_only=False), ["train", *splits])


@dataclass(frozen=True)
class ScoreBin:
    """Train rows that entered an iteration with a predictability from `low` up to `high`, and those it removed."""

    representation: str
    iteration: int
    low: float
    high: float
    rows: int
    removed: int


@dataclass(frozen=True, eq=False)
class EvidenceTable:
    """A table of statistics to show as it is, with a caption of one or two sentences."""

    title: str
    caption: str
    table: pa.Table


@dataclass(frozen=True, eq=False)
class DataMap:
    """The data map of an evaluator trained on all train rows, with the rows that one representation's filter kept.

    `table` has `DATA_MAP_COLUMNS`: guid is the source's id, index the row's place in the table, `kept` null for rows
    that never entered the filter. `seeds`: trainings averaged over, `epochs` of each; 0 if it is `given` with the data.
    """

    evaluator: str
    representation: str
    seeds: int
    epochs: int
    table: pa.Table
    given: bool = False


@dataclass(frozen=True)
class RankingOverlap:
    """How similar the train rows are that two rankings kept; `representation` and `against` name the two filterings.

    `train_set`: filtered or filtered_<name>. Of the `rows` train rows that both filtered, `first_rows` and
    `second_rows` are left by each and `shared` by both. `jaccard` in [0, 1]: `shared` over the rows that either left;
    `jaccard_by_chance`: its mean over two random sets of these sizes. Both are None if neither left a row.
    """

    representation: str
    against: str
    train_set: str
    rows: int
    first_rows: int
    second_rows: int
    shared: int
    jaccard: float | None
    jaccard_by_chance: float | None


RANKING_OVERLAP = TidyTable("ranking_overlap", RankingOverlap)


@dataclass(frozen=True)
class RankingPair:
    """A filtered set and one of the same representation with another ranking, by their names; `rankings` of both."""

    representation: str
    against: str
    rankings: tuple[str, str]
    overlaps: tuple[RankingOverlap, ...]


LeaningSet = Literal["tied", "independent"]
"""Random rows, which keep the tie, or as many of each class in which the property goes with no class."""

DRAWN = pa.schema([("candidate", pa.int64()), ("name", pa.string()), ("training", pa.int64()), ("row_id", pa.int64())])
POINTED = pa.schema(
    [("candidate", pa.int64()), ("test_set", pa.string()), ("row_id", pa.int64()), ("points_to", pa.int64())]
)


@dataclass(frozen=True)
class Candidate:
    """A property that goes with the label on train rows.

    `kind`, `name` and `word` name it. `reason`: why it is no part of the task, if that is known: declared in the file,
    or an artefact by nature. `values` are those that point to a class, `points_to` these classes and `rows` the train
    rows with each. `overlap`, in [0, 1]: the share of the train rows that can be kept so that it goes with no class.
    """

    candidate: int
    kind: str
    name: str
    word: str
    reason: Literal["declared", "artefact"] | None
    values: tuple[str, ...]
    points_to: tuple[str, ...]
    rows: tuple[int, ...]
    p_value: float
    overlap: float


CANDIDATES = TidyTable("candidates", Candidate)


@dataclass(frozen=True, eq=False)
class LeaningInputs:
    """Record of what is known of a candidate.

    `pointed`: per test set the class, of the dataset's, that each row's value points to (int64, -1 for none), in the
    order of the set; sets that lack the property are left out. `predicted`: by train set and test set the predictions
    of each training of `evaluator`, int64, of finished trainings. `too_few_rows`: whether no train sets were drawn.
    """

    of: Candidate
    evaluator: str
    pointed: Mapping[str, np.ndarray]
    predicted: Mapping[tuple[LeaningSet, str], Sequence[np.ndarray]]
    too_few_rows: bool = False

    @property
    def trained(self) -> bool:
        """Whether both train sets have two trainings or more."""
        sets = ([each for (own, _), each in self.predicted.items() if own == name] for name in get_args(LeaningSet))
        return all(each and min(map(len, each)) >= 2 for each in sets)


@dataclass(frozen=True, eq=False)
class Forgettables:
    """Everything about forgettable rows that one report shows.

    `models` by name, `failed` by name with the reason. `minorities`: weak_model and name (null of all rows), seed,
    measure, group, rows, mean, deviation. `phases` by evaluator. `cells` that are in no other table: those of phases
    and of what they start from on full, and of train sets of forgettable rows alone. `overlap`: by natural test set the
    Jaccard index of both texts' words of each row, float64 in [0, 1]; `positive`: the class number that goes with it.
    `thresholds`: for phases and what they start from. `learnt`: row by row, for every training of a weak model.
    """

    models: Mapping[str, WeakModelFacts]
    failed: Mapping[str, str]
    agreement: tuple[Agreement, ...]
    minorities: pa.Table
    phases: Mapping[str, SecondPhase]
    cells: tuple[Cell, ...]
    overlap: Mapping[str, np.ndarray] = field(default_factory=dict)
    positive: int | None = None
    thresholds: tuple[Threshold, ...] = ()
    learnt: tuple[LearntRows, ...] = ()

    @property
    def starts(self) -> tuple[str, ...]:
        """The evaluators that phases go on from, each once."""
        return tuple(dict.fromkeys(phase.start for phase in self.phases.values()))

    def control_of(self, evaluator: str) -> str | None:
        """Return the evaluator that went on with as many random rows in place of this one's, or None."""
        phase = self.phases[evaluator]
        return None if phase.set_name == "random" else self._phase_on(phase, "random")

    def rival_of(self, evaluator: str) -> str | None:
        """Return the evaluator that went on with the rows to whose number this one's were cut, or None."""
        phase = self.phases[evaluator]
        return None if phase.as_many_as is None else self._phase_on(phase, "forgettable")

    def _phase_on(self, phase: SecondPhase, set_name: str) -> str | None:
        """Return the evaluator with the same start and the named rows of the weak model that gives `phase` its size."""
        wanted = (phase.start, phase.sized_by, set_name)
        found = (name for name, one in self.phases.items() if (one.start, one.weak_model, one.set_name) == wanted)
        return next(found, None)

    def cells_of(self, evaluator: str, train_set: str = "full") -> list[Cell]:
        """Over the seeds."""
        return [cell for cell in self.cells if (cell.evaluator, cell.train_set) == (evaluator, train_set)]


NO_FORGETTABLES = Forgettables({}, {}, (), pa.table({}), {}, ())
"""The forgettable rows of a report whose file names no weak model."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DatasetRecord:
    """Record of what is known of a dataset and its models before any number, and stated as it is.

    `split_rows` as loaded, `warmup_rows` that the encoders took of train, `notes` to read first, `settings_done`
    (changes that settings made to the source's rows), `published` (name of the papers' figures in `published_tables`),
    `provenance` (versions and seeds as text), `missing_sets` (challenge sets that could not be had, with the reason).
    No difference under `smallest_effect` points is called one.

    `families` and `architectures` give "evaluators.<name>" and "representations.<name>" the same text for models of one
    make or architecture; `held_back` is the share of train rows, in (0, 1), that an evaluator stops by; `fine_tuned`
    evaluators went on with challenge sets, `partial_inputs` see a part of the input only. `rankings`: by
    representation filtered sets that differ in their ranking alone.
    """

    name: str
    title: str
    description: str
    label_names: tuple[str, ...]
    split_rows: Mapping[str, int]
    warmup_rows: int
    notes: tuple[str, ...]
    settings_done: tuple[str, ...] = ()
    provenance: Mapping[str, str]
    missing_sets: Mapping[str, str] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)
    architectures: Mapping[str, str] = field(default_factory=dict)
    held_back: Mapping[str, float] = field(default_factory=dict)
    published: str | None = None
    fine_tuned: Mapping[str, FineTuned] = field(default_factory=dict)
    partial_inputs: tuple[str, ...] = ()
    smallest_effect: float = 1.0
    rankings: Mapping[str, RankingPair] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class BenchmarkData(DatasetRecord):
    """Everything that one report shows.

    `source`: places of rows in the user's files. `checks` of data, filter and models. `warmup_curves` are empty if a
    size was given; `sample_curve` is None if all train rows are filtered. `primary` names the evaluator and test set
    whose comparison sentences state first (None: the surest one). `leanings`: properties on which models may lean.
    `scan`: cues that tell the label by themselves (None: not scanned).

    Of filterings: `score_bins` count rows by predictability in every iteration. By representation: `similarities` of
    rows, `cues` of the removed rows, `row_facts` of single rows (`rows.table.ROW_FACTS`). `filter_runs`: the run of the
    filter that each seed's `filtered` is of, empty if there is one. `row_information`: PVI (`rows.table.INFORMATION`).
    """

    filtered: tuple[FilteredSet, ...]
    cells: tuple[Cell, ...]
    test_sets: tuple[TestSet, ...]
    examples: Examples
    evidence: tuple[EvidenceTable, ...]
    similarities: Mapping[str, tuple[ClassBlocks, ...]] = field(default_factory=dict)
    score_bins: tuple[ScoreBin, ...] = ()
    warmup_curves: tuple[LearningCurve, ...] = ()
    sample_curve: SampleCurve | None = None
    primary: tuple[str, str] | None = None
    filter_runs: Mapping[int, int] = field(default_factory=dict)
    planted: tuple[PlantedRemoval, ...] = ()
    cues: Mapping[str, tuple[Cue, ...]] = field(default_factory=dict)
    row_facts: Mapping[str, pa.Table] = field(default_factory=dict)
    checks: tuple[CheckOutcome, ...] = ()
    data_maps: tuple[DataMap, ...] = ()
    row_information: pa.Table | None = None
    source: SourceRows = NO_SOURCE
    forgettables: Forgettables = NO_FORGETTABLES
    leanings: tuple[LeaningInputs, ...] = ()
    scan: ScanFacts | None = None

    @property
    def representations(self) -> tuple[str, ...]:
        """Names of the representations filtered with, in the order given."""
        return tuple(filtered.representation for filtered in self.filtered)

    @property
    def evaluators(self) -> tuple[str, ...]:
        """Names of the evaluators, in the order of their first cell."""
        return tuple(dict.fromkeys(cell.evaluator for cell in self.cells))

    @property
    def plain_evaluators(self) -> tuple[str, ...]:
        """Those that were trained on a train set and nothing else."""
        return tuple(name for name in self.evaluators if name not in self.fine_tuned)

    @property
    def judging_evaluators(self) -> tuple[str, ...]:
        """The plain ones that see whole inputs; all plain ones if none does."""
        whole = tuple(name for name in self.plain_evaluators if name not in self.partial_inputs)
        return whole or self.plain_evaluators

    def cells_of(self, evaluator: str, train_set: str, representation: str | None) -> list[Cell]:
        """Return the cells of one evaluator and train set, that of a filtering or full, over the seeds."""
        cells = (cell for cell in self.cells if (cell.evaluator, cell.train_set) == (evaluator, train_set))
        return [cell for cell in cells if cell.representation in (None, representation)]

    def train_sets_of(self, representation: str) -> tuple[str, ...]:
        """Return the train sets that tables of one filtering show, in their order."""
        own = (cell.train_set for cell in self.cells if cell.representation in (None, representation))
        return in_order(["full", "random", "filtered", *own])

    def cell_groups(self, representation: str) -> Iterator[tuple[str, str, list[Cell]]]:
        """Yield evaluator, train set and its cells over the seeds, by evaluator and then in the train sets' order."""
        for evaluator, train_set in product(self.evaluators, self.train_sets_of(representation)):
            yield evaluator, train_set, self.cells_of(evaluator, train_set, representation)

    def control(self, representation: str) -> str:
        """Return the train set that filtered is judged against: random_matched if there is a cell of it, or random."""
        return control_of("filtered", {cell.train_set for cell in self.cells if cell.representation == representation})
