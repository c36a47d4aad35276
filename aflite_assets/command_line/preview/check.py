"""The order of the sections of `aflite check`, and the data checks that end it."""

import sys
from collections.abc import Iterable

from aflite_assets.command_line.preview import check_text
from aflite_assets.command_line.preview.data_preview import preview_challenges, preview_data, preview_plan
from aflite_assets.command_line.preview.estimate import estimate_cost
from aflite_assets.command_line.preview.known_sizes import last_seconds, reused_results
from aflite_assets.command_line.preview.plan_warnings import all_warnings
from aflite_assets.command_line.terminal import write_lines
from aflite_assets.diagnostics.data_checks.all_checks import data_findings
from aflite_assets.errors import DataError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results.opening import open_store
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.warmup.findings import length_line
from aflite_assets.stages.warmup.warmup_split import text_lengths


def check(spec: DatasetSpec, *, device: DeviceSettings | None) -> None:
    """Print what a dataset's data and file mean for a run, and the estimated cost on `device` unless it is None.

    Raises:
        DataError: the data do not match the spec, or a failed data check would stop a run.
        ModelError: a model does not fit the data or is not available.
    """
    data = preview_data(spec)
    _print(check_text.data_section(spec, data))
    raw = data.raw
    findings = data_findings(
        raw.examples,
        unlabelled_rows=raw.unlabelled_rows,
        undecodable_images=raw.undecodable_images,
        source=data.facts,
    )
    _print(check_text.findings_section(findings))
    blocking = [finding.name for finding in findings if finding.blocking and not finding.passed]
    if blocking:
        raise DataError(
            f"these failed checks would stop a run: {', '.join(blocking)}; correct the data as described under each "
            "check"
        )
    challenges = preview_challenges(spec, data)
    _print(check_text.challenge_section(challenges))
    reused = reused_results(spec, open_store())
    plan = preview_plan(spec, data, challenges, reused=reused)
    _print(check_text.plan_section(data, plan))
    _print(all_warnings(data, challenges, plan, reused.get("cue_scan")))
    lengths = text_lengths(spec, raw.examples)
    _print(f"{name}: {length_line(facts)}" for name, facts in lengths.items() if "not_measured" not in facts)
    if device is not None:
        last = last_seconds(reused)
        _print(check_text.estimate_section(estimate_cost(raw.examples, plan, device=device, log=_progress, last=last)))


def _print(section: Iterable[str]) -> None:
    lines = list(section)
    if lines:
        write_lines(sys.stdout, [*lines, ""])


def _progress(line: str) -> None:
    write_lines(sys.stderr, [f"{line} ..."])
