"""Private names of Dagster are imported in one file, each is named here, and none has a public way."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import dagster as dg
import pytest

from aflite_assets.assets import dagster_internals

ROOT = Path(__file__).parents[2]
FILE = Path(dagster_internals.__file__)
PRIVATE = {
    "ConfigurableClassData": "dagster._serdes",
    "DagsterSqliteStorage": "dagster._core.storage.sqlite_storage",
    "ExecuteRunWithPlanIterable": "dagster._core.execution.api",
    "ExecutionPlan": "dagster._core.execution.plan.plan",
    "InstanceConcurrencyContext": "dagster._core.execution.plan.instance_concurrency_context",
    "InstanceRef": "dagster._core.instance.ref",
    "PlanExecutionContext": "dagster._core.execution.context.system",
    "PlanExecutionContextManager": "dagster._core.execution.context_creation_job",
    "PlanOrchestrationContext": "dagster._core.execution.context.system",
    "RetryMode": "dagster._core.execution.retries",
    "cli": "dagster_webserver",
    "dev": "dagster._cli",
    "inner_plan_execution_iterator": "dagster._core.execution.plan.execute_plan",
    "pop_captured_interrupt": "dagster._utils.interrupts",
    "raise_interrupts_as": "dagster._utils.interrupts",
    "SerializableErrorInfo": "dagster._utils.error",
    "server": "dagster._grpc",
}
OF_TESTS = {"InMemoryJob", "execute_run"}
"""What tests use beside, to run a job with its own executor in their process."""

LIST = """
from definitions import defs
names = {spec.key.path[-1] for spec in defs.resolve_all_asset_specs()}
print(*sorted(names & {"fresh", "raw_dataset"}))
"""


def is_private(module: str) -> bool:
    package, *inner = module.split(".")
    return package in ("dagster_shared", "dagster_webserver") or (
        package == "dagster" and any(part.startswith("_") for part in inner)
    )


def private_imports(path: Path) -> dict[str, str]:
    """The names that a file imports from private modules of Dagster, with the modules."""
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and is_private(node.module):
            found |= {alias.name: node.module for alias in node.names}
        if isinstance(node, ast.Import):
            found |= {alias.name: alias.name for alias in node.names if is_private(alias.name)}
    return found


def test_one_file_imports_them_and_each_is_named_here() -> None:
    assert private_imports(FILE) == PRIVATE
    for folder in ("aflite_assets", "resources", "benchmarks"):
        others = [path for path in (ROOT / folder).rglob("*.py") if path != FILE]
        assert {str(path): names for path in others if (names := private_imports(path))} == {}
    assert private_imports(ROOT / "definitions.py") == {}
    of_tests = {name for path in (ROOT / "tests").rglob("*.py") for name in private_imports(path)}
    assert of_tests == OF_TESTS


@pytest.mark.parametrize("name", PRIVATE)
def test_it_is_there_and_has_no_public_way(name: str) -> None:
    assert hasattr(import_module(PRIVATE[name]), name) or find_spec(f"{PRIVATE[name]}.{name}")
    assert not hasattr(dg, name), f"dagster.{name} is public now: import it from there"


@pytest.mark.parametrize("package", ["dagster", "dagster-dg-cli", "dagster-webserver"])
def test_no_other_minor_version_is_installed_with_the_project(package: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"{package}>=1.13.27,<1.14" in project["dependencies"]


@pytest.mark.slow
def test_what_dagster_scaffolds_is_loaded(tmp_path: Path) -> None:
    """`dg scaffold defs` writes into the package that the definitions load."""
    for name in ("aflite_assets", "resources"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("definitions.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = ["dg", "scaffold", "defs", "dagster.asset", "fresh.py"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert (tmp_path / "aflite_assets" / "assets" / "fresh.py").is_file()
    listed = subprocess.run(
        [sys.executable, "-c", LIST], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    assert listed.stdout.split() == ["fresh", "raw_dataset"]
