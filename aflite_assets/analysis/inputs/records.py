"""Input records of an analysis: training runs, test sets, filtered sets, and all inputs of one report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.algorithm import ChanceScores
from aflite_assets.analysis.inputs.cues import ClassBlocks, PlantedRemoval, RemovedCue
from aflite_assets.analysis.inputs.edited_copies import EditedCopies
from aflite_assets.analysis.inputs.learning_curve import LearningCurve
from aflite_assets.analysis.inputs.source_rows import NO_SOURCE, SourceRows
from aflite_assets.analysis.inputs.weak_models import SecondPhase
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.analysis.train_sets import control_of, in_order
from aflite_assets.checks import CheckOutcome
from aflite_assets.data.examples import Examples
from aflite_assets.scan.cues import ScanFacts
from aflite_assets.specs.core import Collected

Collapse = Literal["label", "probability"]
Unit = Literal["row", "question"]

DATA_MAP_COLUMNS = ("guid", "index", "confidence", "variability", "correctness", "row_id", "kept")
"""The first five columns are named as in the tables that Swayamdipta et al. 2020 write."""


@dataclass(frozen=True)
class Training:
    """One evaluator trained on one train set with one seed.

    `representation` names the filtering that the train set belongs to; None for `full` and for sets that
    belong to no filtering. `reason`: why the training run is not done, if known.
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
    """A training run and its predictions. Two cells of the same training run are equal.

    `predictions` (of a done cell) has the columns `test_set` (string), `row_id` (int64) and `predicted` (int64, a class
    number of the dataset). For top-k accuracy and for test sets with `adds_probabilities`, `predictions` also has
    `probabilities` or `gold_rank` (`accuracy.with_ranks`). `probabilities`: list<float32> over the dataset's classes,
    or null if the evaluator gives no probabilities. A test set of questions has one row per question
    (`questions.question_predictions`).
    """

    predictions: pa.Table | None = None

    @cached_property
    def correct(self) -> dict[object, Any]:
        """Results of `accuracy.correct_rows` computed so far, by test set."""
        return {}


@dataclass(frozen=True)
class FineTuned:
    """An evaluator trained like the evaluator `start`, and then fine-tuned on rows of each challenge set in the order
    of `sets`.
    """

    start: str
    sets: tuple[str, ...]

    @property
    def meaning(self) -> str:
        """The evaluator, described in words."""
        return f"{self.start}, trained on the train set first and then fine-tuned on {', then '.join(self.sets)}"


