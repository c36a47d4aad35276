"""Our training and embedding extraction against a training script's loop: `python -m benchmarks.training`.

Both start from the same weights and see the same rows with the same threads, in one process, by turns (plain, ours,
plain, ours, ...). Plain training: tokenise a batch, pad it to its longest row, forward pass, cross-entropy, backward
pass, gradient norm clipped at 1, torch's AdamW with its defaults (not fused), linear schedule; nothing is recorded,
and a killed training is lost.
Ours is `train_classifier`, from texts to trained weights: first with length bucketing off, so that its batches and
their padding are those of the plain loop (required: at least 1.00 times as fast; what a training costs once, about a
tenth of a second, is in it, and shown apart as set-up), then with bucketing on. Plain extraction: tokenise 256 rows,
forward pass, keep what enters the last layer. Ours is the stage of `embeddings` on the same batches, files included.
Without dropout both end with the same result: the mean loss of a training row, and the mean feature.

Parameter grid: sentence pairs of `snli/*.parquet` below --data (default AFLITE_EXAMPLE_DATA; columns premise,
hypothesis, label), else of template_nli; the checkpoint folder --checkpoint, else a BERT with random weights in a size
of `SIZES` (--random-weights, default small), its word pieces made from the texts; 512 rows, one epoch, batches of 32,
at most 128 tokens, 5 repetitions, float32 on the CPU and bfloat16 on a GPU. Set-up: a turn of one batch only.
Operations: 6 N a token in training and 2 N in extraction, N the weights outside of the embeddings, and for attention
12 (4) x layers x width x padded length; all of padded tokens, as a share of this device's rate of large matrix
products in the same precision. MiB: the most that a turn had above what there was before it. CPU seconds: of all
threads. GPU: `--device cuda --random-weights roberta-large-sized --rows 8192`.
"""

import argparse
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before numpy: waiting threads must not burn the cores

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from transformers import get_linear_schedule_with_warmup

from aflite_assets.data.examples import Examples
from aflite_assets.data.synthetic.template_nli import LABELS, template_nli
from aflite_assets.models.classifiers import NeuralClassifier, new_classifier
from aflite_assets.models.devices import DeviceSettings, Precision
from aflite_assets.models.encoders import NeuralEncoder
from aflite_assets.models.global_state import isolated_random_state, quiet_libraries
from aflite_assets.models.representations import final_layer
from aflite_assets.models.training.batches import epoch_order
from aflite_assets.models.training.train import train_classifier, training_steps
from aflite_assets.specs.models.settings import SmallTransformerSpec, TextModelSpec
from aflite_assets.specs.sources import TemplateNliSource
from aflite_assets.stages.embedding.embeddings import encode_all
from aflite_assets.stages.embedding.spread_encoding import BATCH_ROWS
from aflite_assets.stages.stage import no_progress
from benchmarks.turns import Effort, Line, by_turns, machine, product_rate, table

SEED = 0
PLAIN_TRAINING, SAME_BATCHES, BUCKETED = "training, plain", "training, ours", "training, ours, bucketed"
PLAIN_EXTRACTION, EXTRACTION = "extraction, plain", "extraction, ours"
PEERS = {SAME_BATCHES: PLAIN_TRAINING, BUCKETED: SAME_BATCHES, EXTRACTION: PLAIN_EXTRACTION}
"""Rivals that each is compared with."""

SIZES: Mapping[str, dict[str, int]] = {
    "tiny": {"width": 16, "layers": 1, "heads": 2},
    "small": {"width": 128, "layers": 2, "heads": 4},
    "minilm-sized": {"width": 384, "layers": 6, "heads": 12},
    "roberta-large-sized": {"width": 1024, "layers": 24, "heads": 16},
}


@dataclass(frozen=True)
class Work:
    """A classifier with its first weights and the rows that it is trained on and asked about."""

    classifier: NeuralClassifier
    start: Mapping[str, torch.Tensor]
    examples: Examples
    lengths: np.ndarray
    device: DeviceSettings

    def batches(self, *, bucketed: bool, epoch: int) -> list[np.ndarray]:
        """Positions of the rows of each training batch."""
        size, lengths = self.classifier.settings.batch_size, self.lengths if bucketed else None
        order = epoch_order(len(self.examples), batch_size=size, lengths=lengths, seed=SEED, epoch=epoch)
        return [order[first : first + size] for first in range(0, len(order), size)]

    def slices(self) -> list[np.ndarray]:
        """Positions of the rows of each batch of extraction, which keeps their order."""
        rows = np.arange(len(self.examples))
        return [rows[first : first + BATCH_ROWS] for first in range(0, len(rows), BATCH_ROWS)]


