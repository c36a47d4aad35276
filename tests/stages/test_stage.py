from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.evaluation.evaluator_models import EVALUATOR_MODELS
from aflite_assets.stages.filtering.filtered_sets import FILTERED_SETS
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.stage import (
    Stage,
    StageInputs,
    StageSettings,
)

OF_EVERY_STAGE = pytest.mark.parametrize("stage", STAGES.values(), ids=lambda stage: stage.name)


@OF_EVERY_STAGE
def test_settings_hold_the_values_of_the_dataset_and_nothing_else(stage: Stage, circles_spec: DatasetSpec) -> None:
    settings = stage.settings.of(circles_spec)
    assert set(stage.reads) <= set(DatasetSpec.model_fields)
    for name in DatasetSpec.model_fields:
        if name in stage.reads:
            assert getattr(settings, name) is getattr(circles_spec, name)
        else:
            assert not hasattr(settings, name)
    assert stage.settings.of(settings) == settings


def test_what_a_stage_does_not_declare_is_not_there_and_settings_never_change(circles_spec: DatasetSpec) -> None:
    settings = FILTERED_SETS.settings.of(circles_spec)
    with pytest.raises(AttributeError, match="'DatasetSpec' object has no attribute 'evaluators'"):
        _ = settings.evaluators
    with pytest.raises(ValidationError, match="frozen"):
        setattr(settings, "seed", 3)  # noqa: B010


def test_a_key_holds_the_declared_fields_alone_as_the_dataset_writes_them(circles_spec: DatasetSpec) -> None:
    fields_of_key = EVALUATOR_MODELS.settings.as_json(circles_spec)
    whole = circles_spec.model_dump(mode="json")
    assert list(fields_of_key) == ["evaluators", "seeds", "filter_seeds", "full_includes_warmup", "forgettables"]
    assert fields_of_key == {name: whole[name] for name in fields_of_key}


@OF_EVERY_STAGE
def test_a_stage_reads_results_of_stages_before_it(stage: Stage) -> None:
    before = list(STAGES)[: list(STAGES).index(stage.name)]
    assert set(stage.input_names) <= set(before)
    assert set(stage.inputs.split()) <= set(StageInputs.__annotations__)


def test_a_stage_is_given_its_settings_and_its_inputs(circles_spec: DatasetSpec, tmp_path: Path) -> None:
    seen: list[Any] = []

    def run(*given: Any) -> dict[str, object]:
        seen.extend(given)
        return {"rows": 1}

    results = {name: PublishedResult(name, "circles", "0" * 20, tmp_path) for name in STAGES}
    stage = Stage("filtered_sets", "7", FILTERED_SETS.settings, FILTERED_SETS.inputs, run)
    draft: Any = SimpleNamespace()
    context: Any = SimpleNamespace()
    assert stage.make(circles_spec, results, draft, context) == {"rows": 1}
    settings, inputs, *rest = seen
    assert (settings.filter, settings.filter_seeds, settings.seed) == (circles_spec.filter, 1, circles_spec.seed)
    assert inputs.results == {name: results[name] for name in FILTERED_SETS.input_names}
    assert rest == [draft, context]
    with pytest.raises(AttributeError, match="'StageInputs' object has no attribute 'control_sets'"):
        _ = inputs.control_sets
    assert Stage("first", "1", StageSettings(), "", run).input_names == ()
