"""The team's instance as it is described: what would be unsafe or would not start is caught without Docker."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


ONCE = ("migrate", "migrate-mlflow", "backup")
"""Services that end."""
PASSWORDS = ("POSTGRES_PASSWORD", "DAGSTER_PGPASSWORD", "MLFLOW_PGPASSWORD", "BACKUP_PGPASSWORD")


def test_the_services_are_these() -> None:
    assert set(SERVICES) == {
        *("postgres", "migrate", "migrate-mlflow", "mlflow", "code", "webserver", "daemon", "backup"),
    }
    assert [name for name, service in SERVICES.items() if "profiles" in service] == ["backup"]


def test_only_pages_are_published_and_on_loopback_alone() -> None:
    ports = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert ports == {"mlflow": ["127.0.0.1:5000:5000"], "webserver": ["127.0.0.1:3000:3000"]}


@pytest.mark.parametrize("name", SERVICES)
def test_images_are_pinned(name: str) -> None:
    own, foreign = r"aflite-assets:\d+\.\d+\.\d+", r"postgres:\d+\.\d+-bookworm\$\{POSTGRES_DIGEST:-\}"
    assert re.fullmatch(f"{own}|{foreign}", SERVICES[name]["image"])
    if "build" in SERVICES[name]:
        assert SERVICES[name]["build"]["args"] == {"PYTHON_DIGEST": "${PYTHON_DIGEST:-}"}


def test_the_image_is_built_from_a_pinned_one_and_not_run_as_root() -> None:
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines()
    start = ["ARG PYTHON_DIGEST=", "FROM python:3.11.14-slim-bookworm${PYTHON_DIGEST}"]
    assert [line for line in lines if line.startswith(("ARG ", "FROM "))] == start
    assert [line for line in lines if line.startswith("USER ")] == ["USER aflite"]
    server = SERVICES["postgres"]["image"].partition(":")[2].partition(".")[0]
    assert any(f"postgresql-client-{server}" in line for line in lines), "pg_dump must not be older than the server"


@pytest.mark.parametrize("name", [name for name in SERVICES if name not in ONCE])
def test_each_service_that_stays_is_watched_and_started_again(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check["test"][0] == "CMD"
    assert {"interval", "timeout", "retries"} <= set(check)
    assert SERVICES[name]["restart"] == "unless-stopped"


def test_nothing_touches_the_databases_before_they_are_made() -> None:
    for name in ONCE:
        assert SERVICES[name]["restart"] == "no"
        assert SERVICES[name]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    migrated = {"condition": "service_completed_successfully"}
    assert SERVICES["mlflow"]["depends_on"] == {"migrate-mlflow": migrated}
    assert SERVICES["code"]["depends_on"] == {"migrate": migrated, "mlflow": {"condition": "service_healthy"}}
    # While the roles are made, the server listens on its socket alone.
    assert "--host=127.0.0.1" in SERVICES["postgres"]["healthcheck"]["test"]
    for name in ("webserver", "daemon"):
        assert SERVICES[name]["depends_on"] == {"code": {"condition": "service_healthy"}}


def test_volumes_that_are_used_are_declared() -> None:
    used = {
        volume.partition(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", ())
        if re.match(r"\w", volume)
    }
    assert used == set(COMPOSE["volumes"])
    mounted = [volume for service in SERVICES.values() for volume in service.get("volumes", ())]
    for volume in mounted:
        if volume.startswith("./"):
            assert (DEPLOY / volume.partition(":")[0]).is_file(), volume


@pytest.mark.parametrize("path", sorted(DEPLOY.glob("*")), ids=lambda path: path.name)
def test_no_password_stands_in_a_file(path: Path) -> None:
    if path.is_file() and path.name != ".env":
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"://[^/\s]*:[^/\s]*@", text)
        for value in re.findall(r"PASSWORD[=:] *(\S*)", text):
            assert re.match(r"\$\{\w+PASSWORD:\?", value) or value == "", value


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_bounded_and_gains_no_rights(name: str) -> None:
    service = SERVICES[name]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["logging"] == {"driver": "json-file", "options": {"max-size": "10m", "max-file": "5"}}
    assert re.fullmatch(r"\d+g|\$\{AFLITE_CODE_MEMORY:-\d+g\}", service["mem_limit"])
    assert not {"privileged", "cap_add", "pid", "network_mode"} & set(service)


def test_each_password_is_given_to_those_who_need_it() -> None:
    given = {
        name: {
            word for value in service["environment"].values() for word in re.findall(r"\$\{(\w+PASSWORD)", str(value))
        }
        for name, service in SERVICES.items()
    }
    dagster = {"DAGSTER_PGPASSWORD"}
    assert given == {
        "postgres": set(PASSWORDS),
        "migrate": dagster,
        "code": dagster,
        "webserver": dagster,
        "daemon": dagster,
        "migrate-mlflow": {"MLFLOW_PGPASSWORD"},
        "mlflow": {"MLFLOW_PGPASSWORD"},
        "backup": {"BACKUP_PGPASSWORD"},
    }
    users = {name: service["environment"].get("PGUSER") for name, service in SERVICES.items()}
    assert {users[name] for name in ("migrate", "code", "webserver", "daemon")} == {"dagster"}
    assert (users["mlflow"], users["migrate-mlflow"], users["backup"]) == ("mlflow", "mlflow", "backup")
    assert [name for name, service in SERVICES.items() if "AFLITE_ALERT_WEBHOOK" in service["environment"]] == ["code"]


def test_backups_are_reached_by_the_backup_alone() -> None:
    mounted = {name: [volume.split(":")[-1] for volume in service["volumes"]] for name, service in SERVICES.items()}
    assert [name for name, places in mounted.items() if "/srv/backups" in places] == ["backup"]
    assert [name for name, places in mounted.items() if "/srv/mlflow" in places] == ["mlflow", "backup"]


def test_the_example_names_every_variable() -> None:
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    example = (DEPLOY / "env.example").read_text(encoding="utf-8")
    named = {line.partition("=")[0] for line in example.splitlines() if not line.startswith("#")}
    assert named == {*re.findall(r"\$\{(\w+)", text), "COMPOSE_PROJECT_NAME"}


def _compose() -> list[str] | None:
    """The command that reads a compose file, if one is installed; it asks no engine."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if (
            shutil.which(command[0])
            and subprocess.run([*command, "version"], capture_output=True, check=False).returncode == 0
        ):
            return command
    return None


