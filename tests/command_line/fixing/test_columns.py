"""Columns of a table are dropped with all their values, and what is left in the copy is named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.specs.registry import load_spec
from benchmarks.detection_kinds import draw_texts
from tests.command_line.fixing.conftest import read_rows, write_rows

Run = Callable[..., tuple[int, str, str]]
Row = dict[str, Any]


def test_a_column_of_a_table_is_dropped_with_all_its_values(run: Run, tmp_path: Path) -> None:
    """The YAML file has no feature that lacks a value, which models cannot read."""
    rng = np.random.default_rng(4)
    late = rng.random(1_500) < 0.4
    desk = np.where(
        rng.random(1_500) < np.where(late, 0.7, 0.02), rng.integers(3, size=1_500), rng.integers(3, 20, 1_500)
    )
    rows = [
        {
            "desk": f"D{code}",
            "amount": int(amount),
            "score": "" if gone else int(score),
            "label": "late" if own else "paid",
        }
        for code, amount, score, gone, own in zip(
            desk,
            rng.integers(1, 9_000, 1_500),
            rng.integers(9_000, size=1_500),
            rng.random(1_500) < 0.1,
            late,
            strict=True,
        )
    ]
    path = write_rows(tmp_path / "loans.csv", rows)
    code, out, _ = run("fix", path, "--cue", 1, "--to", tmp_path / "new")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("Cue 1 is gone: \u201cdesk is 'D")
    assert lines[1] == "No cue is left in the copy."
    assert "  The column 'desk' is left out." in lines
    assert (
        "Was “desk” known before the label was? If not, drop the column. If what is left out was known, and is "
        "part of the task, keep the original." in lines
    )
    assert any("the YAML file has 'score' under attributes; fill in" in line for line in lines)
    assert [
        {**row, "desk": code["desk"]} for row, code in zip(read_rows(tmp_path / "new" / "loans.csv"), rows, strict=True)
    ] == [{name: str(value) for name, value in row.items()} for row in rows]
    spec = load_spec(tmp_path / "new" / "loans_fixed.yaml")
    assert (spec.columns.features, spec.columns.attributes) == (("amount",), ("score",))


def test_a_column_of_names_is_none_of_texts_in_a_copy_of_fewer_rows(run: Run, tmp_path: Path) -> None:
    """Among 1,000 rows, 90 places are too few different ones for texts, but not among the rows that are kept."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "place": f"the {'north' if (rng.random() < 0.7) == own else 'south'} house no{rng.integers(45)}",
            "mark": "m" if own and rng.random() < 0.6 else "r",
            "label": own,
        }
        for own in (rng.random(1_000) < 0.5).tolist()
    ]
    path = write_rows(tmp_path / "homes.csv", rows)
    code, out, err = run("fix", path, "--cue", 1, "--by", "rebalance", "--to", tmp_path / "new", "--json")
    assert code == 0, err
    content = json.loads(out)
    assert content["rows"] == {"before": 1_000, "after": content["rows"]["after"]}
    assert content["rows"]["after"] < 900
    assert not [row["name"] for row in content["cues"] if "(place)" in row["name"]]


def test_a_column_of_file_names_is_dropped_where_no_image_has_them(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"file_name": f"{'ab'[int(rng.random() < (0.9 if ill else 0.1))]}_{row}.dcm", "x": rng.random(), "label": ill}
        for row, ill in enumerate((rng.random(600) < 0.5).tolist())
    ]
    code, out, err = run("fix", write_rows(tmp_path / "scans.csv", rows), "--cue", 1, "--to", tmp_path / "new")
    assert (code, "  The column 'file_name' is left out." in out.splitlines()) == (0, True), err


