"""The benchmark of the filter beside other work: its shares, its verdicts, its processes."""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def benchmark() -> Any:
    from benchmarks import contention

    return contention


@pytest.mark.parametrize(
    ("filters", "threads", "busy", "share"),
    [(1, 1, 0, 1.0), (1, 1, 1, 1.0), (1, 2, 0, 1.0), (1, 2, 1, 1.5), (1, 1, 4, 2.5), (2, 2, 0, 2.0), (2, 2, 4, 4.0)],
)
def test_the_fair_share_of_two_cores(benchmark: Any, filters: int, threads: int, busy: int, share: float) -> None:
    assert benchmark.Cell(filters, threads, busy).fair_share(2) == share


def test_the_grid_has_every_combination_once_and_the_quiet_cells(benchmark: Any) -> None:
    assert benchmark.grid([1, 2], [2], [0, 4]) == [
        benchmark.Cell(*cell) for cell in ((1, 1, 0), (1, 2, 0), (2, 1, 0), (2, 1, 4), (2, 2, 0), (2, 2, 4))
    ]
    assert len(benchmark.grid([1, 2], [1, 2], benchmark.BUSY)) == 16
    assert benchmark._doubled(1) == [1]
    assert benchmark._doubled(6) == [1, 2, 4]


def test_lines_hold_the_90th_percentile_against_the_quiet_cell(benchmark: Any) -> None:
    quiet, beside = benchmark.Cell(1, 2, 0), benchmark.Cell(1, 2, 2)
    passes = {
        quiet: [benchmark.Pass(seconds, 0.5) for seconds in (0.9, 1.0, 1.1)],
        beside: [benchmark.Pass(2.0 + tenth / 10, 0.6) for tenth in range(11)],
    }
    lines = benchmark.lines_of(passes, cores=2)
    line = lines[beside]
    assert (line.median, line.percentile, line.worst) == pytest.approx((2.5, 2.9, 3.0))
    assert (line.fair, line.of_fair, line.of_quiet_cpu) == pytest.approx((2.0, 1.45, 1.2))
    assert lines[quiet].is_met
    assert not line.is_met
    assert benchmark.lines_of(passes, cores=1)[beside].is_met
    spinning = passes | {beside: [benchmark.Pass(2.0, 0.7)] * 3}
    assert not benchmark.lines_of(spinning, cores=2)[beside].is_met
    written = benchmark.table("some", lines).splitlines()
    assert written[3] == "| some | 1 | 2 | 2 | 2.50 | 2.90 | 3.00 | 2.00 | 1.45 | 0.60 | 1.20 | NO |"
    assert written[2].endswith("| 1.00 | yes |")


def test_a_machine_that_is_not_quiet_is_refused(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark.os, "getloadavg", lambda: (0.75, 0.0, 0.0))
    with pytest.raises(SystemExit):
        benchmark.main([])
    assert "the load is 0.8, above 0.5: wait until the machine is quiet, or give --anyway" in capsys.readouterr().err


def test_processes_run_where_a_cell_needs_them_and_are_ended(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def kept(*given: Any, **options: Any) -> Any:
        started.append(popen(*given, **options))
        return started[-1]

    monkeypatch.setattr(benchmark.subprocess, "Popen", kept)
    monkeypatch.setattr(benchmark.os, "getloadavg", lambda: (0.75, 0.0, 0.0))
    options = [
        benchmark.SMALL,
        "--anyway",
        "--threads",
        "1",
        "--filters",
        "2",
        "--busy",
        "0",
        "1",
        "--repetitions",
        "1",
    ]
    lines = benchmark.main(options)[benchmark.SMALL]
    assert list(lines) == [benchmark.Cell(*cell) for cell in ((1, 1, 0), (2, 1, 0), (2, 1, 1))]
    assert all(0 < line.cpu_median <= line.median * 1.5 for line in lines.values())
    assert len(started) == 3
    assert all(process.returncode == -9 for process in started)
    written = capsys.readouterr().out
    assert "load before 0.8, 1 passes per cell\nThe machine is NOT QUIET" in written
    assert f"| {benchmark.SMALL} | 2 | 1 | 1 |" in written


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processes' CPU time as Linux lists it")
def test_a_busy_process_takes_cpu_time_only_while_it_is_let_run(benchmark: Any) -> None:
    def ticks() -> int:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    process = subprocess.Popen([benchmark.sys.executable, "-c", benchmark._BUSY_LOOP])
    with benchmark._ended(process):
        with benchmark._running([process]):
            deadline = time.monotonic() + 60
            while ticks() < 0.2 * os.sysconf("SC_CLK_TCK"):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        time.sleep(0.1)
        stopped = ticks()
        time.sleep(0.3)
        assert ticks() == stopped
    assert process.returncode == -9


def test_a_filter_that_ends_early_says_so(benchmark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    broken = benchmark.Filter("no such configuration", 1)
    with (
        benchmark._ended(broken.process),
        pytest.raises(RuntimeError, match="a filter ended early, with exit status 1"),
    ):
        broken.result()
    assert "KeyError: 'no such configuration'" in capfd.readouterr().err
