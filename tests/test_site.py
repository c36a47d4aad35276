"""The documentation as a site: it builds without a warning, its reference is that of the code, its commands run."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site() -> Any:
    spec = importlib.util.spec_from_file_location("reference_pages", DOCS / "reference_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_pages_are_those_of_the_code(site: Any) -> None:
    for name, text in site.reference_pages().items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, (
            f"write it again: python docs/reference_pages.py ({name})"
        )


def test_every_setting_and_command_is_in_the_reference(site: Any) -> None:
    settings, commands = site.settings_page(), site.commands_page()
    assert "| `target_size` | whole number at least 1 or number over 0 and at most 1 |" in settings
    assert "## `aflite scan`" in commands
    assert "--label COLUMN" in commands


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    page = (tmp_path / "reference" / "python.html").read_text(encoding="utf-8")
    assert "Remove the rows that linear classifiers predict most easily" in page
    assert 'href="changelog.html"' in (tmp_path / "index.html").read_text(encoding="utf-8")


def _commands(page: str) -> list[str]:
    """The lines of shell of a page, in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    return [line.split("#")[0].strip() for block in blocks for line in block.splitlines() if line.strip()]


def _run(lines: list[str], folder: Path) -> tuple[str, list[int]]:
    """Run lines of shell one after the other in one shell; their output, and the exit code of each."""
    script = "\n".join(f"{line}\necho exit $?" for line in lines).replace("docs/examples", str(DOCS / "examples"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "AFLITE_HOME": str(folder / ".aflite")}
    shell = subprocess.run(
        ["bash"], input=script, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return shell.stdout + shell.stderr, [int(code) for code in re.findall(r"^exit (\d+)$", shell.stdout, re.MULTILINE)]


def test_the_first_commands_of_the_tutorial_find_the_artefact(tmp_path: Path) -> None:
    lines = [line for line in _commands("start.md") if "refresh" not in line]
    output, codes = _run(lines, tmp_path)
    assert codes == [0, 0, 1, 0, 0, 0], output
    page = (DOCS / "start.md").read_text(encoding="utf-8")
    (said,) = re.findall(r"<!-- output: scan -->\n```text\n(.*?)\n```", page, re.DOTALL)
    assert said in output
    assert "Cue 1 is gone" in output
    assert (tmp_path / "fixed" / "reviews_fixed.yaml").is_file()


@pytest.mark.slow
def test_the_whole_tutorial_comes_out_as_it_says(tmp_path: Path) -> None:
    output, codes = _run(_commands("start.md"), tmp_path)
    assert codes == [0, 0, 1, 0, 0, 0, 0, 0], output
    assert "Shortcut found: models lean on “ends with a letter or digit (text)”, an artefact by nature" in output
    assert "reviews_fixed: bag: Learnable, a cue is yours to judge" in output
