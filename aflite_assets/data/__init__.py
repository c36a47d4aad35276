"""From a dataset's source to rows: formats, the hub, the raw table, synthetic data, and the record `Examples`."""
