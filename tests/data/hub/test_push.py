"""`aflite push` against a hub of the test's own, and what arrives there opened with `datasets`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import STAGES, run_stage
from tests.data.hub.conftest import Hub, Worker

BEFORE = list(STAGES)[: list(STAGES).index("published_dataset") + 1]


def publish(hub: Hub, **filtering: Any) -> PublishedResult:
    """Every stage up to the published folder of a small table, in the worker's home."""
    store = ResultStore(hub.home / "results")
    rng = np.random.default_rng(0)
    for split, rows in (("train", 80), ("test", 20)):
        label = np.arange(rows) % 2
        columns = {"width": rng.normal(4 * label, 1), "height": rng.normal(0, 1, rows), "kind": label}
        pq.write_table(pa.table(columns), hub.home / f"{split}.parquet")
    files = {split: str(hub.home / f"{split}.parquet") for split in ("train", "test")}
    spec = parse_spec(
        {
            "name": "frogs",
            "source": {"format": "parquet", "splits": files},
            "columns": {"features": ["width", "height"], "label": "kind"},
            "labels": {"toad": 0, "frog": 1},
            "warmup": {"size": 10},
            "representations": {"given": {"kind": "identity"}},
            "filter": {"target_size": 40, "train_size": 20, "slice_size": 40, "n_partitions": 8, **filtering},
            "evaluators": {"linear": {"kind": "linear"}},
        }
    )
    for stage in BEFORE:
        published = run_stage(stage, spec, store=store).result
    return published


@pytest.fixture(scope="module")
def frogs(hub: Hub) -> PublishedResult:
    return publish(hub)


def push(worker: Worker, *arguments: str, token: str | None = "hf_me") -> dict[str, Any]:
    outcome = worker.do("command", arguments=["push", *arguments], token=token)
    assert "result" in outcome, outcome.get("trace")
    answer: dict[str, Any] = outcome["result"]
    return answer


def refusal(worker: Worker, *arguments: str, token: str | None = "hf_me") -> str:
    answer = push(worker, *arguments, token=token)
    assert answer["code"] == 1, answer
    return str(answer["err"])


def repository(hub: Hub, id: str) -> tuple[set[str], Mapping[str, Any]]:
    """The files at the repository's head, and who may see it."""
    folder = hub.root / "datasets" / id
    head = folder / "commits" / json.loads((folder / "refs.json").read_text())["main"]
    files = {path.relative_to(head).as_posix() for path in head.rglob("*") if path.is_file()}
    return files, json.loads((folder / "access.json").read_text())


def sent(result: PublishedResult) -> set[str]:
    files = {path.relative_to(result.path).as_posix() for path in (result.path / "data").rglob("*.parquet")}
    return {"README.md", ".gitattributes", *files}


def test_a_folder_is_pushed_private_and_opens_from_the_hub(hub: Hub, frogs: PublishedResult) -> None:
    answer = push(hub.worker, "frogs", "me/frogs")
    assert answer["code"] == 0, answer
    assert answer["out"].startswith("frogs to the dataset me/frogs (private)\n")
    assert f"filtered       train {frogs.summary['rows']['filtered']['train']}" in answer["out"]
    assert 'load it with datasets.load_dataset("me/frogs", "filtered")' in answer["out"]
    files, access = repository(hub, "me/frogs")
    assert files == sent(frogs)
    assert access == {"private": True}
    head = hub.root / "datasets/me/frogs"
    assert (head / "message.txt").read_text() == f"frogs, data version {frogs.data_version}"
    loaded = hub.worker.do("load_dataset", id="me/frogs", config="filtered", token="hf_me")
    assert "result" in loaded, loaded.get("trace")
    train = loaded["result"]["train"]
    assert train["rows"] == pq.read_table(frogs.file("data/filtered/train.parquet")).to_pylist()
    assert "ClassLabel(names=['toad', 'frog']" in train["features"]
    assert "hf_me" not in answer["out"] + answer["err"]


