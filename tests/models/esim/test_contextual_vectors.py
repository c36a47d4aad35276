import itertools
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertModel, BertTokenizer, PreTrainedTokenizerFast, RobertaConfig, RobertaModel, T5Config
from transformers.modeling_outputs import BaseModelOutput

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.esim.contextual_vectors import (
    ContextualVectors,
    LayerMix,
    PieceReader,
    check_contextual_checkpoint,
    pretrained_vectors,
)
from aflite_assets.models.global_state import isolated_random_state, quiet_libraries

# Of conftest's vocabulary: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, the 5, a 6, dog 7, cat 8, runs 9.


@pytest.fixture
def loaded(bert_folder: Path) -> tuple[ContextualVectors, PieceReader]:
    with isolated_random_state(0):
        return pretrained_vectors(str(bert_folder), revision=None)


def _batch(
    reader: PieceReader, table: Callable[..., Examples], texts: list[str], *, max_length: int = 20
) -> dict[str, torch.Tensor]:
    examples = table([0] * len(texts), ("a", "b"), text=texts, text_pair=["dog"] * len(texts))
    return reader.inputs(examples, max_length=max_length).batch(range(len(texts)))


def test_a_words_vectors_are_the_hidden_states_of_its_piece(
    loaded: tuple[ContextualVectors, PieceReader], table: Callable[..., Examples], bert_folder: Path
) -> None:
    vectors, reader = loaded
    batch = _batch(reader, table, ["The dog", "a cat runs"])
    assert batch["first_pieces"].tolist() == [[2, 5, 7, 3, -1], [2, 6, 8, 9, 3]]
    assert batch["first_words"].tolist() == [[2, 3, 0], [2, 3, 4]]
    made = vectors(batch["first_words"], batch["first_pieces"])
    assert made.shape == (vectors.layers, 2, 3, vectors.width) == (2, 2, 3, 32)
    assert made.dtype == torch.float32
    encoder = BertModel.from_pretrained(bert_folder).eval()
    output = encoder(torch.tensor([[2, 5, 7, 3]]), output_hidden_states=True)
    assert len(output.hidden_states) == 2
    for layer, expected in zip(made, output.hidden_states, strict=True):
        torch.testing.assert_close(layer[0, :2], expected[0, 1:3].detach(), rtol=0, atol=1e-5)
    torch.testing.assert_close(made[-1, 0, :2], output.last_hidden_state[0, 1:3].detach(), rtol=0, atol=1e-5)
    assert not torch.allclose(made[0, 0, :2], made[1, 0, :2], atol=0.1)


def test_no_gradients_no_dropout_no_training(
    loaded: tuple[ContextualVectors, PieceReader], table: Callable[..., Examples]
) -> None:
    vectors, reader = loaded
    batch = _batch(reader, table, ["the dog runs"])
    parent = torch.nn.Sequential(vectors).train()
    assert parent.training
    assert not any(module.training for module in vectors.modules())
    assert not any(parameter.requires_grad for parameter in vectors.parameters())
    first, second = (vectors(batch["first_words"], batch["first_pieces"]) for _ in range(2))
    assert torch.equal(first, second)
    assert not first.requires_grad


