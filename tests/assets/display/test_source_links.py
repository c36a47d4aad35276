"""Links from assets to their code."""

from pathlib import Path

import dagster as dg
import pytest

import definitions
from aflite_assets.errors import InvalidInputError
from aflite_assets.stages.pipeline import STAGES

ROOT = Path(definitions.__file__).parent


def references(defs: dg.Definitions) -> dict[str, str]:
    """Every asset's address, by name."""
    graph = defs.resolve_asset_graph()
    found = {key.path[-1]: graph.get(key).metadata.get("dagster/code_references") for key in graph.get_all_asset_keys()}
    return {name: value.code_references[0].url for name, value in found.items() if value is not None}


def test_each_asset_links_to_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_SOURCE_URL", "https://host/owner/code/blob/main/")
    found = references(definitions.build_definitions())
    assert set(found) >= set(STAGES)
    for name, address in found.items():
        path, line = address.removeprefix("https://host/owner/code/blob/main/").split("#L")
        lines = (ROOT / path).read_text().splitlines()[int(line) - 1 :]
        assert next(each for each in lines if each.startswith("def ")).startswith(f"def {name}(")


def test_without_an_address_there_is_no_link() -> None:
    assert references(definitions.build_definitions()) == {}


def test_a_wrong_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_SOURCE_URL", "host/code")
    with pytest.raises(InvalidInputError, match="`AFLITE_SOURCE_URL` is 'host/code'"):
        definitions.build_definitions()
