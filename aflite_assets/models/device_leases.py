"""Assignment of GPUs to pipeline steps: one lock per device, and environment variables that must be set before CUDA
starts. This module does not import torch.

Dagster's pool `gpu` limits the number of steps but does not assign devices. If the pool has two slots, both steps would
use the first card. Each step therefore holds a lease: a lock on a file that represents the device. The operating system
releases the lock when the process ends, even if the process is killed.

The environment variable `AFLITE_DEVICE_LOCKS` sets the folder of the lock files, by default `aflite-devices` in the
system's temporary folder. The lock files are not below `AFLITE_HOME` for two reasons. First, two homes on the same
machine share the machine's GPUs. Second, a home may be on a network disk, on which a lock may outlive its process or
have no effect.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from aflite_assets.errors import ModelError

VISIBLE = "CUDA_VISIBLE_DEVICES"
LOCKS = "AFLITE_DEVICE_LOCKS"

# CUDA ignores what follows the first name that it does not know; "-1" and "none" are used to hide all devices.
_NAME = re.compile(r"\d+|(GPU|MIG)-[0-9A-Za-z/-]+")
_LISTED = re.compile(r"^(?P<part>\s*)(?:GPU|MIG) .*\(UUID: (?P<uuid>(?:GPU|MIG)-[^)]+)\)", re.MULTILINE)
_OF_DRIVER = re.compile(r"^GPU UUID:\s*(GPU-[0-9a-f][0-9a-f-]+)", re.MULTILINE)
_LIST_SECONDS = 30
# How long a step that waits sleeps before it looks again; a step works for minutes.
_POLL_SECONDS = 1.0
# The devices that this process was given first: once CUDA is in use a process keeps what it saw then.
_first_lease: list[str] = []

Log = Callable[[str], None]


@dataclass(frozen=True)
class DeviceLease:
    """The devices of a lease, named as in `CUDA_VISIBLE_DEVICES`. On a machine without a GPU, the lease has no
    devices.
    """

    devices: tuple[str, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for the devices. A process must set these variables before it imports torch."""
        return {VISIBLE: ",".join(self.devices)} if self.devices else {}

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Restrict this process and its child processes to the leased devices inside the `with` block. Only one thread
        may use this context manager at a time.
        """
        before = {name: os.environ.get(name) for name in self.environment}
        if not _first_lease:
            _first_lease.extend(self.devices)
        os.environ.update(self.environment)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def locks_folder() -> Path:
    """Return the folder of the lock files; see the module's docstring."""
    return Path(os.environ.get(LOCKS) or Path(tempfile.gettempdir()) / "aflite-devices").absolute()


def visible_devices() -> tuple[str, ...]:
    """Return the GPUs that this process may use, named as in `CUDA_VISIBLE_DEVICES`. CUDA is not initialised.

    If `CUDA_VISIBLE_DEVICES` is set, its names are returned: numbers, unique names, or parts of a partitioned card. If
    the variable is not set, the driver lists the unique names of all GPUs, and of the parts of partitioned cards. If
    the driver lists no GPU, the result is empty. If there is no GPU, no device is leased, and the step's environment is
    unchanged.
    """
    told = os.environ.get(VISIBLE)
    if told is None:
        return listed_devices()
    named = []
    for name in told.split(","):
        if not _NAME.fullmatch(name.strip()):
            break
        named.append(name.strip())
    return tuple(dict.fromkeys(named))


def listed_devices() -> tuple[str, ...]:
    """Return the unique names of all GPUs in slot order, from `nvidia-smi` or from the driver's files."""
    try:
        answer = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=_LIST_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return _devices_of_driver(Path("/proc/driver/nvidia/gpus"))
    return parse_list(answer.stdout) if answer.returncode == 0 else ()


