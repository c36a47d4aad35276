"""What the list of mounts says about locks."""

from pathlib import Path

import pytest

from aflite_assets.results import ResultStore
from aflite_assets.results import doctor as doctor_module
from aflite_assets.results.doctor import Problem, examine_store
from aflite_assets.results.mounts import lock_problem

LIST = """\
/dev/sda1 / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
server:/a /srv/with\\040space nfs4 rw,vers=4.2,local_lock=none 0 0
server:/b /srv/nolock nfs rw,vers=3,nolock,local_lock=all 0 0
bucket /srv/bucket fuse.s3fs rw,nosuid 0 0
share /srv/share cifs rw,nobrl 0 0
server:/b /srv/nolock/deeper nfs4 rw,local_lock=none 0 0
odd
"""


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    (tmp_path / "mounts").write_text(LIST)
    return tmp_path / "mounts"


@pytest.mark.parametrize(
    ("folder", "problem"),
    [
        ("/home/me/.aflite/results", None),
        ("/srv/with space/results", None),
        (
            "/srv/nolock/results",
            "/srv/nolock/results is on /srv/nolock (nfs), mounted with local_lock=all, nolock: locks hold on one "
            "machine only",
        ),
        ("/srv/nolock/deeper/results", None),
        ("/srv/nolocks", None),
        ("/srv/bucket/x", "/srv/bucket/x is on /srv/bucket (fuse.s3fs), which has no locks between machines"),
        ("/srv/share", "/srv/share is on /srv/share (cifs), mounted with nobrl: locks hold on one machine only"),
    ],
)
def test_mounts_that_keep_locks_to_one_machine_are_named(folder: str, problem: str | None, mounts: Path) -> None:
    assert lock_problem(Path(folder), mounts=mounts) == problem


def test_without_a_list_nothing_is_known(tmp_path: Path) -> None:
    assert lock_problem(tmp_path, mounts=tmp_path / "none") is None
    assert lock_problem(tmp_path) is None


def test_the_doctor_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(doctor_module, "lock_problem", lambda folder: f"{folder} has no locks")
    assert list(examine_store(ResultStore(tmp_path / "results"))) == [
        Problem(
            "locks",
            f"{tmp_path / 'results'} has no locks",
            "let only one machine write there, mount it with locks, or use an object store (docs/object_store.md)",
        )
    ]
