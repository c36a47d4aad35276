"""The command `aflite fix`: its arguments, its steps (scan, copy, scan of the copy), and its exit codes."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aflite_assets.command_line.scanning.arguments import add_input_arguments, options_of, run_or_refuse, with_options
from aflite_assets.command_line.terminal import escaped, write_lines
from aflite_assets.errors import DataError, SpecError
from aflite_assets.wording import counted, quoted_list

if TYPE_CHECKING:
    from aflite_assets.command_line.fixing.fix_text import Fixed
    from aflite_assets.command_line.scanning.inputs import ScanInput
    from aflite_assets.fixing.copying import WrittenCopy
    from aflite_assets.fixing.plan import Changes, Origin
    from aflite_assets.scan.cues import Cue, ScanResult

GONE, STILL_THERE = 0, 1
"""Exit codes beside `REFUSED`, after which nothing is written."""

_FIX = """\
Removes cues that `aflite scan` found: writes a cleaned copy of FILE into a new folder, together with the copy's YAML
file, and scans the copy. The original is never changed. The option --by chooses the method: normalise texts or images,
drop columns, shuffle the order of rows, or keep a subset of the rows in which the cue does not predict the class. With
--by weights, all rows are kept, and a column cue_weight is added: with these weights, the cue does not predict the
class. The weights are for your own training code (sample_weight in scikit-learn); the evaluators of this program ignore
them. Exit codes: 0 if the chosen cues are gone and no artefact is left; 1 if a chosen cue or an artefact is left; 2 if
nothing was written.
"""


def add_command(commands: Any) -> None:
    """Add `fix` to the command line's subparsers."""
    fix = commands.add_parser("fix", help="write a copy of a file without a cue", description=_FIX)
    add_input_arguments(fix)
    fix.add_argument(
        "--cue",
        metavar="N",
        type=int,
        action="append",
        required=True,
        help="number of a cue in the scan; may be repeated; all cues of the cue's column are removed",
    )
    fix.add_argument(
        "--by",
        choices=("drop", "normalise", "rebalance", "shuffle", "weights"),
        help="method to remove the cues (default: chosen by the kind of cue, but never weights)",
    )
    fix.add_argument("--to", metavar="FOLDER", type=Path, required=True, help="the new folder")
    fix.add_argument(
        "--scan",
        metavar="JSON",
        type=Path,
        help="output of aflite scan --json, which contains the options and the cues of the scan",
    )
    fix.add_argument("--json", action="store_true", help="print the result as JSON")
    fix.set_defaults(command=_fix)


def _fix(options: argparse.Namespace) -> int:
    return run_or_refuse(_fixed, options)


def _fixed(options: argparse.Namespace) -> int:
    from aflite_assets.command_line.fixing.fix_text import chosen_lines, fixed_json, fixed_lines
    from aflite_assets.command_line.fixing.origins import origin_of
    from aflite_assets.command_line.fixing.scan_files import read_scan_file, require_same_cues
    from aflite_assets.command_line.scanning.inputs import is_dataset, read_input, roles_of
    from aflite_assets.command_line.specs_by_name import file_of, same_name_note
    from aflite_assets.fixing.comparison import is_mended
    from aflite_assets.fixing.copying import require_free, require_outside

    require_free(options.to)
    scanned = None if options.scan is None else read_scan_file(options.scan, options)
    options = options if scanned is None else with_options(options, scanned.options)
    if is_dataset(options.file):
        write_lines(sys.stderr, [escaped(line) for line in filter(None, [same_name_note(options.file)])])
        options = argparse.Namespace(**{**vars(options), "file": str(file_of(options.file))})
    read = read_input(options)
    origin = origin_of(read, Path(options.file), roles_of(options))  # refuses sources before they are scanned
    _require_copied_images(read, options)
    require_outside(options.to, origin)
    result = read.scan(seed=options.seed)
    cues = _chosen(result, options.cue)
    if scanned is not None:
        require_same_cues(scanned, cues)
    write_lines(sys.stderr, [escaped(line) for line in chosen_lines(cues)])
    fixed = _written(options, read, origin, result, cues)
    write_lines(sys.stdout, [fixed_json(fixed)] if options.json else fixed_lines(fixed))
    return GONE if is_mended(fixed.compared, fixed.after) else STILL_THERE


