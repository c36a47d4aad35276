import codecs
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from aflite_assets.specs.encodings import ENCODINGS, known_encoding
from aflite_assets.specs.sources import LabelledFolder, SourceSpec, as_tuple

CIRCLES: dict[str, Any] = {
    "format": "circles", "splits": {"train": 10}, "inner_radius": 1, "outer_radius": 2, "radius_deviation": 0.1,
    "biased_share": 0.5, "bias_width": 2, "bias_mean": 1, "bias_deviation": 0.1, "noise_deviation": 0.1,
    "flipped_share": 0.1,
}  # fmt: skip


def _source(**content: Any) -> Any:
    return TypeAdapter(SourceSpec).validate_python(content)


def test_files_of_tables_are_those_of_all_splits() -> None:
    source = _source(format="parquet", splits={"train": ["a", "b"], "test": "c"})
    assert source.files() == [Path("a"), Path("b"), Path("c")]


def test_files_of_features_leave_absent_groups_out() -> None:
    files = {"features": "x.npy", "labels": "y.npy"}
    source = _source(format="features", splits={"train": files | {"groups": "g.npy"}})
    assert [str(path) for path in source.files()] == ["x.npy", "y.npy", "g.npy"]


def test_image_folders_name_their_folders_and_label_files() -> None:
    source = _source(format="image_folder", splits={"train": "a", "dev": {"folder": "b", "labels": "b.txt"}})
    assert source.files() == [Path("b.txt")]
    assert source.folders() == [Path("a"), Path("b")]


def test_groups_are_given_for_all_splits_or_none() -> None:
    files = {"features": "x.npy", "labels": "y.npy"}
    with pytest.raises(
        ValidationError,
        match=r"`groups` is set for some splits, but not for \['test'\]; set `groups` for all splits or for none",
    ):
        _source(format="features", splits={"train": files | {"groups": "g.npy"}, "test": files})


