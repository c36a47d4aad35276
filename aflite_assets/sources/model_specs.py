"""Settings of encoders and evaluators as a dataset's YAML writes them; the models are in `aflite_assets.models`."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=64)]
"""A dataset, representation, evaluator or challenge set; it becomes a partition key and a folder."""


class StrictSpec(BaseModel):
    """Base of all spec models: unknown keys are refused and values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)


class TrainingSpec(StrictSpec):
    """How a neural model is trained; the fields `transformers.Trainer` gives these names."""

    epochs: int = Field(3, ge=1, le=10_000, description="passes over the train rows")
    batch_size: int = Field(32, ge=1, description="rows per optimiser step")
    learning_rate: float = Field(2e-5, gt=0, lt=10, description="peak of the linear schedule")
    weight_decay: float = Field(0.01, ge=0, lt=1)
    warmup_share: float = Field(0.06, ge=0, lt=1, description="share of the steps spent raising the rate")


class TextModelSpec(TrainingSpec):
    """Any Hugging Face sequence classifier, fine-tuned from a checkpoint."""

    kind: Literal["huggingface_text"]
    checkpoint: str = Field(min_length=1, description="local folder or hub id")
    revision: str | None = Field(None, description="pinned revision of a hub id")
    max_length: int = Field(128, ge=4, description="tokens; longer inputs are truncated")
    inputs: tuple[Literal["text", "text_pair"], ...] | None = Field(
        None, min_length=1, description="text columns the model sees; default all (a subset is a partial-input model)"
    )


class SmallTransformerSpec(TrainingSpec):
    """A small BERT and its word-piece tokenizer, both made from the texts it is trained on; downloads nothing."""

    kind: Literal["small_transformer"]
    vocabulary: int = Field(4_000, ge=100, le=100_000, description="word pieces at most")
    width: int = Field(64, ge=8, le=1024, description="hidden units, a multiple of heads")
    layers: int = Field(2, ge=1, le=24)
    heads: int = Field(4, ge=1, le=64)
    max_length: int = Field(64, ge=4, le=4096, description="tokens; longer inputs are truncated")
    learning_rate: float = Field(1e-3, gt=0, lt=10, description="peak of the linear schedule")
    inputs: tuple[Literal["text", "text_pair"], ...] | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _divisible(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is no multiple of heads {self.heads}; choose one")
        return self


class ImageModelSpec(TrainingSpec):
    """Any timm image classifier, trained from scratch or from a local checkpoint."""

    kind: Literal["timm_image"]
    architecture: str = Field(min_length=1, description="timm's model name")
    checkpoint: str | None = Field(None, description="safetensors file with weights; default: from scratch")
    image_size: int = Field(32, ge=4, le=2048, description="pixels; images are resized to a square")
    augmentation: Literal["none", "flip_crop"] = "none"
    learning_rate: float = Field(1e-3, gt=0, lt=10, description="peak of the linear schedule")


class IdentityEncoderSpec(StrictSpec):
    """The dataset's own feature columns, unchanged; needs no warm-up rows."""

    kind: Literal["identity"]


class LinearModelSpec(StrictSpec):
    """Multinomial logistic regression on features, pixels, or TF-IDF weights of words and word pairs."""

    kind: Literal["linear"]
    inverse_regularization: float = Field(1.0, gt=0)
    inputs: tuple[Literal["text", "text_pair"], ...] | None = Field(None, min_length=1)


class RbfSvmSpec(StrictSpec):
    """Support vector machine with a radial basis function kernel on the same inputs as the linear model."""

    kind: Literal["rbf_svm"]
    inverse_regularization: float = Field(1.0, gt=0)
    gamma: Annotated[float, Field(gt=0)] | Literal["scale", "auto"] = "scale"
    inputs: tuple[Literal["text", "text_pair"], ...] | None = Field(None, min_length=1)


EncoderSpec = Annotated[
    TextModelSpec | SmallTransformerSpec | ImageModelSpec | IdentityEncoderSpec, Field(discriminator="kind")
]
EvaluatorSpec = Annotated[
    LinearModelSpec | RbfSvmSpec | TextModelSpec | SmallTransformerSpec | ImageModelSpec, Field(discriminator="kind")
]
