"""A Ray cluster with the interface `Cluster`: workers are actors, and shared values are in the nodes' object stores.

Ray sends values as pickles, so other programs must not be able to connect to the cluster. Ray requires a token by
default.
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
"""Seconds to wait for a response from the cluster's address."""

_TRIES = 4
"""Number of workers that may be lost with the same item, because the item itself may be the cause."""

_PATIENCE = 600.0
"""Seconds to wait for the first worker, because a cluster that adds nodes on demand needs minutes for a node."""

_LEFT_ALONE = 120.0
"""Seconds to wait for a new worker after all workers were lost."""


@contextmanager
def open_ray(settings: ClusterSettings, *, log: Log) -> Iterator["RayCluster"]:
    """Connect to the configured cluster, or start a cluster on this machine, and disconnect after the block.

    Raises:
        ClusterError: Ray is not installed, or the cluster cannot be reached.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # before Ray is imported
    if settings.is_client and _has_token():
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # Ray's client sends the token only if this is set
    ray = _imported()
    _check_reachable(settings)
    began = time.monotonic()
    given: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if settings.address == "local":
        os.environ.setdefault(
            "RAY_worker_niceness", str(os.nice(0))
        )  # Ray's default, 15, starves workers if other processes run
        cpus = settings.cpus or threads_per_step()
        given |= {"include_dashboard": False, "num_cpus": (settings.workers or 1) * cpus}
    try:
        ray.init(settings.address, namespace=f"aflite-{uuid4().hex}", **given)
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"{settings} cannot be reached ({type(error).__name__}: {error}); check that `ray status` works on the "
            "head node, and that `~/.ray/auth_token` on this machine has the same token as on the head node"
        ) from error
    try:
        cluster = RayCluster(settings, ray)
        log(f"{settings}: {cluster.in_words()}; connected in {time.monotonic() - began:.1f} s")
        yield cluster
    finally:
        ray.shutdown()


def _check_reachable(settings: ClusterSettings) -> None:
    """Check that the address responds; without this check, Ray would retry for minutes without a message."""
    if settings.address in ("auto", "local", None):
        return
    host, _, port = settings.address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHED).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"{settings} cannot be reached, because the address does not respond ({error}); correct `AFLITE_CLUSTER` "
            "or `compute_cluster.address`, or start Ray on the head node"
        ) from error


def _has_token() -> bool:
    """Return True if Ray would find a token. A cluster that requires a token refuses clients that have no token."""
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
    """A value in the object stores of the nodes."""

    reference: Any

    def get(self) -> Any:
        """Return the value; its arrays are views of the only copy on the node."""
        return _imported().get(self.reference)


class RayCluster:
    """A Ray cluster with the interface `Cluster`."""

    spreads = True

    def __init__(self, settings: ClusterSettings, ray: Any) -> None:
        self._settings, self._ray = settings, ray
        self._streams = not settings.is_client

    def in_words(self) -> str:
        """Return a phrase with the numbers of nodes, cores and GPUs of the cluster."""
        nodes = sum(node["Alive"] for node in self._ray.nodes())
        has = self._ray.cluster_resources()
        cards = f", {has['GPU']:g} GPUs" if has.get("GPU") else ""
        return f"{nodes} {'node' if nodes == 1 else 'nodes'}, {has.get('CPU', 0):g} cores{cards}"

    def share(self, value: object) -> Shared:
        """Put the value into the object store, and return a reference to it."""
        return _InStore(self._ray.put(value))

    @contextmanager
    def workers(self, make: Callable[[], Work], *, needs: Needs, log: Log) -> Iterator[Workers]:
        """Yield workers of the cluster, as described in `Cluster.workers`; lost workers are replaced if possible.

        Raises:
            ClusterError: no worker has started within ten minutes.
            NodeRefusedError: a node has other versions of libraries, or the shared folder is not mounted on it.
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
        """Return the resources of one worker as arguments for Ray."""
        cpus = self._settings.cpus or needs.cpus
        if not needs.gpu or not self._ray.cluster_resources().get("GPU"):
            return {"num_cpus": cpus}
        gpus = 1.0 if self._settings.gpus is None else self._settings.gpus
        return {"num_cpus": cpus, "num_gpus": gpus} if gpus else {"num_cpus": cpus}

    def _room(self, takes: dict[str, float]) -> int:
        """Return the number of workers that the nodes have resources for, but at least 1, because a node may still be
        added.
        """
        names = {"num_cpus": "CPU", "num_gpus": "GPU"}
        alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        fit = (min(int(has.get(names[name], 0) // amount) for name, amount in takes.items()) for has in alive)
        return max(1, sum(fit))


@dataclass
class _RayWorkers:
    """Ray actors that all do the same work; a new actor is started in place of a lost one."""

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
        """Return the result of one item, as described in `Workers.call`; the first call requests all workers."""
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
                log(f"a worker was lost: {error}; another worker processes the item")
                self._replace(actor)
                continue
            except MemoryRanOutError:
                self._replace(actor)  # the worker was killed, or still occupies the memory
                raise
            except BaseException:
                self._give_back(actor)
                raise
            self._give_back(actor)
            return answer
        raise WorkerLostError(
            f"{_TRIES} workers were lost one after another with the same item; run `ray logs` to see why the workers "
            "ended"
        )

    def end(self) -> None:
        """Stop all workers, and join the threads that wait for new workers to start.

        Threads are joined because a call to Ray after its shutdown would start a new cluster.
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
                    _log.info("error in a worker:\n%s", where)
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
        """Request one worker, which is added to the free workers after its first response."""
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
        except Exception as error:  # Ray's errors for workers that do not start; another worker may start
            _log.info("a worker did not start: %s", _first_line(error))
            self._drop(actor)
        else:
            self.free.put(actor)

    def _next(self) -> Any:
        """Return the next free worker.

        If no worker is busy and no worker becomes free within a time limit, a ClusterError is raised. The time limit is
        longer until the first worker has started.
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
        """Remove a lost worker, and start another worker in its place."""
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
    """Error that is raised if a worker, or the node of a worker, ended during a call."""


@contextmanager
def _probe() -> Iterator[Path]:
    """Yield a temporary file in `AFLITE_HOME`. If a node sees the file, it shares the folder with this machine."""
    folder = aflite_home()
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f".cluster-{uuid4().hex}"
    probe.touch()
    try:
        yield probe
    finally:
        probe.unlink(missing_ok=True)


def _check(facts: NodeFacts, log: Log) -> None:
    """Check that the work gives the same results on a node as on this machine.

    Raises:
        NodeRefusedError: the node has other versions of libraries, or the shared folder is not mounted on it.
    """
    own = node_facts()
    other = [
        f"{name} {version} ({mine} here)"
        for (name, version), (_, mine) in zip(facts.versions, own.versions, strict=True)
        if version != mine
    ]
    if other:
        raise NodeRefusedError(
            f"the node {facts.host} has {', '.join(other)}; install the same versions on every node (see "
            "`constraints.txt`)"
        )
    if not facts.sees_files:
        raise NodeRefusedError(
            f"the folder {aflite_home()} is not shared with the node {facts.host}; set `AFLITE_HOME` to a folder that "
            "all nodes mount under the same path"
        )
    if facts.processor != own.processor:
        log(
            f"the node {facts.host} has a different processor ({facts.processor}) from this machine ({own.processor}); "
            "floating-point results may differ in the last bits"
        )


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _in_words(takes: dict[str, float]) -> str:
    names = {"num_cpus": "cores", "num_gpus": "GPUs"}
    return " and ".join(f"{amount:g} {names[name]}" for name, amount in takes.items())
