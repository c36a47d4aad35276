import subprocess
import sys
from inspect import getdoc
from pathlib import Path

from aflite_assets import algorithm

FEW_LIBRARIES = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        known = {"numpy", "scipy", "numba", "llvmlite", "aflite_assets"} | sys.stdlib_module_names
        if name.partition(".")[0] not in known:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import numpy as np
from aflite_assets import algorithm

for name in algorithm.__all__:
    getattr(algorithm, name)
features = np.random.default_rng(0).normal(size=(80, 2))
labels = (features[:, 0] > 0).astype(int)
settings = algorithm.FilterSettings(target_size=40, train_size=20, slice_size=10, n_partitions=16)
sign = lambda features, labels, classes: lambda rows: (rows[:, 0] > 0).astype(int)
print(algorithm.score_rows(features, labels, settings=settings, seed=0, fit=sign).representation_bias)
table = algorithm.bias_table(features[:6], labels[:6], train_size=3, fit=sign)
print(algorithm.exact_bias(table, range(5)))
try:
    algorithm.filter_dataset(features, labels, settings=settings, seed=0)
except ModuleNotFoundError as error:
    print(error)
"""
"""What works with numpy, scipy and numba alone, where every other library is missing."""


def test_public_names_are_listed_exist_and_are_documented() -> None:
    assert algorithm.__all__ == sorted(algorithm.__all__)
    assert {"BiasTable", "Optimum", "bias_table", "exact_bias", "optimal_subset"} <= set(algorithm.__all__)
    assert {"FilterResult", "FilterSettings", "FilterState", "Scores", "StopReason"} <= set(algorithm.__all__)
    aliases = {"ClassifierFit", "IsLearnt", "Predict"}  # of types, which carry no docstring
    for name in set(algorithm.__all__) - aliases:
        assert getdoc(getattr(algorithm, name)), name


def test_numpy_scipy_and_numba_suffice_for_all_but_the_engine() -> None:
    code = ["-c", FEW_LIBRARIES]
    done = subprocess.run([sys.executable, *code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["1.0", "1.0", "No module named 'torch'"]