@pytest.mark.parametrize("digest", ["", "@sha256:" + "0" * 64])
def test_compose_reads_the_file(tmp_path: Path, digest: str) -> None:
    command = _compose()
    if command is None:
        pytest.skip("neither `docker compose` nor docker-compose is installed")
    variables = tmp_path / "env"
    lines = [*(f"{name}=p$x{number}" for number, name in enumerate(PASSWORDS)), f"POSTGRES_DIGEST={digest}"]
    variables.write_text("\n".join(lines))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AFLITE", "PG"))}

    def read(file: Path) -> subprocess.CompletedProcess[str]:
        options = ["-f", str(DEPLOY / "compose.yaml"), "--env-file", str(file), "--profile", "backup", "config"]
        return subprocess.run([*command, *options], env=environment, capture_output=True, text=True, check=False)

    done = read(variables)
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    assert set(services) == set(SERVICES)
    assert services["postgres"]["image"] == f"postgres:15.18-bookworm{digest}"
    assert services["backup"]["environment"]["PGPASSWORD"].startswith("p$")
    assert services["code"]["environment"]["PGPASSWORD"] != services["mlflow"]["environment"]["PGPASSWORD"]
    variables.write_text("\n".join(lines[1:]))
    refused = read(variables)
    assert refused.returncode != 0
    assert "write it into deploy/.env" in refused.stdout + refused.stderr


def test_the_daemon_settings_are_those_of_one_machine_and_more() -> None:
    own = yaml.safe_load((DEPLOY.parent / "dagster.yaml").read_text(encoding="utf-8"))
    team = yaml.safe_load((DEPLOY / "dagster.yaml").read_text(encoding="utf-8"))
    for setting in ("telemetry", "nux", "python_logs"):
        assert team[setting] == own[setting]
    assert team["concurrency"]["pools"] == own["concurrency"]["pools"]
    assert team["storage"]["postgres"]["postgres_url"].startswith("postgresql+psycopg2:///dagster")
    assert team["run_retries"]["retry_on_asset_or_op_failure"] is False


def test_dagsters_pages_stand_behind_the_guard() -> None:
    assert SERVICES["webserver"]["command"][:2] == ["aflite", "web"]
