"""A backup holds what belongs together, and a restore is the instance that was: history, MLflow's runs, results."""

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
from mlflow import MlflowClient

import definitions
from aflite_assets.assets.steps import attempts
from aflite_assets.command_line import backup as module
from aflite_assets.command_line.backup import Places, make_backup, restore_backup
from aflite_assets.command_line.main import main
from aflite_assets.errors import StoreError
from aflite_assets.results import Draft, ResultKey, ResultStore
from tests.stages_made_here import make_here


def places_of(root: Path) -> Places:
    return Places(root / "home", root / "dagster", root / "home" / "mlflow" / "artifacts")


def publish(store: ResultStore, key: str, text: str, asset: str = "raw_dataset") -> Path:
    def write(draft: Draft) -> dict[str, int]:
        (draft.path / "rows.txt").write_text(text)
        return {"rows": 1}

    return store.get_or_create(asset, "digits", ResultKey(key, {}, {}), write).result.path


@pytest.fixture
def machine(tmp_path: Path) -> Places:
    """A home with one result and nothing else."""
    places = places_of(tmp_path / "machine")
    publish(ResultStore(places.home / "results"), "1", "one")
    return places


def materialize(root: Path) -> dg.ExecuteInProcessResult:
    with dg.DagsterInstance.local_temp(str(root / "dagster")) as instance:
        job = definitions.defs.resolve_implicit_global_asset_job_def()
        stages = [dg.AssetKey("raw_dataset"), dg.AssetKey("challenge_sets")]
        return job.execute_in_process(instance=instance, partition_key="circles_1", asset_selection=stages)


def test_a_restored_instance_goes_on_where_the_other_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(attempts, "make_in_child", make_here)
    old, new, kept = tmp_path / "old", tmp_path / "new", tmp_path / "backups"
    for root in (old, new):
        (root / "dagster").mkdir(parents=True)
    monkeypatch.setenv("AFLITE_HOME", str(old / "home"))
    monkeypatch.setenv("DAGSTER_HOME", str(old / "dagster"))
    assert materialize(old).success
    assert main(["backup", str(kept)]) == 0
    assert "2 results copied" in capsys.readouterr().out
    assert main(["backup", str(kept)]) == 0
    assert "0 results copied (0.0 MB), 2 there already" in capsys.readouterr().out
    shutil.rmtree(old)

    monkeypatch.setenv("AFLITE_HOME", str(new / "home"))
    monkeypatch.setenv("DAGSTER_HOME", str(new / "dagster"))
    assert main(["restore", str(kept)]) == 0
    assert "2 results copied" in capsys.readouterr().out

    client = MlflowClient(tracking_uri=f"sqlite:///{new}/home/mlflow/mlflow.db")
    experiment = client.get_experiment_by_name("aflite/circles_1")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    assert {run.info.status for run in runs} == {"FINISHED"}
    stages = {run.data.tags["aflite.asset"] for run in runs if "aflite.asset" in run.data.tags}
    assert stages == {"raw_dataset", "challenge_sets"}
    with dg.DagsterInstance.local_temp(str(new / "dagster")) as instance:
        assert [run.status for run in instance.get_runs()] == [dg.DagsterRunStatus.SUCCESS]
        assert instance.get_latest_materialization_event(dg.AssetKey("raw_dataset")) is not None
    again = materialize(new)
    made = [event.materialization.metadata["reused"].value for event in again.get_asset_materialization_events()]
    assert made == [True, True]


