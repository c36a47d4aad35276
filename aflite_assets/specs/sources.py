"""Model of the field `source` in a dataset's YAML file: files, datasets on the Hugging Face hub, or generated data. The
package `data` reads the sources.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, SecretStr, model_validator

from aflite_assets.specs.encodings import UTF_8, Encoding
from aflite_assets.specs.models.settings import SplitName, StrictSpec

DIGIT_SIZE = 8
"""Side of scikit-learn's images of digits, in pixels."""

MARK_SIZE = 3
"""Side, in pixels, of the square of a planted mark on an image of a digit."""

Files = str | Annotated[tuple[str, ...], Field(min_length=1)]


class TableFormat(StrictSpec):
    """Format of files with rows and columns."""

    format: Literal["parquet", "csv", "tsv", "jsonl"]
    delimiter: str | None = Field(
        None, min_length=1, max_length=1, description="csv and tsv; default: a comma for csv, a tab for tsv"
    )
    quoted: bool | None = Field(
        None, description="csv and tsv: whether double quotes enclose fields; default: yes for csv, no for tsv"
    )
    header: bool = Field(
        True, description="csv and tsv: true if the first line contains the column names; false: set `names`"
    )
    names: Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        None, description="with `header: false`: the names of all columns from left to right"
    )
    encoding: Encoding = Field(
        UTF_8, description="csv, tsv and jsonl: the text encoding of the files, such as utf-16 or cp1252"
    )

    @model_validator(mode="after")
    def _encoded_text(self) -> Self:
        if self.format == "parquet" and self.encoding != UTF_8:
            raise ValueError(
                f"`encoding` is '{self.encoding}', but Parquet files are always in UTF-8; remove `encoding`"
            )
        return self

    @model_validator(mode="after")
    def _named_columns(self) -> Self:
        if self.header and self.names is None:
            return self
        if self.format not in ("csv", "tsv"):
            raise ValueError(
                f"`header` and `names` are allowed for csv and tsv only, but `format` is '{self.format}'; remove "
                "`header` and `names`"
            )
        if self.header:
            raise ValueError(
                f"`names` is {list(self.names or ())}, but the first line of the file contains the column names; "
                "remove `names`, or set `header: false` if the file has no such line"
            )
        if self.names is None:
            raise ValueError(
                "`header` is false, but the columns have no names; set `names` to a list with a name for each column"
            )
        if len(set(self.names)) < len(self.names):
            raise ValueError(
                f"`names` is {list(self.names)}, which contains a name twice; give every column a different name"
            )
        return self


class TableSource(TableFormat):
    """Files with rows and columns, one or more per split. Paths are relative to the YAML file."""

    splits: dict[SplitName, Files] = Field(min_length=1)
    images: str | None = Field(
        None, min_length=1, exclude_if=lambda one: one is None, description="folder of the images in `columns.image`"
    )

    def files(self) -> list[Path]:
        """Return the table files. The function `image_folders.image_paths` finds the images."""
        return [Path(name) for names in self.splits.values() for name in as_tuple(names)]


class HubSource(StrictSpec):
    """A dataset on the Hugging Face hub. Code in the dataset is never run.

    Each entry of `splits` is one or more splits of the hub dataset, or files in the repository (any name or pattern
    with a dot). Keys of results contain the commit of the revision.
    """

    format: Literal["hub"]
    id: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$", description="owner/name")
    revision: str | None = Field(
        None, min_length=1, max_length=200, description="commit, tag or branch; needed unless newest is set"
    )
    newest: bool = Field(False, description="take the newest commit at every materialisation")
    config: str | None = Field(None, description="name of a configuration (subset) of the dataset on the hub")
    class_numbers: bool = Field(
        False, description="true: if the hub stores labels with class names, read the numbers instead of the names"
    )
    splits: dict[SplitName, Files] = Field(min_length=1)
    token: SecretStr | None = Field(
        None,
        exclude=True,
        description="access token for gated datasets: ${secret:VARIABLE}; default: the token of `hf auth login`",
    )

    @model_validator(mode="after")
    def _pinned(self) -> Self:
        if self.revision is None and not self.newest:
            raise ValueError(
                f"`revision` of {self.id} is not set, so the dataset could change unnoticed; set `revision` to a "
                "commit from the page 'Files and versions' on the hub, or set `newest: true` to use the newest "
                "commit at every materialisation"
            )
        names = [name for value in self.splits.values() for name in as_tuple(value)]
        if any("." in name for name in names) and not all("." in name for name in names):
            raise ValueError(
                f"`splits` contains both splits of the hub and files ({names}); name only splits or only files"
            )
        if self.config is not None and "." in names[0]:
            raise ValueError(
                f"`config` is {self.config!r}, but it has no effect because `splits` names files of the repository; "
                "remove `config`"
            )
        return self

    def files(self) -> list[Path]:
        """Return an empty list, because the rows come from the hub's cache."""
        return []


