"""ASGI middleware that refuses requests from web pages of other origins; it is independent of Dagster.

Dagster's webserver answers any Host, runs GraphQL mutations sent by GET, and accepts requests and websockets from any
origin. Any page that is open in a browser on the machine can therefore launch runs. The guard relies on browsers, in
which a page cannot forge `Host`, `Origin` or `Sec-Fetch-*`. Programs can forge these headers, and there is no password,
so other users and programs that reach the port are not refused.
"""

import logging
from collections.abc import Collection

from starlette.datastructures import Headers, QueryParams
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aflite_assets.addresses import host_name

_HEADERS = [
    # A page of another origin may not frame a page of this server, which would misuse clicks, and may not load answers.
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"frame-ancestors 'self'"),  # in addition to the page's own policy
]
_NOTEBOOKS = ("/notebook", "/dagit/notebook")
"""Dagster converts notebooks below its working directory, with their scripts, into pages of its own origin."""
_log = logging.getLogger(__name__)


class BrowserGuard:
    """Middleware that refuses requests and websockets from web pages of another origin.

    - `Host` must be one of `hosts` (names in lower case, without ports), against DNS rebinding.
    - Websockets and POST need the server's `Origin`, which browsers always send, and programs can send.
    - Pages of other origins may link to pages here, but cannot load anything. Browsers send `Sec-Fetch-Site` only over
      https and on the loopback. Over plain http on other names, only requests with an `Origin` can be recognised as
      foreign, but their answers cannot be read.
    - GraphQL by GET, other methods and notebooks are refused. With `read_only`, only GraphQL accepts POST.

    `origins`: the origins of a proxy in front of the server, such as `https://dagster.example.org`, whether or not the
    proxy rewrites `Host`. If `Host` is the proxy's name, an origin with another scheme counts as foreign.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Collection[str], origins: Collection[str] = (), read_only: bool = False
    ) -> None:
        self._app = app
        self._hosts = frozenset(hosts) - {""}  # what `host_name` returns for an invalid Host
        self._origins = frozenset(origins)
        self._read_only = read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request or websocket to the server, or refuse it."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        kind = scope["type"]
        method = scope["method"] if kind == "http" else kind
        refusal = None if kind == "lifespan" else self._refusal(scope, method)
        if refusal is None:
            await self._app(scope, receive, with_headers)
            return
        status, reason = refusal
        _log.warning("refused %s %r: %s", method, scope["path"][:200], reason)
        await PlainTextResponse(f"{reason}\n", status_code=status)(scope, receive, with_headers)

    def _refusal(self, scope: Scope, method: str) -> tuple[int, str] | None:
        """Return the HTTP status and a sentence for the sender of the request, or None to accept the request."""
        headers, path = Headers(scope=scope), scope["path"]
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or host_name(hosts[0]) not in self._hosts:
            return 421, (
                f"Host {_shown(hosts)} is not served, but {', '.join(sorted(self._hosts))}; open one of these, or name "
                "the host by --allow-host or in AFLITE_DAGSTER_URL."
            )
        if method not in ("GET", "HEAD", "POST", "websocket"):
            return 405, f"{method} is not served; send GET or POST."
        is_own = len(origins) == 1 and self._is_own(origins[0].lower(), hosts[0].lower())
        if not is_own and (origins or method in ("POST", "websocket")):
            return 403, (
                f"Origin is {_shown(origins)}, which is not this server's page; a program sends the header Origin: "
                f"http://{hosts[0]}."
            )
        is_foreign = any(site not in ("same-origin", "none") for site in headers.getlist("sec-fetch-site"))
        is_link = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
        if is_foreign and (not is_link or method == "POST"):
            return 403, "Pages of another origin may link to pages here, but may not load anything."
        if method == "POST" and self._read_only and path != "/graphql":
            return 403, "This server was started with --read-only: it answers only queries."
        if method != "POST" and path in _NOTEBOOKS:
            return 403, "Notebooks are not shown: their scripts would run as this server's."
        if method in ("GET", "HEAD") and "graphql" in path.lower() and "query" in QueryParams(scope["query_string"]):
            return 405, "GraphQL is not answered by GET; send it by POST."
        return None

    def _is_own(self, origin: str, host: str) -> bool:
        is_proxys = any(one.partition("://")[2] == host for one in self._origins)
        return origin in self._origins or (not is_proxys and origin in (f"http://{host}", f"https://{host}"))


def _shown(values: list[str]) -> str:
    return " and ".join(repr(value[:200]) for value in values) or "missing"
