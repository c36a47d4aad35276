"""Posting of a message to a webhook; the webhook's secret address does not appear in errors or logs."""

import json
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from aflite_assets.deadlines import LateError, within
from aflite_assets.errors import NotificationError

TIMEOUT_SECONDS = 10.0
"""Limit for the whole exchange: finding the host, connecting, sending, and reading the answer's status."""


class _NoRedirects(HTTPRedirectHandler):
    """Handler that follows no redirect, so that messages are sent only to the configured address."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def post_message(address: str, text: str, *, seconds: float = TIMEOUT_SECONDS) -> None:
    """Post `{"text": text}` as JSON, as for Slack's incoming webhooks; any 2xx answer counts as delivered.

    Raises:
        NotificationError: the address is invalid, or the message was not accepted within `seconds`. The message may
            still arrive later.
    """
    trouble = _trouble(address, text, seconds)
    # Raised here without the original error as context, because the text of that error may contain the address.
    if trouble:
        raise NotificationError(
            f"the alert webhook {trouble}; correct AFLITE_ALERT_WEBHOOK, or repair the server that it names"
        )


def _trouble(address: str, text: str, seconds: float) -> str | None:
    try:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https"):
            return "has no http or https address"
        if "@" in parts.netloc:
            return "has a user in its address, which is not supported"
        body = json.dumps({"text": text}).encode()
        request = Request(address, body, {"Content-Type": "application/json"}, method="POST")
        opener = build_opener(_NoRedirects)
        within(seconds, lambda: opener.open(request, timeout=seconds).close())
    except LateError:
        return f"did not answer within {seconds:g} s"
    except HTTPError as error:
        with error:
            return f"answered {error.code}"
    except OSError as error:  # also URLError; a library's text may quote the address, `strerror` does not
        reason = error.reason if isinstance(error, URLError) else error
        return f"cannot be reached ({getattr(reason, 'strerror', None) or type(reason).__name__})"
    except (HTTPException, ValueError) as error:
        return f"has an invalid address or gave an answer that is not HTTP ({type(error).__name__})"
    return None
