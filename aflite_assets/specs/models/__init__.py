"""Settings of encoders and evaluators in a dataset's YAML file. The package `aflite_assets.models` contains the
models.
"""
