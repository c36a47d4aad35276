"""The command `aflite`: its arguments, its exit codes, and the order of the checks of `aflite check`."""

import argparse
import signal
import sys
from collections.abc import Iterable, Sequence
from itertools import chain

from aflite_assets.command_line import backup, compare, doctor, init, list_datasets, prune, push, serve, web
from aflite_assets.command_line import refresh_commands as refreshing
from aflite_assets.command_line.fixing import command as fix
from aflite_assets.command_line.scanning import command as scan
from aflite_assets.command_line.specs_by_name import spec_of
from aflite_assets.command_line.terminal import escaped_lines
from aflite_assets.command_line.terminal import write_lines as _write
from aflite_assets.errors import AfliteError, DataError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.paths import configure_libraries

REFUSED = 1
"""Exit code after an error such as an invalid file. Success is 0, and wrong arguments are 2."""
INTERRUPTED = 128 + signal.SIGINT
"""Exit code of a command that was stopped with Ctrl-C, as in shells."""

_CHECK = """\
Reads a dataset's YAML file and its data, and prints a summary: rows, classes, challenge sets, sizes, and the
estimated cost of a run on this machine. No results are published and no models are saved. Large hub datasets and large
image folders are read only in part. Exits with 1 and a message if there is an error in the file, the data or the plan.
"""

_SCHEMA = """\
Writes the JSON Schema of dataset files, for editors that complete and check YAML. To use the schema, write
`# yaml-language-server: $schema=<file>` in the first line of a dataset's file.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    `arguments`: the arguments of the command (by default, those of the process).

    Raises:
        SystemExit: the arguments are wrong (exit code 2), or they contain `--help` (exit code 0).
    """
    options = command_parser().parse_args(arguments)
    configure_libraries()
    try:
        code: int | None = options.command(options)
    except AfliteError as error:
        _write(sys.stderr, [escaped_lines(str(error))])
        return REFUSED
    except PermissionError as error:
        remedy = "make the file and its folder writable, or run the command as their owner"
        _write(sys.stderr, [escaped_lines(f"{error.filename} cannot be used ({error.strerror}); {remedy}")])
        return REFUSED
    except KeyboardInterrupt:
        _write(sys.stderr, ["stopped; finished work is kept, and the same command continues"])
        return INTERRUPTED
    return code or 0


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands, from which the reference page of the commands is generated too."""
    parser = argparse.ArgumentParser(
        prog="aflite", description="Command-line tools for filtering datasets with AFLite."
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    check = commands.add_parser("check", help="check a dataset's file and estimate a run's cost", description=_CHECK)
    check.add_argument("file", metavar="FILE", help="a dataset's YAML file, or the name of a registered dataset")
    check.add_argument("--no-timing", action="store_true", help="skip the measurements and the estimate")
    check.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="device on which models are measured (default: auto)",
    )
    check.set_defaults(command=_check)
    schema = commands.add_parser("schema", help="write the JSON Schema of dataset files", description=_SCHEMA)
    schema.set_defaults(command=_schema)
    scan.add_command(commands)
    fix.add_command(commands)
    list_datasets.add_command(commands)
    refreshing.add_commands(commands)
    prune.add_commands(commands)
    push.add_command(commands)
    doctor.add_command(commands)
    serve.add_commands(commands)
    compare.add_command(commands)
    web.add_command(commands)
    backup.add_commands(commands)
    init.add_command(commands)
    return parser


def _check(options: argparse.Namespace) -> None:
    # Imported here: libraries must be prepared first, and --help need not wait for them, nor a missing file for torch.
    spec = spec_of(options.file)
    from aflite_assets.command_line.preview.data_preview import (
        preview_challenges,
        preview_data,
        preview_plan,
        source_facts,
    )

    data = preview_data(spec)
    from aflite_assets.command_line.preview.check_text import (
        challenge_section,
        data_section,
        estimate_section,
        findings_section,
        lengths_section,
        plan_section,
        threshold_section,
        verdict_section,
    )
    from aflite_assets.command_line.preview.plan_warnings import (
        chosen_section,
        rates_section,
        scan_section,
        study_section,
        train_sets_section,
    )
    from aflite_assets.diagnostics.data_checks.all_checks import data_findings
    from aflite_assets.results.opening import open_store
    from aflite_assets.stages.warmup.warmup_split import text_lengths

    _section(data_section(spec, data))
    raw = data.raw
    findings = data_findings(
        raw.examples,
        unlabelled_rows=raw.unlabelled_rows,
        undecodable_images=raw.undecodable_images,
        source=source_facts(spec, data),
    )
    _section(findings_section(findings))
    blocking = [finding.name for finding in findings if finding.blocking and not finding.passed]
    if blocking:
        raise DataError(
            f"these failed checks would stop a run: {', '.join(blocking)}; correct the data as described under each "
            "check"
        )
    challenges = preview_challenges(spec, data)
    _section(challenge_section(challenges))
    store = open_store()
    plan = preview_plan(spec, data, challenges, store=store)
    _section(plan_section(spec, data, plan))
    warnings = (
        scan_section(spec, store),
        threshold_section(spec, data),
        study_section(spec, data, plan),
        train_sets_section(spec, plan),
        rates_section(spec),
        chosen_section(spec, challenges),
    )
    _section([*chain.from_iterable(warnings), *verdict_section(spec, data, plan)])
    _section(lengths_section(text_lengths(spec, raw.examples)))
    if not options.no_timing:
        from aflite_assets.command_line.preview.estimate import estimate_cost
        from aflite_assets.command_line.preview.known_sizes import last_seconds

        device, last = DeviceSettings(options.device), last_seconds(spec, store)
        estimate = estimate_cost(spec, raw.examples, plan, device=device, log=_progress, last=last)
        _section(estimate_section(estimate))


def _schema(_: argparse.Namespace) -> None:
    from aflite_assets.specs.yaml.schema import schema_text

    _write(sys.stdout, schema_text().splitlines())


def _section(lines: Iterable[str]) -> None:
    written = list(lines)
    if written:
        _write(sys.stdout, [*written, ""])


def _progress(line: str) -> None:
    _write(sys.stderr, [f"{line} ..."])


if __name__ == "__main__":
    sys.exit(main())
