"""`aflite prune`, `pin`, `unpin` and `pins` as a user types them."""

import argparse
import json
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.command_line.main import main
from aflite_assets.command_line.prune import age
from aflite_assets.command_line.terminal import size
from aflite_assets.paths import cache_folder
from aflite_assets.results import Draft, PublishedResult, ResultKey, ResultStore
from aflite_assets.results.refresh_records import record_refresh


@pytest.fixture
def store(home: Path) -> ResultStore:
    return ResultStore(home / "results")


def write(draft: Draft) -> Mapping[str, Any]:
    (draft.path / "rows.txt").write_bytes(b"0" * 100_000)
    return {}


def refresh(store: ResultStore, number: int) -> PublishedResult:
    key = ResultKey("1", {"n": number}, {})
    result = store.get_or_create("published_dataset", "digits", key, write).result
    record_refresh(store, [result], what="test")
    return result


def test_prune_says_what_goes_and_how_many_bytes(store: ResultStore, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [refresh(store, number) for number in range(5)]
    assert main(["prune", "--keep", "2", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("would be removed:\n  results")
    assert all(run.path.exists() for run in runs)
    assert main(["prune", "--keep", "2"]) == 0
    assert capsys.readouterr().out == said.replace("would be removed", "removed").replace("would be kept", "kept")
    assert [run.path.exists() for run in runs] == [False, False, False, True, True]
    bytes_each = sum(path.stat().st_size for path in runs[-1].path.iterdir())
    lines = [line.split() for line in said.splitlines()]
    assert lines[1] == ["results", "3", *size(3 * bytes_each).split()]
    assert lines[3][:2] == ["total", "6"]
    assert lines[4:] == [
        ["would", "be", "kept:"],
        ["current", "1", *size(bytes_each).split()],
        ["used", "by", "refreshes", "that", "are", "kept", "1", *size(bytes_each).split()],
        ["total", "2", *size(2 * bytes_each).split()],
    ]
    assert main(["prune", "--keep", "2", "--older-than", "30d"]) == 0
    assert capsys.readouterr().out.startswith("nothing to remove\nkept:\n  current  ")


def test_prune_says_why_each_result_stays(store: ResultStore, capsys: pytest.CaptureFixture[str]) -> None:
    refresh(store, 0)
    assert main(["pin", "digits.published_dataset"]) == 0
    refresh(store, 1)
    refresh(store, 2)
    capsys.readouterr()
    assert main(["prune", "--keep", "1", "--older-than", "30d"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["nothing to remove", "kept:"]
    assert [re.split(r"  +", line.strip())[:2] for line in lines[2:]] == [
        ["current", "1"], ["pinned", "1"], ["newer than the given age", "1"], ["total", "3"],
    ]  # fmt: skip


def test_prune_of_an_empty_home(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prune"]) == 0
    assert capsys.readouterr().out == "nothing to remove\n"


def test_pins_are_listed_and_taken_back(store: ResultStore, capsys: pytest.CaptureFixture[str]) -> None:
    first = refresh(store, 0)
    assert main(["pin", "digits.published_dataset", "--note", "for \x1b[31mreviewers"]) == 0
    assert main(["pins"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    refresh(store, 1)
    assert main(["prune", "--keep", "1"]) == 0
    assert first.path.exists()
    assert main(["unpin", "digits"]) == 0
    assert f"unpinned: published_dataset of digits, {first.key}" in capsys.readouterr().out
    assert main(["prune", "--keep", "1"]) == 0
    assert not first.path.exists()
    assert main(["pins"]) == 0
    assert capsys.readouterr().out.endswith("nothing is pinned\n")
    assert main(["unpin", "digits"]) == 1
    assert "no result of 'digits' is pinned; run `aflite pins` to list" in capsys.readouterr().err
    assert main(["pin", "unknown"]) == 1
    assert "published_dataset of 'unknown' was never materialised" in capsys.readouterr().err


def test_a_whole_dataset_is_pinned_by_its_name(store: ResultStore) -> None:
    refresh(store, 0)
    store.get_or_create("raw_dataset", "digits", ResultKey("1", {}, {}), lambda draft: {})
    store.get_or_create("raw_dataset", "other", ResultKey("1", {}, {}), lambda draft: {})
    (store.root / "analysis" / "digits").mkdir(parents=True)  # as after a stage that failed
    assert main(["pin", "digits"]) == 0
    pins = [json.loads(path.read_text()) for path in (store.root / "pins").rglob("*.json")]
    assert sorted((pin["asset"], pin["partition"]) for pin in pins) == [
        ("published_dataset", "digits"), ("raw_dataset", "digits")
    ]  # fmt: skip


def test_kernels_of_older_sources_go(store: ResultStore, capsys: pytest.CaptureFixture[str]) -> None:
    refresh(store, 0)
    old = cache_folder("numba") / "0123"
    old.mkdir(parents=True)
    assert main(["prune", "--older-than", "0d"]) == 0
    assert "caches" in capsys.readouterr().out
    assert not old.exists()


def test_ages() -> None:
    assert (age("30d"), age("1.5h"), age("2w")) == (timedelta(30), timedelta(minutes=90), timedelta(14))
    for text in ("30", "d", "-1d", "1m"):
        with pytest.raises(argparse.ArgumentTypeError, match="is not an age; write an age such as 30d, 12h or 2w"):
            age(text)
    with pytest.raises(argparse.ArgumentTypeError, match="'99999999999d' is too long an age; write an age such as 30d"):
        age("99999999999d")


def test_a_dagster_home_that_does_not_exist_has_no_leftovers(
    store: ResultStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refresh(store, 0)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    assert main(["prune"]) == 0
    assert not (tmp_path / "dagster").exists()
    monkeypatch.setenv("DAGSTER_HOME", "dagster")
    capsys.readouterr()
    assert main(["prune"]) == 1
    assert capsys.readouterr().err == (
        "`DAGSTER_HOME` is 'dagster', which is a relative path; set it to an absolute path\n"
    )
