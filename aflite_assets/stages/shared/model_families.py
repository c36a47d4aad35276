"""Facts about the models of a spec: their families and architectures, and the share of train rows that they hold back.

The functions of this module read only settings and build no model.
"""

from collections.abc import Mapping

from aflite_assets.specs.models.fine_tuning import FineTunedSpec
from aflite_assets.specs.models.kinds import EncoderSpec, EvaluatorSpec, OneStageSpec
from aflite_assets.specs.models.settings import IdentityEncoderSpec
from aflite_assets.stages.shared.evaluator_roles import first_stages, partial_inputs


def model_families(
    representations: Mapping[str, EncoderSpec], evaluators: Mapping[str, EvaluatorSpec]
) -> dict[str, str]:
    """Return the family of every model as text; models of the same kind and pretrained checkpoint have equal texts.

    The keys are `representations.<name>` and `evaluators.<name>`. A fine-tuned evaluator has the family of the
    evaluator it starts from. A representation that uses the given features has no model; its family is "linear", like
    the family of linear evaluators.
    """
    return {name: _make(one) for name, one in _models(representations, evaluators).items()}


def model_architectures(
    representations: Mapping[str, EncoderSpec], evaluators: Mapping[str, EvaluatorSpec]
) -> dict[str, str]:
    """Return the architecture of every model; models that differ only in size or weights have the same text.

    The text is `ModelFamily.architecture`, which is wrong if the name of a checkpoint is misleading. If a model has no
    `ModelFamily`, the text is the family that `model_families` returns.
    """
    models = _models(representations, evaluators)
    return {name: _make(one, architecture=True) for name, one in models.items()}


def held_back_shares(evaluators: Mapping[str, EvaluatorSpec]) -> dict[str, float]:
    """Return the share of the train rows, in (0, 1), that each evaluator holds back for early stopping.

    Evaluators that hold back no rows are left out.
    """
    stoppings = {name: getattr(stage, "early_stopping", None) for name, stage in first_stages(evaluators).items()}
    return {name: one.share for name, one in stoppings.items() if one is not None and one.split is None}


def leaning_evaluator(
    representations: Mapping[str, EncoderSpec], evaluators: Mapping[str, EvaluatorSpec]
) -> str | None:
    """Return the name of the evaluator that is tested for reliance on properties, or None if no evaluator is suitable.

    Suitable evaluators see whole inputs and are trained in one phase. The result is the first suitable evaluator whose
    family (see `model_families`) is not the family of any filter. If every suitable evaluator shares a filter's family,
    the result is the first suitable evaluator.
    """
    families, partial = model_families(representations, evaluators), partial_inputs(evaluators)
    filters = {make for name, make in families.items() if name.startswith("representations.")}
    able = [name for name, one in evaluators.items() if name not in partial and not isinstance(one, FineTunedSpec)]
    others = [name for name in able if families[f"evaluators.{name}"] not in filters]
    return next(iter(others or able), None)


def _models(
    representations: Mapping[str, EncoderSpec], evaluators: Mapping[str, EvaluatorSpec]
) -> dict[str, EncoderSpec | OneStageSpec]:
    filters = {f"representations.{name}": settings for name, settings in representations.items()}
    return filters | {f"evaluators.{name}": settings for name, settings in first_stages(evaluators).items()}


def _make(settings: EncoderSpec | OneStageSpec, *, architecture: bool = False) -> str:
    from aflite_assets.models.family_registry import family_of

    family = family_of(settings)
    if family is None:
        return "linear" if isinstance(settings, IdentityEncoderSpec) else settings.kind
    return family.architecture(settings) if architecture else family.make(settings)
