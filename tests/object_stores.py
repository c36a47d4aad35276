"""A real server of moto on the loopback address, and stores in it: an empty bucket for every test."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.results import Draft, PublishedResult, ResultKey, ResultStore
from aflite_assets.results import store as store_module
from aflite_assets.results.damage import Damage
from aflite_assets.results.object_store import results as backend_module
from aflite_assets.results.object_store.address import parse_address
from aflite_assets.results.object_store.bucket import Bucket
from aflite_assets.results.object_store.results import ObjectBackend
from aflite_assets.results.opening import open_store
from tests.waiting import within

SECRET = "notasecretbutwatched"

# Moto looks at a write's condition and writes, and lets other writes in between; servers do not.
SERVER = """
import sys, threading
from moto.s3.responses import S3Response
from moto.server import main

put_object, one_at_a_time = S3Response.put_object, threading.Lock()

def put(self):
    with one_at_a_time:
        return put_object(self)

S3Response.put_object = put
main(sys.argv[1:])
"""


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/moto-api/", timeout=1):
            return True
    except OSError:
        return False


@pytest.fixture(scope="session")
def moto_server() -> Iterator[str]:
    """The address of an S3 server in a process of its own."""
    for package in ("boto3", "moto", "flask_cors"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed; pip install -c constraints.txt -e '.[dev]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVER, "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        assert within(60, lambda: _answers(url)), "moto's server does not answer"
        yield url
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()


@pytest.fixture
def s3_environment(moto_server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """AWS's variables for the server, and none of the user's; gives the server's address."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", moto_server)
    return moto_server


@pytest.fixture
def address(s3_environment: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty bucket, which `AFLITE_STORE` holds.

    It is the same for all tests of a process, since making a client for another one takes a while.
    """
    text = "s3://results/team/one"
    parsed = parse_address(text, named="address")
    with urllib.request.urlopen(urllib.request.Request(f"{s3_environment}/moto-api/reset", method="POST")):
        pass
    Bucket(parsed)._client.create_bucket(Bucket=parsed.bucket)
    backend_module._writable.discard(parsed)
    store_module._format_seen.clear()
    monkeypatch.setenv("AFLITE_STORE", text)
    return text


@pytest.fixture
def machine(address: str, tmp_path: Path) -> Callable[[str], ResultStore]:
    """The store as the machine of a name sees it, each with copies of its own."""

    return lambda name: open_store(tmp_path / name)


@pytest.fixture
def here(machine: Callable[[str], ResultStore]) -> ResultStore:
    return machine("here")


@pytest.fixture
def there(machine: Callable[[str], ResultStore]) -> ResultStore:
    return machine("there")


@pytest.fixture
def names(here: ResultStore) -> Callable[[], list[str]]:
    """The names of all objects below the store's prefix."""
    return lambda: [each.name for each in bucket(here).objects()]


def backend(store: ResultStore) -> ObjectBackend:
    assert isinstance(store.backend, ObjectBackend)
    return store.backend


def bucket(store: ResultStore) -> Bucket:
    return backend(store)


def withdraw(store: ResultStore, result: PublishedResult) -> bool:
    """Take a result away as one that is damaged; whether that was done."""
    return store.set_aside(Damage(result, ("a test",)))


def key(**fields: Any) -> ResultKey:
    return ResultKey("1", fields, {"raw_dataset": "abc"})


def write_text(text: str) -> Any:
    def write(draft: Draft) -> Mapping[str, Any]:
        (draft.path / "rows.txt").write_text(text)
        return {"rows": len(text)}

    return write


def with_part(text: str) -> Any:
    def write(draft: Draft) -> Mapping[str, Any]:
        draft.part("cell", key(cell=1), write_text(f"part of {text}"))
        return write_text(text)(draft)

    return write


def make(store: ResultStore, text: str = "one", *, asset: str = "embeddings", **fields: Any) -> PublishedResult:
    return store.get_or_create(asset, "digits", key(**fields), write_text(text)).result


@contextmanager
def listening(store: ResultStore, event: str, hear: Callable[..., None]) -> Iterator[None]:
    """Hear of a store's requests, or change them on their way, while the block runs."""
    events = bucket(store)._client.meta.events
    events.register(event, hear)
    try:
        yield
    finally:
        events.unregister(event, hear)


def put_with_other_checksum(store: ResultStore, name: str, body: bytes) -> None:
    """Have the server keep a checksum that is not the content's, as where its disk changed the content."""

    def forge(request: Any, **_: Any) -> None:
        del request.headers["x-amz-checksum-crc32"]
        request.headers["x-amz-checksum-crc32"] = "AAAAAA=="

    with listening(store, "before-sign.s3.PutObject", forge):
        bucket(store).put(name, body)
