import numpy as np
import pytest
import torch

from aflite_assets.models.esim.network import Esim, EsimConfiguration
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.representations import final_layer_name, represent
from aflite_assets.models.words.word_tables import LearntVectors

WORDS = 30


def _model(*, classes: int = 3, width: int = 8, dropout: float = 0.5) -> Esim:
    names = tuple(f"class {number}" for number in range(classes))
    with isolated_random_state(0):
        return Esim(EsimConfiguration(names, 6, WORDS, width, dropout), LearntVectors(WORDS, 6))


def _padded(rows: list[list[int]], longest: int) -> torch.Tensor:
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


def _rows(count: int, seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(1, WORDS, rng.integers(1, 9)).tolist() for _ in range(count)]


@torch.no_grad()
def _slow_logits(model: Esim, first: list[int], second: list[int]) -> np.ndarray:
    """The paper's equations for one pair, word by word."""
    encoded = []
    for row in (first, second):
        encoded.append(model.encoder(model.vectors(torch.tensor([row])))[0][0])
    composed = []
    for own, other in (encoded, encoded[::-1]):
        sums = []
        for word in own:
            weights = torch.tensor([float(torch.exp(word @ another)) for another in other])
            sums.append((weights / weights.sum()) @ other)
        mean = torch.stack(sums)
        joined = torch.relu(model.projection(torch.cat([own, mean, own - mean, own * mean], dim=1)))
        composed.append(model.composer(joined[None])[0][0])
    pooled = torch.cat([part for side in composed for part in (side.mean(dim=0), side.max(dim=0).values)])
    return model.output(torch.tanh(model.hidden(pooled))).numpy()


def test_logits_are_those_of_the_papers_equations() -> None:
    model = _model().eval()
    first, second = _rows(5, 1), _rows(5, 2)
    logits = model(_padded(first, 9), _padded(second, 8)).logits.detach().numpy()
    expected = [_slow_logits(model, *pair) for pair in zip(first, second, strict=True)]
    np.testing.assert_allclose(logits, expected, atol=1e-5)


def test_padding_and_company_change_nothing() -> None:
    model = _model().eval()
    first, second = _rows(20, 3), _rows(20, 4)
    together = model(_padded(first, 15), _padded(second, 11)).logits
    for row in range(20):
        alone = model(torch.tensor([first[row]]), torch.tensor([second[row]])).logits
        torch.testing.assert_close(alone[0], together[row], rtol=0, atol=1e-5)


def test_both_texts_and_their_order_matter() -> None:
    model = _model().eval()
    pairs = [([2, 3, 4], [5, 6]), ([5, 6], [2, 3, 4]), ([4, 3, 2], [5, 6]), ([2, 3, 4], [6, 5]), ([2, 3, 4], [5, 7])]
    logits = [model(torch.tensor([a]), torch.tensor([b])).logits.detach().numpy() for a, b in pairs]
    assert all(np.abs(logits[0] - other).max() > 1e-4 for other in logits[1:])


@pytest.mark.parametrize("classes", [2, 8])
def test_the_representation_is_the_hidden_layer(classes: int) -> None:
    model = _model(classes=classes, width=8).eval()
    assert final_layer_name(model, classes) == "output"
    batch = {"first_words": _padded(_rows(4, 5), 9), "second_words": _padded(_rows(4, 6), 9)}
    features, logits = represent(model, batch, n_classes=classes)
    assert features.shape == (4, 8)
    assert float(features.detach().abs().max()) <= 1
    expected = features @ model.output.weight.T + model.output.bias
    torch.testing.assert_close(expected, logits)


def test_dropout_is_for_training_alone() -> None:
    model = _model()
    batch = (_padded(_rows(4, 7), 9), _padded(_rows(4, 8), 9))
    assert not torch.equal(model.train()(*batch).logits, model(*batch).logits)
    assert torch.equal(model.eval()(*batch).logits, model(*batch).logits)


def test_every_weight_learns_and_padding_has_none() -> None:
    model = _model(dropout=0.0)
    model(_padded([[2, 3]], 4), _padded([[4, 5, 6]], 5)).logits.square().sum().backward()
    assert all(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in model.parameters())
    table = model.get_parameter("vectors.table.weight")
    assert table[0].tolist() == [0.0] * 6
    assert table.grad is not None
    assert [row for row, g in enumerate(table.grad) if bool(g.abs().sum() > 0)] == [2, 3, 4, 5, 6]


def test_bfloat16_agrees_roughly() -> None:
    model = _model().eval()
    batch = (_padded(_rows(6, 9), 9), _padded(_rows(6, 10), 9))
    plain = model(*batch).logits
    with torch.autocast("cpu", dtype=torch.bfloat16):
        reduced = model(*batch).logits
    torch.testing.assert_close(reduced.float(), plain, rtol=0, atol=0.05)
