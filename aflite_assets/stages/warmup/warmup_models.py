"""The stage of `warmup_models`: one trained encoder per representation that needs one."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import Draft, ResultKey
from aflite_assets.specs.dataset import SpecView
from aflite_assets.stages.shared.content_hashes import checkpoint_content
from aflite_assets.stages.shared.progress import Progress
from aflite_assets.stages.shared.published import read_warmup_rows
from aflite_assets.stages.stage import Inputs
from aflite_assets.tracking import TrackedRun


def run(
    spec: SpecView, inputs: Inputs, draft: Draft, *, tracker: TrackedRun, device: DeviceSettings, progress: Progress
) -> dict[str, Any]:
    """Train each representation's encoder on the warm-up rows; a representation of given features has none."""
    rows = load_examples(inputs["raw_dataset"].path).select(read_warmup_rows(inputs["warmup_split"]))
    versions = {name: inputs[name].data_version for name in ("raw_dataset", "warmup_split")}
    summary: dict[str, Any] = {}
    for name, settings in spec.representations.items():
        if settings.kind == "identity":
            summary[name] = {"trained": False, "reason": "the features are given; there is nothing to train"}
            continue
        fields = {
            "settings": settings.model_dump(mode="json"),
            "checkpoint": checkpoint_content(settings),
            "seed": spec.seed,
        }
        part = draft.part(
            name,
            ResultKey(draft.key.code_version, fields, versions),
            partial(_train, name, settings, rows, seed=spec.seed, tracker=tracker, device=device, progress=progress),
        )
        summary[name] = {"trained": True, **part.result.summary}
    return summary


def _train(
    name: str,
    settings: Any,
    rows: Examples,
    part: Draft,
    *,
    seed: int,
    tracker: TrackedRun,
    device: DeviceSettings,
    progress: Progress,
) -> Mapping[str, Any]:
    from aflite_assets.models.encoders import train_encoder  # takes seconds; given features have nothing to train

    progress.log(f"training encoder {name} on {len(rows)} warm-up rows")
    with tracker.child(name) as run:
        run.log_parameters(settings.model_dump(mode="json"))
        metrics = train_encoder(
            settings, rows, part.path, seed=seed, device=device, log=progress.log, scratch=part.scratch
        )
        run.log_metrics(metrics)
    return dict(metrics)
