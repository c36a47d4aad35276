from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    LlamaConfig,
    LlamaForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)
from transformers import BertForSequenceClassification as Bert

from aflite_assets.errors import ModelError
from aflite_assets.models.representations import final_layer, final_layer_name, last_tokens, represent

PADDING = 1
SMALL = {"vocab_size": 30, "pad_token_id": PADDING, "num_labels": 3}
MODELS = {
    "bert": lambda: Bert(
        BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, **SMALL)
    ),
    "roberta": lambda: RobertaForSequenceClassification(
        RobertaConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, **SMALL)
    ),
    "distilbert": lambda: DistilBertForSequenceClassification(
        DistilBertConfig(dim=16, n_layers=1, n_heads=2, hidden_dim=16, **SMALL)
    ),
    "gpt2": lambda: GPT2ForSequenceClassification(GPT2Config(n_embd=16, n_layer=1, n_head=2, **SMALL)),
    "llama": lambda: LlamaForSequenceClassification(
        LlamaConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, **SMALL)
    ),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("side", ["right", "left"])
def test_final_layer_times_features_are_the_logits(name: str, side: str) -> None:
    torch.manual_seed(0)
    model = MODELS[name]().eval()
    batch = {"input_ids": torch.randint(2, 30, (4, 9))}
    for row, length in enumerate([9, 3, 5, 1]):
        unused = slice(length, None) if side == "right" else slice(9 - length)
        batch["input_ids"][row, unused] = PADDING
    batch["attention_mask"] = (batch["input_ids"] != PADDING).long()
    with torch.inference_mode():
        features, logits = represent(model, batch, n_classes=3)
        expected = model(**batch).logits
        layer = final_layer(model, 3)
        by_hand = features @ layer.weight.T + (layer.bias if layer.bias is not None else 0.0)
    assert features.shape == (4, 16)
    np.testing.assert_allclose(by_hand, expected, atol=1e-6)
    np.testing.assert_array_equal(logits, expected)


def test_no_hook_stays_behind() -> None:
    model = MODELS["bert"]().eval()
    represent(model, {"input_ids": torch.tensor([[3, 4]])}, n_classes=3)
    assert not final_layer(model, 3)._forward_hooks


def test_the_last_layer_of_that_many_outputs_is_taken() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3))
    assert final_layer_name(model, 3) == "2"


def test_a_model_without_such_a_layer_is_refused() -> None:
    with pytest.raises(ModelError, match=r"Sequential has no linear layer with 4 outputs"):
        final_layer_name(torch.nn.Sequential(torch.nn.Linear(3, 3)), 4)


def test_logits_made_of_two_heads_are_refused() -> None:
    class TwoHeads(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head, self.head_dist = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)

        def forward(self, pixels: torch.Tensor) -> SimpleNamespace:
            return SimpleNamespace(logits=(self.head(pixels) + self.head_dist(pixels)) / 2)

    torch.manual_seed(0)
    with pytest.raises(
        ModelError, match=r"the logits of TwoHeads \(shape .* are not the output of its last linear layer"
    ):
        represent(TwoHeads(), {"pixels": torch.randn(3, 4)}, n_classes=2)


def test_last_tokens_skip_padding_on_either_side() -> None:
    tokens = torch.tensor([[5, 6, 1, 1], [1, 1, 5, 6], [1, 1, 1, 1], [5, 1, 6, 1]])
    assert last_tokens(tokens, padding=1).tolist() == [1, 3, 0, 2]
