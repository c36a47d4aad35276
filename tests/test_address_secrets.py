"""What of an address is shown, and what is left of a library's text that quotes one."""

import pytest

from aflite_assets.address_secrets import HIDDEN, read_address, shown_address, shown_value, without_secrets


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://host:5000", "http://host:5000"),
        ("http://[::1]:5000/mlflow", "http://[::1]:5000/mlflow"),
        ("sqlite:////home/me/mlflow (1).db", "sqlite:////home/me/mlflow (1).db"),
        ("postgresql+psycopg2:///mlflow", "postgresql+psycopg2:///mlflow"),
        ("databricks", "databricks"),
        ("https://ann:s3cret@host:5000/path", "https://host:5000/path"),
        ("https://s3cret@host/path", "https://host/path"),
        ("https://ann:s3%40c:ret@host", "https://host"),
        ("postgresql+psycopg2://ann:s3cret@db/mlflow?ssl=1", "postgresql+psycopg2://db/mlflow"),
        ("postgresql://db/mlflow?password=s3cret", "postgresql://db/mlflow"),
        ("sqlite:////x.db?password=s3cret@x\n", "sqlite:////x.db"),
        ("http://host/#s3cret", "http://host/"),
        ("mssql+pyodbc:///?odbc_connect=PWD%3Ds3cret", "mssql+pyodbc:///"),
        # What stands where cannot be told.
        ("https://ann:s3@cret@host/path", "https://(not shown)"),
        ("postgresql://ann:s3/cret@host/db", "postgresql://(not shown)"),
        ("postgresql://ann:s3cret", "postgresql://(not shown)"),
        ("postgresql://ann:12345", "postgresql://(not shown)"),
        ("postgresql://db/mlflow;password=s3cret", "postgresql://(not shown)"),
        ("postgresql://db/mlflow&password=s3cret", "postgresql://(not shown)"),
        ("sqlite:////home/ann:s3cret@host/x.db", "sqlite://(not shown)"),
        ("http://ann:pw@host:s3cret/", "http://(not shown)"),
        ("http://ann:s3cret@[::1/", "http://(not shown)"),
        ("http://ann:s3cret@host\n", "http://(not shown)"),
        ("postgresql://ann:x@y#s3cret@host/db", "postgresql://(not shown)"),
        ("postgresql://ann?s3cret@host/db", "postgresql://(not shown)"),
        ("http://ann:s3cret@hóst/", "http://(not shown)"),
        ("HTTP://ann:s3cret@host", HIDDEN),
        ("postgresql:/ann:s3cret@host/db", HIDDEN),
        ("postgres//ann:s3cret@host", HIDDEN),
        ("//ann:s3cret@host", HIDDEN),
        ("ann:s3cret@host", HIDDEN),
        (" http://s3cret", HIDDEN),
        ("s3cret", HIDDEN),
        ("", HIDDEN),
    ],
)
def test_an_address_is_shown_without_user_password_and_query(address: str, shown: str) -> None:
    assert shown_address(address) == shown
    read = read_address(address)
    assert read.is_whole == (shown == address)
    assert read.is_understood == ("not shown" not in shown)
    assert "s3" not in read.text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("no 'http://ann:s3%40cret@h/x' here", "no 'http://h/x' here"),
        ("no S3@CRET, s3%40cret, s3%40CRET", "no ***, ***, ***"),
        ("user ann, host h, 127.0.0.1", "user ann, host h, 127.0.0.1"),
        ("sslmode 1 and 12", "sslmode *** and 12"),
        ("'it\\'s it's it%27s'", "'*** *** ***'"),
        ('{"password": "a\\\\\\"b"}', '{"password": "***"}'),
        ("PWD inner1 of Server=db;PWD=inner1", "PWD *** of ***"),
        ("two words, two+words, two%20words", "***, ***, ***"),
    ],
)
def test_a_librarys_text_keeps_all_but_the_secrets(text: str, left: str) -> None:
    address = "http://ann:s3%40cret@h/x?sslmode=1&password=it's;token=two+words"
    address += "&odbc_connect=Server%3Ddb%3BPWD%3Dinner1&key=a%5C%22b"
    if "http" in text:
        address = "http://ann:s3%40cret@h/x"
    assert without_secrets(text, address) == left


def test_no_text_is_left_about_an_address_that_is_not_understood() -> None:
    assert without_secrets("invalid port: 's3'", "postgresql://ann:s3/cret@host/db") is None
    assert without_secrets("host db", "http://db:5000") == "host db"
    assert without_secrets("no S3CRET here", "http://s3cret@h") == "no *** here"


@pytest.mark.parametrize("value", ["results", "gs://results/x", "localhost:3000", "/x", "http://", "s3://a/b:80"])
def test_a_harmless_setting_is_shown(value: str) -> None:
    assert shown_value(value) == repr(value)


@pytest.mark.parametrize(
    "value", ["http://ann:s3cret", "ann@s3cret", "x?s3cret", "x#s3cret", "a=s3cret", "a:80s3cret", "a%20"]
)
def test_a_doubtful_setting_is_not_shown(value: str) -> None:
    assert shown_value(value) == HIDDEN
