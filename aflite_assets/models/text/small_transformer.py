"""A small BERT and its word-piece tokenizer, both built from the train texts alone. The module `pretrained` loads saved
models.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tokenizers import Tokenizer, models, trainers
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.models.family import BuiltModel
from aflite_assets.models.global_state import quiet_libraries
from aflite_assets.models.text.inputs import text_columns
from aflite_assets.specs.models.settings import SmallTransformerSpec

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CHARACTER_COVERAGE = 0.9995
"""Share of the characters in the train texts that become word pieces. The rarest characters are left out, so that they
do not fill the vocabulary (as in SentencePiece).
"""

LONGEST_WORD = 100
"""Length of the longest word, in characters. The tokenizer treats longer words as unknown, so no pieces are learned
from them.
"""


def new_small_text_model(settings: SmallTransformerSpec, train: Examples) -> BuiltModel:
    """Return a BERT with random weights from torch's global generator, and a tokenizer for the model's text columns.

    Texts are normalised as for uncased BERT models. Control characters are dropped. Letters are lower-cased, and
    accents are removed (NFD). Each punctuation mark and each CJK character becomes a separate word. There is no
    dropout, and the feed-forward layers are four times as wide as the other layers. The standard deviation of the
    weights is `1 / sqrt(width)`. The outputs of a layer are then as large as its inputs (LeCun et al. 1998, Efficient
    BackProp). BERT's standard deviation of 0.02 is suitable for 768 units. With a standard deviation of 0.02, models of
    32 to 64 units learned text pairs far more slowly.

    Raises:
        DataError: the columns contain no character that the tokenizer keeps.
    """
    columns = text_columns(train, settings.inputs)
    vocabulary = train_word_pieces((text for column in columns for text in train.texts(column)), settings.vocabulary)
    if len(vocabulary) == len(SPECIAL_TOKENS):
        raise DataError(
            f"the texts of {len(train)} train rows (columns: {', '.join(columns)}) have no words for a vocabulary; "
            "choose other columns with `inputs`, or check the source"
        )
    names = dict(enumerate(train.label_names))
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=4 * settings.width,
        max_position_embeddings=settings.max_length,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=settings.width**-0.5,
        num_labels=len(names),
        id2label=names,
        label2id={name: number for number, name in names.items()},
    )
    with quiet_libraries():
        return BuiltModel(BertForSequenceClassification(config), _tokenizer(vocabulary, settings.max_length))


def train_word_pieces(texts: Iterable[str], size: int) -> dict[str, int]:
    """Return a dictionary from word pieces to numbers. Special tokens have the lowest numbers, from 0. The result does
    not depend on the order of the texts.

    There are at most `size` pieces. Initially, the pieces are the most frequent characters, each in two forms: at the
    start of a word and within a word. Pairs of pieces that occur at least twice are then merged. If the texts have no
    words, only the special tokens are returned.
    """
    words = _count_words(texts)
    characters = _frequent_characters(words, (size - len(SPECIAL_TOKENS)) // 2)
    known = frozenset(characters)
    # The trainer would number the pieces within words in the order of a randomly seeded hash table, and these
    # numbers break the ties between equally frequent pairs. Pieces that it is given keep their order.
    given = [*SPECIAL_TOKENS, *characters, *(f"##{character}" for character in characters)]
    trainer = trainers.WordPieceTrainer(vocab_size=size, min_frequency=2, special_tokens=given, show_progress=False)
    learner = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # nothing is split: each text is one word
    learner.train_from_iterator(
        (word for word, count in words.items() if known.issuperset(word) for _ in range(count)), trainer
    )
    return dict(sorted(learner.get_vocab().items(), key=lambda item: item[1]))


def _count_words(texts: Iterable[str]) -> Counter[str]:
    backend = _tokenizer({token: number for number, token in enumerate(SPECIAL_TOKENS)}, 4).backend_tokenizer
    words: Counter[str] = Counter()
    for text in texts:
        split = backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))
        words.update(word for word, _ in split if len(word) <= LONGEST_WORD)
    return words


def _frequent_characters(words: Counter[str], limit: int) -> list[str]:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    wanted, covered = CHARACTER_COVERAGE * counts.total(), 0
    kept: list[str] = []
    for character, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if covered >= wanted or len(kept) == limit:
            break
        kept.append(character)
        covered += count
    return sorted(kept)


def _tokenizer(vocabulary: dict[str, int], max_length: int) -> Any:
    # A text that spells out "[SEP]" is a text and no separator.
    return BertTokenizer(vocab=vocabulary, model_max_length=max_length, split_special_tokens=True)
