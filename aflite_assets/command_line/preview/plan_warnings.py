"""What `aflite check` warns of in settings that a run would take: samples that may not fit.

What a verdict will lack, and a threshold that guessing reaches, are in `check_text`.
"""

from collections.abc import Iterator

from aflite_assets.command_line.preview.data_preview import DataPreview
from aflite_assets.command_line.preview.run_plan import RunPlan
from aflite_assets.reports.text import count
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.shared.sizes import sample_misfits


def sample_section(spec: DatasetSpec, data: DataPreview, plan: RunPlan) -> Iterator[str]:
    """The samples after which a run would be refused for its sizes; nothing where every sample fits."""
    if plan.sample is None:
        return
    tried = plan.sample.samples
    problems = sample_misfits(spec, tried, plan.rows, classes=len(data.raw.examples.label_names))
    if not problems:
        return
    first = next(iter(problems))
    fitting = [size for size in tried if size not in problems]
    above = [size for size in fitting if size > max(problems)]
    remedy = f"set sample.start to {above[0]}, or change these sizes" if above else "change these sizes"
    yield (
        f"warning: if train_sample chooses {' or '.join(map(count, problems))} rows, the run is refused "
        f"after its trainings; of {count(first)} rows: {problems[first].rstrip('.')}; {remedy}"
    )
