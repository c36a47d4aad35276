"""Posting a message to a webhook. Its address is a secret: no error, log or `repr` shows it."""

import json
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from aflite_assets.errors import NotificationError

TIMEOUT_SECONDS = 10.0


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: the message would go to another place than the configured one."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def post_message(address: str, text: str) -> None:
    """Post `{"text": text}` as JSON, in the form of Slack's incoming webhooks; any 2xx answer counts as delivered.

    Raises:
        NotificationError: the address is invalid, or did not accept the message within 10 seconds.
    """
    trouble = _trouble(address, text)
    # Raised here, where no other error is being handled: its text may hold the address.
    if trouble:
        raise NotificationError(f"the alert webhook {trouble}; correct AFLITE_ALERT_WEBHOOK or mend what it names")


def _trouble(address: str, text: str) -> str | None:
    try:
        if urlsplit(address).scheme not in ("http", "https"):
            return "has no http or https address"
        body = json.dumps({"text": text}).encode()
        request = Request(address, body, {"Content-Type": "application/json"}, method="POST")
        build_opener(_NoRedirects).open(request, timeout=TIMEOUT_SECONDS).close()
    except HTTPError as error:
        with error:
            return f"answered {error.code}"
    except URLError as error:
        return f"cannot be reached ({_named(error.reason)})"
    except OSError as error:
        return f"cannot be reached ({_named(error)})"
    except HTTPException as error:
        return f"gave an answer that is not HTTP ({type(error).__name__})"
    except ValueError:
        return "has an invalid address"
    return None


def _named(reason: object) -> str:
    """The operating system's text for an error; a library's text may quote the address."""
    return getattr(reason, "strerror", None) or type(reason).__name__