@dataclass(frozen=True, eq=False)
class TestSet:
    """Rows that evaluators are tested on: a split of the dataset (natural) or a challenge set.

    `row_ids`, `labels`: int64, one per row; a label is an index into the set's own `label_names`.
    `kept[representation]`: bool mask of the rows of a natural set that filtering kept. `own_kept[representation, train
    set]`: bool mask of the rows that the rule of another train set kept (a single pass, an earlier size).
    `categories[column]`: the category of each row of a challenge set (None or empty for no category). `class_map[c]`:
    int64, the set's class for the dataset's class `c`, or -1 for none. `class_map` is None if the set has the dataset's
    classes. `collapse`: how `class_map` is applied. With "label", the predicted class is mapped, and a class that is
    mapped to none counts as wrong. With "probability", probabilities are summed over classes that are mapped to the
    same class, and the class with the largest sum is predicted. `notes`: caveats about the set's numbers. `groups`:
    int64, one per row; rows with the same number belong together (one premise, one template); None if every row is its
    own group. `pooled` is True if the rows entered the filter together with the train rows. A difference on pooled rows
    is no evidence that filtering helps or harms. `unit`: what is predicted, a row or a question. A multiple-choice
    question is represented by the row of its correct answer (`questions.question_set`). `chance`, in [0, 1]: for
    questions, the mean accuracy of guessing; otherwise None. `collected`: how the challenge rows were collected, as
    declared in the dataset's file; None if undeclared. `questions`: int64, the question number of each row; None unless
    rows are answers and a group holds several questions.
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
        """Number of the question that each row answers, int64; if `questions` is None, each group is one question."""
        return self.groups if self.questions is None else self.questions

    @property
    def adds_probabilities(self) -> bool:
        """True if probabilities are summed, because dataset classes are merged or mapped to none."""
        if self.class_map is None or self.collapse == "label":
            return False
        return bool((self.class_map < 0).any()) or len(np.unique(self.class_map)) < len(self.class_map)


@dataclass(frozen=True, eq=False)
class FilteredSet:
    """The outcome of filtering with one representation.

    `iterations` has the columns `iteration` (int64), `rows_in` (rows that entered the iteration), `train_rows_in`,
    `scored_rows_in`, `removed`, `train_removed`, `scored_removed`, `cutoff` (nullable), `representation_bias` (in [0,
    1]) and `rows_never_held_out`. `rows` holds every row that entered the filter and every row of the scored splits.
    The columns of `rows` are `row_id`, `split`, `label`, `kept`, `removed_in_iteration` (nullable), `predictability`
    and `label_probability` (in [0, 1], nullable). `runs`: number of runs of the filter, each with its own random draws.
    `kept_jaccard`: Jaccard index of the train rows that two runs kept: mean and minimum over pairs of runs, and the
    value expected by chance, in [0, 1]. `chance`: scores with permuted labels; `first_scores`: `row_id` and
    `predictability` in the first iteration.
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
        """The rows of the train split in `rows`."""
        return self.rows.filter(pc.field("split") == "train")

    def policy(self, split: str) -> str:
        """Return how the filter treated the rows of a split other than train: pooled, scored or kept."""
        policies = self.settings.get("evaluation_rows")
        return policies.get(split, "kept") if isinstance(policies, Mapping) else "kept"

    @property
    def filtered_splits(self) -> tuple[str, ...]:
        """Names of the splits, except train, that the filter pooled or scored."""
        splits = self.rows["split"].unique().to_pylist()
        return tuple(split for split in splits if split != "train" and self.policy(split) != "kept")

    @property
    def entered(self) -> np.ndarray:
        """Bool mask over `rows`: True for rows of the train split and of `filtered_splits`."""
        return self._in_train_or(self.filtered_splits)

    @property
    def pool(self) -> np.ndarray:
        """Bool mask over `rows`: True for train rows and for rows of pooled splits, which are filtered like train
        rows.
        """
        return self._in_train_or([split for split in self.filtered_splits if self.policy(split) == "pooled"])

    def _in_train_or(self, splits: Sequence[str]) -> np.ndarray:
        return np.isin(self.rows["split"].to_numpy(zero_copy_only=False), ["train", *splits])


@dataclass(frozen=True)
class ScoreBin:
    """Train rows with a predictability from `low` up to `high`: the number before an iteration (`rows`), and the number
    that the iteration removed (`removed`).
    """

    representation: str
    iteration: int
    low: float
    high: float
    rows: int
    removed: int


@dataclass(frozen=True, eq=False)
class EvidenceTable:
    """A table of statistics that is shown unchanged, with a caption of one or two sentences."""

    title: str
    caption: str
    table: pa.Table


@dataclass(frozen=True, eq=False)
class DataMap:
    """The data map of an evaluator trained on all train rows, with the rows that one representation's filter kept.

    `table` has the columns `DATA_MAP_COLUMNS`. `guid`: the row's id in the source; `index`: the row's number in the
    table; `kept`: null for rows that never entered the filter. `seeds`: number of averaged training runs; `epochs`:
    epochs of each training run. `seeds` is 0 if the map is `given` with the data.
    """

    evaluator: str
    representation: str
    seeds: int
    epochs: int
    table: pa.Table
    given: bool = False


