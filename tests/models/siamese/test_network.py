from dataclasses import replace

import numpy as np
import pytest
import torch

from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.representations import final_layer_name, represent
from aflite_assets.models.siamese.network import Siamese, SiameseConfiguration

WORDS = 30
BAG = SiameseConfiguration(("a", "b", "c"), WORDS, 0, 6, 2, "bag", 8, 10, 0.0)
LSTM = SiameseConfiguration(("a", "b", "c"), WORDS, 0, 6, 2, "lstm", 8, 10, 0.0, layers=2)
KINDS = {
    "mean": BAG,
    "max": replace(BAG, pooling="max"),
    "max without projection": replace(BAG, pooling="max", width=None),
    "lstm": LSTM,
}


def _model(configuration: SiameseConfiguration) -> Siamese:
    with isolated_random_state(0):
        return Siamese(configuration).eval()


def _padded(rows: list[list[int]], longest: int) -> torch.Tensor:
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


def _rows(count: int, seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(1, WORDS, rng.integers(1, 9)).tolist() for _ in range(count)]


def _numbers(model: torch.nn.Module) -> int:
    """Of weights, without the word vectors."""
    return sum(value.numel() for name, value in model.named_parameters() if not name.startswith("vectors."))


def test_sizes_are_the_papers() -> None:
    names = ("entailment", "neutral", "contradiction")
    bag = Siamese(SiameseConfiguration(names, WORDS, 0, 300, 2, "bag", 512, 200, 0.0))
    lstm = Siamese(SiameseConfiguration(names, WORDS, 0, 300, 2, "lstm", 200, 200, 0.0, layers=2))
    assert _numbers(bag) == 564_915
    assert _numbers(lstm.encoder) == 1_766_400
    assert _numbers(lstm) == 2_087_203 + 400  # the layer normalisation


@torch.no_grad()
def test_a_bags_logits_are_those_of_the_equations() -> None:
    model = _model(BAG)
    first, second = _rows(5, 1), _rows(5, 2)
    logits = model(_padded(first, 9), _padded(second, 8)).logits
    project = model.encoder.projection
    assert isinstance(project, torch.nn.Linear)
    for row in range(5):
        p, h = (
            torch.stack([torch.tanh(project(model.vectors.table.weight[word])) for word in text]).mean(0)
            for text in (first[row], second[row])
        )
        hidden = torch.tanh(model.hidden(torch.cat([p, h, (p - h).abs(), p * h])))
        torch.testing.assert_close(model.output(model.normalise(hidden)), logits[row], rtol=0, atol=1e-5)


@torch.no_grad()
def test_an_lstms_texts_are_the_maxima_of_its_outputs() -> None:
    model = _model(LSTM)
    text = [3, 4, 5, 6]
    vectors = model.vectors(torch.tensor([text]))
    expected = model.encoder.lstm(vectors)[0][0].max(dim=0).values  # type: ignore[operator]
    padded = _padded([text], 7)
    torch.testing.assert_close(model.encoder(model.vectors(padded), padded != 0)[0], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_padding_and_company_change_nothing(kind: str) -> None:
    model = _model(KINDS[kind])
    first, second = _rows(20, 3), _rows(20, 4)
    together = model(_padded(first, 15), _padded(second, 11)).logits
    order = np.random.default_rng(5).permutation(20)
    shuffled = model(_padded([first[i] for i in order], 15), _padded([second[i] for i in order], 11)).logits
    for row in range(20):
        alone = model(torch.tensor([first[row]]), torch.tensor([second[row]])).logits
        torch.testing.assert_close(alone[0], together[row], rtol=0, atol=1e-5)
    torch.testing.assert_close(shuffled, together[torch.from_numpy(order)], rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_equal_texts_may_be_swapped_and_others_not(kind: str) -> None:
    model = _model(KINDS[kind])
    one, other = torch.tensor([[2, 3, 4]]), torch.tensor([[5, 6, 7]])
    assert torch.equal(model(one, one.clone()).logits, model(one.clone(), one).logits)
    assert float((model(one, other).logits - model(other, one).logits).abs().max()) > 1e-4


@torch.no_grad()
def test_other_words_have_vectors_that_do_not_learn() -> None:
    model = _model(replace(BAG, other_words=4))
    model.vectors.others[2] = 7.0
    assert model.vectors(torch.tensor([[WORDS + 2]])).tolist() == [[[7.0] * 6]]
    assert torch.equal(model.vectors(torch.tensor([[5]]))[0, 0], model.vectors.table.weight[5])
    assert [name for name, _ in model.named_parameters() if "others" in name] == []
    assert "vectors.others" in model.state_dict()


@pytest.mark.parametrize("texts", [1, 2])
def test_the_representation_is_the_hidden_layer(texts: int) -> None:
    model = _model(replace(BAG, texts=texts))
    assert final_layer_name(model, 3) == "output"
    batch = {"first_words": _padded(_rows(4, 5), 9), "second_words": _padded(_rows(4, 6), 9)}
    if texts == 1:
        del batch["second_words"]
    features, _ = represent(model, batch, n_classes=3)
    assert features.shape == (4, 10)
