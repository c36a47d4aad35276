"""Packages of other versions than the tested ones."""

from importlib.metadata import version
from pathlib import Path

from aflite_assets.installation import constraints_file, differing_packages


def test_only_other_versions_of_installed_packages_differ(tmp_path: Path) -> None:
    numpy, arrow = version("numpy"), version("pyarrow")
    file = tmp_path / "constraints.txt"
    file.write_text(f"# tested\nnumpy=={numpy}+cpu\npyarrow==0.1  # old\nnot-installed-here==1.0\n\n")
    assert differing_packages(file) == {"pyarrow": (arrow, "0.1")}


def test_the_projects_own_file_is_found() -> None:
    assert constraints_file() == Path(__file__).parents[1] / "constraints.txt"
