"""That the value of a secret is in no message, dump or key, whatever else is wrong with the spec."""

import copy
import logging
import traceback
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

from aflite_assets.errors import SpecError
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import load_registry, load_spec, parse_spec
from aflite_assets.specs.sources import HubSource
from aflite_assets.stages import pipeline

SECRET = "hf_plantedSecret0123456789"
HUB: dict[str, Any] = {
    "format": "hub",
    "id": "owner/name",
    "revision": "main",
    "splits": {"train": "train", "test": "test"},
    "token": "${secret:PLANTED}",
}
SPEC: dict[str, Any] = {
    "source": HUB,
    "labels": ["a", "b"],
    "representations": {"given": {"kind": "identity"}},
    "evaluators": {"linear": {"kind": "linear"}},
    "challenge_sets": {"hard": {"source": HUB}},
}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLANTED", SECRET)
    return tmp_path / "tiny.yaml"


def _load(path: Path, content: dict[str, Any]) -> DatasetSpec:
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return load_spec(path)


def _with(**source: Any) -> dict[str, Any]:
    return SPEC | {"source": HUB | source}


def test_secret_is_in_nothing_that_a_spec_gives_away(path: Path) -> None:
    spec = _load(path, SPEC)
    assert isinstance(spec.source, HubSource)
    assert spec.source.token is not None
    assert spec.source.token.get_secret_value() == SECRET
    given = [
        repr(spec),
        str(spec),
        repr(spec.source),
        repr(spec.model_dump()),
        spec.model_dump_json(),
        repr(spec.model_dump(mode="json", exclude_unset=True)),
        repr(spec.model_json_schema()),
        *(repr(stage.settings.of(spec)) for stage in pipeline.STAGES.values()),
        *(repr(stage.settings.as_json(spec)) for stage in pipeline.STAGES.values()),
        f"{copy.deepcopy(spec)!r}",
    ]
    assert not [text for text in given if SECRET in text]
    assert "token" not in spec.model_dump()["source"]


def test_results_do_not_depend_on_the_secret(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "content_hashes", lambda spec, fields: {})
    with_secret = _load(path, SPEC)
    without = parse_spec(with_secret.model_dump(exclude_unset=True) | {"name": "tiny"})
    assert isinstance(without.source, HubSource)
    assert without.source.token is None
    for stage in pipeline.STAGES.values():
        keys = [pipeline.stage_key(stage, spec, {}) for spec in (with_secret, without)]
        assert keys[0] == keys[1]
        assert keys[0].digest == keys[1].digest
        assert SECRET not in repr(keys[0].as_json())


BROKEN: list[dict[str, Any]] = [
    _with(id="no owner"),
    _with(splits=3),
    _with(splits={"train": "a", "test": "b.parquet"}),
    _with(revision=None),
    _with(revision=[1]),
    _with(refresh="maybe"),
    _with(tokn=1),
    _with(format="csv"),
    _with(format="hubb"),
    _with(format=None),
    _with(config={"a": "${secret:PLANTED}"}),
    _with(id="${secret:PLANTED}"),
    _with(splits={"train": "${secret:PLANTED}", "test": ["${secret:PLANTED}"]}),
    _with(id="owner/${secret:PLANTED}"),
    SPEC | {"source": "${secret:PLANTED}"},
    SPEC | {"source": [HUB]},
    SPEC | {"title": "${secret:PLANTED}", "seed": "${secret:PLANTED}", "labels": ["a", "${secret:PLANTED}"]},
    SPEC | {"columns": {"label": {"token": "${secret:PLANTED}"}}},
    SPEC | {"columns": HUB},
    SPEC | {"filter": [HUB, "${secret:PLANTED}"]},
    SPEC | {"representations": {"given": HUB}},
    SPEC | {"evaluators": {"linear": {"kind": "${secret:PLANTED}"}}},
    SPEC | {"name": "${secret:PLANTED}"},
    SPEC | {"name": HUB},
    SPEC | {"limit": {"dev": 1}},
    SPEC | {"seeds": [1, 1]},
    SPEC | {"challenge_sets": {"test": {"source": HUB}}},
    SPEC | {"challenge_sets": {"hard": {"source": HUB, "split": "dev", "labels": {"a": True}}}},
    SPEC | {"challenge_sets": HUB},
    {**SPEC, "source": {**HUB, "splits": {"dev": "a"}}},
    {name: value for name, value in SPEC.items() if name != "evaluators"},
]


@pytest.mark.parametrize("how", ["variable", "literal"])
@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_secret_is_in_no_message_or_traceback(path: Path, number: int, how: str) -> None:
    text = yaml.safe_dump(BROKEN[number], sort_keys=False)
    if how == "literal":
        text = text.replace("token: ${secret:PLANTED}", f"token: {SECRET}")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    error = caught.value
    # Dagster and loggers write causes and contexts out too, so there must be none.
    assert error.__cause__ is None
    assert error.__context__ is None or isinstance(error.__context__, SpecError)
    assert SECRET not in "".join(traceback.format_exception(error))
    assert SECRET not in repr(error)


def test_secret_is_in_no_failure_or_log_of_the_registry(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AFLITE_DATASETS", str(path.parent))
    for number, content in enumerate(BROKEN):
        (path.parent / f"broken_{number}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with caplog.at_level(logging.DEBUG):
        registry = load_registry()
    assert len(registry.failures) == len(BROKEN)
    assert SECRET not in repr(registry) + caplog.text


def test_secret_that_is_not_set_is_named_by_its_variable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLANTED")
    with pytest.raises(
        SpecError, match=r"line 8: source\.token: the environment variable `PLANTED` is not set or empty"
    ):
        _load(path, SPEC)


def test_secret_that_is_no_text_is_refused_without_its_bytes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", f"{SECRET}\udcff")
    with pytest.raises(SpecError, match=r"source\.token: contains an invalid character") as caught:
        _load(path, SPEC)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_token_of_a_spec_made_in_python_is_a_secret_too() -> None:
    spec = parse_spec(SPEC | {"name": "tiny", "source": HUB | {"token": SecretStr(SECRET)}, "challenge_sets": {}})
    assert SECRET not in repr(spec)