def example_rows(data: Path | None, rows: int) -> Examples:
    """Return the first rows of the SNLI files below `data`, or as many of template_nli."""
    if data is None:
        source = TemplateNliSource(format="template_nli", splits={"train": rows}, planted_share=0.6)
        drawn = template_nli(source)["train"]
        numbers = pa.array([LABELS.index(label) for label in drawn["label"].to_pylist()], pa.int64())
        columns = {"text": drawn["text"], "text_pair": drawn["text_pair"], "label": numbers}
    else:
        found = pa.concat_tables(pq.read_table(path) for path in sorted((data / "snli").glob("*.parquet")))
        read = found.slice(0, rows)
        columns = {"text": read["premise"], "text_pair": read["hypothesis"], "label": read["label"]}
    count = len(columns["label"])
    ids = {"row_id": np.arange(count), "source_id": [str(row) for row in range(count)], "split": ["train"] * count}
    return Examples(pa.table({**ids, **columns}), LABELS)


def new_work(examples: Examples, device: DeviceSettings, *, checkpoint: str | None, size: str, **settings: int) -> Work:
    """Return a checkpoint, or a BERT of this size with random weights; `settings`: epochs, batch_size, max_length."""
    spec: TextModelSpec | SmallTransformerSpec
    if checkpoint is None:
        width = SIZES[size] | settings
        spec = SmallTransformerSpec(kind="small_transformer", vocabulary=50_265, learning_rate=2e-5, **width)
    else:
        spec = TextModelSpec(kind="huggingface_text", checkpoint=checkpoint, **settings)
    with isolated_random_state(SEED):
        classifier = new_classifier(spec, examples, lambda line: None)
    start = {name: weights.clone() for name, weights in classifier.model.state_dict().items()}
    classifier.model.to(device.resolve())
    return Work(classifier, start, examples, classifier.inputs(examples).lengths, device)


def train_plain(work: Work) -> float:
    """Train by the loop that a training script has; returns the mean loss per row of the last epoch, as presented."""
    model, settings, device = work.classifier.model, work.classifier.settings, work.device
    columns, labels = _columns(work), torch.from_numpy(work.examples.labels.copy())
    steps = training_steps(settings, len(labels))
    optimizer = torch.optim.AdamW(_weight_groups(model, settings.weight_decay), lr=settings.learning_rate)
    schedule = get_linear_schedule_with_warmup(optimizer, steps.warmup, steps.total)
    model.train()
    for epoch in range(settings.epochs):
        total = torch.zeros((), device=device.resolve())
        for rows in work.batches(bucketed=False, epoch=epoch):
            batch = _tokens(work, columns, rows)
            with device.autocast():
                logits = model(**batch).logits
            loss = torch.nn.functional.cross_entropy(logits.float(), labels[rows].to(device.resolve()))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            total += loss.detach() * len(rows)
    return float(total) / len(labels)


def train_ours(work: Work, *, bucketed: bool) -> float:
    """`train_classifier` on the same rows; the same loss."""
    settings = work.classifier.settings.model_copy(update={"length_bucketing": bucketed})
    classifier = replace(work.classifier, settings=settings)
    with tempfile.TemporaryDirectory() as scratch, isolated_random_state(SEED):
        result = train_classifier(
            classifier, work.examples, seed=SEED, device=work.device, scratch=Path(scratch), log=lambda line: None
        )
    return float(result.metrics["train_loss"])


def extract_plain(work: Work) -> np.ndarray:
    """Return what enters the last linear layer, rows x width float32."""
    model, columns, kept = work.classifier.model.eval(), _columns(work), []
    layer = final_layer(model, work.classifier.n_classes)
    hook = layer.register_forward_pre_hook(lambda _, arguments: kept.append(arguments[0].float().cpu().numpy()))
    with torch.no_grad(), work.device.autocast():
        for rows in work.slices():
            model(**_tokens(work, columns, rows))
    hook.remove()
    return np.concatenate(kept)


def extract_ours(work: Work) -> np.ndarray:
    """Return the stage's loop, with its files."""
    with tempfile.TemporaryDirectory() as scratch:
        encoder = NeuralEncoder(work.classifier, work.device)
        return np.array(encode_all("benchmark", encoder, work.examples, Path(scratch), no_progress)[0])


def _columns(work: Work) -> list[np.ndarray]:
    return [np.array(texts, dtype=object) for texts in (work.examples.texts("text"), work.examples.texts("text_pair"))]


