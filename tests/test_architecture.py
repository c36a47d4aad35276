"""Imports go one way, definitions load fast, and the repository's own promises hold."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("algorithm", "results", "sources", "models", "diagnostics", "reports", "tracking", "notifying", "stages")
HEAVY = ("torch", "transformers", "sklearn", "pandas", "datasets", "mlflow", "timm", "matplotlib", "plotly", "scipy")
BELOW = {
    "algorithm": set(),
    "results": set(),
    "sources": {"results"},
    "models": {"algorithm", "sources", "results"},
    "diagnostics": {"sources"},
    "reports": {"sources"},
    "tracking": set(),
    "notifying": {"results"},
    "stages": {"algorithm", "results", "sources", "models", "diagnostics", "reports", "tracking"},
    "assets": {"results", "sources", "models", "stages", "tracking", "reports", "diagnostics"},
    "automation": {"assets", "notifying", "results", "sources", "stages", "tracking"},
}
"""What each package may import; `resources` and `definitions` are above all of them."""


def _modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


def test_only_the_dagster_layer_knows_dagster() -> None:
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in PACKAGES
        for path in sorted((ROOT / "aflite_assets" / package).rglob("*.py"))
    ]
    modules = _modules_after("\n".join(f"import {name.removesuffix('.__init__')}" for name in names))
    assert "aflite_assets.stages.pipeline" in modules
    assert "dagster" not in modules


def test_definitions_load_nothing_heavy() -> None:
    modules = _modules_after("import definitions")
    assert "dagster" in modules
    assert modules.isdisjoint(HEAVY), modules & set(HEAVY)


def test_reading_published_results_loads_nothing_heavy() -> None:
    modules = _modules_after("import aflite_assets.stages.report_inputs, aflite_assets.stages.published")
    assert modules.isdisjoint(HEAVY), modules & set(HEAVY)


@pytest.mark.parametrize("package", BELOW)
def test_imports_go_one_way(package: str) -> None:
    for path in sorted((ROOT / "aflite_assets" / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("aflite_assets."):
                imported = node.module.split(".")[1]
                allowed = BELOW[package] | {package, "addresses", "errors", "home", "processes", "processors"}
                assert imported in allowed, f"{path.relative_to(ROOT)}:{node.lineno} imports {imported}"


@pytest.mark.parametrize("folder", ["aflite_assets", "resources", "tests", "benchmarks"])
def test_files_stay_small(folder: str) -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / folder).rglob("*.py")}
    limit = 500  # a file holds one whole subject
    assert not {str(path): length for path, length in lengths.items() if length > limit}
