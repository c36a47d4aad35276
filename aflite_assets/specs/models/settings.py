"""Settings of all kinds of encoders and evaluators in this project, and the base classes of all kinds."""

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=64)]
"""Name of a dataset, representation, evaluator or challenge set; it becomes a partition key and a folder."""


SplitName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=64)]
RowCount = Annotated[int, Field(ge=1)]


LATER_SETTINGS: dict[tuple[str, str], object] = {}
"""Settings that came after store format 2: (spec model, field) and the value with which all is made as before them.

With that value they are left out of keys, so that results that were made before the setting came are found again.
"""


class StrictSpec(BaseModel):
    """Base class of all spec models. Spec models are immutable and raise an error for unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)

    @model_serializer(mode="wrap")
    def _as_in_keys(self, serialize: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Leave out settings that were added later if they have their default values. Older cache keys then stay
        valid.
        """
        values = serialize(self)
        for (model, field), neutral in LATER_SETTINGS.items():
            if any(base.__name__ == model for base in type(self).__mro__) and getattr(self, field) == neutral:
                values.pop(field, None)
        return dict(values)


TextInputs = Annotated[tuple[Literal["text", "text_pair"], ...], Field(min_length=1)]
"""Text columns that a model sees; if some are left out, it is a partial-input model."""


FeatureColumns = Annotated[
    tuple[Annotated[int, Field(ge=0)], ...],
    Field(
        min_length=1,
        description="feature columns that the model sees, from 0; default all (fewer make a partial-input model)",
    ),
]


class EarlyStoppingSpec(StrictSpec):
    """Settings of early stopping. The weights of the best epoch are kept."""

    patience: int = Field(1, ge=1, description="epochs in a row without a higher accuracy on the held-back rows")
    split: SplitName | None = Field(
        None, description="a split of the dataset, which no table then reports; default: a share of the train rows"
    )
    share: float = Field(0.05, gt=0, lt=0.5, description="of the train rows, whole groups; unused with split")


