from inspect import getdoc

from aflite_assets import algorithm


def test_public_names_are_listed_exist_and_are_documented() -> None:
    assert algorithm.__all__ == sorted(algorithm.__all__)
    assert {"BiasTable", "Optimum", "bias_table", "exact_bias", "optimal_subset"} <= set(algorithm.__all__)
    assert {"FilterResult", "FilterSettings", "FilterState", "Scores", "StopReason"} <= set(algorithm.__all__)
    aliases = {"ClassifierFit", "IsLearnt", "Predict"}  # of types, which carry no docstring
    for name in set(algorithm.__all__) - aliases:
        assert getdoc(getattr(algorithm, name)), name
