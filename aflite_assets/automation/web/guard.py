"""ASGI middleware that keeps web pages of other origins from driving the server behind it. Knows no Dagster.

Dagster's webserver answers any Host, runs GraphQL mutations sent by GET, reads JSON from bodies of any type and accepts
websockets from any origin. So any page that is open in a browser on the machine can launch runs. The rules here are
those of browsers: a page cannot forge `Host`, `Origin` or `Sec-Fetch-*`. Programs can, and there is no password: the
guard does not protect from other users or programs that reach the port.
"""

import logging
from collections.abc import Collection, Mapping

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from aflite_assets.addresses import host_name

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
_log = logging.getLogger(__name__)

Refusal = tuple[int, str]
"""HTTP status, and a sentence for whoever sent the request."""


class BrowserGuard:
    """Pass on requests and websockets that a page of the server's own origin, or a program, may have sent.

    - `Host` must be one of `hosts` (names in lower case, without ports), against DNS rebinding.
    - POST and websockets need an `Origin`, or POST else a `Sec-Fetch-Site`, of this origin; a body is JSON.
    - Pages of other origins may send the user here by a link, but not to downloads, and load nothing. Browsers tell
      which page asks by `Sec-Fetch-Site`, which they leave out for plain http on other names than the loopback: there
      only requests with an `Origin` are told apart, and no answer can be read.
    - GraphQL by GET, other methods and notebooks are refused; so is POST to anything but GraphQL if `read_only`.

    `origins`: the origins of a proxy in front, such as `https://dagster.example.org`, whether or not it rewrites Host;
    under its name no other scheme is this origin.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Collection[str], origins: Collection[str] = (), read_only: bool = False
    ) -> None:
        self._app = app
        self._hosts = frozenset(hosts) - {""}  # what `host_name` gives for a Host that is no name
        self._origins = frozenset(origins)
        self._read_only = read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or websocket, by the server behind or with a refusal."""
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
                return 403, "This server was started with --read-only: it answers queries alone."
            return self._wrong_origin(headers, accept_site=True)
        if method not in ("GET", "HEAD"):
            return 405, f"{method} is not served; send GET or POST."
        if path in _NOTEBOOKS:
            return 403, "Notebooks are not shown: their scripts would run as this server's."
        is_foreign = any(site not in ("same-origin", "none") for site in headers.getlist("sec-fetch-site"))
        is_link = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
        is_early = "sec-purpose" in headers  # fetched before anybody follows the link, which says no site
        if is_early or (is_foreign and (not is_link or path.startswith(_DOWNLOADS))):
            return 403, "Pages of another origin may link to pages here, and load nothing."
        if "graphql" in path.lower() and "query" in QueryParams(scope["query_string"]):
            return 405, "GraphQL is not answered by GET; send it by POST."
        return self._wrong_origin(headers) if "origin" in headers else None

    def _wrong_origin(self, headers: Headers, *, accept_site: bool = False) -> Refusal | None:
        """Refuse what no page of this origin sent; `Sec-Fetch-Site` decides only if there is no `Origin`."""
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
    """Send every response with the headers that keep other origins from framing and loading it."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(_HEADERS)
            headers.append("Content-Security-Policy", _POLICY)  # beside the page's own: both hold
        await send(message)

    return sent


def _shown(values: list[str]) -> str:
    return " and ".join(repr(value[:200]) for value in values) or "missing"
