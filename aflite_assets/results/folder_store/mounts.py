"""Check, from a folder's mount options, whether locks work between the machines that share the folder.

All drafts of one result are in the same folder. Two machines may share results only if a lock on one machine also stops
the other machine.
"""

import re
from dataclasses import dataclass
from pathlib import Path

_MOUNTS = Path("/proc/mounts")
_LOCAL_ONLY = {
    "nfs": {"nolock", "local_lock=all", "local_lock=flock"},
    "nfs4": {"nolock", "local_lock=all", "local_lock=flock"},
    "cifs": {"nobrl"},
    "smb3": {"nobrl"},
    "lustre": {"localflock", "noflock"},
}
"""Mount options with which a lock on one machine has no effect on other machines, by kind of file system."""
_NO_LOCKS = re.compile(r"fuse\.(s3fs|mount-?s3|mountpoint-s3|gcsfuse|goofys|geesefs|rclone|sshfs|blobfuse2?)")
"""Kinds of file systems without any locks between machines."""


@dataclass(frozen=True)
class Mount:
    """Mount point, kind and options of a mounted file system."""

    point: Path
    kind: str
    options: frozenset[str]


def lock_problem(folder: Path, *, mounts: Path = _MOUNTS) -> str | None:
    """Return the reason why locks in a folder do not work between machines.

    Return None if the locks work or if no reason against them is known.
    """
    mount = _mount_of(folder, mounts)
    if mount is None:
        return None
    if _NO_LOCKS.fullmatch(mount.kind):
        return f"{folder} is on {mount.point} ({mount.kind}), which has no locks between machines"
    wrong = sorted(_LOCAL_ONLY.get(mount.kind, set()) & mount.options)
    if wrong:
        options = ", ".join(wrong)
        return f"{folder} is on {mount.point} ({mount.kind}), mounted with {options}: locks hold on one machine only"
    return None


def _mount_of(folder: Path, mounts: Path) -> Mount | None:
    """Return the mount that contains a folder, or None if the system has no list of mounts."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    resolved = folder.resolve()
    found = None
    for line in lines:
        fields = line.split()
        if len(fields) < 4:
            continue
        mount = Mount(Path(_unescaped(fields[1])), fields[2], frozenset(fields[3].split(",")))
        # If several file systems are mounted on one point, only the last is visible.
        if resolved.is_relative_to(mount.point) and (found is None or len(mount.point.parts) >= len(found.point.parts)):
            found = mount
    return found


def _unescaped(field: str) -> str:
    """Decode a path from the operating system's list of mounts, in which a space is written as `\040`."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
