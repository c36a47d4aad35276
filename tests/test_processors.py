"""How many threads a step has: the variables, the instance's settings, bound cores and quotas; what libraries see."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aflite_assets import processors
from aflite_assets.errors import InvalidInputError
from aflite_assets.processors import (
    available_cores,
    bound_libraries,
    processes_at_once,
    runs_at_once,
    threads_in_words,
    threads_per_step,
)


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AFLITE_THREADS", processors._SET_HERE, *processors._LIBRARIES):
        monkeypatch.delenv(variable, raising=False)


def _cores(monkeypatch: pytest.MonkeyPatch, count: int, quota: float | None = None) -> None:
    monkeypatch.setattr(processors.os, "sched_getaffinity", lambda _: range(count))
    monkeypatch.setattr(processors, "_quota", lambda *_: quota)


def _instance(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    (folder / "dagster.yaml").write_text(text)
    processors._runs_at_once.cache_clear()
    monkeypatch.setenv("DAGSTER_HOME", str(folder))


def test_all_cores_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    _cores(monkeypatch, 6)
    assert runs_at_once() is None
    assert threads_per_step() == 6
    assert threads_in_words() == "threads per step: 6 (cores: 6; AFLITE_THREADS sets another number)"


@pytest.mark.parametrize(
    ("text", "cores", "expected"),
    [
        ("concurrency: {runs: {max_concurrent_runs: 4}}", 16, 4),
        ("concurrency: {runs: {max_concurrent_runs: 4}}", 2, 1),
        ("run_queue: {max_concurrent_runs: 3}", 16, 5),
        ("concurrency: {runs: {max_concurrent_runs: -1}}", 16, 16),
        ("telemetry: {enabled: false}", 16, 16),
        ("not: [yaml", 16, 16),
        ("", 16, 16),
    ],
)
def test_cores_are_shared_by_the_runs_allowed_at_once(
    text: str, cores: int, expected: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _cores(monkeypatch, cores)
    _instance(monkeypatch, tmp_path, text)
    assert threads_per_step() == expected


@pytest.mark.parametrize(
    ("load", "variables", "processes"),
    [
        (0.4, {}, 8),
        (1.2, {}, 8),  # the step itself
        (4.9, {}, 4),
        (30.0, {}, 2),
        (0.4, {"AFLITE_THREADS": "3"}, 3),
        (0.4, {"OMP_NUM_THREADS": "1"}, 1),
    ],
)
def test_cores_that_nobody_uses_are_used(
    load: float, variables: dict[str, str], processes: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of eight cores, of which four runs may have two each; in a process that was started by one of ours as well."""
    _cores(monkeypatch, 8)
    _instance(monkeypatch, tmp_path, "concurrency: {runs: {max_concurrent_runs: 4}}")
    monkeypatch.setattr(processors.os, "getloadavg", lambda: (load, 0.0, 0.0))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert processes_at_once() == processes
    monkeypatch.setattr(processors.os, "environ", dict(os.environ))
    bound_libraries()
    assert processes_at_once() == processes


def test_the_log_says_among_how_many_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _cores(monkeypatch, 16)
    _instance(monkeypatch, tmp_path, "concurrency: {runs: {max_concurrent_runs: 4}}")
    assert threads_in_words() == (
        "threads per step: 4 (cores: 16, up to 4 runs at once; AFLITE_THREADS sets another number)"
    )


def test_what_is_said_goes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _cores(monkeypatch, 16)
    _instance(monkeypatch, tmp_path, "concurrency: {runs: {max_concurrent_runs: 4}}")
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert threads_per_step() == 3
    monkeypatch.setenv("AFLITE_THREADS", "9")
    assert threads_per_step() == 9


@pytest.mark.parametrize("told", ["0", "-1", "two", "1.5"])
def test_a_number_that_is_none_is_refused(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_THREADS", told)
    with pytest.raises(InvalidInputError, match=rf"`AFLITE_THREADS` is '{told}'; give a whole number of at least 1"):
        threads_per_step()


@pytest.mark.parametrize(("quota", "expected"), [(None, 8), (2.5, 2), (0.5, 1), (64.0, 8)])
def test_a_quota_of_processor_time_counts(quota: float | None, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _cores(monkeypatch, 8, quota)
    assert available_cores() == expected


def test_bound_cores_count() -> None:
    one = min(os.sched_getaffinity(0))
    code = (
        f"import os; os.sched_setaffinity(0, {{{one}}}); "
        "from aflite_assets.processors import available_cores; print(available_cores())"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "1\n"


def test_the_smallest_quota_of_a_group_and_those_above_it(tmp_path: Path) -> None:
    second = tmp_path / "system" / "service"
    second.mkdir(parents=True)
    (tmp_path / "groups").write_text("0::/system/service\n")
    assert processors._quota(tmp_path, tmp_path / "groups") is None
    (second / "cpu.max").write_text("max 100000\n")
    (tmp_path / "system" / "cpu.max").write_text("350000 100000\n")
    assert processors._quota(tmp_path, tmp_path / "groups") == 3.5
    (second / "cpu.max").write_text("150000 100000\n")
    assert processors._quota(tmp_path, tmp_path / "groups") == 1.5
    first = tmp_path / "cpu" / "docker"
    first.mkdir(parents=True)
    (tmp_path / "groups").write_text("4:cpu,cpuacct:/docker\n1:memory:/x\n")
    (first / "cpu.cfs_quota_us").write_text("50000\n")
    (first / "cpu.cfs_period_us").write_text("100000\n")
    assert processors._quota(tmp_path, tmp_path / "groups") == 0.5
    (first / "cpu.cfs_quota_us").write_text("-1\n")
    assert processors._quota(tmp_path, tmp_path / "groups") is None
    assert processors._quota(tmp_path / "none", tmp_path / "nothing") is None


def test_libraries_are_told_unless_the_user_told_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors.os, "environ", {"MKL_NUM_THREADS": "5"})
    _cores(monkeypatch, 3)
    bound_libraries()
    assert processors.os.environ["OMP_NUM_THREADS"] == "3"
    assert processors.os.environ["RAYON_NUM_THREADS"] == "3"
    assert processors.os.environ["MKL_NUM_THREADS"] == "5"


def test_a_bound_that_is_set_binds_what_was_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        processors.os, "environ", {"AFLITE_THREADS": "2", "MKL_NUM_THREADS": "5", "OMP_NUM_THREADS": "1"}
    )
    bound_libraries()
    told = {name: processors.os.environ[name] for name in processors._LIBRARIES}
    assert told == dict.fromkeys(processors._LIBRARIES, "2") | {"OMP_NUM_THREADS": "1"}


def test_libraries_keep_to_it() -> None:
    """Counted in the libraries, which have read what definitions set before they are imported."""
    code = """
import definitions
import numpy, torch, numba, threadpoolctl, pyarrow
import sklearn.linear_model
print(torch.get_num_threads(), numba.get_num_threads(), pyarrow.cpu_count())
print({one["num_threads"] for one in threadpoolctl.threadpool_info()})
"""
    environment = {name: value for name, value in os.environ.items() if name not in processors._LIBRARIES}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment | {"AFLITE_THREADS": "1"}, capture_output=True, text=True
    )
    assert done.stdout == "1 1 1\n{1}\n", done.stderr
