"""`aflite plan`, `refresh`, `pause`, `resume` and `status` as a person and as cron meet them."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pytest
import yaml
from filelock import FileLock

import definitions
from aflite_assets.assets import common
from aflite_assets.assets.steps import attempts
from aflite_assets.automation.run_requests import opened_instance
from aflite_assets.command_line.main import INTERRUPTED, main
from aflite_assets.command_line.refresh_commands import FAILED, PAUSED, WAITING
from aflite_assets.errors import ModelError
from aflite_assets.models import evaluators
from aflite_assets.refresh.due import HOW_TO_START
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results import ResultStore, file_hashes
from aflite_assets.results.file_hashes import FileHashes, Watch
from aflite_assets.specs.registry import load_registry
from aflite_assets.stages import pipeline
from aflite_assets.stages.pipeline import STAGES, run_pipeline
from tests.small_datasets import feature_vectors
from tests.stages_made_here import make_here

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
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(attempts, "make_in_child", make_here)

    def do(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(common, "REGISTRY", load_registry())  # as in a process of its own
        code = main([*arguments, *(["--no-tracking", "--settle", "0"] if arguments[0] == "refresh" else [])])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return do


def _edit(file: Path, **changes: Any) -> None:
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), **changes}))


def test_nothing_to_do(vectors: Path, run: Run) -> None:
    table = "dataset  stage   state  last time  why\nvectors  all 16  found\n\n"
    assert run("plan", "vectors") == (0, f"{table}a refresh now would do nothing: all is found\n", "")
    assert run("refresh", "vectors") == (0, "vectors: nothing is due\n", "")


def test_a_dataset_that_is_named_is_begun(vectors: Path, run: Run, home: Path) -> None:
    shutil.rmtree(home / "results")
    assert run("refresh")[:2] == (0, f"vectors: raw_dataset was never made; {HOW_TO_START}\n")
    outlook = run("plan", "vectors")[1].partition("a refresh now would:\n")[2]
    assert outlook == "  vectors: make raw_dataset, then later stages (at most 15)\n"
    code, out, err = run("refresh", "vectors")
    assert code == 0
    made, verdict, where = out.splitlines()
    assert made == f"vectors: up to date now: {', '.join(STAGES)}"
    assert re.match("vectors: given: [A-Z]", verdict)
    assert "cell 1 of " in err
    store = ResultStore(home / "results")
    assert where == f"vectors: the report is {store.current('benchmark_report', 'vectors').file('report.html')}"


def test_a_first_run_that_failed_is_named_alike_by_all_commands(
    vectors: Path, run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(home / "results")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    with opened_instance() as instance:
        job = definitions.defs.resolve_job_def("benchmark")
        failed = instance.create_run_for_job(job, tags={"dagster/partition": "vectors"})
        instance.report_run_failed(failed, "no server")
    line = (
        f"raw_dataset: it is not retried by itself until its inputs change: run {failed.run_id[:8]} failed: no "
        "server; start it with `aflite refresh vectors`"
    )
    code, out, _ = run("plan")
    assert (code, out.count(line)) == (FAILED, 1)
    assert re.search("vectors +raw_dataset +left", out)
    assert f"needs you:\n  vectors: {line}\n" in run("status")[1]
    assert f"stage not retried: vectors: {line} - until then refreshes skip this stage\n" in run("doctor")[1]
    assert run("refresh", "vectors")[0] == 0  # whoever calls tries again
    assert run("plan", "vectors")[0] == 0


def test_results_without_a_file_are_named(vectors: Path, run: Run, home: Path) -> None:
    vectors.rename(vectors.with_name("renamed.yaml"))
    code, out, err = run("refresh")
    assert code == FAILED
    assert err == (
        "skipped, because no dataset file has these names: vectors; put their files into a folder of AFLITE_DATASETS, "
        "or run `aflite prune`\n"
    )
    assert f"renamed: raw_dataset was never made; {HOW_TO_START}\n" in out
    assert "circles_1" not in out


def test_a_missing_file_is_found_by_the_doctor(vectors: Path, run: Run) -> None:
    spec = yaml.safe_load(vectors.read_text())
    spec["source"]["splits"]["test"]["features"] = "/gone.npy"
    _edit(vectors, source=spec["source"])
    code, out, _ = run("doctor")
    assert code == 1
    assert "stage refused: vectors: raw_dataset cannot run: " in out
    assert "/gone.npy" in out


def test_the_name_of_a_refused_file_is_escaped(vectors: Path, run: Run) -> None:
    (vectors.parent / "red\x1b[31m.yaml").write_text("a: [")
    for command in ("plan", "status"):
        _, out, _ = run(command)
        assert "\x1b" not in out
        assert "red\\x1b[31m " in out


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
    assert out.splitlines()[5] == "a refresh now would:"
    assert out.splitlines()[6] == "  vectors: make published_dataset, analysis, then later stages (at most 1)"
    code, out, _ = run("refresh", "vectors")
    assert code == 0
    made, verdict, where = out.splitlines()
    assert made == "vectors: up to date now: published_dataset, analysis, benchmark_report"
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
    assert lines[1].startswith("vectors: up to date now: ")
    assert lines[3].startswith("vectors: the report is ")
    assert len(lines) == 4
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
    assert unnamed.endswith(f": make nothing: raw_dataset was never made; {HOW_TO_START}")
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
    assert RefreshState.beside(ResultStore(home / "results")).acted("vectors") is None


def test_a_refusal_is_tried_once_and_named_with_its_reason(vectors: Path, run: Run) -> None:
    _edit(vectors, unlabelled=[1])
    outcomes = [run("refresh", "vectors")[:2] for _ in range(2)]
    refused = "raw_dataset: it is not retried by itself until its inputs change: "
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == FAILED
    assert outcomes[0][1].startswith(f"vectors: {refused}")
    assert outcomes[0][1].endswith("; correct its inputs, or start it with `aflite refresh --now vectors`\n")
    assert outcomes[0][1].count("\n") == 1
    code, out, _ = run("plan", "vectors")
    assert code == FAILED
    assert out.splitlines()[1].split()[:3] == ["vectors", "raw_dataset", "left"]
    assert f"  vectors: make nothing: {refused}" in out
    out = run("status", "circles_1", "vectors")[1]
    assert out.splitlines()[1].startswith("vectors ")
    assert "  1 left, 15 after  " in out
    assert f"\nneeds you:\n  vectors: {refused}" in out
    code, out, err = run("doctor")
    assert code == 1
    assert f"stage not retried: vectors: {refused}" in out
    assert "; correct its inputs, or start it with `aflite refresh --now vectors` - until then " in out
    assert err.endswith(" problems were not fixed\n")


def test_a_stage_that_fails_is_tried_by_each_call_and_named(
    vectors: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*arguments: Any, **named: Any) -> Any:
        raise RuntimeError("the disk\nis slow")

    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    monkeypatch.setitem(pipeline.STAGES, "published_dataset", replace(STAGES["published_dataset"], run=crash))
    _edit(vectors, title="Other")
    failed = "vectors: run [0-9a-f]{8} failed: published_dataset: RuntimeError: the disk\n"
    for expected in (f"vectors: up to date now: analysis\n{failed}", failed):
        code, out, _ = run("refresh", "vectors")
        assert code == FAILED
        assert re.fullmatch(expected, out)
    with opened_instance() as instance:
        newest, first = instance.get_runs()
    assert [newest.status, first.status] == [dg.DagsterRunStatus.FAILURE] * 2
    assert newest.tags["dagster/partition"] == "vectors"
    assert first.tags["aflite/because"].startswith('published_dataset: title: "" -> "Other"; analysis: ')
    left = (
        f"published_dataset: it is not retried by itself until its inputs change: run {newest.run_id[:8]} failed: "
        "published_dataset: RuntimeError: the disk"
    )
    by_hand = "start it with `aflite refresh vectors`\n"
    assert f"stage not retried: vectors: {left}; {by_hand.rstrip()} - until" in run("doctor")[1]
    assert f"\nneeds you:\n  vectors: {left}; {by_hand}" in run("status", "vectors")[1]
    assert f"  vectors: make nothing: {left}; {by_hand}" in run("plan", "vectors")[1]


def test_a_result_that_lacks_parts_is_tried_once(vectors: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **named: Any) -> Any:
        raise ModelError("out of luck")

    _edit(vectors, seeds=[0, 1])
    left = (
        "vectors: evaluator_models: it is not retried by itself until its inputs change: "
        "its result lacks parts that failed"
    )
    with monkeypatch.context() as patched:
        patched.setattr(evaluators, "evaluate", fail)
        code, out, _ = run("refresh", "vectors")
        assert (code, left in out) == (FAILED, True)
    # Left alone although it would succeed now: nothing that it reads has changed.
    code, out, _ = run("refresh", "vectors")
    assert (code, out.startswith(left)) == (FAILED, True)
    assert run("refresh", "vectors", "--now")[0] == 0
    assert run("plan", "vectors")[0] == 0


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
    vectors: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    _edit(vectors, title="Other")
    with monkeypatch.context() as patched:
        patched.setitem(pipeline.STAGES, "published_dataset", replace(STAGES["published_dataset"], run=stop))
        code, _, said = run("refresh", "vectors")
    assert code == INTERRUPTED == 130
    assert said.endswith("stopped; finished work is kept, and the same command continues\n")
    assert "\nTraceback" not in said
    with opened_instance() as instance:
        (stopped,) = instance.get_runs()
    assert stopped.status == dg.DagsterRunStatus.CANCELED
    code, out, _ = run("plan", "vectors")
    assert code == 0  # not counted as a failure
    assert f"run {stopped.run_id[:8]} was interrupted; start it with `aflite refresh vectors`" in out
    assert "vectors: up to date now: published_dataset, " in run("refresh", "vectors")[1]


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
    assert "vectors: up to date now: published_dataset, " in run("refresh", "vectors", "--now")[1]


def test_status_says_how_datasets_stand(vectors: Path, run: Run) -> None:
    def line() -> list[str]:
        out = run("status", "vectors", "circles_1")[1].splitlines()
        assert out[0].split() == ["dataset", "last", "made", "stages", "size"]
        assert out[2].split()[0:2] == ["circles_1", "never"]
        return re.split("  +", out[1])

    assert line()[2] == "16 found"
    size, unit = line()[3].split()
    assert (float(size) > 1, unit) == (True, "kB")
    _edit(vectors, title="Other")
    assert line()[2] == "13 found, 2 to make, 1 after"