RowsSource = Annotated[TableSource | HubSource, Field(discriminator="format")]
"""Types of sources for the rows of questions and preferences."""


class MultipleChoiceSource(StrictSpec):
    """Multiple-choice questions. Each row of the dataset is a question with one of its answers, right or wrong.

    If `answers` names several columns or one column of lists, each table row is a question, and empty answers are
    ignored. If `answers` names one column of texts, each table row is an answer, and rows with the same `id` form a
    question. Alternatively, `correct` and `incorrect` are columns with the right and the wrong answers, as texts or
    lists. The two columns replace `answers` and `right`. If a column contains mappings, a dot separates the column and
    the field, as in `choices.text`.
    """

    format: Literal["multiple_choice"]
    table: RowsSource = Field(description="the files or the hub dataset, described as a source")
    question: Files = Field(description="column of the question, or several columns that are joined with a space")
    answers: Files | None = Field(
        None, description="columns of the answers, a column of lists, or a column with one answer per row"
    )
    right: str | None = Field(
        None,
        description="one question per row: column with the right answer's column, number, letter or text, or a list "
        "of these; one answer per row: column that is true for right answers",
    )
    names: str | None = Field(
        None,
        description="for answers in a list: column of lists with the answers' names, such as letters; `right` then "
        "contains a name",
    )
    correct: Files | None = Field(
        None,
        description="instead of `answers` and `right`: columns of right answers, or a column of lists of right answers",
    )
    incorrect: Files | None = Field(
        None, description="with `correct`: columns of wrong answers, or a column of lists of wrong answers"
    )
    numbers_from: Literal[0, 1] | None = Field(
        None,
        description="one question per row: number of the first answer; a number in `right` is then always a position, "
        "even if an answer is the same number; default: derived from the data",
    )
    id: str | None = Field(None, description="column of the question's id; needed if there is one answer per row")
    subset: str | None = Field(
        None,
        description="column with the part of the data to which a question belongs; the scan tests each part separately",
    )

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.names is not None and len(as_tuple(self.answers or ())) != 1:
            raise ValueError(
                f"`names` is {self.names!r}, which needs one column of lists in `answers`, but `answers` is "
                f"{self.answers!r}; remove `names`, or set `answers` to a column of lists"
            )
        named, listed = (self.answers, self.right), (self.correct, self.incorrect)
        if (all(named) and not any(listed)) or (all(listed) and not any(named)):
            return self
        given = [name for name in ("answers", "right", "correct", "incorrect") if getattr(self, name) is not None]
        raise ValueError(
            f"`source` sets {' and '.join(given) or 'no answers'}; set `answers` and `right`, or `correct` and "
            "`incorrect`, and neither of the other two"
        )

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns that are kept as attributes by default."""
        return () if self.subset is None else (self.subset,)

    @property
    def splits(self) -> dict[str, Files]:
        """Splits of the source."""
        return self.table.splits

    def files(self) -> list[Path]:
        """Return every file of the source."""
        return self.table.files()


Layout = Literal["texts", "messages", "transcripts"]
"""Layout of answers in preferences: texts, lists of role and content, or transcripts with "Human:" and "Assistant:"."""

Several = Literal["question", "pairs"]
"""Interpretation of a row with several chosen or rejected answers."""

PREFERENCE_ATTRIBUTES = ("margin", "subset", "source_model")
"""Attributes of rows from preferences, if the source has these columns."""


class PreferenceSource(StrictSpec):
    """Preference data. Each row of the dataset is a prompt with one of its answers, right (preferred) or wrong.

    Missing columns and layouts are derived from the names and values of the table's columns.
    """

    format: Literal["preference"]
    table: RowsSource = Field(description="the files or the hub dataset, described as a source")
    layout: Layout | None = Field(
        None,
        description="texts; messages: lists of role and content; transcripts: texts with turns that begin with Human: "
        "and Assistant:; default: derived from the data",
    )
    prompt: str | None = Field(None, description="column of the prompt, if there is one; default: found by its name")
    chosen: str | None = Field(None, description="column of the preferred answer, or of a list of preferred answers")
    rejected: Files | None = Field(
        None, description="column of the rejected answer or of a list of rejected answers, or several columns"
    )
    several: Several = Field(
        "question",
        description="interpretation of a row with several chosen or rejected answers. question: one question with all "
        "answers; pairs: all pairs of a chosen and a rejected answer, in one group",
    )
    margin: str | None = Field(
        None, description="column with the margin of the chosen answer; rows with margin 0 (ties) are dropped"
    )
    subset: str | None = Field(None, description="column with the part of the data to which a pair belongs")
    chosen_model: str | None = Field(None, description="column with the model that wrote the chosen answer")
    rejected_model: str | None = Field(None, description="column with the model that wrote the rejected answer")
    id: str | None = Field(None, description="column of the pair's id")

    @model_validator(mode="after")
    def _both_models(self) -> Self:
        if (self.chosen_model is None) != (self.rejected_model is None):
            raise ValueError("only one of `chosen_model` and `rejected_model` is set; set both or neither")
        return self

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns that are kept as attributes by default, if the source has them."""
        return PREFERENCE_ATTRIBUTES

    @property
    def splits(self) -> dict[str, Files]:
        """Splits of the source."""
        return self.table.splits

    def files(self) -> list[Path]:
        """Return every file of the source."""
        return self.table.files()


