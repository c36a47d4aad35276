"""A Ray cluster with the interface `Cluster`: workers are actors, and shared values are in the nodes' object stores.

Ray pickles all values that it sends, so only the project's own processes may be able to reach the cluster. By default,
the cluster requires a token.
"""

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any
from uuid import uuid4

from aflite_assets.cluster.protocol import Log, Needs, Shared, Work, Workers
from aflite_assets.cluster.ray_worker import NodeFacts, WorkHolder, node_facts
from aflite_assets.cluster.settings import ClusterSettings
from aflite_assets.errors import ClusterError, MemoryRanOutError, NodeRefusedError, WorkerLostError
from aflite_assets.paths import aflite_home
from aflite_assets.processors import THREADS, threads_per_step

_log = logging.getLogger(__name__)

_REACHED = 15.0
"""Seconds to wait for a response at an address."""

_TRIES = 4
"""Most workers that are lost with one item before it is given up, because it may be what ends them."""

_PATIENCE = 600.0
"""Seconds to wait for the first worker: a cluster that grows on demand needs minutes for a node."""

_LEFT_ALONE = 120.0
"""Seconds to wait for another worker after all were lost."""


@contextmanager
def open_ray(settings: ClusterSettings, *, log: Log) -> Iterator["RayCluster"]:
    """Connect to the configured cluster, or start a cluster on this machine, for the block.

    Raises:
        ClusterError: Ray is not installed, or the cluster cannot be reached.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # before Ray is imported
    if settings.is_client and _has_token():
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # its client sends the token only where this is set
    ray = _imported()
    _check_reachable(settings)
    began = time.monotonic()
    given: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if settings.address == "local":
        os.environ.setdefault("RAY_worker_niceness", str(os.nice(0)))  # its own 15 starves them beside other work
        cpus = settings.cpus or threads_per_step()
        given |= {"include_dashboard": False, "num_cpus": (settings.workers or 1) * cpus}
    try:
        ray.init(settings.address, namespace=f"aflite-{uuid4().hex}", **given)
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"{settings} cannot be reached ({type(error).__name__}: {error}); check that `ray status` works on the "
            "head node, and that ~/.ray/auth_token on this machine has the same token as on the head node"
        ) from error
    try:
        cluster = RayCluster(settings, ray)
        log(f"{settings}: {cluster.in_words()}; connected in {time.monotonic() - began:.1f} s")
        yield cluster
    finally:
        ray.shutdown()


def _check_reachable(settings: ClusterSettings) -> None:
    """Check the address before Ray, because Ray would try for minutes without a message."""
    if settings.address in ("auto", "local", None):
        return
    host, _, port = settings.address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHED).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"{settings} cannot be reached, because nothing answers at this address ({error}); correct "
            "`AFLITE_CLUSTER` or `compute_cluster.address`, or start Ray on the head node"
        ) from error


def _has_token() -> bool:
    """Return True if Ray would find a token; without a token, Ray refuses to connect to a cluster that requires one."""
    named = any(os.environ.get(name) for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    return named or (Path.home() / ".ray" / "auth_token").is_file()


def _imported() -> Any:
    try:
        import ray  # type: ignore[import-not-found,unused-ignore]  # an extra
    except ImportError as error:
        raise ClusterError(
            f"`AFLITE_CLUSTER` or `compute_cluster` selects a Ray cluster, but Ray cannot be imported ({error}); "
            "install `aflite-assets[ray]`"
        ) from error
    return ray


@dataclass(frozen=True)
class _InStore:
    """A value in the nodes' object stores."""

    reference: Any

    def get(self) -> Any:
        """Return the value; its arrays are views of the node's single copy."""
        return _imported().get(self.reference)


