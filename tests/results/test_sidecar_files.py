"""What is kept beside a result: made once, made again when it is missing, damaged or of another version."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.results import PublishedResult, ResultKey, ResultStore
from aflite_assets.results.manifests import sealed
from aflite_assets.results.sidecar_files import kept_beside, sources_version


@pytest.fixture
def result(tmp_path: Path) -> PublishedResult:
    def write(draft: Any) -> dict[str, Any]:
        (draft.path / "x").write_text("x")
        return {}

    return ResultStore(tmp_path / "results").get_or_create("a", "p", ResultKey("1", {}, {}), write).result


class Counting:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Any:
        self.calls += 1
        return {"n": self.calls, "text": "é", "nothing": float("inf")}


def files(result: PublishedResult) -> list[Path]:
    return sorted((result.path.parent / "shown").iterdir())


def test_a_value_is_made_once_and_changes_nothing_published(result: PublishedResult) -> None:
    version, published = result.data_version, sorted(result.path.iterdir())
    make = Counting()
    for _ in range(3):
        assert kept_beside(result, "pictures", version="v1", make=make) == {
            "n": 1, "text": "é", "nothing": float("inf"),
        }  # fmt: skip
    assert make.calls == 1
    assert [path.name for path in files(result)] == [f"{result.key}-pictures-v1.json"]
    assert sorted(result.path.iterdir()) == published
    assert PublishedResult("a", "p", result.key, result.path).data_version == version


def test_names_stand_beside_each_other_and_a_new_version_replaces_the_old(result: PublishedResult) -> None:
    make = Counting()
    kept_beside(result, "pictures", version="v1", make=make)
    kept_beside(result, "findings", version="v1", make=make)
    assert kept_beside(result, "pictures", version="v2", make=make)["n"] == 3
    assert [path.name.removeprefix(f"{result.key}-") for path in files(result)] == [
        "findings-v1.json",
        "pictures-v2.json",
    ]
    assert kept_beside(result, "findings", version="v1", make=make)["n"] == 2


@pytest.mark.parametrize("damage", [b"", b"[1]", b"\xff", b'{"value": 1}', b"null", b"[" * 100_000])
def test_what_is_damaged_is_made_again(result: PublishedResult, damage: bytes) -> None:
    make = Counting()
    kept_beside(result, "pictures", version="v1", make=make)
    (path,) = files(result)
    whole = path.read_bytes()
    for content in (damage, whole.replace(b'\\"n\\": 1', b'\\"n\\": 9'), whole[:-9]):
        assert content != whole
        path.write_bytes(content)
        before = make.calls
        assert kept_beside(result, "pictures", version="v1", make=make)["n"] == before + 1


def test_a_value_that_is_no_json_is_made_again(result: PublishedResult) -> None:
    make = Counting()
    kept_beside(result, "pictures", version="v1", make=make)
    (path,) = files(result)
    path.write_text(json.dumps(sealed({**json.loads(path.read_text()), "value": "x"})))
    assert kept_beside(result, "pictures", version="v1", make=make)["n"] == 2


def test_a_result_made_again_with_other_content_has_its_own(result: PublishedResult, tmp_path: Path) -> None:
    make = Counting()
    kept_beside(result, "pictures", version="v1", make=make)
    again = PublishedResult("a", "p", result.key, result.path)
    again.__dict__["manifest"] = {**result.manifest, "data_version": "other"}
    assert kept_beside(again, "pictures", version="v1", make=make)["n"] == 2


def test_what_cannot_be_kept_is_said_and_returned(result: PublishedResult, caplog: pytest.LogCaptureFixture) -> None:
    (result.path.parent / "shown").write_text("in the way")
    with caplog.at_level(logging.WARNING):
        assert kept_beside(result, "pictures", version="v1", make=Counting())["n"] == 1
    assert "pictures-v1.json could not be written (File exists)" in caplog.text


def test_a_version_changes_with_the_code(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("1")
    (tmp_path / "b.py").write_text("2")
    versions = []
    for path, text in (("b.py", "2"), ("b.py", "3"), ("code/a.py", "2"), ("code/c.py", "")):
        (tmp_path / path).write_text(text)
        sources_version.cache_clear()
        versions.append(sources_version((tmp_path / "b.py", tmp_path / "code")))
    assert len(set(versions)) == 4
    assert all(len(version) == 12 for version in versions)


def test_a_value_that_is_too_large_to_be_read_again_is_returned(
    result: PublishedResult, caplog: pytest.LogCaptureFixture
) -> None:
    large = "x" * (64 << 20)
    with caplog.at_level(logging.WARNING):
        assert kept_beside(result, "pictures", version="v1", make=lambda: large) == large
    assert "pictures-v1.json could not be written (a manifest of 67," in caplog.text
