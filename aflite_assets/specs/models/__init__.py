"""Settings of encoders and evaluators in a dataset's YAML file; the models are in `aflite_assets.models`."""
