"""Settings of encoders and evaluators as a dataset's YAML writes them; the models are in `aflite_assets.models`."""