def test_artefacts_that_were_not_to_be_mended_are_named_and_end_with_1(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    of_yes = rng.random(900) < 0.5
    marked, gone = (rng.random(900) < np.where(of_yes, share, 0.05) for share in (0.6, 0.5))
    rows = [
        {
            "review": text.rstrip(".!?") + ("\u2026" if mark else "."),
            "age": "" if lacks else 30,
            "label": "yes" if own else "no",
        }
        for text, mark, lacks, own in zip(draw_texts(rng, 900), marked, gone, of_yes, strict=True)
    ]
    path = write_rows(tmp_path / "reviews.csv", rows)
    code, out, _ = run("fix", path, "--cue", 1, "--to", tmp_path / "new", "--json")
    content = json.loads(out)
    assert (code, content["mended"], content["cues"][0]["change"]) == (1, False, "gone")
    assert content["headline"][-1].startswith(
        "Left in the copy: 1 artefact, \u201cage is missing\u201d for class \u201cyes\u201d, 7"
    )
    assert content["headline"][-1].endswith(" %. Mend the artefacts too.")
    code, out, _ = run("fix", path, "--cue", 1, "--cue", 2, "--to", tmp_path / "both", "--json")
    assert (code, json.loads(out)["headline"][-1]) == (0, "No cue is left in the copy.")


def test_a_cue_that_a_fix_exposes_is_named_as_new(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    of_yes = rng.random(900) < 0.5
    loud, ok = (rng.random(900) < np.where(of_yes, *shares) for shares in ((0.6, 0.05), (0.45, 0.12)))
    rows = [
        {"review": f"{text.rstrip('.!?')}{'ok' if ends else ''}{'!' if mark else '.'}", "label": "yes" if own else "no"}
        for text, mark, ends, own in zip(draw_texts(rng, 900), loud, ok, of_yes, strict=True)
    ]
    path = write_rows(tmp_path / "reviews.csv", rows)
    code, out, _ = run("fix", path, "--cue", 1, "--to", tmp_path / "new")
    name = "\u201cends with 'ok.' (review)\u201d for class \u201cyes\u201d"
    assert (code, out.splitlines()[1].startswith(f"Left in the copy: 1 candidate (1 new), {name}")) == (0, True)
    assert out.splitlines()[2] == f"New after the fix, which may have exposed it: {name} (candidate)."


@pytest.fixture(scope="module")
def codes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patients with a code; D7 is of class late, D1 and a missing code are of class paid."""
    rng = np.random.default_rng(2)
    late = rng.random(2_000) < 0.4
    drawn = np.where(late, rng.choice(4, 2_000, p=[0.5, 0.15, 0.3, 0.05]), rng.choice(4, 2_000, p=[0.1, 0.4, 0.3, 0.2]))
    rows = [
        {"code": ("D7", "D1", "D2", "")[code], "amount": int(amount), "label": "late" if own else "paid"}
        for code, amount, own in zip(drawn, rng.integers(1, 9_000, 2_000), late, strict=True)
    ]
    return write_rows(tmp_path_factory.mktemp("codes") / "codes.csv", rows)


def _numbers(content: dict[str, Any]) -> dict[str, int]:
    return {cue["name"]: cue["cue"] + 1 for cue in content["cues"] if cue["cue"] is not None}


@pytest.mark.parametrize("by", ["drop", "rebalance", "weights"])
def test_all_cues_of_a_column_are_mended_with_one_of_them(by: str, codes: Path, run: Run, tmp_path: Path) -> None:
    numbers = _numbers(json.loads(run("scan", codes, "--label", "label", "--json")[1]))
    others = sorted(number for name, number in numbers.items() if name.startswith("code") and name != "code = 'D1'")
    chosen = numbers["code = 'D1'"]
    code, out, _ = run(
        "fix", codes, "--label", "label", "--cue", chosen, "--by", by, "--to", tmp_path / "new", "--json"
    )
    content = json.loads(out)
    assert len(others) == 2
    assert (code, content["mended"]) == (0, True)
    assert content["headline"][0].endswith(
        f"All cues of “code” were mended together: cues {others[0]} and {others[1]} are gone too."
    )
    assert {name for name, cue in _numbers(content).items() if cue in (chosen, *others)} == numbers.keys()
    assert all(cue["is_chosen"] for cue in content["cues"] if cue["cue"] is not None)
    if by == "drop":
        assert content["changes"] == ["The column 'code' is left out."]
