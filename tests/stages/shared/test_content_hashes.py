import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.data.hub import datasets as hub
from aflite_assets.errors import DataError, MissingDataError, ModelError
from aflite_assets.specs.models.settings import ImageModelSpec, SmallTransformerSpec, TextModelSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.shared import content_hashes as contents
from aflite_assets.stages.shared.content_hashes import MISSING, checkpoint_content, content_hashes

COMMIT = "a" * 40
CSV: dict[str, Any] = {"format": "csv", "splits": {"test": "gone.csv"}}
HUB: dict[str, Any] = {"format": "hub", "id": "me/gone", "revision": COMMIT, "splits": {"test": "test"}}


@pytest.fixture
def challenged(circles_content: dict[str, Any]) -> Callable[..., Any]:
    """Contents of the field challenge_sets for a spec with one challenge set."""

    def of(source: dict[str, Any], **options: Any) -> Any:
        circles_content["challenge_sets"] = {"hard": {"source": source, "columns": {"text": "t"}, **options}}
        hashes: Any = content_hashes(parse_spec(circles_content), ["challenge_sets"])
        return hashes["challenge_sets"]["hard"]

    return of


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str | None]]]:
    """The models whose commit the hub was asked for, by a hub that knows all but me/unknown."""
    models: list[tuple[str, str | None]] = []

    def resolve(repo_id: str, revision: str | None, *, kind: str) -> str:
        assert kind == "model"
        models.append((repo_id, revision))
        if repo_id == "me/unknown":
            raise ModelError("model 'me/unknown': it is private or not on the hub")
        return hashlib.sha1(repr(models[-1]).encode()).hexdigest()

    monkeypatch.setattr(hub, "resolve_commit", resolve)
    hub.model_commit.cache_clear()
    yield models
    hub.model_commit.cache_clear()


def _text(checkpoint: str, revision: str | None = None) -> TextModelSpec:
    return TextModelSpec(kind="huggingface_text", checkpoint=checkpoint, revision=revision)


def test_challenge_sets_that_need_not_be_there_are_missing(challenged: Callable[..., Any], tmp_path: Path) -> None:
    for source in (CSV, {"format": "image_folder", "splits": {"test": str(tmp_path / "gone")}}, HUB):
        assert challenged(source, required=False) == MISSING == {"missing": 1}
    with pytest.raises(MissingDataError, match=r"'gone\.csv' does not exist; correct its path"):
        challenged(CSV)
    (tmp_path / "there.csv").write_text("t,label\n")
    there = challenged({"format": "csv", "splits": {"test": str(tmp_path / "there.csv")}}, required=False)
    assert there["files"] == 1


def test_a_challenge_set_of_the_hub_is_its_commit_once_it_can_be_had(
    challenged: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert challenged(HUB) == {"commit": COMMIT}
    monkeypatch.setattr(contents, "check_available", lambda source: None)
    assert challenged(HUB, required=False) == {"commit": COMMIT}

    def unknown(source: Any) -> None:
        raise DataError("dataset 'me/gone': it is private or not on the hub")

    monkeypatch.setattr(contents, "check_available", unknown)
    with pytest.raises(DataError, match="it is private or not on the hub"):
        challenged(HUB, required=False)


def test_annotations_are_the_content_of_their_files(circles_content: dict[str, Any], tmp_path: Path) -> None:
    def content() -> Any:
        return content_hashes(parse_spec(circles_content), ["annotations"])["annotations"]

    assert content() == {}
    files = [tmp_path / name for name in ("b.csv", "a.csv")]
    circles_content["annotations"] = {
        "format": "csv", "files": [str(path) for path in files], "match": {"id": "id"}, "annotators": "label",
    }  # fmt: skip
    with pytest.raises(
        MissingDataError, match=re.escape(f"file '{files[0]}' of `annotations` does not exist; correct")
    ):
        content()
    for path in files:
        path.write_text(path.name)
    first = content()
    hashes = "\n".join(hashlib.sha256(path.name.encode()).hexdigest() for path in files)
    assert first == {"files": 2, "sha256": hashlib.sha256(hashes.encode()).hexdigest()}
    files[1].write_text("other")
    assert content() != first
    found = content()
    circles_content["annotations"]["required"] = False
    assert content() == found
    files[1].unlink()
    assert content() == {"missing": 1}


def test_hub_checkpoints_are_their_commit_asked_for_once(asked: list[tuple[str, str | None]]) -> None:
    one, again, other = (
        checkpoint_content(_text(id, rev)) for id, rev in (("me/a", None), ("me/a", None), ("b", "v1"))
    )
    assert asked == [("me/a", None), ("b", "v1")]
    assert one == again != other
    assert re.fullmatch("[0-9a-f]{40}", one["commit"])
    with pytest.raises(ModelError, match="model 'me/unknown': it is private or not on the hub"):
        checkpoint_content(_text("me/unknown"))


def test_pinned_checkpoints_need_no_network(circles_content: dict[str, Any]) -> None:
    circles_content["evaluators"] = {
        "pinned": {"kind": "huggingface_text", "checkpoint": "me/model", "revision": COMMIT},
        "linear": {"kind": "linear"},
    }
    assert content_hashes(parse_spec(circles_content), ["evaluators", "filter"]) == {
        "evaluators": {"pinned": {"commit": COMMIT}, "linear": {}}
    }


def test_unpinned_checkpoints_that_nobody_knows_are_refused() -> None:
    with pytest.raises(
        ModelError, match="model 'me/never-seen': `HF_HUB_OFFLINE` is set and revision 'main' is not in"
    ):
        checkpoint_content(_text("me/never-seen"))


def test_local_checkpoints_are_the_hashes_of_their_files(asked: list[tuple[str, str | None]], tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_bytes(b"{}")
    digest = hashlib.sha256(b"{}").hexdigest()
    assert checkpoint_content(_text(str(tmp_path / "model"))) == {"config.json": digest}
    weights = tmp_path / "model" / "config.json"
    image = ImageModelSpec(kind="timm_image", architecture="resnet18", checkpoint=str(weights))
    assert checkpoint_content(image) == {"config.json": digest}
    for settings in (
        ImageModelSpec(kind="timm_image", architecture="resnet18"),
        SmallTransformerSpec(kind="small_transformer"),
        _text("./nowhere"),
        _text(str(tmp_path / "nowhere")),
    ):
        assert checkpoint_content(settings) == {}
    assert asked == []