def test_another_push_replaces_the_tables(hub: Hub, frogs: PublishedResult) -> None:
    assert push(hub.worker, "frogs", "me/again")["code"] == 0
    folder = hub.root / "datasets/me/again"
    head = folder / "commits" / json.loads((folder / "refs.json").read_text())["main"]
    (head / "data" / "hard").mkdir(exist_ok=True)
    (head / "data" / "hard" / "old.parquet").write_bytes(b"old")
    other = publish(hub, threshold=0.9)
    assert other.data_version != frogs.data_version
    answer = push(hub.worker, "frogs", "me/again")
    assert answer["code"] == 0, answer
    assert repository(hub, "me/again")[0] == sent(other)


def test_public_is_asked_for_and_never_changed_by_a_push(hub: Hub, frogs: PublishedResult) -> None:
    answer = push(hub.worker, "frogs", "me/open", "--public")
    assert answer["code"] == 0, answer
    assert "(public, everybody can read it)" in answer["out"]
    assert repository(hub, "me/open")[1] == {"private": False}
    assert "dataset 'me/open' already exists and is public, but a push does not change the visibility; add" in refusal(
        hub.worker, "frogs", "me/open"
    )
    assert push(hub.worker, "frogs", "me/shut")["code"] == 0
    assert "already exists and is private, but a push does not change the visibility; remove `--public`" in refusal(
        hub.worker, "frogs", "me/shut", "--public"
    )
    assert repository(hub, "me/shut")[1] == {"private": True}


def test_a_dry_run_says_what_would_be_sent_and_asks_nothing(hub: Hub, frogs: PublishedResult) -> None:
    answer = push(hub.worker, "frogs", "me/dry", "--dry-run", token=None)
    assert answer["code"] == 0
    lines = answer["out"].splitlines()
    assert lines[0] == "frogs to the dataset me/dry (private)"
    assert lines[-1] == "nothing was sent (--dry-run)"
    size = len(sent(frogs)) - 1
    assert any(line.startswith(f"  {size} files, ") and line.endswith(": the card and the tables") for line in lines)
    assert not (hub.root / "datasets/me/dry").exists()
    assert hub.requests("me/dry") == []


def test_files_that_no_push_made_are_not_deleted(hub: Hub, frogs: PublishedResult) -> None:
    assert frogs.asset == "published_dataset"
    before = repository(hub, "me/pairs")
    message = refusal(hub.worker, "frogs", "me/pairs", "--public")
    assert "dataset 'me/pairs' contains files that `aflite push` did not create" in message
    assert (
        "files, and its card lacks the tag 'aflite'), and a push would delete the files in data/; name another id"
    ) in message
    assert repository(hub, "me/pairs") == before


def test_what_the_hub_refuses_is_said_plainly(hub: Hub, frogs: PublishedResult) -> None:
    assert frogs.asset == "published_dataset"
    assert "there is no token for the push; set `HF_TOKEN`, or log in with `hf auth login`" in refusal(
        hub.worker, "frogs", "me/new", token=None
    )
    message = refusal(hub.worker, "frogs", "you/new")
    assert "dataset 'you/new': the token may not write there; use one with write access to 'you'" in message
    message = refusal(hub.worker, "frogs", "me/new", token="hf_expired")
    assert "the hub refuses the token that was sent" in message
    assert "hf_expired" not in message
    assert not (hub.root / "datasets/me/new").exists()


def test_nobody_answers(without_hub: Worker, frogs: PublishedResult) -> None:
    assert frogs.asset == "published_dataset"
    message = refusal(without_hub, "frogs", "me/frogs")
    assert message.startswith("dataset 'me/frogs': the hub at http://127.0.0.1:9 cannot be reached (")
    assert message.endswith("); try again later\n")


def test_what_was_never_published_is_not_pushed(hub: Hub) -> None:
    message = refusal(hub.worker, "toads", "me/toads")
    assert message.startswith("published_dataset of 'toads' was never materialised")


def test_an_id_without_an_owner_is_wrong_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from aflite_assets.command_line.main import main

    with pytest.raises(SystemExit, match="2"):
        main(["push", "frogs", "frogs"])
    assert "'frogs' is not a repository id of the hub; write OWNER/NAME" in capsys.readouterr().err
