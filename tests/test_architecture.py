"""Imports go one way through every folder, definitions load fast, and no folder is a drawer."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "aflite_assets"
HEAVY = ("torch", "transformers", "sklearn", "pandas", "datasets", "mlflow", "timm", "matplotlib", "plotly", "scipy")
BASE = {path.stem for path in PACKAGE.glob("*.py")}
"""Modules beside the packages, which know none of them: errors, paths, processes and the like."""
PIPELINE = {"algorithm", "results", "specs", "data", "models", "diagnostics", "reports", "tracking", "stages"}
BELOW: dict[str, set[str]] = {
    "algorithm": set(),
    "results": set(),
    "specs": set(),
    "tracking": set(),
    "data": {"results", "specs"},
    "models": {"algorithm", "data", "results", "specs"},
    "diagnostics": {"data", "specs"},
    "reports": {"data", "specs"},
    "notifying": {"results"},
    "stages": PIPELINE - {"stages"},
    "refresh": PIPELINE,
    "assets": PIPELINE | {"refresh"},
    "automation": PIPELINE | {"refresh", "notifying", "assets"},
    "command_line": PIPELINE | {"refresh", "notifying", "automation"},
}
"""What each package may import; `resources` and `definitions` are above all of them."""
DAGSTER = ("assets", "automation")
FOLDERS = sorted({path.parent for path in PACKAGE.rglob("*.py")})
MOST_FILES = 24


def modules_after(statement: str) -> set[str]:
    """What is imported when the statement is run."""
    code = f"{statement}\nimport sys\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the module of every import of this package's own modules, those within functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"{PACKAGE.name}."):
            for name in node.names:
                inner = ROOT.joinpath(*node.module.split("."), name.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                yield node.lineno, f"{node.module}.{name.name}" if is_module else node.module


def child_of(folder: Path, path: Path) -> str | None:
    """The folder or file directly below `folder` in which `path` lies; None where it lies elsewhere."""
    return path.relative_to(folder).parts[0].removesuffix(".py") if path.is_relative_to(folder) else None


def arrows_within(folder: Path) -> dict[str, set[str]]:
    """Which children of a folder each of its children imports."""
    arrows: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        importer = child_of(folder, path)
        assert importer is not None
        for _, module in imports(path):
            imported = child_of(folder, ROOT.joinpath(*module.split(".")))
            if imported not in (None, importer) and path.name != "__init__.py":
                arrows.setdefault(importer, set()).add(str(imported))
    return arrows


def test_only_the_dagster_layer_knows_dagster() -> None:
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in BELOW
        if package not in (*DAGSTER, "command_line")
        for path in sorted((PACKAGE / package).rglob("*.py"))
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
    assert {folder.name for folder in FOLDERS if folder.parent == PACKAGE} == BELOW.keys()


@pytest.mark.parametrize("package", BELOW)
def test_packages_import_one_way(package: str) -> None:
    for path in sorted((PACKAGE / package).rglob("*.py")):
        for line, module in imports(path):
            imported = module.split(".")[1]
            allowed = BELOW[package] | BASE | {package}
            assert imported in allowed, f"{path.relative_to(ROOT)}:{line} imports {imported}"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_no_folder_has_a_circle(folder: Path) -> None:
    try:
        TopologicalSorter(arrows_within(folder)).prepare()
    except CycleError as error:
        pytest.fail(f"{folder.relative_to(ROOT)}: {' <- '.join(error.args[1])}")


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