def test_drawn_sources_have_no_files() -> None:
    assert _source(**CIRCLES).files() == []
    digits = _source(format="digits")
    assert (digits.files(), list(digits.splits)) == ([], ["train", "test"])


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"format": "csv", "splits": {}}, "splits"),
        ({"format": "csv", "splits": {"train": "a"}, "delimiter": "::"}, "delimiter"),
        ({"format": "csv", "splits": {"train": "a"}, "delimiter": ""}, "delimiter"),
        ({"format": "csv", "splits": {"train": []}}, "splits"),
        ({"format": "features", "splits": {"train": {"features": "x"}}}, "labels"),
        ({"format": "digits", "test_share": 1}, "test_share"),
        ({"format": "digits", "canvas": 7}, "canvas"),
        ({"format": "digits", "canvas": 65}, "canvas"),
        ({"format": "digits", "degraded": {"noise": 256}}, "noise"),
        ({"format": "digits", "degraded": {"blur": -1}}, "blur"),
        ({"format": "digits", "degraded": {"occlusion": 9}}, "occlusion"),
        ({"format": "digits", "degraded": {"rain": 1}}, "rain"),
        ({"format": "digits", "canvas": 12, "marks": {}}, "share"),
        ({"format": "digits", "canvas": 12, "marks": {"share": 1.1}}, "share"),
        ({"format": "digits", "canvas": 12, "marks": {"share": 0.5, "wrong_share": -0.1}}, "wrong_share"),
        (CIRCLES | {"biased_share": 1.1}, "biased_share"),
        (CIRCLES | {"flipped_share": 0.5}, "flipped_share"),
        (CIRCLES | {"splits": {"train": 3}}, "splits"),
        (CIRCLES | {"bias_width": 0}, "bias_width"),
        ({"format": "pickle", "splits": {"train": "a"}}, "pickle"),
    ],
)
def test_sources_out_of_range_are_refused(content: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        _source(**content)


@pytest.mark.parametrize(
    ("content", "needed"),
    [
        ({"marks": {"share": 0.7}}, "pixels, a shift of 0 and a mark of 3 need 11 pixels; set `canvas` to at least 11"),
        (
            {"canvas": 13, "marks": {"share": 0.7}, "degraded": {"shift": 3}},
            "shift of 3 and a mark of 3 need 14 pixels; set",
        ),
        (
            {"canvas": 10, "degraded": {"shift": 3}},
            "`canvas` is 10, but a digit of 8 pixels, a shift of 3 and a mark of 0",
        ),
    ],
)
def test_a_canvas_without_room_is_refused(content: dict[str, Any], needed: str) -> None:
    with pytest.raises(ValidationError, match=needed):
        _source(format="digits", **content)


def test_marked_digits_have_attributes() -> None:
    source = _source(format="digits", test_share=0.3)
    assert source.attributes == ()
    assert _source(format="digits", canvas=11, marks={"share": 0.5}).attributes == ("mark", "mark_names")


def test_one_name_or_several_as_a_tuple() -> None:
    assert as_tuple("a") == ("a",)
    assert as_tuple(("a", "b")) == ("a", "b")


def test_hub_files_have_no_configuration() -> None:
    source = {"format": "hub", "id": "a/b", "revision": "main", "config": "c", "splits": {"train": "train.csv"}}
    with pytest.raises(
        ValidationError,
        match="`config` is 'c', but it has no effect because `splits` names files of the repository; remove `config`",
    ):
        _source(**source)


def test_hub_splits_and_files_are_not_mixed() -> None:
    source = {"format": "hub", "id": "a/b", "revision": "main", "splits": {"train": "train", "test": "test.csv"}}
    with pytest.raises(
        ValidationError,
        match=r"`splits` contains both splits of the hub and files \(\['train', 'test.csv'\]\); name only "
        r"splits or only files",
    ):
        _source(**source)


@pytest.mark.parametrize(
    ("form", "options", "message"),
    [
        (
            "csv",
            {"header": False},
            "`header` is false, but the columns have no names; set `names` to a list with a name for each column",
        ),
        (
            "csv",
            {"names": ["a"]},
            "but the first line of the file contains the column names; remove `names`, or set `header: "
            "false` if the file has no such line",
        ),
        (
            "csv",
            {"header": False, "names": ["a", "a"]},
            "which contains a name twice; give every column a different name",
        ),
        (
            "jsonl",
            {"header": False, "names": ["a"]},
            "`header` and `names` are allowed for csv and tsv only, but `format` is 'jsonl'",
        ),
    ],
)
def test_header_and_names_go_together(form: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        _source(format=form, splits={"train": "a"}, **options)


@pytest.mark.parametrize(
    ("written", "encoding"),
    [("UTF-8", "utf-8"), ("utf_8_sig", "utf-8"), ("windows-1252", "cp1252"), ("Latin1", "latin-1"),
     ("ISO-8859-15", "iso8859-15"), ("utf-16LE", "utf-16-le"), ("Shift_JIS", "shift-jis")],
)  # fmt: skip
def test_encoding_has_one_name_however_it_is_written(written: str, encoding: str) -> None:
    source = _source(format="csv", splits={"train": "a"}, encoding=written)
    assert source.encoding == encoding


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_is_one_of_text_that_is_read_in_blocks(encoding: str) -> None:
    assert known_encoding(encoding.upper().replace("-", "_")) == encoding
    assert codecs.getincrementaldecoder(encoding)().decode("a1,\n".encode(encoding), final=True) == "a1,\n"


@pytest.mark.parametrize(
    "hostile",
    [
        "idna",
        "rot13",
        "zip",
        "unicode_escape",
        "raw_unicode_escape",
        "undefined",
        "mbcs",
        "ANSI",
        "base64",
        "utf-7",
        "../x",
    ],
)
def test_codec_of_something_else_is_refused(hostile: str) -> None:
    with pytest.raises(ValidationError, match=f"'{hostile}' is not a supported text encoding.*common encodings are"):
        _source(format="csv", splits={"train": "a"}, encoding=hostile)


def test_unknown_encoding_has_the_nearest_one_beside_it() -> None:
    with pytest.raises(ValidationError, match=r"'uft-8' is not a supported text encoding; did you mean 'utf-8'\?"):
        _source(format="multiple_choice", table={"format": "csv", "splits": {"train": "a"}, "encoding": "uft-8"},
                question="q", answers="a", right="r")  # fmt: skip
    with pytest.raises(ValidationError, match="x…' is not a supported text encoding"):
        LabelledFolder(folder="a", labels="b", encoding="x" * 5_000)


def test_parquet_has_no_encoding() -> None:
    with pytest.raises(
        ValidationError, match="`encoding` is 'cp1252', but Parquet files are always in UTF-8; remove `encoding`"
    ):
        _source(format="parquet", splits={"train": "a"}, encoding="cp1252")


def test_an_encoding_has_one_name_in_keys() -> None:
    source = {"format": "csv", "splits": {"train": "a"}}
    assert _source(**source) == _source(**source, encoding="utf8")
    assert _source(**source, encoding="UTF-16").model_dump(mode="json")["encoding"] == "utf-16"
