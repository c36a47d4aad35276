"""Leases of made-up devices: one holder each, waiting, killed holders, names, what a process is told."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from aflite_assets.errors import ModelError
from aflite_assets.models import device_leases
from aflite_assets.models.device_leases import (
    DeviceLease,
    lease_devices,
    listed_devices,
    locks_folder,
    parse_list,
    visible_devices,
)

HOLDER = """
import sys, time
from pathlib import Path
from aflite_assets.models.device_leases import lease_devices
with lease_devices(sys.argv[2].split(","), Path(sys.argv[1]), purpose="embeddings of snli") as lease:
    print(",".join(lease.devices), flush=True)
    time.sleep(120)
"""
TWO_CARDS = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6-1111-2222-3333-444455556666)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-8932f937-1111-2222-3333-444455556666)
"""
DIVIDED = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6)
  MIG 3g.20gb     Device  0: (UUID: MIG-aaaa-0)
  MIG 3g.20gb     Device  1: (UUID: MIG-aaaa-1)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-8932f937)
"""


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_leases, "_first_lease", [])


def _holder(folder: Path, devices: str = "0,1") -> tuple["subprocess.Popen[str]", str]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder), devices], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate(timeout=20)


def test_each_holder_has_a_device_of_its_own_and_a_killed_one_frees_it(tmp_path: Path) -> None:
    first, first_device = _holder(tmp_path)
    second, second_device = _holder(tmp_path)
    lines: list[str] = []
    try:
        assert [first_device, second_device] == ["0", "1"]
        threading.Timer(0.5, lambda: os.kill(second.pid, 9)).start()
        with lease_devices(
            ["0", "1"], tmp_path, purpose="filtered_sets of digits", log=lines.append, poll_seconds=0.1
        ) as lease:
            assert lease.devices == ("1",)
            assert second.wait(timeout=20) == -9
    finally:
        _end(first)
        _end(second)
    holders = f"0 by embeddings of snli, process {first.pid}; 1 by embeddings of snli, process {second.pid}"
    assert lines[0] == f"filtered_sets of digits waits for a GPU; taken: {holders}"
    assert lines[1].startswith("filtered_sets of digits has GPU 1 after ")
    assert len(lines) == 2


def test_waiting_costs_no_processor_time(tmp_path: Path) -> None:
    with lease_devices(["0"], tmp_path, purpose="first"):
        freed = threading.Event()

        def wait() -> None:
            began = time.thread_time()
            with lease_devices(["0"], tmp_path, purpose="second", poll_seconds=0.2):
                spent.append(time.thread_time() - began)
                freed.set()

        spent: list[float] = []
        thread = threading.Thread(target=wait)
        thread.start()
        assert not freed.wait(1.0)
    thread.join(20)
    assert freed.is_set()
    assert spent[0] < 0.2


def test_all_free_devices_are_taken_and_at_least_one(tmp_path: Path) -> None:
    with lease_devices(["0", "1", "2"], tmp_path, purpose="one") as one:
        assert one.devices == ("0",)
        with lease_devices(["0", "1", "2"], tmp_path, purpose="rest", all_free=True) as rest:
            assert rest.devices == ("1", "2")
            assert rest.environment == {"CUDA_VISIBLE_DEVICES": "1,2"}
    with lease_devices(["0", "1", "2"], tmp_path, purpose="again", all_free=True) as again:
        assert again.devices == ("0", "1", "2")
    assert not list(tmp_path.glob("*.holder"))


def test_a_card_has_one_lock_by_number_and_by_name(tmp_path: Path) -> None:
    listed = parse_list(TWO_CARDS)
    with (
        lease_devices(["1"], tmp_path, purpose="by number", listed=listed) as number,
        lease_devices(listed, tmp_path, purpose="by name", all_free=True) as name,
    ):
        assert number.devices == ("1",)
        assert name.devices == listed[:1]


def test_no_device_no_lease(tmp_path: Path) -> None:
    with lease_devices([], tmp_path / "never", purpose="on the CPU") as lease, lease.applied():
        assert lease == DeviceLease()
        assert lease.environment == {}
    assert not (tmp_path / "never").exists()


def test_an_applied_lease_is_what_this_process_sees_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    with DeviceLease(("1",)).applied():
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    with DeviceLease(("GPU-a", "GPU-b")).applied():
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-a,GPU-b"
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_a_process_that_uses_cuda_keeps_its_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with lease_devices(["0", "1"], tmp_path, purpose="first") as first, first.applied():
        pass
    in_use = SimpleNamespace(cuda=SimpleNamespace(is_initialized=lambda: True))
    monkeypatch.setitem(sys.modules, "torch", in_use)
    with lease_devices(["1", "0"], tmp_path, purpose="second") as second:
        assert second.devices == ("0",)
    monkeypatch.setattr(device_leases, "_first_lease", [])
    lines: list[str] = []
    with lease_devices(["1", "0"], tmp_path, purpose="third", log=lines.append) as third:
        assert third.devices == ()
    assert lines == ["CUDA is already in use in this process: it keeps its device, and no lease is taken"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ModelError, match=r"cannot be taken in .*file/locks .*AFLITE_DEVICE_LOCKS"),
        lease_devices(["0"], tmp_path / "file" / "locks", purpose="any"),
    ):
        pass


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("0,1", ("0", "1")),
        (" 2 , 0", ("2", "0")),
        ("GPU-5d5ba0d6,MIG-GPU-8932f937/1/0", ("GPU-5d5ba0d6", "MIG-GPU-8932f937/1/0")),
        ("0,-1,1", ("0",)),
        ("1,1", ("1",)),
        ("", ()),
        ("none", ()),
    ],
)
def test_visible_devices_are_those_of_the_variable(
    told: str, expected: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", told)
    assert visible_devices() == expected


def test_else_all_that_the_driver_lists(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n[ \"$1\" = -L ] && cat <<'END'\n{TWO_CARDS}END\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert visible_devices() == ("GPU-5d5ba0d6-1111-2222-3333-444455556666", "GPU-8932f937-1111-2222-3333-444455556666")
    program.write_text("#!/bin/sh\necho NVIDIA-SMI has failed\nexit 9\n")
    assert listed_devices() == ()


def test_a_divided_card_gives_its_parts() -> None:
    assert parse_list(DIVIDED) == ("MIG-aaaa-0", "MIG-aaaa-1", "GPU-8932f937")
    assert parse_list("No devices were found\n") == ()


def test_the_drivers_own_files_name_cards_too(tmp_path: Path) -> None:
    for slot, text in (("0000:02:00.0", "GPU UUID: \t GPU-bb-2"), ("0000:01:00.0", "GPU UUID: GPU-aa-1")):
        (tmp_path / slot).mkdir()
        (tmp_path / slot / "information").write_text(f"Model: \t A\n{text}\nVideo BIOS: \t ??\n")
    (tmp_path / "0000:03:00.0").mkdir()
    (tmp_path / "0000:03:00.0" / "information").write_text("GPU UUID: \t GPU-????????-????\n")
    assert device_leases._devices_of_driver(tmp_path) == ("GPU-aa-1", "GPU-bb-2")
    assert device_leases._devices_of_driver(tmp_path / "none") == ()


def test_the_folder_is_the_machines_or_the_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AFLITE_DEVICE_LOCKS", str(tmp_path))
    assert locks_folder() == tmp_path
    monkeypatch.delenv("AFLITE_DEVICE_LOCKS")
    assert locks_folder().name == "aflite-devices"


def test_torch_is_not_imported() -> None:
    code = "import aflite_assets.models.device_leases as d, sys; d.visible_devices(); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
