"""The benchmark of training: both loops do the same work, and its table says what was measured."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.fixture
def benchmark() -> Any:
    from benchmarks import training

    return training


def _work(benchmark: Any, rows: int = 40, precision: str = "float32", **changes: Any) -> Any:
    device = benchmark.DeviceSettings("cpu", precision)
    settings = {"epochs": 2, "batch_size": 16, "max_length": 32, **changes}
    return benchmark.new_work(benchmark.example_rows(None, rows), device, checkpoint=None, size="tiny", **settings)


def _trained(benchmark: Any, work: Any, contestant: str) -> tuple[float, dict[str, Any]]:
    loss = benchmark._from_start(work, benchmark.CONTESTANTS[contestant])
    return loss, {name: weights.clone() for name, weights in work.classifier.model.state_dict().items()}


def test_both_loops_train_the_same_model(benchmark: Any) -> None:
    work = _work(benchmark)
    plain, plain_weights = _trained(benchmark, work, benchmark.PLAIN_TRAINING)
    ours, weights = _trained(benchmark, work, benchmark.SAME_BATCHES)
    assert ours == pytest.approx(plain, rel=1e-6)
    assert not math.isclose(plain, math.log(3), rel_tol=1e-3)
    moved = max(float((weights[name] - work.start[name]).abs().max()) for name in weights)
    apart = max(float((weights[name] - plain_weights[name]).abs().max()) for name in weights)
    assert apart < 1e-3 * moved
    assert _trained(benchmark, work, benchmark.SAME_BATCHES)[0] == ours


def test_both_loops_extract_the_same_features(benchmark: Any) -> None:
    work = _work(benchmark, rows=300)
    features = benchmark.extract_ours(work)
    assert features.shape == (300, 16)
    np.testing.assert_allclose(features, benchmark.extract_plain(work), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("precision", ["float32", pytest.param("bfloat16", marks=pytest.mark.slow)])
def test_the_table_says_what_was_measured(
    benchmark: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    monkeypatch.delenv("AFLITE_EXAMPLE_DATA", raising=False)
    monkeypatch.setattr(benchmark.os, "getloadavg", lambda: (0.75, 0.0, 0.0))
    options = ["--random-weights", "tiny", "--rows", "128", "--batch-size", "16", "--repetitions", "1"]
    lines = benchmark.main([*options, "--precision", precision])
    written = capsys.readouterr().out
    assert list(lines) == list(benchmark.CONTESTANTS)
    for name, line in lines.items():
        assert len(line.turns) == len(line.short_turns) == 1
        assert (line.effort.rows, line.short_effort.rows) == (128, 16)
        assert 0 < line.effort.tokens <= line.effort.padded_tokens
        assert all(turn.seconds > 0 and turn.cpu_seconds > 0 and math.isfinite(turn.result) for turn in line.turns)
        assert all(turn.peak >= 0 for turn in line.turns)
        assert f"| {name} |" in written
    plain, ours, bucketed = (
        lines[name] for name in (benchmark.PLAIN_TRAINING, benchmark.SAME_BATCHES, benchmark.BUCKETED)
    )
    assert ours.turns[0].result == pytest.approx(plain.turns[0].result, rel=1e-6 if precision == "float32" else 1e-2)
    assert plain.effort == ours.effort
    assert bucketed.effort.padded_tokens < ours.effort.padded_tokens
    assert bucketed.effort.operations < ours.effort.operations
    assert "load before 0.8" in written
    assert "The machine is NOT QUIET" in written
    assert f"{precision}, " in written


def test_operations_are_counted_by_hand(benchmark: Any) -> None:
    work = _work(benchmark, rows=8, epochs=1, batch_size=8)
    longest = int(work.lengths.max())
    weights = sum(p.numel() for n, p in work.classifier.model.named_parameters() if not n.startswith("bert.embeddings"))
    training, extraction = (benchmark.effort(work, name) for name in (benchmark.SAME_BATCHES, benchmark.EXTRACTION))
    assert training.padded_tokens == extraction.padded_tokens == 8 * longest
    assert training.operations == 8 * longest * (6 * weights + 12 * 1 * 16 * longest)
    assert extraction.operations == training.operations / 3


def test_ratios_are_of_the_same_turns(benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import turns

    effort = turns.Effort(10, 80, 100, 1e6)

    def line(seconds: list[float], short: float) -> Any:
        whole = [turns.Turn(one, 2 * one, 0.0, 0.5) for one in seconds]
        return turns.Line(effort, whole, effort, [turns.Turn(short, short, 0.0, 0.5)] * len(seconds))

    ours, plain = line([2.0, 4.0, 5.0], 1.0), line([4.0, 4.0, 10.0], 1.0)
    assert ours.rates == [5.0, 2.5, 2.0]
    assert ours.times_as_fast(plain) == [2.0, 1.0, 2.0]
    assert ours.after_set_up(plain) == pytest.approx(3 / 3)
    assert line([3.0], 2.0).after_set_up(line([5.0], 2.0)) == pytest.approx(3.0)
    assert line([3.0], 2.0).after_set_up(line([5.0], 2.0), cpu=True) == pytest.approx(8 / 4)
    assert math.isnan(line([1.0], 2.0).after_set_up(plain))
    written = turns.table({"plain": plain, "ours": ours}, {"ours": "plain"}, rate=1e6)
    assert "| ours | 2.5 (2.0 to 5.0) | 20 | plain: 2.00 (1.00 to 2.00) | 1.00 |" in written
    assert "| 20% | 25% | 0 | 0.50000 |" in written


def test_rows_of_parquet_files_are_read(benchmark: Any, tmp_path: Path) -> None:
    (tmp_path / "snli").mkdir()
    for number, name in enumerate(("test", "validation")):
        rows = {"premise": [f"{name} a", f"{name} b"], "hypothesis": ["c", "d"], "label": [number, 2]}
        pq.write_table(pa.table(rows), tmp_path / "snli" / f"{name}.parquet")
    examples = benchmark.example_rows(tmp_path, 3)
    assert examples.texts() == ["test a", "test b", "validation a"]
    assert examples.labels.tolist() == [0, 2, 1]


def test_a_checkpoint_is_the_model_that_is_measured(benchmark: Any, tmp_path: Path) -> None:
    _work(benchmark).classifier.save(tmp_path)
    examples, device = benchmark.example_rows(None, 20), benchmark.DeviceSettings("cpu")
    settings = {"epochs": 1, "batch_size": 8, "max_length": 16}
    work = benchmark.new_work(examples, device, checkpoint=str(tmp_path), size="small", **settings)
    assert work.classifier.settings.kind == "huggingface_text"
    assert work.classifier.model.config.hidden_size == 16
    plain, ours = (_trained(benchmark, work, name)[0] for name in (benchmark.PLAIN_TRAINING, benchmark.SAME_BATCHES))
    assert ours == pytest.approx(plain, rel=1e-6)
