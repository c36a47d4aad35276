"""ASGI middleware that refuses requests from web pages of other origins; it is independent of Dagster.

Dagster's webserver answers any Host, runs GraphQL mutations sent by GET, reads JSON from bodies of any type and accepts
websockets from any origin. Any page that is open in a browser on the machine can therefore launch runs. The guard
relies on browsers, in which a page cannot forge `Host`, `Origin` or `Sec-Fetch-*`. Programs can forge these headers,
and there is no password, so other users and programs that reach the port are not refused.
"""

import logging
from collections.abc import Collection, Mapping

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from aflite_assets.addresses import host_name

_HEADERS: Mapping[str, str] = {
    # A page of another origin may not frame a page of this server, which would misuse clicks, and may not load answers.
    "X-Frame-Options": "SAMEORIGIN",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_POLICY = "frame-ancestors 'self'"
_POLICY_VIOLATION = 1008
_DOWNLOADS = ("/logs/", "/download_debug/")
"""Paths whose answers reveal to a page that opens them in a window whether a run exists."""
_NOTEBOOKS = ("/notebook", "/dagit/notebook")
"""Dagster converts notebooks below its working directory, with their scripts, into pages of its own origin."""
_log = logging.getLogger(__name__)

Refusal = tuple[int, str]
"""HTTP status, and a sentence for the sender of the request."""


class BrowserGuard:
    """Middleware that refuses requests and websockets from web pages of another origin. Programs are not refused.

    - `Host` must be one of `hosts` (names in lower case, without ports), against DNS rebinding.
    - A websocket needs the server's `Origin`. A POST needs a JSON body and the server's `Origin`. If a POST has no
      `Origin`, it needs a `Sec-Fetch-Site` of the same origin.
    - Pages of other origins may link to pages here, but not to downloads, and cannot load anything. Browsers send
      `Sec-Fetch-Site` only over https and on the loopback. Over plain http on other names, only requests with an
      `Origin` can be recognised as foreign, but their answers cannot be read.
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
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        is_websocket = scope["type"] == "websocket"
        refusal = self._refusal(scope, "websocket" if is_websocket else scope["method"])
        send = send if is_websocket else _with_headers(send)
        if refusal is None:
            await self._app(scope, receive, send)
            return
        status, reason = refusal
        _log.warning("refused %s %r: %s", scope.get("method", "websocket"), scope["path"][:200], reason)
        if is_websocket:
            await WebSocketClose(_POLICY_VIOLATION, reason)(scope, receive, send)
        else:
            await PlainTextResponse(f"{reason}\n", status_code=status)(scope, receive, send)

    def _refusal(self, scope: Scope, method: str) -> Refusal | None:
        headers, path = Headers(scope=scope), scope["path"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or host_name(hosts[0]) not in self._hosts:
            return 421, (
                f"Host {_shown(hosts)} is not served, but {', '.join(sorted(self._hosts))}; open one of these, or name "
                "the host by --allow-host or in AFLITE_DAGSTER_URL."
            )
        if method == "websocket":
            return self._wrong_origin(headers)
        if method == "POST":
            types = headers.getlist("content-type")
            if len(types) != 1 or types[0].partition(";")[0].strip().lower() != "application/json":
                return 415, f"Content-Type is {_shown(types)}; send JSON as application/json."
            if self._read_only and path != "/graphql":
                return 403, "This server was started with --read-only: it answers only queries."
            return self._wrong_origin(headers, accept_site=True)
        if method not in ("GET", "HEAD"):
            return 405, f"{method} is not served; send GET or POST."
        if path in _NOTEBOOKS:
            return 403, "Notebooks are not shown: their scripts would run as this server's."
        is_foreign = any(site not in ("same-origin", "none") for site in headers.getlist("sec-fetch-site"))
        is_link = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
        is_early = "sec-purpose" in headers  # a prefetch, which has no site
        if is_early or (is_foreign and (not is_link or path.startswith(_DOWNLOADS))):
            return 403, "Pages of another origin may link to pages here, but may not load anything."
        if "graphql" in path.lower() and "query" in QueryParams(scope["query_string"]):
            return 405, "GraphQL is not answered by GET; send it by POST."
        return self._wrong_origin(headers) if "origin" in headers else None

    def _wrong_origin(self, headers: Headers, *, accept_site: bool = False) -> Refusal | None:
        """Return a refusal unless a page of this origin sent the request.

        With `accept_site`, `Sec-Fetch-Site` decides if there is no `Origin`.
        """
        given, sites = headers.getlist("origin"), headers.getlist("sec-fetch-site")
        is_own = len(given) == 1 and self._is_own(given[0].lower(), headers["host"].lower())
        if not given and accept_site:
            is_own = sites == ["same-origin"]
        if is_own and all(site == "same-origin" for site in sites):
            return None
        return 403, (
            f"Origin is {_shown(given)} and Sec-Fetch-Site {_shown(sites)}, which is not this server's page; a program "
            f"sends the header Origin: http://{headers['host']}."
        )

    def _is_own(self, origin: str, host: str) -> bool:
        is_proxys = any(one.partition("://")[2] == host for one in self._origins)
        return origin in self._origins or (not is_proxys and origin in (f"http://{host}", f"https://{host}"))


def _with_headers(send: Send) -> Send:
    """Return a function that adds headers to every response, which forbid other origins to frame or load it."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(_HEADERS)
            headers.append("Content-Security-Policy", _POLICY)  # in addition to the page's own policy
        await send(message)

    return sent


def _shown(values: list[str]) -> str:
    return " and ".join(repr(value[:200]) for value in values) or "missing"
