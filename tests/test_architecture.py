"""Imports go one way through every folder, definitions load fast, and no folder is a drawer."""

import ast
import re
import subprocess
import sys
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.rooms import GUIDE, PACKAGE, PICTURE, ROOT, arrows_within, files_of, imports, picture, room_of

HEAVY = (
    "torch",
    "transformers",
    "sklearn",
    "pandas",
    "datasets",
    "mlflow",
    "timm",
    "matplotlib",
    "scipy",
    "boto3",
)
BASE = {path.stem for path in PACKAGE.glob("*.py")}
"""Modules beside the packages, which know none of them: errors, paths, processes and the like."""
PIPELINE = {
    "algorithm",
    "cluster",
    "results",
    "specs",
    "data",
    "models",
    "diagnostics",
    "scan",
    "fixing",
    "analysis",
    "reports",
    "tracking",
    "stages",
}
BELOW: dict[str, set[str]] = {
    "studies": set(),
    "algorithm": set(),
    "results": set(),
    "specs": set(),
    "cluster": set(),
    "tracking": set(),
    "data": {"results", "specs"},
    "models": {"algorithm", "data", "results", "specs"},
    "diagnostics": {"data", "specs"},
    "scan": {"data", "diagnostics", "specs"},
    "fixing": {"data", "results", "scan", "specs"},
    "analysis": {"algorithm", "data", "scan", "specs"},
    "reports": {"analysis", "data", "scan", "specs"},
    "resources": {"cluster", "models", "results", "tracking"},
    "stages": PIPELINE - {"stages"},
    "refresh": PIPELINE,
    "assets": PIPELINE | {"refresh", "resources"},
    "automation": PIPELINE | {"refresh", "assets", "resources"},
    "command_line": PIPELINE | {"refresh", "automation"},
}
"""What each package may import; `definitions` is above all of them."""
DAGSTER = ("assets", "automation")
FOLDERS = sorted({path.parent for path in PACKAGE.rglob("*.py")})
RENDERERS = ("page/row_browser.py", "figures/representation_figures.py")
"""Files of `reports` that read the tables and records of `analysis` alone."""
MOST_FILES = 16
MOST_UNTYPED = 20


def modules_after(statement: str) -> set[str]:
    """What is imported when the statement is run."""
    code = f"import gc, sys\ngc.disable()\n{statement}\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


def test_only_the_dagster_layer_knows_dagster() -> None:
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in BELOW
        if package not in (*DAGSTER, "command_line", "resources")
        for path in sorted(files_of(PACKAGE / package))
    ]
    modules = modules_after("\n".join(f"import {name}" for name in names))
    assert "aflite_assets.stages.pipeline" in modules
    assert "dagster" not in modules


def test_definitions_load_nothing_heavy() -> None:
    modules = modules_after("import definitions")
    assert "dagster" in modules
    assert modules.isdisjoint(HEAVY), modules & set(HEAVY)


def test_reading_published_results_loads_nothing_heavy() -> None:
    modules = modules_after("import aflite_assets.stages.shared.report_inputs, aflite_assets.stages.shared.published")
    assert modules.isdisjoint(HEAVY), modules & set(HEAVY)


def test_every_package_has_its_place() -> None:
    assert {folder.name for folder in FOLDERS if folder.parent == PACKAGE} == BELOW.keys() - {"resources"}


@pytest.mark.parametrize("package", BELOW)
def test_packages_import_one_way(package: str) -> None:
    folder = ROOT / package if package == "resources" else PACKAGE / package
    for path in sorted(files_of(folder)):
        for line, module in imports(path):
            imported = room_of(module)
            allowed = BELOW[package] | BASE | {package, "studies"}
            assert imported in allowed, f"{path.relative_to(ROOT)}:{line} imports {imported}"


def test_the_core_imports_no_study_and_no_study_another() -> None:
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).parts[1] if path.is_relative_to(PACKAGE / "studies") else None
        for line, module in imports(path):
            named = module.split(".")[2:3] if module.startswith("aflite_assets.studies.") else []
            assert named in ([], [own]), f"{path.relative_to(ROOT)}:{line} imports {module}"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_no_folder_has_a_circle(folder: Path) -> None:
    try:
        TopologicalSorter(arrows_within(folder)).prepare()
    except CycleError as error:
        pytest.fail(f"{folder.relative_to(ROOT)}: {' <- '.join(error.args[1])}")


def test_solver_and_kernels_of_the_linear_engine_know_nothing_of_each_other() -> None:
    arrows = arrows_within(PACKAGE / "algorithm" / "linear")
    assert arrows == {
        "solver": {"losses", "threads"},
        "kernels": {"losses"},
        "engine": {"losses", "threads", "solver", "kernels"},
    }


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_folders_say_what_belongs_in_them_and_stay_small(folder: Path) -> None:
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    assert docstring is not None
    assert len(docstring) > 40
    files = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(files) <= MOST_FILES, files


@pytest.mark.parametrize("folder", ["aflite_assets", "resources", "tests", "benchmarks"])
def test_files_stay_small(folder: str) -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / folder).rglob("*.py")}
    limit = 500  # a file holds one whole subject
    assert not {str(path): length for path, length in lengths.items() if length > limit}


def test_no_two_classes_share_a_name() -> None:
    trees = [ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert [name for name, times in names.items() if times > 1] == []


def test_the_guide_shows_the_rooms_as_they_are() -> None:
    drawn = PICTURE.findall(GUIDE.read_text(encoding="utf-8"))
    assert drawn == [picture()], "python -m tests.rooms draws it anew"


def test_stages_and_settings_say_their_types() -> None:
    untyped = re.compile(r"\bAny\b|(?<!\.)\bcast\(|# type: ignore")
    lines = [
        line
        for folder in ("stages", "specs")
        for path in (PACKAGE / folder).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if untyped.search(line)
    ]
    assert len(lines) <= MOST_UNTYPED, lines


@pytest.mark.parametrize("name", RENDERERS)
def test_what_renders_reads_no_records_that_an_analysis_is_made_of(name: str) -> None:
    text = (PACKAGE / "reports" / name).read_text(encoding="utf-8")
    assert re.findall(r"\b(?:BenchmarkData|FilteredSet|np\.mean|nanmean)\b", text) == []
