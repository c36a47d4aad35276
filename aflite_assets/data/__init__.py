"""From a dataset's source to rows: formats, the hub, the raw table, made data, the record `Examples`."""
