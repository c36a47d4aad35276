"""`aflite list`: the datasets of a team's folders, and those that come with the project on demand."""

from pathlib import Path

import pytest

from aflite_assets.command_line.main import main
from aflite_assets.results import ResultKey, ResultStore
from aflite_assets.specs.registry import BUNDLED

NOTHING = "there are no datasets; set `AFLITE_DATASETS` to a folder of YAML files, or try `aflite list --bundled`\n"


def listed(out: str) -> list[str]:
    """The names in the first column, below the head."""
    return [line.split()[0] for line in out.splitlines()[1:]]


def test_nothing_is_listed_at_first_and_what_comes_with_the_project_on_demand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["list"]) == 0
    assert capsys.readouterr().out == NOTHING
    assert main(["list", "--bundled"]) == 0
    assert listed(capsys.readouterr().out) == sorted(path.stem for path in BUNDLED.glob("*.yaml"))


def test_own_datasets_those_with_results_and_refused_files(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (BUNDLED / "circles_1.yaml").read_text(encoding="utf-8")
    title = 'title: "red \\e[31m"\n'
    body = "\n".join(line for line in text.splitlines() if not line.startswith("title:"))
    (tmp_path / "ours.yaml").write_text(title + body, encoding="utf-8")
    (tmp_path / "broken.yaml").write_text("title: [", encoding="utf-8")
    monkeypatch.setenv("AFLITE_DATASETS", str(tmp_path))
    ResultStore(home / "results").get_or_create("raw_dataset", "digits", ResultKey("1", {}, {}), lambda draft: {})
    assert main(["list"]) == 1
    printed = capsys.readouterr()
    assert listed(printed.out) == ["ours", "digits"]
    assert "\x1b" not in printed.out
    assert str(tmp_path / "ours.yaml") in printed.out
    assert printed.err.startswith(f"{tmp_path / 'broken.yaml'}: line 1: while parsing a flow node")
