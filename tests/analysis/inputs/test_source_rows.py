import numpy as np
import pyarrow as pa

from aflite_assets.analysis.inputs.source_rows import (
    ANSWER_PLACES,
    NO_SOURCE,
    SOURCE_PLACES,
    SourceRows,
    brief_place,
    place_text,
)

PLACES = pa.table(
    [[3, 7, 9], ["train", "test", "test"], [3, 0, 2], ["a.csv", "b.parquet", None], [5, None, None]],
    schema=SOURCE_PLACES,
)


def test_places_are_found_by_row_id_and_said_in_words() -> None:
    found = SourceRows(PLACES).of(np.array([9, 7, 3, 4])).to_pylist()
    assert [one["row_id"] for one in found] == [9, 7, 3, 4]
    assert [place_text(one) for one in found] == [
        "test, source row 2",
        "b.parquet (test, source row 0)",
        "a.csv, line 5 (train, source row 3)",
        "",
    ]
    assert place_text(NO_SOURCE.of(np.array([3])).to_pylist()[0]) == ""


def test_answers_say_their_question_and_their_number_in_place_of_a_row_that_no_file_has() -> None:
    answers = pa.table([*PLACES.columns, pa.array(["2", "1", "q/7"]), pa.array([4, 1, 3])], schema=ANSWER_PLACES)
    found = SourceRows(answers).of(np.array([9, 7, 3])).to_pylist()
    assert [place_text(one) for one in found] == [
        "test, question q/7, answer 3",
        "b.parquet, answer 1 (test, question 1)",
        "a.csv, line 5, answer 4 (train, question 2)",
    ]
    assert [brief_place(one) for one in found[1:]] == [place_text(found[1]), "a.csv, line 5, answer 4"]


def test_columns_and_features_have_the_sources_names() -> None:
    source = SourceRows(PLACES, {"text_pair": "hypothesis"}, features=("age", "height"))
    assert [source.named(name) for name in ("text", "text_pair", "column 1", "column 2", "column x")] == [
        "text",
        "hypothesis",
        "height",
        "column 2",
        "column x",
    ]
    assert (source.feature_title(0), NO_SOURCE.feature_title(0)) == ("age", "feature 0")


def test_features_go_back_to_the_sources_units() -> None:
    source = SourceRows(PLACES, mean=np.array([10.0, -1.0]), deviation=np.array([2.0, 0.5]))
    assert source.original(np.array([[0, 2], [-1, 0]], np.float32)).tolist() == [[10.0, 0.0], [8.0, -1.0]]
    assert NO_SOURCE.original(np.array([0.5], np.float32)).tolist() == [0.5]


def test_a_zero_of_the_source_is_shown_as_zero() -> None:
    own = np.array([[0.0, 12.345, 3e9], [1.0, 0.001, 5e9]])
    mean, deviation = np.array([0.29, 7.0, 4e9]), np.array([0.4537, 3.1, 1e9])
    source = SourceRows(PLACES, mean=mean, deviation=deviation)
    standardised = ((own - mean) / deviation).astype(np.float32)
    assert source.original(standardised).tolist() == [[0.0, 12.345, 3e9], [1.0, 0.001, 5e9]]
