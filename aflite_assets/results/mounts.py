"""Check, from a folder's mount options, whether locks work between the machines that share the folder.

All drafts of one result are in the same folder. Two machines may share results only if a lock on one machine also stops
the other machine.
"""

import re
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


def lock_problem(folder: Path, *, mounts: Path = _MOUNTS) -> str | None:
    """Return the reason why locks in a folder do not work between machines.

    Return None if the locks work or if no reason against them is known. `mounts`: the system's list of mounts.
    """
    point, kind, options = _mount_of(folder, mounts)
    if _NO_LOCKS.fullmatch(kind):
        return f"{folder} is on {point} ({kind}), which has no locks between machines"
    wrong = ", ".join(sorted(_LOCAL_ONLY.get(kind, set()) & options))
    if wrong:
        return f"{folder} is on {point} ({kind}), mounted with {wrong}: locks hold on one machine only"
    return None


def _mount_of(folder: Path, mounts: Path) -> tuple[Path, str, set[str]]:
    """Return point, kind and options of the mount that contains a folder. An unknown mount has an empty kind."""
    resolved, found = folder.resolve(), (Path("/"), "", set[str]())
    lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines() if mounts.is_file() else []
    for fields in (line.split() for line in lines):
        if len(fields) < 4:
            continue
        # A space in a path is written as \040.
        point = Path(re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[1]))
        # If several file systems are mounted on one point, only the last is visible.
        if resolved.is_relative_to(point) and len(point.parts) >= len(found[0].parts):
            found = (point, fields[2], set(fields[3].split(",")))
    return found
