"""`aflite doctor` as a user types it."""

import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.command_line import doctor
from aflite_assets.command_line.doctor import constraints_file, differing_packages
from aflite_assets.command_line.main import main
from aflite_assets.results import Draft, ResultKey, ResultStore


@pytest.fixture(autouse=True)
def no_constraints(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packages of whoever runs the tests are no matter of theirs."""
    monkeypatch.setattr(doctor, "constraints_file", lambda: None)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


def test_a_sound_home_has_nothing_wrong(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out == "nothing is wrong\n"
    assert not home.exists()


def write(draft: Draft) -> Mapping[str, Any]:
    (draft.path / "rows.txt").write_text("0123456789")
    return {}


def test_findings_are_lines_and_what_is_left_is_the_exit_code(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ResultStore(home / "results")
    damaged = store.get_or_create("raw_dataset", "digits", ResultKey("1", {"n": 1}, {}), write).result
    store.get_or_create("raw_dataset", "digits", ResultKey("1", {"n": 2}, {}), write)
    os.truncate(damaged.path / "rows.txt", 4)
    line = f"damaged result: {damaged.path}: rows.txt has 4 bytes instead of 10 - "
    assert main(["doctor"]) == 1
    said = capsys.readouterr()
    assert said.out == f"{line}materialise raw_dataset of digits again\n"
    assert said.err == "1 of 1 problems were not fixed\n"
    assert main(["doctor", "--fix"]) == 0
    assert capsys.readouterr().out == f"{line}mended; materialise raw_dataset of digits again\n"
    assert main(["doctor", "--deep"]) == 0
    assert not damaged.path.exists()


def test_packages_of_other_versions_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "constraints.txt"
    file.write_text("pyarrow==0.1\n")
    monkeypatch.setattr(doctor, "constraints_file", lambda: file)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"packages: installed in other versions than in {file}: pyarrow ")
    assert said.endswith(f"- pip install -c {file} pyarrow==0.1\n")


def test_only_other_versions_of_installed_packages_differ(tmp_path: Path) -> None:
    numpy, arrow = version("numpy"), version("pyarrow")
    file = tmp_path / "constraints.txt"
    file.write_text(f"# tested\nnumpy=={numpy}+cpu\npyarrow==0.1  # old\nnot-installed-here==1.0\n\n")
    assert differing_packages(file) == {"pyarrow": (arrow, "0.1")}


def test_the_tested_versions_are_those_of_the_projects_file() -> None:
    assert constraints_file() == Path(__file__).parents[2] / "constraints.txt"


@pytest.mark.parametrize(
    ("uri", "line"),
    [
        (
            "postgresql://ann:s3/cret@127.0.0.1:9/db",
            "MLflow's database: the tracking URI is postgresql://(not shown), which",
        ),
        (
            "postgresql+psycopg2://ann:s3cret@127.0.0.1:9/db",
            "MLflow's database: MLflow at postgresql+psycopg2://127.0.0.1:9/db cannot be used: ",
        ),
    ],
)
def test_a_tracking_database_that_cannot_be_reached_is_a_finding_without_its_password(
    uri: str, line: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert main(["doctor"]) == 1
    said = capsys.readouterr()
    assert said.out.startswith(line)
    assert "s3" not in said.out + said.err
