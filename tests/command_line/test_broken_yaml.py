"""Dataset files that are no YAML of a dataset, as `aflite check` names them."""

import re
from pathlib import Path

import pytest

from aflite_assets.command_line.main import main

TEXTS: dict[str, tuple[str, str]] = {
    "no YAML": ("source: [", r"mine\.yaml: .*YAML|line"),
    "a list": ("- a\n- b\n", "the file must contain a mapping of keys and values, but it holds the list"),
    "nothing": ("", "the file must contain a mapping of keys and values, but it is empty"),
    "a key twice": ("labels: [a, b]\nlabels: [c, d]\n", "'labels'.*twice"),
    "a bomb": (
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        "100,000|too many|values",
    ),
    "a tag": ("title: !!python/object/apply:os.system ['true']\n", "python/object"),
    "itself": ("title: &a [*a]\n", "itself|recursive|contains"),
    "a variable that is not set": ("title: ${NOT_SET_ANYWHERE}\n", "NOT_SET_ANYWHERE"),
    "a secret elsewhere": ("title: ${secret:HOME}\n", r"token"),
    "a boolean for a name": ("labels: [yes, no]\n", "quotes"),
    "a null byte": ("title: a\x00b\n", r"mine\.yaml"),
}


@pytest.mark.parametrize("mistake", TEXTS)
def test_broken_file_is_named(mistake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, message = TEXTS[mistake]
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    assert main(["check", "--no-timing", str(path)]) == 1
    written = capsys.readouterr().err
    assert re.search(message, written), written
    assert "mine.yaml" in written
    assert len(written) < 5000
