"""The sample in the preview of a run: its possible sizes, its trainings, and warnings."""

from collections.abc import Iterator, Mapping

from aflite_assets.analysis.intervals import wilson_interval
from aflite_assets.command_line.preview.run_plan import RunPlan, SelectedRows, StudyPreview, Trainings
from aflite_assets.data.examples import Examples
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.shared.published import RowSelection, selected_rows
from aflite_assets.stages.shared.sizes import CurveSizes, sample_misfits
from aflite_assets.studies.sample.specs.settings import SampleSettings
from aflite_assets.studies.sample.stages.train_sample import check_sample_model, draw_sample, sample_sizes
from aflite_assets.text import count, listed, percent
from aflite_assets.wording import counted

SAMPLE_NOTE = "assuming that every size is tried; later numbers assume that the largest sample is chosen"


class SamplePreview(StudyPreview):
    """The part of the preview about the sample."""

    def select(
        self, spec: DatasetSpec, raw: Examples, rows: Mapping[str, int], *, complete: bool
    ) -> SelectedRows | None:
        """Return the possible sample sizes, the largest one that meets the size settings, and its examples.

        If no sample meets the size settings, the largest sample is assumed, and the plan raises an error.
        """
        sample = SampleSettings.of(spec).sample
        if sample is None:
            return None
        if complete:
            drawn = draw_sample(sample, raw, seed=spec.seed)
            sizes = drawn.sizes
        else:
            check_sample_model(sample, raw)
            sizes = sample_sizes(sample, rows["train"])
        problems = sample_misfits(spec, sizes.samples, rows, classes=len(raw.label_names))
        planned = max((size for size in sizes.samples if size not in problems), default=sizes.samples[-1])
        if not complete:
            return SelectedRows(sizes, planned, raw)
        chosen = drawn.samples[sizes.samples.index(planned)]
        return SelectedRows(sizes, planned, selected_rows(raw, RowSelection(chosen, drawn.held_back)))

    def trainings(self, plan: RunPlan) -> Iterator[Trainings]:
        """Yield the trainings on samples of every size."""
        sample = SampleSettings.of(plan.spec).sample
        if sample is not None and plan.sample is not None:
            sizes = [*plan.sample.samples] * sample.repeats
            kind, held_back = sample.model.kind, plan.sample.held_back
            yield Trainings("train_sample", kind, sample.model, sizes, held_back, SAMPLE_NOTE)

    def lines(self, plan: RunPlan) -> Iterator[tuple[str, str]]:
        """Yield the sizes that are tried."""
        if plan.sample is not None:
            yield "sample", _tried(plan, plan.sample)

    def warnings(self, plan: RunPlan, *, classes: int) -> Iterator[str]:
        """Yield warnings about samples that are too small for the other settings and would make a run fail."""
        if plan.sample is None:
            return
        tried = plan.sample.samples
        sample = SampleSettings.of(plan.spec).sample
        asked = () if sample is None else sample.sizes
        if len(asked) > len(tried):
            left = count(plan.rows["train"] - plan.sample.held_back)
            yield (
                f"warning: sample.most is {count(asked[-1])}, but without the held-back rows, {left} train rows "
                f"remain; the largest sample is {count(tried[-1])}"
            )
        problems = sample_misfits(plan.spec, tried, plan.rows, classes=classes)
        if not problems:
            return
        first = next(iter(problems))
        fitting = [size for size in tried if size not in problems]
        above = [size for size in fitting if size > max(problems)]
        remedy = f"set sample.start to {above[0]}, or change these sizes" if above else "change these sizes"
        yield (
            f"warning: if train_sample chooses {' or '.join(map(count, problems))} rows, the run fails after the "
            f"training runs on the samples; of {count(first)} rows: {problems[first].rstrip('.')}; {remedy}"
        )


def _tried(plan: RunPlan, sizes: CurveSizes) -> str:
    tried = listed([count(rows) for rows in sizes.samples], 10)
    largest = plan.filtered_from == sizes.samples[-1]
    noise = wilson_interval(0.8, sizes.held_back).half_width
    which = (
        "the largest sample"
        if largest
        else f"{count(plan.filtered_from)}, the largest sample that meets the size settings"
    )
    return (
        f"{tried} of {counted(plan.rows['train'], 'train row')} are tried until the accuracy stops rising, with "
        f"{count(sizes.held_back)} held back, which measure accuracies of about 80 % to ±{percent(noise)} points; the "
        f"following numbers are for {which}"
    )


PART = SamplePreview()