ChoiceSource = MultipleChoiceSource | PreferenceSource
"""Types of sources with right and wrong answers to questions as rows."""

CHOICE_FORMATS = ("multiple_choice", "preference")


def hub_of(source: BaseModel) -> HubSource | None:
    """Return the hub dataset of a source: the source itself or its `table`. Return None if the source does not use a
    hub dataset.
    """
    table = source.table if isinstance(source, ChoiceSource) else source
    return table if isinstance(table, HubSource) else None


class LabelledFolder(StrictSpec):
    """A folder of images without subfolders, with a file of labels.

    Each line of the label file has the name of an image (with or without suffix) and its label, separated by a comma, a
    tab or spaces. A header line is ignored, and so are bounding boxes after the label (as in ImageNet's lists).
    Alternatively, each line contains only a label, and the lines are in the order of the images' names.
    """

    folder: str = Field(min_length=1)
    labels: str = Field(min_length=1, description="the label file")
    encoding: Encoding = Field(UTF_8, description="the text encoding of the label file")


class ImageFolderSource(StrictSpec):
    """Image folders, one per split. A folder has either one subfolder of images per class, or all images and a label
    file.
    """

    format: Literal["image_folder"]
    splits: dict[SplitName, str | LabelledFolder] = Field(min_length=1)

    def files(self) -> list[Path]:
        """Return the label files. The function `image_folders.image_paths` finds the images."""
        return [Path(place.labels) for place in self.splits.values() if isinstance(place, LabelledFolder)]

    def folders(self) -> list[Path]:
        """Return the splits' folders."""
        return [Path(place.folder if isinstance(place, LabelledFolder) else place) for place in self.splits.values()]


class FeatureFiles(StrictSpec):
    """The `.npy` files of one split: features of shape (rows, width), and one label and group number per row."""

    features: str
    labels: str
    groups: str | None = None


class FeatureSource(StrictSpec):
    """Feature vectors from another program."""

    format: Literal["features"]
    splits: dict[SplitName, FeatureFiles] = Field(min_length=1)

    @model_validator(mode="after")
    def _grouped_alike(self) -> Self:
        without = [split for split, files in self.splits.items() if files.groups is None]
        if 0 < len(without) < len(self.splits):
            raise ValueError(
                f"`groups` is set for some splits, but not for {without}; set `groups` for all splits or for none"
            )
        return self

    def files(self) -> list[Path]:
        """Return every file of the source."""
        names = [(split.features, split.labels, split.groups) for split in self.splits.values()]
        return [Path(name) for split in names for name in split if name is not None]


