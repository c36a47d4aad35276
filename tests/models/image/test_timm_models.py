import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from safetensors.torch import save_file
from timm.layers import DropPath

from aflite_assets.errors import ModelError
from aflite_assets.models.global_state import isolated_random_state, quiet_libraries
from aflite_assets.models.image.timm_models import check_image_model, new_image_model, saved_image_model
from aflite_assets.specs.models.settings import ImageModelSpec

NAMES = ("red", "green")


def _new(architecture: str, **settings: Any) -> Any:
    return new_image_model(ImageModelSpec(kind="timm_image", architecture=architecture, **settings), NAMES)


@pytest.fixture(autouse=True)
def _same_weights() -> Iterator[None]:
    with isolated_random_state(0):
        yield


def test_unknown_architectures_get_suggestions() -> None:
    with pytest.raises(
        ModelError, match=r"`architecture` is 'resnet-18', which timm .* does not have; did you mean .*resnet18"
    ):
        check_image_model("resnet-18", checkpoint=None)
    with pytest.raises(ModelError, match=r"'hf-hub:some/model', which timm .* does not have"):
        check_image_model("hf-hub:some/model", checkpoint=None)
    check_image_model("test_resnet.r160_in1k", checkpoint=None)


def test_a_checkpoint_that_is_no_safetensors_file_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "weights.bin"
    broken.write_bytes(b"\x80\x04 pickled")
    for path in (broken, tmp_path / "gone.safetensors"):
        with pytest.raises(ModelError, match=r"cannot be read as a safetensors file"):
            check_image_model("test_resnet", checkpoint=str(path))


@pytest.mark.parametrize("architecture", ["test_resnet", "test_vit", "test_vit4"])
def test_any_image_size_that_fits_is_taken_and_reloaded(tmp_path: Path, architecture: str) -> None:
    model = _new(architecture).eval()
    images = torch.randn(2, 3, 32, 32)
    with quiet_libraries():
        model.save_pretrained(tmp_path)
    again = saved_image_model(tmp_path).eval()
    with torch.inference_mode():
        assert model(images).logits.shape == (2, 2)
        assert torch.equal(model(images).logits, again(images).logits)


def test_new_weights_are_timms_own() -> None:
    torch.manual_seed(5)
    ours = _new("test_resnet")
    torch.manual_seed(5)
    expected = timm.create_model("test_resnet", num_classes=2).state_dict()
    assert all(torch.equal(value, expected[key]) for key, value in ours.timm_model.state_dict().items())


def test_dropout_and_stochastic_depth_are_timms_and_saved(tmp_path: Path) -> None:
    model = _new("test_efficientnet", dropout=0.3, drop_path=0.4)
    with quiet_libraries():
        model.save_pretrained(tmp_path)
    blocks = timm.create_model("test_efficientnet", num_classes=2, drop_path_rate=0.4)
    expected = [module.drop_prob for module in blocks.modules() if isinstance(module, DropPath)]
    assert max(expected) > 0.2
    for one in (model, saved_image_model(tmp_path)):
        assert one.timm_model.drop_rate == 0.3
        assert [module.drop_prob for module in one.modules() if isinstance(module, DropPath)] == expected
    images = torch.randn(4, 3, 32, 32)
    assert not torch.equal(model.train()(images).logits, model(images).logits)
    assert torch.equal(model.eval()(images).logits, model(images).logits)
    plain = _new("test_efficientnet")
    assert not any(isinstance(module, DropPath) for module in plain.modules())
    assert plain.config.model_args is None


def test_a_dropout_that_an_architecture_lacks_is_named() -> None:
    with pytest.raises(
        ModelError, match=r"'densenet121', which has no `drop_path_rate`; leave `drop_path` out, or choose"
    ):
        _new("densenet121", drop_path=0.2)


def test_an_impossible_image_size_is_named() -> None:
    with pytest.raises(ModelError, match=r"'test_vit', which cannot process images of 9 x 9 pixels .*set `image_size`"):
        _new("test_vit", image_size=9)


@pytest.mark.parametrize("prefix", ["", "timm_model."])
def test_weights_of_a_file_are_loaded_except_a_head_for_other_labels(tmp_path: Path, prefix: str) -> None:
    stored = timm.create_model("test_resnet", num_classes=7).state_dict()
    path = tmp_path / "weights.safetensors"
    save_file({prefix + key: value for key, value in stored.items()}, path)
    model = _new("test_resnet", checkpoint=str(path))
    loaded = model.timm_model.state_dict()
    assert loaded["fc.weight"].shape[0] == 2
    assert all(torch.equal(loaded[key], stored[key]) for key in stored if not key.startswith("fc."))


def test_weights_of_another_architecture_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    save_file(timm.create_model("test_vit", num_classes=2).state_dict(), path)
    with pytest.raises(ModelError, match=r"in which \d+ of \d+ weights of test_resnet .*same architecture"):
        _new("test_resnet", checkpoint=str(path))


def test_a_saved_model_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    _new("test_resnet").save_pretrained(tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"image encoder \(model.safetensors is truncated or damaged: .*materialise"):
        saved_image_model(tmp_path)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=r"holds no readable image encoder .*materialise the asset `warmup_models` again"
    ):
        saved_image_model(tmp_path)


def test_kernels_that_a_saved_configuration_names_are_never_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _new("resnet10t").save_pretrained(tmp_path)
    loading = "transformers.modeling_utils.lazy_import_flash_attention"
    monkeypatch.setattr(loading, lambda *_, **__: pytest.fail("loaded"))
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "attn_implementation": "kernels-community/flash-attn"}))
    assert saved_image_model(tmp_path).config._attn_implementation in ("sdpa", "eager")
