"""The number of CPU threads that a step may use, and environment variables that limit libraries to this number.

The number of threads limits numba, OpenMP, BLAS, torch, the tokenizers and the step's own threads and processes. The
number of threads is `AFLITE_THREADS` or, if this variable is not set, `OMP_NUM_THREADS`. If neither variable is set,
the cores are divided equally among the runs that the Dagster instance allows at once.
"""

import os
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

from aflite_assets.errors import InvalidInputError

THREADS = "AFLITE_THREADS"
_OPENMP = "OMP_NUM_THREADS"
_SET_HERE = "AFLITE_SET_OMP_NUM_THREADS"
"""Environment variable that is set if `bound_libraries`, and not the user, has set `OMP_NUM_THREADS`."""
_LIBRARIES = (
    _OPENMP, "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)  # fmt: skip


def threads_per_step() -> int:
    """Return the number of threads that a step may use, at least 1.

    Raises:
        InvalidInputError: `AFLITE_THREADS` is not a whole number of at least 1.
    """
    told = os.environ.get(THREADS)
    if told:
        if not told.strip().isdecimal() or int(told) < 1:
            raise InvalidInputError(
                f"`{THREADS}` is {told!r}; give a whole number of at least 1, or unset the variable"
            )
        return int(told)
    openmp = (
        os.environ.get(_OPENMP, "").split(",")[0].strip()
    )  # the variable may contain one number per level of nesting
    if openmp.isdecimal() and int(openmp) >= 1:
        return int(openmp)
    return max(1, available_cores() // (runs_at_once() or 1))


def processes_at_once() -> int:
    """Return how many single-threaded processes a step may run at once, at least 1.

    The result is `threads_per_step()`, or more if cores are idle. A single run can use all idle cores, even if the
    Dagster instance allows several runs. If the user has set `AFLITE_THREADS` or `OMP_NUM_THREADS`, the result is not
    larger than this variable.
    """
    threads = threads_per_step()
    told = os.environ.get(THREADS) or (os.environ.get(_OPENMP) and not os.environ.get(_SET_HERE))
    if told or not hasattr(os, "getloadavg"):
        return threads
    others = max(0, round(os.getloadavg()[0]) - 1)  # the step itself keeps one core busy
    return max(threads, available_cores() - others)


def threads_in_words() -> str:
    """Return a log line with the number of threads per step, the number of cores, and the variable that changes the
    threads.
    """
    runs = runs_at_once()
    among = f", up to {runs} runs at once" if runs else ""
    return f"threads per step: {threads_per_step()} (cores: {available_cores()}{among}; {THREADS} sets another number)"


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a block in which linear algebra uses one thread, because more threads are slower on small matrices."""
    limited: AbstractContextManager[object] = _linear_algebra().limit(limits=1, user_api="blas")
    return limited


@cache
def _linear_algebra() -> Any:
    """Return a controller of the loaded libraries. It is made once, because finding them takes longer than a small fit.

    Libraries that are loaded later are not controlled, so scikit-learn is imported first.
    """
    import sklearn.linear_model  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def available_cores() -> int:
    """Return the number of cores that this process may use, at least 1.

    CPU affinity and the quota of the control group are taken into account.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota(Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"))
    return max(1, min(bound, int(quota) if quota is not None else bound))


def _quota(root: Path, memberships: Path) -> float | None:
    """Return the number of cores that control groups allow this process to use, or None if there is no limit."""
    limits = [limit for folder in _groups(root, memberships) if (limit := _limit(folder)) is not None]
    return min(limits, default=None)


def _groups(root: Path, memberships: Path) -> list[Path]:
    """Return the folders of this process's control group and of its parents.

    In a container, the control group of the process is the root folder itself.
    """
    try:
        lines = memberships.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    folders = [root, root / "cpu"]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        base = root if not controllers else root / "cpu"
        if not controllers or "cpu" in controllers.split(","):
            below = base / path.strip("/")
            folders += [below, *(parent for parent in below.parents if parent.is_relative_to(base))]
    return list(dict.fromkeys(folders))


def _limit(folder: Path) -> float | None:
    try:
        if (folder / "cpu.max").is_file():
            quota, period = (folder / "cpu.max").read_text(encoding="utf-8").split()
        else:
            quota = (folder / "cpu.cfs_quota_us").read_text(encoding="utf-8").strip()
            period = (folder / "cpu.cfs_period_us").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return int(quota) / int(period) if quota.isdecimal() and int(period) > 0 else None


def runs_at_once() -> int | None:
    """Return how many runs the Dagster instance in `DAGSTER_HOME` allows at once, or None if its `dagster.yaml` sets no
    limit.
    """
    home = os.environ.get("DAGSTER_HOME")
    return _runs_at_once(Path(home).expanduser() / "dagster.yaml") if home else None


@cache
def _runs_at_once(settings: Path) -> int | None:
    import yaml

    try:
        content = yaml.safe_load(settings.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError):
        return None  # Dagster itself reports errors in this file
    for path in (("concurrency", "runs", "max_concurrent_runs"), ("run_queue", "max_concurrent_runs")):
        value = content
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, int) and value > 0:
            return value
    return None


def bound_libraries() -> None:
    """Set the environment variables that limit the threads of libraries imported later.

    The environment variables apply to this process and its child processes. A variable that the user has set is kept,
    unless `AFLITE_THREADS` is lower.
    """
    threads, told = threads_per_step(), bool(os.environ.get(THREADS))
    for variable in _LIBRARIES:
        given = os.environ.get(variable, "")
        if not given or (told and not (given.isdecimal() and int(given) <= threads)):
            os.environ[variable] = str(threads)
            if variable == _OPENMP:
                os.environ[_SET_HERE] = "1"
