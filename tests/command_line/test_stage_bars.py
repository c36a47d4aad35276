"""The bars that a terminal shows while stages are made."""

import io
import re

from aflite_assets.analysis.filtering import IterationRow
from aflite_assets.command_line.stage_bars import StageBars


def test_each_stage_has_a_line_with_its_last_word_and_its_share() -> None:
    screen = io.StringIO()
    with StageBars(screen) as bars:
        bars.begin("warmup_split").log("200 rows\nof \x1b[2Jhostile text")
        bars.begin("control_sets")  # tells nothing
        filtered = bars.begin("filtered_sets")
        filtered.on_iteration(IterationRow("net", 3, 4_000, 3_000, 0, 250, 200, 0, 0.8, 0.9))
        grid = bars.begin("evaluator_models")
        for done in range(1, 5):
            grid.on_part(done, 4)
    shown = screen.getvalue()
    assert "warmup_split       200 rows of \\x1b[2Jhostile text [00:00]" in shown
    assert "filtered_sets      net: iteration 3, 3,750 rows left [00:00]" in shown
    assert "control_sets" not in shown
    ended = [line.rstrip() for line in (row.rpartition("\r")[2] for row in shown.split("\n")) if line.strip()]
    assert [line.partition(" ")[0] for line in ended] == ["warmup_split", "filtered_sets", "evaluator_models"]
    assert re.search(r"100 % \|[█#]{20}\| 4 of 4 \[", ended[-1])
