"""The scan of cues: properties of rows that tell the label by themselves. No encoders, no stages, no Dagster."""
