"""Translation of the hub libraries' exceptions into this project's errors, whose messages never contain a token."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from aflite_assets.address_secrets import shown_address, without_secrets
from aflite_assets.errors import AfliteError, DataError, MissingDataError, ModelError

Answer = TypeVar("Answer")
_LOGIN = "log in with `hf auth login`, set `HF_TOKEN`, or set `source.token: ${secret:HF_TOKEN}`"
_UNREACHED = "the hub at {} cannot be reached ({})"
_SHOWN = 500
_Missing = Literal["for good", "for now", "for a while"]
"""How long data will be missing: for good (the address is wrong), for now (until the user acts), or for a while (the
problem may disappear by itself).
"""


@dataclass(frozen=True)
class RepoRef:
    """A repository on the hub, as given in a spec; `revision` is a commit, tag or branch."""

    kind: Literal["dataset", "model"]
    id: str
    revision: str
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        token = self.token.strip() if self.token else None
        if token and not (token.isascii() and token.isprintable() and " " not in token):
            raise DataError(
                f"{self}: the token contains spaces, line breaks or other invalid characters; correct the environment "
                "variable in `source.token`"
            )
        object.__setattr__(self, "token", token or None)

    def __str__(self) -> str:
        return f"{self.kind} {self.id!r}"

    @property
    def page(self) -> str:
        """Return the address of the repository's page."""
        return f"{hub_address()}/{'datasets/' if self.kind == 'dataset' else ''}{self.id}"


def call_hub(place: RepoRef, call: Callable[[], Answer], *, doing: str) -> Answer:
    """Return the result of `call`; errors of the hub's libraries are raised as this project's errors.

    Raises:
        MissingDataError: a dataset is currently unavailable: there is no network, the dataset is gated, or the hub does
            not work.
        DataError: any other error with a dataset.
        ModelError: any error with a model; `may_pass` is True if the error may be temporary (the hub does not answer,
            is busy or does not work).
    """
    try:
        return call()
    except AfliteError:
        raise
    except Exception as error:  # the hub's libraries raise errors of many types; each is translated and raised
        refusal = translate_error(place, error, doing=doing)
    # Raised outside of the handler, because a chained library error would expose the token in its request.
    raise refusal


def translate_error(place: RepoRef, error: BaseException, *, doing: str) -> AfliteError:
    """Return the project's error for an error of the hub's libraries; `doing` describes the failed operation."""
    known = (translate_error for cause in _chain(error) if (translate_error := _known(place, cause)) is not None)
    missing, message = next(known, ("for good", None))
    if message is None:
        message = f"{doing} failed ({_quoted(error)}); see {place.page}"
    kind = ModelError if place.kind == "model" else DataError if missing == "for good" else MissingDataError
    refusal = kind(_without_tokens(f"{place}: {message}", place.token, os.environ.get("HF_TOKEN")))
    refusal.may_pass = missing == "for a while"
    return refusal


def hub_address() -> str:
    """Return the hub's address without the user name, password or query that HF_ENDPOINT may contain."""
    from huggingface_hub import constants

    return shown_address(constants.ENDPOINT)


def unreachable(error: BaseException) -> bool:
    """Return True if a library's error means that the hub cannot be reached or is out of order."""
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils import httpx

    for cause in _chain(error):
        if isinstance(cause, HfHubHTTPError):
            return cause.response.status_code >= 500
        if isinstance(cause, httpx.RequestError | ConnectionError | TimeoutError):
            return True
    return False


def no_way(error: BaseException) -> bool:
    """Return True if a library's error means that the hub as a whole cannot be reached."""
    from huggingface_hub.errors import HfHubHTTPError

    return unreachable(error) and not any(isinstance(cause, HfHubHTTPError) for cause in _chain(error))


def _known(place: RepoRef, error: BaseException) -> tuple[_Missing, str] | None:
    """Return a pair: "for now" or "for good" (how long the data will be missing), and a message. Return None for errors
    without a specific message.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )
    from huggingface_hub.utils import httpx

    absent = f"revision {place.revision!r} is not in the cache {constants.HF_HOME!r}"
    match error:
        case GatedRepoError():
            return "for now", _gated(place)
        case RevisionNotFoundError():
            where = f"set `revision` to a commit, tag or branch of {place.page}/commits/main"
            return "for good", f"the hub knows no revision {place.revision!r}; {where}"
        case RepositoryNotFoundError():
            return "for good", f"it is private or not on the hub; correct the id, or for a private dataset {_LOGIN}"
        case OfflineModeIsEnabled():
            return "for now", f"`HF_HUB_OFFLINE` is set and {absent}; unset this variable if there is a network"
        case HfHubHTTPError() if error.response.status_code == 401:
            return "for good", f"the hub refuses the token that was sent; create a new token, then {_LOGIN}"
        case HfHubHTTPError() if error.response.status_code in (429, *range(500, 600)):
            answer = f"{error.response.status_code} ({_text(error)})"
            return "for a while", f"the hub answers {answer}; try again later"
        case httpx.RequestError() | ConnectionError() | TimeoutError():
            unreached = _UNREACHED.format(hub_address(), _quoted(error))
            return "for a while", f"{unreached} and {absent}; connect to the network"
    # For gated repositories, `datasets` raises an error of its own without the status code of the response.
    return ("for now", _gated(place)) if "is a gated dataset" in str(error) else None


def _gated(place: RepoRef) -> str:
    from huggingface_hub import get_token

    if place.token is None and get_token() is None:
        return f"it is gated and no token was sent; accept its terms on {place.page}, then {_LOGIN}"
    return (
        f"it is gated and the token that was sent has no access; accept its terms on {place.page} with the account "
        f"of that token, or use an account with access: {_LOGIN}"
    )


def _quoted(error: BaseException) -> str:
    return ": ".join(filter(None, (type(error).__name__, _text(error))))


def _text(error: BaseException) -> str:
    """Return the text of a library's error without secrets; the text may quote HF_ENDPOINT, which can contain a
    password.
    """
    from huggingface_hub import constants

    return (without_secrets(str(error).strip(), constants.ENDPOINT) or "")[:_SHOWN]


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop(0)
        if current is not None and id(current) not in seen:
            seen.add(id(current))
            yield current
            waiting += [current.__cause__, current.__context__]


def _without_tokens(message: str, *tokens: str | None) -> str:
    for token in tokens:
        if token:
            message = message.replace(token, "***")
    return message
