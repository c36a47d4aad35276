import subprocess
import sys

import pytest
import torch

from aflite_assets.errors import ModelError
from aflite_assets.models.devices import DeviceSettings, torch_threads_for


def test_importing_devices_loads_no_torch() -> None:
    program = (
        "import sys, aflite_assets.models.devices as devices; devices.DeviceSettings();"
        "print(sorted({'torch', 'transformers', 'timm', 'sklearn'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_cpu_is_the_cpu() -> None:
    assert DeviceSettings(device="cpu").resolve() == torch.device("cpu")


@pytest.mark.parametrize(("present", "expected"), [(False, "cpu"), (True, "cuda")])
def test_auto_takes_the_gpu_if_there_is_one(monkeypatch: pytest.MonkeyPatch, present: bool, expected: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: present)
    assert DeviceSettings(device="auto").resolve().type == expected
    assert DeviceSettings(device="cpu").resolve().type == "cpu"


def test_a_missing_gpu_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ModelError, match=r"`device` is 'cuda', but.*finds no usable GPU; use 'auto' or 'cpu'"):
        DeviceSettings(device="cuda").resolve()


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ModelError, match=r"`device` is 'gpu', which is unknown; use one of auto, cpu, cuda"):
        DeviceSettings(device="gpu")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"`precision` is 'float16', which is unknown; use one of float32, bfloat16"):
        DeviceSettings(precision="float16")  # type: ignore[arg-type]


def test_autocast_follows_the_precision() -> None:
    weights = torch.ones(2, 2)
    with DeviceSettings("cpu", "bfloat16").autocast():
        assert (weights @ weights).dtype == torch.bfloat16
    with DeviceSettings("cpu", "float32").autocast():
        assert (weights @ weights).dtype == torch.float32


@pytest.mark.parametrize(("width", "threads"), [(10, 1), (1_100, 2)])
def test_small_models_work_in_one_thread_on_the_cpu(width: int, threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        model = torch.nn.Linear(width, width)  # 110 weights, or 1.2 million
        with torch_threads_for(model, DeviceSettings("cpu")):
            assert torch.get_num_threads() == threads
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