class _Halved(torch.nn.Module):
    """An encoder whose second layer has half as many vectors."""

    device = torch.device("cpu")
    config = RobertaConfig(hidden_size=8)

    def forward(self, input_ids: torch.Tensor, **_: object) -> BaseModelOutput:
        rows, pieces = input_ids.shape
        return BaseModelOutput(hidden_states=(torch.zeros(rows, pieces, 8), torch.zeros(rows, pieces // 2, 8)))


def test_an_encoder_without_a_vector_per_piece_and_layer_is_refused() -> None:
    with pytest.raises(
        ModelError,
        match=r"is a _Halved, which returns layers of the shapes \[\(1, 1, 8\), \(1, 2, 8\)\] "
        r".*instead of 8 ",
    ):
        ContextualVectors(_Halved())


def test_a_new_mix_is_the_mean_of_the_layers() -> None:
    layers = torch.randn(4, 2, 3, 5, generator=torch.Generator().manual_seed(0))
    mix = LayerMix(4)
    torch.testing.assert_close(mix(layers), layers.mean(dim=0))
    assert mix.shares().tolist() == [0.25] * 4


def test_a_mix_is_the_papers_equation() -> None:
    layers = torch.randn(3, 2, 3, 5, generator=torch.Generator().manual_seed(0))
    mix = LayerMix(3)
    with torch.no_grad():
        mix.weights.copy_(torch.tensor([0.0, 1.0, -2.0]))
        mix.scale.fill_(1.5)
    powers = [1.0, math.e, math.exp(-2)]
    expected = 1.5 * sum(power / sum(powers) * layer for power, layer in zip(powers, layers, strict=True))
    torch.testing.assert_close(mix(layers), expected)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(mix(layers), expected)


def test_gradients_reach_the_mix_and_not_the_encoder(
    loaded: tuple[ContextualVectors, PieceReader], table: Callable[..., Examples]
) -> None:
    vectors, reader = loaded
    batch = _batch(reader, table, ["the dog runs"])
    mix = LayerMix(vectors.layers)
    mixed = mix(vectors(batch["first_words"], batch["first_pieces"]))
    (mixed * torch.randn(mixed.shape, generator=torch.Generator().manual_seed(0))).sum().backward()
    assert mix.weights.grad is not None
    assert mix.scale.grad is not None
    assert (mix.weights.grad.abs() > 1e-3).all()
    assert abs(float(mix.scale.grad)) > 1e-3
    assert all(parameter.grad is None for parameter in vectors.parameters())


def _pieces_tokenizer() -> PreTrainedTokenizerFast:
    tokens = ["[PAD]", "[UNK]", "play", "##ing", "##s", "dog", ",", "doesn", "'", "t"]
    words = models.WordPiece({token: number for number, token in enumerate(tokens)}, unk_token="[UNK]")
    backend = Tokenizer(words)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]")


def test_the_first_piece_of_a_word_counts_and_cut_pieces_are_no_words(table: Callable[..., Examples]) -> None:
    texts = ["playing dogs, doesn't"]
    batch = _batch(PieceReader(_pieces_tokenizer(), most_pieces=None), table, texts)
    # play ##ing dog ##s , doesn ' t: the words "does" and "n't" begin in the piece "doesn".
    assert batch["first_pieces"].tolist() == [[2, 3, 5, 4, 6, 7, 8, 9]]
    assert batch["first_words"].tolist() == [[1, 3, 5, 6, 6]]
    for most, words in ((5, [1, 3, 5]), (3, [1, 3]), (2, [1])):
        cut = _batch(PieceReader(_pieces_tokenizer(), most_pieces=most), table, texts)
        assert cut["first_words"].tolist() == [words]
        assert cut["first_pieces"].shape == (1, most)


def test_texts_are_cut_to_max_length_words(
    loaded: tuple[ContextualVectors, PieceReader], table: Callable[..., Examples]
) -> None:
    batch = _batch(loaded[1], table, ["the dog the cat"], max_length=2)
    assert batch["first_pieces"].tolist() == [[2, 5, 7, 3]]
    assert batch["first_words"].tolist() == [[2, 3]]
    long = _batch(loaded[1], table, ["dog " * 100], max_length=100)
    assert long["first_pieces"].shape == (1, 32)
    assert long["first_words"].tolist() == [list(range(2, 32))]


def test_texts_without_words_and_words_without_pieces(
    loaded: tuple[ContextualVectors, PieceReader], table: Callable[..., Examples]
) -> None:
    vectors, reader = loaded
    batch = _batch(reader, table, ["", " \t", "dog \u0301 cat"])
    assert batch["first_pieces"].tolist() == [[2, 3, -1, -1], [2, 3, -1, -1], [2, 7, 8, 3]]
    assert batch["first_words"].tolist() == [[1, 0], [1, 0], [2, 3]]
    assert torch.isfinite(vectors(batch["first_words"], batch["first_pieces"])).all()
    bare = _batch(PieceReader(_pieces_tokenizer(), most_pieces=None), table, [""])
    assert (bare["first_words"].tolist(), bare["first_pieces"].tolist()) == ([[1]], [[1]])


def test_byte_level_pieces_are_read_as_written(table: Callable[..., Examples]) -> None:
    space = "\u0120"
    tokens = ["<unk>", *pre_tokenizers.ByteLevel.alphabet(), "do", "dog", f"{space}d", f"{space}do", f"{space}dog"]
    tokens = [tokens[0], *sorted(tokens[1:-5]), *tokens[-5:]]
    merges = [("d", "o"), ("do", "g"), (space, "d"), (f"{space}d", "o"), (f"{space}do", "g")]
    backend = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    batch = _batch(PieceReader(tokenizer, most_pieces=None), table, ["dog dog 猫 dog"])
    assert tokenizer.convert_ids_to_tokens(batch["first_pieces"][0, :2].tolist())[0] == "dog"
    # A space and the three bytes of one sign come between: the sign's first piece is its first byte or the space.
    assert batch["first_words"][0, 0] == 1
    assert batch["first_words"][0, -1] == batch["first_pieces"].shape[1]
    assert batch["first_words"].shape == (1, 4)
    assert all(a < b for a, b in itertools.pairwise(batch["first_words"][0].tolist()))


def test_the_same_text_has_the_same_vectors_in_any_batch(
    loaded: tuple[ContextualVectors, PieceReader], table: Callable[..., Examples]
) -> None:
    vectors, reader = loaded
    alone = _batch(reader, table, ["the dog"])
    among = _batch(reader, table, ["the dog", "the big red dog runs and a cat sleeps"])
    made = [vectors(batch["first_words"], batch["first_pieces"])[:, 0, :2] for batch in (alone, among)]
    torch.testing.assert_close(*made, rtol=0, atol=1e-5)


def test_what_is_saved_makes_the_same_vectors(
    loaded: tuple[ContextualVectors, PieceReader], table: Callable[..., Examples], tmp_path: Path
) -> None:
    for one in loaded:
        one.save_pretrained(tmp_path)
    again = pretrained_vectors(str(tmp_path / "contextual"), revision=None)
    made = []
    for vectors, reader in (loaded, again):
        batch = _batch(reader, table, ["the dog", "a big cat sleeps"])
        made.append(vectors(batch["first_words"], batch["first_pieces"]))
    assert torch.equal(*made)


def test_a_checkpoint_that_fits_passes(bert_folder: Path) -> None:
    check_contextual_checkpoint(str(bert_folder), revision=None, max_length=32)
    with pytest.raises(ModelError, match=r"`max_length` is 33, but the checkpoint .* at most 32 tokens"):
        check_contextual_checkpoint(str(bert_folder), revision=None, max_length=33)


def test_what_is_no_encoder_is_refused(bert_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"checkpoint .*gone' is a folder that does not exist"):
        check_contextual_checkpoint(str(tmp_path / "gone"), revision=None, max_length=8)
    with quiet_libraries():
        BertTokenizer.from_pretrained(bert_folder).save_pretrained(tmp_path)
        T5Config(vocab_size=20).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"a model of type 't5', which has a decoder; choose an encoder"):
        check_contextual_checkpoint(str(tmp_path), revision=None, max_length=8)


def test_weights_of_something_else_are_refused(bert_folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(bert_folder, broken)
    weights = load_file(bert_folder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if "layer.0.attention" not in name}
    save_file(kept, broken / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"10 weights of BertModel are missing \(first: encoder.layer.0.attention"):
        pretrained_vectors(str(broken), revision=None)
    (broken / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ModelError, match=r"checkpoint .*broken' cannot be loaded \(model.safetensors is truncated"):
        pretrained_vectors(str(broken), revision=None)


def test_positions_after_the_padding_are_not_read(
    bert_folder: Path, table: Callable[..., Examples], tmp_path: Path
) -> None:
    config = RobertaConfig(
        vocab_size=17,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=12,
        pad_token_id=1,
    )
    with isolated_random_state(0), quiet_libraries():
        RobertaModel(config).save_pretrained(tmp_path)
        BertTokenizer.from_pretrained(bert_folder).save_pretrained(tmp_path)
        vectors, reader = pretrained_vectors(str(tmp_path), revision=None)
    batch = _batch(reader, table, ["dog " * 50, "cat"], max_length=50)
    assert batch["first_pieces"].shape == (2, 10)
    assert torch.isfinite(vectors(batch["first_words"], batch["first_pieces"])).all()
