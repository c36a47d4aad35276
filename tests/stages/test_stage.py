import copy
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.evaluation.evaluator_models import EvaluatorModelsSettings
from aflite_assets.stages.filtering.filtered_sets import FILTERED_SETS, FilteredSetsInputs, FilteredSetsSettings
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.stage import (
    DrawingResults,
    MeasuringResults,
    SelectingResults,
    Stage,
    StageContext,
    StageInputs,
    StageSettings,
)

OF_EVERY_STAGE = pytest.mark.parametrize("stage", STAGES.values(), ids=lambda stage: stage.name)


@OF_EVERY_STAGE
def test_settings_have_the_types_that_the_dataset_has(stage: Stage) -> None:
    declared = {name: field.annotation for name, field in DatasetSpec.model_fields.items()}
    for name, field in stage.settings.model_fields.items():
        assert field.annotation == declared[name], name
        assert field.is_required(), f"{name} takes its default from DatasetSpec"


@OF_EVERY_STAGE
def test_settings_hold_the_values_of_the_dataset_and_nothing_else(stage: Stage, circles_spec: DatasetSpec) -> None:
    settings = stage.settings.of(circles_spec)
    for name in DatasetSpec.model_fields:
        if name in stage.reads:
            assert getattr(settings, name) is getattr(circles_spec, name)
        else:
            assert not hasattr(settings, name)
    assert copy.deepcopy(settings) == settings


def test_what_a_stage_does_not_declare_is_not_there(circles_spec: DatasetSpec) -> None:
    with pytest.raises(AttributeError, match="'FilteredSetsSettings' object has no attribute 'evaluators'"):
        _ = FilteredSetsSettings.of(circles_spec).evaluators  # type: ignore[attr-defined]


def test_settings_never_change(circles_spec: DatasetSpec) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(FilteredSetsSettings.of(circles_spec), "seed", 3)  # noqa: B010


def test_a_key_holds_the_declared_fields_alone_as_the_dataset_writes_them(circles_spec: DatasetSpec) -> None:
    fields_of_key = EvaluatorModelsSettings.as_json(circles_spec)
    whole = circles_spec.model_dump(mode="json")
    assert list(fields_of_key) == ["evaluators", "seeds", "filter_seeds", "full_includes_warmup", "forgettables"]
    assert fields_of_key == {name: whole[name] for name in fields_of_key}


@OF_EVERY_STAGE
def test_a_stage_reads_results_of_stages_before_it(stage: Stage) -> None:
    before = list(STAGES)[: list(STAGES).index(stage.name)]
    assert set(stage.input_names) <= set(before)
    known = (PublishedResult, SelectingResults, DrawingResults, MeasuringResults)
    assert all(field.type in known for field in fields(stage.inputs))


def test_a_stage_is_given_its_settings_and_its_inputs(circles_spec: DatasetSpec, tmp_path: Path) -> None:
    seen: list[Any] = []

    def run(settings: FilteredSetsSettings, inputs: FilteredSetsInputs, *rest: Any) -> dict[str, object]:
        seen.extend([settings, inputs, *rest])
        return {"rows": 1}

    results = {name: PublishedResult(name, "circles", "0" * 20, tmp_path) for name in STAGES}
    stage = Stage("filtered_sets", "7", FilteredSetsSettings, FilteredSetsInputs, run)
    draft: Any = SimpleNamespace()
    context: Any = SimpleNamespace()
    assert stage.make(circles_spec, results, draft, context) == {"rows": 1}
    settings, inputs, *rest = seen
    assert (settings.filter, settings.filter_seeds, settings.seed) == (circles_spec.filter, 1, circles_spec.seed)
    assert inputs.results == {name: results[name] for name in FILTERED_SETS.input_names}
    assert rest == [draft, context]


def test_a_stage_without_inputs_has_none() -> None:
    def run(settings: StageSettings, inputs: StageInputs, draft: Any, context: StageContext) -> dict[str, object]:
        return {}

    assert Stage("first", "1", StageSettings, StageInputs, run).input_names == ()
    assert StageInputs.of({}).results == {}
