"""Addresses of files that rows of a dataset name: which of them are files of the repository itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aflite_assets.data.hub.errors import RepoRef
from aflite_assets.data.hub.repository import HubRepository

COMMIT = "a" * 40
ON_HUB = f"hf://datasets/me/data@{COMMIT}"
OWN = [
    "{hub}/train/1.png",
    "{hub}/train/1..2@home.png",
    "{hub}/train/100%25.png",
    "{snapshot}/train/1.png",
    "{snapshot}/train/a*b.png",
    "{snapshot}/train/link.png",
    "zip://1.png::{hub}/train.zip",
    "zip://1.png::{snapshot}/train.zip",
    "zip://cats/1.png::zip://inner.zip::{hub}/train.zip",
]
FOREIGN = [
    # Other places, and steps that open another archive than the last one.
    "",
    "1.png",
    "/etc/hostname",
    "/etc/hostname::{hub}/x.zip",
    "1.png::/home/me/private.zip::{hub}/x.zip",
    "zip://1.png::/home/me/private.zip",
    "zip://1.png::/home/me/private.zip::{hub}/x.zip",
    "zip://1.png::file:///home/me/private.zip::{hub}/x.zip",
    "zip://1.png::local:///home/me/private.zip::{hub}/x.zip",
    "zip://1.png::{snapshot}/x.zip::/home/me/private.zip",
    "{snapshot}/x.zip::{hub}/x.zip",
    "{hub}/1.png::{hub}/x.zip",
    # Protocols that keep copies, follow lists of other addresses, or reach other servers.
    "simplecache::{hub}/1.png",
    "filecache::{hub}/1.png",
    "blockcache::{hub}/1.png",
    "zip://1.png::simplecache::{hub}/x.zip",
    "simplecache::zip://1.png::{hub}/x.zip",
    "tar://1.png::{hub}/x.tar",
    "zip://1.png::tar://x.zip::{hub}/x.tar",
    "reference://1.png::{hub}/x.json",
    "dir://::{hub}/x",
    "http://127.0.0.1:80/1.png",
    "http://127.0.0.1:80/::{hub}/1.png",
    "zip://1.png::http://127.0.0.1:80/x.zip",
    "file:///etc/hostname",
    "file://{snapshot}/1.png",
    "memory://1.png",
    # Spellings.
    "ZIP://1.png::{hub}/x.zip",
    "Zip://1.png::{hub}/x.zip",
    " {hub}/1.png",
    "{upper}/1.png",
    "zip::{hub}/x.zip",
    "zip://::{hub}/x.zip",
    "::{hub}/x.zip",
    "zip://1.png::::{hub}/x.zip",
    "zip://1.png::",
    "{hub}/",
    "{hub}",
    "{snapshot}",
    "{snapshot}/",
    "zip://*.png::{hub}/x.zip",
    "zip://1.png::{snapshot}/*.zip",
    "{hub}/*.png",
    "zip://http://127.0.0.1:80/1.png::{hub}/x.zip",
    "{hub}/1\0.png",
    "zip://1\0.png::{hub}/x.zip",
    "{snapshot}/1\0.png",
    # Ways up.
    "zip://../1.png::{hub}/x.zip",
    "zip://a/../../1.png::{hub}/x.zip",
    "{hub}/../../../other/data/1.png",
    "{hub}/..",
    "{hub}/a\\..\\..\\1.png",
    "{hub}/%2e%2e/1.png",
    "{hub}/a%2F%2E%2E%2f1.png",
    "{hub}/%252e%252e/1.png",
    "{hub}/a%5c..%5c1.png",
    pytest.param("{hub}/%" + "25" * 1_000_000, id="percent signs encoded a million times"),
    "{snapshot}/../../../../token",
    "{snapshot}/a/..",
    # Addresses that only begin alike.
    "{hub}x/1.png",
    "{hub}bbb/1.png",
    "{hub}%2f1.png",
    "hf://datasets/me/data@main/1.png",
    "hf://datasets/me/data/1.png",
    "hf://datasets/me/data2@{commit}/1.png",
    "hf://datasets/other/data@{commit}/1.png",
    "hf://me/data@{commit}/1.png",
    "hf://{hub}/1.png",
    "{snapshot}-other/1.png",
    "{snapshot}b/1.png",
    # Links below the snapshot that lead out of the repository's folder.
    "{snapshot}/out.png",
    "{snapshot}/outside/private.zip",
    "zip://1.png::{snapshot}/outside/private.zip",
    "{snapshot}/around.png",
]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubRepository]:
    """A repository whose downloads lie in a cache of the test's own, with links in and out of its folder."""
    cache = tmp_path_factory.mktemp("hub")
    repository = HubRepository(RepoRef("dataset", "me/data", "main"), COMMIT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
        snapshot = repository.snapshot
        (snapshot / "train").mkdir(parents=True)
        blob, private = snapshot.parents[1] / "blobs" / "1", cache / "private"
        blob.parent.mkdir()
        private.mkdir()
        blob.write_bytes(b"own")
        (private / "private.zip").write_bytes(b"foreign")
        (snapshot / "train" / "link.png").symlink_to(Path("../../../blobs/1"))
        (snapshot / "out.png").symlink_to(private / "private.zip")
        (snapshot / "outside").symlink_to(private, target_is_directory=True)
        (snapshot / "around.png").symlink_to(snapshot / "around.png")
        yield repository


def _address(form: str, repository: HubRepository) -> str:
    parts = {"hub": ON_HUB, "upper": ON_HUB.upper(), "snapshot": str(repository.snapshot), "commit": COMMIT}
    for name, value in parts.items():
        form = form.replace(f"{{{name}}}", value)
    return form


@pytest.mark.parametrize("form", OWN)
def test_files_of_the_repository_may_be_named_by_rows(repository: HubRepository, form: str) -> None:
    assert repository.holds(_address(form, repository)) is True


@pytest.mark.parametrize("form", FOREIGN)
def test_no_other_file_may_be_named_by_rows(repository: HubRepository, form: str) -> None:
    assert repository.holds(_address(form, repository)) is False
