from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError, ModelError
from aflite_assets.models.classifiers import NeuralClassifier, new_classifier, saved_classifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.evaluators import evaluate
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.siamese.network import Siamese
from aflite_assets.models.training.train import train_classifier, training_steps
from aflite_assets.specs.models.settings import SiameseBagSpec, SiameseLstmSpec
from tests.models.made import ignore, logits, made

LABELS = ("agrees", "contradicts")
BAG = SiameseBagSpec(
    kind="siamese_bag", vocabulary=200, vector_width=16, projection=16, hidden=16, batch_size=10, learning_rate=1e-2
)
LSTM = SiameseLstmSpec(
    kind="siamese_lstm", vocabulary=200, vector_width=16, width=16, hidden=16, batch_size=10, learning_rate=1e-2
)
KINDS: dict[str, SiameseBagSpec | SiameseLstmSpec] = {"bag": BAG, "lstm": LSTM}


@pytest.mark.parametrize("kind", KINDS)
def test_it_learns_the_word_that_decides(
    keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path, kind: str
) -> None:
    tests = {"test": keyword_pairs(100, seed=1)}
    done = evaluate(KINDS[kind], keyword_pairs(200), tests, seed=0, device=cpu, scratch=tmp_path, log=ignore)
    assert (done.predictions["test"].predicted == tests["test"].labels).mean() > 0.95
    assert done.dynamics is not None
    assert done.dynamics.num_rows == 5 * 200


def test_one_text_alone_is_read(keyword_pairs: Callable[..., Examples]) -> None:
    rows = keyword_pairs(20)
    settings = BAG.model_copy(update={"inputs": ("text_pair",)})
    classifier = made(settings, rows)
    place = rows.table.column_names.index("text")
    other = Examples(rows.table.set_column(place, "text", pa.array(["quite another"] * 20)), rows.label_names)
    assert set(classifier.inputs(rows).batch([0])) == {"first_words"}
    assert torch.equal(logits(classifier, rows), logits(classifier, other))
    words = {word for text in rows.texts("text_pair") for word in text.split()}
    assert set(classifier.tokenizer.words) == words


def _vectors_file(folder: Path, words: dict[str, float]) -> str:
    path = folder / "vectors.txt"
    path.write_text("".join(f"{word} {value} 0 0 0 0 0 0 {value}\n" for word, value in words.items()), encoding="utf-8")
    return str(path)


def test_words_of_the_file_alone_stay_out_of_training(
    keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path
) -> None:
    file = _vectors_file(tmp_path, {"dog": 1.0, "wolf": 2.0, "and": 3.0, "fox": 4.0})
    train = keyword_pairs(40)
    classifier = made(BAG.model_copy(update={"vectors": file}), train)
    model, reader = classifier.model, classifier.tokenizer
    assert isinstance(model, Siamese)
    assert reader.words[-2:] == ("wolf", "fox")
    assert model.vectors.others[:, 0].tolist() == [2.0, 4.0]
    before = model.vectors.table.weight[reader.number("dog")].clone()
    assert before.tolist() == [1.0, 0, 0, 0, 0, 0, 0, 1.0]
    with isolated_random_state(0):
        train_classifier(classifier, train, seed=0, device=cpu, scratch=tmp_path, log=ignore)
    assert model.vectors.others[:, 0].tolist() == [2.0, 4.0]
    assert not torch.equal(before, model.vectors.table.weight[reader.number("dog")])


def test_vectors_may_be_kept_as_they_are(
    keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path
) -> None:
    file = _vectors_file(tmp_path, {"dog": 1.0, "and": 3.0})
    train = keyword_pairs(40)
    classifier = made(BAG.model_copy(update={"vectors": file, "train_vectors": False}), train)
    before = classifier.model.vectors.table.weight.clone()
    with isolated_random_state(0):
        train_classifier(classifier, train, seed=0, device=cpu, scratch=tmp_path, log=ignore)
    assert torch.equal(before, classifier.model.vectors.table.weight)


@pytest.mark.parametrize(("rows", "size"), [(49_999, 32), (50_000, 256)])
def test_the_batch_is_large_where_there_are_many_rows(rows: int, size: int) -> None:
    default = SiameseBagSpec(kind="siamese_bag")
    assert default.for_rows(rows).batch_size == size
    assert training_steps(default, rows).per_epoch == -(-rows // size)
    assert BAG.for_rows(rows).batch_size == 10


def test_the_default_batch_trains_as_if_it_were_named(
    keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path
) -> None:
    tests, train = {"test": keyword_pairs(10, seed=1)}, keyword_pairs(40)
    unnamed, named = (
        evaluate(
            BAG.model_copy(update={"batch_size": size, "epochs": 2}),
            train, tests, seed=0, device=cpu, scratch=tmp_path / str(size), log=ignore,
        )
        for size in (0, 32)
    )  # fmt: skip
    assert np.array_equal(unnamed.predictions["test"].probabilities, named.predictions["test"].probabilities)  # type: ignore[arg-type]


def test_a_folder_with_another_model_is_refused(keyword_pairs: Callable[..., Examples], tmp_path: Path) -> None:
    rows = keyword_pairs(20)
    made(BAG, rows).save(tmp_path)
    (tmp_path / "vocabulary.json").write_text('["a"]', encoding="utf-8")
    with pytest.raises(
        ModelError,
        match=r"no readable siamese model \(the model has vectors of 14 words, but its vocabulary has "
        r"3",
    ):
        saved_classifier(BAG, tmp_path, LABELS)


def _ignore(_: str) -> None:
    pass


def _new(settings: SiameseBagSpec | SiameseLstmSpec, train: Examples) -> NeuralClassifier:
    with isolated_random_state(0):
        return new_classifier(settings, train, _ignore)


@torch.no_grad()
def _logits(classifier: NeuralClassifier, examples: Examples) -> torch.Tensor:
    batch = classifier.inputs(examples).batch(range(len(examples)))
    return classifier.model.eval()(**batch).logits


def test_texts_without_words_are_refused(table: Callable[..., Examples]) -> None:
    with pytest.raises(DataError, match="the texts of 2 train rows contain no words, so no vocabulary"):
        _new(BAG, table([0, 1], LABELS, text=["", " "], text_pair=["", ""]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_predicts_the_same_bits(
    keyword_pairs: Callable[..., Examples], tmp_path: Path, kind: str
) -> None:
    rows = keyword_pairs(20)
    classifier = _new(KINDS[kind], rows)
    classifier.save(tmp_path)
    again = saved_classifier(KINDS[kind], tmp_path, LABELS)
    assert torch.equal(_logits(classifier, rows), _logits(again, rows))