def parse_list(text: str) -> tuple[str, ...]:
    """Return the unique names in the output of `nvidia-smi -L`. A partitioned card cannot be used whole, so the names
    of its parts are returned.
    """
    names: list[str] = []
    whole: str | None = None
    for line in _LISTED.finditer(text):
        if not line["part"]:
            whole = line["uuid"]
        elif names and names[-1] == whole:
            names.pop()
        names.append(line["uuid"])
    return tuple(names)


def _devices_of_driver(folder: Path) -> tuple[str, ...]:
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("*/information"))]
    return tuple(identity[1] for text in texts if (identity := _OF_DRIVER.search(text)))


@contextmanager
def lease_devices(
    devices: Sequence[str],
    folder: Path,
    *,
    purpose: str,
    all_free: bool = False,
    listed: Sequence[str] = (),
    log: Log = lambda line: None,
    poll_seconds: float = _POLL_SECONDS,
) -> Iterator[DeviceLease]:
    """Hold a lock on one of `devices` inside the `with` block. With `all_free`, lock every free device; at least one
    device is locked.

    If all devices are in use, this function waits without a time limit. While all devices are in use, one line in `log`
    lists the processes that hold the locks. `purpose` is shown to other processes that wait. `listed`: the unique names
    of the machine's GPUs. With `listed`, a card has the same lock whether it is given by number or by name. If
    `devices` is empty, the function does not lock and does not wait.

    Raises:
        ModelError: the folder of the lock files cannot be written.
    """
    names = _usable(devices, log)
    if not names:
        yield DeviceLease()
        return
    files = {name: folder / f"{re.sub('[^0-9A-Za-z-]', '_', _unique_name(name, listed))}.lock" for name in names}
    with ExitStack() as held:
        started = time.monotonic()
        taken = _take(files, held, all_free=all_free)
        if not taken:
            log(f"{purpose} waits for a GPU; taken: {'; '.join(_holders(files))}")
        while not taken:
            time.sleep(poll_seconds)
            taken = _take(files, held, all_free=all_free)
        waited = time.monotonic() - started
        log(f"{purpose} has GPU {', '.join(taken)}" + (f" after {waited:.0f} s" if waited >= poll_seconds else ""))
        for name in taken:
            note = files[name].with_suffix(".holder")
            note.write_text(f"{purpose}, process {os.getpid()}", encoding="utf-8")
            held.callback(note.unlink, missing_ok=True)
        yield DeviceLease(tuple(taken))


def _usable(devices: Sequence[str], log: Log) -> tuple[str, ...]:
    torch = sys.modules.get("torch")
    if not devices or torch is None or not torch.cuda.is_initialized():
        return tuple(devices)
    if not _first_lease:
        log("CUDA is already in use in this process: it keeps its device, and no lease is taken")
    return tuple(_first_lease)


def _unique_name(name: str, listed: Sequence[str]) -> str:
    # Numbers count whole cards in the order of their slots, as CUDA does where all cards are alike; where they are not,
    # this only says which lock is taken, never which card is used.
    whole = not any(device.startswith("MIG-") for device in listed)
    return listed[int(name)] if whole and name.isdigit() and int(name) < len(listed) else name


def _take(files: Mapping[str, Path], held: ExitStack, *, all_free: bool) -> list[str]:
    taken: list[str] = []
    for name, path in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path, mode=0o666)
            lock.acquire(timeout=0)
        except Timeout:
            continue
        except OSError as error:
            raise ModelError(
                f"the lock of a GPU cannot be taken in {path.parent} ({error.strerror}); make the folder writable, or "
                f"set `{LOCKS}` to another folder on a local disk, the same for all processes that share the GPU"
            ) from error
        held.callback(lock.release)
        taken.append(name)
        if not all_free:
            break
    return taken


def _holders(files: Mapping[str, Path]) -> Iterator[str]:
    for name, path in files.items():
        holder = "another process"
        with suppress(OSError):
            holder = path.with_suffix(".holder").read_text(encoding="utf-8")
        yield f"{name} by {holder}"
