"""Which of this project's modules import which, and the picture of it in CONTRIBUTING.md: `python -m tests.rooms`."""

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "aflite_assets"
GUIDE = ROOT / "CONTRIBUTING.md"
PICTURE = re.compile(r"```mermaid\n.*?```\n", re.DOTALL)
TOP = ("definitions", "resources")
"""What lies beside the package."""


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """The line and the module of every import of this project's own modules, those within functions too."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in (PACKAGE.name, *TOP):
            for name in node.names:
                inner = ROOT.joinpath(*node.module.split("."), name.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                found.append((node.lineno, f"{node.module}.{name.name}" if is_module else node.module))
    return found


def arrows_within(folder: Path) -> dict[str, set[str]]:
    """Which children of a folder, files or folders, each of its children imports."""
    arrows: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        if path.name == "__init__.py":
            continue
        importer = _child(path, folder).removesuffix(".py")
        for _, module in imports(path):
            imported = ROOT.joinpath(*module.split("."))
            if imported.is_relative_to(folder) and imported != folder:
                child = _child(imported, folder)
                arrows.setdefault(importer, set()).update({child} - {importer})
    return arrows


def _child(path: Path, folder: Path) -> str:
    """The child of a folder that a path lies in; a study's modules lie in the packages of which they have the names."""
    parts = path.relative_to(folder).parts
    return parts[2] if folder == PACKAGE and parts[0] == "studies" and len(parts) > 2 else parts[0]


def packages() -> dict[str, set[str]]:
    """Which packages each package imports, with `resources` and `definitions`; modules beside them are left out."""
    folders = {path.parent.name: path.parent for path in PACKAGE.glob("*/__init__.py")} | {
        "resources": ROOT / "resources"
    }
    files = {name: files_of(folder) for name, folder in folders.items()} | {"definitions": [ROOT / "definitions.py"]}
    return {
        name: {room_of(module) for path in paths for _, module in imports(path)} & files.keys() - {name}
        for name, paths in sorted(files.items())
    }


def files_of(folder: Path) -> list[Path]:
    """A package's files, and those of studies that have its name: they may import what the package may import."""
    if folder.name == "studies":
        return [folder / "__init__.py"]
    return [*folder.rglob("*.py"), *PACKAGE.glob(f"studies/*/{folder.name}/**/*.py")]


def room_of(module: str) -> str:
    """The package that a module lies in, or the name of what lies beside the packages."""
    outermost, *inner = module.split(".")
    if outermost != PACKAGE.name:
        return outermost
    return inner[2] if inner[:1] == ["studies"] and len(inner) > 2 else (inner or ["__init__"])[0]


def without_detours(arrows: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The arrows that no chain of others implies."""

    def reached(start: str) -> set[str]:
        return {start}.union(*(reached(name) for name in arrows[start]))

    return {
        name: {
            target for target in targets if not any(target in reached(other) for other in targets if other != target)
        }
        for name, targets in arrows.items()
    }


def picture() -> str:
    """The packages with their arrows as a Mermaid graph; an arrow reads "imports"."""
    arrows = without_detours(packages())
    lines = [f"    {name} --> {target}" for name in sorted(arrows) for target in sorted(arrows[name])]
    return "\n".join(["```mermaid", "graph TD", *lines, "```", ""])


if __name__ == "__main__":
    GUIDE.write_text(PICTURE.sub(picture(), GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
