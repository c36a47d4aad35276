"""What a report says of a dataset's source: where rows stand in its files, and what their columns are called there."""

import pyarrow as pa
from pydantic import TypeAdapter

from aflite_assets.analysis.inputs.source_rows import ANSWER_PLACES, SourceRows
from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import right_answers, right_class
from aflite_assets.data.raw_table.standardise import Scale
from aflite_assets.results import PublishedResult
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.sources import MultipleChoiceSource, SourceSpec, as_tuple
from aflite_assets.stages.shared.source_places import places_in_files, places_of


def read_source_rows(raw_result: PublishedResult, raw: Examples, columns: ColumnsSpec) -> SourceRows:
    """The places of the raw table's rows, by the source that it was made from.

    Files and lines are looked up in the files as they are now, where their content is still the one that the raw table
    was made from; otherwise, and for sources that are no files of rows, they are null.
    """
    made_from = raw_result.manifest["made_from"]["fields"]
    source: SourceSpec = TypeAdapter(SourceSpec).validate_python(made_from["source"])
    scale = Scale.load(raw_result.path)
    features = columns.features if isinstance(columns.features, tuple) else None
    asked = right_answers(raw, partly=isinstance(source, MultipleChoiceSource)) is not None
    in_files = places_in_files(source, made_from["contents"]["source"])
    places = places_of(raw.row_ids, raw_result.summary["source_rows"], in_files)
    return SourceRows(
        _with_answers(places, raw) if isinstance(source, MultipleChoiceSource) else places,
        _column_names(source, columns, raw),
        features if raw.modality == "features" else None,
        None if scale is None else scale.mean,
        None if scale is None else scale.deviation,
        right_class(raw.label_names) if asked else None,
    )


def _with_answers(places: pa.Table, raw: Examples) -> pa.Table:
    """The places with the columns `ANSWER_PLACES`, by the ids that answers of multiple choice have: "17/2"."""
    parts = [source_id.rpartition("/") for source_id in raw.table["source_id"].to_pylist()]
    questions, numbers = pa.array([one[0] for one in parts]), pa.array([int(one[2]) for one in parts])
    return pa.table([*places.columns, questions, numbers], schema=ANSWER_PLACES)


def _column_names(source: SourceSpec, columns: ColumnsSpec, raw: Examples) -> dict[str, str]:
    """The source's names of the raw table's texts; of answers in several columns "answer"."""
    if isinstance(source, MultipleChoiceSource):
        answers = as_tuple(source.answers)
        return {
            "text": " + ".join(as_tuple(source.question)),
            "text_pair": answers[0] if len(answers) == 1 else "answer",
        }
    named = {"text": columns.text, "text_pair": columns.text_pair}
    return {name: given for name, given in named.items() if given is not None and name in raw.table.column_names}
