"""Where state goes, and what libraries are told before they are imported."""

from pathlib import Path

import pytest

from aflite_assets.errors import InvalidInputError
from aflite_assets.paths import aflite_home, cache_folder, configure_libraries, dagster_home, kernels_folder


def test_home_is_the_variable_or_the_working_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert aflite_home() == home
    monkeypatch.delenv("AFLITE_HOME")
    monkeypatch.chdir(tmp_path)
    assert aflite_home() == tmp_path / ".aflite"
    assert cache_folder("datasets") == tmp_path / ".aflite" / "cache" / "datasets"


def test_the_dagster_home_is_read_as_dagster_reads_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_HOME", "~/dagster")
    assert dagster_home() == tmp_path / "dagster"
    monkeypatch.setenv("DAGSTER_HOME", "dagster")
    with pytest.raises(InvalidInputError, match="`DAGSTER_HOME` is 'dagster', which is a relative path"):
        dagster_home()
    monkeypatch.delenv("DAGSTER_HOME")
    assert dagster_home() is None


def test_what_the_user_set_is_left_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setattr(os, "environ", {"AFLITE_HOME": str(home), "HF_HOME": "/elsewhere"})
    configure_libraries()
    assert os.environ["HF_HOME"] == "/elsewhere"
    assert os.environ["TORCH_HOME"] == str(home / "cache" / "torch")
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert os.environ["NUMBA_CACHE_DIR"] == str(kernels_folder(home / "cache" / "numba"))


def test_compiled_code_has_another_folder_when_any_source_of_the_engine_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from aflite_assets import paths as home

    engine = tmp_path / "algorithm" / "linear"
    engine.mkdir(parents=True)
    monkeypatch.setattr(home, "__file__", str(tmp_path / "home.py"))
    (engine / "losses.py").write_text("imports nothing")
    (engine / "kernels").mkdir()
    (engine / "kernels" / "row_passes.py").write_text("imports products")
    folders = set()
    for text in ("first", "second", "first"):
        (engine / "kernels" / "products.py").write_text(text)
        folders.add(kernels_folder(tmp_path))
    assert len(folders) == 2
    assert {folder.parent for folder in folders} == {tmp_path}
