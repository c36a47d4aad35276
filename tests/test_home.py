"""Where state goes, and what libraries are told before they are imported."""

from pathlib import Path

import pytest

from aflite_assets.home import aflite_home, cache_folder, prepare_libraries


def test_home_is_the_variable_or_the_working_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert aflite_home() == home
    monkeypatch.delenv("AFLITE_HOME")
    monkeypatch.chdir(tmp_path)
    assert aflite_home() == tmp_path / ".aflite"
    assert cache_folder("datasets") == tmp_path / ".aflite" / "cache" / "datasets"


def test_what_the_user_set_is_left_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setattr(os, "environ", {"AFLITE_HOME": str(home), "HF_HOME": "/elsewhere"})
    prepare_libraries()
    assert os.environ["HF_HOME"] == "/elsewhere"
    assert os.environ["TORCH_HOME"] == str(home / "cache" / "torch")
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
