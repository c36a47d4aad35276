"""Facts of a dataset: those that the browser of rows reads."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.facts import DatasetFacts, dataset_facts
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.inputs.source_rows import NO_SOURCE, SourceRows
from aflite_assets.studies.forgettables.analysis.records import Forgettables
from tests.planted_reports import learnt_rows


def test_trainings_have_their_seed_in_the_name_if_a_model_has_several(with_rows: BenchmarkData) -> None:
    first, second = learnt_rows()
    learnt = (first, second, replace(first, weak_model="lstm"))
    forgettables = Forgettables(learnt=learnt)
    facts = dataset_facts(replace(with_rows, studies={"forgettable_sets": forgettables}))
    assert [(one.name, one.sets) for one in facts.weak_trainings] == [
        ("bow, seed 0", ("forgettable", "never_learnt")),
        ("bow, seed 1", None),
        ("lstm", ("forgettable", "never_learnt")),
    ]
    assert dataset_facts(with_rows).weak_trainings == ()


def test_a_filtering_states_its_cutoffs_and_which_rows_it_left_alone(with_rows: BenchmarkData) -> None:
    (one,) = with_rows.filtered
    splits = pa.array(np.where(np.arange(1200) >= 1000, "fresh", "train"))
    rows = one.rows.set_column(one.rows.column_names.index("split"), "split", splits)
    data = replace(with_rows, filtered=(replace(one, rows=rows),))
    (facts,) = dataset_facts(data).filterings
    assert facts.cutoffs == tuple(one.iterations["cutoff"].to_pylist())
    assert (facts.splits, facts.rows_left_alone, facts.suspected_labels) == (("train", "fresh"), 200, 1)
    assert dataset_facts(replace(data, row_facts={})).filterings[0].suspected_labels == 0


def test_columns_and_right_answers_have_the_names_of_the_source(with_rows: BenchmarkData) -> None:
    assert dataset_facts(with_rows).text_columns == {"text": "text", "text_pair": "text_pair"}
    source = SourceRows(NO_SOURCE.places, {"text": "premise"}, right=2)
    facts = dataset_facts(replace(with_rows, source=source))
    assert facts.text_columns == {"text": "premise", "text_pair": "text_pair"}
    assert (facts.right_label, dataset_facts(with_rows).right_label) == ("contradiction", None)


def test_attributes_are_the_columns_that_no_model_reads(with_rows: BenchmarkData) -> None:
    table = with_rows.examples.table
    for name in ("site", "premise", "age"):
        table = table.append_column(f"attribute.{name}", pa.array(["a"] * len(table)))
    data = replace(with_rows, examples=replace(with_rows.examples, table=table))
    assert dataset_facts(data).attributes == ("genre", "site", "premise", "age")
    source = SourceRows(NO_SOURCE.places, {"text": "premise"}, features=("age",))  # read as text, and as a feature
    assert dataset_facts(replace(data, source=source)).attributes == ("genre", "site")
    assert dataset_facts(with_rows).attributes == ("genre",)


def test_facts_are_written_as_json_and_read_back_equal(with_weak_models: BenchmarkData) -> None:
    facts, adapter = analyse(with_weak_models).facts, TypeAdapter(DatasetFacts)
    assert adapter.validate_json(adapter.dump_json(facts)) == facts
