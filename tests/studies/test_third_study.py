"""A third study, in an installed package, is in the YAML file, the pipeline, the report and Dagster."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.small_datasets import circles

ROOT = Path(__file__).parents[2]
STUDY = Path(__file__).parent / "tiny_study"
CODE = """
import json, sys
from pathlib import Path

from aflite_assets.analysis.analysis import read_analysis
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import run_pipeline
from tests.pipeline_fixtures import permuted_four_times
from tests.undrawn import undrawn_figures

found = []
for content in json.loads(sys.argv[1]):
    with undrawn_figures(), permuted_four_times():
        made = run_pipeline(parse_spec(content), store=ResultStore(Path(sys.argv[2])))
    results = {name: one.result for name, one in made.items()}
    checks = read_analysis(results["analysis"].path).checks
    found.append({
        "summary": dict(results["counted_rows"].summary),
        "page": (results["benchmark_report"].path / "report.html").read_text(),
        "checks": {one.name: [one.passed, one.found] for one in checks if one.name == "rows_are_enough"},
        "reads": sorted(results["analysis"].manifest["made_from"]["inputs"]),
    })
import definitions

keys = definitions.defs.resolve_asset_graph().get_all_asset_keys()
print(json.dumps([found, sorted(key.path[-1] for key in keys)]))
"""


def install(folder: Path, value: str) -> Path:
    """Install the package as an installer leaves it: its modules, and metadata with its entry point."""
    shutil.copytree(STUDY, folder / "tiny_study")
    metadata = folder / "tiny_study-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-study\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[aflite_assets.studies]\ntiny = {value}\n")
    return folder


def run_with(package: Path, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with the installed package."""
    variables = {"PYTHONPATH": f"{ROOT}{os.pathsep}{package}", "AFLITE_HOME": str(home / "home")}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], list[str]]:
    """What two datasets with and without the study published, and the assets of the definitions."""
    home = tmp_path_factory.mktemp("tiny")
    contents = [circles("asked", enough_rows=1_000), circles("not_asked")]
    done = run_with(install(home / "site", "tiny_study"), "-c", CODE, json.dumps(contents), str(home), home=home)
    assert done.returncode == 0, done.stderr
    found, assets = json.loads(done.stdout.splitlines()[-1])
    return found, assets


def test_its_stage_table_section_and_check_are_there_where_they_are_asked_for(made: Any) -> None:
    (asked, not_asked), _ = made
    assert asked["summary"] == {"rows": 400, "enough": 1_000}
    assert asked["checks"] == {"rows_are_enough": [False, "400 rows"]}
    assert '<h2 id="counted">Counting</h2>' in asked["page"]
    assert "Rows counted" in asked["page"]
    assert "counted_rows" in asked["reads"]
    assert not_asked["summary"] == {"nothing_asked": True}
    assert not_asked["checks"] == {}
    assert "Rows counted" not in not_asked["page"]
    assert "counted_rows" not in not_asked["reads"]


def test_its_asset_stands_beside_the_others(made: Any) -> None:
    _, assets = made
    assert {"counted_rows", "train_sample", "forgettable_sets"} <= set(assets)


@pytest.mark.parametrize(
    ("value", "change", "message"),
    [
        ("tiny_stud", {}, "the study 'tiny' cannot be loaded from tiny_stud.specs.fine_tuning (ModuleNotFoundError: "),
        (
            "tiny_study",
            {"specs/settings.py": "PART = 3"},
            "`PART` in tiny_study.specs.settings of the study 'tiny' is 3; set it to an instance of type",
        ),
        (
            "tiny_study",
            {"specs/settings.py": "class PART: ..."},
            "of a study is not derived from CoreSpec; derive it from this class",
        ),
        ("tiny_study", {"specs/settings.py": ""}, "has no attribute 'PART'); repair or uninstall the package"),
    ],
)
def test_a_broken_study_is_refused(tmp_path: Path, value: str, change: dict[str, str], message: str) -> None:
    package = install(tmp_path / "site", value)
    for name, text in change.items():
        (package / "tiny_study" / name).write_text(text)
    done = run_with(package, "-c", "import aflite_assets.specs.dataset", home=tmp_path)
    assert message in done.stderr.splitlines()[-1]
