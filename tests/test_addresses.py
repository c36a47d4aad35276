"""Which addresses are taken from the environment, which are refused, and what is made of them."""

from pathlib import Path

import pytest

from aflite_assets import addresses
from aflite_assets.address_secrets import HIDDEN
from aflite_assets.errors import InvalidInputError


@pytest.mark.parametrize("value", ["", "  "])
def test_without_an_address_there_is_none(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(addresses.DAGSTER, value)
    assert addresses.base_address(addresses.DAGSTER) is None
    assert addresses.dagster_run_page("ab") is None
    assert addresses.results_page(Path("/a/b"), Path("/a")) is None


@pytest.mark.parametrize("value", ["http://127.0.0.1:3000/", "https://host/dagster", "http://[::1]:3000"])
def test_slashes_at_the_end_do_not_double(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(addresses.DAGSTER, value)
    assert addresses.dagster_run_page("ab") == f"{value.rstrip('/')}/runs/ab"
    addresses.check_addresses()


DOUBTFUL = ["javascript:alert(1)", "http://host:port", "http://[::1", "ftp://host?token=s3cret", "ann:s3cret@host"]
"""Texts whose signs may begin a password."""


@pytest.mark.parametrize("value", ["localhost:3000", "ftp://host", "http://", "/x", *DOUBTFUL])
def test_other_texts_are_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(addresses.SOURCE, value)
    with pytest.raises(InvalidInputError, match=r"`AFLITE_SOURCE_URL` is .*; give a base address") as raised:
        addresses.check_addresses()
    assert (HIDDEN if value in DOUBTFUL else repr(value)) in str(raised.value)


@pytest.mark.parametrize("value", ["http://ann:secret@host", "http://host/?token=secret", "http://host/#secret"])
def test_secrets_are_refused_and_not_repeated(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(addresses.MLFLOW, value)
    with pytest.raises(InvalidInputError, match="`AFLITE_MLFLOW_URL` contains a user, a query or a fragment") as raised:
        addresses.check_addresses()
    assert "secret" not in str(raised.value)


def test_results_are_addressed_below_their_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(addresses.RESULTS, "http://127.0.0.1:3333")
    root = Path("/home/results")
    assert addresses.results_page(root / "a b" / "r#.html", root) == "http://127.0.0.1:3333/a%20b/r%23.html"
    assert addresses.results_page(Path("/elsewhere/report.html"), root) is None
