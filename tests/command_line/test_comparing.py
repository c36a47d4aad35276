"""`aflite compare`: which two results it takes, what it says of them, and its exit code."""

import json
from pathlib import Path

import pytest

from aflite_assets.command_line.main import main
from aflite_assets.results import ResultKey, ResultStore
from aflite_assets.stages.pipeline import run_stage
from tests.compatibility.kept import small_specs, unpack_store


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a small dataset's results: one with a seed that was never trained with at last."""
    home = tmp_path_factory.mktemp("home")
    store = ResultStore(unpack_store(home))
    (spec,) = [spec for spec in small_specs("kept_specs.yaml") if spec.name == "kept_pairs"]
    run_stage("analysis", spec, store=store)
    other = spec.model_copy(update={"seeds": (*spec.seeds[:-1], spec.seeds[-1] + 1)})
    run_stage("analysis", other, store=store)
    return store.root.parent


def test_the_last_two_results_are_compared(
    compared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AFLITE_HOME", str(compared))
    assert main(["compare", "kept_pairs"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("The verdict is the same; 0 of ")
    assert "  analysis: seeds" in out.split("Made differently:\n")[1]
    assert main(["compare", "kept_pairs", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["verdicts"][0] == told["verdicts"][1]
    assert list(told["made_differently"]) == ["analysis"]
    assert all(one["paired"] for one in told["accuracies"])


def test_a_dataset_is_compared_with_itself_under_another_name_too(
    compared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AFLITE_HOME", str(compared))
    assert main(["compare", "kept_pairs", "kept_pairs"]) == 0
    assert "Both were made from the same settings, files and code." in capsys.readouterr().out


def test_one_result_alone_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ResultStore(home / "results")
    store.get_or_create("analysis", "solo", ResultKey("1", {}, {}), lambda draft: {})
    assert main(["compare", "solo"]) == 1
    said = capsys.readouterr().err
    assert f"'solo' has one result in {store.place}, so there is none before it to compare with" in said
    assert "aflite compare solo OTHER" in said
    assert main(["compare", "nowhere"]) == 1
    assert "analysis of 'nowhere' was never materialised" in capsys.readouterr().err
