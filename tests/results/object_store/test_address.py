"""Addresses of object stores: what is understood, what is refused, and that no password is repeated."""

from pathlib import Path

import pytest

from aflite_assets.errors import InvalidInputError
from aflite_assets.results import ResultStore
from aflite_assets.results.object_store.address import StoreAddress, parse_address
from aflite_assets.results.object_store.results import ObjectBackend
from aflite_assets.results.opening import open_store
from resources import ResultStoreResource


@pytest.fixture(autouse=True)
def _no_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AFLITE_STORE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "bucket", "prefix"),
    [
        ("s3://results", "results", ""),
        ("s3://results/", "results", ""),
        ("s3://my.results-1/team/one/", "my.results-1", "team/one"),
        ("s3://results/year=2026", "results", "year=2026"),
    ],
)
def test_bucket_and_prefix(text: str, bucket: str, prefix: str) -> None:
    assert parse_address(text, named="AFLITE_STORE") == StoreAddress(bucket, prefix)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("results", r"AFLITE_STORE is 'results', which is not an address of an object store; write s3://bucket/prefix"),
        ("gs://results/x", r"'gs://results/x', which is not an address"),
        ("s3://", r"'s3://', and '' cannot be a bucket: 3 to 63"),
        ("s3://Results/x", r"'Results' cannot be a bucket"),
        ("s3://results//x", r"'/x' cannot be its prefix"),
        ("s3://results/../x", r"'\.\./x' cannot be its prefix"),
        ("s3://results/a b", r"'a b' cannot be its prefix"),
        ("s3://me:hunter2/x", r"is an address that is not shown, and an address that is not shown cannot be a bucket"),
        ("minio:hunter2", r"AFLITE_STORE is an address that is not shown, which is not an address of an object store"),
    ],
)
def test_what_is_no_address_is_named(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        parse_address(text, named="AFLITE_STORE")


def test_passwords_are_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidInputError, match="AFLITE_STORE contains a user; write s3://bucket/prefix") as refused:
        parse_address("s3://me:hunter2@results/x", named="AFLITE_STORE")
    assert "hunter2" not in str(refused.value)
    for query in ("s3://results/x?secret=hunter2", "s3://results/x#hunter2", "http://h/?secret=hunter2"):
        with pytest.raises(InvalidInputError, match="AFLITE_STORE contains a query or a fragment; write") as refused:
            parse_address(query, named="AFLITE_STORE")
        assert "hunter2" not in str(refused.value)
    with pytest.raises(InvalidInputError, match="endpoint_url of the result store contains a user") as refused:
        parse_address("s3://results", named="x", endpoint_url="http://me:hunter2@127.0.0.1:9000")
    assert "hunter2" not in str(refused.value)
    with pytest.raises(
        InvalidInputError, match="endpoint_url of the result store is an address that is not shown"
    ) as refused:
        parse_address("s3://results", named="x", endpoint_url="minio:hunter2@127.0.0.1")
    assert "hunter2" not in str(refused.value)


def test_server_and_region_come_from_the_settings_or_awss_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1/")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    assert parse_address("s3://results", named="x") == StoreAddress("results", "", "http://127.0.0.1:1", "eu-central-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:2")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert parse_address("s3://results", named="x") == StoreAddress("results", "", "http://127.0.0.1:2", "eu-west-1")
    given = parse_address("s3://results", named="x", endpoint_url="http://127.0.0.1:3")
    assert given.endpoint_url == "http://127.0.0.1:3"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "127.0.0.1:2")
    with pytest.raises(
        InvalidInputError,
        match=r"AWS_ENDPOINT_URL_S3 is '127\.0\.0\.1:2', which is not an address; give a base",
    ):
        parse_address("s3://results", named="x")


def test_copies_of_each_store_have_a_folder_of_their_own() -> None:
    folders = {
        StoreAddress(bucket, prefix, endpoint).folder_name
        for bucket in ("abc", "abd")
        for prefix in ("", "x")
        for endpoint in (None, "http://127.0.0.1:1")
    }
    assert len(folders) == 8
    assert StoreAddress("abc", region="a").folder_name == StoreAddress("abc", region="b").folder_name


def test_a_store_is_a_folder_unless_an_address_is_given(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert open_store() == ResultStore(home / "results")
    assert open_store(tmp_path) == ResultStore(tmp_path / "results")
    monkeypatch.setenv("AFLITE_STORE", "s3://results/one")
    address = StoreAddress("results", "one")
    root = home / address.folder_name
    assert open_store() == ResultStore(root, ObjectBackend(address, root))
    other = StoreAddress("others", "", "http://127.0.0.1:9")
    resource = ResultStoreResource(home=str(tmp_path), address="s3://others", endpoint_url="http://127.0.0.1:9")
    root = tmp_path / other.folder_name
    assert resource.open() == ResultStore(root, ObjectBackend(other, root))
    assert open_store().root.parent == home  # notes about refreshes lie beside it
    with pytest.raises(InvalidInputError, match="address of the result store is 'others'"):
        ResultStoreResource(address="others").open()
