"""`aflite plan`, `refresh`, `pause`, `resume` and `status` as a person and as cron meet them."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from filelock import FileLock

from aflite_assets.command_line.main import INTERRUPTED, main
from aflite_assets.command_line.refresh_commands_actions import FAILED, PAUSED, WAITING
from aflite_assets.refresh.due import how_to_start
from aflite_assets.refresh.launching import launch_command
from aflite_assets.refresh.plan import plan_dataset
from aflite_assets.refresh.state import Left, RefreshState
from aflite_assets.results import ResultStore, file_hashes
from aflite_assets.results.file_hashes import FileHashes, Watch
from aflite_assets.specs.registry import load_registry
from aflite_assets.stages import pipeline
from aflite_assets.stages.pipeline import STAGES, run_pipeline
from tests.small_datasets import feature_vectors

pytestmark = pytest.mark.usefixtures("undrawn")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dataset's file `vectors.yaml`, its features, and the results of every stage."""
    folder = tmp_path_factory.mktemp("walk")
    (folder / "specs").mkdir()
    spec = feature_vectors(folder)
    del spec["name"]
    (folder / "specs" / "vectors.yaml").write_text(yaml.safe_dump(spec))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AFLITE_DATASETS", str(folder / "specs"))
        patched.setenv("AFLITE_HOME", str(folder / "home"))
        run_pipeline(load_registry()["vectors"], store=ResultStore(folder / "home" / "results"))
    return folder