def _require_copied_images(read: "ScanInput", options: argparse.Namespace) -> None:
    """Raise an error if a table names images, because a copy of the table would be without them."""
    if read.bare is not None and read.bare.names_images and options.by != "weights":
        raise DataError(
            f"{options.file!r} names images, which `aflite fix` does not copy; save the table as metadata.csv in the "
            "folder of the images, with their names in the column `file_name`, and fix that folder, or use `--by "
            "weights`"
        )


def _chosen(result: "ScanResult", numbers: Sequence[int]) -> "list[Cue]":
    if not result.cues:
        raise DataError(
            "the scan numbers no cue of this file, so `aflite fix` cannot change anything; this does not show that the "
            "data have no cue, so read what `aflite scan` prints"
        )
    for number in numbers:
        if not 1 <= number <= len(result.cues):
            found = counted(len(result.cues), "cue")
            raise DataError(f"`--cue` is {number}, but the scan found {found}; give a number printed by `aflite scan`")
    return [result.cues[number - 1] for number in dict.fromkeys(numbers)]


def _written(
    options: argparse.Namespace, read: "ScanInput", origin: "Origin", result: "ScanResult", chosen: "list[Cue]"
) -> "Fixed":
    """Write the cleaned copy and its YAML file, and scan the copy before it is moved to its final folder.

    If one cue of a column was chosen, all cues of the column are removed.
    """
    from aflite_assets.command_line.fixing.fix_text import Fixed
    from aflite_assets.command_line.fixing.origins import copied_file
    from aflite_assets.fixing.comparison import compare_scans
    from aflite_assets.fixing.copying import new_folder, write_copy
    from aflite_assets.fixing.plan import plan_changes
    from aflite_assets.scan.columns import with_columns

    cues = with_columns(result, chosen)
    changes = plan_changes(result, read.rows, origin, cues, by=options.by, seed=options.seed)
    with new_folder(options.to) as aside:
        copied = write_copy(origin, changes, aside, seed=options.seed)
        spec_name = _write_spec(options, read, origin, changes, copied, aside, cues)
        is_dataset = read.dataset is not None
        copy = copied_file(origin, copied, aside, spec_name if is_dataset else None)
        after = _after(options, read, origin, result, changes, copy)
    written = str(options.to / copy.relative_to(aside))
    if spec_name is not None:
        written = f"{options.to / spec_name} and the files that it names"
    phrases = [*changes.phrases, *copied.phrases]
    notes = _notes(read, changes, cues, has_spec=spec_name is not None)
    compared = compare_scans(result, after, cues)
    return Fixed(
        result,
        after,
        compared,
        phrases,
        written,
        notes,
        asked=frozenset(cue.number for cue in chosen),
        by=options.by,
        is_weighted=changes.weights is not None,
    )


def _after(
    options: argparse.Namespace,
    read: "ScanInput",
    origin: "Origin",
    result: "ScanResult",
    changes: "Changes",
    copy: Path,
) -> "ScanResult":
    """Scan the copy.

    A copy with weights is not scanned, because the scan ignores weights: the cues of the original are measured with the
    weights instead.
    """
    from aflite_assets.fixing.plan import weights_of_scan
    from aflite_assets.fixing.weighting import weighted_result

    if changes.weights is None:
        return _scan_copy(_options_of_copy(options, read, origin, changes), copy)
    return weighted_result(result, read.rows, weights_of_scan(changes.weights, origin))


def _write_spec(
    options: argparse.Namespace,
    read: "ScanInput",
    origin: "Origin",
    changes: "Changes",
    copied: "WrittenCopy",
    folder: Path,
    cues: "list[Cue]",
) -> str | None:
    """Write the YAML file of the copy. Returns the name of the file, or None if no YAML file can describe the copy."""
    from aflite_assets.command_line.fixing.origins import content_of_copy
    from aflite_assets.command_line.scanning.inputs import content_hash, roles_of
    from aflite_assets.fixing.spec_file import fixed_name, write_spec
    from aflite_assets.specs.registry import load_spec

    path = Path(options.file)
    content = content_of_copy(read, path, roles_of(options), origin, changes, copied)
    if content is None:
        return None
    name = f"{fixed_name(path.stem)}.yaml"
    comments = [f"Written by aflite fix from {path.absolute()}, content {content_hash(options.file)[:16]}."]
    comments += [f"Cue {cue.number + 1}: {cue.name}, class {cue.label}." for cue in cues]
    write_spec(folder / name, content, [escaped(line) for line in [*comments, *changes.phrases]])
    try:
        load_spec(folder / name)
    except SpecError:
        if read.dataset is not None:
            raise
        (folder / name).unlink()  # a first file is an offer: its columns may have names that no such file can hold
        return None
    return name


