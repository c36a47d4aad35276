"""Whether a model fits the data and can be downloaded, checked before anything expensive. Loads no weights."""

from pathlib import Path

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import answer_pairs
from aflite_assets.errors import ModelError
from aflite_assets.specs.models import (
    EncoderSpec,
    EsimSpec,
    EvaluatorSpec,
    IdentityEncoderSpec,
    ImageModelSpec,
    MaxPpmiSpec,
    SiameseBagSpec,
    SiameseLstmSpec,
    SiameseSpec,
    SmallTransformerSpec,
    TextModelSpec,
)

MODALITY_OF = {
    TextModelSpec: "text",
    SmallTransformerSpec: "text",
    EsimSpec: "text",
    SiameseBagSpec: "text",
    SiameseLstmSpec: "text",
    MaxPpmiSpec: "text",
    ImageModelSpec: "image",
    IdentityEncoderSpec: "features",
}
"""The input that each kind of model needs; the others take any."""


def check_model(settings: EncoderSpec | EvaluatorSpec, examples: Examples) -> None:
    """Check that the model reads this kind of data and that its architecture, checkpoint or file of vectors exists.

    May download a configuration and a tokenizer from the hub; reads them from its cache when they are there.

    Raises:
        ModelError: with what was given and what to give instead.
    """
    check_inputs(settings, examples)
    if getattr(settings, "loss", "") == "bradley_terry" and not len(answer_pairs(examples)):
        raise ModelError(
            "loss is bradley_terry, but the dataset's rows are not right and wrong answers of questions; leave loss "
            "out, or read the dataset with source.format preference or multiple_choice"
        )
    # The libraries of texts and images take seconds to import, which datasets of features need not wait for.
    if isinstance(settings, TextModelSpec):
        from aflite_assets.models.text.pretrained import check_text_checkpoint

        check_text_checkpoint(settings.checkpoint, revision=settings.revision, max_length=settings.max_length)
    if isinstance(settings, EsimSpec | SiameseSpec):
        _check_vectors(settings.vectors)
    if isinstance(settings, EsimSpec) and settings.contextual is not None:
        from aflite_assets.models.esim.contextual_vectors import check_contextual_checkpoint

        check_contextual_checkpoint(settings.contextual, revision=settings.revision, max_length=settings.max_length)
    if isinstance(settings, ImageModelSpec):
        from aflite_assets.models.image.timm_models import check_image_model

        check_image_model(settings.architecture, checkpoint=settings.checkpoint)


def check_inputs(settings: EncoderSpec | EvaluatorSpec, examples: Examples) -> None:
    """Check that the data have the columns the model reads.

    Raises:
        ModelError: another kind of input, `inputs` or `features` names a column that the data lack, or texts without
            a second one for a model of pairs.
    """
    needed = MODALITY_OF.get(type(settings))
    if needed is not None and examples.modality != needed:
        raise ModelError(
            f"a model of kind {settings.kind!r} reads {needed}, but the dataset's rows are {examples.modality}; "
            f"choose {_fitting(examples.modality)}"
        )
    if isinstance(settings, EsimSpec) and "text_pair" not in examples.table.column_names:
        raise ModelError(
            "a model of kind 'esim' compares two texts, but the dataset's rows have one (text, no text_pair); choose "
            "'huggingface_text' or 'small_transformer', or 'linear' as evaluator"
        )
    wanted = getattr(settings, "inputs", None)
    missing = [column for column in wanted or () if column not in examples.table.column_names]
    if missing:
        present = [name for name in ("text", "text_pair") if name in examples.table.column_names]
        raise ModelError(
            f"inputs names {', '.join(missing)}, which the dataset lacks; "
            + (f"it has {', '.join(present)}" if present else "leave inputs out, which is for texts only")
        )
    _check_features(getattr(settings, "features", None), examples)


def _check_features(columns: tuple[int, ...] | None, examples: Examples) -> None:
    if columns is None:
        return
    if examples.modality != "features":
        raise ModelError(
            f"features names columns {list(columns)}, but the dataset's rows are {examples.modality}; leave "
            "features out, which is for datasets of features"
        )
    width = examples.features.shape[1]
    if len(examples) and max(columns) >= width:
        raise ModelError(
            f"features names column {max(columns)}, but the rows have {width} features; choose from 0 to {width - 1}"
        )


def _check_vectors(file: str | None) -> None:
    if file is not None and not Path(file).is_file():
        raise ModelError(
            f"vectors {file!r} is not a file; give the path of a text file of word vectors such as GloVe's, "
            "or leave vectors out to learn them from the train texts"
        )


def _fitting(modality: str) -> str:
    if modality == "features":
        return "'identity' as encoder, 'linear' or 'rbf_svm' as evaluator"
    if modality == "image":
        return "'timm_image', or 'linear' or 'rbf_svm' as evaluator"
    return (
        "'huggingface_text', 'small_transformer', 'siamese_bag', 'siamese_lstm' or, for pairs of texts, 'esim', "
        "or 'linear', 'rbf_svm' or 'max_ppmi' as evaluator"
    )
