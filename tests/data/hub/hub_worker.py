"""A process of its own that reads datasets from a hub: libraries take the hub's address when they are imported.

Run as `python -m tests.data.hub.hub_worker ROOT`, or `--without-hub` in place of ROOT for an address that nobody
answers. Each line on standard input is a JSON object with the source of a spec and what to `do`; each line on standard
output is its outcome.
"""

import io
import json
import os
import sys
import time
import traceback
import warnings
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa

from aflite_assets.paths import configure_libraries
from aflite_assets.specs.sources import HubSource
from tests.data.hub.hub_server import hub_server


def main(root: str) -> None:
    """Answer requests until standard input ends."""
    with nullcontext("http://127.0.0.1:9") if root == "--without-hub" else hub_server(Path(root)) as address:
        os.environ["HF_ENDPOINT"] = address
        configure_libraries()
        for line in sys.stdin:
            request = json.loads(line)
            before = time.monotonic()
            try:
                outcome: dict[str, Any] = {"result": _do(request)}
            except Exception as error:
                outcome = {"error": type(error).__name__, "message": str(error), "trace": _trace(error)}
            outcome["seconds"] = time.monotonic() - before
            print(json.dumps(outcome), file=_OUT, flush=True)


# What libraries print must not get between the answers.
_OUT, sys.stdout = sys.stdout, sys.stderr


def _do(request: dict[str, Any]) -> Any:
    from aflite_assets.data.hub import datasets as hub

    if request["do"] == "model_commit":
        return hub.model_commit(request["id"], None)
    if request["do"] == "resolve_model":
        return hub.resolve_commit(request["id"], request.get("revision"), kind="model")
    if request["do"] == "ask_anew":
        return _ask_anew(request["sources"], request["seconds"])
    if request["do"] == "materialise":
        return _materialise(Path(request["file"]), request["environment"])
    if request["do"] == "bundled":
        return _bundled(request["name"], request.get("environment", {}))
    if request["do"] == "command":
        return _command(request["arguments"], request.get("token"))
    if request["do"] == "load_dataset":
        return _load_dataset(request["id"], request["config"], request["token"])
    source = HubSource.model_validate(request["source"])
    match request["do"]:
        case "load":
            tables = hub.load_hub(source, rows=request.get("rows"))
            return {split: _shown(table) for split, table in tables.items()}
        case "commit":
            return hub.source_commit(source)
        case "row_counts":
            return hub.row_counts(source)
        case "check_available":
            return hub.check_available(source)
    raise ValueError(request["do"])


def _command(arguments: list[str], token: str | None) -> dict[str, Any]:
    """The command `aflite` as a user with this token runs it: its exit code and what it prints."""
    from aflite_assets.command_line.main import main as aflite

    os.environ.pop("HF_TOKEN", None)
    if token is not None:
        os.environ["HF_TOKEN"] = token
    # huggingface_hub uploads files in a way that httpx deprecates.
    warnings.filterwarnings("ignore", message="Use 'content=<...>' to upload raw bytes/text content")
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = aflite(arguments)
    os.environ.pop("HF_TOKEN", None)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def _load_dataset(id: str, config: str, token: str) -> dict[str, Any]:
    """Rows of every split as `datasets` reads them from the hub, and the type of each column."""
    import datasets

    splits = datasets.load_dataset(id, config, token=token)
    return {split: {"rows": list(rows), "features": str(rows.features)} for split, rows in splits.items()}


def _ask_anew(what: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    """The commits of models (`model`) and datasets (sources) as one look gives them, or why there is none."""
    from aflite_assets.data.hub import datasets as hub

    answers = []
    with hub.asked_anew(seconds=seconds) as look:
        for one in what:
            try:
                if "model" in one:
                    answers.append(hub.model_commit(one["model"], None))
                else:
                    answers.append(hub.source_commit(HubSource.model_validate(one)))
            except Exception as error:
                answers.append(f"{type(error).__name__}: {error}")
    return {"answers": answers, "unanswered": look.unanswered}


def _bundled(name: str, environment: dict[str, str]) -> dict[str, Any]:
    """The tables of a bundled dataset and of its challenge sets, and what each label counts as there."""
    from aflite_assets.specs.registry import BUNDLED, load_spec
    from aflite_assets.stages.data.challenge_sets import build_challenge, load_challenge
    from aflite_assets.stages.data.raw_dataset import read_raw
    from aflite_assets.stages.shared.label_mapping import label_mapping

    os.environ.update(environment)
    spec = load_spec(BUNDLED / f"{name}.yaml")
    raw = read_raw(spec).examples
    challenges = {}
    for set_name, challenge in spec.challenge_sets.items():
        tables = load_challenge(set_name, challenge)
        examples = build_challenge(set_name, challenge, tables, raw, seed=spec.seed).examples
        maps = label_mapping(set_name, challenge, examples, raw.label_names)
        challenges[set_name] = {"rows": _rows(examples), "label_mapping": maps}
    return {"rows": _rows(raw), "challenge_sets": challenges}


def _materialise(file: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Run the first stage of a dataset's file, tracked by MLflow; everything that is kept goes below the home."""
    from aflite_assets.paths import aflite_home
    from aflite_assets.results import ResultStore
    from aflite_assets.specs.registry import load_spec
    from aflite_assets.stages.pipeline import run_stage
    from aflite_assets.stages.stage import Progress
    from aflite_assets.tracking import MlflowTracker

    os.environ.update(environment)
    # mlflow 3.17's database models use a loader that SQLAlchemy 2.1 deprecates.
    warnings.filterwarnings("ignore", message="The ``noload`` loader strategy is deprecated")
    said: list[str] = []
    obtained = run_stage(
        "raw_dataset",
        load_spec(file),
        store=ResultStore(aflite_home() / "results"),
        tracker=MlflowTracker(None, aflite_home()),
        progress=Progress(said.append, lambda report: None),
    )
    return {"summary": obtained.result.summary, "said": said}


def _rows(examples: Any) -> list[dict[str, Any]]:
    names = [name for name in examples.table.column_names if name not in ("row_id", "source_id", "image")]
    rows = examples.table.select(names).to_pylist()
    return [row | {"label": examples.label_names[row["label"]]} for row in rows]


def _shown(table: pa.Table) -> dict[str, Any]:
    return {
        "schema": {field.name: str(field.type) for field in table.schema},
        "rows": json.loads(json.dumps(table.to_pylist(), default=lambda value: value.hex())),
    }


def _trace(error: BaseException) -> str:
    """The error and everything that hangs on it, also what is not printed."""
    texts = ["".join(traceback.format_exception(error))]
    for other in (error.__cause__, error.__context__):
        texts += [_trace(other)] if other is not None else []
    return "\n".join(texts)


if __name__ == "__main__":
    main(sys.argv[1])
