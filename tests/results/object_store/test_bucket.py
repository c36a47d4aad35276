"""What goes wrong between this machine and a server, in words."""

import time
import traceback
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.errors import (
    LostObjectsError,
    StoreAccessError,
    StoreError,
    StoreUnreachableError,
    UnsupportedStoreError,
)
from aflite_assets.results import ResultKey, ResultStore
from aflite_assets.results.object_store.address import parse_address
from aflite_assets.results.object_store.bucket import PART_BYTES, Bucket, connect
from aflite_assets.results.opening import open_store
from tests.object_stores import SECRET, backend, bucket, listening, put_with_other_checksum

KEY = ResultKey("1", {"a": 1}, {})


def make(store: ResultStore) -> None:
    store.get_or_create("raw_dataset", "digits", KEY, lambda draft: {})


def test_conditional_writes(here: ResultStore) -> None:
    objects = bucket(here)
    assert objects.put_if("mark", b"1", None)
    assert not objects.put_if("mark", b"2", None)
    assert objects.put_if("mark", b"1", None)  # as after an answer that got lost
    one = objects.get("mark")
    assert one is not None
    assert objects.put_if("mark", b"3", one.etag)
    assert not objects.put_if("mark", b"4", one.etag)
    assert not objects.put_if("none", b"4", one.etag)
    two = objects.get("mark")
    assert two is not None
    assert (two.body, objects.get("none"), objects.exists("mark"), objects.exists("mar")) == (b"3", None, True, False)


def test_an_object_that_changed_since_it_was_read_is_not_removed(here: ResultStore) -> None:
    bucket(here).put("mark", b"1")
    one = bucket(here).get("mark")
    bucket(here).put("mark", b"2")
    two = bucket(here).get("mark")
    assert one is not None
    assert two is not None
    assert not bucket(here).delete_same("mark", one.etag)
    assert bucket(here).exists("mark")
    assert bucket(here).delete_same("mark", two.etag)
    assert not bucket(here).exists("mark")
    assert bucket(here).delete_same("mark", two.etag)


@pytest.mark.parametrize("collisions", [2, 8])
def test_a_write_that_collides_with_another_is_tried_again(
    here: ResultStore, monkeypatch: pytest.MonkeyPatch, collisions: int
) -> None:
    from botocore.exceptions import ClientError

    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    client = bucket(here)._client
    put, tried = client.put_object, list[str]()

    def colliding(**request: Any) -> Any:
        tried.append(request["Key"])
        if len(tried) > collisions:
            return put(**request)
        told = {"Error": {"Code": "ConditionalRequestConflict"}, "ResponseMetadata": {"HTTPStatusCode": 409}}
        raise ClientError(told, "PutObject")

    monkeypatch.setattr(client, "put_object", colliding)
    if collisions < 8:
        assert bucket(here).put_if("mark", b"1", None)
        assert (len(tried), waits) == (3, [0.05, 0.1])
    else:
        with pytest.raises(
            StoreUnreachableError,
            match=r"/mark was not written, because other machines write it at the same time; "
            r"try again",
        ):
            bucket(here).put_if("mark", b"1", None)
        assert (len(tried), len(waits)) == (8, 8)
    assert bucket(here).exists("mark") == (collisions < 8)


def test_names_are_below_the_prefix(here: ResultStore) -> None:
    outer = Bucket(replace(backend(here).address, prefix="team"))
    bucket(here).put("a/b/c", b"12")
    outer.put("onefold", b"")  # begins like the other's prefix
    assert [(each.name, each.size) for each in bucket(here).objects()] == [("a/b/c", 2)]
    assert [each.name for each in outer.objects()] == ["one/a/b/c", "onefold"]
    assert (bucket(here).folders(), bucket(here).folders("a/"), bucket(here).folders("a/b/")) == (["a"], ["b"], [])
    bucket(here).delete(["a/b/c", "gone"])
    assert [each.name for each in outer.objects()] == ["onefold"]


def test_large_files_travel_in_parts(here: ResultStore, tmp_path: Path) -> None:
    block = bytes(range(256)) * 4096
    with (tmp_path / "large").open("wb") as file:
        for number in range(50):
            file.write(number.to_bytes(4, "big") + block)
    bucket(here).upload(tmp_path / "large", "large")
    content = bucket(here).get("large")
    assert content is not None
    assert (tmp_path / "large").stat().st_size > 3 * PART_BYTES
    assert content.etag.endswith('-4"')  # 50 MB in parts of 16 MiB
    digest = bucket(here).download("large", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "large").read_bytes()
    assert bucket(here).download("large") == digest


def test_a_missing_bucket_is_named(s3_environment: str, tmp_path: Path) -> None:
    store = open_store(tmp_path, address="s3://nobody-made-this/x")
    message = (
        r"s3://nobody-made-this/x was not .*: http://127\.0\.0\.1:\d+ answers NoSuchBucket; create the bucket "
        r"'nobody-made-this', or correct AFLITE_STORE"
    )
    with pytest.raises(StoreAccessError, match=message):
        store.find("raw_dataset", "digits", KEY)
    with pytest.raises(StoreAccessError, match=message):
        bucket(store).put_if("x", b"", None)
    with pytest.raises(StoreAccessError, match=message):
        bucket(store).exists("x")


def test_a_server_that_does_not_answer_is_named(s3_environment: str, tmp_path: Path) -> None:
    store = open_store(tmp_path, address="s3://results/x", endpoint_url="http://127.0.0.1:9")
    with pytest.raises(
        StoreUnreachableError,
        match=r"s3://results/x was not read: format\.json: http://127\.0\.0\.1:9 does not answer "
        r"\(EndpointConnectionError\); check AWS_ENDPOINT_URL_S3 and that the server runs",
    ) as refused:
        store.find("raw_dataset", "digits", KEY)
    assert refused.value.may_pass