@pytest.fixture
def vectors(walk: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This test's copy of the dataset's file, whose results are in this test's home; its features are the walk's."""
    shutil.copytree(walk / "home" / "results", home / "results")
    (tmp_path / "specs").mkdir()
    shutil.copy(walk / "specs" / "vectors.yaml", tmp_path / "specs")
    monkeypatch.setenv("AFLITE_DATASETS", str(tmp_path / "specs"))
    monkeypatch.setattr(file_hashes, "_RACY_NS", 0)
    FileHashes().of(sorted(walk.glob("*.npy")))
    return tmp_path / "specs" / "vectors.yaml"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def do(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments, *(["--no-tracking", "--settle", "0"] if arguments[0] == "refresh" else [])])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return do


def _edit(file: Path, **changes: Any) -> None:
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), **changes}))


def test_nothing_to_do(vectors: Path, run: Run) -> None:
    table = "dataset  stage   state  last time  why\nvectors  all 16  found\n\nfound: its result exists\n\n"
    assert run("plan", "vectors") == (0, f"{table}a refresh now would do nothing: all is found\n", "")
    assert run("refresh", "vectors") == (0, "vectors: nothing is due\n", "")


def test_a_dataset_that_is_named_is_begun(vectors: Path, run: Run, home: Path) -> None:
    shutil.rmtree(home / "results")
    assert run("refresh")[:2] == (0, f"not started, because never made: vectors; {how_to_start('vectors')}\n")
    outlook = run("plan", "vectors")[1].partition("a refresh now would:\n")[2]
    assert outlook == "  vectors: make raw_dataset, then later stages (at most 15)\n"
    code, out, err = run("refresh", "vectors")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines()[: len(STAGES)]] == list(STAGES)
    assert "cell 1 of " in err  # no terminal: lines
    store = ResultStore(home / "results")
    (said,) = store.current("benchmark_report", "vectors").summary["verdicts"]
    assert f"\nvectors: {said}\n" in out
    assert f"vectors: the report is {store.current('benchmark_report', 'vectors').file('report.html')}" in out


def test_a_first_run_that_failed_is_named_alike_by_all_commands(vectors: Path, run: Run, home: Path) -> None:
    shutil.rmtree(home / "results")
    store = ResultStore(home / "results")
    key = plan_dataset(load_registry()["vectors"], store)["raw_dataset"].key or ""
    failed = Left(key, "failed", "run 7 failed before its first stage: no server")
    RefreshState.beside(store).note_run("vectors", "7", {"raw_dataset": failed})
    line = (
        "raw_dataset failed, and is not retried until its inputs change or a person starts it: run 7 failed before its "
        f"first stage: no server; correct its inputs, or start it by hand: `{launch_command('vectors')}`"
    )
    code, out, _ = run("plan")
    assert (code, out.count(line)) == (FAILED, 1)
    assert re.search("vectors +raw_dataset +left", out)
    assert run("refresh") == (FAILED, f"vectors: {line}\n", "")
    assert f"needs you:\n  vectors: {line}\n" in run("status")[1]


def test_results_without_a_file_are_named(vectors: Path, run: Run, home: Path) -> None:
    vectors.rename(vectors.with_name("renamed.yaml"))
    code, out, err = run("refresh")
    assert code == FAILED
    assert err.startswith(f"skipped: vectors; their results are in {home}/results, but no dataset file has these ")
    assert "not started, because never made: renamed; " in out
    assert "circles_1" not in out


def test_a_missing_file_is_found_by_the_doctor(vectors: Path, run: Run) -> None:
    spec = yaml.safe_load(vectors.read_text())
    spec["source"]["splits"]["test"]["features"] = "/gone.npy"
    _edit(vectors, source=spec["source"])
    code, out, _ = run("doctor")
    assert code == 1
    assert "stage refused: vectors: raw_dataset cannot run: " in out
    assert "/gone.npy" in out


def test_an_edited_setting_is_planned_and_made(vectors: Path, run: Run) -> None:
    _edit(vectors, title="Vectors\x1b[31m")
    code, out, _ = run("plan", "vectors")
    lines = [re.split(r"  +", line) for line in out.splitlines()[1:4]]
    assert code == 0
    assert [line[:3] for line in lines] == [
        ["vectors", "published_dataset", "to make"], ["vectors", "analysis", "to make"],
        ["vectors", "benchmark_report", "after"],
    ]  # fmt: skip
    assert out.count('title: "" -> "Vectors\\u001b[31m"') == 2
    assert out.splitlines()[5] == "to make: it would be made; after: it depends on stages that are not found"
    assert out.splitlines()[7] == "a refresh now would:"
    assert out.splitlines()[8].startswith(
        "  vectors: make published_dataset, analysis, then later stages (at most 1); it took "
    )
    code, out, _ = run("refresh", "vectors")
    assert code == 0
    published, analysed, report, verdict, where = out.splitlines()
    for made, stage in ((published, "published_dataset"), (analysed, "analysis")):
        assert made.startswith(f"vectors: {stage} made in ")
        assert made.endswith('(title: "" -> "Vectors\\u001b[31m")')
    assert report.startswith("vectors: benchmark_report made in ")
    assert re.match("vectors: given: [A-Z]", verdict)
    assert where.startswith("vectors: the report is /")
    assert "<html" in Path(where.removeprefix("vectors: the report is ")).read_text()
    assert run("plan", "vectors")[1].splitlines()[1] == "vectors  all 16  found"


def test_the_plan_as_json(vectors: Path, run: Run) -> None:
    _edit(vectors, seeds=[0, 1])
    code, out, _ = run("plan", "vectors", "--json")
    (plan,) = json.loads(out)
    assert (code, plan["dataset"], plan["failure"], plan["notes"]) == (0, "vectors", None, [])
    stages = {stage["stage"]: stage for stage in plan["stages"]}
    assert list(stages) == list(STAGES)
    assert stages["control_sets"]["state"] == "made"
    assert stages["control_sets"]["reasons"] == ["seeds: [0] -> [0, 1]"]
    assert stages["raw_dataset"]["seconds"] > 0


def test_a_failure_and_a_broken_file_stop_no_other(vectors: Path, run: Run) -> None:
    (vectors.parent / "broken.yaml").write_text("source: [")
    _edit(vectors, title="Other")
    content = yaml.safe_load(vectors.read_text())
    other = {
        **content,
        "source": {"format": "features", "splits": dict(content["source"]["splits"])},
        "refresh": {"start": True},
    }
    other["source"]["splits"]["test"] = {**content["source"]["splits"]["test"], "labels": "/nowhere.npy"}
    (vectors.parent / "gone.yaml").write_text(yaml.safe_dump(other))
    code, out, err = run("refresh", "gone", "vectors", "broken")
    assert code == FAILED
    lines = out.splitlines()
    assert (
        lines[0]
        == "gone: raw_dataset: the file '/nowhere.npy' does not exist; correct its path in the dataset's YAML file"
    )
    assert [re.split(" made| is", line)[0] for line in (*lines[1:4], lines[-1])] == [
        "vectors: published_dataset", "vectors: analysis", "vectors: benchmark_report", "vectors: the report",
    ]  # fmt: skip
    assert len(lines) == 6
    assert lines[4].startswith("vectors: given: ")
    assert "broken.yaml" in err
    code, out, _ = run("plan", "gone", "vectors", "broken")
    assert code == FAILED
    assert "broken" in out
    assert run("refresh", "vectors")[0] == 0
    code, _, err = run("plan", "vectorz")
    assert (code, "did you mean 'vectors'" in err) == (1, True)


def test_plan_says_what_a_refresh_would_do_with_each(vectors: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def would(*names: str) -> list[str]:
        return run("plan", *names)[1].split("a refresh now would:\n")[1].splitlines()

    _edit(vectors, title="Other")
    out = run("plan", "vectors", "circles_1")[1]
    assert "circles_1  all 16             never made\n" in out
    begun = "make raw_dataset, then later stages (at most 15)"  # they are named, as to `aflite refresh`
    assert would("circles_1", "digits") == [f"  circles_1, digits: {begun}"]
    assert would("circles_1", "vectors")[0] == f"  circles_1: {begun}"
    assert not any("circles_1" in line for line in would())
    monkeypatch.setenv("AFLITE_BUNDLED", "1")
    unnamed = next(line for line in would() if "circles_1" in line)
    monkeypatch.delenv("AFLITE_BUNDLED")
    start = f"not start it, because it was never made; start it once with `{launch_command('')}".rstrip()
    assert unnamed.endswith(f"{start} NAME`, or write `refresh: {{start: true}}` into its file")
    _edit(vectors, refresh={"cron": "0 0 1 1 *"})
    assert would("vectors")[0].startswith("  vectors: make nothing: changes wait for ")
    run("pause", "--reason", "moving disks")
    assert re.fullmatch(
        r"  vectors: make nothing: refreshes are paused since [-\d]{10} \d\d:\d\d UTC: moving disks; `aflite .*",
        would("vectors")[0],
    )
    assert would("circles_1")[0].startswith("  circles_1: make nothing: refreshes are paused since ")
    run("resume")
    _edit(vectors, refresh="never")
    assert would("vectors")[0].startswith(
        "  vectors: make nothing: its file has `refresh: never`; remove this setting, "
    )
    (vectors.parent / "broken.yaml").write_text("source: [")
    assert would("broken") == ["  broken: skip it; correct its file, as the table says"]


def test_planning_keeps_no_time_of_cron(vectors: Path, run: Run, home: Path) -> None:
    _edit(vectors, title="Other", refresh={"cron": "0 0 1 1 *"})
    run("plan", "vectors")
    assert RefreshState.beside(ResultStore(home / "results")).notes("vectors").acted is None


def test_a_refusal_is_tried_once_and_named_with_its_reason(vectors: Path, run: Run) -> None:
    _edit(vectors, unlabelled=[1])
    outcomes = [run("refresh", "vectors")[:2] for _ in range(2)]
    refused = "raw_dataset refused its inputs, and is not retried until they change: "
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == FAILED
    assert outcomes[0][1].startswith(f"vectors: {refused}")
    assert outcomes[0][1].endswith("; correct its inputs\n")
    assert outcomes[0][1].count("\n") == 1
    code, out, _ = run("plan", "vectors")
    assert code == FAILED
    assert out.splitlines()[1].split()[:3] == ["vectors", "raw_dataset", "left"]
    assert "left: it was refused, failed or was cancelled; a person has to act\n" in out
    assert f"  vectors: make nothing: {refused}" in out
    out = run("status", "circles_1", "vectors")[1]
    assert out.splitlines()[1].startswith("vectors ")
    assert "  Laaaaaaaaaaaaaaa  " in out
    assert f"\nneeds you:\n  vectors: {refused}" in out
    code, out, err = run("doctor")
    assert code == 1
    assert f"stage not retried: vectors: {refused}" in out
    assert " - correct its inputs\n" in out
    assert err.endswith(" problems were not fixed\n")


def test_a_stage_that_failed_three_times_is_left(vectors: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*arguments: Any, **named: Any) -> Any:
        raise RuntimeError("the disk\nis slow")

    monkeypatch.setitem(pipeline.STAGES, "published_dataset", replace(STAGES["published_dataset"], run=crash))
    _edit(vectors, title="Other")
    code, out, _ = run("refresh", "vectors")
    assert code == FAILED
    lines = out.splitlines()
    assert lines[0].startswith("vectors: analysis made in ")  # does not depend on what fails
    failed = "vectors: published_dataset failed: RuntimeError: the disk is slow"
    assert lines[1:] == [failed]
    assert run("refresh", "vectors")[:2] == (FAILED, f"{failed}\n")
    left = (
        "published_dataset failed, and is not retried until its inputs change or a person starts it: "
        "RuntimeError: the disk is slow"
    )
    by_hand = f"correct its inputs, or start it by hand: `{launch_command('vectors')}`\n"
    for _ in range(2):
        assert run("refresh", "vectors")[:2] == (FAILED, f"vectors: {left}; {by_hand}")
    assert run("refresh", "vectors", "--now")[1] == f"{failed}\n"
    assert f"stage not retried: vectors: {left} - {by_hand}" in run("doctor")[1]
    assert f"\nneeds you:\n  vectors: {left}; {by_hand}" in run("status", "vectors")[1]
    assert f"  vectors: make nothing: {left}; {by_hand}" in run("plan", "vectors")[1]


def test_a_file_that_is_refused_stands_first_and_keeps_its_time(vectors: Path, run: Run) -> None:
    made = run("status", "vectors")[1].splitlines()[1].split()[1:3]
    vectors.write_text("source: [")
    out = run("status", "circles_1", "vectors")[1]
    first = out.splitlines()[1].split()
    assert (first[0], first[1:3], first[3:5]) == ("vectors", made, ["file", "refused"])
    assert f"\nneeds you:\n  vectors: {vectors}: line 1: " in out
    code, out, _ = run("doctor")
    assert code == 1
    assert f"dataset file: {vectors}: line 1: " in out
    assert " - until then refreshes skip this dataset\n" in out


def test_a_pause_stops_refreshes(vectors: Path, run: Run) -> None:
    _edit(vectors, title="Other")
    assert run("pause", "--reason", "moving disks")[0] == 0
    code, out, _ = run("refresh", "vectors", "--now")
    assert code == PAUSED
    paused = r"refreshes are paused since [-\d]{10} \d\d:\d\d UTC"
    assert re.fullmatch(f"{paused}: moving disks; `aflite resume` continues them\n", out)
    assert run("status", "vectors")[1].endswith(f"\n\n{out}")
    run("pause")
    assert re.search(f"\n{paused}; `aflite resume` continues them\n$", run("status", "vectors")[1])
    assert run("resume")[:2] == (0, "refreshes continue\n")
    assert run("resume")[:2] == (0, "refreshes were not paused\n")
    assert run("refresh", "vectors")[0] == 0


def test_one_refresh_at_a_time(vectors: Path, run: Run, home: Path) -> None:
    state = RefreshState.beside(ResultStore(home / "results"))
    state.make_folder()
    with FileLock(state.lock):
        code, out, _ = run("refresh", "vectors")
    assert (code, "another refresh is active" in out) == (PAUSED, True)


def test_ctrl_c_ends_in_words_and_the_next_refresh_goes_on(
    vectors: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    _edit(vectors, title="Other")
    with monkeypatch.context() as patched:
        patched.setitem(pipeline.STAGES, "published_dataset", replace(STAGES["published_dataset"], run=stop))
        code, _, said = run("refresh", "vectors")
    assert code == INTERRUPTED == 130
    assert said.endswith("stopped; finished work is kept, and the same command continues\n")
    assert "Traceback" not in said
    assert "published_dataset made" in run("refresh", "vectors")[1]


def test_a_file_that_is_being_written_is_left_for_later(
    vectors: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watch, "look", lambda self, paths: tuple(paths))
    features = yaml.safe_load(vectors.read_text())["source"]["splits"]["train"]["features"]
    np.save(features, np.load(features))
    code, out, _ = run("refresh", "vectors")
    assert code == WAITING
    assert "is new or has changed; it is used once two checks find it unchanged" in out


def test_cron_is_overridden_by_now(vectors: Path, run: Run) -> None:
    _edit(vectors, title="Other", refresh={"cron": "0 0 1 1 *", "timezone": "Europe/Berlin"})
    code, out, _ = run("refresh", "vectors")
    assert code == 0
    assert "vectors: changes wait for " in out
    assert "published_dataset made" in run("refresh", "vectors", "--now")[1]


def test_status_says_how_datasets_stand(vectors: Path, run: Run) -> None:
    def line() -> list[str]:
        out = run("status", "vectors", "circles_1")[1].splitlines()
        assert out[0].split() == ["dataset", "last", "made", "stages", "size"]
        assert out[2].split()[0:2] == ["circles_1", "never"]
        assert out[4].startswith("stages: raw_dataset, challenge_sets, ")
        return out[1].split()

    assert line()[3] == "F" * 16
    size = float(line()[4])
    assert (size > 1, line()[5]) == (True, "kB")
    assert "were last checked" not in run("status")[1]
    run("refresh")
    assert re.search(r"\nall datasets were last checked [-\d]{10} \d\d:\d\d\n", run("status")[1])
    _edit(vectors, title="Other")
    assert line()[3] == "FFFFFFFFFMFFFFMa"