@dataclass(frozen=True)
class RankingOverlap:
    """Overlap of the train rows kept by two filterings (`representation` and `against`) that rank rows differently.

    `train_set`: `filtered` or `filtered_<name>`. The two filterings were applied to the same `rows` train rows.
    `first_rows`, `second_rows`, `shared`: numbers of rows kept by the first, by the second and by both filterings.
    `jaccard`, in [0, 1]: Jaccard index of the two sets of kept rows. `jaccard_by_chance`: the mean Jaccard index of two
    random sets with `first_rows` and `second_rows` rows. `jaccard` and `jaccard_by_chance` are None if no row was kept.
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
    """Names of two filtered sets that use the same representation but rank rows differently, and the two `rankings`."""

    representation: str
    against: str
    rankings: tuple[str, str]
    overlaps: tuple[RankingOverlap, ...]


LeaningSet = Literal["tied", "independent"]
""""tied": random rows. "independent": as many rows of each class, chosen so that the property is not associated with
any class.
"""

DRAWN = pa.schema([("candidate", pa.int64()), ("name", pa.string()), ("training", pa.int64()), ("row_id", pa.int64())])
POINTED = pa.schema(
    [("candidate", pa.int64()), ("test_set", pa.string()), ("row_id", pa.int64()), ("points_to", pa.int64())]
)


@dataclass(frozen=True)
class Candidate:
    """A property that is associated with the label on train rows.

    `kind`, `name` and `word` identify the property. `reason`: why the property is no part of the task ("declared" in
    the dataset's file, or an "artefact" by nature), or None. `values`: the property's values that predict a class;
    `points_to`: the class that each value predicts; `rows`: the number of train rows with each value. `overlap`, in [0,
    1]: the share of the train rows that can be kept so that the property is not associated with any class.
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
    """A candidate property, with the predictions and property values that are needed to test whether models rely on the
    property.

    `pointed`: per test set, the class that each row's value of the property points to (int64, -1 for none); test sets
    without the property are left out. `predicted`: per train set and test set, the predictions (int64) of each finished
    training run of `evaluator`. `too_few_rows` is True if there were too few rows to draw train sets.
    """

    of: Candidate
    evaluator: str
    pointed: Mapping[str, np.ndarray]
    predicted: Mapping[tuple[LeaningSet, str], Sequence[np.ndarray]]
    too_few_rows: bool = False

    @property
    def trained(self) -> bool:
        """True if the evaluator has at least two training runs on each of the compared train sets."""
        sets = ([each for (own, _), each in self.predicted.items() if own == name] for name in get_args(LeaningSet))
        return all(each and min(map(len, each)) >= 2 for each in sets)


@dataclass(frozen=True, eq=False)
class AttributeValues:
    """The values of an attribute on the rows of each test set that has the attribute: text, dtype object.

    Numbers with many values are binned. `few`: whether the train rows have only few different values.
    """

    name: str
    few: bool
    values: Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True, eq=False)
class SecondPhases:
    """Evaluators with a second training phase on rows that a study draws, and their training runs.

    `phases`: the second phase of each evaluator. `cells`: training runs of second phases, training runs on `full` from
    which second phases start, and training runs on sets of drawn rows alone.
    """

    phases: Mapping[str, SecondPhase] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()

    def cells_of(self, evaluator: str, train_set: str = "full") -> list[Cell]:
        """Return the training runs of an evaluator in a second phase, one per seed."""
        return [cell for cell in self.cells if (cell.evaluator, cell.train_set) == (evaluator, train_set)]