class CirclesSource(StrictSpec):
    """Points on two concentric circles with planted artifacts, generated from a seed (ICML 2020, section 3).

    The class of a row is its circle. Every row has two coordinates and `bias_width` bias features. In biased rows, the
    bias features have the mean `+bias_mean` or `-bias_mean`, depending on the label. In all other rows, the mean of the
    bias features is zero. In the splits `flipped_splits`, a share of the biased rows gets flipped labels before the
    bias features are drawn.
    """

    format: Literal["circles"]
    splits: dict[SplitName, Annotated[int, Field(ge=4)]] = Field(min_length=1, description="rows per split")
    inner_radius: float = Field(gt=0)
    outer_radius: float = Field(gt=0)
    radius_deviation: float = Field(ge=0, description="standard deviation of a row's distance from its circle")
    biased_share: float = Field(ge=0, le=1, description="share of each class's rows with bias features")
    bias_width: int = Field(ge=1)
    bias_mean: float = Field(gt=0)
    bias_deviation: float = Field(gt=0)
    noise_deviation: float = Field(gt=0, description="standard deviation of bias features in unbiased rows")
    flipped_share: float = Field(ge=0, lt=0.5, description="share of the biased rows with a flipped label")
    flipped_splits: tuple[SplitName, ...] = Field(
        ("train",), description="splits with flipped labels; in ICML 2020, all splits, including test rows"
    )
    seed: int = Field(0, ge=0)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns that are kept as attributes by default."""
        return ("biased", "flipped")

    def files(self) -> list[Path]:
        """Return an empty list, because the rows are generated."""
        return []


class DegradedSpec(StrictSpec):
    """Settings for degrading images of digits. Each digit is moved, blurred and partly covered, and then noise is
    added.
    """

    shift: int = Field(0, ge=0, le=56, description="largest shift of the digit up and to the left, in pixels")
    blur: float = Field(0.0, ge=0, le=8, description="standard deviation of the Gaussian blur, in pixels")
    occlusion: int = Field(
        0, ge=0, le=8, description="side of a black square at a random position on the digit, in pixels"
    )
    noise: float = Field(
        0.0, ge=0, le=255, description="standard deviation of Gaussian noise, in grey levels from 0 to 255"
    )


class MarksSpec(StrictSpec):
    """Settings of a planted artifact: bright pixels in the upper left corner that encode a class, usually the class of
    the image.
    """

    share: float = Field(ge=0, le=1, description="share of images with a mark, in each class and split")
    wrong_share: float = Field(0.0, ge=0, le=1, description="share of the marked images with a mark of another class")


class DigitsSource(StrictSpec):
    """The 1,797 images of handwritten digits from scikit-learn (8 x 8 pixels), split at random into train and test,
    stratified by class.

    The images can be degraded and can have a planted mark. Splits, degradation and marks are drawn independently. A
    change of the marks changes neither the splits nor the other pixels.
    """

    format: Literal["digits"]
    test_share: float = Field(0.25, gt=0, lt=1)
    seed: int = Field(0, ge=0)
    canvas: int = Field(
        DIGIT_SIZE,
        ge=DIGIT_SIZE,
        le=64,
        description="side of the images in pixels; the digit is in the lower right corner, on black",
    )
    degraded: DegradedSpec | None = Field(None)
    marks: MarksSpec | None = Field(None)

    @model_validator(mode="after")
    def _room_for_all(self) -> Self:
        shift = 0 if self.degraded is None else self.degraded.shift
        mark = 0 if self.marks is None else MARK_SIZE
        if self.canvas < DIGIT_SIZE + shift + mark:
            raise ValueError(
                f"`canvas` is {self.canvas}, but a digit of {DIGIT_SIZE} pixels, a shift of {shift} and a mark of "
                f"{mark} need {DIGIT_SIZE + shift + mark} pixels; set `canvas` to at least {DIGIT_SIZE + shift + mark}"
            )
        return self

    @property
    def splits(self) -> dict[str, None]:
        """Splits of the source."""
        return {"train": None, "test": None}

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns that are kept as attributes by default."""
        return () if self.marks is None else ("mark", "mark_names")

    def files(self) -> list[Path]:
        """Return an empty list, because the images are part of scikit-learn."""
        return []


class TemplateNliSource(StrictSpec):
    """Sentence pairs generated by a small grammar, with planted artifacts in a given share of the rows.

    The words of a pair determine its label. A planted row has one of three cues that are known from NLI datasets
    (Gururangan et al., NAACL 2018; McCoy et al., ACL 2019). The first cue is a negation word in contradictions. The
    second cue is a word in the hypothesis that is associated with the label. The third cue, in entailments, is a
    hypothesis that consists of the premise's words.
    """

    format: Literal["template_nli"]
    splits: dict[SplitName, Annotated[int, Field(ge=6)]] = Field(min_length=1, description="rows per split")
    planted_share: float = Field(ge=0, le=1, description="share of rows with a cue in each class")
    cues: Literal["aligned", "reversed"] = Field(
        "aligned", description="aligned: a cue is on rows of its label; reversed: a cue is on rows of the other labels"
    )
    seed: int = Field(0, ge=0)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns that are kept as attributes by default."""
        return ("cue",)

    def files(self) -> list[Path]:
        """Return an empty list, because the rows are generated."""
        return []


SourceSpec = Annotated[
    TableSource
    | MultipleChoiceSource
    | PreferenceSource
    | HubSource
    | ImageFolderSource
    | FeatureSource
    | CirclesSource
    | DigitsSource
    | TemplateNliSource,
    Field(discriminator="format"),
]


def as_tuple(names: Files) -> tuple[str, ...]:
    """Return one or several names as a tuple."""
    return (names,) if isinstance(names, str) else names
