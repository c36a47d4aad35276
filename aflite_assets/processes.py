"""Processes of this machine: identification, memory, and termination together with the parent process."""

import os
import resource
import socket
from dataclasses import asdict, dataclass
from multiprocessing import parent_process
from pathlib import Path
from threading import Thread

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_CONTROL_GROUP = Path("/sys/fs/cgroup")
_ENDED_WITH_PARENT = 1


@dataclass(frozen=True)
class ProcessMark:
    """Identification of a process that is unique across machines and reboots, even if process ids are reused.

    `started`: start of the process in clock ticks after the boot, or None if the system does not provide it.
    """

    host: str
    boot: str
    pid: int
    started: int | None

    def as_json(self) -> dict[str, str | int | None]:
        """Return the fields as JSON types, from which `ProcessMark(**fields)` restores the object."""
        return asdict(self)

    def is_here(self) -> bool:
        """Return True if the process was started on this machine, in this container."""
        return self.host == socket.gethostname()

    def is_alive(self) -> bool:
        """Return True if the process still runs. The result is valid only if `is_here()` is True.

        A zombie process (ended, but not waited for) is not alive.
        """
        if self.boot != _boot():
            return False
        if not Path("/proc/self/stat").exists():
            return _answers(self.pid)
        started = _started(self.pid)
        return started is not None and self.started in (None, started)


def mark_of(pid: int) -> ProcessMark:
    """Return the identification of a process that runs on this machine."""
    return ProcessMark(socket.gethostname(), _boot(), pid, _started(pid))


def this_process() -> ProcessMark:
    """Return the identification of the current process."""
    return mark_of(os.getpid())


def end_with_parent() -> None:
    """Make this process exit as soon as its parent process has ended.

    The function works only in processes started by `multiprocessing`. Workers that do not call the function notice the
    end of their parent only when they send or receive the next message.
    """
    if parent_process() is not None:
        Thread(target=_wait_and_end, name="end with parent", daemon=True).start()


def resident_memory() -> int:
    """Return the resident memory of this process in bytes, or the peak value if the system reports only the peak."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on systems without /proc
    return pages * os.sysconf("SC_PAGE_SIZE")


def available_memory() -> int | None:
    """Return the bytes of memory available to new processes of this machine or container, or None if unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = 1024 * int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1])
    except (OSError, StopIteration):
        return None
    try:
        most = (_CONTROL_GROUP / "memory.max").read_text(encoding="ascii").strip()
        used = int((_CONTROL_GROUP / "memory.current").read_text(encoding="ascii"))
    except OSError:
        return free
    return min(free, int(most) - used) if most.isdecimal() else free


def _wait_and_end() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(_ENDED_WITH_PARENT)


def _boot() -> str:
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _started(pid: int) -> int | None:
    """Return the start of a running process in clock ticks after the boot, or None if the process does not exist."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
