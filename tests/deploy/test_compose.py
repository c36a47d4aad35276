"""The team's instance as it is described: what would be unsafe or would not start is caught without Docker."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def test_the_services_are_these() -> None:
    assert set(SERVICES) == {"postgres", "migrate", "mlflow", "code", "webserver", "daemon"}


def test_only_pages_are_published_and_on_loopback_alone() -> None:
    ports = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert ports == {"mlflow": ["127.0.0.1:5000:5000"], "webserver": ["127.0.0.1:3000:3000"]}


@pytest.mark.parametrize("name", SERVICES)
def test_images_are_pinned(name: str) -> None:
    assert re.fullmatch(r"[\w/-]+:\d+\.\d+(\.\d+)?(-bookworm)?", SERVICES[name]["image"])


def test_the_image_is_built_from_a_pinned_one_and_not_run_as_root() -> None:
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("FROM ")] == ["FROM python:3.11.14-slim-bookworm"]
    assert [line for line in lines if line.startswith("USER ")] == ["USER aflite"]
    server = SERVICES["postgres"]["image"].partition(":")[2].partition(".")[0]
    assert any(f"postgresql-client-{server}" in line for line in lines), "pg_dump must not be older than the server"


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "migrate"])
def test_each_service_that_stays_is_watched_and_started_again(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check["test"][0] == "CMD"
    assert {"interval", "timeout", "retries"} <= set(check)
    assert SERVICES[name]["restart"] == "unless-stopped"


def test_nothing_touches_the_databases_before_they_are_made() -> None:
    assert SERVICES["migrate"]["restart"] == "no"
    assert SERVICES["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    migrated = {"condition": "service_completed_successfully"}
    for name in ("mlflow", "code"):
        assert SERVICES[name]["depends_on"]["migrate"] == migrated
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
            assert value.startswith("${PGPASSWORD:?") or value == "", value


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
