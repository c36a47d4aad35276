"""Removal of secrets (user, password and query) from addresses and messages before they are shown.

If an address cannot be parsed without ambiguity, at most its scheme is shown. For example, an unescaped `@` or `/` in a
password could make a part of the password look like a host or a path.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, quote_plus, unquote, unquote_plus

HIDDEN = "an address that is not shown"
_PLACEHOLDER = "***"
_SHORT = 6
"""Length below which secrets are replaced only as whole words, so that the secret `1` does not change `127.0.0.1`."""

_ADDRESS = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]{0,40})://"
    r"(?:(?P<user>[^:/?#@\s]*)(?::(?P<password>[^/?#@\s]*))?@)?"
    r"(?P<host>[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?"
    r"(?P<path>/[^@?#:;=&%\\\x00-\x1f\x7f]*)?"
    r"(?P<query>[?#].*)?",
    re.DOTALL,
)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]{0,19})://")
_WORDS = frozenset({"databricks", "databricks-uc", "uc"})
"""MLflow addresses that consist of a single word."""

# Characters around a user, a password or a query, and a colon that is not followed by `//` or a port.
_DOUBTFUL = re.compile(r"[@?#=&;%]|:(?!//|\d{1,5}(?!\w))")


@dataclass(frozen=True)
class ShownAddress:
    """An address that may be printed and stored, because user, password, query and fragment are left out.

    `is_understood`: whether the address was parsed without ambiguity. `is_whole`: whether `text` is the whole address.
    `has_query`: whether a query or a fragment was left out.
    """

    text: str
    is_understood: bool
    is_whole: bool
    has_query: bool


def read_address(address: str) -> ShownAddress:
    """Return the parts of an address that may be shown.

    If an address is ambiguous, at most its scheme is returned.
    """
    if address in _WORDS:
        return ShownAddress(address, is_understood=True, is_whole=True, has_query=False)
    parts = _parts(address)
    if parts is None:
        scheme = _SCHEME.match(address)
        shown = HIDDEN if scheme is None else f"{scheme[0]}(not shown)"
        return ShownAddress(shown, is_understood=False, is_whole=False, has_query=False)
    port = "" if parts["port"] is None else f":{parts['port']}"
    text = f"{parts['scheme']}://{parts['host']}{port}{parts['path'] or ''}"
    return ShownAddress(text, is_understood=True, is_whole=text == address, has_query=bool(parts["query"]))


def shown_address(address: str) -> str:
    """Return the address as text, without the parts that may not be shown."""
    return read_address(address).text


def shown_value(value: str) -> str:
    """Return an invalid value in quotes for an error message, or a placeholder if the value may contain a secret."""
    return HIDDEN if _DOUBTFUL.search(value) else repr(value)


def without_secrets(text: str, address: str) -> str | None:
    """Return a library's message without the address and its secrets, or None if the address is ambiguous.

    Secrets are the password (or the user if there is no password) and the values of the query. Decoded, percent-encoded
    and escaped forms of a secret are removed too, in upper or lower case.
    """
    shown = read_address(address)
    if shown.is_whole:
        return text
    if not shown.is_understood:
        return None
    text = text.replace(address, shown.text)
    for secret in sorted(_secrets(address), key=len, reverse=True):
        pattern = re.escape(secret) if len(secret) >= _SHORT else rf"(?<![\w.]){re.escape(secret)}(?![\w.])"
        text = re.sub(pattern, _PLACEHOLDER, text, flags=re.IGNORECASE)
    return text


def _parts(address: str) -> dict[str, str | None] | None:
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return None
    parts = match.groupdict()
    # `user:12345` without a host looks like a host and a port, but a database's address also has a path.
    is_unfinished = parts["port"] is not None and parts["path"] is None and parts["scheme"] not in ("http", "https")
    # If a password contains `?` or `#`, the parsed query contains the `@` after the password.
    is_cut = "@" in (parts["query"] or "") and bool(parts["host"] or parts["user"])
    return None if is_unfinished or is_cut else parts


def _secrets(address: str) -> set[str]:
    parts = _parts(address) or {}
    values = {parts.get("password") or parts.get("user") or "", *_values((parts.get("query") or "")[1:])}
    # A value may itself be a list of settings, as in odbc_connect=Server%3Ddb%3BPWD%3D...
    values |= {inner for value in values if "=" in unquote_plus(value) for inner in _values(unquote_plus(value))}
    decoded = {form for value in values for form in (value, unquote(value), unquote_plus(value))}
    encoded = {form for value in decoded for form in (quote(value), quote(value, safe=""), quote_plus(value))}
    escaped = {value.replace("\\", "\\\\").replace(sign, f"\\{sign}") for value in decoded for sign in "'\""}
    return {form for form in (*values, *decoded, *encoded, *escaped) if form.strip()}


def _values(query: str) -> Iterator[str]:
    """Yield the query, and the value of each of its parts; parts are separated by `&`, `#` or `;`."""
    yield query
    for separators in ("[&#]", "[&;#]"):
        for part in re.split(separators, query):
            name, equals, value = part.partition("=")
            yield value if equals else name
