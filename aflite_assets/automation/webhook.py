"""Posting of a message to a webhook; the webhook's secret address does not appear in errors or logs."""

import json
from http.client import InvalidURL
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from aflite_assets.deadlines import within
from aflite_assets.errors import NotificationError

TIMEOUT_SECONDS = 10.0
"""Limit for the whole exchange: finding the host, connecting, sending, and reading the answer's status."""


class _NoRedirects(HTTPRedirectHandler):
    """Treats redirects as errors, so that messages are sent only to the configured address."""

    def redirect_request(self, *_: object) -> None:
        """Return no request."""


def post_message(address: str, text: str, *, seconds: float = TIMEOUT_SECONDS) -> None:
    """Post `{"text": text}` as JSON, as for Slack's incoming webhooks; any 2xx answer counts as delivered.

    Raises:
        NotificationError: the message was not accepted within `seconds`. The message may still arrive later.
    """
    trouble = None
    opener = build_opener(_NoRedirects)
    try:
        if urlsplit(address).scheme not in ("http", "https") or "@" in urlsplit(address).netloc:
            raise InvalidURL  # a lookup of a host with a password would reveal the password
        request = Request(address, json.dumps({"text": text}).encode(), {"Content-Type": "application/json"})
        within(seconds, lambda: opener.open(request, timeout=seconds).close())
    except HTTPError as error:
        error.close()
        trouble = f"answered {error.code}"
    except Exception as error:  # whose text may contain the address
        reason = getattr(error, "reason", None)
        trouble = f"cannot be reached ({type(reason if isinstance(reason, OSError) else error).__name__})"
    # Raised here without the original error as context, because the text of that error may contain the address.
    if trouble is not None:
        raise NotificationError(
            f"the alert webhook {trouble}; correct AFLITE_ALERT_WEBHOOK, or repair the server that it names"
        )
