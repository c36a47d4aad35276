from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.page.markdown import dataset_card
from tests.reports.page.test_markdown import GFM_AUTOLINK, LINKS

CONFIGS = {
    "filtered": {"train": "filtered/train-*.parquet", "test": "filtered/test-*.parquet"},
    "hard": {"train": "filtered/train-*.parquet"},
    "easy": {"train": "easy/train-*.parquet"},
    "full_tagged": {"train": "full_tagged/train-*.parquet"},
}
ROWS = {
    "filtered": {"train": 4020, "test": 400},
    "hard": {"train": 4020},
    "easy": {"train": 798},
    "full_tagged": {"train": 5000},
}
OWN = {name: name for name in ("id", "source_row", "status", "predictability", "removed_in_iteration")} | {
    "weight": "aflite_weight"
}


def card(data: BenchmarkData, **changes: Any) -> str:
    given: dict[str, Any] = {
        "configs": CONFIGS,
        "rows": ROWS,
        "filtered": data.filtered,
        "label_names": data.label_names,
        "source_columns": ("premise", "gold"),
        "own_columns": OWN,
        "ids_given": False,
        "notes": data.notes,
        "provenance": data.provenance,
    }
    return dataset_card(data.title, data.description, **(given | changes))


def front_matter(text: str) -> Any:
    opening, matter, _ = text.split("---\n", 2)
    assert opening == ""
    return yaml.safe_load(matter)


def test_front_matter_names_configurations_and_files(planted: BenchmarkData) -> None:
    matter = front_matter(card(planted))
    assert matter["pretty_name"] == "Toy NLI"
    assert matter["configs"][0] == {
        "config_name": "filtered",
        "default": True,
        "data_files": [
            {"split": "train", "path": "filtered/train-*.parquet"},
            {"split": "test", "path": "filtered/test-*.parquet"},
        ],
    }
    assert [config["config_name"] for config in matter["configs"]] == ["filtered", "hard", "easy", "full_tagged"]
    assert sum(config.get("default", False) for config in matter["configs"]) == 1


def test_card_says_what_is_inside(planted: BenchmarkData) -> None:
    text = card(planted)
    assert "| `filtered` | the rows that filtering kept | train 4,020, test 400 |" in text
    assert "| `full_tagged` | all rows, and what the filter says of each | train 5,000 |" in text
    assert "kept 402 of 1,200 train rows" in text
    assert "| target\\_size | 400 |" in text
    for part in (
        "Le Bras et al., ICML 2020",
        "Wrong and ambiguous labels",
        "`aflite_weight` is",
        "clipped to \\[0.25, 4\\]",
        "As the source dataset's.",
    ):
        assert part in text


def test_card_says_what_was_removed_by_class_and_by_which_law(planted: BenchmarkData) -> None:
    (filtered,) = planted.filtered
    text = card(planted)
    rows = filtered.rows.to_pandas()
    train = rows[rows.split == "train"]
    entailment = train[train.label == 0]
    share, after = len(entailment) / len(train), entailment.kept.sum() / train.kept.sum()
    assert (
        f"| entailment | {len(entailment)} | {(~entailment.kept).sum()} | {100 * share:.1f} % | {100 * after:.1f} % |"
    ) in text
    scored = replace(filtered, settings={**filtered.settings, "evaluation_rows": {"test": "scored", "odd_1": "kept"}})
    laws = card(planted, filtered=[scored])
    assert (
        "- Rows of test (scored): left by the law by which train rows left; no classifier was trained on them." in laws
    )
    assert "- Rows of odd\\_1 (kept): were left alone" in laws
    whole = {"filtered": {"train": "a", "test": "b", "odd_1": "c"}, "full_tagged": {"train": "d", "odd_1": "e"}}
    rows = {"filtered": {"train": 4020, "test": 400, "odd_1": 9}, "full_tagged": {"train": 5000, "odd_1": 9}}
    inside = card(planted, filtered=[scored], configs=whole, rows=rows).splitlines()
    assert next(line for line in inside if line.startswith("| `filtered`")).endswith(
        "train 4,020, test 400, odd\\_1 9 (unfiltered) |"
    )
    assert "unfiltered" not in next(line for line in inside if line.startswith("| `full_tagged`"))
    assert "evaluation" not in laws.split("| setting | value |")[1].split("\n\n")[0]
    assert "Settings (the first of 3 runs of the filter" in card(planted, filtered=[replace(filtered, runs=3)])


