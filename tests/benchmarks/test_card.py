"""The benchmark of a GPU runs through on the CPU with tiny sizes, and its numbers are those of one device twice."""

import json
from pathlib import Path

import pytest

from benchmarks import card


def test_every_part_runs_on_a_cpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "card.json"
    assert card.main(["--small", "--device", "cpu", "--limit", "3600", "--output", str(output)]) == 0
    found = json.loads(output.read_text("utf-8"))
    assert found == json.loads(capsys.readouterr().out)
    assert [*found] == [*card.PARTS]
    assert found["engine"]["parity"]["agreement"] == 1.0
    assert [one["classes"] for one in found["engine"]["optimum"]] == [3, 20]
    assert all(one[where] >= 0.9999 for one in found["engine"]["optimum"] for where in ("resident", "streamed"))
    for precision in ("bfloat16", "float32"):
        rates = {name: line["rows_per_second"] for name, line in found["text"][precision].items()}
        assert {name.split(",")[0] for name in rates} == {"training", "extraction"}
        assert all(rate > 0 for each in rates.values() for rate in each)
    assert found["two_cells"]["skipped"] == "there is no card to share"
    assert found["resume"]["largest_difference"] == {"repeated": 0.0, "resumed": 0.0}
    assert any("of 40" in line for line in found["resume"]["log"])
    assert not any("epoch 1 of 40" in line for line in found["resume"]["log"])
    assert (found["filter"]["rows"], found["filter"]["kept"]) == (2_000, 1_000)
    assert found["filter"]["iterations"] == 26
    before, after = found["filter"]["bias"]
    assert 0.5 > before > after > 0.2


def test_what_begins_too_late_is_skipped() -> None:
    found = card.run(card.Bench(card.SMALL, "cpu"), ["two_cells"], limit=-1.0, output=None)
    assert found == {"two_cells": {"skipped": "begun after -1 s"}}


def test_an_error_is_recorded_and_the_next_part_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(bench: card.Bench) -> dict[str, object]:
        raise RuntimeError("no memory left")

    monkeypatch.setitem(card.PARTS, "image", broken)
    found = card.run(card.Bench(card.SMALL, "cpu"), ["image", "two_cells"], limit=10.0, output=None)
    assert found["image"]["error"].endswith("RuntimeError: no memory left\n")
    assert "skipped" in found["two_cells"]
