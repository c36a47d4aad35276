from pathlib import Path

import pyarrow as pa
import pytest

from aflite_assets.tracking import NullTracker, Tracker


def test_everything_is_accepted_and_nothing_kept(tmp_path: Path) -> None:
    tracker: Tracker = NullTracker()
    with tracker.run("filtered_sets", "snli", "k1") as run, run.child("seed 0", tags={"a": "b"}) as child:
        for each in (run, child):
            each.log_parameters({"a": {"b": 1}})
            each.log_metrics({"accuracy": 0.5}, step=1)
            each.log_dataset("snli", digest="ff", context="training")
            each.log_artifact(tmp_path / "missing.html")
            each.log_table("words", pa.table({"word": ["not"], "z": [4.0]}))
            assert each.reference is None
    tracker.published("filtered_sets", "snli", "k1", data_version="d0", parts={})
    assert list(tmp_path.iterdir()) == []


def test_errors_pass_through() -> None:
    with pytest.raises(ValueError, match="as raised"), NullTracker().run("filtered_sets", "snli", "k1"):
        raise ValueError("as raised")
