"""Settings of all kinds of encoders and evaluators in this project, and the base classes of all kinds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=64)]
"""Name of a dataset, representation, evaluator or challenge set; it becomes a partition key and a folder."""


SplitName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=64)]
RowCount = Annotated[int, Field(ge=1)]


LATER_SETTINGS: dict[tuple[str, str], object] = {}
"""Settings that were added after store format 2: (spec model, field) with the value that gives the same results as
before. A setting with this value is left out of cache keys, so that older results are found again.
"""


class StrictSpec(BaseModel):
    """Base class of all spec models. Spec models are immutable and raise an error for unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)

    @model_serializer(mode="wrap")
    def _as_in_keys(self, serialize: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Leave out the settings in `LATER_SETTINGS` that have their neutral values. Cache keys from before these
        settings were added then stay valid.
        """
        values = serialize(self)
        for (model, field), neutral in LATER_SETTINGS.items():
            if any(base.__name__ == model for base in type(self).__mro__) and getattr(self, field) == neutral:
                values.pop(field, None)
        return dict(values)


TextInputs = Annotated[tuple[Literal["text", "text_pair"], ...], Field(min_length=1)]
"""Text columns that a model reads. A model that does not read all columns is a partial-input model."""


FeatureColumns = Annotated[
    tuple[Annotated[int, Field(ge=0)], ...],
    Field(
        min_length=1,
        description="numbers of the feature columns that the model reads, from 0; default: all (with fewer, it is a "
        "partial-input model)",
    ),
]


LearningRate = Annotated[float, Field(gt=0, lt=10, description="peak learning rate of the linear schedule")]

WordCount = Annotated[
    int,
    Field(
        ge=100,
        le=10_000_000,
        description="maximum number of words in the vocabulary, which has the most frequent words",
    ),
]
MostWords = Annotated[
    int, Field(ge=4, le=4096, description="maximum number of words per text; longer texts are truncated")
]
VectorsFile = Annotated[
    str | None,
    Field(
        min_length=1, description="file of word vectors with a word and its numbers on each line (GloVe's text format)"
    ),
]


class EarlyStoppingSpec(StrictSpec):
    """Settings of early stopping. The weights of the best epoch are kept."""

    patience: int = Field(
        1,
        ge=1,
        description="training stops after this many consecutive epochs without a higher accuracy on the held-back rows",
    )
    split: SplitName | None = Field(
        None,
        description="the split of the dataset that is used for early stopping and not reported in tables; "
        "default: a share of the train rows",
    )
    share: float = Field(
        0.05,
        gt=0,
        lt=0.5,
        description="share of the train rows that is held back, in whole groups; not used with `split`",
    )


class TrainingSpec(StrictSpec):
    """Training settings that all kinds of neural models share."""

    epochs: int = Field(3, ge=1, le=10_000, description="number of passes over the train rows")
    batch_size: int = Field(32, ge=1, description="rows per optimiser step")
    learning_rate: LearningRate = 2e-5
    weight_decay: float = Field(0.01, ge=0, lt=1)
    warmup_share: float = Field(0.06, ge=0, lt=1, description="share of the steps during which the learning rate rises")
    gradient_accumulation: int = Field(
        1, ge=1, description="number of parts in which a batch is computed, to save memory; must divide `batch_size`"
    )
    length_bucketing: bool = Field(True, description="texts only: true means batches of rows with similar lengths")
    label_smoothing: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="label smoothing: share of the target probability that is spread equally over all classes",
    )
    loss: Literal["cross_entropy", "bradley_terry"] = Field(
        "cross_entropy",
        description="bradley_terry: train a reward model of preferences or questions on pairs of a right and a wrong "
        "answer; the score of an answer is the difference of the model's two outputs",
    )
    early_stopping: EarlyStoppingSpec | None = None

    @property
    def rows_per_item(self) -> int:
        """Number of rows per training item: 2 for pairs of answers, otherwise 1."""
        return 2 if self.loss == "bradley_terry" else 1

    @model_validator(mode="after")
    def _pairs_fit(self) -> Self:
        if self.loss == "cross_entropy":
            return self
        batch_size = self.for_rows(1).batch_size
        if batch_size % (2 * self.gradient_accumulation):
            raise ValueError(
                f"`batch_size` is {batch_size}, but with `loss: bradley_terry` it must be a multiple of "
                f"{2 * self.gradient_accumulation} (2 x `gradient_accumulation`); change `batch_size`"
            )
        if self.early_stopping is not None or self.label_smoothing:
            named = "label_smoothing" if self.early_stopping is None else "early_stopping"
            raise ValueError(
                f"`loss` is 'bradley_terry', but `{named}` works only with the labels of single rows; remove `{named}`"
            )
        return self

    def for_rows(self, n_rows: int) -> Self:
        """Return the settings after filling in the fields that depend on the number of train rows."""
        return self

    @model_validator(mode="after")
    def _whole_parts(self) -> Self:
        # A default of more rows is a multiple of the default of few rows.
        batch_size = self.for_rows(1).batch_size
        if batch_size % self.gradient_accumulation:
            raise ValueError(
                f"`batch_size` is {batch_size}, which is not a multiple of `gradient_accumulation` "
                f"({self.gradient_accumulation}); change one of the two"
            )
        return self


class TextModelSpec(TrainingSpec):
    """Any Hugging Face sequence classifier, fine-tuned from a checkpoint."""

    kind: Literal["huggingface_text"]
    checkpoint: str = Field(min_length=1, description="local folder or hub id")
    revision: str | None = Field(None, description="pinned revision of a hub id")
    max_length: int = Field(128, ge=4, description="maximum number of tokens; longer inputs are truncated")
    inputs: TextInputs | None = Field(
        None, description="text columns that the model reads; default: all (with fewer, it is a partial-input model)"
    )


class SmallTransformerSpec(TrainingSpec):
    """A small BERT that is trained from scratch with its own word-piece tokenizer, without any download."""

    kind: Literal["small_transformer"]
    vocabulary: int = Field(4_000, ge=100, le=100_000, description="maximum number of word pieces in the vocabulary")
    width: int = Field(64, ge=8, le=1024, description="number of hidden units, a multiple of `heads`")
    layers: int = Field(2, ge=1, le=24)
    heads: int = Field(4, ge=1, le=64)
    max_length: int = Field(64, ge=4, le=4096, description="maximum number of tokens; longer inputs are truncated")
    learning_rate: LearningRate = 1e-3
    inputs: TextInputs | None = None

    @model_validator(mode="after")
    def _divisible(self) -> Self:
        if self.width % self.heads:
            raise ValueError(
                f"`width` is {self.width}, which is not a multiple of `heads` ({self.heads}); change one of the two"
            )
        return self


class EsimSpec(TrainingSpec):
    """ESIM (Chen et al. 2017) on pairs of texts: two LSTMs with attention between them, over word vectors."""

    kind: Literal["esim"]
    vectors: VectorsFile = None
    vector_width: int = Field(300, ge=8, le=4096, description="width of word vectors that are learned from scratch")
    contextual: str | None = Field(
        None,
        min_length=1,
        description="folder or hub id of a frozen encoder; a learned mix of its layers gives the word vectors (as in "
        "ELMo)",
    )
    revision: str | None = Field(None, description="pinned revision of a hub id")
    train_vectors: bool = Field(True, description="true: vectors from a file are trained further")
    vocabulary: WordCount = 30_000
    width: int = Field(300, ge=8, le=4096, description="number of hidden units per direction")
    dropout: float = Field(0.5, ge=0, lt=1)
    max_length: MostWords = 64
    learning_rate: LearningRate = 4e-4

    @model_validator(mode="after")
    def _one_kind_of_vectors(self) -> Self:
        if self.vectors is not None and self.contextual is not None:
            raise ValueError("`vectors` and `contextual` both set the source of word vectors; keep only one")
        return self


LARGE_BATCH_ROWS = 50_000
"""Smallest number of train rows for which siamese models are trained with the paper's large batches."""


class WordsSpec(TrainingSpec):
    """Common settings of the weak models that read words (Yaghoobzadeh et al. 2021)."""

    vectors: VectorsFile = None
    vector_width: int = Field(300, ge=8, le=4096, description="width of word vectors if there is no file")
    epochs: int = Field(5, ge=1, le=10_000, description="number of passes over the train rows")
    batch_size: int = Field(
        0,
        ge=0,
        description=f"rows per optimiser step; 0: 256 for at least {LARGE_BATCH_ROWS:,} train rows, otherwise 32",
    )
    weight_decay: float = Field(0.0, ge=0, lt=1)
    warmup_share: float = Field(0.0, ge=0, lt=1, description="share of the steps during which the learning rate rises")

    def for_rows(self, n_rows: int) -> Self:
        """If the file sets no batch size, set the default for `n_rows` train rows."""
        if self.batch_size:
            return self
        return self.model_copy(update={"batch_size": 256 if n_rows >= LARGE_BATCH_ROWS else 32})


class SiameseSpec(WordsSpec):
    """Settings that both siamese models share. A siamese model encodes each text separately."""

    train_vectors: bool = Field(True, description="true: vectors from a file are trained further")
    vocabulary: WordCount = 30_000
    hidden: int = Field(200, ge=8, le=4096, description="number of units in the layer before the last layer")
    dropout: float = Field(0.0, ge=0, lt=1)
    max_length: MostWords = 128
    inputs: TextInputs | None = Field(
        None, description="text columns that the model reads; default: all (with fewer, it is a partial-input model)"
    )


class WordOverlapSpec(WordsSpec):
    """Logistic regression on seven features of the word overlap between the two texts (Clark et al. 2019)."""

    kind: Literal["word_overlap"]
    vocabulary: WordCount = 30_000
    max_length: MostWords = 128
    learning_rate: LearningRate = 1e-2


class SiameseBagSpec(SiameseSpec):
    """A siamese bag of words, which represents a text by the mean or maximum of its projected word vectors."""

    kind: Literal["siamese_bag"]
    pooling: Literal["mean", "max"] = Field("mean", description="pooling over the words of a text")
    projection: Annotated[int, Field(ge=8, le=4096)] | None = Field(
        512, description="width to which word vectors are projected; null: no projection"
    )
    learning_rate: LearningRate = 1e-3


class SiameseLstmSpec(SiameseSpec):
    """A siamese LSTM, which represents a text by the top layer's outputs, max-pooled over the words."""

    kind: Literal["siamese_lstm"]
    width: int = Field(200, ge=8, le=4096, description="number of hidden units per direction")
    layers: int = Field(2, ge=1, le=8)
    learning_rate: LearningRate = 5e-4


class RandAugmentSpec(StrictSpec):
    """Settings of RandAugment: random operations on train images (Cubuk et al. 2019)."""

    operations: int = Field(
        2, ge=1, le=10, description="number of operations that are applied to each image (N in the paper)"
    )
    magnitude: int = Field(
        9, ge=1, le=30, description="strength of each operation (M in the paper); 10 is the end of AutoAugment's scale"
    )


class ImageModelSpec(TrainingSpec):
    """Any timm image classifier, trained from scratch or from a local checkpoint."""

    kind: Literal["timm_image"]
    architecture: str = Field(min_length=1, description="timm's model name")
    checkpoint: str | None = Field(None, description="safetensors file with weights; default: from scratch")
    image_size: int = Field(32, ge=4, le=2048, description="side in pixels; images are resized to a square")
    interpolation: Literal["bilinear", "bicubic"] = Field("bilinear", description="how images are resized")
    augmentation: Literal["none", "flip_crop", "randaugment", "resized_crop"] = Field(
        "none",
        description="augmentation of train images. flip_crop: random flips and padded crops (as for CIFAR); "
        "randaugment: flips and random operations; resized_crop: crops of any size and flips (as for ImageNet). With "
        "resized_crop, test images are cropped to the centre; otherwise, the whole image is resized to a square",
    )
    crop_area: float = Field(
        0.08, gt=0, le=1, description="resized_crop: smallest share of a train image's area in a crop"
    )
    centre_share: float = Field(
        0.875,
        gt=0,
        le=1,
        description="resized_crop: side of the centre crop, as a share of a test image's shorter side (timm's "
        "`crop_pct`)",
    )
    randaugment: RandAugmentSpec | None = Field(
        None,
        description="with `augmentation: randaugment`, values that replace 2 and 9; with `resized_crop`, additional "
        "random operations",
    )
    autoaugment: bool = Field(
        False,
        description="with `augmentation: resized_crop`, AutoAugment's policies for ImageNet (Cubuk et al. 2018) "
        "instead of `randaugment`",
    )
    dropout: float = Field(0.0, ge=0, lt=1, description="dropout before the last layer (timm's `drop_rate`)")
    drop_path: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="stochastic depth: probability of skipping the last residual block, lower for earlier blocks "
        "(timm's `drop_path_rate`)",
    )
    learning_rate: LearningRate = 1e-3

    @model_validator(mode="after")
    def _operations_have_a_place(self) -> Self:
        if self.randaugment is not None and self.augmentation not in ("randaugment", "resized_crop"):
            raise ValueError(
                f"`randaugment` has no effect with `augmentation: {self.augmentation}`; set `augmentation` to "
                "'resized_crop' or 'randaugment', or remove `randaugment`"
            )
        if self.autoaugment and (self.augmentation != "resized_crop" or self.randaugment is not None):
            other = f"augmentation: {self.augmentation}" if self.randaugment is None else "randaugment"
            raise ValueError(
                f"`autoaugment` has no effect with `{other}`; set `augmentation: resized_crop` without `randaugment`, "
                "or remove `autoaugment`"
            )
        return self


