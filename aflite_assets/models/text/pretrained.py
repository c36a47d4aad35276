"""Finding, checking and loading of Hugging Face sequence classifiers and their tokenizers. This module
trains nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import (
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)

from aflite_assets.data.hub.datasets import model_commit, resolve_commit
from aflite_assets.errors import ModelError
from aflite_assets.models.checkpoint_configuration import ATTENTION, read_configuration
from aflite_assets.models.family import BuiltModel
from aflite_assets.models.global_state import quiet_libraries
from aflite_assets.models.weights_files import LOADING_ERRORS, cause_of, is_refused_pickle, reading_problem

POSITIONS_AFTER_PADDING = ("roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "roberta-prelayernorm")
"""Architectures that number their positions from `pad_token_id + 1`."""


def check_text_checkpoint(checkpoint: str, *, revision: str | None, max_length: int) -> None:
    """Check the configuration and the tokenizer, but not the weights.

    Raises:
        ModelError: the checkpoint is neither a folder nor a known id on the hub, or it has no sequence classifier, no
            vocabulary, or fewer positions than `max_length`.
    """
    with quiet_libraries():
        config = _load_configuration(checkpoint, revision=revision)
        load_tokenizer(checkpoint, revision=revision)
    if type(config) not in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING:
        raise ModelError(
            f"`checkpoint` is {checkpoint!r}, a model of type {config.model_type!r}, for which transformers has no "
            "sequence classifier; choose a text encoder such as BERT, RoBERTa or DistilBERT"
        )
    positions = most_positions(config)
    if positions is not None and max_length > positions:
        raise ModelError(
            f"`max_length` is {max_length}, but the checkpoint {checkpoint!r} can read at most {positions} tokens; "
            f"set `max_length` to {positions} or less"
        )


def pretrained_text_model(
    checkpoint: str, *, revision: str | None, label_names: Sequence[str], log: Callable[[str], None]
) -> BuiltModel:
    """Return the checkpoint's model in float32 with an output layer for the given labels. New weights are drawn from
    torch's global generator.

    Weights are new if they are missing from the checkpoint or if the checkpoint has another number of labels. The log
    lists the new weights.

    Raises:
        ModelError: the checkpoint cannot be loaded, or its weights do not fit its architecture.
    """
    names = dict(enumerate(label_names))
    labels = {"id2label": names, "label2id": {name: number for number, name in names.items()}, "num_labels": len(names)}
    model, report, tokenizer = load_checkpoint(
        AutoModelForSequenceClassification, checkpoint, revision=revision, labels=labels, ignore_mismatched_sizes=True
    )
    _check_loaded(checkpoint, model, report, n_labels=len(names))
    new = sorted(report["missing_keys"] | {key for key, *_ in report["mismatched_keys"]})
    if new:
        log(f"checkpoint {checkpoint} lacks these weights, which are drawn at random: {', '.join(new)}")
    _agree_on_padding(checkpoint, model, tokenizer)
    return BuiltModel(model, tokenizer)


def load_checkpoint(
    auto_class: Any, checkpoint: str, *, revision: str | None, labels: Mapping[str, Any] | None = None, **options: Any
) -> tuple[Any, Any, Any]:
    """Return the checkpoint's model in float32, transformers' report of the loaded weights, and the tokenizer.

    `labels`: settings of the output layer. `options` are passed to `auto_class.from_pretrained`.

    Raises:
        ModelError: the checkpoint cannot be loaded.
    """
    with quiet_libraries():
        try:
            place = checkpoint_place(checkpoint, revision)
            model, report = auto_class.from_pretrained(
                checkpoint,
                **place,
                config=read_configuration(AutoConfig, checkpoint, **place, **labels or {}, dtype=torch.float32),
                attn_implementation=ATTENTION,
                dtype=torch.float32,
                trust_remote_code=False,
                output_loading_info=True,
                **options,
            )
        except LOADING_ERRORS as error:
            raise unusable(checkpoint, error) from cause_of(error)
        return model, report, load_tokenizer(checkpoint, revision=revision)


def _load_configuration(checkpoint: str, *, revision: str | None) -> Any:
    if not Path(checkpoint).is_dir() and checkpoint.startswith(("/", "./", "../", "~")):
        raise ModelError(
            f"the checkpoint {checkpoint!r} is a folder that does not exist; give a folder that `save_pretrained` "
            "wrote (config.json, model.safetensors, tokenizer files) or the id of a model on the Hugging Face hub"
        )
    try:
        # The cache first: without a network the hub's client retries for many seconds.
        return read_configuration(AutoConfig, checkpoint, **checkpoint_place(checkpoint, revision, local=True))
    except LOADING_ERRORS as cache_error:
        if Path(checkpoint).is_dir():
            raise unusable(checkpoint, cache_error) from cache_error
    # One request, where transformers would ask many times before it says that nobody answers.
    resolve_commit(checkpoint, None, kind="model")
    try:
        return read_configuration(AutoConfig, checkpoint, **checkpoint_place(checkpoint, revision))
    except LOADING_ERRORS as error:
        raise ModelError(
            f"the checkpoint {checkpoint!r} is neither a folder nor the id of a model on the Hugging Face hub or in "
            f"its local cache ({error}); give a folder, correct the id, or download the model when there is a network "
            "connection"
        ) from error


def checkpoint_place(checkpoint: str, revision: str | None, *, local: bool = False) -> dict[str, Any]:
    """Return where transformers finds a checkpoint: the hub's commit, which is also part of cache keys, or a folder.

    With `local`, a checkpoint of the hub is taken from the local cache. For a folder, transformers ignores the
    revision.
    """
    is_folder = Path(checkpoint).is_dir()
    commit = "main" if is_folder else model_commit(checkpoint, revision)
    return {"revision": commit, "local_files_only": local or is_folder}


def load_tokenizer(checkpoint: str, *, revision: str | None) -> Any:
    """Return the tokenizer of a checkpoint, which is a folder or a hub id.

    Raises:
        ModelError: there is no tokenizer, or its vocabulary is empty.
    """
    try:
        place = checkpoint_place(checkpoint, revision)
        tokenizer = AutoTokenizer.from_pretrained(checkpoint, **place, trust_remote_code=False)
    except LOADING_ERRORS as error:
        raise unusable(checkpoint, error) from error
    # Without its files transformers makes a tokenizer that turns every word into "unknown".
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise ModelError(
            f"the checkpoint {checkpoint!r} has no tokenizer vocabulary; put the tokenizer's files (tokenizer.json or "
            "vocab.txt) into the folder of config.json"
        )
    return tokenizer


def most_positions(config: Any) -> int | None:
    """Return the largest number of tokens that a model can read, or None if there is no limit."""
    positions = getattr(config, "max_position_embeddings", None)
    if positions is None or positions < 1:
        return None
    offset = config.pad_token_id + 1 if config.model_type in POSITIONS_AFTER_PADDING else 0
    return int(positions) - offset


def _check_loaded(checkpoint: str, model: Any, report: Any, *, n_labels: int) -> None:
    expected = model.state_dict()
    if len(report["missing_keys"]) > len(expected) / 2:
        raise ModelError(
            f"`checkpoint` is {checkpoint!r}, whose weights do not match its config.json: "
            f"{len(report['missing_keys'])} of the {len(expected)} weights of {type(model).__name__} are missing; "
            "choose another checkpoint, or download it again"
        )
    for key, actual, wanted in sorted(report["mismatched_keys"], key=str):
        if wanted[0] != n_labels:
            raise ModelError(
                f"`checkpoint` is {checkpoint!r}, whose weights do not match its config.json: {key} has shape "
                f"{tuple(actual)} instead of {tuple(wanted)}; choose another checkpoint, or download it again"
            )


def _agree_on_padding(checkpoint: str, model: Any, tokenizer: Any) -> None:
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token_id is None:
            raise ModelError(
                f"the tokenizer of the checkpoint {checkpoint!r} has neither a padding token nor an end-of-text "
                "token, so rows of different lengths cannot share a batch; set `pad_token` in the checkpoint's "
                "tokenizer_config.json"
            )
        tokenizer.pad_token = tokenizer.eos_token
    model.config.get_text_config().pad_token_id = tokenizer.pad_token_id
    model.config.pad_token_id = tokenizer.pad_token_id


def unusable(checkpoint: str, error: Exception) -> ModelError:
    """Return an error that explains why `checkpoint` (a folder or hub id) cannot be loaded."""
    if isinstance(error, SafetensorError):
        remedy = "copy or download the file again"
    elif is_refused_pickle(error):
        remedy = (
            "use the checkpoint's model.safetensors, request such a file from its author, or choose another checkpoint"
        )
    else:
        remedy = (
            "give a checkpoint that has config.json, model.safetensors and the tokenizer's files, written by a "
            "version of transformers that is not newer than the installed version"
        )
    return ModelError(
        f"the checkpoint {checkpoint!r} cannot be loaded ({reading_problem(checkpoint, error)}); {remedy}"
    )
