"""Run deepchecks or Datalab on exported draws: a script for an environment that has the tool, without this project.

    python benchmarks/detection_real/tool_runs.py deepchecks FOLDER
    python benchmarks/detection_real/tool_runs.py Datalab FOLDER

Writes the names of properties with their scores beside each draw, the highest score first. The tools score alone:

- deepchecks: the predictive power score of each column (FeatureLabelCorrelation) with the row number as the index
  (IdentifierLabelCorrelation), or of each property of a text (PropertyLabelCorrelation) that needs no download.
- Datalab: how well each image property of CleanVision tells the label, 1 less its score of spurious correlations.
  It has no check of columns or texts against the label, so only images are run.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEXT_PROPERTIES = (
    "Text Length",
    "Average Word Length",
    "Max Word Length",
    "% Special Characters",
    "% Punctuation",
)


def run_deepchecks(folder: Path, kind: str) -> dict[str, float] | None:
    """Return the scores of columns or text properties; None for images."""
    import pandas as pd  # type: ignore[import-untyped]

    rows = pd.read_csv(folder / "rows.csv")
    if kind == "images":
        return None
    if kind == "features":
        from deepchecks.tabular import Dataset
        from deepchecks.tabular.checks import FeatureLabelCorrelation, IdentifierLabelCorrelation

        data = Dataset(rows, label="label", index_name="row", cat_features=[])
        found = dict(FeatureLabelCorrelation().run(data, with_display=False).value)
        return found | dict(IdentifierLabelCorrelation().run(data, with_display=False).value)
    from deepchecks.nlp import TextData
    from deepchecks.nlp.checks import PropertyLabelCorrelation
    from deepchecks.nlp.utils.text_properties import DEFAULT_PROPERTIES

    name = "text_pair" if "text_pair" in rows else "text"
    texts = rows[name].fillna("").tolist()
    measures = {one["name"]: one["method"] for one in DEFAULT_PROPERTIES if one["name"] in TEXT_PROPERTIES}
    measured = pd.DataFrame({shown: [measure(text) for text in texts] for shown, measure in measures.items()})
    data = TextData(texts, label=rows["label"].astype(str).tolist(), task_type="text_classification")
    data.set_properties(measured, categorical_properties=[])
    return dict(PropertyLabelCorrelation().run(data, with_display=False).value)


def run_datalab(folder: Path, kind: str) -> dict[str, float] | None:
    """Return the scores of image properties; None for other inputs."""
    if kind != "images":
        return None
    import pandas as pd
    from cleanlab import Datalab
    from datasets import Dataset, Image

    labels = pd.read_csv(folder / "rows.csv", usecols=["label"])["label"].tolist()
    paths = [str(path) for path in sorted((folder / "images").glob("*.jpg"))]
    data = Dataset.from_dict({"image": paths, "label": labels}).cast_column("image", Image())
    lab = Datalab(data=data, label_name="label", image_key="image", verbosity=0)
    lab.find_issues()
    table: Any = lab.get_info("spurious_correlations")["correlations_df"]
    return {str(row["property"]): 1 - float(row["score"]) for _, row in table.iterrows()}


RUNS: dict[str, Callable[[Path, str], dict[str, float] | None]] = {"deepchecks": run_deepchecks, "Datalab": run_datalab}


def main() -> None:
    """Run the tool on every draw that it has not seen; deepchecks only where it has a property for the cue."""
    tool, folder = sys.argv[1], Path(sys.argv[2])
    draws = [(json.loads(path.read_text(encoding="utf-8")), path.parent) for path in sorted(folder.glob("*/draw.json"))]
    draws = [(draw, place) for draw, place in draws if (place / "rows.csv").exists()]
    for draw, place in sorted(draws, key=lambda item: item[0]["number"]):
        result = place / f"{tool}.json"
        if result.exists() or (tool == "deepchecks" and tool not in draw["tools"]):
            continue
        scores = RUNS[tool](place, draw["input"])
        if scores is not None:
            ranked = sorted(scores.items(), key=lambda item: -item[1])
            result.write_text(json.dumps(ranked), encoding="utf-8")


if __name__ == "__main__":
    main()