@dataclass(frozen=True, kw_only=True, eq=False)
class DatasetRecord:
    """Facts about a dataset and its models that a report shows unchanged. The record contains no results.

    `split_rows`: number of loaded rows per split; `warmup_rows`: number of train rows used to train the encoders;
    `notes`: remarks at the top of the report. `settings_done`: how settings changed the source's rows. `published`: the
    name of the papers' figures in `published_tables`. `provenance`: versions and seeds as text. `missing_sets`: for
    each challenge set that could not be obtained, the reason. `smallest_effect`: the smallest difference, in points,
    that is reported as a difference.

    `families` and `architectures` map `evaluators.<name>` and `representations.<name>` to a text. Models of the same
    family or architecture have the same text. `held_back`: per evaluator, the share of train rows, in (0, 1), used for
    early stopping. `fine_tuned`: evaluators that were trained further on challenge sets. `partial_inputs`: evaluators
    that see only a part of the input. `rankings`: for each representation, another filtered set that differs only in
    how it ranks the rows.
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

    `source`: the positions of rows in the user's files. `checks`: results of the checks of data, filter and models.
    `warmup_curves` is empty if the settings fix the number of warm-up rows. `studies`: what studies read of their
    results, by stage. `primary`: evaluator and test set of the comparison that the report states first; None to state
    the most significant comparison first. `leanings`: properties that models may rely on. `attributes`: their values
    on test rows. `copies`: challenge sets that are edited copies of natural test rows. `scan`: cues that predict the
    label by themselves, or None if the rows were not scanned.

    `score_bins`: numbers of rows by predictability, per filtering and iteration. `similarities` of rows, `cues` of
    removed rows and `row_facts` (`rows.table.ROW_FACTS`) are given per representation. `filter_runs`: per seed, the
    number of the filter run that made the `filtered` set; empty if the filter ran once. `row_information`: pointwise
    V-information of rows (`rows.table.INFORMATION`).
    """

    filtered: tuple[FilteredSet, ...]
    cells: tuple[Cell, ...]
    test_sets: tuple[TestSet, ...]
    examples: Examples
    evidence: tuple[EvidenceTable, ...]
    similarities: Mapping[str, tuple[ClassBlocks, ...]] = field(default_factory=dict)
    score_bins: tuple[ScoreBin, ...] = ()
    warmup_curves: tuple[LearningCurve, ...] = ()
    primary: tuple[str, str] | None = None
    filter_runs: Mapping[int, int] = field(default_factory=dict)
    planted: tuple[PlantedRemoval, ...] = ()
    cues: Mapping[str, tuple[RemovedCue, ...]] = field(default_factory=dict)
    row_facts: Mapping[str, pa.Table] = field(default_factory=dict)
    checks: tuple[CheckOutcome, ...] = ()
    data_maps: tuple[DataMap, ...] = ()
    row_information: pa.Table | None = None
    source: SourceRows = NO_SOURCE
    leanings: tuple[LeaningInputs, ...] = ()
    attributes: tuple[AttributeValues, ...] = ()
    copies: tuple[EditedCopies, ...] = ()
    scan: ScanFacts | None = None
    studies: Mapping[str, object] = field(default_factory=dict)

    @property
    def second_phases(self) -> SecondPhases:
        """The second training phases, which are empty without a study that draws rows."""
        return next((one for one in self.studies.values() if isinstance(one, SecondPhases)), SecondPhases())

    @property
    def representations(self) -> tuple[str, ...]:
        """Names of the representations used for filtering, in the given order."""
        return tuple(filtered.representation for filtered in self.filtered)

    @property
    def evaluators(self) -> tuple[str, ...]:
        """Names of the evaluators, in the order in which they first occur in `cells`."""
        return tuple(dict.fromkeys(cell.evaluator for cell in self.cells))

    @property
    def plain_evaluators(self) -> tuple[str, ...]:
        """Evaluators that were trained only on a train set, without further stages."""
        return tuple(name for name in self.evaluators if name not in self.fine_tuned)

    @property
    def judging_evaluators(self) -> tuple[str, ...]:
        """The plain evaluators that see whole inputs; all plain evaluators if none sees whole inputs."""
        whole = tuple(name for name in self.plain_evaluators if name not in self.partial_inputs)
        return whole or self.plain_evaluators

    def cells_of(self, evaluator: str, train_set: str, representation: str | None) -> list[Cell]:
        """Return the training runs, one per seed, of one evaluator on `full` or on a set of one filtering."""
        cells = (cell for cell in self.cells if (cell.evaluator, cell.train_set) == (evaluator, train_set))
        return [cell for cell in cells if cell.representation in (None, representation)]

    def train_sets_of(self, representation: str) -> tuple[str, ...]:
        """Return the train sets that the tables of one filtering show, in the order of the tables."""
        own = (cell.train_set for cell in self.cells if cell.representation in (None, representation))
        return in_order(["full", "random", "filtered", *own])

    def cell_groups(self, representation: str) -> Iterator[tuple[str, str, list[Cell]]]:
        """Yield the training runs grouped by evaluator and train set."""
        for evaluator, train_set in product(self.evaluators, self.train_sets_of(representation)):
            yield evaluator, train_set, self.cells_of(evaluator, train_set, representation)

    def control(self, representation: str) -> str:
        """Return the control of `filtered`: `random_matched` if a model was trained on `random_matched`, else
        `random`.
        """
        return control_of("filtered", {cell.train_set for cell in self.cells if cell.representation == representation})
