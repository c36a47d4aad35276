"""Functions that check, before any expensive work, that a model fits the data and can be downloaded. The checks load no
weights.
"""

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import answer_pairs
from aflite_assets.errors import ModelError
from aflite_assets.models.family_registry import family_of, kinds_for
from aflite_assets.specs.models.kinds import EncoderSpec, EvaluatorSpec
from aflite_assets.specs.models.settings import IdentityEncoderSpec


def check_model(settings: EncoderSpec | EvaluatorSpec, examples: Examples) -> None:
    """Check that the model reads this kind of data, and that its architecture, checkpoint or file of word vectors
    exists.

    The check may download a configuration and a tokenizer from the Hugging Face hub, unless both are in the local
    cache.

    Raises:
        ModelError: the model cannot be used; the message contains the rejected value and a valid alternative.
    """
    check_inputs(settings, examples)
    if getattr(settings, "loss", "") == "bradley_terry" and not len(answer_pairs(examples)):
        raise ModelError(
            "`loss` is bradley_terry, but the dataset's rows are not right and wrong answers to questions; leave "
            "`loss` out, or set `source.format` to preference or multiple_choice"
        )
    family = family_of(settings)
    if family is not None:
        family.check(settings)


def check_inputs(settings: EncoderSpec | EvaluatorSpec, examples: Examples) -> None:
    """Check that the data have the columns that the model reads.

    Raises:
        ModelError: the model reads another type of input, a column in `inputs` or `features` is not in the data, or a
            second text is missing.
    """
    family = family_of(settings)
    needed = "features" if isinstance(settings, IdentityEncoderSpec) else None if family is None else family.modality
    if needed is not None and examples.modality != needed:
        raise ModelError(
            f"a model of kind {settings.kind!r} needs rows of type {needed}, but the dataset's rows are of type "
            f"{examples.modality}; choose {kinds_for(examples.modality)}"
        )
    if family is not None:
        family.check_rows(settings, examples)
    wanted = getattr(settings, "inputs", None)
    missing = [column for column in wanted or () if column not in examples.table.column_names]
    if missing:
        present = [name for name in ("text", "text_pair") if name in examples.table.column_names]
        raise ModelError(
            f"`inputs` contains {', '.join(missing)}, but the dataset has no such column; "
            + (
                f"choose from {', '.join(present)}"
                if present
                else "leave `inputs` out, because this setting is for texts only"
            )
        )
    _check_features(getattr(settings, "features", None), examples)


def _check_features(columns: tuple[int, ...] | None, examples: Examples) -> None:
    if columns is None:
        return
    if examples.modality != "features":
        raise ModelError(
            f"`features` is {list(columns)}, but the dataset's rows are of type {examples.modality}; leave `features` "
            "out, because this setting is for datasets of features"
        )
    width = examples.features.shape[1]
    if len(examples) and max(columns) >= width:
        raise ModelError(
            f"`features` contains column {max(columns)}, but the rows have {width} features; choose columns from 0 to "
            f"{width - 1}"
        )
