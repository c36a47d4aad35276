"""A webhook on loopback that keeps what it is sent, and can be told to refuse."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Webhook:
    """Where messages arrive: `texts` in order; `answer` is the status that the next ones get."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.answer = 200
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if hook.answer == 200:
                    hook.texts.append(json.loads(body)["text"])
                    hook.headers.append(dict(self.headers))
                self.send_response(hook.answer)
                if hook.answer == 302:
                    self.send_header("Location", "http://127.0.0.1:9/elsewhere-secret")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/services/T0/B0/top-secret"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def close(self) -> None:
        """Answer nobody any more."""
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Webhook]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    made = Webhook()
    yield made
    made.close()