def test_what_is_published_while_the_backup_is_made_is_whole_or_not_in_it(
    machine: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ResultStore(machine.home / "results")
    copy_databases = module._copy_databases

    def busy(*arguments: object) -> list[str]:
        done = copy_databases(*arguments)  # type: ignore[arg-type]
        publish(store, "2", "two")  # between the databases and the results
        return done

    monkeypatch.setattr(module, "_copy_databases", busy)
    copy_result = module._copy_result

    def later(path: Path, *arguments: object) -> None:
        publish(store, "3", "three")  # after the state was copied
        copy_result(path, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_copy_result", later)
    make_backup(tmp_path / "backups", machine)
    monkeypatch.undo()

    restored = places_of(tmp_path / "restored")
    restore_backup(tmp_path / "backups", restored)
    current = ResultStore(restored.home / "results").current("raw_dataset", "digits")
    assert current.file("rows.txt").read_text() == "two"


def test_a_prune_waits_for_the_backup(machine: Places, tmp_path: Path) -> None:
    lock = machine.home / "results" / ".locks" / ".prune.lock"
    lock.parent.mkdir()
    with module.FileLock(lock):
        working = threading.Thread(target=make_backup, args=(tmp_path / "backups", machine))
        working.start()
        working.join(timeout=0.3)
        assert working.is_alive()
        assert not list((tmp_path / "backups").glob("*/backup.json"))
    working.join(timeout=30)
    assert len(list((tmp_path / "backups").glob("*/backup.json"))) == 1


def test_an_earlier_backup_can_be_chosen(machine: Places, tmp_path: Path) -> None:
    store = ResultStore(machine.home / "results")
    first = make_backup(tmp_path / "backups", machine)
    publish(store, "2", "two")
    make_backup(tmp_path / "backups", machine)
    for at, text in ((first.path.name, "one"), (None, "two")):
        restored = places_of(tmp_path / text)
        restore_backup(tmp_path / "backups", restored, at=at)
        current = ResultStore(restored.home / "results").current("raw_dataset", "digits")
        assert current.file("rows.txt").read_text() == text
    with pytest.raises(StoreError, match="no finished backup 'monday'"):
        restore_backup(tmp_path / "backups", places_of(tmp_path / "x"), at="monday")


def test_a_backup_that_was_not_finished_is_none(machine: Places, tmp_path: Path) -> None:
    (make_backup(tmp_path / "backups", machine).path / "backup.json").unlink()
    with pytest.raises(StoreError, match="there is no finished backup"):
        restore_backup(tmp_path / "backups", places_of(tmp_path / "x"))


def test_unfinished_work_and_locks_stay_behind(machine: Places, tmp_path: Path) -> None:
    home = machine.home / "results" / "raw_dataset" / "digits"
    (home / ".work" / "k" / "draft").mkdir(parents=True)
    (home / ".work" / "k" / "draft" / "manifest.json").write_text("{}")
    make_backup(tmp_path / "backups", machine)
    kept = {path.name for path in (tmp_path / "backups").rglob("*") if path.is_file()}
    assert kept == {"rows.txt", "manifest.json", "current.json", "backup.json", "format.json"}


def test_a_result_that_was_mended_replaces_the_copy_of_the_damaged_one(machine: Places, tmp_path: Path) -> None:
    store = ResultStore(machine.home / "results")
    make_backup(tmp_path / "backups", machine)
    shutil.rmtree(store.current("raw_dataset", "digits").path)
    publish(store, "1", "mended")
    assert make_backup(tmp_path / "backups", machine).results == 1
    restored = places_of(tmp_path / "restored")
    restore_backup(tmp_path / "backups", restored)
    assert (
        ResultStore(restored.home / "results").current("raw_dataset", "digits").file("rows.txt").read_text() == "mended"
    )


def _edit_summary(result: Path) -> None:
    path = result / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["summary"]["rows"] = 2
    path.write_text(json.dumps(manifest))


def _truncate(result: Path) -> None:
    (result / "rows.txt").write_text("o")


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (_edit_summary, "manifest.json was changed after it was published"),
        (_truncate, "rows.txt has 1 bytes instead of 3"),
        (lambda result: (result / "manifest.json").unlink(), "manifest.json is missing"),
    ],
)
def test_a_damaged_result_does_not_replace_its_sound_copy(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    harm: Callable[[Path], object],
    reason: str,
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    store = ResultStore(home / "results")
    result, sound = publish(store, "1", "one"), publish(store, "2", "two")
    assert main(["backup", str(tmp_path / "backups")]) == 0
    copy = tmp_path / "backups" / "results" / "raw_dataset" / "digits" / result.name
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    harm(result)
    assert main(["backup", str(tmp_path / "backups")]) == 1
    said = capsys.readouterr()
    assert f"1 damaged results were not copied ({result}: {reason}); run `aflite doctor --fix`" in said.err
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before
    assert (copy.parent / sound.name).is_dir()
    assert len(list((tmp_path / "backups").glob("*/backup.json"))) == 2
    assert not list((tmp_path / "backups").glob("*/state/results/*/*/*/rows.txt"))


def test_a_summary_that_was_edited_in_the_backup_is_named(machine: Places, tmp_path: Path) -> None:
    make_backup(tmp_path / "backups", machine)
    (path,) = (tmp_path / "backups").rglob("manifest.json")
    _edit_summary(path.parent)
    with pytest.raises(
        StoreError, match=r"is damaged in the backup \(manifest\.json was changed after it was published\); delete this"
    ):
        restore_backup(tmp_path / "backups", places_of(tmp_path / "x"))
    assert not (tmp_path / "x" / "home" / "results").exists()


def test_results_on_another_disk_are_backed_up(machine: Places, tmp_path: Path) -> None:
    """A folder of an asset may be a link to a larger disk."""
    here, there = machine.home / "results" / "raw_dataset", tmp_path / "large"
    here.rename(there)
    here.symlink_to(there)
    (there / "circle").symlink_to(there)
    assert make_backup(tmp_path / "backups", machine).results == 1
    restored = places_of(tmp_path / "restored")
    restore_backup(tmp_path / "backups", restored)
    current = ResultStore(restored.home / "results").current("raw_dataset", "digits")
    assert current.file("rows.txt").read_text() == "one"


def test_a_stray_manifest_hides_no_result(machine: Places, tmp_path: Path) -> None:
    home = machine.home / "results" / "raw_dataset" / "digits"
    for folder in (home, home.parent):
        (folder / "manifest.json").write_text("{}")
    assert make_backup(tmp_path / "backups", machine).results == 1
    restored = places_of(tmp_path / "restored")
    restore_backup(tmp_path / "backups", restored)
    current = ResultStore(restored.home / "results").current("raw_dataset", "digits")
    assert current.file("rows.txt").read_text() == "one"


def test_nothing_is_overwritten(machine: Places, tmp_path: Path) -> None:
    make_backup(tmp_path / "backups", machine)
    with pytest.raises(StoreError, match=r"restoring would overwrite .*results; move these"):
        restore_backup(tmp_path / "backups", machine)


def test_damage_in_the_backup_is_named(machine: Places, tmp_path: Path) -> None:
    make_backup(tmp_path / "backups", machine)
    next((tmp_path / "backups").rglob("rows.txt")).write_text("tampered")
    with pytest.raises(StoreError, match=r"is damaged in the backup \(rows\.txt has 8 bytes instead of 3\)"):
        restore_backup(tmp_path / "backups", places_of(tmp_path / "x"))


def test_a_refused_restore_leaves_the_places_empty_and_can_be_repeated(machine: Places, tmp_path: Path) -> None:
    store = ResultStore(machine.home / "results")
    publish(store, "2", "two")
    last = sorted(result.path for result in store.results("raw_dataset", "digits"))[-1]
    make_backup(tmp_path / "backups", machine)
    copy = tmp_path / "backups" / "results" / last.relative_to(store.root)
    (copy / "rows.txt").write_text("tampered")
    restored = places_of(tmp_path / "x")
    for _ in range(2):
        with pytest.raises(StoreError, match="is damaged in the backup"):
            restore_backup(tmp_path / "backups", restored)
        assert not restored.home.exists()


@pytest.mark.parametrize(
    "record", ["{}", "[]", '{"format": 1}', '{"format": 1, "databases": 5}', '{"format": 1, "databases": [5]}', "{"]
)
def test_a_broken_record_of_a_backup_is_named(machine: Places, tmp_path: Path, record: str) -> None:
    copied = make_backup(tmp_path / "backups", machine)
    (copied.path / "backup.json").write_text(record)
    with pytest.raises(StoreError, match=r"backup\.json cannot be read \(.*\); choose another backup with `--at`"):
        restore_backup(tmp_path / "backups", places_of(tmp_path / "x"))


def test_databases_below_a_tilde_are_backed_up(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_HOME", "~/dagster")
    (tmp_path / "dagster").mkdir()
    (tmp_path / "dagster" / "runs.db").touch()  # an empty file is an empty database
    assert main(["backup", str(tmp_path / "backups")]) == 0
    assert ": 1 databases, 0 results copied" in capsys.readouterr().out


def test_a_database_that_is_none_is_named(machine: Places, tmp_path: Path) -> None:
    assert machine.dagster_home is not None
    machine.dagster_home.mkdir()
    (machine.dagster_home / "runs.db").write_text("this is no database, but it is as long as one would begin")
    with pytest.raises(StoreError, match=r"runs.db cannot be copied \(file is not a database\)"):
        make_backup(tmp_path / "backups", machine)
    assert not list((tmp_path / "backups").glob("*/backup.json"))


def test_a_missing_program_is_named(machine: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    places = Places(machine.home, None, machine.artifacts, ("dagster",))
    with pytest.raises(StoreError, match="the program `pg_dump` is not on the `PATH`"):
        make_backup(tmp_path / "backups", places)


def test_databases_of_the_backup_must_be_named(machine: Places, tmp_path: Path) -> None:
    done = make_backup(tmp_path / "backups", machine)
    facts = json.loads((done.path / "backup.json").read_text())
    (done.path / "backup.json").write_text(json.dumps(facts | {"databases": ["mlflow.dump"]}))
    with pytest.raises(
        StoreError, match=r"contains the PostgreSQL databases \['mlflow'\], but `--postgres` names \[\]"
    ):
        restore_backup(tmp_path / "backups", places_of(tmp_path / "x"))


@pytest.mark.parametrize("command", ["backup", "restore"])
@pytest.mark.parametrize(
    "given",
    ["postgresql://ann:s3cret@host/db", "postgresql:///db?password=s3cret", "dbname=db password=s3cret", "../s3cret?"],
)
def test_an_address_of_a_database_is_refused_and_not_repeated(
    command: str, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AFLITE_HOME", str(tmp_path / "home"))
    assert main([command, str(tmp_path / "backups"), "--postgres", given]) == 1
    said = capsys.readouterr()
    assert (
        "`--postgres` is an address that is not shown, which is not the name of a database; give the name" in said.err
    )
    assert "s3cret" not in said.out + said.err
    assert not (tmp_path / "backups").exists()
