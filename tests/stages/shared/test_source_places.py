"""What data checks say of a published raw dataset's source: where rows stand, names, settings that are made."""

import json
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.checks import CheckOutcome
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.registry import load_registry, parse_spec
from aflite_assets.stages.checks import stage_checks
from aflite_assets.stages.pipeline import STAGES, run_stage
from aflite_assets.stages.shared.source_places import source_facts
from tests.small_datasets import LINEAR


def _texts(folder: Path, **changes: Any) -> tuple[PublishedResult, PublishedResult]:
    """Forty train rows whose first two are copies, on lines 2 and 3, and six test rows of which the last is theirs."""
    train = [f"note {max(row, 1)},{'yes' if max(row, 1) % 2 else 'no'}" for row in range(40)]
    test = [*(f"other {row},{'yes' if row % 2 else 'no'}" for row in range(5)), "note 1,yes"]
    for name, lines in (("train", train), ("test", test)):
        (folder / f"{name}.csv").write_text("\n".join(["words,label", *lines]) + "\n", encoding="utf-8")
    splits = {name: str(folder / f"{name}.csv") for name in ("train", "test")}
    spec = parse_spec(
        {
            "name": "own",
            "source": {"format": "csv", "splits": splits},
            "columns": {"text": "words", "label": "label"},
            "labels": ["no", "yes"],
            "representations": {"small": {"kind": "small_transformer", "max_length": 8}},
            "evaluators": LINEAR,
            **changes,
        }
    )
    store = ResultStore(folder / "results")
    return tuple(run_stage(name, spec, store=store).result for name in ("raw_dataset", "challenge_sets"))  # type: ignore[return-value]


def _found(raw: PublishedResult) -> tuple[CheckOutcome, ...]:
    any_settings = load_registry()["circles_1"]  # these checks read none
    return stage_checks(STAGES["raw_dataset"], raw, any_settings, {})


def test_rows_have_file_and_line_while_the_files_are_as_they_were(tmp_path: Path) -> None:
    raw, _ = _texts(tmp_path, holdout={"fresh": 8})
    facts = source_facts(raw)
    assert facts.places([0, 1, 45]) == ["train.csv, line 2", "train.csv, line 3", "test.csv, line 7"]
    assert (facts.named("text"), facts.feature_names, facts.drawn_splits) == ("words", None, {"fresh"})
    assert not facts.drop_duplicates
    assert not facts.drop_between_splits
    (tmp_path / "test.csv").write_text("words,label\nnew,yes\n", encoding="utf-8")
    assert source_facts(raw).places([0, 45]) == ["train, source row 0", "test, source row 5"]


def test_settings_that_are_made_are_known(tmp_path: Path) -> None:
    raw, _ = _texts(tmp_path, drop_duplicates=True, between_splits="drop")
    facts = source_facts(raw)
    assert facts.drop_duplicates
    assert facts.drop_between_splits
    assert facts.drawn_splits == frozenset()
    assert {one.name: one.passed for one in _found(raw)}["no_repeats_across_splits"]


def test_the_report_says_what_was_found_with_file_and_line_and_then_what_to_do(tmp_path: Path) -> None:
    outcomes = {one.name: one for one in _found(_texts(tmp_path)[0])}
    assert outcomes["no_repeats_across_splits"].said == (
        "1 row (16.7 %) outside train, 1 of test: test.csv, line 7. To do: set `between_splits: drop`, which drops 2 "
        "of 40 train rows; or remove the repeats from the test split, or expect its accuracy to be too high"
    )
    assert outcomes["few_repeats_in_train"].said.startswith(
        "2 rows (5.0 %) of train: train.csv, lines 2, 3. To do: set"
    )
    assert outcomes["row_ids_unique"].said == "46 rows with 46 ids"
    assert outcomes["images_decode"].said == "not applicable: images only"
    assert json.dumps({name: one.said for name, one in outcomes.items() if one.passed}).count("To do") == 0


@pytest.mark.parametrize("split", ["train", "test"])
def test_names_of_files_print(tmp_path: Path, split: str) -> None:
    folder = tmp_path / "a\u202eb"
    folder.mkdir()
    (tmp_path / "c").mkdir()
    for name, place in (("train", folder), ("test", tmp_path / "c")):
        (place / f"{name}.csv").write_text("words,label\n" + "x,no\ny,yes\n" * 6, encoding="utf-8")
    raw, _ = _texts(
        tmp_path,
        source={
            "format": "csv",
            "splits": {"train": str(folder / "train.csv"), "test": str(tmp_path / "c" / "test.csv")},
        },
    )
    places = source_facts(raw).places([0 if split == "train" else 12])
    assert places == ["a\N{REPLACEMENT CHARACTER}b/train.csv, line 2" if split == "train" else "c/test.csv, line 2"]
