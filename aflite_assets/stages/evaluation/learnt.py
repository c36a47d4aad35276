"""Whether evaluators trained on full learnt anything, from the stored predictions of a grid; nothing is trained."""

from collections.abc import Mapping

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.reports.inputs.records import TestSet
from aflite_assets.reports.scores.judges import OverLargestClass, over_largest_class
from aflite_assets.results import PublishedResult
from aflite_assets.specs.models import EvaluatorSpec, validation_splits
from aflite_assets.stages.report.model_families import partial_inputs
from aflite_assets.stages.shared.report_inputs import fine_tuned_evaluators, read_cells


def learnt_on_full(
    models: PublishedResult, raw: PublishedResult, evaluators: Mapping[str, EvaluatorSpec]
) -> dict[str, OverLargestClass]:
    """Each evaluator's margin over the largest class of the natural test set, where it can be asked.

    Left out are those that see one text of a pair, and those that went on to other sets: they need not beat it.

    Raises:
        DataError: predictions do not fit the rows of `raw`.
    """
    everything = load_examples(raw.path)
    columns = everything.table.column_names
    # only these: rows of a split are copied, images with them
    needed = [name for name in ("row_id", "split", "label", "group") if name in columns]
    rows = Examples(everything.table.select(needed), everything.label_names)
    unreported = {"train", *validation_splits(evaluators)}
    tested = [
        TestSet(split, False, one.row_ids, one.labels, one.label_names, {}, groups=one.groups)
        for split in rows.table["split"].unique().to_pylist()
        if split not in unreported and len(one := rows.in_split(split))
    ]
    left_out = {*fine_tuned_evaluators(evaluators)}
    if "text_pair" in columns:
        left_out.update(partial_inputs(evaluators))
    cells = [cell for cell in read_cells(models) if cell.train_set == "full" and cell.evaluator not in left_out]
    return over_largest_class(cells, tested)