class UntrainedSpec(StrictSpec):
    """Base class of representations that need no training and therefore no warm-up rows."""


class IdentityEncoderSpec(UntrainedSpec):
    """A representation that consists of the dataset's feature columns, unchanged."""

    kind: Literal["identity"]


class SurfaceEncoderSpec(UntrainedSpec):
    """A representation that consists of surface properties of each row, such as length, punctuation and spaces."""

    kind: Literal["surface"]
    inputs: TextInputs | None = Field(
        None,
        description="text columns from which properties are computed; default: all columns, or the answer for "
        "questions and preferences",
    )


class ClassicalSpec(StrictSpec):
    """Base class of models without epochs. The results of such models do not depend on the seed."""


class LinearModelSpec(ClassicalSpec):
    """Multinomial logistic regression on features, pixels, or TF-IDF weights of words and word pairs."""

    kind: Literal["linear"]
    inverse_regularization: float = Field(1.0, gt=0)
    inputs: TextInputs | None = None
    features: FeatureColumns | None = None


class RbfSvmSpec(ClassicalSpec):
    """Support vector machine with a radial basis function kernel. The inputs are those of the linear model."""

    kind: Literal["rbf_svm"]
    inverse_regularization: float = Field(1.0, gt=0)
    gamma: Annotated[float, Field(gt=0)] | Literal["scale", "auto"] = "scale"
    inputs: TextInputs | None = None
    features: FeatureColumns | None = None