def _tokens(work: Work, columns: Sequence[np.ndarray], rows: np.ndarray) -> Mapping[str, torch.Tensor]:
    texts = [column[rows].tolist() for column in columns]
    most = work.classifier.settings.max_length  # type: ignore[union-attr]
    encoded = work.classifier.tokenizer(*texts, truncation=True, max_length=most, padding=True, return_tensors="pt")
    return dict(encoded.to(work.device.resolve()))


def _weight_groups(model: torch.nn.Module, decay: float) -> list[dict[str, object]]:
    """Biases and normalisations do not decay."""
    plain = {id(p) for module in model.modules() if isinstance(module, torch.nn.LayerNorm) for p in module.parameters()}
    plain |= {id(weights) for name, weights in model.named_parameters() if name.endswith("bias")}
    return [
        {"params": [p for p in model.parameters() if id(p) not in plain], "weight_decay": decay},
        {"params": [p for p in model.parameters() if id(p) in plain], "weight_decay": 0.0},
    ]


CONTESTANTS: Mapping[str, Callable[[Work], float]] = {
    PLAIN_TRAINING: train_plain,
    SAME_BATCHES: lambda work: train_ours(work, bucketed=False),
    BUCKETED: lambda work: train_ours(work, bucketed=True),
    PLAIN_EXTRACTION: lambda work: float(extract_plain(work).mean()),
    EXTRACTION: lambda work: float(extract_ours(work).mean()),
}


def compare(work: Work, repetitions: int) -> dict[str, Line]:
    """All contestants by turns, each on all rows and on a first batch alone."""
    first = Examples(work.examples.table.slice(0, work.classifier.settings.batch_size), work.examples.label_names)
    short = replace(work, examples=first, lengths=work.lengths[: len(first)])
    jobs = [(name, rows) for name in CONTESTANTS for rows in (work, short)]
    with quiet_libraries():
        turns = by_turns(
            [partial(_from_start, rows, CONTESTANTS[name]) for name, rows in jobs], repetitions, work.device
        )
    of = list(zip(jobs, turns, strict=True))
    return {
        name: Line(effort(work, name), whole, effort(short, name), alone)
        for ((name, _), whole), (_, alone) in zip(of[::2], of[1::2], strict=True)
    }


def _from_start(work: Work, contestant: Callable[[Work], float]) -> float:
    work.classifier.model.load_state_dict(work.start)
    with isolated_random_state(SEED):
        return contestant(work)


def effort(work: Work, name: str) -> Effort:
    """Return what a contestant has to do."""
    training = name in (PLAIN_TRAINING, SAME_BATCHES, BUCKETED)
    epochs = work.classifier.settings.epochs if training else 1
    batches = work.slices()
    if training:
        batches = [batch for epoch in range(epochs) for batch in work.batches(bucketed=name == BUCKETED, epoch=epoch)]
    longest = np.array([work.lengths[batch].max() for batch in batches])
    padded = longest * [len(batch) for batch in batches]
    model, passes = work.classifier.model, 3 if training else 1
    weights = sum(values.numel() for part, values in model.named_parameters() if "embeddings" not in part)
    attention = 2 * model.config.num_hidden_layers * model.config.hidden_size * longest
    operations = float((2 * passes * (weights + attention) * padded).sum())
    return Effort(len(work.examples) * epochs, int(work.lengths.sum()) * epochs, int(padded.sum()), operations)


def main(arguments: Sequence[str] | None = None) -> dict[str, Line]:
    """Print the machine and the table; returns what is in it."""
    load = os.getloadavg()[0]
    options = _options(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    usual: Precision = "bfloat16" if options.device == "cuda" else "float32"
    device = DeviceSettings(options.device, options.precision or usual)
    examples = example_rows(options.data, options.rows)
    shape = {"epochs": options.epochs, "batch_size": options.batch_size, "max_length": options.max_length}
    work = new_work(examples, device, checkpoint=options.checkpoint, size=options.random_weights, **shape)
    rate = product_rate(device)
    print(machine(device, rate, load))
    print(f"{len(examples)} rows, {options.checkpoint or options.random_weights}, {shape}\n")
    lines = compare(work, options.repetitions)
    print(table(lines, PEERS, rate))
    return lines


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    folder = os.environ.get("AFLITE_EXAMPLE_DATA")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=folder and Path(folder), help="folder with snli/*.parquet")
    parser.add_argument("--checkpoint", help="folder that save_pretrained wrote; default: random weights")
    parser.add_argument("--random-weights", choices=SIZES, default="small")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("float32", "bfloat16"))
    for name, default in (("rows", 512), ("batch-size", 32), ("max-length", 128), ("epochs", 1), ("repetitions", 5)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    parser.add_argument("--threads", type=int, help="default: torch's")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
