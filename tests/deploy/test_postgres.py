"""Runs on a server: four at once on empty databases, and one in whose middle the server goes down and comes back."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest
import yaml

import definitions
from aflite_assets.assets.steps import attempts
from aflite_assets.command_line.main import main
from tests.deploy.conftest import PostgresServer
from tests.small_datasets import circles
from tests.stages_made_here import make_here

REPOSITORY = Path(__file__).parents[2]
RUN = """
import sys
import dagster as dg
import definitions
with dg.DagsterInstance.get() as instance:
    job = definitions.defs.resolve_implicit_global_asset_job_def()
    stages = [dg.AssetKey(name) for name in ("raw_dataset", "challenge_sets")]
    done = job.execute_in_process(
        instance=instance, partition_key=sys.argv[1], asset_selection=stages, raise_on_error=False
    )
sys.exit(0 if done.success else 3)
"""
STAGES = {"raw_dataset", "challenge_sets"}
"""Those that import neither torch nor scikit-learn: what is tested are the databases."""
DATASETS = ("tiny_a", "tiny_b", "tiny_c", "tiny_d", "tiny_e", "tiny_f")
MLFLOW = "postgresql+psycopg2:///mlflow"


@dataclass(frozen=True)
class TeamInstance:
    """A team's instance without its pages: the databases, a home, and six tiny datasets."""

    server: PostgresServer
    root: Path

    @property
    def environment(self) -> dict[str, str]:
        """What every process of the instance is given."""
        return os.environ | self.server.environment_of("dagster") | {
            "AFLITE_HOME": str(self.root / "home"),
            "AFLITE_DATASETS": str(self.root / "datasets"),
            "DAGSTER_HOME": str(self.root / "dagster"),
            "MLFLOW_TRACKING_URI": self.server.address_of("mlflow"),
        }  # fmt: skip

    def start(self, dataset: str) -> subprocess.Popen[bytes]:
        """A run of two stages of one dataset, in a process of its own."""
        with self.log(dataset).open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", RUN, dataset], env=self.environment, cwd=REPOSITORY, stdout=log, stderr=log
            )

    def log(self, dataset: str) -> Path:
        """What runs of the dataset printed."""
        return self.root / f"{dataset}.log"

    def dagster(self, query: str) -> list[str]:
        """The rows of a query to Dagster's database."""
        return self.server.client("psql", "-d", "dagster", "-Atc", query).splitlines()

    def mlflow(self, query: str) -> list[str]:
        """The rows of a query to MLflow's database."""
        return self.server.client("psql", "-d", "mlflow", "-Atc", query).splitlines()

    def made(self, dataset: str) -> list[str]:
        """The stages that Dagster knows to be materialised, as often as they are."""
        return [
            row.strip('[]"')
            for row in self.dagster(
                "select asset_key from event_logs where dagster_event_type = 'ASSET_MATERIALIZATION' "
                f"and partition = '{dataset}' order by id"
            )
        ]

    def has_no_tables(self) -> bool:
        """Whether Dagster's database is as `createdb` left it."""
        return self.dagster("select count(*) from information_schema.tables where table_schema = 'public'") == ["0"]

    def upgrade_mlflow(self) -> None:
        """Make MLflow's tables, as the guide says to do before the first run."""
        upgrade = [sys.executable, "-m", "mlflow", "db", "upgrade", MLFLOW]
        environment = self.environment | self.server.environment_of("mlflow")
        subprocess.run(upgrade, env=environment, check=True, capture_output=True)

    def last_status(self) -> str:
        """How the run that was started last ended, as Dagster knows it."""
        return self.dagster("select status from runs order by id desc limit 1")[0]

    def wait_for_first_stage(self, dataset: str, run: subprocess.Popen[bytes]) -> None:
        """Until Dagster knows of something that the run made."""
        while not self.made(dataset):
            assert run.poll() is None, self.log(dataset).read_text()
            time.sleep(0.05)


