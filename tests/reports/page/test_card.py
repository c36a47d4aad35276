from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.page.card import dataset_card

CONFIGS = [
    ("filtered", {"train": "filtered/train-*.parquet", "test": "filtered/test-*.parquet"}),
    ("hard", {"train": "filtered/train-*.parquet"}),
    ("easy", {"train": "easy/train-*.parquet"}),
    ("full_tagged", {"train": "full_tagged/train-*.parquet"}),
]
ROWS = {"filtered": {"train": 4020, "test": 400}, "easy": {"train": 798}}


def card(data: BenchmarkData, **changes: Any) -> str:
    given: dict[str, Any] = {
        "configs": CONFIGS,
        "rows": ROWS,
        "filtered": data.filtered,
        "label_names": data.label_names,
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
    assert "| `full_tagged` | all rows, with the columns below | train not counted |" in text
    assert "kept 402 of 1,200 train rows" in text
    assert "| target\\_size | 400 |" in text
    for part in ("Le Bras et al., ICML 2020", "mislabelled", "clipped to \\[0.25, 4\\]", "As the source dataset's."):
        assert part in text


def test_names_may_carry_a_representation(planted: BenchmarkData) -> None:
    text = card(planted, configs=[("filtered_roberta", {"train": "a.parquet"}), ("other", {"train": "b.parquet"})])
    assert "| `filtered_roberta` | the rows that filtering kept; representation roberta |" in text
    assert "| `other` | see the name |" in text


@pytest.mark.parametrize("configs", [[], [("a", {}), ("a", {})]])
def test_configurations_need_different_names(planted: BenchmarkData, configs: Any) -> None:
    with pytest.raises(InvalidInputError, match="configurations with different names"):
        card(planted, configs=configs)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.parquet", "~/x", "a/../../x"])
def test_paths_stay_inside_the_folder(planted: BenchmarkData, path: str) -> None:
    with pytest.raises(InvalidInputError, match="paths must stay inside the folder"):
        card(planted, configs=[("filtered", {"train": path})])


def test_hostile_text_neither_ends_the_front_matter_nor_becomes_markup(hostile: BenchmarkData) -> None:
    text = dataset_card(
        "x\n---\nconfigs: []\n" + hostile.title,
        "# head\n\n---\n" + hostile.description,
        configs=CONFIGS,
        rows=ROWS,
        filtered=hostile.filtered,
        label_names=hostile.label_names,
        notes=hostile.notes,
        provenance=hostile.provenance,
    )
    assert front_matter(text)["configs"][0]["config_name"] == "filtered"
    body = text.split("---\n", 2)[2]
    assert "<" not in body
    assert "\x00" not in text
    assert "\\# head" in body
    assert "\n---\n" not in body


def test_datasets_loads_the_folder(planted: BenchmarkData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    folder = tmp_path / "published"
    for config, split, rows in (("filtered", "train", 3), ("filtered", "test", 2), ("easy", "train", 5)):
        (folder / config).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"row_id": list(range(rows))}), folder / config / f"{split}-00000.parquet")
    (folder / "README.md").write_text(card(planted, configs=[CONFIGS[0], CONFIGS[2]]), encoding="utf-8")
    filtered = datasets.load_dataset(str(folder), "filtered", cache_dir=str(tmp_path / "cache"))
    easy = datasets.load_dataset(str(folder), "easy", cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in filtered.items()} == {"train": 3, "test": 2}
    assert {split: len(rows) for split, rows in easy.items()} == {"train": 5}
    assert len(datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))["test"]) == 2


def test_configuration_names_are_plain(planted: BenchmarkData) -> None:
    with pytest.raises(InvalidInputError, match="must consist of a-z, 0-9 and underscores"):
        card(planted, configs=[("a`b", {"train": "x.parquet"})])
