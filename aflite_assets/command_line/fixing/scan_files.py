"""The JSON output of an earlier scan: its options, and a check that the cue numbers are still valid."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aflite_assets.command_line.scanning.arguments import options_of
from aflite_assets.command_line.scanning.inputs import content_hash
from aflite_assets.errors import DataError
from aflite_assets.results.files import read_json
from aflite_assets.scan.cues import Cue
from aflite_assets.wording import quoted

_SHOWN = 80


@dataclass(frozen=True)
class ScanFile:
    """An earlier scan: its options, and the name and class of each cue."""

    options: dict[str, Any]
    cues: tuple[tuple[str, str], ...]


def read_scan_file(path: Path, options: argparse.Namespace) -> ScanFile:
    """Read the output of `aflite scan --json`.

    Raises:
        DataError: the JSON is not the output of a scan, scan options are given in addition, or FILE has changed since
        the scan.
    """
    beside = options_of(options)
    if beside:
        named = ", ".join(f"--{name}" for name in beside)
        raise DataError(
            f"`--scan` already contains the options of the scan, but {named} was given too; leave {named} out"
        )
    try:
        content = read_json(path)
        found = {str(name): value for name, value in content["options"].items()}
        known = content["content"]
        cues = tuple((str(cue["name"]), str(cue["label"])) for cue in content["cues"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(
            f"`--scan` is {str(path)!r}, which is not the output of `aflite scan --json` ({error}); scan the file again"
        ) from error
    _require_options(found, path)
    if known != content_hash(options.file):
        raise DataError(
            f"{options.file!r} has changed since the scan in `--scan {str(path)!r}`, so the cue numbers may differ; "
            "scan the file again"
        )
    return ScanFile(found, cues)


def _require_options(found: dict[str, Any], path: Path) -> None:
    kinds: dict[str, type] = dict.fromkeys(("label", "group", "subset", "delimiter", "encoding"), str)
    kinds |= {"seed": int} | dict.fromkeys(("text", "irrelevant", "skip"), list)
    for name, value in found.items():
        is_fine = name in kinds and isinstance(value, kinds[name])
        if not is_fine or (isinstance(value, list) and not all(isinstance(one, str) for one in value)):
            raise DataError(
                f"`--scan` is {str(path)!r}, which contains the unknown scan option {quoted(name, _SHOWN)}; scan the "
                "file again"
            )


def require_same_cues(scanned: ScanFile, cues: Sequence[Cue]) -> None:
    """Raise an error if a cue differs in name or class from the cue with the same number in the earlier scan.

    Raises:
        DataError: a number no longer refers to the same cue, for example because this program was updated.
    """
    for cue in cues:
        known = scanned.cues[cue.number] if cue.number < len(scanned.cues) else None
        if known != (cue.name, cue.label):
            before = "no cue" if known is None else f"{quoted(known[0], _SHOWN)}"
            raise DataError(
                f"cue {cue.number + 1} is now {quoted(cue.name, _SHOWN)}, but was {before} in the file of `--scan`; "
                "scan the file again"
            )