def _options_of_copy(
    options: argparse.Namespace, read: "ScanInput", origin: "Origin", changes: "Changes"
) -> argparse.Namespace:
    """Return the options for the scan of a copy.

    The options leave out dropped columns, and contain the roles of columns that were guessed for the original.
    """
    given = options_of(options)
    if read.bare is not None:
        given["text"] = [] if read.rows.answers else list(read.rows.texts)
        given["guesses_texts"] = False
        given["delimiter"] = getattr(origin.source, "delimiter", None)
    for name in ("text", "irrelevant", "skip"):
        given[name] = [column for column in given.get(name, []) if column not in changes.dropped]
    return with_options(options, given)


def _scan_copy(options: argparse.Namespace, copy: Path) -> "ScanResult":
    from aflite_assets.command_line.scanning.inputs import read_input

    result = read_input(argparse.Namespace(**{**vars(options), "file": str(copy)})).scan(seed=options.seed)
    if not result.can_tell:
        raise DataError(
            f"the cleaned copy would have only {counted(result.rows)}, too few per class to test whether the cue is "
            "removed; choose another `--by`, or collect more rows"
        )
    return result


def _notes(read: "ScanInput", changes: "Changes", cues: "list[Cue]", *, has_spec: bool) -> list[str]:
    from aflite_assets.scan.sentences import column_question

    notes = [] if changes.weights is None else _weight_notes(is_bare=read.bare is not None)
    if changes.dropped and (read.rows.texts or read.rows.images is not None):
        notes.append(
            "A dropped column is no longer found because it is no longer there; what goes with it in texts or images "
            "stays."
        )
    asks = column_question([cue for cue in cues if changes.dropped and not cue.is_artefact])
    notes += [f"{asks} If what is left out was known, and is part of the task, keep the original."] if asks else []
    if read.dataset is not None and read.dataset.spec.challenge_sets:
        names = ", ".join(read.dataset.spec.challenge_sets)
        notes.append(f"Challenge sets are left as they are: {names}.")
    if read.dataset is not None:
        notes.append("Comments of the original's YAML file are not in the new one; its other paths are absolute.")
    elif read.rows.answers:
        notes.append("No YAML file is written: aflite scan COPY --filter-file NEW.yaml writes one.")
    elif has_spec:
        notes.append("The YAML file is a first one with small models: look at it, and run aflite check.")
        notes += _incomplete_note(read, changes)
    else:
        notes.append("No YAML file is written: columns or labels of these files are none that it can describe.")
    return notes


def _incomplete_note(read: "ScanInput", changes: "Changes") -> list[str]:
    from aflite_assets.command_line.fixing.origins import incomplete_columns

    assert read.bare is not None
    names = [name for name in incomplete_columns(read.bare.rows) if name not in changes.dropped]
    if not names or read.bare.rows.texts or read.bare.rows.images is not None:
        return []
    shown = quoted_list(names, most=5, length=60)
    return [
        f"Models read features without missing values only, so the YAML file has {shown} under attributes; fill in "
        "what is missing, and move them to features."
    ]


def _weight_notes(*, is_bare: bool) -> list[str]:
    from aflite_assets.fixing.weighting import WEIGHT_COLUMN

    skip = f"; a scan of the bare copy needs --skip {WEIGHT_COLUMN}" if is_bare else ""
    return [
        f"With weights only the cues above were measured. A scan reads no weights, so it finds them again{skip}.",
        f"Give {WEIGHT_COLUMN} to a trainer of your own that takes a weight per row; no evaluator here reads it.",
    ]
