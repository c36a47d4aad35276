"""Posting a message to a webhook. Its address is a password: it stands in no error, log or `repr`."""

import json
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from aflite_assets.errors import NotificationError

TIMEOUT_SECONDS = 10.0


class _NoRedirects(HTTPRedirectHandler):
    """A message that is sent on to another place has not arrived where it was meant to."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def post_message(address: str, text: str) -> None:
    """Post `{"text": text}` as JSON, in the form of Slack's incoming webhooks; any 2xx answer is an arrival.

    Raises:
        NotificationError: the address is none, or did not take the message within 10 seconds.
    """
    trouble = _trouble(address, text)
    # Raised here, where no other error is being handled: theirs may hold the address.
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
        return f"gave an answer that is no HTTP ({type(error).__name__})"
    except ValueError:
        return "has an address that is none"
    return None


def _named(reason: object) -> str:
    """What the system says about an error, without the text of libraries, which may quote the address."""
    return getattr(reason, "strerror", None) or type(reason).__name__
