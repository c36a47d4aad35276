"""After a fix that leaves a cue: what was tried, what remains, and a next step that is another one."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.command_line.fixing.conftest import write_rows

Run = Callable[..., tuple[int, str, str]]


def test_after_a_rebalance_that_leaves_the_cue_the_next_step_is_another_one(run: Run, tmp_path: Path) -> None:
    """A number that goes with the class at every limit still tells the class beyond the limit that was balanced."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 1500)
    words = ["the", "a", "dog", "cat", "runs", "eats", "big", "small", "house", "tree", "river", "over", "red"]
    rows = [
        {"text": " ".join(rng.choice(words, 12)), "age": round(40 + 22 * label + 12 * float(rng.normal())),
         "label": ["no", "yes"][label]}
        for label in labels.tolist()
    ]  # fmt: skip
    path = write_rows(tmp_path / "ages.csv", rows)
    code, out, _ = run("fix", path, "--label", "label", "--cue", 1, "--to", tmp_path / "subset")
    first, following = out.splitlines()[:2]
    assert code == 1
    assert first.startswith(("Cue 1 is weaker: “age ", "Cue 1 is still there: “age "))
    assert following == (
        "Tried: --by rebalance, which keeps a subset of the rows. Next: begin again from the original with --by drop, "
        "which leaves out the column."
    )
    lengths = [{"text": " ".join(rng.choice(words, max(3, row["age"] // 3))), "label": row["label"]} for row in rows]
    path = write_rows(tmp_path / "lengths.csv", lengths)
    _, out, _ = run("fix", path, "--label", "label", "--cue", 1, "--to", tmp_path / "shorter", "--json")
    content = json.loads(out)
    left = content["cues"][0]["after"]
    assert content["cues"][0]["change"] in ("still there", "weaker")
    assert content["headline"][1] == (
        "Tried: --by rebalance, which keeps a subset of the rows. The cue was balanced at one limit, and "
        f"“{left['name']}” remains. Next: rebalance the copy by what remains (aflite fix COPY --cue 1 --to "
        "ANOTHER_FOLDER). If too few rows are left for that, collect rows of every class over the whole range."
    )
