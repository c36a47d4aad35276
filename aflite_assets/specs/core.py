"""Settings of a dataset's YAML file that every study may read: the class that studies complete, and its parts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from aflite_assets.specs.chosen_questions import ChosenQuestions
from aflite_assets.specs.columns import ColumnsSpec, images_without_column
from aflite_assets.specs.filter import Count, FilterSpec
from aflite_assets.specs.models.kinds import EncoderSpec, EvaluatorSpec
from aflite_assets.specs.models.settings import Name, RowCount, SplitName, StrictSpec
from aflite_assets.specs.sources import Files, SourceSpec, TableFormat, as_tuple
from aflite_assets.specs.warmup import WarmupSpec
from aflite_assets.wording import LONGEST_NAME, is_printable_name

Seed = Annotated[int, Field(ge=0)]

LabelValue = int | str | None
"""A label as written in the source; values are compared as text, so that 1 and "1" are equal."""


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError(f"{list(names)} contains a class name twice; give every class a different name")
    return names


def _printable(name: str) -> str:
    if not is_printable_name(name):
        raise ValueError(
            f"{name[:LONGEST_NAME]!r} cannot be shown as a name: it is blank, longer than {LONGEST_NAME} characters or "
            "holds control characters; rename the class"
        )
    return name


ClassName = Annotated[str, AfterValidator(_printable)]

ClassNames = Annotated[tuple[ClassName, ...], Field(min_length=2), AfterValidator(_distinct)]
"""Names of the classes in class order."""

ClassValues = Annotated[
    dict[ClassName, LabelValue | Annotated[tuple[LabelValue, ...], Field(min_length=1)]], Field(min_length=2)
]
"""Names of the classes in class order. Each name is mapped to the value or values of the class in the source."""

PlantedValues = str | Annotated[tuple[str, ...], Field(min_length=1)]
"""Values of an attribute, as text, that identify rows with a planted shortcut."""


class AnnotationsSpec(TableFormat):
    """Labels of individual annotators from separate files, matched to the dataset's rows by the values in given
    columns.

    If several rows of the files match one row of the dataset, each of them is the label of one annotator. Rows without
    a match are ignored.
    """

    files: Files
    match: dict[str, str] = Field(min_length=1, description="mapping of dataset columns to the files' columns")
    annotators: str | Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description="a column with one label or a list of labels per row, or one column per annotator"
    )
    required: bool = Field(
        True, description="false: if a file is missing, the labels are left out, and the report mentions this"
    )

    def paths(self) -> list[Path]:
        """Return the annotation files, in the given order."""
        return [Path(name) for name in as_tuple(self.files)]


Collected = Literal["constructed", "adversarially"]


class ChallengeSpec(ChosenQuestions):
    """An out-of-distribution test set with its own labels."""

    source: SourceSpec
    split: SplitName = Field("test", description="the split that is used as test set")
    columns: ColumnsSpec = ColumnsSpec()
    labels: ClassNames | ClassValues | None = None
    unlabelled: tuple[LabelValue, ...] = ()
    category: str | Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        None, description="column or columns of categories; results are also shown per category"
    )
    limit: int | None = Field(None, ge=1)
    map: dict[str, str | None] | None = Field(
        None, description="mapping of dataset labels to labels of this set or null; default: labels of the same name"
    )
    collapse: Literal["label", "probability"] = Field(
        "label",
        description="label: the predicted label is mapped; probability: probabilities are summed per mapped label, "
        "and the label with the largest sum is the prediction (labels mapped to null are left out)",
    )
    required: bool = Field(True, description="false: if files are missing, the set is left out (noted in the report)")
    collected: Collected | None = Field(
        None,
        description="constructed: rows were written or edited without regard to a model's errors; adversarially: rows "
        "were chosen because a model failed on them, so a gain on these rows is not counted; not given: a gain counts "
        "only if it exceeds the gain on natural rows of the same class and difficulty",
    )
    fine_tune: SplitName | None = Field(
        None, description="a split of `source` for evaluators of kind `fine_tuned` to train on; never a test set"
    )
    fine_tune_limit: int | None = Field(None, ge=1, description="number of rows of `fine_tune` to use")

    @model_validator(mode="after")
    def _splits_exist(self) -> Self:
        splits = list(self.source.splits)
        if (problem := images_without_column(self.source, self.columns.image)) is not None:
            raise ValueError(problem)
        if self.split not in splits:
            raise ValueError(f"`split` is {self.split!r}, but `source` has only the splits {splits}; name one")
        if self.fine_tune is not None and self.fine_tune not in splits:
            raise ValueError(f"`fine_tune` is {self.fine_tune!r}, but `source` has only the splits {splits}; name one")
        if self.fine_tune is None and self.fine_tune_limit is not None:
            raise ValueError("`fine_tune_limit` is set, but `fine_tune` is not; set `fine_tune` to a split")
        if self.columns.allow_label_copies:
            raise ValueError(
                "`columns.allow_label_copies` has no effect on a challenge set, because a challenge set is not "
                "filtered; remove it"
            )
        if self.fine_tune == self.split:
            raise ValueError(f"`fine_tune` and `split` are both {self.fine_tune!r}; set `fine_tune` to another split")
        return self


class CoreSpec(StrictSpec):
    """Settings of one dataset that studies may read and complete: the source, the filter, and the models.

    A study adds settings by a subclass, which is `PART` in its module `specs.settings`. `DatasetSpec` has the settings
    of all studies.
    """

    read_by: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Settings of a study that stages of the core read too, by stage."""

    with_models: ClassVar[tuple[str, ...]] = ()
    """Settings of a study that name models: an object with a field `model`, or a mapping of names to such objects."""

    name: Name
    title: str = Field("", max_length=200)
    description: str = ""
    source: SourceSpec
    columns: ColumnsSpec = ColumnsSpec()
    annotations: AnnotationsSpec | None = None
    labels: ClassNames | ClassValues | None = Field(
        None, description="class names in order, or a mapping of class names to source values; default: source values"
    )
    unlabelled: tuple[LabelValue, ...] = Field((), description="label values of unlabelled rows, which are dropped")
    undecodable_images: float = Field(
        0.01, ge=0, lt=1, description="largest allowed share of undecodable images, which are dropped and counted"
    )
    holdout: dict[SplitName, Count] = Field(
        default_factory=dict, description="splits that the source lacks, drawn from the train rows in whole groups"
    )
    limit: dict[SplitName, RowCount] | None = Field(None, description="number of rows per split to use")
    least_rows: dict[SplitName, RowCount] = Field(
        default_factory=dict,
        description="smallest allowed number of rows per split of the source; with fewer rows (a broken download), no "
        "stage runs, and the previous results are kept",
    )
    drop_duplicates: bool = Field(
        False,
        description="keep only the first of the rows in a split with the same input and label; rows with the same "
        "input and different labels are kept and counted",
    )
    between_splits: Literal["keep", "drop"] = Field(
        "keep",
        description="drop: drop and count train rows with the same group or the same input as a row in another split "
        "of the source",
    )
    standardise: bool = Field(
        False,
        description="feature vectors only: scale every column to mean 0 and standard deviation 1 of the train rows, "
        "in all splits and challenge sets",
    )
    seed: int = Field(
        0, ge=0, description="seed of the limit, the sample, the warm-up split, the filter and the controls"
    )
    warmup: WarmupSpec = WarmupSpec()
    representations: dict[Name, EncoderSpec] = Field(min_length=1)
    filter: FilterSpec = FilterSpec()
    evaluators: dict[Name, EvaluatorSpec] = Field(min_length=1)
    seeds: tuple[Seed, ...] = Field((0, 1, 2), min_length=1, description="of the evaluators")
    filter_seeds: int = Field(
        1,
        ge=1,
        description="number of filter runs with different random draws; the evaluators' seeds are divided among the "
        "runs, so that intervals include the variation between runs; a verdict needs at least eight",
    )
    train_sets: dict[Name, RowCount] = Field(
        default_factory=dict,
        description="sizes of further train sets by name: `filtered_NAME` has the rows that are left when "
        "the filter reaches exactly this number of train rows, and `random_NAME` has as many "
        "random rows",
    )
    answers: Literal["alone", "compared"] = Field(
        "alone", description="compared: from each answer's features, subtract the mean of the question's other answers"
    )
    train_weighted: bool = Field(
        False,
        description="also train on a set `weighted` per representation: all rows of `full`, with each row's loss "
        "multiplied by its weight in `full_tagged` of the published folder",
    )
    full_includes_warmup: bool = Field(False, description="true: `full` includes the warm-up rows (the paper's D)")
    challenge_sets: dict[Name, ChallengeSpec] = Field(default_factory=dict)

    @classmethod
    def of(cls, spec: "CoreSpec") -> Self:
        """Return a dataset's YAML file with the type of a study's settings."""
        assert isinstance(spec, cls)
        return spec