class TrainingSpec(StrictSpec):
    """Training settings that all kinds of neural models share."""

    epochs: int = Field(3, ge=1, le=10_000, description="passes over the train rows")
    batch_size: int = Field(32, ge=1, description="rows per optimiser step")
    learning_rate: float = Field(2e-5, gt=0, lt=10, description="peak of the linear schedule")
    weight_decay: float = Field(0.01, ge=0, lt=1)
    warmup_share: float = Field(0.06, ge=0, lt=1, description="share of the steps spent raising the rate")
    gradient_accumulation: int = Field(
        1, ge=1, description="parts that a batch is computed in, to save memory; divides batch_size"
    )
    length_bucketing: bool = Field(True, description="texts only: batches of rows of about the same length")
    label_smoothing: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of each label's probability that the loss spreads over all classes alike",
    )
    loss: Literal["cross_entropy", "bradley_terry"] = Field(
        "cross_entropy",
        description="bradley_terry: a reward model of preferences or questions. Trained on pairs of a right and a "
        "wrong answer; its score of an answer is the difference of its two outputs",
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
        if self.batch_size % (2 * self.gradient_accumulation):
            raise ValueError(
                f"`batch_size` is {self.batch_size}, but with `loss: bradley_terry` it must be a multiple of "
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
        if self.batch_size % self.gradient_accumulation:
            raise ValueError(
                f"`batch_size` is {self.batch_size}, which is not a multiple of `gradient_accumulation` "
                f"({self.gradient_accumulation}); change one of the two"
            )
        return self


class TextModelSpec(TrainingSpec):
    """Any Hugging Face sequence classifier, fine-tuned from a checkpoint."""

    kind: Literal["huggingface_text"]
    checkpoint: str = Field(min_length=1, description="local folder or hub id")
    revision: str | None = Field(None, description="pinned revision of a hub id")
    max_length: int = Field(128, ge=4, description="tokens; longer inputs are truncated")
    inputs: TextInputs | None = Field(
        None, description="text columns the model sees; default all (a subset is a partial-input model)"
    )


class SmallTransformerSpec(TrainingSpec):
    """A small BERT that is trained from scratch with its own word-piece tokenizer, without any download."""

    kind: Literal["small_transformer"]
    vocabulary: int = Field(4_000, ge=100, le=100_000, description="word pieces at most")
    width: int = Field(64, ge=8, le=1024, description="hidden units, a multiple of heads")
    layers: int = Field(2, ge=1, le=24)
    heads: int = Field(4, ge=1, le=64)
    max_length: int = Field(64, ge=4, le=4096, description="tokens; longer inputs are truncated")
    learning_rate: float = Field(1e-3, gt=0, lt=10, description="peak of the linear schedule")
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
    vectors: str | None = Field(
        None, min_length=1, description="file of word vectors, a word and its numbers per line (GloVe's text format)"
    )
    vector_width: int = Field(300, ge=8, le=4096, description="of vectors learnt from scratch")
    contextual: str | None = Field(
        None,
        min_length=1,
        description="folder or hub id of an encoder, frozen, whose layers are mixed into the word vectors with learnt "
        "weights (as ELMo's are)",
    )
    revision: str | None = Field(None, description="pinned revision of a hub id")
    train_vectors: bool = Field(True, description="whether vectors from a file go on learning")
    vocabulary: int = Field(30_000, ge=100, le=10_000_000, description="words at most, the most frequent")
    width: int = Field(300, ge=8, le=4096, description="hidden units of each direction")
    dropout: float = Field(0.5, ge=0, lt=1)
    max_length: int = Field(64, ge=4, le=4096, description="words of each text; the rest is cut")
    learning_rate: float = Field(4e-4, gt=0, lt=10, description="peak of the linear schedule")

    @model_validator(mode="after")
    def _one_kind_of_vectors(self) -> Self:
        if self.vectors is not None and self.contextual is not None:
            raise ValueError("`vectors` and `contextual` both set the source of word vectors; keep only one")
        return self


LARGE_BATCH_ROWS = 50_000
"""Number of train rows from which siamese models are trained with the paper's large batches."""


class WordsSpec(TrainingSpec):
    """Settings that the weak models that read words have in common (Yaghoobzadeh et al. 2021)."""

    vectors: str | None = Field(
        None, min_length=1, description="file of word vectors, a word and its numbers per line (GloVe's text format)"
    )
    vector_width: int = Field(300, ge=8, le=4096, description="of vectors without a file")
    epochs: int = Field(5, ge=1, le=10_000, description="passes over the train rows")
    batch_size: int = Field(
        0,
        ge=0,
        description=f"rows per optimiser step; 0: 256 from {LARGE_BATCH_ROWS:,} train rows on, else 32",
    )
    weight_decay: float = Field(0.0, ge=0, lt=1)
    warmup_share: float = Field(0.0, ge=0, lt=1, description="share of the steps spent raising the rate")

    def for_rows(self, n_rows: int) -> Self:
        """Fill in the batch size for this number of train rows if the file sets no batch size."""
        if self.batch_size:
            return self
        return self.model_copy(update={"batch_size": 256 if n_rows >= LARGE_BATCH_ROWS else 32})


class SiameseSpec(WordsSpec):
    """Settings that both siamese models share. A siamese model encodes each text separately."""

    train_vectors: bool = Field(True, description="whether vectors from a file go on learning")
    vocabulary: int = Field(30_000, ge=100, le=10_000_000, description="words at most, the most frequent")
    hidden: int = Field(200, ge=8, le=4096, description="units of the layer before the last")
    dropout: float = Field(0.0, ge=0, lt=1)
    max_length: int = Field(128, ge=4, le=4096, description="words of each text; the rest is cut")
    inputs: TextInputs | None = Field(
        None, description="text columns the model sees; default all (a subset is a partial-input model)"
    )


class WordOverlapSpec(WordsSpec):
    """Logistic regression on seven features of the word overlap between the two texts (Clark et al. 2019)."""

    kind: Literal["word_overlap"]
    vocabulary: int = Field(30_000, ge=100, le=10_000_000, description="words at most, the most frequent")
    max_length: int = Field(128, ge=4, le=4096, description="words of each text; the rest is cut")
    learning_rate: float = Field(1e-2, gt=0, lt=10, description="peak of the linear schedule")


class SiameseBagSpec(SiameseSpec):
    """A siamese bag of words, which represents a text by the mean or maximum of its projected word vectors."""

    kind: Literal["siamese_bag"]
    pooling: Literal["mean", "max"] = Field("mean", description="over the words of a text")
    projection: Annotated[int, Field(ge=8, le=4096)] | None = Field(
        512, description="units that word vectors are projected to; null: none"
    )
    learning_rate: float = Field(1e-3, gt=0, lt=10, description="peak of the linear schedule")


class SiameseLstmSpec(SiameseSpec):
    """A siamese LSTM, which represents a text by the top layer's outputs, max-pooled over the words."""

    kind: Literal["siamese_lstm"]
    width: int = Field(200, ge=8, le=4096, description="hidden units of each direction")
    layers: int = Field(2, ge=1, le=8)
    learning_rate: float = Field(5e-4, gt=0, lt=10, description="peak of the linear schedule")


class RandAugmentSpec(StrictSpec):
    """Settings of RandAugment: random operations on train images (Cubuk et al. 2019)."""

    operations: int = Field(2, ge=1, le=10, description="applied to each image, one after another (the paper's N)")
    magnitude: int = Field(
        9, ge=1, le=30, description="strength of each (the paper's M); 10 is the end of AutoAugment's scale"
    )


class ImageModelSpec(TrainingSpec):
    """Any timm image classifier, trained from scratch or from a local checkpoint."""

    kind: Literal["timm_image"]
    architecture: str = Field(min_length=1, description="timm's model name")
    checkpoint: str | None = Field(None, description="safetensors file with weights; default: from scratch")
    image_size: int = Field(32, ge=4, le=2048, description="pixels; images are resized to a square")
    interpolation: Literal["bilinear", "bicubic"] = Field("bilinear", description="how images are resized")
    augmentation: Literal["none", "flip_crop", "randaugment", "resized_crop"] = Field(
        "none",
        description="what is done to train images. flip_crop: flips, and crops of the surroundings (as for CIFAR). "
        "randaugment: flips and random operations. resized_crop: parts of any size and flips (as for ImageNet); test "
        "images are then their centre, while the others squeeze the whole image into the square",
    )
    crop_area: float = Field(
        0.08,
        gt=0,
        le=1,
        description="resized_crop: least share of a train image's area",
    )
    centre_share: float = Field(
        0.875,
        gt=0,
        le=1,
        description="resized_crop: share of a test image's shorter side that the centre has (timm's crop_pct)",
    )
    randaugment: RandAugmentSpec | None = Field(
        None,
        description="augmentation randaugment: other numbers than 2 and 9; resized_crop: random operations after it",
    )
    autoaugment: bool = Field(
        False,
        description="resized_crop: AutoAugment's policies for ImageNet after it (Cubuk et al. 2018), in place of "
        "randaugment",
    )
    dropout: float = Field(0.0, ge=0, lt=1, description="before the last layer (timm's drop_rate)")
    drop_path: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="stochastic depth: how often the last residual block is left out, earlier ones less (timm's "
        "drop_path_rate)",
    )
    learning_rate: float = Field(1e-3, gt=0, lt=10, description="peak of the linear schedule")

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
        None, description="texts whose properties are read; default all, of questions and preferences the answer"
    )