@pytest.fixture(scope="module")
def team(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> TeamInstance:
    root = tmp_path_factory.mktemp("team")
    for name in ("home", "dagster", "datasets"):
        (root / name).mkdir()
    shutil.copy(REPOSITORY / "deploy" / "dagster.yaml", root / "dagster")
    for name in DATASETS:
        (root / "datasets" / f"{name}.yaml").write_text(yaml.safe_dump(circles(name)))
    return TeamInstance(postgres, root)


@pytest.fixture(scope="module")
def team_in_use(team: TeamInstance) -> TeamInstance:
    """The team's instance once a run has ended on it, so that both databases have their tables."""
    if team.has_no_tables():
        team.upgrade_mlflow()
        assert finished([team.start("tiny_a")]) == [0], team.log("tiny_a").read_text()
    return team


def finished(runs: Sequence[subprocess.Popen[bytes]]) -> list[int]:
    """Exit codes of processes, once they have ended."""
    return [run.wait(timeout=300) for run in runs]


@pytest.mark.slow
def test_four_runs_at_once_on_an_empty_server_are_all_there(team: TeamInstance) -> None:
    assert team.has_no_tables()
    team.upgrade_mlflow()

    datasets = DATASETS[:4]
    assert finished([team.start(name) for name in datasets]) == [0, 0, 0, 0]

    assert team.dagster("select status, count(*) from runs group by status") == ["SUCCESS|4"]
    for name in datasets:
        assert set(team.made(name)) == STAGES
        tracked = team.mlflow(
            "select r.name, r.status from runs r join experiments e using (experiment_id) "
            f"where e.name = 'aflite/{name}' order by r.start_time"
        )
        assert {row.partition("|")[2] for row in tracked} == {"FINISHED"}
        assert len(tracked) >= len(STAGES)


@pytest.mark.slow
def test_a_run_whose_server_restarts_ends_and_the_next_one_goes_on_from_there(team_in_use: TeamInstance) -> None:
    team = team_in_use
    run = team.start("tiny_e")
    team.wait_for_first_stage("tiny_e", run)
    team.server.control("restart", "-m", "fast")
    # Dagster asks again where a connection is refused, and gives up where one breaks in the middle of a query.
    fate = {0: "SUCCESS", 3: "FAILURE"}[finished([run])[0]]
    assert team.last_status() == fate
    goes_on(team, "tiny_e")


@pytest.mark.slow
def test_a_server_that_stays_away_fails_the_run_and_the_next_one_goes_on_from_there(team_in_use: TeamInstance) -> None:
    team = team_in_use
    run = team.start("tiny_f")
    team.wait_for_first_stage("tiny_f", run)
    team.server.control("stop", "-m", "fast")
    time.sleep(15)  # Dagster tries a connection for about six seconds
    team.server.control("start", "-l", str(team.server.folder / "log"))
    assert finished([run]) == [3], team.log("tiny_f").read_text()
    assert team.last_status() == "FAILURE"
    assert set(team.made("tiny_f")) < STAGES
    goes_on(team, "tiny_f")


def goes_on(team: TeamInstance, dataset: str) -> None:
    """Another run succeeds, and makes nothing again that was made before the server went."""
    known = len(team.made(dataset))
    team.log(dataset).write_text("")
    assert finished([team.start(dataset)]) == [0]
    assert team.last_status() == "SUCCESS"
    assert set(team.made(dataset)[known:]) == STAGES
    assert "raw_dataset: reused" in team.log(dataset).read_text()


@pytest.fixture
def used_here(team: TeamInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TeamInstance:
    """The team's instance once a run of this process has ended on it; this process is in its environment."""
    path = f"{team.server.binaries}{os.pathsep}{os.environ['PATH']}"
    for name, value in (team.environment | {"PATH": path}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(attempts, "make_in_child", make_here)
    with dg.DagsterInstance.get() as instance:
        job = definitions.defs.resolve_implicit_global_asset_job_def()
        stages = [dg.AssetKey(name) for name in STAGES]
        # A bundled dataset: the definitions were loaded before this home was there.
        assert job.execute_in_process(instance=instance, partition_key="circles_1", asset_selection=stages).success
    return team


def test_a_restored_server_knows_what_the_other_knew(
    used_here: TeamInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    team = used_here
    places = [str(tmp_path / "backups"), "--postgres", "dagster", "--postgres", "mlflow"]

    def facts() -> tuple[list[str], list[str], list[str]]:
        runs = team.dagster("select run_id, status from runs order by run_id")
        return runs, team.dagster("select count(*) from event_logs"), team.mlflow("select run_uuid, status from runs")

    for name, value in team.server.environment_of("backup").items():
        monkeypatch.setenv(name, value)
    before = facts()
    assert before[0]
    assert before[2]
    assert main(["backup", *places]) == 0
    assert main(["restore", *places]) == 1
    assert re.search("restoring would overwrite .*dagster, mlflow; move", capsys.readouterr().err)

    for database in ("dagster", "mlflow"):
        team.server.client("dropdb", "--force", database)
        team.server.client("createdb", "--owner", database, database)
    monkeypatch.setenv("AFLITE_HOME", str(tmp_path / "restored"))
    assert main(["restore", *places]) == 0
    assert facts() == before
    owners = "select distinct tableowner from pg_tables where schemaname = 'public'"
    assert (team.dagster(owners), team.mlflow(owners)) == (["dagster"], ["mlflow"])
    restored = {path.relative_to(tmp_path / "restored") for path in (tmp_path / "restored").rglob("manifest.json")}
    assert restored == {path.relative_to(team.root / "home") for path in (team.root / "home").rglob("manifest.json")}
    assert restored
