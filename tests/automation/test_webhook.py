"""A webhook that answers slowly, or never, holds nobody longer than the limit."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import pytest

from aflite_assets.automation.webhook import post_message
from aflite_assets.errors import NotificationError

LIMIT = 0.5


class Slow:
    """A server on loopback that sends one piece of an answer after the other, for ever."""

    def __init__(self, pieces: Iterator[bytes], *, pause: float = 0.02) -> None:
        self._pieces, self._pause = pieces, pause
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.broken = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        port: int = self._listening.getsockname()[1]
        return port

    def _serve(self) -> None:
        with suppress(OSError), self._listening.accept()[0] as connection:
            for piece in self._pieces:
                if self._stopped.wait(self._pause):
                    return
                try:
                    connection.sendall(piece)
                except OSError:
                    self.broken.set()
                    return

    def stop(self) -> None:
        self._stopped.set()
        self._listening.close()
        self._thread.join(5)
        assert not self._thread.is_alive()


def _forever(start: bytes, piece: bytes) -> Callable[[], Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        yield start
        while True:
            yield piece

    return pieces


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "pieces",
    [
        _forever(b"HTTP/1.1 2", b"0"),
        _forever(b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        _forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        _forever(b"", b""),
        _forever(b"\x16\x03\x01\x20\x00", b"\x00"),
    ],
    ids=["status", "header", "continue", "silence", "handshake"],
)
def test_a_server_that_drips_holds_nobody(pieces: Callable[[], Iterator[bytes]], scheme: str) -> None:
    server = Slow(pieces())
    try:
        began = time.monotonic()
        with pytest.raises(NotificationError, match=r"the alert webhook cannot be reached \(\w+\)"):
            post_message(f"{scheme}://127.0.0.1:{server.port}/secret", "text", seconds=LIMIT)
        assert time.monotonic() - began < 3 * LIMIT
    finally:
        server.stop()


def test_a_search_for_the_host_that_hangs_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, ended = threading.Event(), threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        asked.wait(10)
        ended.set()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    with pytest.raises(
        NotificationError, match=r"the alert webhook cannot be reached \(LateError\); correct AFLITE_ALERT"
    ):
        post_message("http://webhook.invalid/secret", "text", seconds=0.1)
    asked.set()
    assert ended.wait(5)


def test_a_port_where_nobody_listens_is_told_at_once() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(NotificationError, match=r"cannot be reached \(ConnectionRefusedError\)"):
        post_message(f"http://127.0.0.1:{port}/secret", "text")


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("file:///etc/top-secret", "InvalidURL"),
        ("ftp://127.0.0.1/top-secret", "InvalidURL"),
        ("top-secret", "InvalidURL"),
        ("http://[top-secret", "ValueError"),
        ("http://127.0.0.1:port-top-secret/", "InvalidURL"),
        ("http://127.0.0.1:1/top secret", "InvalidURL"),
        ("http://user:top-secret@127.0.0.1:1/", "InvalidURL"),
    ],
)
def test_an_address_stands_in_no_error(address: str, error: str) -> None:
    with pytest.raises(NotificationError, match=rf"the alert webhook cannot be reached \({error}\); ") as caught:
        post_message(address, "text")
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