class ClassicalSpec(StrictSpec):
    """Base class of models without epochs. Their results are the same for every seed."""


class LinearModelSpec(ClassicalSpec):
    """Multinomial logistic regression on features, pixels, or TF-IDF weights of words and word pairs."""

    kind: Literal["linear"]
    inverse_regularization: float = Field(1.0, gt=0)
    inputs: TextInputs | None = None
    features: FeatureColumns | None = Field(None)


class RbfSvmSpec(ClassicalSpec):
    """Support vector machine with a radial basis function kernel. It has the same inputs as the linear model."""

    kind: Literal["rbf_svm"]
    inverse_regularization: float = Field(1.0, gt=0)
    gamma: Annotated[float, Field(gt=0)] | Literal["scale", "auto"] = "scale"
    inputs: TextInputs | None = None
    features: FeatureColumns | None = Field(None)


class MaxPpmiSpec(ClassicalSpec):
    """Logistic regression on one feature per class: the largest positive pointwise mutual information (PPMI) between
    the class and any word of the row.
    """

    kind: Literal["max_ppmi"]
    smoothing: float = Field(100.0, ge=0, description="added to every count of a word with a class")
    inverse_regularization: float = Field(1.0, gt=0)
    inputs: TextInputs | None = None


class FineTuneStage(StrictSpec):
    """One further stage of training. Missing fields have the values of the evaluator in `start`."""

    rows: Name | None = Field(None, description="a challenge set with fine_tune, whose rows of that split these are")
    forgettables: Name | None = Field(
        None,
        description="or train rows that this weak model forgets; the evaluator is then trained on full alone",
    )
    take: Literal["forgettable", "random", "never_learnt", "highest_loss"] = Field(
        "forgettable",
        description="with forgettables. random: as many random rows, another draw for each seed; never_learnt: those "
        "that were never right; highest_loss: as many rows with the highest loss in the last epoch",
    )
    share: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="of the rows, with highest_loss; one that the entry has",
    )
    as_many_as: Name | None = Field(
        None,
        description="another weak model: of each class only as many of these rows, drawn at random for each seed, as "
        "are taken of that model's, so that models are compared and not sizes",
    )
    epochs: int | None = Field(None, ge=1, le=10_000)
    batch_size: int | None = Field(None, ge=1)
    learning_rate: float | None = Field(None, gt=0, lt=10)

    @model_validator(mode="after")
    def _one_kind_of_rows(self) -> Self:
        if (self.rows is None) == (self.forgettables is None):
            raise ValueError(
                "a stage needs either `rows` (a challenge set) or `forgettables` (a weak model whose forgettable "
                "rows are used); set exactly one of them"
            )
        if self.rows is not None and self.take != "forgettable":
            raise ValueError(
                f"`take` is '{self.take}', which works only with `forgettables`, but `rows` is set; remove `take`"
            )
        if self.share is not None and self.take != "highest_loss":
            raise ValueError(
                f"`share` works only with `take: highest_loss`, but `take` is '{self.take}'; remove `share`"
            )
        if self.as_many_as is not None and (self.forgettables is None or self.take != "forgettable"):
            raise ValueError(
                "`as_many_as` limits forgettable rows, but the stage trains on "
                f"{'a challenge set' if self.forgettables is None else self.take}; remove `as_many_as`"
            )
        return self


class FineTunedSpec(StrictSpec):
    """An evaluator that is first trained like another evaluator, and then on further sets of rows in turn.

    The rows may come from challenge sets (ICML 2020, Table 2). The rows may also be forgettable rows (Yaghoobzadeh et
    al. 2021, section 3).
    """

    kind: Literal["fine_tuned"]
    start: Name = Field(description="a neural evaluator of this dataset")
    stages: Annotated[tuple[FineTuneStage, ...], Field(min_length=1)]
