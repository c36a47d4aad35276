"""The plan of a refresh without Dagster: changed inputs, due stages, refused inputs, and the status of datasets."""
