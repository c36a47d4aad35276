"""How many planted wrong labels are suspected, and how many right ones: `python -m benchmarks.label_noise`.

Grid: scikit-learn's digits (1,797 rows, an easy task; train share 20 %, 32 partitions) and the SNLI features of
AFLITE_EXAMPLE_DATA (a hard one; train share 10 %, 64 partitions), each with no label changed and with 5 % of them
changed to another class at random. Precision and recall are about the changed labels; labels that were wrong before
count as right.
"""

import numpy as np
from sklearn.datasets import load_digits

from aflite_assets.algorithm import FilterSettings, score_rows
from aflite_assets.diagnostics.evidence.label_noise import suspected_errors
from benchmarks.filtering import example


def measured(features: np.ndarray, labels: np.ndarray, train_size: int, n_partitions: int, changed: float) -> list[str]:
    """Return a line of the table: share changed, representation bias, share suspected, precision, recall."""
    rng, rows, classes = np.random.default_rng(0), len(labels), int(labels.max()) + 1
    wrong = rng.random(rows) < changed
    given = np.where(wrong, (labels + rng.integers(1, classes, rows)) % classes, labels)
    settings = FilterSettings(target_size=rows - 1, train_size=train_size, slice_size=1, n_partitions=n_partitions)
    scores = score_rows(features, given, settings=settings, seed=0, device="cpu", keep_probabilities=True)
    assert scores.probabilities is not None
    found = suspected_errors(given, scores.probabilities)
    both = int((found & wrong).sum())
    precision, recall = (f"{100 * both / part.sum():.0f} %" if changed else "" for part in (found, wrong))
    return [
        f"{100 * changed:g} %",
        f"{scores.representation_bias:.3f}",
        f"{100 * found.mean():.1f} %",
        precision,
        recall,
    ]


def main() -> None:
    """Print a table of the configurations."""
    digits, snli = load_digits(), example(0.10)
    print("| data | labels changed | representation bias | suspected | precision | recall |\n|---|--:|--:|--:|--:|--:|")
    for name, features, labels, train_size, n_partitions in (
        ("digits", digits.data, digits.target, len(digits.target) // 5, 32),
        ("SNLI features", snli.features, snli.labels, snli.train_size, 64),
    ):
        for changed in (0.0, 0.05):
            line = measured(features, labels, train_size, n_partitions, changed)
            print(f"| {name} | {' | '.join(line)} |")


if __name__ == "__main__":
    main()
