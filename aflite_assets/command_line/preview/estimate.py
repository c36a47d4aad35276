"""Estimated cost of a run on this machine.

The estimated cost of a stage is its duration in the last run. For a stage without a known duration, the amount of work
is multiplied by measured speeds.

The modules `run_plan` and `trainings` compute the counts, and the module `timing` measures the speeds.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from aflite_assets.command_line.preview.run_plan import RunPlan, Trainings
from aflite_assets.command_line.preview.timing import Speeds
from aflite_assets.command_line.preview.trainings import GRID, trainings_of
from aflite_assets.data.examples import Examples
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.families import trains_in_one_thread
from aflite_assets.processors import processes_at_once
from aflite_assets.specs.models.kinds import ClassicalModelSpec
from aflite_assets.stages.data.cue_scan import most_scanned
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.shared.training_workers import WORTH, workers_with_memory

ANY_DATA = 1.0
"""Fixed work of all stages, regardless of the data (statistics, publishing, the report), in units of one process
start.
"""

LAST_RUN = "its last run"


@dataclass(frozen=True)
class CostLine:
    """Estimated cost of one stage for one model: the amount of work, and wall-clock seconds.

    `seconds` is None if the speed could not be measured. `note`: a sentence about the assumptions of the estimate.
    """

    stage: str
    what: str
    counts: Mapping[str, int]
    seconds: float | None
    note: str = ""


@dataclass(frozen=True)
class CostEstimate:
    """Estimated cost of a run: all cost lines, the measured device (cpu or cuda), and the duration of the measurements.

    `sizes_known`: whether the number of kept rows is known from current results. `at_once`: number of processes that
    train small evaluators at the same time.
    """

    lines: tuple[CostLine, ...]
    device: str
    measuring_seconds: float
    sizes_known: bool = False
    at_once: int = 1

    @property
    def seconds(self) -> float:
        """Total seconds of all cost lines with a measured speed."""
        return sum(line.seconds or 0.0 for line in self.lines)

    @property
    def not_measured(self) -> tuple[CostLine, ...]:
        """Cost lines without an estimate."""
        return tuple(line for line in self.lines if line.seconds is None)


def estimate_cost(
    raw: Examples,
    plan: RunPlan,
    *,
    device: DeviceSettings,
    log: Callable[[str], None],
    last: Mapping[str, float] = MappingProxyType({}),
) -> CostEstimate:
    """Estimate the seconds of each stage.

    `last`: seconds of the last run, by stage. For stages that are not in `last`, the seconds are estimated from counts
    and measured speeds.

    The filter and each distinct model are measured on a few rows of `raw`. The time for loading a model is counted
    once, because one process runs all stages. Small evaluators are assumed to train in parallel. `log` receives a line
    for each measurement.

    Raises:
        ModelError: the device is not available, or a model cannot be trained on the data.
    """
    resolved, started = device.resolve().type, time.perf_counter()
    speeds, left = Speeds(raw, plan, device, log), [stage for stage in STAGES if stage not in last]
    trainings = [one for one in trainings_of(plan) if one.stage not in last]
    start = speeds.start() * (1 + ANY_DATA * len(left) / len(STAGES))
    lines = [CostLine("all stages", "their process", {"start": 1}, start)]
    lines += [CostLine(stage, LAST_RUN, {}, seconds) for stage, seconds in last.items()]
    if "cue_scan" in left:
        rows = sum(min(rows, most_scanned(raw.modality)) for rows in (plan.rows["train"], *plan.test_rows.values()))
        lines.append(CostLine("cue_scan", "all properties", {"row": rows}, rows * speeds.scan()))
    for name, representation in plan.spec.filterings.items() if "filtered_sets" in left else ():
        runs = plan.spec.filter_seeds
        seconds, note = speeds.filter(plan.spec.representations[representation])
        counts = {"iteration": plan.most_iterations * runs}
        lines.append(CostLine("filtered_sets", name, counts, seconds * plan.row_scores * runs, note))
    trained = [_training_line(one, speeds) for one in trainings]
    at_once = _processes(trainings, trained) if resolved == "cpu" else 1
    lines += [
        replace(line, seconds=line.seconds / at_once) if line.seconds and _small(one) else line
        for one, line in zip(trainings, trained, strict=True)
    ]
    return CostEstimate(tuple(lines), resolved, time.perf_counter() - started, bool(plan.kept), at_once)


def _training_line(one: Trainings, speeds: Speeds) -> CostLine:
    if not isinstance(one.settings, ClassicalModelSpec):
        speed, counts = speeds.neural(one.settings), one.counts
        seconds = None if speed is None else sum(count * getattr(speed, unit) for unit, count in counts.items())
        return CostLine(one.stage, one.what, counts, seconds if counts else 0.0, one.note)
    fit, notes = speeds.classical(one.settings), [one.note] if one.note else []
    if max(one.sizes) > fit.rows:
        notes.append(f"measured up to {fit.rows:,} rows, then assumed to grow as rows^{fit.growth:.1f}")
    seconds = sum(fit.seconds(rows, one.asked) for rows in one.sizes)
    return CostLine(one.stage, one.what, {"fit": len(one.sizes)}, seconds, "; ".join(notes))


def _processes(trainings: Sequence[Trainings], lines: Sequence[CostLine]) -> int:
    """Return the number of processes that train small models in parallel.

    If there is little work, only one process is used (see `training_workers`).
    """
    seconds = sum(line.seconds or 0.0 for one, line in zip(trainings, lines, strict=True) if _small(one))
    return workers_with_memory(processes_at_once()) if seconds > WORTH else 1


def _small(one: Trainings) -> bool:
    return one.stage == GRID and trains_in_one_thread(one.settings)
