"""The number of processor cores that a step may use, and the corresponding settings of libraries.

One number limits numba, OpenMP, BLAS, torch, the tokenizers and the threads and processes that a step starts itself.
The number is `AFLITE_THREADS` or, if not set, `OMP_NUM_THREADS`, which these libraries use too. By default, it is the
number of cores of this process divided by the number of concurrent runs of the Dagster instance, so that the runs do
not compete for cores.
"""

import os
from functools import cache
from pathlib import Path

from aflite_assets.errors import InvalidInputError

THREADS = "AFLITE_THREADS"
_OPENMP = "OMP_NUM_THREADS"
_SET_HERE = "AFLITE_SET_OMP_NUM_THREADS"
"""Set if `bound_libraries` set OpenMP's variable: processes started from here must not take it for the user's
setting.
"""
_LIBRARIES = (
    _OPENMP, "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)  # fmt: skip


def threads_per_step() -> int:
    """Return how many threads a step may use, at least 1, given the environment, the instance's settings and the cores
    of this process.

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
    openmp = os.environ.get(_OPENMP, "").split(",")[0].strip()  # one number per nested level
    if openmp.isdecimal() and int(openmp) >= 1:
        return int(openmp)
    return max(1, available_cores() // (runs_at_once() or 1))


def processes_at_once() -> int:
    """Return how many processes of one thread each a step may keep busy, at least 1: its threads, or more if cores are
    idle.

    A single run can therefore use the whole machine, even if the instance allows several runs. `AFLITE_THREADS` or
    `OMP_NUM_THREADS` remains the limit if set.
    """
    threads = threads_per_step()
    told = os.environ.get(THREADS) or (os.environ.get(_OPENMP) and not os.environ.get(_SET_HERE))
    if told or not hasattr(os, "getloadavg"):
        return threads
    others = max(0, round(os.getloadavg()[0]) - 1)  # the step itself keeps one core busy
    return max(threads, available_cores() - others)


def threads_in_words() -> str:
    """Return a log line with the threads per step, the number of cores, and the setting for the threads."""
    runs = runs_at_once()
    among = f", up to {runs} runs at once" if runs else ""
    return f"threads per step: {threads_per_step()} (cores: {available_cores()}{among}; {THREADS} sets another number)"


def available_cores() -> int:
    """Return the number of cores that this process may use, at least 1, by CPU affinity and control group quota."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota(Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"))
    return max(1, min(bound, int(quota) if quota is not None else bound))


def _quota(root: Path, memberships: Path) -> float | None:
    """Return the number of cores that the control groups of this process may use; None if there is no limit."""
    limits = [limit for folder in _groups(root, memberships) if (limit := _limit(folder)) is not None]
    return min(limits, default=None)


def _groups(root: Path, memberships: Path) -> list[Path]:
    """Return the folders of this process's control group and its parents; in a container, the root is the group."""
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
    """Return how many concurrent runs the instance of `DAGSTER_HOME` allows; None if this is not set."""
    home = os.environ.get("DAGSTER_HOME")
    return _runs_at_once(Path(home).expanduser() / "dagster.yaml") if home else None


@cache
def _runs_at_once(settings: Path) -> int | None:
    import yaml

    try:
        content = yaml.safe_load(settings.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError):
        return None  # Dagster itself says what is wrong with its file
    for path in (("concurrency", "runs", "max_concurrent_runs"), ("run_queue", "max_concurrent_runs")):
        value = content
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, int) and value > 0:
            return value
    return None


def bound_libraries() -> None:
    """Make libraries that are imported later, in this process and its children, keep to the limit.

    A user's setting for a library is kept unless `AFLITE_THREADS` is set to a lower number.
    """
    threads, told = threads_per_step(), bool(os.environ.get(THREADS))
    for variable in _LIBRARIES:
        given = os.environ.get(variable, "")
        if not given or (told and not (given.isdecimal() and int(given) <= threads)):
            os.environ[variable] = str(threads)
            if variable == _OPENMP:
                os.environ[_SET_HERE] = "1"
