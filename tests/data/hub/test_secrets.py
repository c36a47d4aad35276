"""A token that came from a secret variable reaches the hub and nothing else."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from tests.data.hub.conftest import Hub

TOKEN = "hf_QkZ7onlyTheHubMaySeeThis"
DATASET = """
source:
  format: hub
  id: me/gated
  revision: main
  splits: {train: train.parquet, test: test.parquet}
  token: ${secret:TOKEN_OF_THE_TEST}
columns: {text: text}
representations: {small: {kind: small_transformer}}
evaluators: {linear: {kind: linear}}
"""


def test_secret_token_is_sent_to_the_hub_and_kept_nowhere(hub: "Hub", tmp_path: Path) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": ["a", "b", "c", "d"], "label": ["x", "y"] * 2}), sink)
    hub.publish("me/gated", {"train.parquet": sink.getvalue(), "test.parquet": sink.getvalue()}, gated=TOKEN)
    file = tmp_path / "gated.yaml"
    file.write_text(DATASET)
    request = {"file": str(file), "environment": {"TOKEN_OF_THE_TEST": TOKEN}}
    outcome = hub.worker.do("materialise", **request)
    assert "result" in outcome, outcome
    assert outcome["result"]["summary"]["rows"] == {"train": 4, "test": 4}
    assert f"Bearer {TOKEN}" in {asked["authorization"] for asked in hub.requests("me/gated")}

    kept = [path for path in hub.home.rglob("*") if path.is_file()]
    assert {"manifest.json", "mlflow.db"} <= {path.name for path in kept}
    assert not [path for path in kept if TOKEN.encode() in path.read_bytes()]
    assert TOKEN not in str(outcome)
    assert TOKEN not in hub.worker.said.read_text()


@pytest.mark.parametrize("token", ["hf_QkZ7wrongTokenOfTheTest", ""])
def test_secret_token_that_is_refused_is_not_shown(hub: "Hub", tmp_path: Path, token: str) -> None:
    hub.publish("me/closed", {"train.parquet": b"", "test.parquet": b""}, gated=TOKEN)
    file = tmp_path / "closed.yaml"
    file.write_text(DATASET.replace("me/gated", "me/closed"))
    outcome = hub.worker.do("materialise", file=str(file), environment={"TOKEN_OF_THE_TEST": token})
    assert outcome["error"] in ("MissingDataError", "SpecError"), outcome
    assert "QkZ7" not in outcome["message"] + outcome["trace"]