def test_card_recommends_no_weights_and_calls_no_row_hard(planted: BenchmarkData) -> None:
    text = card(planted, configs={name: files for name, files in CONFIGS.items() if name != "hard"})
    assert "Whether that helps is not said here: see the train set `weighted` in the report" in text
    assert "hard" not in text
    assert "could not" not in text
    assert "every train row is under the threshold" in card(planted)


@pytest.mark.parametrize("given", [True, False])
def test_card_says_what_the_ids_are(planted: BenchmarkData, *, given: bool) -> None:
    assert "| premise and gold | the source's: inputs, label and attributes |" in card(planted)
    assert ("| `id` | the id that the source gives the row |" in card(planted, ids_given=given)) is given
    assert ("as in `train-17`" in card(planted, ids_given=given)) is not given


def test_names_may_carry_a_representation(planted: BenchmarkData) -> None:
    text = card(planted, configs={"filtered_roberta": {"train": "a"}}, rows={"filtered_roberta": {"train": 9}})
    assert "| `filtered_roberta` | the rows that filtering kept; representation roberta | train 9 |" in text


def test_hostile_text_neither_ends_the_front_matter_nor_becomes_markup(hostile: BenchmarkData) -> None:
    text = dataset_card(
        "x\n---\nconfigs: []\n" + hostile.title,
        "# head\n\n---\n" + hostile.description,
        configs=CONFIGS,
        rows=ROWS,
        filtered=[replace(one, settings={**one.settings, "threshold": 0.75}) for one in hostile.filtered],
        label_names=hostile.label_names,
        source_columns=["<b>`x`</b>\n| y |\n---", *(f"pixel_{number}" for number in range(40))],
        own_columns=OWN,
        ids_given=False,
        notes=hostile.notes,
        provenance=hostile.provenance,
    )
    assert front_matter(text)["configs"][0]["config_name"] == "filtered"
    body = text.split("---\n", 2)[2]
    assert "<" not in body
    assert "\x00" not in text
    assert "\\# head" in body
    assert "\n---\n" not in body
    assert "pixel\\_18 and 21 more | the source's" in body


def test_datasets_loads_the_folder(planted: BenchmarkData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    folder = tmp_path / "published"
    for config, split, rows in (("filtered", "train", 3), ("filtered", "test", 2), ("easy", "train", 5)):
        (folder / config).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"row_id": list(range(rows))}), folder / config / f"{split}-00000.parquet")
    (folder / "README.md").write_text(
        card(planted, configs={name: CONFIGS[name] for name in ("filtered", "easy")}), encoding="utf-8"
    )
    filtered = datasets.load_dataset(str(folder), "filtered", cache_dir=str(tmp_path / "cache"))
    easy = datasets.load_dataset(str(folder), "easy", cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in filtered.items()} == {"train": 3, "test": 2}
    assert {split: len(rows) for split, rows in easy.items()} == {"train": 5}
    assert len(datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))["test"]) == 2


@pytest.mark.parametrize("text", LINKS)
def test_names_from_the_dataset_are_no_links(planted: BenchmarkData, text: str) -> None:
    own = card(planted)
    shown = card(
        planted,
        label_names=(text, "b", "c"),
        source_columns=(text,),
        notes=(text,),
        provenance={text: text},
        configs={"filtered": {text: "filtered/train-*.parquet"}},
        rows={"filtered": {text: 4020}},
    )
    body = shown.partition("# Toy")[2]
    found = [match[0] for match in GFM_AUTOLINK.finditer(body)]
    assert found == [match[0] for match in GFM_AUTOLINK.finditer(own.partition("# Toy")[2])] == ["https://a"]
