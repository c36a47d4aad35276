-- The second of the two databases on one server; `dagster` is the one that the server starts with.
CREATE DATABASE mlflow;
