"""The stage `warmup_models`: trains an encoder for each representation that needs one."""

from functools import partial

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.results import Draft, ResultKey
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import NeuralModelSpec
from aflite_assets.specs.models.settings import UntrainedSpec
from aflite_assets.stages.shared.content_hashes import checkpoint_content
from aflite_assets.stages.shared.nested_samples import train_logged
from aflite_assets.stages.shared.published import read_warmup_rows
from aflite_assets.stages.stage import Stage, StageContext, StageInputs, StageSettings
from aflite_assets.stages.warmup.findings import ENCODER_CHECKS


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Train each representation's encoder on the warm-up rows; representations of given features have no encoder."""
    rows = load_examples(inputs.raw_dataset.path).select(read_warmup_rows(inputs.warmup_split))
    versions = {name: result.data_version for name, result in inputs.results.items()}
    summary: dict[str, object] = {}
    for name, encoder in settings.representations.items():
        if isinstance(encoder, UntrainedSpec):
            given = "the features are given" if encoder.kind == "identity" else "the features are surface properties"
            summary[name] = {"trained": False, "reason": f"{given}; there is nothing to train"}
            continue
        fields = {
            "settings": encoder.model_dump(mode="json"),
            "checkpoint": checkpoint_content(encoder),
            "seed": settings.seed,
        }
        part = draft.part(
            name,
            ResultKey(draft.key.code_version, fields, versions),
            partial(_train, name, encoder, rows, seed=settings.seed, context=context),
        )
        summary[name] = {"trained": True, **part.result.summary}
    return summary


def _train(
    name: str, encoder: NeuralModelSpec, rows: Examples, part: Draft, *, seed: int, context: StageContext
) -> dict[str, float]:
    context.progress.log(f"training encoder {name} on {len(rows)} warm-up rows")
    return train_logged(name, encoder, rows, part.path, part.scratch, seed=seed, context=context)


_SETTINGS = StageSettings("representations seed")
WARMUP_MODELS = Stage("warmup_models", "5", _SETTINGS, "raw_dataset warmup_split", run, checks=ENCODER_CHECKS)