class MaxPpmiSpec(ClassicalSpec):
    """Logistic regression on one feature per class: the largest positive pointwise mutual information (PPMI) between
    the class and any word of the row.
    """

    kind: Literal["max_ppmi"]
    smoothing: float = Field(100.0, ge=0, description="number that is added to every count of a word in a class")
    inverse_regularization: float = Field(1.0, gt=0)
    inputs: TextInputs | None = None


@dataclass(frozen=True)
class DrawnRows:
    """A set of train rows that a study draws, for a stage of training.

    `stage`: the study's stage whose result has the set. `weak_model`, `set_name`: the model from whose training the
    rows are drawn, and the name of one of its sets. `shown`: a description of the rows for users. `as_many_as`: the
    name of another model that determines the size of the set, or None.
    """

    stage: str
    weak_model: str
    set_name: str
    shown: str
    as_many_as: str | None = None


class CoreStage(StrictSpec):
    """The rows of one stage of training after the first stage; a study adds other rows by a subclass."""

    sources: ClassVar[Mapping[str, str]] = {"rows": "a challenge set"}
    """Settings that name the rows of a stage, of which exactly one must be set, with what they name."""

    rows: Name | None = Field(
        None, description="the challenge set with the train rows of this stage: its split `fine_tune`"
    )

    @property
    def drawn(self) -> DrawnRows | None:
        """The rows that a study draws for this stage, or None."""
        return None

    @model_validator(mode="after")
    def _one_kind_of_rows(self) -> Self:
        known: dict[str, str] = {}
        for base in reversed(type(self).__mro__):
            known |= vars(base).get("sources", {})
        if sum(getattr(self, name) is not None for name in known) != 1:
            named = " or ".join(f"`{name}` ({what})" for name, what in known.items())
            either, which = ("either ", "set exactly one of them") if len(known) > 1 else ("", "set it")
            raise ValueError(f"a stage needs {either}{named}; {which}")
        return self
