"""Posting a message to a webhook. Its address is a secret: no error, log or `repr` shows it."""

import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException, HTTPMessage, InvalidURL
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from aflite_assets.deadlines import LateError, within
from aflite_assets.errors import NotificationError

TIMEOUT_SECONDS = 10.0
"""For the whole exchange: finding the host, connecting, sending and the answer's status."""


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: the message would go to another place than the configured one."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


class _Exchange:
    """One request, whose connections can be cut from outside: a server that sends a byte a second meets no timeout."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._is_cut = False
        self._sockets: list[socket.socket] = []

    def run(self, request: Request) -> None:
        """Send the request and read the answer's status and headers."""
        opener = build_opener(_NoRedirects, self._handler(HTTPHandler), self._handler(HTTPSHandler))
        opener.open(request, timeout=self._left()).close()

    def cut(self) -> None:
        """Break off what is under way and let nothing more begin."""
        with self._lock:
            self._is_cut = True
            for each in self._sockets:
                with suppress(OSError):  # it is closed already
                    each.shutdown(socket.SHUT_RDWR)

    def _handler(self, kind: type[Any]) -> Any:
        exchange = self

        class Handler(kind):
            def do_open(self, http_class: Callable[..., Any], req: Request, **options: Any) -> Any:
                def make(*arguments: Any, **settings: Any) -> Any:
                    connection = http_class(*arguments, **settings)
                    # What http.client connects by, before TLS begins.
                    connection._create_connection = exchange._connect
                    return connection

                return super().do_open(make, req, **options)

        return Handler()

    def _connect(self, place: tuple[str, int], timeout: float, source: tuple[str, int] | None = None) -> socket.socket:
        made = socket.create_connection(place, min(timeout, self._left()), source)
        with self._lock:
            if self._is_cut:
                made.close()
                raise TimeoutError
            self._sockets.append(made)
        return made

    def _left(self) -> float:
        return max(0.001, self._ends - time.monotonic())


def post_message(address: str, text: str, *, seconds: float = TIMEOUT_SECONDS) -> None:
    """Post `{"text": text}` as JSON, in the form of Slack's incoming webhooks; any 2xx answer counts as delivered.

    Raises:
        NotificationError: the address is invalid, or did not accept the message within so many seconds altogether.
    """
    trouble = _trouble(address, text, seconds)
    # Raised here, where no other error is being handled: its text may hold the address.
    if trouble:
        raise NotificationError(f"the alert webhook {trouble}; correct AFLITE_ALERT_WEBHOOK or mend what it names")


def _trouble(address: str, text: str, seconds: float) -> str | None:
    exchange = _Exchange(seconds)
    try:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https"):
            return "has no http or https address"
        if "@" in parts.netloc:
            return "has a user in its address, which is not supported"
        body = json.dumps({"text": text}).encode()
        request = Request(address, body, {"Content-Type": "application/json"}, method="POST")
        within(seconds, lambda: exchange.run(request))
    except LateError:
        return f"did not answer within {seconds:g} s"
    except HTTPError as error:
        with error:
            return f"answered {error.code}"
    except URLError as error:
        return f"cannot be reached ({_named(error.reason)})"
    except OSError as error:
        return f"cannot be reached ({_named(error)})"
    except InvalidURL:
        return "has an invalid address"
    except HTTPException as error:
        return f"gave an answer that is not HTTP ({type(error).__name__})"
    except ValueError:
        return "has an invalid address"
    finally:
        exchange.cut()
    return None


def _named(reason: object) -> str:
    """Return the operating system's text for an error; a library's text may quote the address."""
    return getattr(reason, "strerror", None) or type(reason).__name__
