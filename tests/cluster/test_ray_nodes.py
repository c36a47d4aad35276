"""What a node must be like to work for this machine, without a cluster: `ray_cluster._check`."""

from dataclasses import replace
from pathlib import Path

import pytest

from aflite_assets.cluster import ray_cluster
from aflite_assets.cluster.ray_worker import NodeFacts, node_facts
from aflite_assets.errors import NodeRefusedError


@pytest.fixture
def facts(tmp_path: Path) -> NodeFacts:
    probe = tmp_path / "probe"
    probe.touch()
    return replace(node_facts(probe), host="far")


def checked(facts: NodeFacts) -> list[str]:
    """What is logged of a node that is taken."""
    lines: list[str] = []
    ray_cluster._check(facts, lines.append)
    return lines


def test_a_node_like_this_machine_is_taken(facts: NodeFacts) -> None:
    assert checked(facts) == []


def test_other_versions_are_refused_with_both_named(facts: NodeFacts) -> None:
    versions = dict(facts.versions)
    here = versions["torch"]
    other = tuple((versions | {"torch": "1.0"}).items())
    with pytest.raises(NodeRefusedError, match=rf"^node far has torch 1\.0 \({here.replace('+', '.')} here\); install"):
        checked(replace(facts, versions=other))


def test_a_node_without_the_shared_folder_is_refused(
    facts: NodeFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFLITE_HOME", str(tmp_path))
    assert not node_facts(tmp_path / "nowhere").sees_files
    with pytest.raises(NodeRefusedError, match=f"^node far does not see {tmp_path}; keep AFLITE_HOME on a file system"):
        checked(replace(facts, sees_files=False))


def test_another_processor_is_taken_and_said(facts: NodeFacts) -> None:
    (line,) = checked(replace(facts, processor="Z80 avx9"))
    assert line.startswith("node far has another processor (Z80 avx9; here ")
    assert line.endswith("results in floating point may differ in their last bits")


def test_a_refused_node_is_no_outage() -> None:
    """Tried again by itself it would be refused again, and nothing that the user's file says is wrong."""
    assert not NodeRefusedError("x").may_pass
    assert not NodeRefusedError("x").refuses