@pytest.fixture
def guarded(moto_server: str) -> Iterator[None]:
    """A server that looks at credentials; it knows nobody."""

    def look_at(requests_before: str) -> None:
        request = urllib.request.Request(
            f"{moto_server}/moto-api/reset-auth", data=requests_before.encode(), headers={"Content-Type": "text/plain"}
        )
        with urllib.request.urlopen(request):
            pass

    look_at("0")
    yield
    look_at("1000000000")


def test_refused_credentials_are_named_and_not_shown(here: ResultStore, guarded: None) -> None:
    with pytest.raises(
        StoreAccessError,
        match="answers InvalidAccessKeyId; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile",
    ) as refused:
        here.find("raw_dataset", "digits", KEY)
    assert SECRET not in str(refused.value)
    assert not refused.value.may_pass


def test_missing_credentials_are_named(s3_environment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    store = open_store(tmp_path, address="s3://without-credentials")
    with pytest.raises(StoreAccessError, match="Unable to locate credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET"):
        store.find("raw_dataset", "digits", KEY)


@pytest.mark.parametrize("ignored", ["If-None-Match", "If-Match"])
def test_a_server_that_ignores_conditions_is_found_before_anything_is_published(
    here: ResultStore, names: Callable[[], list[str]], ignored: str
) -> None:
    def drop(request: Any, **_: Any) -> None:
        if ignored in request.headers:
            del request.headers[ignored]

    with (
        listening(here, "before-sign.s3.PutObject", drop),
        pytest.raises(UnsupportedStoreError, match=rf"ignores the condition {ignored} of a write, so two machines"),
    ):
        make(here)
    assert names() == ["format.json"]
    make(here)


def test_answers_that_mean_later_another_region_or_nothing_known(here: ResultStore) -> None:
    from botocore.exceptions import ClientError

    def answer(code: str, status: int) -> StoreError:
        told = {"Error": {"Code": code, "Message": "words"}, "ResponseMetadata": {"HTTPStatusCode": status}}
        with pytest.raises(StoreError) as refused, bucket(here)._explained("read: x"):
            raise ClientError(told, "GetObject")
        return refused.value

    assert (type(answer("SlowDown", 503)), answer("SlowDown", 503).may_pass) == (StoreUnreachableError, True)
    assert "another region: set AWS_REGION" in str(answer("PermanentRedirect", 301))
    assert type(answer("NotImplemented", 501)) is UnsupportedStoreError
    assert str(answer("Strange", 418)).endswith("answers Strange (418: words); S3 never gives this answer")


def test_a_stream_that_breaks_off_is_read_again(here: ResultStore, tmp_path: Path) -> None:
    from botocore.exceptions import ResponseStreamingError
    from botocore.response import StreamingBody

    bucket(here).put("rows", b"0123456789")
    broken = 2

    def iter_chunks(body: Any, size: int) -> Iterator[bytes]:
        nonlocal broken
        yield body.read(4)
        if broken:
            broken -= 1
            raise ResponseStreamingError(error="broken off")
        yield body.read()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StreamingBody, "iter_chunks", iter_chunks)
        bucket(here).download("rows", tmp_path / "rows")
        assert (tmp_path / "rows").read_bytes() == b"0123456789"
        broken = 3
        with pytest.raises(StoreUnreachableError, match=r"was not read: rows: .* \(ResponseStreamingError\)"):
            bucket(here).download("rows", tmp_path / "rows")
    with pytest.raises(LostObjectsError, match=r"/team/one/none is missing; run `aflite doctor --fix`"):
        bucket(here).download("none", tmp_path / "none")


def test_content_that_contradicts_the_servers_checksum_is_lost(here: ResultStore, tmp_path: Path) -> None:
    put_with_other_checksum(here, "rows", b"0123456789")
    asked: list[str] = []

    def hear(params: Any, **_: Any) -> None:
        asked.append(params["url_path"])

    message = (
        r"s3://\S+ was not read: rows: its content has changed since publication; run `aflite doctor --deep "
        r"--fix`"
    )
    with (
        listening(here, "before-call.s3.GetObject", hear),
        pytest.raises(LostObjectsError, match=message),
    ):
        bucket(here).download("rows", tmp_path / "rows")
    assert len(asked) == 3
    with pytest.raises(LostObjectsError, match=message):
        bucket(here).download("rows")
    small = bucket(here).get("rows")
    assert small is not None
    assert (small.body, small.etag) == (b"", '"781e5e245d69b566979b86e28d23f2c7"')


@pytest.mark.parametrize(
    ("server", "message"),
    [
        (
            "http://me:hunter2@127.0.0.1:9",
            r"\(endpoint_url of the profile\) contains a user; give only scheme, host and",
        ),
        ("http://me:hunter2@a b", r"\(endpoint_url of the profile\) is not valid; give only scheme, host and port"),
    ],
)
def test_a_password_in_a_profiles_server_is_refused_and_not_shown(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str, message: str
) -> None:
    (tmp_path / "config").write_text(f"[default]\nregion = us-east-1\nendpoint_url = {server}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3")
    with pytest.raises(StoreAccessError, match=message) as refused:
        connect(parse_address(address, named="address"))
    assert "hunter2" not in "".join(traceback.format_exception(refused.value))


def test_without_boto3_a_message_says_what_to_install(here: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(
        UnsupportedStoreError, match=r"needs boto3 \(.*\); run pip install -c constraints\.txt -e '\.\[s3\]'"
    ):
        connect(backend(here).address)
