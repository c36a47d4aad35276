"""Assets made of one small dataset, which stands under the name of a partition of the definitions."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import pytest

from aflite_assets.assets import common
from aflite_assets.specs.registry import BUNDLED, Registry, load_spec, parse_spec
from resources import ComputeCluster, ComputeDevice, ExperimentTracker, ResultStoreResource

TEMPLATES = {
    "name": "circles_1",
    "source": {"format": "template_nli", "splits": {"train": 2000, "test": 60}, "planted_share": 0.6, "seed": 0},
    "representations": {"small": {"kind": "small_transformer"}},
    "evaluators": {"linear": {"kind": "linear"}},
}


def few_circles(train: int, test: int) -> dict[str, Any]:
    """The content of the bundled circles, with fewer rows."""
    content = load_spec(BUNDLED / "circles_1.yaml").model_dump(exclude_unset=True)
    content["source"]["splits"] = {"train": train, "test": test}
    return content


def register(monkeypatch: pytest.MonkeyPatch, content: Mapping[str, Any]) -> None:
    """Have the assets read this dataset, and no other."""
    monkeypatch.setattr(common, "REGISTRY", Registry({"circles_1": parse_spec(dict(content))}, {}, {}))


def resources(**given: Any) -> dict[str, Any]:
    """What the assets need, on the processor, and some of it given."""
    return {
        "result_store": ResultStoreResource(),
        "compute_device": ComputeDevice(device="cpu"),
        "compute_cluster": ComputeCluster(),
        "experiment_tracker": ExperimentTracker(),
        **given,
    }


def materialize(assets: Sequence[Any], *, tracked: bool = True, **options: Any) -> dg.ExecuteInProcessResult:
    """A run of the assets for the dataset, in an instance of its own if none is given."""
    options.setdefault("resources", resources(experiment_tracker=ExperimentTracker(enabled=tracked)))
    if "instance" not in options:
        with dg.DagsterInstance.ephemeral() as instance:
            return materialize(assets, instance=instance, **options)
    return dg.materialize(list(assets), partition_key="circles_1", **options)


def told(result: dg.ExecuteInProcessResult, asset: str, check: str) -> tuple[dict[str, Any], dg.AssetCheckEvaluation]:
    """What an asset of a run tells Dagster, and the outcome of one of its checks."""
    (made,) = result.asset_materializations_for_node(asset)
    checks = {one.check_name: one for one in result.get_asset_check_evaluations()}
    return {name: one.value for name, one in made.metadata.items()}, checks[check]


def plotted(picture: str) -> bytes:
    """The PNG of an inline picture of metadata, which must be small."""
    png = base64.b64decode(picture[picture.index("base64,") + 7 : -1])
    assert png.startswith(b"\x89PNG")
    assert len(png) < 50_000
    return png
