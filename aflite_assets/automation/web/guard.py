"""ASGI middleware that keeps web pages of other origins from driving the server behind it. Knows no Dagster.

Dagster's webserver answers any Host, runs GraphQL mutations sent by GET, reads JSON from bodies of any type and accepts
websockets from any origin. So any page that is open in a browser on the machine can launch runs. The rules here are
those of browsers: a page cannot forge `Host`, `Origin` or `Sec-Fetch-*`. Programs can, and there is no password: the
guard does not protect from other users or programs that reach the port.
"""

import json
import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from graphql import DocumentNode, GraphQLError, OperationDefinitionNode, OperationType, parse
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from aflite_assets.addresses import host_name

LONGEST_BODY = 32 * 2**20
"""Bytes of a request's body; one of Dagster's own pages sends a few thousand."""

_JSON = "application/json"
_HEADERS: Mapping[str, str] = {
    # A page of another origin may neither frame this one, and so borrow the user's clicks, nor load its answers.
    "X-Frame-Options": "SAMEORIGIN",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_POLICY = "frame-ancestors 'self'"
_POLICY_VIOLATION = 1008
_DOWNLOADS = ("/logs/", "/download_debug/")
"""Paths whose answers tell a page that opens them in a window whether something is there."""
_NOTEBOOKS = ("/notebook", "/dagit/notebook")
"""Dagster converts notebooks below its working directory, with their scripts, into pages of its own origin."""
_LOG_SECONDS = 1.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Refusal:
    """Why a request is not passed on: the HTTP status, and a sentence for whoever sent it."""

    status: HTTPStatus
    reason: str


class BrowserGuard:
    """Pass on requests and websockets that a page of the server's own origin, or a program, may have sent.

    - `Host` must be one of `hosts` (names in lower case, without ports), against DNS rebinding.
    - GET and HEAD run no mutation. Pages of other origins may send the user here, but not to downloads, and load
      nothing. Browsers tell which page asks by `Sec-Fetch-Site`, which they leave out for plain http on other names
      than the loopback: there only requests with an `Origin` are told apart, and no answer can be read.
    - GraphQL by GET and every POST need an `Origin`, or else a `Sec-Fetch-Site`, of this origin; POST has a JSON body.
    - A websocket has an `Origin` of this origin. Other methods, and notebooks, are refused.

    `origins`: the origins of a proxy in front, such as `https://dagster.example.org`, whether or not it rewrites Host;
    under its name no other scheme is this origin. `read_only`: POST runs GraphQL queries and nothing else.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Collection[str], origins: Collection[str] = (), read_only: bool = False
    ) -> None:
        self._app = app
        self._hosts = frozenset(hosts) - {""}  # what `host_name` gives for a Host that is no name
        self._origins = frozenset(origins)
        self._read_only = read_only
        self._refusals = _RefusalLog()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or websocket, by the server behind or with a refusal."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._connect(scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        refusal = self._wrong_host(headers) or self._wrong_origin(headers)
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            self._refusals.add(scope["path"], "websocket", refusal)
            await WebSocketClose(_POLICY_VIOLATION, refusal.reason)(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, _bounded(receive))
        refusal = self._wrong_host(request.headers)
        if refusal is None:
            refusal = self._wrong_post(request) if request.method == "POST" else self._wrong_get(request)
        receive = request.receive
        if refusal is None and self._read_only and request.method == "POST":
            refusal, receive = await _wrong_body(request)
        send = _with_headers(send)
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            self._refusals.add(scope["path"], request.method, refusal)
            await PlainTextResponse(f"{refusal.reason}\n", status_code=refusal.status)(scope, receive, send)

    def _wrong_host(self, headers: Headers) -> Refusal | None:
        given = headers.getlist("host")
        if len(given) == 1 and host_name(given[0]) in self._hosts:
            return None
        return Refusal(
            HTTPStatus.MISDIRECTED_REQUEST,
            f"Host {_shown(given)} is not served, but {', '.join(sorted(self._hosts))}; open one of these, or name the "
            "host by --allow-host or in AFLITE_DAGSTER_URL.",
        )

    def _wrong_get(self, request: Request) -> Refusal | None:
        if request.method not in ("GET", "HEAD"):
            return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, f"{request.method} is not served; send GET or POST.")
        path, headers = request.scope["path"], request.headers
        if path in _NOTEBOOKS:
            return Refusal(HTTPStatus.FORBIDDEN, "Notebooks are not shown: their scripts would run as this server's.")
        is_foreign = any(site not in ("same-origin", "none") for site in headers.getlist("sec-fetch-site"))
        is_link = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
        is_early = "sec-purpose" in headers  # fetched before anybody follows the link, which says no site
        if is_early or (is_foreign and (not is_link or path.startswith(_DOWNLOADS))):
            return Refusal(HTTPStatus.FORBIDDEN, "Pages of another origin may link to pages here, and load nothing.")
        if "origin" in headers or ("graphql" in path.lower() and "query" in request.query_params):
            return self._wrong_origin(headers, accept_site=True) or _wrong_queries(request)
        return None

    def _wrong_post(self, request: Request) -> Refusal | None:
        given = request.headers.getlist("content-type")
        if len(given) != 1 or given[0].partition(";")[0].strip().lower() != _JSON:
            return Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type is {_shown(given)}; send JSON as {_JSON}.")
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > LONGEST_BODY:
            return _too_long(length)
        return self._wrong_origin(request.headers, accept_site=True)

    def _wrong_origin(self, headers: Headers, *, accept_site: bool = False) -> Refusal | None:
        """Refuse what no page of this origin sent; `Sec-Fetch-Site` decides only if there is no `Origin`."""
        given, sites = headers.getlist("origin"), headers.getlist("sec-fetch-site")
        is_own = len(given) == 1 and self._is_own(given[0].lower(), headers["host"].lower())
        if not given and accept_site:
            is_own = sites == ["same-origin"]
        if is_own and all(site == "same-origin" for site in sites):
            return None
        return Refusal(
            HTTPStatus.FORBIDDEN,
            f"Origin is {_shown(given)} and Sec-Fetch-Site {_shown(sites)}, which is not this server's page; a program "
            f"sends the header Origin: http://{headers['host']}.",
        )

    def _is_own(self, origin: str, host: str) -> bool:
        if origin in self._origins:
            return True
        is_proxys = any(one.partition("://")[2] == host for one in self._origins)
        return not is_proxys and origin in (f"http://{host}", f"https://{host}")


class _RefusalLog:
    """Logs refusals, at most one a second: a page can make a browser send hundreds."""

    def __init__(self) -> None:
        self._next = 0.0
        self._left_out = 0

    def add(self, path: str, method: str, refusal: Refusal) -> None:
        """Log one, with how many were left out since the last that was logged."""
        if time.monotonic() < self._next:
            self._left_out += 1
            return
        others = f" (and {self._left_out} more before)" if self._left_out else ""
        _log.warning("refused %s %r: %s%s", method, path[:200], refusal.reason, others)
        self._next, self._left_out = time.monotonic() + _LOG_SECONDS, 0


def _bounded(receive: Receive) -> Receive:
    """Receive at most `LONGEST_BODY` bytes; what sends more is cut off."""
    length = 0

    async def received() -> Message:
        nonlocal length
        message = await receive()
        length += len(message.get("body", b""))
        return message if length <= LONGEST_BODY else {"type": "http.disconnect"}

    return received


def _too_long(length: str) -> Refusal:
    return Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body has {length} bytes; at most {LONGEST_BODY} are read."
    )


def _wrong_queries(request: Request) -> Refusal | None:
    """Refuse a query string that holds anything but GraphQL queries; Dagster's page for writing them has none."""
    if all(_only_queries(text) for text in request.query_params.getlist("query")):
        return None
    return Refusal(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "GET runs GraphQL queries, and this is another operation or none; send mutations by POST.",
    )


async def _wrong_body(request: Request) -> tuple[Refusal | None, Receive]:
    """Refuse a body that may change something, for a read-only server; what then receives reads the body again."""
    try:
        body = await request.body()
    except ClientDisconnect:
        return _too_long(f"over {LONGEST_BODY}"), request.receive
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    text = content.get("query") if isinstance(content, dict) else None
    if request.scope["path"] == "/graphql" and isinstance(text, str) and _only_queries(text):
        return None, _replayed(body, request.receive)
    return Refusal(HTTPStatus.FORBIDDEN, "This server was started with --read-only: it answers queries alone."), (
        request.receive
    )


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Receive a body that was read already, then whatever else comes."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received


def _with_headers(send: Send) -> Send:
    """Send every response with the headers that keep other origins from framing and loading it."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(_HEADERS)
            headers.append("Content-Security-Policy", _POLICY)  # beside the page's own: both hold
        await send(message)

    return sent


def _only_queries(text: str) -> bool:
    """Whether every operation of a GraphQL document is a query; text that cannot be parsed is none."""
    try:
        document: DocumentNode = parse(text, no_location=True)
    except (GraphQLError, RecursionError):
        return False
    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    return all(node.operation is OperationType.QUERY for node in operations)


def _shown(values: list[str]) -> str:
    return " and ".join(repr(value[:200]) for value in values) or "missing"
