"""Reference pages written from the code, and hooks of `mkdocs.yml` that adapt links to files outside `docs`.

`python docs/reference_pages.py` writes the reference pages; a test checks that the pages agree with the code.
"""

import argparse
import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
COPIED = {"README.md": "project.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Pages at the top of the repository, and their names on the site."""

_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_MOST_VALUES, _COLUMNS = 20, 100


def settings_page() -> str:
    """Return the page that lists, for every block of a dataset's YAML file, the settings, their values and defaults."""
    from aflite_assets.specs.yaml.schema import dataset_schema

    schema = dataset_schema()
    blocks = {"A dataset": schema, **schema["$defs"]}
    parts = [
        "# Settings of a dataset's file",
        "Every block that a dataset's YAML file may hold. Written by `python docs/reference_pages.py` from the schema "
        "that `aflite schema` prints, which editors read too. How to write a file: "
        "[Your own dataset](../your_own_dataset.md).",
    ]
    for name, block in blocks.items():
        parts += [f"## {_heading(name)}", block.get("description", "").strip(), _settings_table(block)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _heading(name: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Spec"))
    return words[:1] + words[1:].lower()


def _settings_table(block: Mapping[str, Any]) -> str:
    needed = set(block.get("required", ()))
    lines = ["| setting | value | default | |", "|---|---|---|---|"]
    for name, setting in block.get("properties", {}).items():
        default = "needed" if name in needed else _default(setting)
        said = _escaped(setting.get("description", ""))
        lines.append(f"| `{name}` | {_escaped(_value(setting))} | {default} | {said} |")
    return "\n".join(lines)


def _default(setting: Mapping[str, Any]) -> str:
    default = setting.get("default")
    if isinstance(default, dict) and len(default) > 2:
        return "see its block"
    return "" if default is None else f"`{json.dumps(default, ensure_ascii=False)}`"


def _value(setting: Mapping[str, Any]) -> str:
    """Return a description in words of the values that a setting may have."""
    if "$ref" in setting:
        name = _heading(setting["$ref"].rsplit("/", 1)[1])
        return f"[{name}](#{re.sub('[^a-z0-9]+', '-', name.lower())})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in setting:
            return " or ".join(dict.fromkeys(filter(None, map(_value, setting[key]))))
    if "const" in setting or "enum" in setting:
        values = [setting["const"]] if "const" in setting else setting["enum"]
        return ", ".join(f"`{one}`" for one in values[:_MOST_VALUES])
    if "pattern" in setting and (setting["pattern"].startswith(("\\$", "^")) and len(setting) <= 2):
        return ""  # a variable, or a number written as text
    if setting.get("type") == "array":
        return f"list of {_value(setting.get('items', {})) or 'texts'}"
    if setting.get("type") == "object":
        return f"mapping to {_value(setting.get('additionalProperties') or {}) or 'values'}"
    return _plain_value(setting)


def _plain_value(setting: Mapping[str, Any]) -> str:
    names = {"integer": "whole number", "number": "number", "string": "text", "boolean": "yes or no", "null": ""}
    name = names.get(str(setting.get("type")), "")
    bounds = {"minimum": "at least", "exclusiveMinimum": "over", "maximum": "at most", "exclusiveMaximum": "under"}
    told = [f"{word} {setting[key]:g}" for key, word in bounds.items() if key in setting]
    return f"{name} {' and '.join(told)}".strip()


def commands_page() -> str:
    """Return the help of `aflite` and of each of its commands."""
    from aflite_assets.command_line.main import command_parser

    parser = command_parser()
    (commands,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    helped = {one.dest: one.help or "" for one in commands._choices_actions}
    parts = [
        "# Commands",
        "Every command of `aflite` with its options. Written by `python docs/reference_pages.py` from the parser.",
        "\n".join(f"- [`aflite {name}`](#aflite-{name}): {said}" for name, said in helped.items()),
    ]
    for name, command in commands.choices.items():
        summary = helped.get(name, "")
        parts += [f"## `aflite {name}`", f"{summary[:1].upper()}{summary[1:]}.", f"```text\n{_help(command)}\n```"]
    return "\n\n".join(parts) + "\n"


def _help(parser: argparse.ArgumentParser) -> str:
    parser.formatter_class = partial(argparse.HelpFormatter, width=_COLUMNS)
    return parser.format_help().strip()


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def reference_pages() -> dict[str, str]:
    """Return the texts of the generated pages, keyed by path below `docs`."""
    return {"reference/settings.md": settings_page(), "reference/commands.md": commands_page()}


def on_files(files: Any, config: Any) -> Any:
    """Add README.md, CHANGELOG.md and CONTRIBUTING.md to the site."""
    from mkdocs.structure.files import File

    for source, name in COPIED.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=_at_the_top(text)))
    return files


def _at_the_top(text: str) -> str:
    """Return the text of a page in the repository's root folder with its links made relative to `docs`."""
    return _LINK.sub(lambda link: f"[{link[1]}]({_from_top(link[2])}{link[3] or ''})", text)


def _from_top(target: str) -> str:
    if ":" in target:
        return target
    return target.removeprefix("docs/") if target.startswith("docs/") else f"../{target}"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links to the pages in `COPIED` to their copies on the site, and remove links to files outside `docs`."""
    here = PurePosixPath(page.file.src_uri).parent

    def placed(link: re.Match[str]) -> str:
        words, target, anchor = link[1], link[2], link[3] or ""
        path = normpath(here / target)
        if ":" in target or not path.startswith("../"):
            return link[0]
        name = COPIED.get(path.removeprefix("../"))
        return words if name is None else f"[{words}]({'../' * len(here.parts)}{name}{anchor})"

    return _LINK.sub(placed, markdown)


def write_pages() -> None:
    """Write the reference pages."""
    for name, text in reference_pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages()
