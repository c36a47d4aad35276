"""Docstrings begin with a verb or a noun, and their first paragraph can be read without what stands above it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [
    *(
        path
        for folder in ("aflite_assets", "resources", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ),
    ROOT / "definitions.py",
]
OPENINGS = re.compile(r"(Of|That|What)\b")


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of every docstring, those of constants and fields too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for place, statement in enumerate(node.body):
                value = statement.value if isinstance(statement, ast.Expr) else None
                of_the_node = place == 0 or isinstance(node, ast.Module | ast.ClassDef)
                if of_the_node and isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield statement.lineno, value.value.strip()


@pytest.mark.parametrize("folder", sorted({path.relative_to(ROOT).parts[0] for path in FILES}))
def test_docstrings_begin_with_a_verb_or_a_noun(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {said.splitlines()[0]}"
        for path in FILES
        if path.relative_to(ROOT).parts[0] == folder
        for line, said in docstrings(path.read_text(encoding="utf-8"))
        if OPENINGS.match(said)
    ]
    assert found == []


def test_docstrings_of_constants_are_seen() -> None:
    text = '"""A module."""\nLIMIT = 3\n"""Of rows."""\n\n\ndef of():\n    """What it is."""\n    "That is none."\n'
    assert [said for _, said in docstrings(text)] == ["A module.", "Of rows.", "What it is."]
