"""What `ray_cluster` makes of nodes, without Ray: which are refused, and workers that never start."""

import socket
from dataclasses import replace
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import pytest

from aflite_assets.cluster import ClusterSettings, Work, ray_cluster
from aflite_assets.cluster.ray_worker import NodeFacts, node_facts
from aflite_assets.errors import ClusterError, NodeRefusedError


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
    with pytest.raises(
        NodeRefusedError, match=rf"^the node far has torch 1\.0 \({here.replace('+', '.')} here\); install"
    ):
        checked(replace(facts, versions=other))


def test_a_node_without_the_shared_folder_is_refused(
    facts: NodeFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFLITE_HOME", str(tmp_path))
    assert not node_facts(tmp_path / "nowhere").sees_files
    with pytest.raises(
        NodeRefusedError, match=f"^the folder {tmp_path} is not shared with the node far; set `AFLITE_HOME`"
    ):
        checked(replace(facts, sees_files=False))


def test_another_processor_is_taken_and_said(facts: NodeFacts) -> None:
    (line,) = checked(replace(facts, processor="Z80 avx9"))
    assert line.startswith("the node far has a different processor (Z80 avx9) from this machine (")
    assert line.endswith("floating-point results may differ in the last bits")


def test_a_refused_node_is_no_outage() -> None:
    """Tried again by itself it would be refused again, and nothing that the user's file says is wrong."""
    assert not NodeRefusedError("x").may_pass
    assert not NodeRefusedError("x").refuses


class NeverStarts:
    """Ray, as far as `_RayWorkers` uses it, of a cluster without room: an actor answers by its end alone."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.killed = Event()

    def remote(self, *given: Any, **settings: Any) -> Any:
        """Stands for a class made remote, for an actor and for the answers of its methods."""
        return (lambda cls: self) if settings else self

    @property
    def facts(self) -> "NeverStarts":
        return self

    def get(self, reference: object) -> object:
        self.killed.wait(30)
        sleep(0.2)  # Ray tells of the end later than it is asked for
        self.calls.append("told of the end")
        raise RuntimeError("The actor died unexpectedly before finishing this task.")

    def kill(self, actor: object, *, no_restart: bool) -> None:
        self.calls.append("killed")
        self.killed.set()


def test_nothing_is_asked_of_ray_once_workers_are_let_go(tmp_path: Path) -> None:
    ray = NeverStarts()
    workers = ray_cluster._RayWorkers(ray, _no_work, {"num_cpus": 1}, 1, lambda line: None, True, tmp_path / "probe")
    workers._start()
    workers.end()
    ray.calls.append("shut down")
    assert ray.calls == ["killed", "told of the end", "shut down"]
    workers._start()
    assert not any(thread.is_alive() for thread in workers.waiting)
    assert ray.calls[-1] == "shut down"


def _no_work() -> Work:
    raise AssertionError


def test_a_token_is_one_that_ray_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client sends none unless told, and told to send one that is not there it refuses to connect."""
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert not ray_cluster._has_token()
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("secret", encoding="utf-8")
    assert ray_cluster._has_token()
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    assert ray_cluster._has_token()


def test_an_address_where_nothing_answers_is_said_at_once() -> None:
    """Ray itself tries for minutes."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]  # bound, and nobody listens
        for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
            with pytest.raises(
                ClusterError, match=f"{address} cannot be reached, because the address does not respond .*refused"
            ):
                ray_cluster._check_reachable(ClusterSettings("ray", address))
        taken.listen()
        ray_cluster._check_reachable(ClusterSettings("ray", f"127.0.0.1:{port}"))
    for known_by_ray in ("auto", "local"):
        ray_cluster._check_reachable(ClusterSettings("ray", known_by_ray))
