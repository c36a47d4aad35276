"""`aflite scan` of a table with a column that was filled in after the label, as a reader of the output meets it."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Scan = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def wards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patients; the days until a questionnaire came back are many for late patients, and often missing for others."""
    rng = np.random.default_rng(0)
    late = rng.random(2_000) < 0.3
    days = np.where(
        rng.random(2_000) < np.where(late, 0.6, 0.05), rng.integers(34, 90, 2_000), rng.integers(2, 34, 2_000)
    )
    gone = rng.random(2_000) < np.where(late, 0.02, 0.4)
    score = rng.normal(size=2_000).round(2) + np.where(late, 0.7, 0)
    path = tmp_path_factory.mktemp("wards") / "wards.csv"
    lines = [
        f"{'' if lacks else day},{own:.2f},{'late' if is_late else 'on time'}\n"
        for day, lacks, own, is_late in zip(days, gone, score, late, strict=True)
    ]
    path.write_text("".join(["survey_days,score,label\n", *lines]), encoding="utf-8")
    return path


def test_each_column_has_one_line_and_one_question_names_the_columns(scan: Scan, wards: Path, tmp_path: Path) -> None:
    code, out, _ = scan(wards, "--label", "label", "--html", str(tmp_path / "page.html"))
    lines, page = out.splitlines(), (tmp_path / "page.html").read_text(encoding="utf-8")
    assert code == 1
    question = "Were “survey_days” and “score” known before the label was? Drop each column that was not."
    assert sum(question in line for line in lines) == 1
    assert page.count(question) == 1
    assert out.count("known before the label was?") == page.count("known before the label was?") == 1
    starts = [line.split()[1] for line in lines if line[:1].isdigit()]
    assert starts == ["survey_days", "survey_days", "score"], "one artefact, two candidates"
    assert any(line.startswith("     also in this column: “survey_days at least ") for line in lines)
    assert "If one of them is no part of the task, or was not known before the label: aflite fix " in out
    assert "Also in this column: “survey_days is missing” for class “on time” (cue 1, " in page


def test_the_first_line_names_the_candidate_if_there_is_no_artefact(scan: Scan, wards: Path, tmp_path: Path) -> None:
    table = [line.split(",") for line in wards.read_text(encoding="utf-8").splitlines()]
    path = tmp_path / "known.csv"
    path.write_text("".join(",".join(row) + "\n" for row in table if row[0]), encoding="utf-8")
    code, out, _ = scan(path, "--label", "label", "--json")
    content = json.loads(out)
    assert (code, content["verdict"]) == (0, "candidates")
    assert content["headline"].startswith(
        "Found 2 candidates that tell the label and are yours to judge (the strongest: “survey_days at least 3"
    )
    first, *others = [cue for cue in content["cues"] if cue["columns"] == ["survey_days"]]
    assert first["remark"].endswith(
        "Were “survey_days” and “score” known before the label was? Drop each column that was not."
    )
    assert {cue["listed_at"] for cue in (first, *others)} == {first["cue"]}