class RayCluster:
    """See `Cluster`."""

    spreads = True

    def __init__(self, settings: ClusterSettings, ray: Any) -> None:
        self._settings, self._ray = settings, ray
        self._streams = not settings.is_client

    def in_words(self) -> str:
        """Nodes, cores and GPUs of the cluster, in words."""
        nodes = sum(node["Alive"] for node in self._ray.nodes())
        has = self._ray.cluster_resources()
        cards = f", {has['GPU']:g} GPUs" if has.get("GPU") else ""
        return f"{nodes} {'node' if nodes == 1 else 'nodes'}, {has.get('CPU', 0):g} cores{cards}"

    def share(self, value: object) -> Shared:
        """See `Cluster`."""
        return _InStore(self._ray.put(value))

    @contextmanager
    def workers(self, make: Callable[[], Work], *, needs: Needs, log: Log) -> Iterator[Workers]:
        """See `Cluster`. Lost workers are replaced if there is room.

        Raises:
            ClusterError: no worker has started in ten minutes.
            NodeRefusedError: a node has other versions of libraries, or does not see the shared folder.
        """
        takes = self._takes(needs)
        count = self._settings.workers or self._room(takes)
        with _probe() as probe:
            started = _RayWorkers(self._ray, make, takes, count, log, self._streams, probe)
            try:
                yield started
            finally:
                started.end()

    def _takes(self, needs: Needs) -> dict[str, float]:
        """Return the resources of one worker."""
        cpus = self._settings.cpus or needs.cpus
        if not needs.gpu or not self._ray.cluster_resources().get("GPU"):
            return {"num_cpus": cpus}
        gpus = 1.0 if self._settings.gpus is None else self._settings.gpus
        return {"num_cpus": cpus, "num_gpus": gpus} if gpus else {"num_cpus": cpus}

    def _room(self, takes: dict[str, float]) -> int:
        """Return how many workers fit on the nodes; at least 1, because a node may still be added."""
        names = {"num_cpus": "CPU", "num_gpus": "GPU"}
        alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        fit = (min(int(has.get(names[name], 0) // amount) for name, amount in takes.items()) for has in alive)
        return max(1, sum(fit))


@dataclass
class _RayWorkers:
    """Actors that hold the same work. A lost actor is abandoned, and another actor is started instead."""

    ray: Any
    make: Callable[[], Work]
    takes: dict[str, float]
    count: int
    log: Log
    streams: bool
    probe: Path
    free: "SimpleQueue[Any]" = field(default_factory=SimpleQueue)
    actors: list[Any] = field(default_factory=list)
    waiting: list[Thread] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)
    first: Lock = field(default_factory=Lock)
    begun: bool = False
    met: bool = False
    working: int = 0
    ended: bool = False
    refused: NodeRefusedError | None = None

    def call(self, item: object, *, common: Shared | None = None, log: Log) -> object:
        """See `Workers`; the first call requests all workers."""
        with self.first:
            if not self.begun:
                for _ in range(self.count):
                    self._start()
            self.begun = True
        for _ in range(_TRIES):
            actor = self._next()
            try:
                answer = self._ask(actor, item, common, log)
            except _LostError as error:
                log(f"a worker was lost: {error}; its work goes to another")
                self._replace(actor)
                continue
            except MemoryRanOutError:
                self._replace(actor)  # it may have been ended for it, and keeps what it has taken if not
                raise
            except BaseException:
                self._give_back(actor)
                raise
            self._give_back(actor)
            return answer
        raise WorkerLostError(
            f"{_TRIES} workers in turn were lost while working on the same task; run `ray logs` to see why the workers "
            "ended"
        )

    def end(self) -> None:
        """Release all workers.

        Threads that wait for a worker end first, because any call to Ray after its shutdown would start a new cluster.
        """
        with self.lock:
            self.ended = True
        for actor in list(self.actors):
            self._drop(actor)
        for thread in self.waiting:
            thread.join(_LEFT_ALONE)

    def _ask(self, actor: Any, item: object, common: Shared | None, log: Log) -> object:
        reference = common.reference if isinstance(common, _InStore) else common
        errors = self.ray.exceptions
        try:
            for kind, value in self._messages(actor, item, reference):
                if kind == "log":
                    log(str(value))
                elif kind == "error":
                    error, where = value
                    _log.info("in a worker:\n%s", where)
                    raise error
                else:
                    return value
        except errors.OutOfMemoryError as error:
            raise MemoryRanOutError(
                f"a node ran out of memory, and Ray ended the worker: {_first_line(error)}"
            ) from error
        except (errors.RayActorError, errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError) as error:
            raise _LostError(_first_line(error)) from error
        except errors.RayError as error:
            raise RuntimeError(f"{type(error).__name__}: {_first_line(error)}") from error
        raise _LostError("the worker ended without a result")

    def _messages(self, actor: Any, item: object, reference: object) -> Iterator[tuple[str, Any]]:
        if not self.streams:
            yield from self.ray.get(actor.collect.remote(item, reference))
            return
        for message in actor.stream.options(num_returns="streaming").remote(item, reference):
            yield self.ray.get(message)

    def _start(self) -> None:
        """Request one worker; it becomes free once it has responded."""
        threads = str(max(1, int(self.takes["num_cpus"])))
        environment = {THREADS: threads, "AFLITE_HOME": str(aflite_home()), "RAY_USAGE_STATS_ENABLED": "0"}
        remote = self.ray.remote(**self.takes, max_restarts=0, runtime_env={"env_vars": environment})(WorkHolder)
        with self.lock:
            if self.ended:
                return
            actor = remote.remote(self.make)
            self.actors.append(actor)
            self.waiting.append(Thread(target=self._wait_for, args=(actor,), daemon=True))
            self.waiting[-1].start()

    def _wait_for(self, actor: Any) -> None:
        try:
            facts: NodeFacts = self.ray.get(actor.facts.remote(self.probe))
            _check(facts, self.log)
        except NodeRefusedError as error:
            self.refused = error
        except Exception as error:  # whatever Ray raises of a worker that never came: another may
            _log.info("a worker did not start: %s", _first_line(error))
            self._drop(actor)
        else:
            self.free.put(actor)

    def _next(self) -> Any:
        """Return a free worker.

        If any worker is busy, wait for it; otherwise, wait for a new worker, longest for the first.
        """
        patience = _LEFT_ALONE if self.met else _PATIENCE
        left = patience
        while True:
            if self.refused is not None:
                raise self.refused
            try:
                actor = self.free.get(timeout=1.0)
            except Empty:
                left -= 1.0
            else:
                with self.lock:
                    self.working, self.met = self.working + 1, True
                return actor
            if left <= 0 and not self.working:
                raise ClusterError(
                    f"no worker with {_in_words(self.takes)} started within {patience:g} seconds; check free resources "
                    "with `ray status`, lower `compute_cluster.cpus`, or add nodes"
                )

    def _give_back(self, actor: Any) -> None:
        """Put a worker from `_next` back into the queue of free workers."""
        with self.lock:
            self.working -= 1
        self.free.put(actor)

    def _replace(self, actor: Any) -> None:
        """Complete a call whose worker was lost, and start another worker in its place."""
        self._drop(actor)
        with self.lock:
            self.working -= 1
        self._start()

    def _drop(self, actor: Any) -> None:
        with self.lock:
            if actor not in self.actors:
                return
            self.actors.remove(actor)
        self.ray.kill(actor, no_restart=True)


class _LostError(Exception):
    """A worker or its node ended."""


@contextmanager
def _probe() -> Iterator[Path]:
    """Yield a file that every node must see."""
    folder = aflite_home()
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f".cluster-{uuid4().hex}"
    probe.touch()
    try:
        yield probe
    finally:
        probe.unlink(missing_ok=True)


def _check(facts: NodeFacts, log: Log) -> None:
    """Refuse a node on which the same work could give other results.

    Raises:
        NodeRefusedError: the node's libraries differ, or the node does not see the shared folder.
    """
    own = node_facts()
    other = [
        f"{name} {version} ({mine} here)"
        for (name, version), (_, mine) in zip(facts.versions, own.versions, strict=True)
        if version != mine
    ]
    if other:
        raise NodeRefusedError(
            f"the node {facts.host} has {', '.join(other)}; install the same versions on every node (constraints.txt)"
        )
    if not facts.sees_files:
        raise NodeRefusedError(
            f"the node {facts.host} cannot see {aflite_home()}; put `AFLITE_HOME` on a file system that all nodes "
            "mount under the same path"
        )
    if facts.processor != own.processor:
        log(
            f"node {facts.host} has another processor ({facts.processor}; here {own.processor}): results in floating "
            "point may differ in their last bits"
        )


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _in_words(takes: dict[str, float]) -> str:
    names = {"num_cpus": "cores", "num_gpus": "GPUs"}
    return " and ".join(f"{amount:g} {names[name]}" for name, amount in takes.items())
