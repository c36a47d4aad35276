"""The command that starts a run works where it is printed: in a shell, in the user's folder and in the project's."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from aflite_assets.refresh.launching import for_dataset, launch_command

VARIABLES = ("AFLITE_DATASETS", "AFLITE_HOME", "AFLITE_STORE", "DAGSTER_HOME")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This test's working folder; none of the variables is set."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _in_a_shell(command: str) -> dict[str, str]:
    """The variables that a shell gives the command."""
    printed = command.replace("dg launch", "env #")
    shown = subprocess.run(["sh", "-c", printed], capture_output=True, text=True, check=True).stdout
    return dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)


def test_the_module_is_named_so_that_any_folder_will_do(folder: Path) -> None:
    assert launch_command("mine") == "dg launch -m definitions --job benchmark --partition mine"


def test_variables_are_as_they_are_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_DATASETS", f"{folder}:/else where/$(x)'s")
    monkeypatch.setenv("AFLITE_HOME", f"{folder}/.aflite")
    monkeypatch.setenv("DAGSTER_HOME", "")
    command = launch_command("mine")
    assert command.endswith("dg launch -m definitions --job benchmark --partition mine")
    assert 'AFLITE_HOME="$PWD/.aflite" dg launch' in command
    assert "DAGSTER_HOME" not in command
    found = _in_a_shell(command)
    assert {name: found[name] for name in VARIABLES[:2]} == {name: os.environ[name] for name in VARIABLES[:2]}


def test_this_folder_is_written_short_and_others_in_full(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_DATASETS", str(folder))
    monkeypatch.setenv("DAGSTER_HOME", f"{folder}2/.dagster")
    command = launch_command("mine")
    assert command.startswith(f'AFLITE_DATASETS="$PWD" DAGSTER_HOME={shlex.quote(str(folder))}2/.dagster dg launch')


def test_a_text_about_any_dataset_is_made_one_about_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_HOME", "/data/NAMES")
    text = for_dataset(f"start it with `{launch_command('NAME')}`", "mine")
    assert text == "start it with `AFLITE_HOME=/data/NAMES dg launch -m definitions --job benchmark --partition mine`"
