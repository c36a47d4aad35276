"""docs/papers_settings.md has every setting of every bundled dataset with the value that the file has, and no other.

Its table of deviations names each default that is not the papers', and `filter: {preset: paper}` leaves none of them.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from aflite_assets.specs.filter import FilterSpec
from aflite_assets.specs.registry import BUNDLED, parse_spec
from aflite_assets.studies.forgettables.specs.settings import ForgettablesSettings
from aflite_assets.studies.sample.specs.settings import SampleSettings

PAGE = Path(__file__).parents[1] / "docs" / "papers_settings.md"
FILES = sorted(path.stem for path in BUNDLED.glob("*.yaml"))
PLAIN = ("sample", "warmup", "filter", "train_sets", "full_includes_warmup", "seeds")
MODELS = ("representations", "evaluators")


def _in_file(name: str) -> dict[str, Any]:
    """Settings as the file writes them: fields of the filter one by one, models whole but for pinned revisions."""
    content = yaml.safe_load((BUNDLED / f"{name}.yaml").read_text(encoding="utf-8"))
    found: dict[str, Any] = {}
    for field in PLAIN:
        value = content.get(field)
        if isinstance(value, dict):
            found |= {
                f"{field}.{inner}": _unpinned(one) if isinstance(one, dict) else one for inner, one in value.items()
            }
        elif value is not None:
            found[field] = value
    for field in MODELS:
        for model, settings in content[field].items():
            found[f"{field}.{model}"] = _unpinned(settings)
    found |= {f"forgettables.{name}": entry for name, entry in content.get("forgettables", {}).items()}
    if "minorities" in content:
        found["minorities"] = content["minorities"]
    if "distance_encoder" in content:
        found["distance_encoder"] = _unpinned(content["distance_encoder"])
    return found


def _unpinned(settings: Any) -> Any:
    """Without the revision, where it is a mapping."""
    return {key: one for key, one in settings.items() if key != "revision"} if isinstance(settings, dict) else settings


def _rows(columns: int) -> Iterator[list[str]]:
    """The cells of the page's tables of so many columns, without heads and rules."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
        if line.startswith("|") and len(cells) == columns and cells[0] not in ("file", "setting", "our default", "---"):
            yield cells


def _in_table() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {name: {} for name in FILES}
    for files, setting, value, *_ in _rows(6):
        for name in files.split(", "):
            assert name in found, f"{name} is no bundled file"
            key = setting.strip("`")
            assert key not in found[name], f"{name} has two rows for {key}"
            found[name][key] = yaml.safe_load(value.strip("`"))
    return found


@pytest.mark.parametrize("name", FILES)
def test_the_table_has_the_files_settings_and_no_other(name: str) -> None:
    assert _in_table()[name] == _in_file(name)


def test_every_row_says_what_the_paper_has_and_why_ours_is_what_it_is() -> None:
    rows = list(_rows(6))
    assert len(rows) > 40
    for cells in rows:
        assert cells[3], cells
        assert cells[5], cells
        assert cells[4] or cells[3].startswith(("not", "ANLI")), cells


def test_what_holds_for_all_files_has_that_default_and_names_the_others() -> None:
    stated = {setting.strip("`"): default for setting, default, *_ in _rows(4)}
    for name in ("train_size", "classifier", "selection", "remove"):
        default = FilterSpec.model_fields[name].default
        said = re.match(r"`(\w+)`", stated[f"filter.{name}"])
        assert (said[1] if said else None) == default
        others = [file for file in FILES if f"filter.{name}" in _in_file(file)]
        assert all(f"`{file}`" in stated[f"filter.{name}"] for file in others)


DATASET: dict[str, Any] = {
    "name": "pairs",
    "source": {"format": "csv", "splits": {"train": "train.csv", "test": "test.csv"}},
    "columns": {"text": "premise", "text_pair": "hypothesis"},
    "representations": {"net": {"kind": "small_transformer"}},
    "evaluators": {"linear": {"kind": "linear"}},
    "forgettables": {"name": {"model": {"kind": "siamese_bag"}}},
    "sample": {"start": 100, "step": 100, "most": 500, "model": {"kind": "linear"}},
}
"""A dataset's file with each of the parts that the papers' preset is about."""


def _settings(filtering: dict[str, Any]) -> dict[str, Any]:
    """All settings by their places, such as filter.copies, those that keys leave out too."""
    spec = parse_spec(DATASET | {"filter": filtering})
    sample, forgettables = SampleSettings.of(spec).sample, ForgettablesSettings.of(spec).forgettables
    assert sample is not None
    parts = {"warmup": spec.warmup, "sample": sample, "forgettables.name": forgettables["name"]}
    found: dict[str, Any] = {"full_includes_warmup": spec.full_includes_warmup}
    for place, part in {"filter": spec.filter, **parts}.items():
        found |= {f"{place}.{name}": getattr(part, name) for name in type(part).model_fields}
    return found


def _switches() -> dict[str, tuple[Any, str]]:
    """The table's switches by place: the value that they set, and what the row says of the preset."""
    found = {}
    for _, _, _, switch, _ in _rows(5):
        written, _, preset = switch.partition("; ")
        place, value = next(iter(yaml.safe_load(written.strip("`").replace("NAME", "name")).items()))
        while isinstance(value, dict):
            inner, value = next(iter(value.items()))
            place = f"{place}.{inner}"
        found[place if place.split(".")[0] in DATASET or place in _settings({}) else f"filter.{place}"] = value, preset
    return found


def test_the_papers_preset_leaves_no_deviation_of_the_table() -> None:
    switches, default = _switches(), _settings({})
    assert len(switches) == 11
    paper, by_words = _settings({"preset": "paper"}), _settings({"preset": "paper", "rank": "vocabulary"})
    for place, (value, preset) in switches.items():
        assert default[place] != value, place
        assert by_words[place] == value, place
        assert preset == ("the preset" if paper[place] == value else "the preset with `rank: vocabulary`"), place


def test_the_table_of_deviations_has_all_that_the_papers_preset_sets() -> None:
    default = _settings({})
    for filtering in ({"preset": "paper"}, {"preset": "paper", "rank": "vocabulary"}):
        changed = {place for place, value in _settings(filtering).items() if value != default[place]}
        assert changed - {"filter.preset", "filter.rank"} <= set(_switches())
