"""The filter on a GPU, with its correctness check: `python benchmarks/filtering_gpu.py [check] [paper] [imagenet]`.

`check`: held-out predictions of 20,000 x 512, 3 and 100 classes, pool on the card and streamed, against scikit-learn
in float64 at tolerance 1e-8 (agreement of at least 99.99 % or the script fails). `paper`: 500,000 x 1,024, 3 classes,
64 partitions, train size 50,000, slices of 10,000 down to 182,000 rows. `imagenet`: one iteration on 1.28 million x
2,560, 1,000 classes, 64 partitions, train share 10 %. Needs numpy, torch, scikit-learn, scipy and tqdm alone; run it
from the project's folder. Features are made on the card, column scales exp(-j / 150).
"""

import sys
import time

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from aflite_assets.algorithm import FilterSettings, filter_dataset
from aflite_assets.algorithm.inputs import check_inputs
from aflite_assets.algorithm.linear.engine import LinearEngine
from aflite_assets.algorithm.linear.engine import pool as pool_module
from aflite_assets.algorithm.partitions import draw_partitions

SEED = 0
MEMORY = 2**33


def make(rows: int, width: int, classes: int, deviation: float) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian classes whose means differ by `deviation` times a column's scale; float16."""
    generator = torch.Generator("cuda").manual_seed(SEED)
    scales = torch.exp(-torch.arange(width, device="cuda") / 150)
    means = torch.randn(classes, width, device="cuda", generator=generator) * deviation
    labels = torch.randint(classes, (rows,), device="cuda", generator=generator)
    features = np.empty((rows, width), dtype=np.float16)
    for start in range(0, rows, 50_000):
        chosen = labels[start : start + 50_000]
        noise = torch.randn(len(chosen), width, device="cuda", generator=generator)
        features[start : start + len(chosen)] = ((noise + means[chosen]) * scales).half().cpu().numpy()
    return features, labels.cpu().numpy()


def check() -> None:
    """Compare two partitions' labels with scikit-learn's optimum, with the pool on the card and streamed."""
    share = pool_module._CARD_SHARE
    for classes, deviation in ((3, 0.1), (100, 0.2)):
        features, labels = make(20_000, 512, classes, deviation)
        settings = FilterSettings(target_size=19_000, train_size=4_000, slice_size=1, n_partitions=2)
        pool = np.arange(len(labels))
        subsets = draw_partitions(pool, None, train_size=4_000, n_partitions=2, seed=SEED, iteration=0)
        expected = [_optimum(features.astype(np.float64), labels, subset) for subset in subsets]
        for allowed in (share, 0.0):
            pool_module._CARD_SHARE = allowed
            inputs = check_inputs(features, labels, groups=None, score_only=None, memory_limit=MEMORY)
            engine = LinearEngine(inputs, settings, seed=SEED, device="cuda", memory_limit=MEMORY, pool=pool)
            same = []
            with engine:
                for subset, labels_expected in zip(subsets, expected, strict=True):
                    tally = engine.tally([subset], pool=pool, keep_probabilities=True).tally
                    assert tally.probabilities is not None
                    held_out = np.setdiff1d(pool, subset)
                    same.append(tally.probabilities[held_out].argmax(axis=1) == labels_expected[held_out])
            agreement = np.concatenate(same).mean()
            where = "on the card" if allowed else "streamed"
            print(f"{classes} classes, {where}: agreement {agreement:.6f}", flush=True)
            if agreement < 0.9999:
                raise SystemExit("the GPU's predictions disagree with the optimum")
        pool_module._CARD_SHARE = share


def _optimum(features: np.ndarray, labels: np.ndarray, trained: np.ndarray) -> np.ndarray:
    model = LogisticRegression(solver="newton-cg", tol=1e-8, max_iter=10_000)
    return model.fit(features[trained], labels[trained]).predict(features)


def paper() -> None:
    """Filter at the paper's scale and print each iteration."""
    features, labels = make(500_000, 1_024, 3, 0.08)
    settings = FilterSettings(target_size=182_000, train_size=50_000, slice_size=10_000, threshold=0.0)
    started = time.perf_counter()
    result = filter_dataset(features, labels, settings=settings, seed=SEED, device="cuda", memory_limit=MEMORY)
    seconds = time.perf_counter() - started
    bias = [f"{record.representation_bias:.3f}" for record in result.iterations]
    print(f"paper scale: {seconds:.1f} s, {len(bias)} iterations, bias {bias[0]} to {bias[-1]}")
    print(f"GPU memory at most {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB", flush=True)


def imagenet() -> None:
    """One iteration with a thousand classes."""
    rows = 1_280_000
    features, labels = make(rows, 2_560, 1_000, 0.1)
    settings = FilterSettings(target_size=rows - 1, train_size=rows // 10, slice_size=1)
    started = time.perf_counter()
    inputs = check_inputs(features, labels, groups=None, score_only=None, memory_limit=MEMORY)
    pool = np.arange(rows)
    engine = LinearEngine(inputs, settings, seed=SEED, device="cuda", memory_limit=MEMORY, pool=pool)
    with engine:
        subsets = draw_partitions(pool, None, train_size=rows // 10, n_partitions=64, seed=SEED, iteration=0)
        scored = engine.tally(subsets, pool=pool)
    seconds = time.perf_counter() - started
    print(f"ImageNet scale: {seconds:.1f} s, {scored.evaluations.mean():.1f} gradients per classifier")
    print(f"GPU memory at most {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB", flush=True)


def main(names: list[str]) -> None:
    """Run the parts named, all by default."""
    if not torch.cuda.is_available():
        raise SystemExit(f"torch {torch.__version__} finds no usable GPU")
    print(torch.cuda.get_device_name())
    for name, part in (("check", check), ("paper", paper), ("imagenet", imagenet)):
        if not names or name in names:
            torch.cuda.reset_peak_memory_stats()
            part()


if __name__ == "__main__":
    main(sys.argv[1:])
